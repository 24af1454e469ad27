"""JSON: one document with every table, and the schema that it keeps to."""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath
from typing import Any

import pandas as pd

from reports.formats.report import EVERY_TABLE, Files, OfWholeReport, Report, ReportFormat
from reports.tables.definitions import COUNT, MOMENT, NUMBER, SHARE, TRUTH, Column, rows_of
from reports.tables.headline import audited
from reports.tables.report_tables import TABLES

#: Raised when a table or column goes, or changes its meaning; new ones may come at any time.
VERSION = 2
SCHEMA_NAME = "report.schema.json"
_PATH = PurePosixPath("report.json")


def document(report: Report) -> dict[str, Any]:
    """The report as plain values."""
    about = audited(report.frames)
    runs = report.frames.run.drop(columns=["plan", "seed_list"])
    run = next((dict(zip(runs.columns, row, strict=True)) for row in rows_of(runs)), None)
    return {
        "format": "arkaudit-report",
        "version": VERSION,
        "audit": {"title": about.title, **about.facts, "sentences": list(about.sentences)},
        "run": None if run is None else {name: _plain(value) for name, value in run.items()},
        "choice": {
            "naans": list(report.choice.naans),
            "documents": list(report.choice.documents),
            "only": list(report.choice.only),
        },
        "tables": {
            definition.name: {
                "title": definition.title,
                "caption": definition.caption,
                "columns": [_column(column) for column in definition.columns],
                "rows": [
                    dict(zip([column.name for column in definition.columns], map(_plain, row), strict=True))
                    for row in rows_of(report.tables[definition.name])
                ],
            }
            for definition in report.definitions
        },
    }


def _column(column: Column) -> dict[str, str]:
    return {"name": column.name, "type": str(column.type), "unit": column.unit, "meaning": column.meaning}


def _plain(value: Any) -> Any:
    """A cell as JSON can hold it: moments in ISO 8601 in UTC, numbers and truths as themselves."""
    if isinstance(value, pd.Timestamp):
        return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if hasattr(value, "item"):
        return value.item()
    return value


def schema() -> dict[str, Any]:
    """The JSON Schema of a report, made from the definitions; published as ``docs/report.schema.json``."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A report of arkaudit",
        "description": "Every table of one audit. Columns that are not named here may come; those that are stay.",
        "type": "object",
        "required": ["format", "version", "audit", "run", "choice", "tables"],
        "properties": {
            "format": {"const": "arkaudit-report"},
            "version": {"const": VERSION},
            "audit": {
                "type": "object",
                "description": "What the report is about.",
                "required": ["title", "store", "sentences"],
                "properties": {
                    "title": {"type": "string", "description": "what was audited, and when, in one line"},
                    "store": {"type": "string", "description": "name of the store's file"},
                    "run": {"type": "integer", "description": "number of the run that is reported"},
                    "command": {"type": "string", "description": "command that started it"},
                    "state": {"type": "string", "description": "running, finished, interrupted or failed"},
                    "seeds": {"type": "array", "items": {"type": "string"}, "description": "where it began"},
                    "scope": {"type": "array", "items": {"type": "string"}, "description": "its limits, in words"},
                    "began": {"type": "string", "description": "when it began (UTC)"},
                    "ended": {"type": ["string", "null"], "description": "when it ended (UTC)"},
                    "is_alone": {"type": "boolean", "description": "whether later checks are left out"},
                    "later_runs": {
                        "type": "array",
                        "items": {"type": "integer"},
                        "description": "numbers of the runs whose checks stand in the place of its own",
                    },
                    "checked_again": {"type": "integer", "description": "how many of its verdicts are theirs"},
                    "sentences": {"type": "array", "items": {"type": "string"}, "description": "the same in words"},
                },
            },
            "run": {"type": ["object", "null"]},
            "choice": {
                "type": "object",
                "additionalProperties": {"type": "array", "items": {"type": "string"}},
            },
            "tables": {
                "type": "object",
                "required": [definition.name for definition in TABLES],
                "properties": {
                    definition.name: {
                        "type": "object",
                        "title": definition.title,
                        "description": definition.caption,
                        "required": ["title", "caption", "columns", "rows"],
                        "properties": {
                            "rows": {
                                "type": "array",
                                "items": {
                                    "type": "object",
                                    "required": [column.name for column in definition.columns],
                                    "properties": {column.name: _cell_schema(column) for column in definition.columns},
                                },
                            }
                        },
                    }
                    for definition in TABLES
                },
            },
        },
    }


_JSON_TYPES: dict[Any, dict[str, Any]] = {
    COUNT: {"type": ["integer", "null"]},
    NUMBER: {"type": ["number", "null"]},
    SHARE: {"type": ["number", "null"], "minimum": 0, "maximum": 1},
    TRUTH: {"type": ["boolean", "null"]},
    MOMENT: {"type": ["string", "null"], "format": "date-time"},
}


def _cell_schema(column: Column) -> dict[str, Any]:
    unit = f" ({column.unit})" if column.unit else ""
    return {**_JSON_TYPES.get(column.type, {"type": ["string", "null"]}), "description": column.meaning + unit}


def json_text(value: Any) -> str:
    """*value* as JSON in UTF-8 that people can read: indented, with a line break at the end."""
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def _files(report: Report) -> Files:
    yield _PATH, [json_text(document(report)).encode("utf-8", "backslashreplace")]


JSON = ReportFormat("json", (_PATH,), lambda report: OfWholeReport(report, _files), needs=EVERY_TABLE)


if __name__ == "__main__":  # brings the published schema up to date
    Path("docs", SCHEMA_NAME).write_text(json_text(schema()), "utf-8")
