"""A link and its visible text are one citation; where they disagree, or can't be followed, that is a finding."""

from collections.abc import Iterator
from typing import Any

import pytest

from crawler.model.resolving import citation_urls
from extractors.extraction import Extraction, extraction_of, whole_arks
from extractors.find import Mention, scan
from extractors.mentions.mention import (
    citation_findings,
    citation_numbers,
    complete_mentions,
    linked_arks,
    relative_resolvers,
)
from extractors.model.ark import Ark
from extractors.model.documents import Anchor, Block, Finding, Role
from extractors.wraps.evidence import Evidence
from tests.vectors import vectors


def page(markup: str) -> Extraction:
    return extraction_of(markup.encode(), name="a.html")


def citations(extraction: Extraction) -> list[tuple[str, str, int]]:
    """Return role, ARK and number of each mention."""
    return [(mention.role.value, str(mention.ark), mention.citation) for mention in extraction.mentions]


def finding_kinds(extraction: Extraction) -> list[str]:
    return [finding.kind for finding in extraction.findings]


def link(target: str, text: str) -> str:
    return f"<p><a href='{target}'>{text}</a></p>"


TARGET = "https://n2t.net/ark:/76543/pf5"


@pytest.mark.parametrize("vector", vectors("citations"))
def test_a_link_and_its_text_are_one_citation_or_a_finding(vector: dict[str, Any]) -> None:
    extraction = page(link(vector["target"], vector["text"]))
    assert finding_kinds(extraction) == vector.get("findings", [])
    if vector.get("is_one"):
        assert citations(extraction) == [("link-target", "ark:76543/pf5", 1), ("text", "ark:76543/pf5", 1)]
    if "findings" in vector:
        assert len({number for _, _, number in citations(extraction)}) == 2
        [finding] = extraction.findings
        assert str(Ark.parse(vector["text"])) in finding.detail
        assert str(Ark.parse(vector["target"])) in finding.detail


def test_two_links_to_one_ark_are_two_citations() -> None:
    extraction = page(link(TARGET, "ark:/76543/pf5") + link(TARGET, "ark:/76543/pf5"))
    numbers: dict[int, set[str]] = {}
    for role, _, number in citations(extraction):
        numbers.setdefault(number, set()).add(role)
    assert numbers == {1: {"link-target", "text"}, 2: {"link-target", "text"}}


def test_a_mention_that_is_no_link_is_a_citation_of_its_own() -> None:
    extraction = page(link(TARGET, "the scan") + "<p>as https://n2t.net/ark:/76543/pf5 says")
    assert sorted(number for _, _, number in citations(extraction)) == [1, 2]


@pytest.mark.parametrize("target", ["ark:/76543/pf5", "ARK:76543/pf5", " ark:/76543/pf5 "])
def test_a_link_that_browsers_cannot_follow_is_a_finding(target: str) -> None:
    assert finding_kinds(page(link(target, "the scan"))) == ["dead-link"]


def test_many_links_that_browsers_cannot_follow_cost_one_look_at_each() -> None:
    class CountingBlocks(list[Block]):
        looks = 0

        def __iter__(self) -> Iterator[Block]:
            for block in super().__iter__():
                self.looks += 1
                yield block

    read = page("".join(link(f"ark:/76543/p{number}x", "a scan") for number in range(50)))
    blocks = CountingBlocks(read.reading.blocks)
    assert [finding.kind for finding in citation_findings(read.mentions, blocks)] == ["dead-link"] * 50
    assert blocks.looks <= 2 * len(blocks)


@pytest.mark.parametrize(
    "target", [TARGET, "/ark:/76543/pf5", "https://example.org/?id=ark:/76543/pf5", "r/ark:/76543/pf5"]
)
def test_followable_link_is_no_finding(target: str) -> None:
    assert finding_kinds(page(link(target, "the scan"))) == []


def test_a_compact_ark_that_is_no_link_is_a_finding_where_others_are_links() -> None:
    extraction = page(link(TARGET, "ark:/76543/pf5") + "<p>and ark:/76543/pf7")
    assert [(finding.kind, "ark:/76543/pf7" in finding.detail) for finding in extraction.findings] == [
        ("unlinked-ark", True)
    ]


def test_plain_url_is_no_finding() -> None:
    assert finding_kinds(page(link(TARGET, "ark:/76543/pf5") + "<p>and https://n2t.net/ark:/76543/pf7")) == []


def test_in_a_document_that_knows_no_links_nothing_is_unlinked() -> None:
    assert extraction_of(b"see ark:/76543/pf7", name="a.txt").findings == ()


def test_repeated_finding_is_reported_once() -> None:
    extraction = page(link(TARGET, "ark:/76543/pf6") * 3 + "<p>ark:/76543/pf7 and ark:/76543/pf7")
    assert finding_kinds(extraction) == ["link-mismatch", "unlinked-ark"]


# -- a link's own target and its broken text


