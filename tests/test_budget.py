"""The CPU time of one document: what was found until it is up is kept, and a finding says how far that was."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count

import pytest

from extractors import isolated
from extractors.budget import TimeBudget, spending
from extractors.extraction import extract_in_time, extraction_of
from extractors.isolated import extract_isolated
from extractors.worker import Worker

MANY = 4000


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
    "a.txt": (text, "searched as far as character"),
    "a.csv": (csv, "read as far as row"),
    "a.jsonl": (jsonl, "read as far as value"),
    "a.json": (json, "read as far as value"),
    "a.xml": (xml, "not read to its end"),
    "a.html": (html, "read as far as label"),
}


@pytest.mark.parametrize(("name", "line", "words"), [(name, *each) for name, each in DOCUMENTS.items()])
def test_what_was_found_until_the_time_is_up_is_kept(name: str, line: Callable[[int], str], words: str) -> None:
    document = "".join(map(line, range(MANY))).encode()
    everything = [str(mention.ark) for mention in extraction_of(document, name=name).mentions]
    assert len(everything) == MANY
    with spending(TimeBudget(90, clock=partial(next, count()))):  # a clock that goes on by one at each look
        cut = extraction_of(document, name=name)
    found = [str(mention.ark) for mention in cut.mentions]
    assert MANY / 20 < len(found) < MANY
    assert found == everything[: len(found)]
    limits = [finding.detail for finding in cut.findings if finding.kind == "time-limit"]
    assert words in " ".join(limits)
    assert all("90 s" in each for each in limits)


def test_how_far_a_text_was_searched_is_true() -> None:
    document = "".join(map(text, range(MANY)))
    with spending(TimeBudget(100, clock=partial(next, count()))):
        cut = extraction_of(document.encode(), name="a.txt")
    [finding] = [finding for finding in cut.findings if "searched as far" in finding.detail]
    at = int(finding.detail.split(" character ")[1].split(" of ")[0].replace(",", ""))
    assert document[:at].count("ark:") == len(cut.mentions) + 1


def test_a_document_that_is_read_in_time_is_read_as_without_a_limit() -> None:
    document = "".join(map(text, range(100))).encode()
    assert extract_in_time(document, cpu_s=1000, name="a.txt") == extraction_of(document, name="a.txt")


def test_a_worker_whose_time_is_up_gives_what_it_has() -> None:
    document = "".join(map(text, range(60_000))).encode()
    with Worker(partial(extract_in_time, cpu_s=1.0)) as worker:
        read = extract_isolated(worker, document, name="a.txt")
    assert 0 < len(read.mentions) < 60_000
    assert {finding.kind for finding in read.findings} == {"time-limit"}


def test_a_busy_machine_comes_near_no_limit() -> None:
    """By the clock a parser is only killed when it waits for ever."""
    assert isolated.PARSING_S > 10 * isolated.PARSING_CPU_S
    assert isolated.PARSING_CPU_S > isolated.READING_CPU_S
