"""Export a store as Parquet for other tools: one file per table and run, sorted by NAAN and ARK.

Each file is written next to its final path, made durable, and moved there, so that it is complete or absent. A run that
has not changed since the last export is skipped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from sqlalchemy import JSON, Boolean, Column, Connection, Float, Integer, Select, Table, Text, select

from crawler.model import schema
from crawler.model.durable_files import durable_file, make_folder, safe_name
from extractors.model.errors import UserMistake
from extractors.model.files import path_exists
from reports.store.frames import read_store
from reports.store.typed_columns import text_of_value

#: The tables with rows for each run.
EXPORTED = (
    schema.run,
    schema.document,
    schema.finding,
    schema.mention,
    schema.observation,
    schema.tls_probe,
    schema.pause,
    schema.host_traffic,
    schema.verdict,
    schema.memento,
    schema.contact,
    schema.event,
)
#: The tables without a run: triage decisions, and the policy of the status.
OF_NO_RUN = (schema.triage, schema.policy)
_ROWS_A_GROUP = 50_000
_ARROW = {Integer: pa.int64(), Float: pa.float64(), Boolean: pa.bool_(), Text: pa.string(), JSON: pa.string()}
_MOMENT = pa.timestamp("ms", tz="UTC")


@dataclass(frozen=True, slots=True)
class ExportResult:
    """The result of an export."""

    written: int
    """Number of runs written."""
    unchanged: int
    unended: int
    """Number of runs that are still going on or were cut off."""


def export(store: Path, out: Path) -> ExportResult:
    """Write every ended run of *store* to *out* as ``TABLE/run=KEY/part.parquet``, and the tables without a run.

    JSON stays text. Raises `crawler.store.StoreUnopenable` and `UserMistake`.
    """
    try:
        return read_store(store, lambda connection: _export(connection, out))
    except OSError as error:
        raise UserMistake(f"{out}: the export can't be written: {error.strerror or error}") from error


def _export(connection: Connection, out: Path) -> ExportResult:
    run, provenance = schema.run, schema.provenance
    runs = connection.execute(select(run, provenance.c.uuid).join(provenance).order_by(run.c.run_id)).all()
    ended = [row for row in runs if row.ended_at is not None]
    written = 0
    for row in ended:
        stamp = f"{schema.SCHEMA_VERSION} {row.state} {row.ended_at}"
        places = {table: out / table.name / f"run={safe_name(row.uuid)}" / "part.parquet" for table in EXPORTED}
        if any(stamp_of(path) != stamp for path in places.values()):
            for table, path in places.items():
                _write(connection, table, row.run_id, path, stamp)
            written += 1
    # These tables are short: they are written if they changed since the last export.
    for table in OF_NO_RUN:
        rows = connection.execute(_rows(table, exported_columns(table), None)).all()
        content = repr([tuple(row) for row in rows]).encode("utf-8", "backslashreplace")
        stamp = f"{schema.SCHEMA_VERSION} {len(rows)} {sha256(content).hexdigest()}"
        path = out / table.name / "part.parquet"
        if stamp_of(path) != stamp and (rows or path_exists(path)):
            _write(connection, table, None, path, stamp)
    return ExportResult(written, len(ended) - written, len(runs) - len(ended))


def stamp_of(path: Path) -> str | None:
    """Return the stamp of an exported file, or None if the file is missing or unreadable."""
    try:
        metadata: dict[bytes, bytes] = pq.read_schema(path).metadata or {}
    except (OSError, pa.ArrowInvalid):
        return None
    return metadata.get(b"arkaudit", b"").decode()


def _write(connection: Connection, table: Table, run_id: int | None, path: Path, stamp: str) -> None:
    make_folder(path.parent)
    columns = exported_columns(table)
    shape = pa.schema([pa.field(name, _type(column)) for name, column in columns.items()], {"arkaudit": stamp})
    with durable_file(path) as file, pq.ParquetWriter(file, shape, compression="zstd") as writer:
        for rows in connection.execute(_rows(table, columns, run_id)).partitions(_ROWS_A_GROUP):
            writer.write_table(_arrow(shape, rows))


def exported_columns(table: Table) -> dict[str, Column[Any]]:
    """Return the columns of a file: those of the table, with ARK and NAAN instead of the key of the ARK."""
    columns: dict[str, Column[Any]] = {}
    for column in table.columns:
        if column.name == "ark_id":
            columns |= {"naan": schema.ark.c.naan, "ark": schema.ark.c.ark}
        elif column.name != "run_id" or table is schema.run:
            columns[column.name] = column
    return columns


def _rows(table: Table, columns: dict[str, Column[Any]], run_id: int | None) -> Select[Any]:
    """Return the query for the rows of a run, or of a table without a run; JSON as text."""
    as_stored = (schema.text_of(column) if schema.is_json(column) else column for column in columns.values())
    query = select(*(column.label(name) for name, column in zip(columns, as_stored, strict=True))).select_from(table)
    [key] = table.primary_key
    order: list[Any] = [key]
    if "ark_id" in table.columns:
        query = query.join(schema.ark, schema.ark.c.ark_id == table.c.ark_id)
        order = [schema.ark.c.naan, schema.ark.c.ark, key]
    query = query.order_by(*order)
    if run_id is None:
        return query
    if "run_id" in table.columns:
        return query.where(table.c.run_id == run_id)
    return query.join(schema.document).where(schema.document.c.run_id == run_id)


def _type(column: Column[Any]) -> pa.DataType:
    if column.name == "at" or column.name.endswith("_at"):
        return _MOMENT
    kind = column.type
    return (
        pa.string() if isinstance(kind, schema.Shared) else next(_ARROW[one] for one in _ARROW if isinstance(kind, one))
    )


def _arrow(shape: pa.Schema, rows: Sequence[Sequence[Any]]) -> pa.Table:
    """Return rows as Arrow. Lone surrogates are spelled out, because UTF-8 can't encode them."""
    arrays = []
    for field, values in zip(shape, zip(*rows, strict=True), strict=True):
        sound = [text_of_value(value) if isinstance(value, str) else value for value in values]
        is_moment = field.type == _MOMENT
        arrays.append(pa.array(sound, pa.string()).cast(_MOMENT) if is_moment else pa.array(sound, field.type))
    return pa.table(arrays, schema=shape)
