"""Markdown: a short report for an issue or the summary of a CI job."""

from __future__ import annotations

from typing import Any

import pandas as pd

from crawler.history.ark_status import EventKind
from crawler.model.observations import Family
from reports.languages import Language
from reports.languages.display import heading, markdown_words
from reports.languages.places import place_words
from reports.languages.templates import template, words_of
from reports.tables.definitions import (
    COUNT,
    DECLARED,
    NUMBER,
    SHARE,
    TRUTH,
    Column,
    TableDefinition,
    rows_of,
    values_of,
)
from reports.tables.report_tables import TABLES, Report
from reports.tables.summary import summarize

#: The declarations of the tables to show, by name.
SHOWN = {brief["table"]: brief for brief in DECLARED["brief"]}
#: Longer cells are cut; the other formats have the full text.
LONGEST = 160
_NUMERIC = (COUNT, NUMBER, SHARE)


def markdown(report: Report) -> str:
    """Return the report in brief."""
    language, summary = report.language_choice.language, summarize(report.frames, report.tables)
    definitions = {definition.name: definition for definition in TABLES}
    shown = [(definitions[name], _summary_rows(name, report.tables[name])) for name in SHOWN]
    return template("report.md.j2", "reports.formats").render(
        words_of(language),
        summary=summary,
        scope=summary.scope,
        version="".join(report.frames.run["version"]),
        choice=report.choice.words,
        tables=[_section(definition, table, language) for definition, table in shown if len(table)],
    )


def _summary_rows(name: str, table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that need attention: not ARKs seen for the first time, and not expected results."""
    match name:
        case "failures":
            cited = table[table["document"].notna()]
            places = map(place_words, *(values_of(cited[name]) for name in ("document", "page", "line")))
            return cited.assign(place=[*places]).drop_duplicates(["place", "ark"])
        case "arks":
            return table[table["asked"].gt(0) & table["family"].eq(Family.FAILS)]
        case "inventory":
            return table[table["finding"].notna()]
        case "changes":
            return table[table["event"].ne(EventKind.NEW)]
        case "services":
            return table[table["service"].eq("level")]
        case "resolvers":
            return table[table["role"].eq("landing")]
        case "citations":
            examples = table[table["is_example"].notna()].drop_duplicates(["document", "citation"])
            return examples.sort_values("is_example", kind="stable")
    return table


def _section(definition: TableDefinition, table: pd.DataFrame, language: Language) -> dict[str, Any]:
    """Return a table for the template: title, columns, the first rows as cells, and the number of all rows."""
    brief, by_name = SHOWN[definition.name], {column.name: column for column in definition.columns}
    names = brief["columns"]
    columns = [by_name[name] for name in names if (table[name].notna() & table[name].astype("str").ne("")).any()]
    rows = rows_of(table.head(brief["most"])[[column.name for column in columns]])
    return {
        "title": brief.get("title", definition.title),
        "columns": [(heading(column.name), column.type in _NUMERIC) for column in columns],
        "rows": [[_cell(value, column, language) for value, column in zip(row, columns, strict=True)] for row in rows],
        "count": len(table),
    }


def _cell(value: Any, column: Column, language: Language) -> str:
    text = language.format_cell(language.gettext(value) if value and column.is_ours else value, column.type)
    if not text or column.type in (*_NUMERIC, TRUTH):
        return text
    cut = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
    return markdown_words(cut).replace("|", "\\|")
