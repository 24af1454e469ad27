"""The CPU time of a document in processes that read."""

from functools import partial

import pytest

from extractors import documents, isolated, two_passes
from extractors.archives.members import ArchiveMember
from extractors.documents import Document
from extractors.extraction import extract_in_time
from extractors.isolated import read_member
from extractors.processes.worker import Worker
from extractors.two_passes import TwoPasses
from tests.unit.extractors.test_budget import text


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
