"""The tables as the page embeds them: column by column, every text once, packed."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Iterator
from typing import Any, Final

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from reports.languages.display import escaped, heading
from reports.page.table_order import columns_of
from reports.tables.definitions import COUNT, MOMENT, NUMBER, SHARE, TRUTH, Column, TableDefinition
from reports.tables.distinct import factorized, number_texts

#: Rows of one table that the page holds; the files hold them all.
MOST_EMBEDDED: Final = 500_000


def packed(table: pd.DataFrame, columns: tuple[Column, ...]) -> str:
    """The rows of a table, packed: gzip in Base64 of JSON, ``{"rows": 2, "columns": [...]}``.

    A column of text is ``{"d": texts, "i": numbers}``, -1 for nothing, with every invisible character spelled out; a
    column of numbers, truths or moments (milliseconds since 1970) is ``{"v": values}``, with null for nothing.
    """
    compressor = zlib.compressobj(6, wbits=_GZIP)
    parts = [compressor.compress(piece) for piece in _pieces(table, columns)]
    return base64.b64encode(b"".join([*parts, compressor.flush()])).decode("ascii")


#: The form of what zlib packs: gzip's, with the largest window.
_GZIP: Final = 16 + zlib.MAX_WBITS
#: Texts and numbers that are written at once: together they are many times as long as what is made of them.
_AT_ONCE: Final = 50_000


def _pieces(table: pd.DataFrame, columns: tuple[Column, ...]) -> Iterator[bytes]:
    """The JSON of a table, piece by piece."""
    yield f'{{"rows":{len(table)},"columns":['.encode()
    for number, column in enumerate(columns):
        yield b"," if number else b""
        yield from _column(table[column.name], column)
    yield b"]}"


def _column(values: pd.Series, column: Column) -> Iterator[bytes]:
    if column.type not in _NOT_TEXT:
        places, texts = factorized(values)
        yield b'{"d":['
        yield from _list(texts, _quoted)
        yield b'],"i":['
        yield from _list(places, _numbers)
    else:
        yield b'{"v":['
        yield from _list(_number_texts(values, column), _numbers)
    yield b"]}"


_NOT_TEXT: Final = (COUNT, MOMENT, NUMBER, SHARE, TRUTH)


def _number_texts(values: pd.Series, column: Column) -> pa.Array:
    if column.type is MOMENT:
        moments = pa.array(values.dt.tz_localize(None).dt.as_unit("ms"), pa.timestamp("ms"), from_pandas=True)
        return moments.cast(pa.int64())
    return number_texts(values.astype("boolean").astype("Int64") if column.type is TRUTH else values)


def _list(values: pa.Array, written: Callable[[pa.Array], bytes]) -> Iterator[bytes]:
    """The elements of a list in JSON, of which *written* makes some at a time, with a comma after each."""
    for begin in range(0, len(values), _AT_ONCE):
        some = written(values.slice(begin, _AT_ONCE))
        yield some if begin + _AT_ONCE < len(values) else some[:-1]


def _numbers(numbers: pa.Array) -> bytes:
    """Numbers, or their texts, in JSON; null for nothing."""
    return _ended(pc.fill_null(numbers.cast(_TEXT), "null"), ",")


def _quoted(texts: pa.Array) -> bytes:
    """Texts in JSON, with every invisible character spelled out."""
    if not pc.any(pc.match_substring_regex(texts, _UNUSUAL)).as_py():
        return b'"' + _ended(texts, '","')[:-1]
    shown = [escaped(text) for text in texts.to_pylist()]
    return json.dumps(shown, ensure_ascii=False, separators=(",", ":"))[1:-1].encode() + b","


#: A character that JSON escapes, or may be invisible.
_UNUSUAL: Final = r"[^ !#-\[\]-~]"
_TEXT: Final = pa.large_string()


def _ended(texts: pa.Array, end: str) -> bytes:
    """Texts in a row, each with the same *end*."""
    ended = pc.binary_join_element_wise(texts, pa.scalar(end, _TEXT), pa.scalar("", _TEXT))
    text: bytes = ended.buffers()[2].to_pybytes()
    return text


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
