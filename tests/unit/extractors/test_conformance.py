"""Remarks on the spelling of an ARK, which lose no information."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractors.model.ark import RULES, Ark, Remark, remarks
from extractors.model.normalize import NotAnArk
from tests.unit.extractors.test_ark import arks
from tests.vectors import vectors


@pytest.mark.parametrize("vector", vectors("conformance"))
def test_remarks(vector: dict[str, Any]) -> None:
    found = remarks(vector["written"], Ark.parse(vector["written"]))
    assert [remark.value for remark in found] == vector["remarks"]


def test_every_remark_is_seen_in_a_vector_or_below() -> None:
    seen = {token for vector in vectors("conformance") for token in vector.values[0]["remarks"]}
    assert set(Remark) - seen == {Remark.URL_GOES_ON}  # which a reader sees


def test_every_remark_has_a_rule_and_one_sentence() -> None:
    assert [*RULES, Remark.URL_GOES_ON] == list(Remark)
    assert all(remark.explanation.endswith(".") and ". " not in remark.explanation for remark in Remark)


@given(arks())
def test_an_ark_of_the_repertoire_has_no_remark_about_its_characters(ark: Ark) -> None:
    unlikely = {Remark.RAW_NON_ASCII, Remark.CONTROL_CHARACTER, Remark.MALFORMED_ESCAPE, Remark.HYPHEN}
    assert not (unlikely | {Remark.OUTSIDE_REPERTOIRE}) & set(remarks(str(ark), ark))


@given(st.text(), st.text("ark:/.-%?#12AZaz\u2010\u212a\ud800\0 "))
def test_remarks_never_fail_on_any_text(start: str, tail: str) -> None:
    for written in (start + "/ark:12345/x" + tail, start + tail):
        try:
            ark = Ark.parse(written)
        except NotAnArk:
            ark = Ark("12345", "x")
        assert set(remarks(written, ark)) <= set(Remark)
