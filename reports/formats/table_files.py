"""CSV and Parquet: one file a table."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from reports.formats.report import OfEachTable, Pieces, ReportFormat
from reports.tables.definitions import COUNT, MOMENT, NUMBER, SHARE, TRUTH, TableDefinition
from reports.tables.distinct import arrow_texts, number_texts
from reports.tables.report_tables import TABLES

#: As `reports.languages.display.defused` has it.
_FORMULA = r"\A[=+\-@\t\r]"
_NEGATIVE_NUMBER = r"\A-[0-9]+(?:\.[0-9]+)?\z"
_TEXT = pa.large_string()
_MILLISECONDS = pa.timestamp("ms")
_ROWS_AT_ONCE = 10_000


def csv_text(table: pd.DataFrame) -> str:
    r"""The table as CSV: a header, text quoted, numbers bare, moments in ISO 8601, LF at line ends.

    All text is quoted: Python 3.11 would leave a bare CR unquoted, and many readers end a row there.

    >>> csv_text(pd.DataFrame({"title": ["=1+1", None], "arks": pd.array([2, None], dtype="Int64")}))
    '"title","arks"\n"\'=1+1",2\n"",""\n'
    """
    return b"".join(csv_pieces(table.columns, [table])).decode("utf-8")


def csv_pieces(names: Iterable[str], frames: Iterable[pd.DataFrame]) -> Iterator[bytes]:
    """Yield a table as CSV, whose columns have these *names*, and whose rows come in any number of *frames*."""
    header = ",".join(f'"{name}"' for name in names)
    yield f"{header}\n".encode()
    for table in frames:
        for begin in range(0, len(table), _ROWS_AT_ONCE):
            yield _lines(table.iloc[begin : begin + _ROWS_AT_ONCE])


def _lines(rows: pd.DataFrame) -> bytes:
    """The rows as the file has them: a whole column is written at once, and lines are made of columns."""
    cells = [_cells(rows.iloc[:, number]) for number in range(rows.shape[1])]
    lines = pc.binary_join_element_wise(*cells, pa.scalar(",", _TEXT))
    ended = pc.binary_join_element_wise(lines, pa.scalar("\n", _TEXT), pa.scalar("", _TEXT))
    return ended.buffers()[2].to_pybytes() if len(ended) else b""


def _cells(column: pd.Series) -> Any:
    """The cells of a column as the file has them; `""` for what is missing, whatever it would be."""
    if isinstance(column.dtype, pd.DatetimeTZDtype):
        moments = pa.array(
            column.dt.tz_localize(None).dt.as_unit("ms"), _MILLISECONDS, from_pandas=True
        )
        return _quoted(pc.binary_replace_slice(moments.cast(_TEXT), 10, 11, "T"), end='Z"')
    if pd.api.types.is_bool_dtype(column.dtype):
        return _quoted(pa.array(column.astype("str").str.lower(), _TEXT, from_pandas=True))
    if pd.api.types.is_numeric_dtype(column.dtype):
        return pc.fill_null(number_texts(column), '""')
    if isinstance(column.dtype, pd.CategoricalDtype):
        words = pa.array([*map(str, column.cat.categories), None], _TEXT)
        return _quoted(_defused(words)).take(pa.array(column.cat.codes.to_numpy() % len(words)))
    return _quoted(_defused(arrow_texts(column.astype("str"))))


def _quoted(texts: Any, end: str = '"') -> Any:
    """The texts in quotation marks, or with another *end*; `""` for what is missing."""
    marked = pc.replace_substring(texts, '"', '""')
    whole = pc.binary_join_element_wise(
        pa.scalar('"', _TEXT), marked, pa.scalar(end, _TEXT), pa.scalar("", _TEXT)
    )
    return pc.fill_null(whole, '""')


def _defused(texts: Any) -> Any:
    """The texts, each with an apostrophe that a spreadsheet would take for a formula; see `defused`."""
    is_formula = pc.match_substring_regex(texts, _FORMULA)
    if not pc.any(is_formula).as_py():  # as in most columns
        return texts
    is_formula = pc.and_not(is_formula, pc.match_substring_regex(texts, _NEGATIVE_NUMBER))
    marked = pc.binary_join_element_wise(pa.scalar("'", _TEXT), texts, pa.scalar("", _TEXT))
    return pc.if_else(is_formula, marked, texts)


def csv_path(name: str) -> PurePosixPath:
    return PurePosixPath("tables", f"{name}.csv")


def _csv_file(definition: TableDefinition, table: pd.DataFrame) -> tuple[PurePosixPath, Pieces]:
    return csv_path(definition.name), csv_pieces(table.columns, [table])


CSV = ReportFormat(
    "csv", tuple(csv_path(table.name) for table in TABLES), lambda _: OfEachTable(_csv_file)
)


# Parquet, with the type, unit and meaning of each column.


def parquet_pieces(definition: TableDefinition, frames: Iterable[pd.DataFrame]) -> Iterator[bytes]:
    """Yield a table as Parquet, whose rows come in any number of *frames*: one group of rows for each."""
    schema, sink = _schema(definition), _Pieces()
    with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
        for table in frames:
            arrays = [
                pa.Array.from_pandas(_plain(table[field.name]), type=field.type, safe=True)
                for field in schema
            ]
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
        pa.field(
            column.name,
            types.get(column.type, pa.string()),
            metadata=_metadata(column.meaning, column.unit),
        )
        for column in definition.columns
    ]
    return pa.schema(fields, metadata={"table": definition.name, "row": definition.caption})


def _plain(column: pd.Series) -> pd.Series:
    return column.astype("object") if isinstance(column.dtype, pd.CategoricalDtype) else column


def _metadata(meaning: str, unit: str) -> dict[str, str]:
    return {"meaning": meaning, **({"unit": unit} if unit else {})}


def parquet_path(name: str) -> PurePosixPath:
    return PurePosixPath("parquet", f"{name}.parquet")


def _parquet_file(definition: TableDefinition, table: pd.DataFrame) -> tuple[PurePosixPath, Pieces]:
    return parquet_path(definition.name), parquet_pieces(definition, [table])


PARQUET = ReportFormat(
    "parquet",
    tuple(parquet_path(table.name) for table in TABLES),
    lambda _: OfEachTable(_parquet_file),
    is_text=False,
)
