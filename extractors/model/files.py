"""Files named by the user: detection of other kinds of path, and bounded reading."""

from __future__ import annotations

import errno
import os
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

#: Errors of a path that leads nowhere.
_ABSENCE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EBADF, errno.ELOOP})


def status_of(path: Path) -> os.stat_result | None:
    """Return the status of the file or folder at *path*, or None if there is nothing.

    Raises `OSError` if that is unknown, for example below a folder that may not be entered. `Path.exists`, `is_file`
    and `is_dir` answer False there from Python 3.14 on, so that a file would be passed over in silence.
    """
    try:
        return path.stat()
    except OSError as problem:
        if problem.errno not in _ABSENCE:
            raise
    # A null character.
    except ValueError:
        pass
    return None


def path_exists(path: Path) -> bool:
    """Return True if there is something at *path*. Raises `OSError`."""
    return status_of(path) is not None


def is_file(path: Path) -> bool:
    """Return True if there is a regular file at *path*. Raises `OSError`."""
    return (status := status_of(path)) is not None and stat.S_ISREG(status.st_mode)


def is_folder(path: Path) -> bool:
    """Return True if there is a folder at *path*. Raises `OSError`."""
    return (status := status_of(path)) is not None and stat.S_ISDIR(status.st_mode)


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
