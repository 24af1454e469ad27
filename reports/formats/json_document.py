"""The report as one JSON document with every table; ``docs/report.schema.json`` describes it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pandas as pd

from reports.tables.definitions import records_of
from reports.tables.report_tables import TABLES, Report

#: Raised if a table or column is removed or changes its meaning; new ones may be added at any time.
VERSION = 2


def document(report: Report) -> dict[str, Any]:
    """Return the report as plain values."""
    summary, choice = report.summary, report.choice
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


def json_text(value: Any) -> str:
    """Return *value* as indented JSON with a final line break."""
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def json_report(report: Report) -> str:
    """Return the report as JSON text."""
    return json_text(document(report))
