"""Normalization of ARKs, by vectors and by laws."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractors.model.normalize import CLEAN_ARK, CUT_STEPS, STEPS, NamespaceOnly, NotAnArk, normalize
from tests.growth import LINEAR, growth
from tests.unit.extractors.test_ark import arks
from tests.vectors import vectors

RAISES = {"NotAnArk": NotAnArk, "NamespaceOnly": NamespaceOnly}

#: Text that is rich in the characters that the steps look at.
tails = st.one_of(st.text(), st.text("ark:/.-%?#12AZaz7dD\u2010\u2212\u212a\u0431\ud800\0 ", max_size=40))


def steps_one_by_one(text: str) -> str | None:
    """Return the normal form by its steps, without short cuts; None for a text that is no ARK."""
    form = text
    for step in CUT_STEPS:
        form = step(form)
    if form[:4].lower() != "ark:" or not form[:4].isascii():
        return None
    previous = None
    while form != previous:
        previous = form
        for step in STEPS:
            form = step(form)
    naan, _, name = form[4:].partition("/")
    return form if naan and name else None


def normal_form(text: str) -> str | None:
    try:
        return normalize(text)
    except NotAnArk:
        return None


@pytest.mark.parametrize("vector", vectors("normalize"))
def test_normal_form(vector: dict[str, Any]) -> None:
    if "raises" in vector:
        with pytest.raises(NotAnArk) as raised:
            normalize(vector["written"])
        assert type(raised.value) is RAISES[vector["raises"]]
    else:
        assert normalize(vector["written"]) == vector["normal"]


@given(st.sampled_from(["", "ark:", "ark:/", "/ark:/", "ark:12345/x"]), tails)
def test_short_cuts_change_no_result(start: str, tail: str) -> None:
    assert normal_form(start + tail) == steps_one_by_one(start + tail)


@given(st.from_regex(CLEAN_ARK, fullmatch=True))
def test_clean_text_is_unchanged_by_all_steps(text: str) -> None:
    assert steps_one_by_one(text) == "ark:" + text[4:].removeprefix("/")


@given(arks())
def test_arks_of_the_repertoire_are_clean(ark: object) -> None:
    assert CLEAN_ARK.fullmatch(str(ark))


@given(st.sampled_from(["ark:", "ark:/", "ark:12345/x", "ark:12345/x."]), tails)
def test_normalizing_twice_is_normalizing_once(start: str, tail: str) -> None:
    once = normal_form(start + tail)
    if once is not None:
        assert normalize(once) == once


@given(st.sampled_from(["ark:12345/x", "ark:/1"]), tails, st.integers(0, 40))
def test_a_hyphen_outside_escapes_changes_nothing(start: str, tail: str, at: int) -> None:
    tail = tail.replace("%", "").replace("?", "").replace("#", "")
    assert normal_form(start + tail[:at] + "-" + tail[at:]) == normal_form(start + tail)


@pytest.mark.parametrize(
    "unit", ["x", "-", "/", ".", "%", "%-7d", "ark:", "/ark:", ".a/b", "\u0431", "?", "#", "\ud800", "x.", "/-."]
)
def test_time_grows_with_the_length_alone(unit: str) -> None:
    assert growth(lambda length: normal_form("ark:12345/x" + (unit * length)[:length]), 20_000) < LINEAR


def test_messages_stay_short_for_long_texts() -> None:
    with pytest.raises(NotAnArk) as raised:
        normalize("x" * 100_000)
    assert len(str(raised.value)) < 300
