"""The tables as the page embeds them: column by column, every text once, packed."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any, Final

import pandas as pd

from reports.definitions import COUNT, MOMENT, NUMBER, SHARE, TRUTH, Column, TableDefinition
from reports.display import escaped, heading

#: Rows of one table that the page holds; the files hold them all.
MOST_EMBEDDED: Final = 500_000
#: What is made for programs, and repeats much that stands in other tables: of that the page holds an example.
MOST_FOR_PROGRAMS: Final = {"targets": 20_000}


def most_embedded(table: str) -> int:
    """The rows of the table of this name that the page holds."""
    return MOST_FOR_PROGRAMS.get(table, MOST_EMBEDDED)


def packed(table: pd.DataFrame, columns: tuple[Column, ...]) -> str:
    """The rows of a table, packed: gzip in Base64 of JSON, ``{"rows": 2, "columns": [...]}``.

    A column of text is ``{"d": texts, "i": numbers}``, -1 for nothing, with every invisible character spelled out; a
    column of numbers, truths or moments (milliseconds since 1970) is ``{"v": values}``, with null for nothing.
    """
    content = {"rows": len(table), "columns": [_column(table[column.name], column) for column in columns]}
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode("utf-8"), compresslevel=6, mtime=0)).decode("ascii")


def _column(values: pd.Series, column: Column) -> dict[str, Any]:
    if column.type is MOMENT:
        moments = values.dt.as_unit("ms").astype("int64").astype("object")
        return {"v": moments.where(values.notna(), None).tolist()}
    if column.type in (COUNT, NUMBER, SHARE, TRUTH):
        plain = values.astype("object").where(values.notna(), None).tolist()
        return {"v": [int(value) if column.type is TRUTH and value is not None else value for value in plain]}
    codes, found = pd.factorize(values.astype("str"))
    texts = found.tolist()
    if not "".join(texts).isprintable():
        texts = [escaped(text) for text in texts]
    return {"d": texts, "i": codes.tolist()}


def described(definition: TableDefinition) -> dict[str, Any]:
    """Return what the page must know of a table before it looks into it."""
    return {
        "name": definition.name,
        "title": definition.title,
        "columns": [
            {
                "name": column.name,
                "heading": heading(column.name),
                "type": str(column.type),
                "meaning": _meaning(column),
            }
            for column in definition.columns
        ],
    }


def _meaning(column: Column) -> str:
    return f"{column.meaning} ({column.unit})" if column.unit else column.meaning
