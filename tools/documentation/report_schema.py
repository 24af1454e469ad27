"""The JSON Schema of a report: ``docs/report.schema.json``."""

from __future__ import annotations

from typing import Any

from reports.formats.json_document import VERSION
from reports.languages.display import ColumnType
from reports.tables.definitions import DECLARED, TableDefinition
from reports.tables.report_tables import TABLES


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a report, derived from the definitions of its tables."""
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
    ColumnType.COUNT: {"type": ["integer", "null"]},
    ColumnType.NUMBER: {"type": ["number", "null"]},
    ColumnType.SHARE: {"type": ["number", "null"], "minimum": 0, "maximum": 1},
    ColumnType.TRUTH: {"type": ["boolean", "null"]},
    ColumnType.MOMENT: {"type": ["string", "null"], "format": "date-time"},
}
