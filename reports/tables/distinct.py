"""Columns that follow from one other column: worked out once for each different value, and then put in its place."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final
from urllib.parse import urlsplit

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from extractors.model.ark import Ark

_TEXT: Final = pa.large_string()
#: The beginning of a URL that says which host it names, with nothing in it that a reader of URLs would look at twice.
_PLAIN_URL: Final = re.compile(r"https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?(?=/)", re.ASCII)


def host(url: str) -> str:
    """The host that *url* names, with its port unless that goes without saying; empty when it names none.

    >>> host("https://N2T.net/ark:12148/x5"), host("http://example.org:8080/"), host("https://[broken/")
    ('n2t.net', 'example.org:8080', '')
    """
    plain = _PLAIN_URL.match(url)
    return _host(plain[0] if plain else url)


@lru_cache(maxsize=10_000)
def _host(url: str) -> str:
    try:
        parts = urlsplit(url)
        name, port = parts.hostname or "", parts.port
    except ValueError:
        return ""
    return name if port in (None, {"http": 80, "https": 443}.get(parts.scheme)) else f"{name}:{port}"


def hosts_of(urls: pd.Series) -> pd.Series:
    """The `host` that each of *urls* names, as text; nothing for nothing."""
    return mapped(urls, host)


def netlocs_of(urls: pd.Series) -> pd.Series:
    """The `netloc` of each of *urls*, as text; nothing for nothing."""
    return mapped(urls, netloc)


def netloc(url: str) -> str:
    """Host and port of a URL as they are written.

    >>> netloc("https://N2T.net:443/ark:12148/x5"), netloc("ark:12148/x5")
    ('n2t.net:443', '')
    """
    return url.partition("://")[2].partition("/")[0].partition("?")[0].partition("#")[0].lower()


def mapped(values: pd.Series, function: Callable[[Any], Any]) -> pd.Series:
    """What *function* makes of each of *values*, as text; each different one is asked for once, nothing never."""
    return _as_text(arrow_texts(values).dictionary_encode(), function, values.index)


def tallied(rows: pd.DataFrame, by: list[str], column: str, *, most: int | None = None) -> pd.Series:
    """How often each value of *column* occurs in each group, by group, as `overviews.tally` writes it."""
    counts = rows.groupby([*by, column], observed=True).size().rename("count").reset_index()
    counts = counts.assign(text=counts[column].astype("str")).sort_values(["count", "text"], ascending=[False, True])
    first = counts.groupby(by, sort=False, observed=True).head(most) if most is not None else counts
    words = first["count"].astype("str") + " " + first["text"]
    return words.groupby([first[name] for name in by], observed=True).agg(", ".join)


def by_identity(values: pd.Series, function: Callable[[Any], Any]) -> pd.Series:
    """What *function* makes of each of *values*, as text; many of these objects are the same ones."""
    objects = values.to_list()
    places, different = pd.factorize(np.fromiter(map(id, objects), np.int64, len(objects)))
    first = np.zeros(len(different), np.int64)
    first[places[::-1]] = np.arange(len(objects))[::-1]
    made = pa.array([function(objects[index]) for index in first], _TEXT)
    return _text_series(made.take(pa.array(places)), values.index)


def number_texts(numbers: pd.Series) -> pa.Array:
    """Numbers as Python writes them; nothing for nothing."""
    values = pa.array(numbers, from_pandas=True)
    if pa.types.is_integer(values.type):
        return values.cast(_TEXT)
    encoded = values.dictionary_encode()
    texts = [str(number) for number in encoded.dictionary.to_pylist()]
    return pa.array(texts, _TEXT).take(encoded.indices)


def bases_of(arks: pd.Series) -> pd.Series:
    """The ARK of the whole object for each of *arks*, which are in normal form: the ARK without its qualifier."""
    texts = arrow_texts(arks)
    plain = pc.match_substring_regex(texts, _PLAIN_ARK)
    bases = pc.replace_substring_regex(texts, _PLAIN_ARK, r"\1")
    others = pc.filter(texts, pc.invert(plain)).to_pylist()
    if others:
        made = pa.array([str(Ark.parse(ark).base) for ark in others], texts.type)
        bases = pc.replace_with_mask(bases, pc.invert(plain), made)
    return _text_series(bases, arks.index)


#: An ARK in whose name no character could be written in another way, and the ARK of the whole object.
_PLAIN_ARK: Final = r"(?s)^(ark:[0-9a-z]+/[0-9A-Za-z]+)(?:[/.].*)?$"


def factorized(words: pd.Series) -> tuple[pa.Array, pa.Array]:
    """For each cell its place among the different texts of a column, or -1; and these, in the order of their coming."""
    if isinstance(words.dtype, pd.CategoricalDtype):
        codes = words.cat.codes.to_numpy()
        indices = np.full(len(codes), -1)
        indices[codes >= 0], places = pd.factorize(codes[codes >= 0])
        return pa.array(indices), pa.array([str(word) for word in words.cat.categories.to_numpy()[places]], _TEXT)
    encoded = arrow_texts(words.astype("str")).dictionary_encode()
    return pc.fill_null(encoded.indices, -1), encoded.dictionary


def values_of(column: pd.Series) -> list[Any]:
    """The cells of a column as plain values, None for what is missing."""
    if isinstance(column.dtype, pd.StringDtype):
        texts: list[Any] = arrow_texts(column).to_numpy(zero_copy_only=False).tolist()
        return texts
    if isinstance(column.dtype, pd.CategoricalDtype):
        words = np.array([*column.cat.categories, None], dtype=object)
        return list(words[column.cat.codes.to_numpy()])
    plain: list[Any] = column.astype("object").where(column.notna(), None).tolist()
    return plain


def _as_text(values: pa.DictionaryArray, function: Callable[[Any], Any], index: pd.Index) -> pd.Series:
    made = pa.array([function(value) for value in values.dictionary.to_pylist()], _TEXT)
    return _text_series(made.take(values.indices), index)


def _text_series(texts: pa.Array, index: pd.Index) -> pd.Series:
    dtype: Any = pd.api.types.pandas_dtype("str")
    return pd.Series(dtype.__from_arrow__(pa.chunked_array([texts])), index=index)


def arrow_texts(values: pd.Series) -> pa.Array:
    """The cells of a column of text as one array of Arrow."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        return pa.array(values.astype("str"), _TEXT, from_pandas=True)
    texts = pa.array(values, _TEXT, from_pandas=True)
    return texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
