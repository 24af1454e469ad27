"""Columns that follow from one other column: worked out once for each different value, and then put in its place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pandas as pd
import pyarrow as pa

_TEXT = pa.large_string()
#: A URL with a path, and what of it names the host.
_WITH_PATH = r"(?s)^([^/?#]*//[^/?#]*)[/?#].*$"
#: ``https://N2T.net:443/ark:``: host and port, or nothing where there is no host.
_NETLOC = r"(?s)^(?:.*?://([^/?#]*).*|.*)$"


def host(url: str) -> str:
    """The host that *url* names, with its port unless that goes without saying; empty when it names none.

    >>> host("https://N2T.net/ark:12148/x5"), host("http://example.org:8080/"), host("https://[broken/")
    ('n2t.net', 'example.org:8080', '')
    """
    try:
        parts = urlsplit(url)
        name, port = parts.hostname or "", parts.port
    except ValueError:
        return ""
    return (
        name if port in (None, {"http": 80, "https": 443}.get(parts.scheme)) else f"{name}:{port}"
    )


def hosts_of(urls: pd.Series) -> pd.Series:
    """The `host` that each of *urls* names, as text; nothing for nothing."""
    return mapped(urls.astype("str").str.replace(_WITH_PATH, r"\1", regex=True), host)


def netlocs_of(urls: pd.Series) -> pd.Series:
    """The `netloc` of each of *urls*, as text; nothing for nothing."""
    return mapped(urls.astype("str").str.replace(_NETLOC, r"\1", regex=True), str.lower)


def netloc(url: str) -> str:
    """Host and port of a URL as they are written.

    >>> netloc("https://N2T.net:443/ark:12148/x5"), netloc("ark:12148/x5")
    ('n2t.net:443', '')
    """
    return url.partition("://")[2].partition("/")[0].partition("?")[0].partition("#")[0].lower()


def mapped(values: pd.Series, function: Callable[[Any], Any]) -> pd.Series:
    """What *function* makes of each of *values*, as text; each different one is asked for once, nothing never."""
    made = {value: function(value) for value in values.dropna().unique()}
    return values.map(made).astype("str")


def tallied(
    rows: pd.DataFrame, by: list[str], column: str, *, most: int | None = None
) -> pd.Series:
    """How often each value of *column* occurs in each group, by group, as `tally` writes it."""
    counts = rows.groupby([*by, column], observed=True).size().rename("count").reset_index()
    counts = counts.assign(text=counts[column].astype("str")).sort_values(
        ["count", "text"], ascending=[False, True]
    )
    first = counts.groupby(by, sort=False, observed=True).head(most) if most is not None else counts
    words = first["count"].astype("str") + " " + first["text"]
    return words.groupby([first[name] for name in by], observed=True).agg(", ".join)


def tally(values: Iterable[str], *, most: int | None = None) -> str:
    """Return how often each value occurs, the most frequent first, equals in alphabetical order.

    >>> tally(["query-ignored", "erc", "erc"])
    '2 erc, 1 query-ignored'
    """
    counts = sorted(Counter(values).items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{count} {value}" for value, count in counts[:most])


def by_identity(values: pd.Series, function: Callable[[Any], Any]) -> pd.Series:
    """What *function* makes of each of *values*, as text; many of these dictionaries are the same ones."""
    different = {id(value): value for value in values}
    made = {
        number: function(value) if isinstance(value, dict) and value else None
        for number, value in different.items()
    }
    return pd.Series([made[id(value)] for value in values], index=values.index, dtype="str")


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
    return arks.str.extract("^([^/]*/[^/.]*)", expand=False)


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


def arrow_texts(values: pd.Series) -> pa.Array:
    """The cells of a column of text as one array of Arrow."""
    texts = pa.array(values.astype("str"), _TEXT, from_pandas=True)
    return texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
