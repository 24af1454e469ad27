"""The test whether a file is a store as we make it, before anything in it is believed: cheap enough for every opening.

A store can come from someone else, or from a failing disk. SQLite itself then runs what is in its schema: so no
trigger is accepted, no view in a table's place, and no function in the schema is trusted.
"""

from __future__ import annotations

import sqlite3
import stat
import struct
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine
from sqlalchemy.dialects import sqlite as dialect
from sqlalchemy.pool import NullPool

from crawler.model import schema
from crawler.store.row_checks import unreadable_rows
from crawler.store.store_errors import NotOurStore, StoreDamaged, UnknownStoreVersion

#: Stores up to this size are looked through whole as they are opened (1 s a GiB, were it more); of larger ones, the
#: tables of runs. What is damaged elsewhere in them comes to light where it is read, or by `store check`.
LOOKED_THROUGH_BYTES = 256 * 2**20

#: What SQLite says of a store that is whole, but that can't be read or written just now.
_PASSING = frozenset(
    {
        *(sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN),
        *(sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_FULL),
        *(sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_AUTH),
    }
)
#: The first bytes of a database: what it is, and ``application_id`` (sqlite.org/fileformat2.html, 1.3).
_HEAD = struct.Struct(">16s52xI")
#: How a statement is run: by `sqlite3`, or through SQLAlchemy.
Execute = Callable[[str], Iterable[Any]]

_opened: dict[Path, None] = {}


def is_damage(problem: BaseException | None) -> bool:
    """Return whether an error of SQLite speaks of the file, and not of the machine or of who else has it open."""
    if isinstance(problem, UnicodeDecodeError):  # what SQLite says of a schema repeats what is there
        return True
    code = getattr(problem, "sqlite_errorcode", None)
    return isinstance(problem, sqlite3.Error) and (code is None or code & 0xFF not in _PASSING)


def is_ours(path: Path) -> bool:
    """Return whether a file says in its first bytes that it is a store; never waits for one that is no file."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            head = file.read(_HEAD.size)
    except OSError:
        return False
    return len(head) == _HEAD.size and _HEAD.unpack(head) == (b"SQLite format 3\0", schema.APPLICATION_ID)


def not_a_file(path: Path) -> str:
    """Return what is at *path* instead of a file, in words; empty for a file, and for nothing."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return ""
    kinds: dict[str, Callable[[int], bool]] = {
        "a folder": stat.S_ISDIR,
        "a pipe": stat.S_ISFIFO,
        "a socket": stat.S_ISSOCK,
        "a device": lambda mode_: stat.S_ISCHR(mode_) or stat.S_ISBLK(mode_),
    }
    return next((name for name, is_kind in kinds.items() if is_kind(mode)), "")


def distrust(connection: sqlite3.Connection) -> None:
    """Let a connection run nothing that is in the file, and notice damage in a page as it is read."""
    connection.execute("PRAGMA trusted_schema=OFF")
    connection.execute("PRAGMA cell_size_check=ON")


def require_our_schema(execute: Execute, path: Path) -> None:
    """Raise `NotOurStore` or `UnknownStoreVersion` unless the open database is a store of this version."""
    [(application,)] = execute("PRAGMA application_id")
    if application != schema.APPLICATION_ID:
        raise NotOurStore(f"{path} is not a store of arkaudit")
    [(version,)] = execute("PRAGMA user_version")
    if version != schema.SCHEMA_VERSION:
        raise UnknownStoreVersion(
            f"{path} was written by another version of arkaudit (schema {version}; "
            f"this one reads {schema.SCHEMA_VERSION})"
        )


def require_sound(execute: Execute, path: Path | None) -> None:
    """Raise `StoreDamaged` unless the open database is as we make it.

    Errors of SQLite pass through.
    """
    for fault in _faults(execute, path):
        raise StoreDamaged(f"{path}: {fault}")
    if path is not None:
        _opened[path.absolute()] = None


def damage_in(path: Path) -> str | None:
    """Return what is wrong with a store, in words, at length; None for one that can be read."""
    if not path.is_file() or not is_ours(path):
        return None
    try:
        return next(_all_faults(path), None)
    except Exception as problem:
        return str(getattr(problem, "orig", problem)) if is_damage(getattr(problem, "orig", problem)) else None


def damage_in_opened() -> str | None:
    """Return what is wrong with a store that this process has opened, with its name; None where all can be read."""
    for path in _opened:
        fault = damage_in(path)
        if fault:
            return f"{path}: {fault}"
    return None


def _all_faults(path: Path) -> Iterator[str]:
    engine = create_engine("sqlite://", creator=lambda: _connected(path), poolclass=NullPool)
    try:
        with engine.connect() as connection:
            execute: Execute = connection.exec_driver_sql
            yield from _faults(execute, None)
            yield from (f"SQLite: {line}" for (line,) in execute("PRAGMA integrity_check(1)") if line != "ok")
            yield from unreadable_rows(connection)
    finally:
        engine.dispose()


def _connected(path: Path) -> sqlite3.Connection:
    access = "mode=ro" if Path(f"{path}-wal").exists() else "mode=ro&immutable=1"
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?{access}", uri=True)
    distrust(connection)
    return connection


def _faults(execute: Execute, path: Path | None) -> Iterator[str]:
    yield from _foreign_parts(execute)
    yield from _missing_parts(execute)
    if path is not None:
        is_small = path.stat().st_size <= LOOKED_THROUGH_BYTES
        for (line,) in execute(f"PRAGMA quick_check({1 if is_small else schema.run.name})"):
            if line != "ok":
                yield f"SQLite: {line}"


def _foreign_parts(execute: Execute) -> Iterator[str]:
    """Return what no store of ours has, and what would run or mean something else."""
    ours = {table.name for table in schema.tables.sorted_tables}
    for kind, name, sql in execute("SELECT type, name, sql FROM sqlite_master ORDER BY rowid"):
        if kind == "trigger":
            yield f"has a trigger, {name!r}, which no store has"
        elif kind not in ("table", "index", "view"):
            yield f"has a {kind!r}, {name!r}, in its schema"
        elif name in ours and kind != "table":
            yield f"has a {kind} in place of its table {name}"
        elif name in ours and str(sql).lstrip().upper().startswith("CREATE VIRTUAL"):
            yield f"has a virtual table in place of its table {name}"


def _missing_parts(execute: Execute) -> Iterator[str]:
    for table, columns in _expected().items():
        there = {row[1]: (str(row[2]).upper(), bool(row[5]), row[6]) for row in execute(f"PRAGMA table_xinfo({table})")}
        if not there:
            yield f"lacks its table {table}"
        for name, (kind, is_key) in columns.items() if there else ():
            if name not in there:
                yield f"lacks the column {name} of its table {table}"
            elif there[name] != (kind, is_key, 0):
                yield f"has another column {name} in its table {table}"


@cache
def _expected() -> dict[str, dict[str, tuple[str, bool]]]:
    """The columns of each table: their type as SQLite has it, and whether they are the key."""
    compiled = dialect.dialect()
    return {
        table.name: {
            column.name: (column.type.compile(dialect=compiled).upper(), bool(column.primary_key))
            for column in table.columns
        }
        for table in schema.tables.sorted_tables
    }
