"""Rows of the store as typed columns, some thousands at a time: no more of them are Python's values at any moment."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
from sqlalchemy import Connection, Select

from extractors.model.errors import ArkauditError

Dtype: TypeAlias = str | pd.CategoricalDtype

TEXT: Final = "str"
INTEGER: Final = "Int64"
REAL: Final = "Float64"
TRUTH: Final = "boolean"
MOMENT: Final = "datetime64[ms, UTC]"
PARSED: Final = "object"
WORD: Final = pd.CategoricalDtype()
"""Text of which few different values occur many times."""

#: The text between the parts of a list that is shown as text.
JOINT: Final = "; "
#: Rows that are read at once: few enough that none of their values outlives the first generation of garbage.
_AT_ONCE: Final = 1_000

_ARROW: Final[Mapping[Dtype, pa.DataType]] = {
    TEXT: pa.large_string(),
    INTEGER: pa.int64(),
    REAL: pa.float64(),
    TRUTH: pa.bool_(),
    **{f"int{bits}": pa.int64() for bits in (32, 64)},
    "bool": pa.bool_(),
}
#: Dtypes that know nothing of what is missing.
_NUMPY: Final = ("int32", "int64", "bool")


def vocabulary(*enums: type[StrEnum]) -> pd.CategoricalDtype:
    """The dtype of a closed vocabulary: every word, in the order of its enum, or of several in a row."""
    return pd.CategoricalDtype([str(word) for words in enums for word in words], ordered=True)


class UnknownWord(ArkauditError, ValueError):
    """Raised for a word that is not in the vocabulary of its column."""


#: Rows as SQLite gives them.
Rows: TypeAlias = Sequence[Sequence[Any]]


def fetched(connection: Connection, query: Select[Any]) -> Iterator[Rows]:
    """Return what a query gives, some thousands of rows at a time, as SQLite gives them."""
    cursor = connection.execute(query).cursor
    while cursor is not None and (rows := cursor.fetchmany(_AT_ONCE)):
        yield rows


class Columns:
    """A frame that grows by rows; *json_columns* come as JSON, and become text or what it holds."""

    def __init__(self, dtypes: Mapping[str, Dtype], json_columns: frozenset[str] = frozenset()) -> None:
        self._columns = {name: _column(name, dtype) for name, dtype in dtypes.items()}
        self._parsers = [(name in json_columns, dtype == TEXT) for name, dtype in dtypes.items()]

    def add(self, rows: Sequence[Sequence[Any]]) -> None:
        """More rows. Raises `UnknownWord` and `json.JSONDecodeError`."""
        if rows:
            self.add_columns(list(zip(*rows, strict=True)))

    def add_columns(self, columns: Sequence[Sequence[Any]]) -> None:
        """The same, column by column."""
        for column, values, (is_json, is_text) in zip(self._columns.values(), columns, self._parsers, strict=True):
            column.add(_parsed(values, as_text=is_text) if is_json else values)

    def frame(self) -> pd.DataFrame:
        """All rows; none stays here."""
        names = list(self._columns)
        return pd.DataFrame({name: self._columns.pop(name).series() for name in names})


def frame_from(
    connection: Connection, dtypes: Mapping[str, Dtype], query: Select[Any], json_columns: frozenset[str] = frozenset()
) -> pd.DataFrame:
    """Return what a query gives as a frame."""
    columns = Columns(dtypes, json_columns)
    for rows in fetched(connection, query):
        columns.add(rows)
    return columns.frame()


def frame_of(dtypes: Mapping[str, Dtype], rows: Sequence[Sequence[Any]]) -> pd.DataFrame:
    """A few rows as a frame."""
    columns = Columns(dtypes)
    columns.add(rows)
    return columns.frame()


class _Column(Protocol):
    """A column that grows."""

    def add(self, values: Sequence[Any]) -> None: ...

    def series(self) -> pd.Series: ...


def _column(name: str, dtype: Dtype) -> _Column:
    if isinstance(dtype, pd.CategoricalDtype):
        return _Words() if dtype.categories is None else _CategoryColumn(name, dtype)
    if dtype == MOMENT:
        return _TimestampColumn()
    return _Objects() if dtype == PARSED else _Plain(dtype)


class _Plain:
    """Text, numbers, truths."""

    def __init__(self, dtype: Dtype) -> None:
        self._dtype = dtype
        self._type = _ARROW[dtype]
        self._chunks: list[pa.Array] = []

    def add(self, values: Sequence[Any]) -> None:
        self._chunks.append(_array(values, self._type))

    def arrow(self) -> pa.Array:
        return pa.chunked_array(self._chunks, self._type).combine_chunks()

    def series(self) -> pd.Series:
        values = self.arrow()
        if self._dtype in _NUMPY:
            return pd.Series(values.to_numpy(zero_copy_only=False), dtype=self._dtype)
        dtype: Any = pd.api.types.pandas_dtype(self._dtype)
        return pd.Series(dtype.__from_arrow__(pa.chunked_array([values])))


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_boolean(kind):
        values = [None if value is None else bool(value) for value in values]
    try:
        return pa.array(values, kind)
    except (UnicodeEncodeError, pa.ArrowTypeError):
        if not pa.types.is_large_string(kind):
            raise
        return pa.array([joined(value) for value in values], kind)  # half a character, out of JSON


class _Words:
    """Text of which few different values occur many times; the categories in their order."""

    def __init__(self) -> None:
        self._chunks: list[pa.Array] = []

    def add(self, values: Sequence[Any]) -> None:
        self._chunks.append(_array(values, pa.large_string()).dictionary_encode())

    def series(self) -> pd.Series:
        kind = pa.dictionary(pa.int32(), pa.large_string())
        words = pa.chunked_array(self._chunks, kind).unify_dictionaries().combine_chunks()
        categories = pd.Index(words.dictionary.to_pylist(), dtype=TEXT)
        codes = words.indices.fill_null(-1).to_numpy()
        return pd.Series(pd.Categorical.from_codes(codes, categories).reorder_categories(categories.sort_values()))


class _TimestampColumn(_Plain):
    def __init__(self) -> None:
        super().__init__(TEXT)

    def series(self) -> pd.Series:
        try:
            moments = self.arrow().cast(_MOMENT_TYPE)
        except pa.ArrowInvalid:  # not as we write them: pandas reads every form, and makes nothing of the others
            parsed = pd.to_datetime(super().series(), utc=True, format="ISO8601", errors="coerce")
            return parsed.dt.as_unit("ms")
        return pd.Series(moments.to_pandas())


_MOMENT_TYPE: Final = pa.timestamp("ms", "UTC")


class _CategoryColumn:
    """Words of a closed vocabulary."""

    def __init__(self, name: str, dtype: pd.CategoricalDtype) -> None:
        self._name = name
        self._dtype = dtype
        self._places: dict[Any, int] = {None: -1, **{word: at for at, word in enumerate(dtype.categories)}}
        self._codes: list[np.ndarray[Any, np.dtype[np.int8]]] = []

    def add(self, values: Sequence[Any]) -> None:
        try:
            self._codes.append(np.fromiter(map(self._places.__getitem__, values), dtype=np.int8, count=len(values)))
        except KeyError as error:
            raise UnknownWord(f"{self._name} {error.args[0]!r}") from error

    def series(self) -> pd.Series:
        codes = np.concatenate([np.empty(0, np.int8), *self._codes])
        return pd.Series(pd.Categorical.from_codes(codes, dtype=self._dtype))


class _Objects:
    def __init__(self) -> None:
        self._values: list[Any] = []

    def add(self, values: Sequence[Any]) -> None:
        self._values.extend(values)

    def series(self) -> pd.Series:
        return pd.Series(self._values, dtype="object")


_DECODER: Final = json.JSONDecoder()


def content(text: str | None) -> Any:
    """Return what a JSON text holds; nothing for nothing. Raises `json.JSONDecodeError`."""
    if not text:
        return None
    value, end = _DECODER.raw_decode(text) if text[0] in '[{"' else (None, -1)
    return value if end == len(text) else json.loads(text)


def _parsed(values: Sequence[str | None], *, as_text: bool) -> list[Any]:
    """Return what JSON texts hold, each different one parsed once."""
    contents = {value: content(value) for value in set(values)}
    parsed = {value: joined(value_) for value, value_ in contents.items()} if as_text else contents
    return [parsed[value] for value in values]


def joined(value: Any) -> str | None:
    """A value of the store as text: the parts of a list joined, a structure as JSON, nothing as nothing.

    Half a character (a lone surrogate, which JSON can hold and no file can) is spelled out.

    >>> joined(["404 from the provider", "asked twice"])
    '404 from the provider; asked twice'
    """
    if value is None:
        return None
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, list | tuple):
        return JOINT.join(part for part in map(joined, value) if part)
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
