"""Columns that are worked out once for each different value equal those that are worked out cell by cell."""

from collections import Counter
from collections.abc import Iterable

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractors.model.urls import authority_of
from reports.tables.definitions import hosts_of, map_distinct, map_parsed, tally, values_of

URLS = [
    "https://n2t.net/ark:12148/x5", "https://N2T.net:443/ark:/12148/x5?info", "http://example.org:8080/a/b",
    "http://example.org:8080", "https://example.org?x=http://other.example/", "https://user:secret@example.org/x",
    "https://[2001:db8::1]:444/x", "https://[broken/", "https://bücher.example/x", "https://İstanbul.example/x",
    "https://host.example:99999/x", "https://host.example\n/x/", "HTTPS://EXAMPLE.ORG/x", "mailto:someone@example.org",
    "ark:12148/x5", "x://y//z", "//example.org/x", "",
]  # fmt: skip
_TEXTS = st.one_of(st.sampled_from(URLS), st.text("htps:/[]@?#.-azAZ09é\n", max_size=24))


def series(values: list[str | None]) -> pd.Series:
    return pd.Series(values, index=range(10, 10 + len(values)), dtype="str")


@given(st.lists(_TEXTS, max_size=12))
def test_hosts_are_those_of_each_url(urls: list[str]) -> None:
    expected = [authority_of(url) for url in urls]
    assert values_of(hosts_of(series(urls))) == expected


def test_hosts_of_all_urls_and_of_an_empty_list() -> None:
    found = hosts_of(series([*URLS, None]))
    assert found.tolist()[:-1] == [authority_of(url) for url in URLS]
    assert pd.isna(found.iloc[-1])
    assert list(found.index) == list(range(10, 11 + len(URLS)))
    assert hosts_of(series([])).dtype == "str"


def test_a_function_is_asked_once_for_each_different_value() -> None:
    asked: list[str] = []
    found = map_distinct(series(["a", None, "b", "a"]), lambda value: asked.append(value) or value.upper())
    assert values_of(found) == ["A", None, "B", "A"]
    assert asked == ["a", "b"]
    made = map_parsed(pd.Series([{"x": 1}, None, {}, {"x": 2}]), lambda value: str(value["x"]))
    assert values_of(made) == ["1", None, None, "2"]


def expected_tally(values: Iterable[str], most: int | None) -> str:
    """Return the count of each value, the most frequent first, equal counts in alphabetical order."""
    counts = sorted(Counter(values).items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{count} {value}" for value, count in counts[:most])


@pytest.mark.parametrize("dtype", ["str", "category"])
@given(rows=st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyzé")), min_size=1, max_size=30))
def test_tallies_of_groups_are_those_of_each_group(dtype: str, rows: list[tuple[str, str]]) -> None:
    frame = pd.DataFrame(rows, columns=["group", "word"]).astype({"group": "str", "word": dtype})
    for most in (None, 2):
        expected = {name: expected_tally(words.astype("str"), most) for name, words in frame.groupby("group")["word"]}
        assert tally(frame, ["group"], "word", most=most).to_dict() == expected


@pytest.mark.parametrize("dtype", ["str", "category", "Int64", "boolean", "Float64", "object"])
def test_values_are_plain_and_missing_ones_null(dtype: str) -> None:
    values = {"str": ["a", None], "category": ["a", None], "object": [{"a": 1}, None]}.get(dtype, [1, None])
    assert values_of(pd.Series(values, dtype=dtype)) == values
