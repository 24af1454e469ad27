"""Clean ARKs are read by one pattern: its mentions equal those of the full reader, field by field, in any text."""

import json
import pickle
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractors.find import find_arks, read_block, scan
from extractors.mentions import mention_reader
from extractors.model.ark import Ark
from extractors.model.documents import Anchor, Block, Role
from extractors.wraps.evidence import Evidence
from tests.unit.extractors.fully_read import read_fully
from tests.unit.extractors.test_find import cases
from tests.vectors import FOLDER, strings_in, vectors

#: Names of one shoulder with check characters, so that a zone is learned and "x6" alone is a shoulder.
LEARNED = Evidence.from_arks(
    [Ark("12345", name) for name in (f"x6{number:03}" for number in range(30))]
    + [Ark("12148", "bpt6k107371t"), Ark("67531", "metadc107835")]
)
EVIDENCE = (Evidence(), LEARNED)


def assert_same(block: Block, evidence: Evidence = EVIDENCE[0]) -> None:
    linked = {4: Ark("12148", "bpt6k107371t")}
    assert list(read_block(block, evidence, linked)) == list(read_fully(block, evidence, linked))


# -- any text

NAMES = (
    "btv1b8449691v", "x5", "x6", "c7", "xxx", "NAME", "name", "6H6-N49F7FRR-Q", "a--b", "b12345ark", "ark_12148_btv1b8",
    "a.b.c", "x/y.z", "x.a/y", "bpt6k1/f2.item", "_x", "x_", "a=", "a$", "a*", "$id", "@id", "x" * 130, "1:1:ABC",
    "foohttp", "x/ark", "é", "bpt6k10", "7371t", "5", "bpt6k40719286",
)  # fmt: skip
RESOLVERS = (
    "https://n2t.net/", "http://ark.bnf.fr/", "https://a.org:80/x/", "https://ark:8080/", "http://", "n2t.net/",
    "HTTP://n2t.net/", "https://w.org/https://n2t.net/", "https://a.org/?u=", "https://a.org/ark_12345_x/",
    "http://a.org/%2F", "https://http.org/",
)  # fmt: skip
BETWEEN = (
    " ", "  ", "\n", " \n", "\n ", "\n\n", "\r\n", "\r\n\r\n", ". ", ".\n", ", ", ",", ",\n", ",5", ": ", ":\n", "; ",
    "(", ")", "[", "]", "{", "}", "<", ">", '"', "'", "`", "|", "\\", "/", "-", "--", "...", "…", "\xad", "\u200b",
    "\xa0", "\u2013", "\u2019", "&nbsp;", "&#107;", "&", "%20", "%0A", "%6B:", "\t", "\n> ", "\n>", "> ", "\n# ",
    "=", "+", "*", "_", "?", "??", "?info", "#a", "!", "\ufffe", "\x02", "\x0b", "\f", "\n\n12\n\f", "\u2028", "é",
    "é:", "漢", "k:", "k :", "k\n:", "ark", "ark ", "ARK:", "rk:", "dark: ", "mark:", "r", "k", "info:", "info:ark/",
    "ark+=", "ark_", "ark_ab123_x5", "http://", "https:", "www.", "12148", "2f", "%2f\n", "@", ":", ".pdf", "word ",
    "Note: ", "\\t", "\\fI", "\\u53c2", "%6b:", "$$2", "-Seite", "-based", "¬\n", "\\\n", "<id>", "{n}", ":12", "\u05d0",
    "a b " * 40, "x" * 130, "\uff41rk:", "", "",
)  # fmt: skip
LABELS = ("ark:", "ark:/", "ark:/", "ark:/", "Ark:", "ark://", "ark:\n")
NAANS = ("12148", "13030", "99999", "12345", "b5060", "1234", "123456")

resolvers = st.sampled_from(("", "", *RESOLVERS))
arks = st.tuples(
    resolvers, st.sampled_from(LABELS), st.sampled_from(NAANS), st.just("/"), st.sampled_from(NAMES)
).map("".join)  # fmt: skip
texts = st.lists(
    st.one_of(arks, arks, st.sampled_from(BETWEEN), st.text(st.characters(exclude_categories=()), max_size=3)),
    max_size=9,
).map("".join)


