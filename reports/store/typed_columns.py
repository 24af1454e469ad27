"""Rows of the store as typed columns, some thousands at a time: no more of them are Python's values at any moment."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeAlias

import pandas as pd
import pyarrow as pa
from sqlalchemy import Connection, Select

from extractors.model.errors import ArkauditError

Dtype: TypeAlias = str | pd.CategoricalDtype

TEXT = "str"
INTEGER = "Int64"
REAL = "Float64"
TRUTH = "boolean"
MOMENT = "datetime64[ms, UTC]"
PARSED = "object"
#: Text of which few different values occur many times.
WORD = pd.CategoricalDtype()

#: The text between the parts of a list that is shown as text.
JOINT = "; "
#: Rows that are read at once: few enough that none of their values outlives the first generation of garbage.
_AT_ONCE = 1_000
#: What cells are in Arrow; all others are text.
_ARROW: Mapping[Dtype, pa.DataType] = {INTEGER: pa.int64(), REAL: pa.float64(), TRUTH: pa.bool_()}


def vocabulary(*enums: type[StrEnum]) -> pd.CategoricalDtype:
    """The dtype of a closed vocabulary: every word, in the order of its enum, or of several in a row."""
    return pd.CategoricalDtype([str(word) for words in enums for word in words], ordered=True)


class UnknownWord(ArkauditError, ValueError):
    """Raised for a word that is not in the vocabulary of its column."""


#: Rows as SQLite gives them.
Rows: TypeAlias = Sequence[Sequence[Any]]


def fetch_batches(connection: Connection, query: Select[Any]) -> Iterator[Rows]:
    """Return what a query gives, some thousands of rows at a time, as SQLite gives them."""
    cursor = connection.execute(query).cursor
    while cursor is not None and (rows := cursor.fetchmany(_AT_ONCE)):
        yield rows


class Columns:
    """A frame that grows by rows; *json_columns* come as JSON, and become text or what it holds."""

    def __init__(self, dtypes: Mapping[str, Dtype], json_columns: frozenset[str] = frozenset()) -> None:
        self._dtypes = dtypes
        self._json_columns = json_columns
        self._chunks: dict[str, list[Any]] = {name: [] for name in dtypes}

    def add(self, rows: Rows) -> None:
        """More rows. Raises `json.JSONDecodeError`."""
        if rows:
            self.add_columns(list(zip(*rows, strict=True)))

    def add_columns(self, columns: Sequence[Sequence[Any]]) -> None:
        """The same, column by column."""
        for (name, dtype), values in zip(self._dtypes.items(), columns, strict=True):
            cells = _parse_json(values, as_text=dtype == TEXT) if name in self._json_columns else values
            self._chunks[name].append(cells if dtype == PARSED else _array(cells, dtype))

    def frame(self) -> pd.DataFrame:
        """All rows; none stays here. Raises `UnknownWord`."""
        return pd.DataFrame(
            {name: _series(name, self._chunks.pop(name), dtype) for name, dtype in self._dtypes.items()}
        )


def frame_of(dtypes: Mapping[str, Dtype], rows: Rows) -> pd.DataFrame:
    """A few rows as a frame."""
    columns = Columns(dtypes)
    columns.add(rows)
    return columns.frame()


def _array(values: Sequence[Any], dtype: Dtype) -> pa.Array:
    if dtype == TRUTH:
        values = [None if value is None else bool(value) for value in values]
    kind = _ARROW.get(dtype, pa.large_string())
    try:
        cells = pa.array(values, kind)
    except (UnicodeEncodeError, pa.ArrowTypeError):
        if dtype in _ARROW:
            raise
        cells = pa.array([text_of_value(value) for value in values], kind)  # half a character, out of JSON
    return cells.dictionary_encode() if isinstance(dtype, pd.CategoricalDtype) else cells


def _series(name: str, chunks: list[Any], dtype: Dtype) -> pd.Series:
    if dtype == PARSED:
        return pd.Series([value for chunk in chunks for value in chunk], dtype=PARSED)
    if isinstance(dtype, pd.CategoricalDtype):
        return pd.Series(_words(name, chunks, dtype))
    cells = pa.chunked_array(chunks, _ARROW.get(dtype, pa.large_string()))
    if dtype == MOMENT:
        try:
            return pd.Series(cells.cast(pa.timestamp("ms", "UTC")).to_pandas())
        except pa.ArrowInvalid:  # not as we write them: pandas reads every form, and makes nothing of the others
            moments: Any = pd.to_datetime(cells.to_pandas(), utc=True, format="ISO8601", errors="coerce")
            return pd.Series(moments.dt.as_unit("ms"))
    extension: Any = pd.api.types.pandas_dtype(dtype)
    return pd.Series(extension.__from_arrow__(cells))


def _words(name: str, chunks: list[Any], dtype: pd.CategoricalDtype) -> pd.Categorical:
    kind = pa.dictionary(pa.int32(), pa.large_string())
    cells = pa.chunked_array(chunks, kind).unify_dictionaries().combine_chunks()
    categories = pd.Index(cells.dictionary.to_pylist(), dtype=TEXT)
    words = pd.Categorical.from_codes(cells.indices.fill_null(-1).to_numpy(), categories)
    if dtype.categories is None:
        return words.reorder_categories(categories.sort_values())
    for word in categories.difference(dtype.categories):
        raise UnknownWord(f"{name} {word!r}")
    return words.set_categories(dtype.categories, ordered=True)


def content(text: str | None) -> Any:
    """Return what a JSON text holds; nothing for nothing. Raises `json.JSONDecodeError`."""
    return json.loads(text) if text else None


def _parse_json(values: Sequence[str | None], *, as_text: bool) -> list[Any]:
    """Return what JSON texts hold, each different one parsed once."""
    parsed = {value: content(value) for value in set(values)}
    if as_text:
        parsed = {value: text_of_value(held) for value, held in parsed.items()}
    return [parsed[value] for value in values]


def text_of_value(value: Any) -> str | None:
    """A value of the store as text: the parts of a list joined, a structure as JSON, nothing as nothing.

    Half a character (a lone surrogate, which JSON can hold and no file can) is spelled out.

    >>> text_of_value(["404 from the provider", "asked twice"])
    '404 from the provider; asked twice'
    """
    if value is None:
        return None
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, list | tuple):
        return JOINT.join(part for part in map(text_of_value, value) if part)
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
