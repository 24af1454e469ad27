"""Identity: the parts of an ARK, the ARKs that it implies, and ignored differences; by vectors and by properties."""

from itertools import islice, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractors.model.ark import BETANUMERIC, RULES, Ark, WrittenArk, remarks
from extractors.model.normalize import NotAnArk
from tests.vectors import vectors

naans = st.text(BETANUMERIC, min_size=5, max_size=16)
parts = st.text(BETANUMERIC + "ABCDEF=~*+@_$", min_size=1, max_size=12)
resolvers = st.sampled_from(["https://n2t.net/", "http://example.org/a/b/", "HTTPS://EXAMPLE.ORG:8443/", "/", ""])
labels = st.sampled_from(["ark:", "ark:/", "ARK:", "Ark:/", "aRk:"])
inflections = st.sampled_from(["", "?info", "??", "?", "?a=b/c.d", "#part", "?info#part", "#a?b"])


@st.composite
def arks(draw: st.DrawFn) -> Ark:
    components = draw(st.lists(parts, max_size=3))
    variants = draw(st.lists(parts, max_size=3))
    qualifier = "".join(f"/{part}" for part in components) + "".join(f".{part}" for part in variants)
    return Ark(draw(naans), draw(parts), qualifier)


@pytest.mark.parametrize("vector", vectors("ark_parts"))
def test_parts(vector: dict[str, Any]) -> None:
    ark = Ark.parse(vector["written"])
    assert (ark.naan, ark.name, ark.shoulder) == (vector["naan"], vector["name"], vector["shoulder"])
    assert [str(implied) for implied in ark.implied_arks] == vector["implied"]
    assert ark.base == Ark(vector["naan"], vector["name"])


@pytest.mark.parametrize("vector", vectors("written"))
def test_parts_as_written(vector: dict[str, Any]) -> None:
    written = WrittenArk.parse(vector["written"])
    assert written is not None
    keys = ("resolver", "label", "body", "query", "fragment", "inflection")
    assert {key: getattr(written, key) for key in keys} == {key: vector[key] for key in keys}


@given(resolvers, labels, st.text("0x/.-?#%ark:"))
def test_the_written_parts_are_the_text_again(resolver: str, label: str, rest: str) -> None:
    text = resolver + label + rest
    assert str(WrittenArk.parse(text)) == text


@given(arks(), st.data())
def test_a_hyphen_anywhere_changes_nothing(ark: Ark, data: st.DataObject) -> None:
    text = str(ark)
    at = data.draw(st.integers(len("ark:"), len(text)))
    hyphens = data.draw(
        st.text("-\N{HYPHEN}\N{NON-BREAKING HYPHEN}\N{FIGURE DASH}\N{EN DASH}\N{EM DASH}\N{HORIZONTAL BAR}")
    )
    assert Ark.parse(text[:at] + hyphens + text[at:]) == ark


@given(arks(), resolvers, labels, inflections)
def test_resolver_label_and_inflection_are_no_part_of_identity(
    ark: Ark, resolver: str, label: str, inflection: str
) -> None:
    assert Ark.parse(resolver + str(ark).replace("ark:", label, 1) + inflection) == ark


@given(arks(), st.sampled_from(["/", ".", "//", "./", "/./-"]))
def test_final_delimiters_change_nothing(ark: Ark, tail: str) -> None:
    assert Ark.parse(str(ark) + tail) == ark


@given(st.one_of(st.text(), st.text("ark:/.-%?#12AZaz\u2010\u212a\ud800\0 ")), st.sampled_from(["", "ark:", "/ark:/"]))
def test_any_text_is_an_ark_or_not_one(text: str, start: str) -> None:
    try:
        ark = Ark.parse(start + text)
    except NotAnArk:
        return
    assert Ark.parse(str(ark)) == ark
    assert ark.naan
    assert ark.name
    assert str(ark).isascii()


@given(arks())
def test_implied_arks_get_shorter_and_end_with_the_base(ark: Ark) -> None:
    implied = [ark, *ark.implied_arks]
    assert len(implied) == 1 + ark.qualifier.count("/") + ark.qualifier.count(".")
    assert all(str(longer).startswith(str(shorter)) for longer, shorter in pairwise(implied))
    assert implied[-1] == ark.base


def test_implied_arks_of_a_long_path_are_lazy() -> None:
    ark = Ark("12148", "x", "/c" * 100_000)
    assert len(list(islice(ark.implied_arks, 3))) == 3


@pytest.mark.parametrize(
    "written",
    [
        "ark:12345/x", "ARK:/99999/fk4", "ark:/1-2345/x", "ark:%31%32345/x", "ark:1%2D2345/x", "ark:/ark:/12345/x",
        "ark:12345%E2%80%90/x", "ark:\N{FULLWIDTH DIGIT ONE}2345/x",
    ],
)  # fmt: skip
def test_examples_and_tests_are_skipped_in_any_spelling(written: str) -> None:
    assert Ark.parse(written).is_skipped


@pytest.mark.parametrize("naan", ["99152", "99166", "12148", "123456", "%3112148"])
def test_other_naans_are_not_skipped(naan: str) -> None:
    assert not Ark(naan, "x").is_skipped


@given(
    st.sampled_from(["", "http://a.org/", "https://n2t.net/"]),
    st.sampled_from(["ark:", "ark:/", "ARK:/"]),
    st.sampled_from(["12148", "12345", "99999", "b2345", "1214a", "121"]),
    st.text("fk1x5AZ=~/.-", min_size=1, max_size=12) | st.just("x" * 300),
)
def test_plain_names_have_the_remarks_of_all_rules(resolver: str, label: str, naan: str, name: str) -> None:
    text = f"{resolver}{label}{naan}/x{name}"
    written, ark = WrittenArk.parse(text), Ark.parse(text)
    assert written is not None
    assert remarks(text, ark) == tuple(remark for remark, applies in RULES.items() if applies(written, ark))
