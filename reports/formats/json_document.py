"""The report as one JSON document with every table, and its JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pandas as pd

from reports.tables.definitions import COUNT, DECLARED, MOMENT, NUMBER, SHARE, TRUTH, TableDefinition, records_of
from reports.tables.report_tables import TABLES, Report
from reports.tables.summary import summarize

#: Raised if a table or column is removed or changes its meaning; new ones may be added at any time.
VERSION = 2


def document(report: Report) -> dict[str, Any]:
    """Return the report as plain values."""
    summary, choice = summarize(report.frames, report.tables), report.choice
    runs = [_plain_row(row) for row in records_of(report.frames.run.drop(columns=["plan", "seed_list"]))]
    return {
        "format": "arkaudit-report",
        "version": VERSION,
        "audit": {"title": summary.title(), **summary.facts(), "sentences": summary.scope_sentences()},
        "run": next(iter(runs), None),
        "choice": {"naans": list(choice.naans), "documents": list(choice.documents), "only": list(choice.only)},
        "tables": {
            definition.name: {
                "title": definition.title,
                "caption": definition.caption,
                "columns": [
                    {"name": column.name, "type": str(column.type), "unit": column.unit, "meaning": column.meaning}
                    for column in definition.columns
                ],
                "rows": [_plain_row(row) for row in records_of(report.tables[definition.name])],
            }
            for definition in TABLES
        },
    }


def _plain_row(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _plain(value) for name, value in row.items()}


def _plain(value: Any) -> Any:
    """Return a cell as a JSON value; times are in ISO 8601, UTC."""
    if isinstance(value, pd.Timestamp):
        return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return value.item() if hasattr(value, "item") else value


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a report, derived from the definitions; published as ``docs/report.schema.json``."""
    texts = {"type": "array", "items": {"type": "string"}}
    tables = {definition.name: _table_schema(definition) for definition in TABLES}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A report of arkaudit",
        "description": "Every table of one audit. New columns may be added; the columns listed here stay.",
        "type": "object",
        "required": ["format", "version", "audit", "run", "choice", "tables"],
        "properties": {
            "format": {"const": "arkaudit-report"},
            "version": {"const": VERSION},
            "audit": {
                "type": "object",
                "description": "The subject of the report.",
                "required": ["title", "store", "sentences"],
                "properties": DECLARED["audit"],
            },
            "run": {"type": ["object", "null"]},
            "choice": {"type": "object", "additionalProperties": texts},
            "tables": {"type": "object", "required": list(tables), "properties": tables},
        },
    }


def _table_schema(definition: TableDefinition) -> dict[str, Any]:
    cells = {
        column.name: {
            **_JSON_TYPES.get(column.type, {"type": ["string", "null"]}),
            "description": column.meaning + (f" ({column.unit})" if column.unit else ""),
        }
        for column in definition.columns
    }
    row = {"type": "object", "required": list(cells), "properties": cells}
    return {
        "type": "object",
        "title": definition.title,
        "description": definition.caption,
        "required": ["title", "caption", "columns", "rows"],
        "properties": {"rows": {"type": "array", "items": row}},
    }


_JSON_TYPES: dict[Any, dict[str, Any]] = {
    COUNT: {"type": ["integer", "null"]},
    NUMBER: {"type": ["number", "null"]},
    SHARE: {"type": ["number", "null"], "minimum": 0, "maximum": 1},
    TRUTH: {"type": ["boolean", "null"]},
    MOMENT: {"type": ["string", "null"], "format": "date-time"},
}


def json_text(value: Any) -> str:
    """Return *value* as indented JSON with a final line break."""
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def json_report(report: Report) -> str:
    """Return the report as JSON text."""
    return json_text(document(report))
