"""Suggestions: ARKs that may have been meant where a check character fails."""

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from extractors.extraction import extraction_of
from extractors.find import find_arks
from extractors.model.ark import BETANUMERIC, Ark, shoulder_of
from extractors.model.check_characters import (
    KNOWN_ZONES,
    LONGEST_NAME,
    CheckCharacter,
    Edit,
    Suggestion,
    Zone,
    Zones,
    series_of,
    suggestions,
)
from extractors.wraps.evidence import Evidence, use_evidence
from tests.unit.extractors.test_checkchar import mint_names, with_check
from tests.vectors import vectors

stems = st.text(BETANUMERIC, min_size=6, max_size=14)


def test_suggestions_are_made_by_the_evidence_in_use() -> None:
    [mention] = extraction_of(b"see ark:/12148/bpt6k83016612f there").mentions
    alone = mention.suggestions
    meant = alone[-1]
    assert len(alone) > 1
    with use_evidence(Evidence.from_arks([Ark.parse(meant)])):
        assert mention.suggestions[0] == meant
    assert mention.suggestions == alone


def test_doubtful_mentions_of_a_long_text_take_little_memory() -> None:
    text = "".join(f"ark:/12148/bpt6k{1_000_000 + number}z and " for number in range(2_000))
    unresolved = extraction_of(text.encode()).unresolved
    assert len(unresolved) > 1_500
    assert sum(len(doubt.window.text) for doubt in unresolved) < 600 * len(unresolved)


@pytest.mark.parametrize("vector", vectors("suggestions"))
def test_the_first_suggestion(vector: dict[str, Any]) -> None:
    length, seen = vector.get("length"), vector.get("seen", [])
    first, *_ = suggestions(
        Ark.parse(vector["ark"]),
        is_allowed=lambda ark: length is None or len(ark.name) == length,
        occurs_elsewhere=lambda form: form in seen,
    )
    assert first == Suggestion(Ark.parse(vector["first"]), Edit(vector["edit"]))


def edits(name: str, alphabet: str) -> st.SearchStrategy[str]:
    """Draw *name* with one mistake."""
    places = st.integers(0, len(name) - 1)
    return st.one_of(
        st.builds(lambda at: name[:at] + name[at] + name[at:], places),
        st.builds(lambda at: name[:at] + name[at + 1 :], places),
        st.builds(lambda at, char: name[:at] + char + name[at + 1 :], places, st.sampled_from(alphabet)).filter(
            lambda edited: all(was.isdigit() == is_now.isdigit() for was, is_now in zip(name, edited, strict=True))
        ),
        st.builds(lambda at, char: name[:at] + char + name[at:], places, st.sampled_from(alphabet + "),*_~")),
        st.builds(lambda at: name[:at] + name[at : at + 2][::-1] + name[at + 2 :], places),
        st.just(name.swapcase()),
    )


@given(st.sampled_from(["12148", "13960"]), stems, st.data())
def test_meant_ark_is_among_the_suggestions(naan: str, stem: str, data: st.DataObject) -> None:
    zone = Zone.NAME if naan == "12148" else Zone.NAAN_AND_NAME
    meant = with_check(zone, naan, stem)
    written = Ark(naan, data.draw(edits(meant.name, zone.alphabet)), "/f1")
    found = {suggestion.ark.base for suggestion in suggestions(written, limit=1000)}
    keeps_shoulder = shoulder_of(written.name.lower()) in (None, shoulder_of(meant.name))
    assume(series_of(written.name) == series_of(meant.name))
    assert (meant in found) is (KNOWN_ZONES.check(written) is CheckCharacter.FAILS and keeps_shoulder)


@pytest.mark.parametrize("written", ["bpt6k8301662", "bpt6k8301661g", "cb21903518g", "btv1b8449961x", "cb328956905z"])
def test_a_suggestion_for_a_numbered_name_is_of_its_series(written: str) -> None:
    """Neither bpt6s8301661 for bpt6k8301661 nor cb219g3518: only the last of the digits may become a letter."""
    found = [suggestion.ark.name for suggestion in suggestions(Ark("12148", written), limit=1000)]
    if written[-1].isdigit():
        assert found[0] == written + "0123456789bcdfghjkmnpqrstvwxz"[_total(written) % 29]  # appended
    if written[-1].isalpha():
        found = found[1:]
    assert found
    assert {series_of(name) for name in found} == {series_of(written)}


