"""Read a store as of one moment, even while an audit writes to it. The store and its folder stay unchanged."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection, create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from crawler.history.run_times import ahead_words, show_corrected_times
from crawler.store import StoreDamaged, StoreUnopenable
from crawler.store.files import (
    damage_in,
    distrust,
    is_damage,
    is_ours,
    real_path,
    refuse_cut_off,
    require_our_schema,
    require_sound,
    scratch_copy,
)
from extractors.model.files import is_file, path_exists
from reports.store.typed_columns import UnknownWord

logger = logging.getLogger(__name__)

Found = TypeVar("Found")


def read_store(store: Path, work: Callable[[Connection], Found]) -> Found:
    """Return the result of *work* on one snapshot of *store*; write nothing to it or to its folder.

    Raises `StoreUnopenable`, and `crawler.store.StoreDamaged`.
    """
    real = real_path(store)
    reading = partial(_read_once, work=work, name=store)
    before = stamp_at_rest(real)
    if before is not None:
        try:
            result = reading(real, access="mode=ro&immutable=1")
        except (StoreUnopenable, StoreDamaged):
            if stamp_at_rest(real) == before:
                raise
        else:
            if stamp_at_rest(real) == before:
                return result
    try:
        return reading(real, access="mode=ro")
    except StoreUnopenable as failure:
        code = getattr(getattr(failure.__cause__, "orig", None), "sqlite_errorcode", 0)
        if code & 0xFF not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
            raise
    # In a read-only folder SQLite can't create its files next to the log of a killed run. A reader also can't
    # play back the journal that a power loss has left. Both work on a copy.
    with scratch_copy(real) as copy:
        return reading(copy, access="mode=rw")


def stamp_at_rest(store: Path) -> tuple[int, int] | None:
    """Return size and time of change of a store at rest, or None if another process may be writing to it.

    Even to read a store in WAL mode, SQLite creates two files next to it, unless it is opened as immutable.
    `read_store` opens it so while no process writes, compares the stamps afterwards, and reads again if the store has
    changed.
    """
    if any(path_exists(Path(f"{store}{suffix}")) for suffix in ("-wal", "-journal")) or not is_file(store):
        return None
    status = store.stat()
    return status.st_mtime_ns, status.st_size


def _read_once(store: Path, work: Callable[[Connection], Found], *, access: str, name: Path) -> Found:
    """Run *work* in one transaction on a read-only connection; turn its errors into `StoreUnopenable`.

    Raises `crawler.store.StoreDamaged` instead if the file is a store of arkaudit. Messages use *name* for the file.
    """
    if not is_file(store):
        raise StoreUnopenable(f"{name}: there is no such file")
    address = f"{store.absolute().as_uri()}?{access}"
    engine = create_engine("sqlite://", creator=lambda: _connect(address), poolclass=NullPool)
    try:
        refuse_cut_off(store, name)
        with engine.connect() as connection:
            connection.exec_driver_sql("BEGIN")
            require_our_schema(connection.exec_driver_sql, name)
            require_sound(connection.exec_driver_sql, store)
            if ahead := show_corrected_times(connection, datetime.now(UTC)):
                logger.warning("%s: %s", name, ahead_words(ahead))
            return work(connection)
    except (DBAPIError, sqlite3.Error) as error:
        problem = error.orig if isinstance(error, DBAPIError) else error
        if is_ours(store) and is_damage(problem):
            if getattr(problem, "sqlite_errorcode", None) == sqlite3.SQLITE_ERROR and damage_in(store) is None:
                # The store is sound: the query is wrong.
                raise
            raise StoreDamaged(f"{name}: can't be read: {problem}") from error
        raise StoreUnopenable(f"{name}: can't be read as a store of arkaudit: {problem}") from error
    except (UnknownWord, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise StoreDamaged(f"{name}: contains values that this arkaudit can't read: {error}") from error
    finally:
        engine.dispose()


def _connect(address: str) -> sqlite3.Connection:
    connection = sqlite3.connect(address, uri=True, isolation_level=None)
    distrust(connection)
    connection.execute("PRAGMA temp_store=MEMORY")
    return connection
