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

from crawler.history.run_times import clock_ahead_message, show_corrected_times
from crawler.store import StoreDamaged, StoreUnopenable
from crawler.store.files import (
    damage_in,
    distrust,
    is_damage,
    is_ours,
    raise_if_cut_off,
    real_path,
    require_our_schema,
    require_sound,
    scratch_copy,
)
from extractors.model.files import is_file, path_exists
from reports.store.typed_columns import UnknownWord

logger = logging.getLogger(__name__)

Result = TypeVar("Result")


def read_store(store: Path, work: Callable[[Connection], Result]) -> Result:
    """Return what *work* returns for a read-only connection to one snapshot of *store*; write nothing to its folder.

    Raises `StoreUnopenable`, and `crawler.store.StoreDamaged`.
    """
    real_file = real_path(store)
    read_from = partial(_read_once, work=work, name=store)
    stamp_before = stamp_at_rest(real_file)
    if stamp_before is not None:
        try:
            result = read_from(real_file, access="mode=ro&immutable=1")
        except (StoreUnopenable, StoreDamaged):
            if stamp_at_rest(real_file) == stamp_before:
                raise
        else:
            if stamp_at_rest(real_file) == stamp_before:
                return result
    try:
        return read_from(real_file, access="mode=ro")
    except StoreUnopenable as error:
        code = getattr(getattr(error.__cause__, "orig", None), "sqlite_errorcode", 0)
        if code & 0xFF not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
            raise
    # In a read-only folder SQLite can't create its files next to the log of a killed run. A reader also can't
    # play back the journal that a power loss has left. Both work on a copy.
    with scratch_copy(real_file) as copy:
        return read_from(copy, access="mode=rw")


def stamp_at_rest(store: Path) -> tuple[int, int] | None:
    """Return the time of change (ns) and size (bytes) of *store*, or None if absent or another process may be writing.

    Even to read a store in WAL mode, SQLite creates two files next to it, unless it is opened as immutable.
    `read_store` does this while no process writes, compares the stamps afterwards, and reads again after a change.
    """
    if any(path_exists(Path(f"{store}{suffix}")) for suffix in ("-wal", "-journal")) or not is_file(store):
        return None
    status = store.stat()
    return status.st_mtime_ns, status.st_size


def _read_once(store: Path, work: Callable[[Connection], Result], *, access: str, name: Path) -> Result:
    """Run *work* in one transaction on a read-only connection; turn its errors into `StoreUnopenable`.

    Raises `crawler.store.StoreDamaged` instead if the file is a store of arkaudit. Messages use *name* for the file.
    """
    if not is_file(store):
        raise StoreUnopenable(f"{name}: there is no such file")
    store_uri = f"{store.absolute().as_uri()}?{access}"
    engine = create_engine("sqlite://", creator=lambda: _connect(store_uri), poolclass=NullPool)
    try:
        raise_if_cut_off(store, name)
        with engine.connect() as connection:
            connection.exec_driver_sql("BEGIN")
            require_our_schema(connection.exec_driver_sql, name)
            require_sound(connection.exec_driver_sql, store)
            if ahead := show_corrected_times(connection, datetime.now(UTC)):
                logger.warning("%s: %s", name, clock_ahead_message(ahead))
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


def _connect(store_uri: str) -> sqlite3.Connection:
    connection = sqlite3.connect(store_uri, uri=True, isolation_level=None)
    distrust(connection)
    connection.execute("PRAGMA temp_store=MEMORY")
    return connection
