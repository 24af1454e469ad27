"""Each row of the table of ends and shapes: its example shows its effect, and its counter-example doesn't."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractors.find import Mention, find_arks, scan
from extractors.mentions import endings
from extractors.mentions.endings import (
    ENDINGS,
    SIGNS,
    Effect,
    Ending,
    ends_and_doubts,
    is_plain,
    marked_text,
    may_end_in_digits,
    start_of_no_ark,
)
from extractors.model.check_characters import KNOWN_ZONES
from extractors.model.documents import Block
from extractors.wraps.evidence import Evidence
from extractors.wraps.rules import ark_of
from tools.rent import Text, rents, without

ROWS = [pytest.param(row, id=row.name) for row in (*SIGNS, *ENDINGS)]


def mentions_in(marked: str) -> list[Mention]:
    """Return the mentions in a text, which are exactly those that are marked in it."""
    found = find_arks(re.sub("[⟦⟧]", "", marked))
    assert [mention.as_written for mention in found] == re.findall("⟦(.*?)⟧", marked, re.DOTALL)
    return found


@pytest.mark.parametrize("row", ROWS)
def test_example_shows_the_effect(row: Ending) -> None:
    found = mentions_in(row.example)
    if row.effect is Effect.LIKELY:
        assert {(mention.confidence.token, mention.reason) for mention in found} == {("likely", row.reason)}
    text = Block(re.sub("[⟦⟧]", "", row.example))
    with_row = list(scan(text, Evidence()))
    with without(row):
        assert list(scan(text, Evidence())) != with_row


@pytest.mark.parametrize("row", ROWS)
def test_counter_example_does_not_show_it(row: Ending) -> None:
    found = mentions_in(row.counter_example)
    text = Block(re.sub("[⟦⟧]", "", row.counter_example))
    with without(row):
        assert [mention for mention in scan(text, Evidence()) if isinstance(mention, Mention)] == found


def test_names_of_rows_are_unique_and_reasons_given() -> None:
    names = [row.name for row in (*SIGNS, *ENDINGS)]
    assert len(set(names)) == len(names)
    for row in ENDINGS:
        assert (row.reason is endings.Reason.COMPLETE) is (row.effect is Effect.NO_ARK), row.name


def test_rent_counts_the_texts_that_a_row_changes() -> None:
    texts = [
        Text("a.json", (Block("see ark:/67531/NAME there"),)),
        Text("b.txt", (Block("see ark:/67531/metadc107835 there"),), frozenset(["ark:67531/metadc107835"])),
        Text("c.txt", (Block("see ark:/67531/x5{id} there"),), frozenset()),
    ]
    rows = [row for row in ENDINGS if row.name in ("word for a name", "variable in brackets", "star of a note")]
    found = {rent.row.name: (rent.vectors, rent.documents, rent.certain, rent.bad) for rent in rents(rows, texts)}
    assert found == {
        "word for a name": (1, 0, 1, 1),
        "variable in brackets": (0, 1, 1, 1),
        "star of a note": (0, 0, 0, 0),
    }


part = st.text("0123456789abcdefinmoprtxXNA=_-", min_size=1, max_size=12)
pieces = st.one_of(
    part, st.sampled_from(["xxx", "nnnn", "NN", "id", "name", "udp4", "footnote", "8b69", "f12", "item"])
)
names = st.lists(pieces, min_size=1, max_size=3).map("".join)
written = st.tuples(
    st.sampled_from(["12148", "67375", "61903", "15000"]), names, st.lists(names.map("/{}".format), max_size=2).map("".join),
    st.lists(names.map(".{}".format), max_size=2).map("".join),
).map(lambda parts: f"{parts[0]}/{''.join(parts[1:])}")  # fmt: skip


@settings(max_examples=10 * settings.default.max_examples)
@given(
    written,
    st.sampled_from([" There", ". It", "", "), 12 Then", "\n\nThen", "; x", "> ark:"]),
    st.sampled_from(["see ", "", "@"]),
)
def test_no_row_applies_to_plain_arks(chars: str, after: str, before: str) -> None:
    ark = ark_of(f"ark:{chars}")
    if ark and is_plain(chars, after, 0) and not may_end_in_digits(ark, KNOWN_ZONES.check(ark)):
        text, start = marked_text(Block(before), len(before), "ark:/", chars, after, 0)
        assert start_of_no_ark(Block(""), text, start) is None
        assert list(ends_and_doubts(Block(""), text, start, ark, KNOWN_ZONES)) == []