@pytest.mark.parametrize(
    ("text", "ark", "reason"),
    [
        pytest.param("ark:/76543/pf5<br>qqqq", "ark:76543/pf5qqqq", "complete-elsewhere", id="a name that is cut"),
        pytest.param("ark:/76543/pf5-<br>qqqq", "ark:76543/pf5qqqq", "complete-elsewhere", id="with a hyphen"),
        pytest.param("ark:/76543/p<br>f5<br>qq<br>qq", "ark:76543/pf5qqqq", "link-target", id="cut three times"),
        pytest.param(
            "ark:/76543/pf5qqqq<br>4bis", "ark:76543/pf5qqqq", "complete-elsewhere", id="a whole name, and a number"
        ),
    ],
)
def test_a_links_own_target_decides_about_its_text(text: str, ark: str, reason: str) -> None:
    mentions = page(link("https://n2t.net/ark:/76543/pf5qqqq", text)).mentions
    [shown] = [mention for mention in mentions if mention.role is Role.TEXT]
    assert (str(shown.ark), shown.reason, shown.confidence.token) == (ark, reason, "certain")


@pytest.mark.parametrize("text", ["ark:/76543/pf5", "ark:/76543/pf5<br>qqqz", "pf: ark:/76543/pf5q"])
def test_a_piece_that_is_cut_from_its_own_links_target_is_that_target(text: str) -> None:
    extraction = page(link("https://n2t.net/ark:/76543/pf5qqqq", text))
    [shown] = [mention for mention in extraction.mentions if mention.role is Role.TEXT]
    assert (str(shown.ark), shown.reason, shown.confidence.token) == (
        "ark:76543/pf5qqqq", "completed-by-link", "likely",
    )  # fmt: skip
    assert {str(ark) for ark in whole_arks(extraction.mentions)} == {"ark:76543/pf5qqqq"}


def test_a_repaired_target_is_no_evidence() -> None:
    [mention] = scan(Block("https://n2t.net/ark:/76543/pf5-\nqqqq", Role.LINK_TARGET, link=0), Evidence())
    assert isinstance(mention, Mention)
    assert mention.repairs
    assert linked_arks([mention]) == {}


def test_text_cut_at_the_page_edge_is_completed_by_its_link() -> None:
    text = "https://n2t.net/ark:/76543/pf5"
    [shown] = scan(Block(text, page=2, anchors=(Anchor(0, len(text), 4),)), Evidence())
    [target] = scan(Block("https://n2t.net/ark:/76543/pf5qqqq", Role.LINK_ANNOTATION, page=2, link=4), Evidence())
    assert isinstance(shown, Mention)
    assert isinstance(target, Mention)
    whole, same = complete_mentions([shown, target], linked_arks([target]))
    assert same == target
    assert (str(whole.ark), whole.repairs, whole.confidence.token) == ("ark:76543/pf5qqqq", ("cut off",), "likely")
    assert whole.alternatives == ("ark:76543/pf5",)
    assert (whole.as_written, whole.spans) == (shown.as_written, shown.spans)
    assert list(citation_numbers([whole, same])) == [1, 1]


def test_links_without_text_give_no_finding() -> None:
    block = Block("https://n2t.net/ark:/76543/pf5", Role.LINK_TARGET, link=0)
    mentions = [mention for mention in scan(block, Evidence()) if isinstance(mention, Mention)]
    assert citation_findings(mentions, [block]) == ()


def test_findings_are_ordered() -> None:
    extraction = page(link("ark:/76543/pf5", "ark:/76543/pf6") + "<p>ark:/76543/pf8 and ark:/76543/pf7")
    assert list(extraction.findings) == sorted(extraction.findings)
    assert [type(finding) for finding in extraction.findings] == [Finding] * 4


@pytest.mark.parametrize(
    ("markup", "urls"),
    [
        pytest.param(
            "<a href='http://r.example/ark:/76543/pf5'>ark:/76543/pf5</a>",
            ["http://r.example/ark:/76543/pf5"],
            id="a compact text",
        ),
        pytest.param(
            "<a href='http://r.example/ark:/76543/pf5'>https://n2t.net/ark:/76543/pf5</a>",
            ["http://r.example/ark:/76543/pf5"],
            id="a text with another resolver",
        ),
        pytest.param(
            "<a href='/ark:/76543/pf5'>ark:/76543/pf5</a>", ["http://site.example/ark:/76543/pf5"], id="a relative link"
        ),
        pytest.param(
            "<a href='http://r.example/ark:/76543/pf5'>ark:/76543/x7</a>",
            ["http://r.example/ark:/76543/pf5", "https://n2t.net/ark:/76543/x7"],
            id="a text with another ARK",
        ),
        pytest.param(
            "<a href='http://r.example/ark:/76543/pf5'>here</a> ark:/76543/pf5",
            ["http://r.example/ark:/76543/pf5", "https://n2t.net/ark:/76543/pf5"],
            id="a text next to a link",
        ),
    ],
)
def test_link_decides_for_its_text_where_an_ark_is_requested(markup: str, urls: list[str]) -> None:
    extraction = page(f"<p>{markup}</p>")
    resolvers = relative_resolvers(extraction.mentions, extraction.reading, "http://site.example/page")
    asked = citation_urls(extraction.mentions, resolvers, "https://n2t.net/")
    assert list(dict.fromkeys(asked)) == urls
