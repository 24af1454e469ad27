"""The report as one JSON document with every table; ``docs/report.schema.json`` describes it."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime
from typing import Any

from reports.tables.definitions import records_of
from reports.tables.report_tables import TABLES, Report

#: Raised if a table or column is removed or changes its meaning; new ones may be added at any time.
VERSION = 3


def json_report(report: Report) -> str:
    """Return the report as JSON text."""
    summary = report.summary
    value = {
        "format": "arkaudit-report",
        "version": VERSION,
        "audit": {"title": summary.title(), **summary.facts(), "sentences": summary.scope_sentences()},
        "run": next(records_of(report.frames.run.drop(columns=["plan", "seed_list"])), None),
        "choice": asdict(report.choice),
        "tables": {
            definition.name: {
                "title": definition.title,
                "caption": definition.caption,
                "columns": [
                    {"name": column.name, "type": str(column.type), "unit": column.unit, "meaning": column.meaning}
                    for column in definition.columns
                ],
                "rows": list(records_of(report.tables[definition.name])),
            }
            for definition in TABLES
        },
    }
    return json_text(value)


def json_text(value: Any) -> str:
    """Return *value* as indented JSON with a final line break; times are in ISO 8601, UTC."""
    return json.dumps(value, ensure_ascii=False, indent=1, default=_moment_text) + "\n"


def _moment_text(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