@st.composite
def blocks(draw: st.DrawFn) -> Block:
    text = draw(texts)
    places = st.integers(0, len(text))
    anchors = draw(st.lists(st.tuples(places, places), max_size=2))
    return Block(
        text,
        draw(st.sampled_from(Role)),
        draw(st.sampled_from((None, None, 3))),
        "p",
        draw(st.sampled_from((None, None, 4))),
        tuple(Anchor(start, end, 7) for start, end in sorted(anchors) if start < end),
        seams=tuple(sorted(draw(st.lists(places, max_size=1)))),
        page_breaks=tuple(sorted(draw(st.lists(places, max_size=1)))),
    )


@settings(max_examples=4 * settings.default.max_examples)
@given(blocks(), st.sampled_from(EVIDENCE))
def test_any_text_gives_the_same(block: Block, evidence: Evidence) -> None:
    assert_same(block, evidence)


@settings(max_examples=40)
@given(st.lists(blocks(), min_size=5, max_size=40))
def test_a_long_text_gives_the_same(several: list[Block]) -> None:
    assert_same(Block(" ".join(block.text for block in several)))


@settings(max_examples=2 * settings.default.max_examples)
@given(arks, st.sampled_from(Role), st.sampled_from((None, 2)), st.integers(0, 20), st.sampled_from(EVIDENCE))
def test_a_value_gives_the_same(value: str, role: Role, page: int | None, linked_to: int, evidence: Evidence) -> None:
    for block in (
        Block(value, role, page, "a/@href", 4),
        Block(value, role, page, "p", None, (Anchor(0, linked_to + 1, 4),)),
    ):
        assert list(scan(block, evidence, {})) == list(read_fully(block, evidence, {}))


# -- texts that were met


def met() -> Iterator[str]:
    """Yield all strings in the vectors, and the marked-up texts."""

    for file in sorted(FOLDER.rglob("*.json")):
        yield from strings_in(json.loads(file.read_text("utf-8")))
    for case in cases():
        yield case.text


@pytest.mark.slow
def test_all_vectors_give_the_same() -> None:
    for text in dict.fromkeys(met()):
        assert_same(Block(text))
        if "\n" in text:
            assert_same(Block(text, page=1, page_breaks=(len(text) // 2,)), LEARNED)
        if " " not in text:
            target = Block(text, Role.LINK_TARGET)
            assert_same(target)
            if "proofpoint.com/v2/" not in text:  # that `scan` reads in clear
                assert list(scan(target, EVIDENCE[0])) == list(read_fully(target, EVIDENCE[0], {}))


@pytest.mark.parametrize("vector", vectors("seemingly_clean_arks"))
def test_seemingly_clean_arks_are_read_the_same(vector: dict[str, Any]) -> None:
    for role in Role:
        assert_same(Block(vector["text"], role))


# -- clean ARKs take the fast path


@pytest.mark.parametrize("vector", vectors("clean_arks"))
def test_no_clean_ark_goes_to_the_full_reader(vector: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    block = Block(vector["text"])
    expected = list(read_fully(block, Evidence(), {}))
    assert expected
    monkeypatch.setattr(mention_reader.MentionReader, "__init__", None)
    assert list(read_block(block, Evidence(), {})) == expected


# -- values


@pytest.mark.parametrize("value", [Ark("12148", "x5"), *find_arks("see ark:/12148/x5"), Block("x"), Anchor(1, 2, 3)])
def test_values_are_frozen_and_survive_pickling(value: Any) -> None:
    name = type(value).__slots__[0]
    with pytest.raises(FrozenInstanceError):
        setattr(value, name, None)
    with pytest.raises(FrozenInstanceError):
        delattr(value, name)
    again = pickle.loads(pickle.dumps(value))
    assert again == value == replace(value)
    assert type(again) is type(value)
    with pytest.raises(FrozenInstanceError):
        setattr(again, name, None)
