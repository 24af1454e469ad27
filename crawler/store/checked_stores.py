"""Remember in the user's cache which large stores were checked, so that an unchanged store is not checked again."""

from __future__ import annotations

import hashlib
import os
import time
from contextlib import suppress
from pathlib import Path

from crawler.model import schema
from crawler.model.registry import cache_folder

#: The smallest store that is remembered. The check of its values takes about 0.1 s.
LEAST_BYTES = 32 * 2**20
_FOLDER = "checked-stores"
#: Seconds and number of waits for the clock of a file system, which advances every 1 to 10 ms.
_WAIT_S, _MOST_WAITS = 0.002, 10


def state_of(path: Path) -> str:
    """Return the identity, size and times of the files of a store, which each change of a file alters. Raises OSError."""
    parts: list[object] = [schema.SCHEMA_VERSION]
    for file in (path, Path(f"{path}-wal"), Path(f"{path}-journal")):
        with suppress(FileNotFoundError):
            status = file.stat()
            parts += (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return " ".join(map(str, parts))


def is_remembered(path: Path, state: str) -> bool:
    """Return True if the values of the store at *path* were right in this state."""
    record = _record_of(path)
    try:
        return record.read_text() == state and _is_later(record, path)
    except (OSError, UnicodeDecodeError):
        return False


def remember(path: Path, state: str) -> None:
    """Note that the values of the store at *path* are right in this state."""
    record = _record_of(path)
    # Without a cache, each command checks the store.
    with suppress(OSError):
        if path.stat().st_size < LEAST_BYTES:
            return
        record.parent.mkdir(parents=True, exist_ok=True)
        record.write_text(state)
        for _ in range(_MOST_WAITS):
            if _is_later(record, path):
                break
            time.sleep(_WAIT_S)
            os.utime(record)


def _record_of(path: Path) -> Path:
    return cache_folder() / _FOLDER / hashlib.sha256(os.fsencode(path.absolute())).hexdigest()


def _is_later(record: Path, path: Path) -> bool:
    """Return True if a change of the store after the record has another time. A clock can stand still for some ms."""
    return record.stat().st_mtime_ns > path.stat().st_ctime_ns
