"""The tables as the page embeds them: column by column, every text once, packed."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyarrow as pa

from reports.languages.display import ColumnType, escaped, heading
from reports.page.table_order import columns_of
from reports.tables.definitions import Column, TableDefinition
from reports.tables.distinct import values_of

#: Rows of one table that the page holds; the files hold them all.
MOST_EMBEDDED = 500_000


def packed(table: pd.DataFrame, columns: tuple[Column, ...]) -> str:
    """The rows of a table, packed: gzip in Base64 of JSON, ``{"rows": 2, "columns": [...]}``.

    A column of text is ``{"d": texts, "i": numbers}``, -1 for nothing, with every invisible character spelled out; a
    column of numbers, truths or moments (milliseconds since 1970) is ``{"v": values}``, with null for nothing.
    """
    compressor = zlib.compressobj(6, wbits=_GZIP)
    parts = [compressor.compress(piece.encode()) for piece in _pieces(table, columns)]
    return base64.b64encode(b"".join([*parts, compressor.flush()])).decode("ascii")


#: The form of what zlib packs: gzip's, with the largest window.
_GZIP = 16 + zlib.MAX_WBITS


def _pieces(table: pd.DataFrame, columns: tuple[Column, ...]) -> Iterator[str]:
    """The JSON of a table, column by column."""
    yield f'{{"rows":{len(table)},"columns":['
    for number, column in enumerate(columns):
        content = _content(table[column.name], column)
        yield ("," if number else "") + json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    yield "]}"


def _content(values: pd.Series, column: Column) -> dict[str, list[Any]]:
    match column.type:
        case ColumnType.MOMENT:
            moments = pa.array(values.dt.tz_localize(None).dt.as_unit("ms"), pa.timestamp("ms"), from_pandas=True)
            return {"v": moments.cast(pa.int64()).to_pylist()}
        case ColumnType.TRUTH:
            return {"v": values_of(values.astype("boolean").astype("Int64"))}
        case ColumnType.COUNT | ColumnType.NUMBER | ColumnType.SHARE:
            return {"v": values_of(values)}
    numbers, texts = pd.factorize(values)
    return {"d": [escaped(str(text)) for text in texts], "i": numbers.tolist()}


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
                **({"ours": True} if column.is_ours else {}),
            }
            for column in columns_of(definition)
        ],
    }
