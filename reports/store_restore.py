"""A store made again from its export: the same rows, so that a report on it is the same.

Run by run, in the order in which they began; what follows from the rest is worked out anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from sqlalchemy import Column, Connection, Table, func, select
from sqlalchemy.exc import IntegrityError

from crawler import schema
from crawler.history.latest import DERIVED, rebuild
from crawler.storage.database import adding
from crawler.storage.store import Store
from crawler.storage.stored_rows import ark_values
from extractors.ark import Ark
from extractors.normalize import NotAnArk
from reports.store_export import EXPORTED, OF_NO_RUN, exported_columns, stamp_of
from reports.store_reading import StoreUnreadable

_ROWS_AT_ONCE: Final = 5_000
#: What is taken from an export, each table behind those that it refers to.
_TAKEN: Final = tuple(each for each in schema.tables.sorted_tables if each in EXPORTED and each not in DERIVED)


class ExportUnreadable(StoreUnreadable):
    """Raised when a folder is no export of a store, or not a whole one, or one of another version."""


@dataclass(frozen=True, slots=True)
class _ExportedRun:
    """One run of an export."""

    uuid: str
    run_id: int
    started_at: datetime


def is_export(folder: Path) -> bool:
    """Return whether *folder* has what `store export` writes."""
    return next((folder / schema.run.name).glob("run=*"), None) is not None


def restore(export: Path, store: Path) -> int:
    """Make the store at *store*, which must not be there yet, of what stands in the folder *export*; returns its runs.

    Keys are those of the store that was exported. Where runs of several stores were exported into one folder, those of
    the later ones get others. Raises `ExportUnreadable`, and `crawler.storage.store_errors.StoreError`.
    """
    runs = sorted(_runs(export), key=lambda run: (run.started_at, run.run_id, run.uuid))
    if not runs:
        raise ExportUnreadable(f"{export}: is not an export of a store")
    with Store.open(store) as made, made.transaction() as connection:
        connection.exec_driver_sql("BEGIN IMMEDIATE")  # the driver begins none before a savepoint
        try:
            for run in runs:
                _take_run(connection, export, run)
            for table in OF_NO_RUN:
                if (place := export / table.name / "part.parquet").exists():
                    _take(connection, table, place, {}, {})
            rebuild(connection)
        except (pa.ArrowException, OSError, KeyError, ValueError, IntegrityError) as problem:
            raise ExportUnreadable(f"{export}: can't be read: {str(problem).splitlines()[0]}") from problem
    return len(runs)


def _runs(export: Path) -> Iterator[_ExportedRun]:
    for folder in (export / schema.run.name).glob("run=*"):
        uuid = folder.name.removeprefix("run=")
        for table in _TAKEN:
            place = export / table.name / folder.name / "part.parquet"
            stamp = stamp_of(place)
            if stamp is None:
                raise ExportUnreadable(f"{place}: is missing or damaged: export the store once more")
            if stamp.partition(" ")[0] != str(schema.SCHEMA_VERSION):
                raise ExportUnreadable(
                    f"{place}: was written by another version of arkaudit: export the store once more"
                )
        rows = pq.read_table(folder / "part.parquet", columns=["run_id", "started_at"], partitioning=None).to_pylist()
        if len(rows) != 1:
            raise ExportUnreadable(f"{folder}: has {len(rows)} runs, and not one")
        yield _ExportedRun(uuid, **rows[0])


def _take_run(connection: Connection, export: Path, run: _ExportedRun) -> None:
    """Take the rows of a run with their own keys, or with others where a run of another store has these."""
    try:
        _take_rows(connection, export, run, {})
    except IntegrityError:
        _take_rows(connection, export, run, _shifts(connection))


def _take_rows(connection: Connection, export: Path, run: _ExportedRun, shifts: Mapping[str, int]) -> None:
    """Take all rows of a run, or none of them, with their keys moved by *shifts*."""
    run_id = run.run_id + shifts.get(schema.run.name, 0)
    with connection.begin_nested():
        for table in _TAKEN:
            place = export / table.name / f"run={run.uuid}" / "part.parquet"
            is_of_run = "run_id" in table.columns and table is not schema.run
            _take(connection, table, place, shifts, {"run_id": run_id} if is_of_run else {})
        connection.execute(schema.provenance.insert(), {"run_id": run_id, "uuid": run.uuid})


def _shifts(connection: Connection) -> dict[str, int]:
    """What is added to the keys of each table, so that they are behind those that are there."""
    keys = {table.name: next(iter(table.primary_key)) for table in _TAKEN}
    return {name: connection.scalar(select(func.coalesce(func.max(key), 0))) or 0 for name, key in keys.items()}


def _take(
    connection: Connection, table: Table, place: Path, shifts: Mapping[str, int], fixed: Mapping[str, int]
) -> None:
    """Take the rows of one file, with the values of *fixed* for columns that it has not."""
    columns = exported_columns(table)
    with pq.ParquetFile(place) as file:
        for batch in file.iter_batches(_ROWS_AT_ONCE, columns=list(columns)):
            values = {name: _values(batch.column(name), _shift(column, shifts)) for name, column in columns.items()}
            if "ark_id" in table.columns:
                del values["naan"]
                values["ark_id"] = _ark_ids(connection, values.pop("ark"))
            names = [*values, *fixed]
            statement = f"INSERT INTO {table.name} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"
            rows = [(*row, *fixed.values()) for row in zip(*values.values(), strict=True)]
            if rows:
                connection.exec_driver_sql(statement, rows)


def _shift(column: Column[Any], shifts: Mapping[str, int]) -> int:
    """What is added to a column: to a key as much as to what refers to it."""
    referred = next((key.column.table.name for key in column.foreign_keys), None)
    return shifts.get(column.table.name if column.primary_key else referred or "", 0)


def _values(array: pa.Array, shift: int) -> list[Any]:
    """The values as the store has them: moments as text, JSON as it stands."""
    values = array.to_pylist()
    if pa.types.is_timestamp(array.type):
        return [None if value is None else value.isoformat(timespec="milliseconds") for value in values]
    return [None if value is None else value + shift for value in values] if shift else values


def _ark_ids(connection: Connection, texts: Sequence[str]) -> list[int]:
    """The keys of ARKs in normal form, which are added where they are not there yet."""
    distinct = list(dict.fromkeys(texts))
    try:
        arks = [Ark.parse(text) for text in distinct]
    except NotAnArk as problem:
        raise ValueError(str(problem)) from None
    if arks:
        connection.execute(adding(schema.ark), [ark_values(ark) for ark in arks])
    found: dict[str, int] = {}
    for start in range(0, len(distinct), 500):
        wanted = schema.ark.c.ark.in_(distinct[start : start + 500])
        found |= {
            ark: key for key, ark in connection.execute(select(schema.ark.c.ark_id, schema.ark.c.ark).where(wanted))
        }
    return [found[text] for text in texts]
