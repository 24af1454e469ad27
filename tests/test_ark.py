"""Identity: parsing and normalizing, by vectors and by laws."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractors.ark import Ark
from extractors.checkchar import Check, check, check_character
from extractors.normalize import NamespaceOnly, NotAnArk, normalize
from tests.vectors import vectors

RAISES = {"NotAnArk": NotAnArk, "NamespaceOnly": NamespaceOnly}

naans = st.text("0123456789bcdfghjkmnpqrstvwxz", min_size=5, max_size=16)
parts = st.text("0123456789bcdfghjkmnpqrstvwxzABCDEF=~*+@_$", min_size=1, max_size=12)


@st.composite
def arks(draw: st.DrawFn) -> Ark:
    components = draw(st.lists(parts, max_size=3))
    variants = draw(st.lists(parts, max_size=3))
    qualifier = "".join(f"/{part}" for part in components) + "".join(f".{part}" for part in variants)
    return Ark(draw(naans), draw(parts), qualifier)


@pytest.mark.parametrize("vector", vectors("normalize"))
def test_normal_form(vector: dict[str, Any]) -> None:
    if "raises" in vector:
        with pytest.raises(NotAnArk) as raised:
            normalize(vector["written"])
        assert type(raised.value) is RAISES[vector["raises"]]
    else:
        assert normalize(vector["written"]) == vector["normal"]


@given(arks())
def test_printing_then_parsing_is_the_identity(ark: Ark) -> None:
    assert Ark.parse(str(ark)) == ark


@given(arks(), st.data())
def test_a_hyphen_anywhere_changes_nothing(ark: Ark, data: st.DataObject) -> None:
    text = str(ark)
    at = data.draw(st.integers(len("ark:"), len(text)))
    hyphen = data.draw(st.sampled_from("-\N{HYPHEN}\N{NON-BREAKING HYPHEN}\N{EN DASH}"))
    assert Ark.parse(text[:at] + hyphen + text[at:]) == ark


@given(st.text())
def test_normalizing_twice_is_normalizing_once(tail: str) -> None:
    try:
        once = normalize("ark:" + tail)
    except NotAnArk:
        return
    assert normalize(once) == once


@given(
    arks(),
    st.sampled_from(["https://n2t.net/", "http://example.org/a/b/", ""]),
    st.sampled_from(["", "?info", "??", "?"]),
)
def test_neither_resolver_nor_inflection_is_part_of_identity(ark: Ark, resolver: str, inflection: str) -> None:
    assert Ark.parse(f"{resolver}{ark}{inflection}") == ark


def test_parts_of_a_qualified_ark() -> None:
    ark = Ark.parse("https://example.org/ark:12345/x6np1wh8k/c3/s5.v7.xsl")
    assert (ark.components, ark.variants) == (("c3", "s5"), ("v7", "xsl"))
    assert ark.base == Ark("12345", "x6np1wh8k")
    assert ark.shoulder == "x6"


@pytest.mark.parametrize("written", ["ark:12345/x", "ARK:/99999/fk4", "ark:/1-2345/x", "ark:%31%32345/x"])
def test_examples_and_tests_are_skipped_in_any_spelling(written: str) -> None:
    assert Ark.parse(written).is_skipped


@pytest.mark.parametrize("naan", ["99152", "99166", "12148"])
def test_other_naans_are_not_skipped(naan: str) -> None:
    assert not Ark(naan, "x").is_skipped


@given(st.text("0123456789bcdfghjkmnpqrstvwxz", min_size=3, max_size=20), st.data())
def test_a_check_character_sees_any_single_substitution(name: str, data: st.DataObject) -> None:
    whole = name + check_character(name)
    assert check(Ark("12148", whole)) is Check.PASSES
    at = data.draw(st.integers(0, min(len(name), 28) - 1))
    other = data.draw(st.sampled_from("0123456789bcdfghjkmnpqrstvwxz").filter(lambda char: char != whole[at]))
    assert check(Ark("12148", whole[:at] + other + whole[at + 1 :])) is Check.FAILS


def test_where_no_zone_is_known_nothing_is_said() -> None:
    assert check(Ark("67531", "metadc107835")) is Check.UNKNOWN
