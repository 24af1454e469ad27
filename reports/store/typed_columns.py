"""Read rows of the store in batches as typed columns, so that few Python values exist at a time."""

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
#: Text with few different values that each occur many times.
WORD = pd.CategoricalDtype()

#: Separator of the parts of a list that is shown as text.
JOINT = "; "
#: Rows per batch: few enough that their values do not outlive the first generation of the garbage collector.
_AT_ONCE = 1_000
#: Arrow types by dtype; all other dtypes are stored as text.
_ARROW: Mapping[Dtype, pa.DataType] = {INTEGER: pa.int64(), REAL: pa.float64(), TRUTH: pa.bool_()}

_WORDS = pa.dictionary(pa.int32(), pa.large_string())


def vocabulary(*enums: type[StrEnum]) -> pd.CategoricalDtype:
    """Return the ordered dtype of a closed vocabulary: the words of *enums*, in their order."""
    return pd.CategoricalDtype([str(word) for words in enums for word in words], ordered=True)


class UnknownWord(ArkauditError, ValueError):
    """Raised for a word outside the vocabulary of its column."""


#: Rows as SQLite gives them.
Rows: TypeAlias = Sequence[Sequence[Any]]


def fetch_batches(connection: Connection, query: Select[Any]) -> Iterator[Rows]:
    """Yield the rows of a query in batches of `_AT_ONCE`, as SQLite returns them."""
    cursor = connection.execute(query).cursor
    while cursor is not None and (rows := cursor.fetchmany(_AT_ONCE)):
        yield rows


class Columns:
    """The columns of a DataFrame to build from rows.

    Columns in *json_columns* arrive as JSON; their dtype decides if they become text or parsed values.
    """

    def __init__(self, dtypes: Mapping[str, Dtype], json_columns: frozenset[str] = frozenset()) -> None:
        self._dtypes = dtypes
        self._json_columns = json_columns
        self._chunks: dict[str, list[Any]] = {name: [] for name in dtypes}

    def add(self, rows: Rows) -> None:
        """Add *rows*, whose values are in the order of the columns."""
        for (name, dtype), values in zip(self._dtypes.items(), zip(*rows, strict=True), strict=False):
            self._chunks[name].append(_array(values, TEXT if name in self._json_columns else dtype))

    def frame(self) -> pd.DataFrame:
        """Return all rows as a frame and empty this object. Raises `UnknownWord` and `json.JSONDecodeError`."""
        return pd.DataFrame(
            {
                name: (_parsed if name in self._json_columns else _series)(name, self._chunks.pop(name), dtype)
                for name, dtype in self._dtypes.items()
            }
        )


def frame_of(dtypes: Mapping[str, Dtype], rows: Rows) -> pd.DataFrame:
    """Return *rows* as a frame with the columns of *dtypes*."""
    columns = Columns(dtypes)
    columns.add(rows)
    return columns.frame()


def _array(values: Sequence[Any], dtype: Dtype) -> pa.Array:
    """Return *values* as a column of Arrow in the type of *dtype*."""
    if dtype == TRUTH:
        values = [None if value is None else bool(value) for value in values]
    arrow_type = _ARROW.get(dtype, pa.large_string())
    try:
        cells = pa.array(values, arrow_type)
    except (UnicodeEncodeError, pa.ArrowTypeError):
        if dtype in _ARROW:
            raise
        # JSON may contain lone surrogates.
        cells = pa.array([text_of_value(value) for value in values], arrow_type)
    return cells.dictionary_encode() if isinstance(dtype, pd.CategoricalDtype) else cells


def _parsed(name: str, chunks: list[Any], dtype: Dtype) -> pd.Series:
    """Return a JSON column as parsed values for `PARSED`, else as text; each different text is parsed once."""
    texts = _series(name, chunks, TEXT)
    values = {text: content(text) for text in texts.dropna().unique()}
    if dtype == PARSED:
        return texts.map(values).astype("object")
    return texts.map({text: text_of_value(value) for text, value in values.items()}).astype("str")


def _series(name: str, chunks: list[Any], dtype: Dtype) -> pd.Series:
    """Return the *chunks* of a column as a Series of *dtype*; unreadable times are missing."""
    if isinstance(dtype, pd.CategoricalDtype):
        return _words(name, pa.chunked_array(chunks, _WORDS).to_pandas(), dtype)
    cells = pa.chunked_array(chunks, _ARROW.get(dtype, pa.large_string()))
    if dtype == MOMENT:
        try:
            return pd.Series(cells.cast(pa.timestamp("ms", "UTC")).to_pandas())
        # Not in the form that arkaudit writes: pandas reads any ISO 8601 form, and gives NaT for the rest.
        except pa.ArrowInvalid:
            moments: Any = pd.to_datetime(cells.to_pandas(), utc=True, format="ISO8601", errors="coerce")
            return pd.Series(moments.dt.as_unit("ms"))
    extension: Any = pd.api.types.pandas_dtype(dtype)
    return pd.Series(extension.__from_arrow__(cells))


def _words(column: str, words: pd.Series, dtype: pd.CategoricalDtype) -> pd.Series:
    if dtype.categories is None:
        return words.cat.set_categories(words.cat.categories.astype(TEXT).sort_values())
    for word in words.cat.categories.difference(dtype.categories):
        raise UnknownWord(f"{column} {word!r}")
    return words.cat.set_categories(dtype.categories, ordered=True)


def content(text: str | None) -> Any:
    """Return the parsed value of a JSON text; None for empty text. Raises `json.JSONDecodeError`."""
    return json.loads(text) if text else None


def text_of_value(value: Any) -> str | None:
    """Return a value of the store as text: list items joined, structures as JSON, None as None.

    Lone surrogates, which JSON can contain and UTF-8 files cannot, are spelled out.

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