def _total(name: str) -> int:
    return sum(at * max(0, "0123456789bcdfghjkmnpqrstvwxz".find(char)) for at, char in enumerate(name, start=1))


def test_a_digit_is_taken_for_a_letter_only_where_they_look_alike() -> None:
    written = "kt4199q42f"
    for suggestion in suggestions(Ark("13030", written), limit=1000):
        if suggestion.edit is Edit.WRONG_CHARACTER:
            pairs = list(zip(written, suggestion.ark.name, strict=True))[:-1]
            assert all(was.isdigit() == is_now.isdigit() for was, is_now in pairs)
    [(found, edit)] = [
        (suggestion.ark.name, suggestion.edit) for suggestion in suggestions(Ark("12148", "btvlb8449691v"), limit=1)
    ]
    assert (found, edit) == ("btv1b8449691v", Edit.LOOK_ALIKE)


@given(st.sampled_from(["12148", "13960", "13030"]), stems)
def test_no_suggestion_is_of_another_shoulder(naan: str, stem: str) -> None:
    written = Ark(naan, f"kt{stem}" if naan == "13030" else stem)
    shoulder = shoulder_of(written.name)
    for suggestion in suggestions(written, limit=1000):
        assert shoulder is None or shoulder_of(suggestion.ark.name) == shoulder


@given(st.text(BETANUMERIC + "AB()_", min_size=2, max_size=LONGEST_NAME), st.integers(0, 8))
def test_suggestions_pass_keep_the_rest_and_are_bounded(name: str, limit: int) -> None:
    ark = Ark("12148", name, "/f1.item")
    found = suggestions(ark, limit=limit)
    assert len(found) <= limit
    assert len({suggestion.ark for suggestion in found}) == len(found)
    assert all(KNOWN_ZONES.check(suggestion.ark) is CheckCharacter.PASSES for suggestion in found)
    assert all((suggestion.ark.naan, suggestion.ark.qualifier) == ("12148", "/f1.item") for suggestion in found)
    assert found == suggestions(ark, limit=100)[:limit]


def test_a_missing_character_is_found_by_the_length_of_the_names() -> None:
    written = Ark.parse("ark:/12148/btv1b449691v")
    found = suggestions(written, limit=50, is_allowed=lambda ark: len(ark.name) == len("btv1b8449691v"))
    assert Suggestion(Ark.parse("ark:/12148/btv1b8449691v"), Edit.MISSING_CHARACTER) in found
    assert {suggestion.edit for suggestion in found} == {Edit.MISSING_CHECK_CHARACTER, Edit.MISSING_CHARACTER}


def test_a_wrong_digit_is_looked_for_among_digits_first() -> None:
    written = Ark.parse("ark:/12148/btv1b8449671v")
    found = suggestions(written, limit=50, is_allowed=lambda ark: len(ark.name) == len(written.name))
    wrong = [suggestion.ark.name for suggestion in found if suggestion.edit is Edit.WRONG_CHARACTER]
    assert "btv1b8449691v" in wrong[:6]


def test_small_letters_of_a_zone_for_capitals() -> None:
    zones = Zones.from_arks(mint_names(Zone.UPPER_CASE, "67375", "6H6", 20))
    written = Ark.parse("ark:/67375/6h6-n49f7frr-q")
    assert suggestions(written, zones=zones)[0] == Suggestion(Ark("67375", "6H6N49F7FRRQ"), Edit.LETTER_CASE)


@pytest.mark.parametrize(
    "written", ["ark:/12148/btv1b8449691v", "ark:/67531/metadc107835", "ark:/12148/" + "x" * (LONGEST_NAME + 1)]
)
def test_nothing_is_suggested_where_nothing_is_wrong_or_known(written: str) -> None:
    assert suggestions(Ark.parse(written)) == ()


@pytest.mark.parametrize(
    ("written", "lower"),
    [
        ("ARK:/12148/BPT6K107371T", "ark:12148/bpt6k107371t"),
        ("ARK:/12148/BPT6K107371T/F1.ITEM", "ark:12148/bpt6k107371t/f1.item"),
        ("ARK:/54321/X7Y", "ark:54321/x7y"),
        ("ark:/67375/6H6-N49F7FRR-Q", None),
        ("ARK:/12148/bpt6k107371t", None),
        ("ARK:/12148/1073712", None),
    ],
)
def test_lower_case_is_an_alternative_where_all_is_in_capitals(written: str, lower: str | None) -> None:
    [mention] = find_arks(written)
    assert [other for other in mention.alternatives if other.islower()] == ([lower] if lower else [])
