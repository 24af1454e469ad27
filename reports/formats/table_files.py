"""CSV and Parquet with one file per table, and XLSX with one sheet per table."""

from __future__ import annotations

import codecs
import io
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from reports.languages.display import FORMULA, NEUTRALIZED_FORMULA, ColumnType, heading
from reports.tables.definitions import TableDefinition, arrow_moments, arrow_texts, number_texts, rows_of
from reports.tables.report_tables import TABLES, Report

_TEXT = pa.large_string()
_ROWS_AT_ONCE = 10_000


def csv_text(table: pd.DataFrame) -> str:
    r"""Return the table as CSV: header, quoted text, bare numbers, times in ISO 8601, LF line ends.

    All text is quoted: Python 3.11 would leave a bare CR unquoted, and many readers end a row there.

    >>> csv_text(pd.DataFrame({"title": ["=1+1", None], "arks": pd.array([2, None], dtype="Int64")}))
    '"title","arks"\n"\'=1+1",2\n"",""\n'
    """
    return b"".join(_csv_pieces(table)).decode("utf-8")


def _write_csv(path: Path, definition: TableDefinition, table: pd.DataFrame, *, mark: bytes = b"") -> None:
    with path.open("wb") as file:
        file.write(mark)
        file.writelines(_csv_pieces(table))


def _csv_pieces(table: pd.DataFrame) -> Iterator[bytes]:
    """Yield a table as CSV, some rows at a time."""
    header = ",".join(f'"{name}"' for name in table.columns)
    yield f"{header}\n".encode()
    for start in range(0, len(table), _ROWS_AT_ONCE):
        rows = table.iloc[start : start + _ROWS_AT_ONCE]
        # Whole columns are formatted at once and then joined to lines.
        cells = [_cells(rows.iloc[:, position]) for position in range(rows.shape[1])]
        lines = pc.binary_join_element_wise(*cells, pa.scalar(",", _TEXT))
        ended_lines = pc.binary_join_element_wise(lines, pa.scalar("\n", _TEXT), pa.scalar("", _TEXT))
        yield ended_lines.buffers()[2].to_pybytes()


def _cells(column: pd.Series) -> Any:
    """Return the cells of a column as an Arrow array of CSV texts; missing values are `""` for every type."""
    if isinstance(column.dtype, pd.DatetimeTZDtype):
        moments = arrow_moments(column).cast(_TEXT)
        return _quote_texts(pc.binary_replace_slice(moments, 10, 11, "T"), end='Z"')
    if pd.api.types.is_bool_dtype(column.dtype):
        return _quote_texts(pa.array(column.astype("str").str.lower(), _TEXT, from_pandas=True))
    if pd.api.types.is_numeric_dtype(column.dtype):
        return pc.fill_null(number_texts(column), '""')
    if isinstance(column.dtype, pd.CategoricalDtype):
        words = pa.array([*map(str, column.cat.categories), None], _TEXT)
        return _quote_texts(_neutralize_formulas(words)).take(pa.array(column.cat.codes.to_numpy() % len(words)))
    return _quote_texts(_neutralize_formulas(arrow_texts(column.astype("str"))))


def _quote_texts(texts: Any, end: str = '"') -> Any:
    """Return the texts in quotation marks, or with another *end*; missing values are `""`."""
    escaped_texts = pc.replace_substring(texts, '"', '""')
    quoted_texts = pc.binary_join_element_wise(
        pa.scalar('"', _TEXT), escaped_texts, pa.scalar(end, _TEXT), pa.scalar("", _TEXT)
    )
    return pc.fill_null(quoted_texts, '""')


def _neutralize_formulas(texts: Any) -> Any:
    """Return the Arrow array *texts* with `reports.languages.display.neutralize_formula` applied to each text."""
    if not pc.any(pc.match_substring_regex(texts, FORMULA)).as_py():
        return texts
    return pc.replace_substring_regex(texts, FORMULA, NEUTRALIZED_FORMULA)


def _write_parquet(path: Path, definition: TableDefinition, table: pd.DataFrame) -> None:
    """Write a Parquet file of *table* with the type, unit and meaning of each column."""
    types: dict[Any, Any] = {
        ColumnType.COUNT: pa.int64(),
        ColumnType.NUMBER: pa.float64(),
        ColumnType.SHARE: pa.float64(),
        ColumnType.TRUTH: pa.bool_(),
        ColumnType.MOMENT: pa.timestamp("ms", tz="UTC"),
    }
    fields = []
    for column in definition.columns:
        metadata = {"meaning": column.meaning} | ({"unit": column.unit} if column.unit else {})
        fields.append(pa.field(column.name, types.get(column.type, pa.string()), metadata=metadata))
    schema = pa.schema(fields, metadata={"table": definition.name, "row": definition.caption})
    categorical_columns = table.select_dtypes("category").columns
    text_table = table.astype(dict.fromkeys(categorical_columns, "object"))
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        writer.write_table(pa.Table.from_pandas(text_table, schema, preserve_index=False))


