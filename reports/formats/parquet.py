"""Parquet: one file a table, with the type, unit and meaning of each column beside it."""

from __future__ import annotations

import io
from pathlib import PurePosixPath
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from reports.definitions import COUNT, MOMENT, NUMBER, SHARE, TRUTH, TableDefinition
from reports.formats.report import Files, Report, ReportFormat
from reports.tables import TABLES


def parquet_bytes(table: pd.DataFrame, definition: TableDefinition) -> bytes:
    """The table as Parquet."""
    types: dict[Any, Any] = {
        COUNT: pa.int64(),
        NUMBER: pa.float64(),
        SHARE: pa.float64(),
        TRUTH: pa.bool_(),
        MOMENT: pa.timestamp("ms", tz="UTC"),
    }
    fields = [
        pa.field(column.name, types.get(column.type, pa.string()), metadata=_metadata(column.meaning, column.unit))
        for column in definition.columns
    ]
    arrays = [pa.Array.from_pandas(_plain(table[field.name]), type=field.type, safe=True) for field in fields]
    schema = pa.schema(fields, metadata={"table": definition.name, "row": definition.caption})
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), sink, compression="zstd")
    return sink.getvalue()


def _plain(column: pd.Series) -> pd.Series:
    return column.astype("object") if isinstance(column.dtype, pd.CategoricalDtype) else column


def _metadata(meaning: str, unit: str) -> dict[str, str]:
    return {"meaning": meaning, **({"unit": unit} if unit else {})}


def _path(name: str) -> PurePosixPath:
    return PurePosixPath("parquet", f"{name}.parquet")


def _files(report: Report) -> Files:
    for definition in report.definitions:
        yield _path(definition.name), parquet_bytes(report.tables[definition.name], definition)


PARQUET = ReportFormat("parquet", tuple(_path(table.name) for table in TABLES), _files, is_text=False)
