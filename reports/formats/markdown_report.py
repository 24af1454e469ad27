"""Markdown: a short report for an issue or the summary of a CI job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from reports.languages import ENGLISH, Language
from reports.languages.display import ColumnType, escape_markdown, heading
from reports.languages.templates import template, words_of
from reports.tables.definitions import DECLARED, Column, in_order, rows_of, values_of
from reports.tables.report_tables import DEFINITIONS, Report

#: The declarations of the tables to show, by name.
SHOWN = {brief["table"]: brief for brief in DECLARED["brief"]}
#: Longer cells are cut; the other formats have the full text.
LONGEST = 160
_NUMERIC = (ColumnType.COUNT, ColumnType.NUMBER, ColumnType.SHARE)


def markdown(report: Report) -> str:
    """Return the report in brief, as Markdown."""
    language, summary = report.language_choice.language, report.summary
    brief_tables = [(brief, _rows_to_show(brief, report.tables[name])) for name, brief in SHOWN.items()]
    return template("report.md.j2", "reports.formats").render(
        words_of(language),
        summary=summary,
        scope=summary.scope,
        version="".join(report.frames.run["version"]),
        choice=report.choice.words,
        tables=[_table_values(brief, table, language) for brief, table in brief_tables if len(table)],
    )


def _table_values(brief: Mapping[str, Any], table: pd.DataFrame, language: Language) -> dict[str, Any]:
    """Return the values of a table for the template: title, caption, columns, first rows as cells, number of all rows.

    *brief* is its declaration in `SHOWN`.
    """
    definition = DEFINITIONS[brief["table"]]
    columns_by_name = {column.name: column for column in definition.columns}
    columns = [
        columns_by_name[name]
        for name in brief["columns"]
        if (table[name].notna() & table[name].astype("str").ne("")).any()
    ]
    rows = rows_of(table.head(brief["most"])[[column.name for column in columns]])
    return {
        "title": brief.get("title", definition.title),
        "caption": brief.get("caption"),
        "columns": [(heading(column.name), column.type in _NUMERIC) for column in columns],
        "rows": [[_cell(value, column, language) for value, column in zip(row, columns, strict=True)] for row in rows],
        "count": len(table),
    }


def _rows_to_show(brief: Mapping[str, Any], table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of *table* that *brief*, its declaration in `SHOWN`, selects; in its order."""
    rows = table.query(brief["rows"], engine="python") if "rows" in brief else table
    if brief["table"] == "failures":
        rows = rows.assign(
            place=[*map(ENGLISH.place, *(values_of(rows[name]) for name in ("document", "page", "line")))]
        )
    rows = rows.drop_duplicates(brief["distinct"]) if "distinct" in brief else rows
    return in_order(rows, *brief["order"]) if "order" in brief else rows


def _cell(value: Any, column: Column, language: Language) -> str:
    text = language.format_cell(language.gettext(value) if value and column.is_ours else value, column.type)
    if not text or column.type in (*_NUMERIC, ColumnType.TRUTH):
        return text
    short_text = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
    return escape_markdown(short_text).replace("|", "\\|")
