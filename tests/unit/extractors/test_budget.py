"""The CPU time of one document: mentions found before it is up are kept, and a finding names the place."""

import re
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import count

import pytest

from extractors.extraction import extract_in_time, extraction_of
from extractors.model.budget import TimeBudget, use_budget
from extractors.model.documents import Role

MANY = 1500


def text(number: int) -> str:
    return f"see ark:12148/k{number}x for it.\n"


def csv(number: int) -> str:
    return f"{number},ark:/12148/b{number}x\n"


def jsonl(number: int) -> str:
    return f'{{"id": "ark:/12148/b{number}x"}}\n'


def json(number: int) -> str:
    return f'{"[" if number == 0 else ","}"ark:/12148/b{number}x"' + ("]" if number == MANY - 1 else "")


def xml(number: int) -> str:
    return f"{'<r>' if number == 0 else ''}<p>See ark:/12148/b{number}x.</p>" + ("</r>" if number == MANY - 1 else "")


def html(number: int) -> str:
    return f"<p>See <a href='/ark:/12148/b{number}x'>it</a>.\n"


DOCUMENTS = {
    "a.txt": (text, "searched"),
    "a.csv": (csv, "read up to row"),
    "a.jsonl": (jsonl, "read up to value"),
    "a.json": (json, "read up to value"),
    "a.xml": (xml, "not read to its end"),
    "a.html": (html, "read up to label"),
}


@pytest.mark.parametrize(("name", "line", "words"), [(name, *each) for name, each in DOCUMENTS.items()])
def test_mentions_found_before_the_time_is_up_are_kept(name: str, line: Callable[[int], str], words: str) -> None:
    document = "".join(map(line, range(MANY))).encode()
    everything = [str(mention.ark) for mention in extraction_of(document, name=name).mentions]
    assert len(everything) == MANY
    with use_budget(TimeBudget(34, clock=partial(next, count()))):  # a clock that goes on by one at each look
        cut = extraction_of(document, name=name)
    found = [str(mention.ark) for mention in cut.mentions]
    assert MANY / 20 < len(found) < MANY
    assert found == everything[: len(found)]
    limits = [finding.detail for finding in cut.findings if finding.kind == "time-limit"]
    assert words in " ".join(limits)
    assert all("34 s" in each for each in limits)


def test_how_far_a_text_was_searched_is_true() -> None:
    document = "".join(map(text, range(MANY)))
    with use_budget(TimeBudget(38, clock=partial(next, count()))):
        cut = extraction_of(document.encode(), name="a.txt")
    [finding] = [finding for finding in cut.findings if finding.detail.startswith("searched ")]
    at = int(finding.detail.removeprefix("searched ").split(" of ")[0].replace(",", ""))
    assert document[:at].count("ark:") == len(cut.mentions) + 1


def test_a_document_that_is_read_in_time_is_read_as_without_a_limit() -> None:
    document = "".join(map(text, range(100))).encode()
    assert extract_in_time(document, cpu_s=1000, name="a.txt") == extraction_of(document, name="a.txt")


def test_one_finding_gives_the_searched_share_of_blocks() -> None:
    """Not one for each block, nor "character 18 of 18" of a short one."""
    document = "".join(map(html, range(MANY)))
    with use_budget(TimeBudget(30, clock=partial(next, count()))):
        cut = extraction_of(document.encode(), name="a.html")
    [finding] = [each.detail for each in cut.findings if each.kind == "time-limit" and "searched" in each.detail]
    searched, of_all = (int(number.replace(",", "")) for number in re.findall(r"[0-9][0-9,]*", finding)[:2])
    assert 0 < searched < of_all == sum(len(block.text) for block in cut.reading.blocks)


def test_long_markdown_is_read_to_its_end() -> None:
    """References may be defined after their use, and all links are numbered in one sequence."""
    pieces = [
        f"See [a][r{number}], [it](/ark:/12148/b{number}x) and\nark:/12148/c{number}x *there*."
        for number in range(1000)
    ]
    definitions = [f"[r{number}]: https://n2t.net/ark:/12148/d{number}x" for number in range(1000)]
    mentions = extraction_of("\n\n".join(pieces + definitions).encode(), name="a.md").mentions
    found = Counter(str(mention.ark)[10] for mention in mentions)
    assert found == Counter(b=1000, c=1000, d=1000)
    links = [mention.link for mention in mentions if mention.role is Role.LINK_TARGET]
    assert len(set(links)) == len(links) == 2000
