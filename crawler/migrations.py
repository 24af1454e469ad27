"""Brings a store of an older schema up to date, in place: a copy first, then one transaction, or nothing at all.

Steps are plain SQL, one for each number of the schema. SQLite changes tables inside transactions, and its
``user_version`` is part of the same file and of the same transaction, so that a store is always of one version and
says which (`docs/adr` has why no library keeps them).
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Final
from uuid import NAMESPACE_URL, uuid5

from sqlalchemy import Connection, select
from sqlalchemy.dialects.sqlite import insert

from crawler import schema
from crawler.history.latest import rebuild

#: The oldest schema that can be brought up to date.
OLDEST: Final = 3


class NotCopied(Exception):
    """Raised by `copy_of` when there can be no copy of a store; the store is as it was."""


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
        with closing(sqlite3.connect(path)) as old, closing(sqlite3.connect(begun)) as new:
            old.backup(new)
        with begun.open("rb+") as written:
            os.fsync(written.fileno())
        begun.replace(copy)
        _sync_folder(path.parent)
    except (OSError, sqlite3.Error) as problem:
        begun.unlink(missing_ok=True)
        raise NotCopied(f"no copy could be made of it first: {problem}") from problem
    return copy


def migrate(connection: Connection, version: int) -> None:
    """Take a store from *version* to ours, step by step, in the transaction of *connection*."""
    for number in range(version, schema.SCHEMA_VERSION):
        STEPS[number](connection)
    rebuild(connection)
    connection.exec_driver_sql(f"PRAGMA user_version={schema.SCHEMA_VERSION}")


def _missing_tables(connection: Connection) -> None:
    """Make every table that is not there yet."""
    schema.tables.create_all(connection)


def _history(connection: Connection) -> None:
    """The tables of history; runs get a key that is the same in every copy of the store."""
    _missing_tables(connection)
    run = schema.run
    for row in connection.execute(select(run)).all():
        values = {"run_id": row.run_id, "uuid": run_key(row._mapping)}
        connection.execute(insert(schema.provenance).values(values).on_conflict_do_nothing())


def run_key(run: Mapping[str, object]) -> str:
    """The key of a run that was begun before runs had keys: it follows from what the run was.

    >>> run_key({"command": "run", "started_at": "2026-11-21T00:00:00.000+00:00", "version": "0", "seeds": ["a"]})
    '23c27bec-ffed-576d-962d-494f538149a2'
    """
    told = [run.get(name) for name in ("started_at", "command", "version", "resolver", "user_agent", "seeds")]
    return str(uuid5(NAMESPACE_URL, f"urn:arkaudit:run:{told!r}"))


#: What leads from a version to the next.
STEPS: Final[Mapping[int, Callable[[Connection], None]]] = {3: _missing_tables, 4: _history}


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
