"""XLSX: one sheet a table, for people who work in spreadsheets."""

from __future__ import annotations

import io
from datetime import datetime
from typing import Any

import pandas as pd

from reports.formats.report import EVERY_TABLE, Report, one_file
from reports.languages.display import heading
from reports.tables.definitions import COUNT, MOMENT, NUMBER, SHARE, TRUTH, TableDefinition, rows_of

#: What a sheet and a cell can hold (ECMA-376; Excel's own limits).
MOST_ROWS = 1_048_576
LONGEST_CELL = 32_767
_WIDEST = 60
#: A workbook says when it was made; ours says the same every time.
_MADE = datetime(2000, 1, 1)
_FORMATS = {
    COUNT: {"num_format": "#,##0"},
    NUMBER: {"num_format": "0.00"},
    SHARE: {"num_format": "0.0%"},
    MOMENT: {"num_format": "yyyy-mm-dd hh:mm:ss"},
}


def workbook_bytes(report: Report) -> bytes:
    """The report as a workbook: a header that stays, filters, and text that is never taken for a formula or a link."""
    import xlsxwriter

    sink = io.BytesIO()
    as_it_is = dict.fromkeys(
        ("strings_to_formulas", "strings_to_numbers", "strings_to_urls"), False
    )
    runs = rows_of(report.frames.run[["version", "run_id"]])
    words = [f"arkaudit {version}, run {number}" for version, number in runs]
    if report.choice:
        words.append(report.choice.words)
    with xlsxwriter.Workbook(
        sink, {**as_it_is, "constant_memory": True, "remove_timezone": True}
    ) as book:
        book.set_properties(
            {"title": "Which ARKs persist?", "created": _MADE, "comments": "; ".join(words)}
        )
        head = book.add_format({"bold": True, "text_wrap": True, "valign": "top", "bottom": 1})
        styles = {kind: book.add_format(style) for kind, style in _FORMATS.items()}
        for definition in report.definitions:
            _add_sheet(book, definition, report.tables[definition.name], head, styles)
    return sink.getvalue()


def _add_sheet(
    book: Any, definition: TableDefinition, table: pd.DataFrame, head: Any, styles: dict[Any, Any]
) -> None:
    sheet = book.add_worksheet(definition.name)
    rows = len(table) if len(table) < MOST_ROWS else MOST_ROWS - 2
    for place, column in enumerate(definition.columns):
        title, unit = heading(column.name), f" ({column.unit})" if column.unit else ""
        sheet.write_string(0, place, title, head)
        sheet.write_comment(0, place, column.meaning + unit, {"author": ""})
        sheet.set_column(place, place, _width(table[column.name], title), styles.get(column.type))
    for number, row in enumerate(rows_of(table.head(rows)), start=1):
        for place, (value, column) in enumerate(zip(row, definition.columns, strict=True)):
            _write_cell(sheet, number, place, value, column.type)
    if rows < len(table):
        sheet.write_string(rows + 1, 0, f"{len(table) - rows:,} more rows: see the other formats")
    sheet.freeze_panes(1, 1)
    sheet.autofilter(0, 0, max(rows, 1), len(definition.columns) - 1)


def _write_cell(sheet: Any, number: int, place: int, value: Any, kind: Any) -> None:
    if value is None:
        return
    if kind in (COUNT, NUMBER, SHARE):
        sheet.write_number(number, place, value)
    elif kind is TRUTH:
        sheet.write_boolean(number, place, bool(value))
    elif kind is MOMENT:
        sheet.write_datetime(number, place, value.to_pydatetime(warn=False))
    else:
        text = str(value)
        is_short = len(text) <= LONGEST_CELL
        sheet.write_string(
            number, place, text if is_short else f"{text[: LONGEST_CELL - 8]} … (cut)"
        )


def _width(column: pd.Series, title: str) -> int:
    """Return how wide a column is shown: as most of its first rows need, within reason."""
    lengths = column.head(200).astype("str").str.len().dropna()
    needed = int(lengths.quantile(0.9)) if len(lengths) else 0
    return min(max(needed, len(title), 6) + 2, _WIDEST)


XLSX = one_file("xlsx", "report.xlsx", workbook_bytes, EVERY_TABLE, is_text=False)
