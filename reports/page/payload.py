"""The tables as the page embeds them: column by column, every text once, packed."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator
from typing import Any, Final

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from reports.definitions import COUNT, MOMENT, NUMBER, SHARE, TRUTH, Column, TableDefinition
from reports.display import escaped, heading
from reports.distinct import factorized, number_texts
from reports.page.topics import columns_of

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
    compressor = zlib.compressobj(6, wbits=_GZIP)
    parts = [compressor.compress(text.encode("utf-8")) for text in _texts(table, columns)]
    return base64.b64encode(b"".join([*parts, compressor.flush()])).decode("ascii")


#: The form of what zlib packs: gzip's, with the largest window.
_GZIP: Final = 16 + zlib.MAX_WBITS


def _texts(table: pd.DataFrame, columns: tuple[Column, ...]) -> Iterator[str]:
    """The JSON of a table, a column at a time: together they are many times as long as what is made of them."""
    yield f'{{"rows":{len(table)},"columns":['
    for place, column in enumerate(columns):
        yield f"{',' if place else ''}{_column(table[column.name], column)}"
    yield "]}"


def _column(values: pd.Series, column: Column) -> str:
    if column.type is MOMENT:
        moments = pa.array(values.dt.tz_localize(None).dt.as_unit("ms"), pa.timestamp("ms"), from_pandas=True)
        return f'{{"v":{_numbers(moments.cast(pa.int64()).cast(pa.large_string()))}}}'
    if column.type is TRUTH:
        return f'{{"v":{_numbers(number_texts(values.astype("boolean").astype("Int64")))}}}'
    if column.type in (COUNT, NUMBER, SHARE):
        return f'{{"v":{_numbers(number_texts(values))}}}'
    codes, found = factorized(values)
    texts = found if "".join(found).isprintable() else [escaped(text) for text in found]
    indices = _numbers(pa.array(codes).cast(pa.large_string()))
    return f'{{"d":{json.dumps(texts, ensure_ascii=False, separators=(",", ":"))},"i":{indices}}}'


def _numbers(texts: pa.Array) -> str:
    """A list of numbers in JSON, made of their texts; null for nothing."""
    if not len(texts):
        return "[]"
    each = pc.binary_join_element_wise(
        pc.fill_null(texts, "null"), pa.scalar(",", texts.type), pa.scalar("", texts.type)
    )
    return f"[{each.buffers()[2].to_pybytes()[:-1].decode()}]"


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
