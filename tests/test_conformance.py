"""Remarks: what is said about an ARK's spelling, and that nothing is lost by it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractors.model.ark import Ark
from extractors.model.conformance import EXPLANATIONS, RULES, PossibleDuplicates, Remark, possible_duplicates, remarks
from extractors.model.normalize import NotAnArk, Profile
from tests.test_ark import arks
from tests.vectors import vectors


class OnlyBnf:
    """A registry of one NAAN."""

    def knows(self, naan: str, /) -> bool:
        return naan == "12148"


@pytest.mark.parametrize("vector", vectors("conformance"))
def test_remarks(vector: dict[str, Any]) -> None:
    profile = Profile(vector.get("profile", "draft-2023"))
    found = remarks(vector["written"], Ark.parse(vector["written"]), profile=profile)
    assert [remark.value for remark in found] == vector["remarks"]


def test_every_remark_is_seen_in_a_vector_or_below() -> None:
    seen = {token for vector in vectors("conformance") for token in vector.values[0]["remarks"]}
    assert set(Remark) - seen == {Remark.UNREGISTERED_NAAN, Remark.URL_GOES_ON}  # which a reader sees


def test_every_remark_has_a_rule_and_one_sentence() -> None:
    assert list(RULES) == list(Remark) == list(EXPLANATIONS)
    assert all(remark.explanation.endswith(".") and ". " not in remark.explanation for remark in Remark)


@pytest.mark.parametrize(
    ("written", "unregistered"), [("ark:12148/x5", False), ("ark:54321/x5", True), ("ark:99166/x5", False)]
)
def test_unregistered_is_said_with_a_registry_alone(written: str, unregistered: bool) -> None:
    ark = Ark.parse(written)
    assert (Remark.UNREGISTERED_NAAN in remarks(written, ark, OnlyBnf())) is unregistered
    assert Remark.UNREGISTERED_NAAN not in remarks(written, ark)


@given(arks(), st.sampled_from(Profile))
def test_an_ark_of_the_repertoire_has_no_remark_about_its_characters(ark: Ark, profile: Profile) -> None:
    unlikely = {Remark.RAW_NON_ASCII, Remark.CONTROL_CHARACTER, Remark.MALFORMED_ESCAPE, Remark.HYPHEN}
    assert not unlikely & set(remarks(str(ark), ark, profile=profile))
    if profile is not Profile.DRAFT_2005:
        assert Remark.OUTSIDE_REPERTOIRE not in remarks(str(ark), ark, profile=profile)


@given(st.text(), st.text("ark:/.-%?#12AZaz\u2010\u212a\ud800\0 "), st.sampled_from(Profile))
def test_remarks_never_fail_on_any_text(start: str, tail: str, profile: Profile) -> None:
    for written in (start + "/ark:12345/x" + tail, start + tail):
        try:
            ark = Ark.parse(written)
        except NotAnArk:
            ark = Ark("12345", "x")
        assert set(remarks(written, ark, OnlyBnf(), profile=profile)) <= set(Remark)


def test_possible_duplicates_are_found_among_many() -> None:
    one, other, third = (Ark.parse(f"ark:12345/{name}") for name in ("x.b.a", "x.a.b", "x%2Eb"))
    many = [Ark("12345", f"y{number}") for number in range(1000)]
    expected = tuple(PossibleDuplicates(profile, (other, one)) for profile in (Profile.DRAFT_2005, Profile.SCHEME_2020))
    assert possible_duplicates([one, *many, third, other, one]) == expected
