"""Parquet: one file a table, with the type, unit and meaning of each column."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from reports.formats.report import OfEachTable, Pieces, ReportFormat
from reports.tables.definitions import COUNT, MOMENT, NUMBER, SHARE, TRUTH, TableDefinition
from reports.tables.report_tables import TABLES


def parquet_pieces(definition: TableDefinition, frames: Iterable[pd.DataFrame]) -> Iterator[bytes]:
    """Yield a table as Parquet, whose rows come in any number of *frames*: one group of rows for each."""
    schema, sink = _schema(definition), _Pieces()
    with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
        for table in frames:
            arrays = [pa.Array.from_pandas(_plain(table[field.name]), type=field.type, safe=True) for field in schema]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
            yield from sink.taken()
    yield from sink.taken()


class _Pieces(io.RawIOBase):
    """A file of which what is written can be taken away."""

    def __init__(self) -> None:
        super().__init__()
        self._kept: list[bytes] = []
        self._length = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        piece = bytes(data)
        self._kept.append(piece)
        self._length += len(piece)
        return len(piece)

    def tell(self) -> int:
        return self._length

    def taken(self) -> list[bytes]:
        """Return what was written since this was asked before."""
        pieces, self._kept = self._kept, []
        return pieces


def _schema(definition: TableDefinition) -> pa.Schema:
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
    return pa.schema(fields, metadata={"table": definition.name, "row": definition.caption})


def _plain(column: pd.Series) -> pd.Series:
    return column.astype("object") if isinstance(column.dtype, pd.CategoricalDtype) else column


def _metadata(meaning: str, unit: str) -> dict[str, str]:
    return {"meaning": meaning, **({"unit": unit} if unit else {})}


def parquet_path(name: str) -> PurePosixPath:
    return PurePosixPath("parquet", f"{name}.parquet")


def _file(definition: TableDefinition, table: pd.DataFrame) -> tuple[PurePosixPath, Pieces]:
    return parquet_path(definition.name), parquet_pieces(definition, [table])


PARQUET = ReportFormat(
    "parquet", tuple(parquet_path(table.name) for table in TABLES), lambda _: OfEachTable(_file), is_text=False
)
