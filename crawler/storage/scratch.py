"""Folders beside a store for what is needed for a moment: locked, so that those of a killed process are recognized."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PREFIX = ".arkaudit-import-"


@contextmanager
def scratch_beside(store: Path) -> Iterator[Path]:
    """A folder beside *store*, on the same disk, gone afterwards. Raises OSError."""
    parent = store.absolute().parent
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if folder.exists():
            break
        os.close(descriptor)  # it was cleared before it was held
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


def clear_scratch_beside(store: Path) -> None:
    """Remove the folders beside *store* that no process holds any more; as far as that can be done."""
    with suppress(OSError):
        for folder in store.absolute().parent.glob(f"{_PREFIX}*"):
            with suppress(OSError):
                _clear(folder)


def _clear(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(descriptor)
