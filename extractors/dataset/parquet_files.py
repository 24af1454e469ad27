"""The files of a dataset's tables: rows as Parquet, some thousands at a time in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from extractors.dataset.columns import ColumnKind, DatasetTable

_ROWS_A_GROUP = 20_000
_TYPES: Final = {
    ColumnKind.TEXT: pa.string(),
    ColumnKind.NUMBER: pa.int32(),
    ColumnKind.LARGE_NUMBER: pa.int64(),
    ColumnKind.TEXTS: pa.list_(pa.string()),
    ColumnKind.PAIRS: pa.list_(pa.list_(pa.int32())),
}


def schema_of(table: DatasetTable) -> pa.Schema:
    """Return the schema of a table's files, with the meaning of each column beside it."""
    fields = [
        pa.field(
            column.name,
            _TYPES[column.kind],
            nullable=column.is_optional,
            metadata={"meaning": column.meaning, **({"unit": column.unit} if column.unit else {})},
        )
        for column in table.columns
    ]
    return pa.schema(fields, metadata={"table": table.name, "row": table.caption})


class ParquetFile:
    """One file of a table, to which rows are added; each is a list of its cells, in the order of the columns."""

    def __init__(self, table: DatasetTable, path: Path) -> None:
        self.rows = 0
        self._schema = schema_of(table)
        self._rows: list[Sequence[Any]] = []
        self._writer = pq.ParquetWriter(path, self._schema, compression="zstd", write_page_checksum=True)

    def add(self, rows: Iterable[Sequence[Any]]) -> None:
        """Add *rows*."""
        for row in rows:
            self._rows.append(row)
            self.rows += 1
            if len(self._rows) >= _ROWS_A_GROUP:
                self._flush()

    def close(self) -> None:
        """Write what is left, and the end of the file."""
        try:
            self._flush()
            self._writer.close()
        finally:
            self._writer.is_open = False  # or its end prints a traceback of its own, on a full disk

    def _flush(self) -> None:
        if self._rows:
            columns = zip(*self._rows, strict=True)
            arrays = [_array(cells, field.type) for cells, field in zip(columns, self._schema, strict=True)]
            self._writer.write_table(pa.table(arrays, schema=self._schema))
            self._rows = []


def _array(cells: Sequence[Any], kind: pa.DataType) -> pa.Array:
    try:
        return pa.array(cells, kind)
    except UnicodeEncodeError:
        return pa.array([_sound(cell) for cell in cells], kind)


def _sound(cell: Any) -> Any:
    """Text with lone surrogates spelled out, which no file in UTF-8 can hold; likewise in a list.

    >>> _sound("a\\ud800"), _sound(["\\udcff"]), _sound(None)
    ('a\\\\ud800', ['\\\\udcff'], None)
    """
    if isinstance(cell, list):
        return [_sound(each) for each in cell]
    return cell.encode("utf-8", "backslashreplace").decode() if isinstance(cell, str) else cell
