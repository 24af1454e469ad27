"""Brings a store of an older schema up to date, in place: a copy first, then one transaction, or nothing at all.

Steps are plain SQL, one for each number of the schema. SQLite changes tables inside transactions, and its
``user_version`` is part of the same file and of the same transaction, so that a store is always of one version and
says which (`docs/adr` has why no library keeps them).
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import struct
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import NAMESPACE_URL, uuid5

from sqlalchemy import Connection, select
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.schema import CreateColumn

from crawler import schema
from crawler.history.latest import rebuild
from extractors.shared_errors import ArkauditError

#: The oldest schema that can be brought up to date.
OLDEST: Final = 3

_MAGIC: Final = b"SQLite format 3\0"
#: The first bytes of a database: what it is, ``user_version``, ``application_id`` (sqlite.org/fileformat2.html, 1.3).
_HEAD: Final = struct.Struct(">16s44xI4xI")


class NotCopied(ArkauditError):
    """Raised when there can be no copy of a store; the store is as it was."""


def copy_of(path: Path, version: int) -> Path:
    """A copy of the store at *path*, whole and on disk, named for its *version*; raises `NotCopied`.

    A copy that is there already, from an attempt that ended early, is made again.
    """
    copy = path.with_name(f"{path.name}.v{version}.bak")
    begun = path.with_name(f"{copy.name}.part")
    needed = sum(each.stat().st_size for each in (path, Path(f"{path}-wal")) if each.exists())
    if shutil.disk_usage(path.parent).free < 2 * needed:
        raise NotCopied(f"a copy and the new tables need {2 * needed:,} bytes beside it, which are not free")
    try:
        begun.unlink(missing_ok=True)
        plain_copy(path, begun)
        begun.replace(copy)
        _sync_folder(path.parent)
    except OSError as problem:
        begun.unlink(missing_ok=True)
        raise NotCopied(f"no copy could be made of it first: {problem}") from problem
    return copy


def plain_copy(path: Path, copy: Path) -> None:
    """Copy a database to where nothing is, what is still in its log included; durable on return. Raises `NotCopied`."""
    try:
        # Without a log nobody has it open; and SQLite would leave one behind, which a mere reader can't clear away.
        access = "mode=ro" if Path(f"{path}-wal").exists() else "mode=ro&immutable=1"
        address = f"{path.absolute().as_uri()}?{access}"
        with closing(sqlite3.connect(address, uri=True)) as old, closing(sqlite3.connect(copy)) as new:
            old.backup(new)
        with copy.open("rb+") as written:
            os.fsync(written.fileno())
    except (OSError, sqlite3.Error) as problem:
        copy.unlink(missing_ok=True)
        raise NotCopied(f"no copy could be made of it: {problem}") from problem


@dataclass(frozen=True, slots=True)
class Head:
    """The kind of a database, by its first bytes."""

    version: int
    application: int


def head_of(path: Path) -> Head | None:
    """Return what the first bytes of a file say; None for what is no database, or no file: a pipe is not waited for."""
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            head = file.read(_HEAD.size)
    except OSError:
        return None
    if len(head) < _HEAD.size:
        return None
    magic, version, application = _HEAD.unpack(head)
    return Head(version, application) if magic == _MAGIC else None


def seems_older(path: Path) -> bool:
    """Return whether a file may be a store of an older schema, by its first bytes: SQLite leaves files where it
    opens.
    """
    head = head_of(path)
    return head is not None and head.application == schema.APPLICATION_ID and head.version < schema.SCHEMA_VERSION


def migrate(connection: Connection, version: int) -> None:
    """Take a store from *version* to ours, step by step, in the transaction of *connection*."""
    for number in range(version, schema.SCHEMA_VERSION):
        STEPS[number](connection)
    rebuild(connection)
    connection.exec_driver_sql(f"PRAGMA user_version={schema.SCHEMA_VERSION}")


def make_what_is_missing(connection: Connection) -> None:
    """Make the tables, optional columns and indexes that are not there yet; enough while nothing else changes."""
    schema.tables.create_all(connection)
    for table in schema.tables.sorted_tables:
        there = {row[1] for row in connection.exec_driver_sql(f"PRAGMA table_info({table.name})")}
        for column in table.columns:
            if column.name not in there:
                made = CreateColumn(column).compile(dialect=connection.dialect)
                connection.exec_driver_sql(f"ALTER TABLE {table.name} ADD COLUMN {made}")
        for index in table.indexes:
            index.create(connection, checkfirst=True)


def _history(connection: Connection) -> None:
    """The tables of history; runs get a key that is the same in every copy of the store."""
    make_what_is_missing(connection)
    run = schema.run
    for row in connection.execute(select(run)).all():
        values = {"run_id": row.run_id, "uuid": run_key(row._asdict())}
        connection.execute(insert(schema.provenance).values(values).on_conflict_do_nothing())


def run_key(run: Mapping[str, object]) -> str:
    """The key of a run that was begun before runs had keys: it follows from what the run was.

    >>> run_key({"command": "run", "started_at": "2026-11-21T00:00:00.000+00:00", "version": "0", "seeds": ["a"]})
    '23c27bec-ffed-576d-962d-494f538149a2'
    """
    values = [run.get(name) for name in ("started_at", "command", "version", "resolver", "user_agent", "seeds")]
    return str(uuid5(NAMESPACE_URL, f"urn:arkaudit:run:{values!r}"))


#: What leads from a version to the next.
STEPS: Final[Mapping[int, Callable[[Connection], None]]] = {
    3: make_what_is_missing,
    4: _history,
    5: make_what_is_missing,
    6: make_what_is_missing,
    7: make_what_is_missing,
    8: make_what_is_missing,
    9: make_what_is_missing,
}


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
