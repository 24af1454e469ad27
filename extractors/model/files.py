"""Files named by the user: detection of other kinds of path, and bounded reading."""

from __future__ import annotations

import errno
import stat
from collections.abc import Callable, Mapping
from pathlib import Path

#: Kinds of path other than a file, each with the test of its mode.
NO_FILES: Mapping[str, Callable[[int], bool]] = {
    "a folder": stat.S_ISDIR,
    "a pipe": stat.S_ISFIFO,
    "a socket": stat.S_ISSOCK,
    "a device": lambda mode: stat.S_ISCHR(mode) or stat.S_ISBLK(mode),
    "a symbolic link": stat.S_ISLNK,
}


def read_whole(path: Path, most_bytes: int) -> bytes:
    """Return the content of a regular file; a pipe, which may never end, is not opened.

    Raises `OSError` for any other path, and for a file of more than *most_bytes*; `strerror` gives the reason.
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
