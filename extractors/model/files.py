"""Files that a user names: the kinds that are no file, and the content of one, read without waiting."""

from __future__ import annotations

import errno
import stat
from collections.abc import Callable, Mapping
from pathlib import Path

#: What may be at a path instead of a file, in words, each with the test of its mode.
NO_FILES: Mapping[str, Callable[[int], bool]] = {
    "a folder": stat.S_ISDIR,
    "a pipe": stat.S_ISFIFO,
    "a socket": stat.S_ISSOCK,
    "a device": lambda mode: stat.S_ISCHR(mode) or stat.S_ISBLK(mode),
    "a symbolic link": stat.S_ISLNK,
}


def read_whole(path: Path, most_bytes: int) -> bytes:
    """Return the content of a regular file; a pipe, which may never end, is not opened.

    Raises `OSError`, also for a file of more than *most_bytes*; its `strerror` says why in words.
    """
    mode = path.stat().st_mode
    for instead, is_instead in NO_FILES.items():
        if is_instead(mode):
            raise OSError(errno.EINVAL, f"it is {instead}, not a file")
    with path.open("rb") as file:
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise OSError(errno.EFBIG, f"it is longer than {most_bytes:,} bytes")
    return data
