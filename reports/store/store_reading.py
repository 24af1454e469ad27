"""Reading one moment of a store, also while an audit writes to it. The store stays as it is, and so does its folder."""

from __future__ import annotations

import json
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection, create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from crawler.model.schema import APPLICATION_ID, SCHEMA_VERSION
from crawler.store import StoreDamaged
from crawler.store.files import damage_in, distrust, is_damage, is_ours, not_a_file, require_sound
from extractors.model.errors import ArkauditError
from reports.store.typed_columns import UnknownWord

Found = TypeVar("Found")


class StoreUnreadable(ArkauditError):
    """Raised by `load_frames` and `read` for a file that is missing, no store of ours, too new, or without the run."""


def read(store: Path, work: Callable[[Connection], Found]) -> Found:
    """Return what *work* makes of one moment of *store*; nothing is written to it or to its folder.

    Raises `StoreUnreadable`, and `crawler.store.StoreDamaged`.
    """
    before = _stamp(store)
    if before is not None:
        try:
            result = _read(store, work, access="mode=ro&immutable=1")
        except (StoreUnreadable, StoreDamaged):
            if _stamp(store) == before:
                raise
        else:
            if _stamp(store) == before:
                return result
    try:
        return _read(store, work, access="mode=ro")
    except StoreUnreadable as failure:
        code = getattr(getattr(failure.__cause__, "orig", None), "sqlite_errorcode", 0)
        if code & 0xFF not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
            raise
    # SQLite can't make its files next to a log that a killed run has left in a folder that is read-only, nor
    # play back, for a reader, the journal that the loss of power has left.
    with tempfile.TemporaryDirectory(prefix="arkaudit-") as folder:
        copy = Path(folder) / store.name
        for suffix in ("", "-wal", "-journal"):
            if suffix == "" or Path(f"{store}{suffix}").exists():
                shutil.copyfile(f"{store}{suffix}", f"{copy}{suffix}")
        return _read(copy, work, access="mode=rw", shown_store=store)  # a journal is played back


def _stamp(store: Path) -> tuple[int, int] | None:
    """Return what changes when a store at rest is written to; none while another process may be writing.

    SQLite makes two files next to a store in WAL mode, even to read it, unless it knows that the store can't
    change. We claim so while no process writes, look afterwards whether that was true, and else read once more.
    """
    if any(Path(f"{store}{suffix}").exists() for suffix in ("-wal", "-journal")) or not store.is_file():
        return None
    status = store.stat()
    return status.st_mtime_ns, status.st_size


def _read(
    store: Path,
    work: Callable[[Connection], Found],
    *,
    access: str,
    shown_store: Path | None = None,
) -> Found:
    """Do *work* by a connection that can't write, in one transaction; what fails in it becomes `StoreUnreadable`.

    Or `crawler.store.StoreDamaged`, when the store is ours. Messages call it by the name of the *shown_store*.
    """
    name = shown_store or store
    instead = not_a_file(store)
    if instead or not store.is_file():
        raise StoreUnreadable(f"{name}: {f'is {instead}, not a store' if instead else 'there is no such file'}")
    address = f"{store.resolve().as_uri()}?{access}"
    engine = create_engine("sqlite://", creator=lambda: _connected(address), poolclass=NullPool)
    try:
        with engine.connect() as connection:
            connection.exec_driver_sql("BEGIN")
            _check_format(connection, name)
            require_sound(connection.exec_driver_sql, store)
            return work(connection)
    except (DBAPIError, sqlite3.Error) as error:
        problem = error.orig if isinstance(error, DBAPIError) else error  # of a cursor that SQLAlchemy has opened
        if is_ours(store) and is_damage(problem):
            if getattr(problem, "sqlite_errorcode", None) == sqlite3.SQLITE_ERROR and damage_in(store) is None:
                raise  # the store is sound, so that it was asked wrongly
            raise StoreDamaged(f"{name}: can't be read: {problem}") from error
        raise StoreUnreadable(f"{name}: can't be read as a store of arkaudit: {problem}") from error
    except (UnknownWord, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise StoreDamaged(f"{name}: holds what this arkaudit can't read: {error}") from error
    finally:
        engine.dispose()


def _connected(address: str) -> sqlite3.Connection:
    connection = sqlite3.connect(address, uri=True, isolation_level=None)
    distrust(connection)
    connection.execute("PRAGMA temp_store=MEMORY")
    return connection


def _check_format(connection: Connection, store: Path) -> None:
    if connection.exec_driver_sql("PRAGMA application_id").scalar_one() != APPLICATION_ID:
        raise StoreUnreadable(f"{store}: is not a store of arkaudit")
    version = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
    if version != SCHEMA_VERSION:
        raise StoreUnreadable(
            f"{store}: was written by another version of arkaudit (schema {version}; this one reads {SCHEMA_VERSION})"
        )
