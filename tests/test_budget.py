"""The CPU time of one document: mentions found before it is up are kept, and a finding names the place."""

import re
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import count

import pytest

from extractors import documents, isolated, two_passes
from extractors.archives.members import ArchiveMember
from extractors.documents import Document
from extractors.extraction import extract_in_time, extraction_of
from extractors.isolated import read_member
from extractors.model.budget import TimeBudget, use_budget
from extractors.model.documents import Role
from extractors.processes.worker import Worker
from extractors.two_passes import TwoPasses

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


def test_worker_out_of_time_returns_its_mentions() -> None:
    document = "".join(map(text, range(200_000))).encode()
    with Worker(partial(extract_in_time, cpu_s=1.0)) as worker:
        read = read_member(worker, ArchiveMember("a.txt", "a.txt", document))
    assert 0 < len(read.mentions) < 200_000
    assert {finding.kind for finding in read.findings} == {"time-limit"}


def test_a_busy_machine_comes_near_no_limit() -> None:
    """By the clock a parser is only killed when it waits for ever."""
    assert isolated.PARSING_S > 10 * isolated.PARSING_CPU_S
    assert isolated.PARSING_CPU_S > isolated.READING_CPU_S


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


def test_suggestions_have_their_own_time_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deciding on all documents works it out once more, also in the main process."""
    names = "".join(f"ark:/12148/btv1b{number:07}{'x' if number % 29 else 'w'} and\n" for number in range(300))
    member = ArchiveMember("a.txt", "a.txt", names.encode())
    for module in (documents, two_passes):
        monkeypatch.setattr(module, "DECIDING_CPU_S", 0.0)
    with TwoPasses(suggestion_counts, jobs=1) as passes:
        [rendered] = passes.results([member])
    assert len(rendered.value) == 300
    assert sum(map(bool, rendered.value)) < 150
    details = {finding.detail.partition(":")[0] for finding in rendered.summary.findings}
    assert "suggestions were not computed for every ARK whose check character fails" in details
    assert {finding.kind for finding in rendered.summary.findings} == {"time-limit"}


def suggestion_counts(document: Document) -> list[int]:
    return [len(mention.suggestions) for mention in document.mentions]
