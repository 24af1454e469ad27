"""Durable writes: even after a loss of power, a path has the whole new file or its predecessor.

No other module of the project renames files into place or calls fsync.
"""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import BinaryIO

from extractors.model.files import is_folder, path_exists


@contextmanager
def durable_file(path: Path, *, replaces: bool = True, mode: int = 0o666) -> Iterator[BinaryIO]:
    """Open a file for writing that appears at *path* when the block ends; it is durable then.

    *mode* are the permissions of a new file. If the block raises, *path* stays as it was. Raises OSError:
    FileExistsError if *path* exists, unless *replaces*.
    """
    partial_file = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with open(partial_file, "xb", opener=partial(os.open, mode=mode)) as file:
            yield file
        put_in_place((partial_file, path), replaces=replaces)
    finally:
        partial_file.unlink(missing_ok=True)


def put_in_place(*moves: tuple[Path, Path], replaces: bool = True) -> None:
    """Move files to new paths on the same file system, in this order; all are durable on return.

    *moves* are pairs of a file and its new path. Raises OSError: FileExistsError if a path exists, unless *replaces*.
    """
    for finished_file, _ in moves:
        make_durable(finished_file)
    for finished_file, path in moves:
        if replaces:
            finished_file.replace(path)
        else:
            path.hardlink_to(finished_file)
    for folder in dict.fromkeys(path.parent for _, path in moves):
        make_durable(folder)


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it, unless they exist; they are durable on return. Raises OSError."""
    missing_folders = [path for path in (folder, *folder.parents) if not path_exists(path)]
    folder.mkdir(parents=True, exist_ok=True)
    for path in missing_folders:
        make_durable(path.parent)


def make_durable(path: Path) -> None:
    """Wait until the content of a file, or the names in a folder, are on the disk. Raises OSError."""
    folder = is_folder(path)
    if folder and os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as problem:
        # Some file systems of networks know no fsync of folders.
        if not (folder and problem.errno == errno.EINVAL):
            raise
    finally:
        os.close(descriptor)