#: The formats with one file per table: the path pattern and the writer.
TABLE_FORMATS: Mapping[str, tuple[str, Callable[[Path, TableDefinition, pd.DataFrame], None]]] = {
    "csv": ("tables/{}.csv", _write_csv),
    # Excel recognizes UTF-8 by the byte order mark. Other programs may read it as text.
    "csv-bom": ("csv-bom/{}.csv", partial(_write_csv, mark=codecs.BOM_UTF8)),
    "parquet": ("parquet/{}.parquet", _write_parquet),
}


# XLSX

#: Limits of a sheet and a cell (ECMA-376; Excel's own limits).
MOST_ROWS = 1_048_576
LONGEST_CELL = 32_767
_MAX_WIDTH = 60
#: A workbook records its creation time; a fixed one gives the same bytes every time.
_CREATED_AT = datetime(2000, 1, 1)
_FORMATS = {
    ColumnType.COUNT: {"num_format": "#,##0"},
    ColumnType.NUMBER: {"num_format": "0.00"},
    ColumnType.SHARE: {"num_format": "0.0%"},
    ColumnType.MOMENT: {"num_format": "yyyy-mm-dd hh:mm:ss"},
}


def workbook_bytes(report: Report) -> bytes:
    """Return the report as an XLSX file: fixed header, filters, and text that is never a formula or a link."""
    import xlsxwriter

    buffer = io.BytesIO()
    plain_text_options = dict.fromkeys(("strings_to_formulas", "strings_to_numbers", "strings_to_urls"), False)
    runs = rows_of(report.frames.run[["version", "run_id"]])
    comments = [f"arkaudit {version}, run {number}" for version, number in runs]
    if report.choice:
        comments.append(report.choice.words)
    with xlsxwriter.Workbook(buffer, {**plain_text_options, "constant_memory": True, "remove_timezone": True}) as book:
        book.set_properties({"title": "Which ARKs persist?", "created": _CREATED_AT, "comments": "; ".join(comments)})
        header_format = book.add_format({"bold": True, "text_wrap": True, "valign": "top", "bottom": 1})
        styles = {column_type: book.add_format(style) for column_type, style in _FORMATS.items()}
        for definition in TABLES:
            _add_sheet(book, definition, report.tables[definition.name], header_format, styles)
    return buffer.getvalue()


def _add_sheet(
    book: Any, definition: TableDefinition, table: pd.DataFrame, header_format: Any, styles: dict[Any, Any]
) -> None:
    """Add a table to a workbook as a sheet with a filter, and comments that explain the columns."""
    sheet = book.add_worksheet(definition.name)
    row_count = len(table) if len(table) < MOST_ROWS else MOST_ROWS - 2
    for column_number, column in enumerate(definition.columns):
        title, unit = heading(column.name), f" ({column.unit})" if column.unit else ""
        sheet.write_string(0, column_number, title, header_format)
        sheet.write_comment(0, column_number, column.meaning + unit, {"author": ""})
        # Wide enough for 90 % of the first rows.
        lengths = table[column.name].head(200).astype("str").str.len().dropna()
        needed_width = int(lengths.quantile(0.9)) if len(lengths) else 0
        width = min(max(needed_width, len(title), 6) + 2, _MAX_WIDTH)
        sheet.set_column(column_number, column_number, width, styles.get(column.type))
    for row_number, row in enumerate(rows_of(table.head(row_count)), start=1):
        for column_number, value in enumerate(row):
            _write_cell(sheet, row_number, column_number, value)
    if row_count < len(table):
        sheet.write_string(row_count + 1, 0, f"{len(table) - row_count:,} more rows: see the other formats")
    sheet.freeze_panes(1, 1)
    sheet.autofilter(0, 0, max(row_count, 1), len(definition.columns) - 1)


def _write_cell(sheet: Any, row_number: int, column_number: int, value: Any) -> None:
    if isinstance(value, str):
        is_short = len(value) <= LONGEST_CELL
        sheet.write_string(row_number, column_number, value if is_short else f"{value[: LONGEST_CELL - 8]} … (cut)")
    elif value is not None:
        sheet.write(row_number, column_number, value)
