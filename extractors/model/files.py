"""Paths named by the user: their kinds, and reading a file within a limit."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path

#: Kinds of path other than a file, with the test of a path's mode.
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
    """Return the status of the file or folder at *path*; None if nothing is at *path*.

    Raises `OSError` if that can't be determined, for example below a folder that may not be entered. From Python 3.14
    on, `Path.exists`, `is_file` and `is_dir` return False there, and a file would be skipped in silence.
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
    """Return True if anything is at *path*. Raises `OSError` as `status_of`."""
    return status_of(path) is not None


def is_file(path: Path) -> bool:
    """Return True if a regular file is at *path*. Raises `OSError` as `status_of`."""
    return (status := status_of(path)) is not None and stat.S_ISREG(status.st_mode)


def is_folder(path: Path) -> bool:
    """Return True if a folder is at *path*. Raises `OSError` as `status_of`."""
    return (status := status_of(path)) is not None and stat.S_ISDIR(status.st_mode)


def read_whole(path: Path, most_bytes: int) -> bytes:
    """Return the content of the regular file at *path*.

    Raises `OSError` for any other path (a pipe, which may never end, is not opened) and for a file of more than
    *most_bytes* bytes; `strerror` gives the reason.
    """
    mode = path.stat().st_mode
    for path_kind, is_kind in NO_FILES.items():
        if is_kind(mode):
            raise OSError(errno.EINVAL, f"it is {path_kind}, not a file")
    with path.open("rb") as file:
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise OSError(errno.EFBIG, f"it is longer than {most_bytes:,} bytes")
    return data
