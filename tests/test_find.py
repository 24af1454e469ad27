"""Finding and repairing: marked-up texts state what must be found, and properties hold for any text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractors.ark import Ark
from extractors.documents import Block, Role
from extractors.find import Mention, NamespaceMention, find_arks, scan
from extractors.wraps import Evidence, Wrap, decide
from tests.vectors import FOLDER


@dataclass(frozen=True)
class Case:
    why: str
    text: str
    marked: tuple[str, ...]
    expected: tuple[tuple[str, dict[str, str]], ...]


def cases() -> Iterator[Case]:
    """The marked-up texts: mentions between brackets, and below each text what is expected of them."""
    for file in sorted((FOLDER / "typeset").glob("*.txt")):
        for chunk in re.split(r"(?m)^# why: ", file.read_text("utf-8"))[1:]:
            why, _, rest = chunk.partition("\n")
            marked_text, _, below = rest.partition("# arks")
            expected = [_expectation(line) for line in below.strip().splitlines()]
            yield Case(
                why,
                re.sub("[⟦⟧]", "", marked_text),
                tuple(re.findall("⟦(.*?)⟧", marked_text, re.DOTALL)),
                tuple(expected),
            )


def _expectation(line: str) -> tuple[str, dict[str, str]]:
    ark, *claims = re.split(r"\s{3,}", line.strip())
    return ark, {key: value.strip() for key, _, value in (claim.partition(":") for claim in claims)}


@pytest.mark.parametrize("case", [pytest.param(case, id=case.why) for case in cases()])
def test_typeset_text(case: Case) -> None:
    found = find_arks(case.text)
    assert [str(mention.ark) for mention in found] == [ark for ark, _ in case.expected]
    assert tuple(mention.as_written for mention in found) == case.marked
    for mention, (_, claims) in zip(found, case.expected, strict=True):
        told = {
            "sent": mention.repaired,
            "repairs": ", ".join(mention.repairs),
            "confidence": mention.confidence.token,
            "inflection": mention.inflection,
        }
        assert {key: told[key] for key in claims} == claims


def test_a_bare_question_mark_is_an_inflection_in_a_link_and_punctuation_in_prose() -> None:
    url = "https://n2t.net/ark:67531/metadc107835?"
    [in_link] = scan(Block(url, Role.LINK_TARGET), Evidence())
    [in_prose] = find_arks(f"Have you seen {url} Yes.")
    assert isinstance(in_link, Mention)
    assert (in_link.inflection, in_prose.inflection) == ("?", "")


def test_what_stands_whole_in_a_link_settles_what_is_broken_in_the_text() -> None:
    text = "As ark:/67531/metadc\n107835\n19 leaves"
    whole = Evidence.of([Ark.parse("ark:67531/metadc107835")])
    [told] = scan(Block(text), whole)
    assert isinstance(told, Mention)
    assert str(told.ark) == "ark:67531/metadc107835"
    assert told.confidence.token == "certain"


def test_a_doubtful_join_keeps_the_other_reading() -> None:
    [mention] = find_arks(
        "a line that is just as long\nsee ark:/67531/metadc107\n835 and something longer\nfor good measure here\n"
    )
    assert mention.confidence.token == "ambiguous"
    assert {str(mention.ark), *mention.alternatives} == {"ark:67531/metadc107", "ark:67531/metadc107835"}


def test_a_naan_alone_is_a_namespace_mention() -> None:
    [found] = scan(Block("all names begin with ark:/12148/ there"), Evidence())
    assert isinstance(found, NamespaceMention)
    assert found.as_written == "ark:/12148"


typesetters = st.sampled_from(
    [
        "", " ", "\n", "-\n", "\r\n", "\N{SOFT HYPHEN}\n", "\N{SOFT HYPHEN}", "\N{HYPHEN}", "\N{ZERO WIDTH SPACE}",
        "\ufffe", "\x02", "\N{NO-BREAK SPACE}", "%3A", "%2F", "?", "??", "?info", "#", "ark:/", "ARK:", "12148",
        "https://n2t.net/", "/", ".", "..", "(", "»",
    ]
)  # fmt: skip
damaged = st.lists(st.one_of(typesetters, st.text(max_size=6)), max_size=40).map("".join)


@settings(max_examples=300)
@given(damaged)
def test_any_text_is_read_without_raising_and_spans_are_true(text: str) -> None:
    for mention in find_arks(text):
        start, end = mention.spans[0][0], mention.spans[-1][1]
        assert text[start:end] == mention.as_written
        assert all(first < last for first, last in mention.spans)
        assert all(one[1] < other[0] for one, other in zip(mention.spans, mention.spans[1:], strict=False))
        shown = "".join(text[first:last] for first, last in mention.spans)
        kept = [char for char in mention.repaired if char.isalnum()]
        assert len(kept) <= sum(char.isalnum() for char in unicodedata.normalize("NFKC", shown))
        assert Ark.parse(mention.repaired) == mention.ark


@given(st.from_regex(r"[bcdfghjkmnpqrstvwxz][0-9][0-9bcdfghjkmnpqrstvwxz]{4,12}", fullmatch=True), st.data())
def test_an_inserted_hyphen_at_a_wrap_changes_nothing(name: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(1, len(name) - 1))
    [mention] = find_arks(f"see ark:/67531/{name[:at]}\N{HYPHEN}\n{name[at:]}, there")
    assert mention.ark == Ark("67531", name)


def test_a_text_made_to_be_slow_is_read_in_time_that_grows_with_its_length() -> None:
    hostile = (
        "ark:1/x-" * 2_000,
        "ark:1a/" + "x-\n" * 5_000,
        "a" * 20_000,
        " " * 50_000 + "ark:1",
        "https://" * 3_000 + "ark:/1/x",
    )
    for text in hostile:
        assert len(find_arks(text)) <= 2_000


@pytest.mark.parametrize(
    ("right", "joins"),
    [
        ("", False),
        ("http://x.org/", False),
        ("7371t", True),
        ("1st", False),
        ("and", False),
        ("(see", False),
        ("2.", False),
    ],
)
def test_what_follows_decides(right: str, joins: bool) -> None:
    assert decide(Wrap("ark:/67531/metadc10", right, hyphen=False), Evidence()).join is joins
