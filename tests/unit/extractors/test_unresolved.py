"""Doubtful mentions are kept with the text around them, and decided again when more is known."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.spiders.runs import url_again
from extractors.extraction import extraction_of, with_evidence
from extractors.find import Mention, UnresolvedMention, decide_again, find_arks, scan, unresolved_mentions
from extractors.model.ark import Ark
from extractors.model.documents import Anchor, Block, Role
from extractors.processes.codec import from_json, from_plain, to_json, to_plain
from extractors.wraps.evidence import Evidence
from extractors.wraps.rules import NEAR_CHARS, Confidence

#: Doubtful alone: the text after it may be a part of the name, or a word of the sentence.
BROKEN = "see ark:/76543/pf5\nb4x there"

LONG = Ark.parse("ark:76543/pf5b4x")

SHORT = Ark.parse("ark:76543/pf5")

#: Evidence that settles it.
JOINS = Evidence.from_arks([LONG], frozenset({LONG}))

ENDS = Evidence.from_arks([SHORT], frozenset({SHORT}))

WHOLE_TARGET = Ark.parse("ark:81985/x5k3b4q7")

_NUMBERS = st.integers(0, 99)

_PLACES = st.lists(_NUMBERS, max_size=3).map(tuple)

BLOCKS = st.builds(
    Block,
    st.text(max_size=20),
    st.sampled_from(Role),
    st.none() | _NUMBERS,
    st.text(max_size=5),
    st.none() | _NUMBERS,
    st.lists(st.builds(Anchor, _NUMBERS, _NUMBERS, _NUMBERS), max_size=2).map(tuple),
    st.lists(st.tuples(_NUMBERS, st.floats(0, 9)), max_size=2).map(tuple),
    _PLACES,
    _PLACES,
)


LINKED = st.lists(st.tuples(_NUMBERS, st.sampled_from([LONG, SHORT])), max_size=2).map(tuple)


def mentions_in(block: Block, evidence: Evidence | None = None) -> list[Mention]:
    return [found for found in scan(block, evidence or Evidence()) if isinstance(found, Mention)]


def unresolved_about(block: Block) -> tuple[list[Mention], list[UnresolvedMention]]:
    mentions = mentions_in(block)
    return mentions, list(unresolved_mentions([block], [(0, mention) for mention in mentions]))


def test_certain_mentions_are_resolved() -> None:
    assert extraction_of(b"see ark:/76543/pf5 there", name="a.txt").unresolved == ()


@pytest.mark.parametrize(
    ("evidence", "ark", "as_written"),
    [
        pytest.param(JOINS, LONG, "ark:/76543/pf5\nb4x", id="it goes on"),
        pytest.param(ENDS, SHORT, "ark:/76543/pf5", id="it ends"),
    ],
)
def test_more_evidence_decides_a_doubtful_mention(evidence: Evidence, ark: Ark, as_written: str) -> None:
    extraction = extraction_of(BROKEN.encode(), name="a.txt")
    assert [unresolved.index for unresolved in extraction.unresolved] == [0]
    assert {extraction.mentions[0].ark, *map(Ark.parse, extraction.mentions[0].alternatives)} == {LONG, SHORT}
    [mention] = with_evidence(extraction.mentions, extraction.unresolved, evidence)
    assert (mention.ark, mention.as_written, mention.confidence) == (ark, as_written, Confidence.CERTAIN)
    assert mention.reason == "complete-elsewhere"
    assert BROKEN[slice(mention.spans[0][0], mention.spans[-1][1])] == as_written


def test_more_evidence_keeps_the_resolver_that_the_document_decided() -> None:
    text = b"at https://r.example/re-ads/ark:/76543/pf7x and https://r.example/re-\nads/ark:/76543/pf5\nb4x there"
    extraction = extraction_of(text, name="a.txt")
    mention = with_evidence(extraction.mentions, extraction.unresolved, JOINS)[-1]
    assert (mention.repaired, mention.resolver) == (
        "https://r.example/re-ads/ark:/76543/pf5b4x",
        "https://r.example/re-ads/",
    )


def test_no_more_evidence_changes_nothing() -> None:
    extraction = extraction_of(BROKEN.encode(), name="a.txt")
    assert with_evidence(extraction.mentions, extraction.unresolved, Evidence()) == extraction.mentions


def test_certain_mentions_stay_unchanged() -> None:
    text = f"at ark:/76543/pf7x and {BROKEN} and ark:/76543/pf8z."
    extraction = extraction_of(text.encode(), name="a.txt")
    before, _, behind = extraction.mentions
    again = with_evidence(extraction.mentions, extraction.unresolved, JOINS)
    assert [unresolved.index for unresolved in extraction.unresolved] == [1]
    assert (again[0], again[2]) == (before, behind)
    assert again[1].ark == LONG


def test_a_shape_that_other_documents_have_decides() -> None:
    extraction = extraction_of(b"see ark:/76543/pf5\nqqqq there", name="a.txt")
    shapes = Evidence.from_arks([Ark("76543", name) for name in ("pf1kq8x", "pf2m3zv", "pf9tt4w")])
    [mention] = with_evidence(extraction.mentions, extraction.unresolved, shapes)
    assert (str(mention.ark), mention.reason) == ("ark:76543/pf5qqqq", "name-shape")


@pytest.mark.parametrize(
    ("before", "behind"),
    [
        *((before, 1) for before in (0, 1, 2, NEAR_CHARS - 5, NEAR_CHARS - 4, NEAR_CHARS, NEAR_CHARS + 1, 9000)),
        *((NEAR_CHARS, behind) for behind in (0, NEAR_CHARS - 1, NEAR_CHARS, NEAR_CHARS + 1, 9000)),
    ],
)
@pytest.mark.parametrize("char", ["x ", "\n", "é", "\N{SOFT HYPHEN}"], ids=["words", "lines", "one word", "invisible"])
def test_the_window_is_wide_enough_and_spans_are_those_of_the_block(before: int, behind: int, char: str) -> None:
    text = f"{char * before} {BROKEN} {char * behind}"
    mentions, unresolved = unresolved_about(Block(text))
    [mention], [unresolved] = mentions, unresolved
    assert unresolved.window.text in text
    assert len(unresolved.window.text) <= 2 * NEAR_CHARS + len(mention.as_written)
    again = decide_again(unresolved, mention, JOINS)
    assert again.ark == LONG
    assert text[slice(again.spans[0][0], again.spans[-1][1])] == again.as_written == "ark:/76543/pf5\nb4x"
    assert decide_again(unresolved, mention, ENDS).ark == SHORT
    assert decide_again(unresolved, mention, Evidence()).spans == mention.spans


def test_each_of_many_doubts_is_about_its_own_mention() -> None:
    text = "\n\n".join(f"see ark:/76543/pf{at}\nb{at}x there" for at in range(100, 140))
    mentions, unresolved = unresolved_about(Block(text))
    assert [each.index for each in unresolved] == list(range(40))
    evidence = Evidence.from_arks([Ark("76543", f"pf{at}b{at}x") for at in range(100, 140)])
    again = [decide_again(each, mentions[each.index], evidence) for each in unresolved]
    assert [mention.ark.name for mention in again] == [f"pf{at}b{at}x" for at in range(100, 140)]
    assert all(text[slice(mention.spans[0][0], mention.spans[-1][1])] == mention.as_written for mention in again)


@pytest.mark.parametrize("far", [0, 40, NEAR_CHARS, 3 * NEAR_CHARS])
def test_a_page_stays_the_page(far: int) -> None:
    filler = "a line of words\n" * (far // 16 + 1)
    text = filler + BROKEN + "\n" + filler
    at = text.index("ark:")
    pages = (len(filler) // 2, at - 1, at + 30)
    mentions, unresolved = unresolved_about(Block(text, page=7, page_breaks=pages))
    assert mentions[0].page == 9
    assert decide_again(unresolved[0], mentions[0], JOINS).page == 9
    on_the_page_before = Block(text, page=7, page_breaks=(at + 2, at + 30))
    mentions, unresolved = unresolved_about(on_the_page_before)
    assert mentions[0].page == decide_again(unresolved[0], mentions[0], JOINS).page == 7


@pytest.mark.parametrize("far", [0, 40, NEAR_CHARS, 3 * NEAR_CHARS])
@pytest.mark.parametrize("slack", [0.3, 12.0])
def test_the_slack_of_its_line_stays_known(far: int, slack: float) -> None:
    filler = "a line of words\n" * (far // 16 + 1)
    text = filler + BROKEN + "\n" + filler
    end = text.index("\nb4x")
    line_slack = tuple((at, slack if at == end else 1.0) for at, char in enumerate(text) if char == "\n")
    mentions, unresolved = unresolved_about(Block(text, page=1, line_slack=line_slack))
    again = decide_again(unresolved[0], mentions[0], Evidence())
    assert again == mentions[0]
    assert again.ark == (LONG if slack < 1 else SHORT)


@pytest.mark.parametrize("far", [0, 40, NEAR_CHARS, 3 * NEAR_CHARS])
def test_its_link_stays_its_link(far: int) -> None:
    filler = "a line of words\n" * (far // 16 + 1)
    text = filler + BROKEN + "\n" + filler
    at = text.index("ark:")
    anchors = (Anchor(0, 4, 1), Anchor(at, at + 18, 2), Anchor(at + 20, len(text), 3))
    mentions, unresolved = unresolved_about(Block(text, anchors=anchors))
    assert mentions[0].link == 2
    to_target = replace(unresolved[0], linked=((2, LONG),))
    again = decide_again(to_target, mentions[0], Evidence())
    assert (again.link, again.ark) == (2, LONG)
    assert decide_again(unresolved[0], replace(mentions[0], citation=5), JOINS).citation == 5


def test_a_mention_that_is_not_found_again_stays() -> None:
    mentions, unresolved = unresolved_about(Block(BROKEN))
    elsewhere = replace(unresolved[0], window=Block("nothing here"))
    assert decide_again(elsewhere, mentions[0], JOINS) == mentions[0]


def test_citations_are_counted_again() -> None:
    page = "<p><a href='https://n2t.net/ark:/76543/pf5b4x'>the scan</a> <p>" + BROKEN.replace("\n", "<br>")
    extraction = extraction_of(page.encode(), name="a.html")
    again = with_evidence(extraction.mentions, extraction.unresolved, Evidence())
    assert [mention.citation for mention in again] == [1, 2]


@given(st.lists(st.sampled_from(["JOINS", "ENDS", "NOTHING"]), min_size=2, max_size=2))
def test_the_last_evidence_counts(order: list[str]) -> None:
    evidence = {"JOINS": JOINS, "ENDS": ENDS, "NOTHING": Evidence()}
    extraction = extraction_of(BROKEN.encode(), name="a.txt")
    once = with_evidence(extraction.mentions, extraction.unresolved, evidence[order[1]])
    first = with_evidence(extraction.mentions, extraction.unresolved, evidence[order[0]])
    assert with_evidence(first, extraction.unresolved, evidence[order[1]]) == once


def test_a_text_that_its_link_makes_whole_stays_whole() -> None:
    """A PDF's text that stops in the middle of its link's target was cut off, whatever other documents say."""
    text = "see https://n2t.net/ark:/81985/x5k3\nb4 there"
    target = Block("https://n2t.net/ark:/81985/x5k3b4q7", Role.LINK_ANNOTATION, page=1, link=1)
    block = Block(text, page=1, anchors=(Anchor(4, len(text), 1),))
    blocks = [target, block]
    placed = [(index, each) for index in (0, 1) for each in scan(blocks[index], Evidence(), {1: WHOLE_TARGET})]
    mentions = [each for _, each in placed if isinstance(each, Mention)]
    unresolved = list(unresolved_mentions(blocks, [(at, each) for at, each in placed if isinstance(each, Mention)]))
    for each in unresolved:
        assert each.linked == ((1, WHOLE_TARGET),)
        kept = replace(mentions[each.index], link=None)
        assert decide_again(from_plain(to_plain(each), UnresolvedMention), kept, Evidence()).ark == WHOLE_TARGET


@pytest.mark.parametrize("evidence", [Evidence(), JOINS, ENDS], ids=["nothing new", "it goes on", "it ends"])
def test_a_column_stays_the_column_it_stands_in(evidence: Evidence) -> None:
    """The separator of the columns of a text may be outside the window."""
    first = "".join(f"{number}.  kept since long ago, of which it is said that\n" for number in range(1, 5))
    item = "    the plates of it are kept in the tower and seen\n"
    label_line = "5.  kept in the hall and to be seen, " + BROKEN.replace("\n", "\n    ") + "\n"
    text = first + item * (NEAR_CHARS // len(item) + 1) + label_line
    mentions, [unresolved] = unresolved_about(Block(text))
    assert mentions[0].as_written == "ark:/76543/pf5\nb4x"
    assert "kept since" not in unresolved.window.text
    again = decide_again(from_plain(to_plain(unresolved), UnresolvedMention), mentions[0], evidence)
    assert again.ark == (SHORT if evidence is ENDS else LONG)
    assert (
        again == mentions[0] if evidence is not ENDS and evidence is not JOINS else again.reason != mentions[0].reason
    )
    assert again.as_written == "\n".join(text[start:end] for start, end in again.spans)


@given(st.builds(UnresolvedMention, st.integers(0, 9), BLOCKS, st.integers(0, 9), LINKED, st.booleans()))
def test_a_doubt_is_kept_whole(unresolved: UnresolvedMention) -> None:
    assert from_json(to_json(unresolved), UnresolvedMention) == unresolved


@pytest.mark.parametrize(
    ("role", "resolver", "url"),
    [
        pytest.param(Role.LINK_TARGET, None, "https://library.example/r/", id="a relative link"),
        pytest.param(Role.LINK_TARGET, None, "https://n2t.net/", id="a link of the label alone"),
        pytest.param(Role.LINK_TARGET, "https://a.example/", "https://a.example/", id="a link with its resolver"),
        pytest.param(Role.LINK_TARGET, "//a.example/", "http://a.example/", id="a link relative to its scheme"),
        pytest.param(Role.TEXT, None, "https://old.example/", id="text, after another setting"),
    ],
)
def test_mentions_decided_again_are_asked_at_their_place(role: Role, resolver: str | None, url: str) -> None:
    [before] = find_arks("ark:/81985/x5")
    before = replace(before, role=role, resolver=resolver)
    again = replace(before, ark=Ark.parse("ark:81985/x5k3"), repaired=f"{resolver or ''}ark:/81985/x5k3")
    place = "https://n2t.net/" if role is Role.TEXT else url
    assert url_again(before, again, f"{url}ark:/81985/x5", resolver="https://n2t.net/") == f"{place}ark:/81985/x5k3"
    assert url_again(before, before, f"{url}ark:/81985/x5", resolver="https://n2t.net/") == f"{url}ark:/81985/x5"
