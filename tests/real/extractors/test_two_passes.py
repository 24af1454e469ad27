"""Reading on all cores: the same results for any number of processes, whatever becomes of one of them."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractors.archives.members import ArchiveMember
from extractors.documents import Document
from extractors.isolated import BATCH_BYTES, PartReader, extraction_in_time, extraction_of_short_text
from extractors.mentions.fast_path import holds_no_label
from extractors.model.documents import Finding
from extractors.two_passes import Part, TwoPasses, extract
from tests.real.extractors.dying_reader import dying, facts_of
from tests.real.features.datasets.dask_world import children_of
from tests.real.loopback import clean_environment, run_command

_LETTERS = "bcdfghjkmnpqrstvwxz0123456789"


def members(count: int, *, chars: int = 450) -> list[ArchiveMember]:
    """Yield documents; some break ARKs at line ends that are whole in others."""
    chance = random.Random(1)
    names = ["".join(chance.choices(_LETTERS, k=10)) for _ in range(12)]
    found = []
    for number in range(count):
        text = " ".join(
            f"see ark:/12148/{name[:5]}{chance.choice(['', chr(10)])}{name[5:]} in the catalogue"
            for name in chance.choices(names, k=chars // 45)
        )
        found.append(ArchiveMember(f"{number:03}.txt", f"{number:03}.txt", text.encode()))
    return found


@pytest.mark.promise
def test_every_number_of_processes_gives_the_same() -> None:
    some: list[Part] = [*members(100)]
    some.insert(70, Document("b.zip", (), (Finding("unreadable", "no ZIP"),)))
    some.insert(3, ArchiveMember("long.txt", "long.txt", b"many words " * 30_000))
    results = []
    for jobs in (1, 3):
        with TwoPasses(facts_of, jobs=jobs) as passes:
            results.append(
                [(each.summary.name, each.summary.mention_count, each.value) for each in passes.results(some)]
            )
    assert results[0] == results[1]
    assert [name for name, _, _ in results[0]] == [part.name for part in some]
    assert sum(mentions for _, mentions, _ in results[0]) > 700


def test_little_is_read_here_and_gives_the_same() -> None:
    some = members(5)
    with TwoPasses(facts_of, jobs=2) as passes:
        here = [each.value for each in passes.results(some)]
        assert not passes.has_started
    with TwoPasses(facts_of, jobs=2) as passes:
        elsewhere = [each.value for each in passes.results([*some, *members(90)[5:]])]
        assert passes.has_started
    assert len(here) == 5
    assert all("ark:12148" in each for each in here + elsewhere)


def test_a_document_that_ends_its_process_costs_nothing_but_itself() -> None:
    some = members(140)
    some[20] = ArchiveMember("bad.txt", "bad.txt", b"abort ark:/12148/x5")
    some[21] = ArchiveMember("big.txt", "big.txt", b"much ark:/12148/x5")
    some[139] = ArchiveMember("last.txt", "last.txt", b"abort ark:/12148/x5")
    with TwoPasses(facts_of, jobs=2, read_batch=dying) as passes:
        found = list(passes.results(some))
    kinds = {each.summary.name: [finding.kind for finding in each.summary.findings] for each in found}
    assert [each.summary.name for each in found] == [part.name for part in some]
    assert (kinds["bad.txt"], kinds["last.txt"]) == (["parser-crashed"], ["parser-crashed"])
    assert kinds["big.txt"][0] in ("parser-out-of-memory", "unreadable")
    assert all(each.summary.mention_count > 0 for each in found if each.summary.name[0].isdigit())


def test_texts_that_cite_nothing_are_read_here_in_their_places() -> None:
    some: list[Part] = [
        part for member in members(150) for part in (replace(member, data=b"nothing"), member, Document("d", (), ()))
    ]
    with TwoPasses(facts_of, jobs=2, read_batch=dying) as passes:
        found = list(passes.results(some))
        assert passes.has_started
    assert [each.summary.name for each in found] == [part.name for part in some]
    assert [each.summary.mention_count > 0 for each in found] == [False, True, False] * 150
    with TwoPasses(facts_of, jobs=2, read_batch=dying) as passes:
        nothing = [part for part in some if isinstance(part, ArchiveMember) and part.data == b"nothing"]
        assert len(list(passes.results(nothing))) == 150
        assert not passes.has_started


_PIECES = (
    "see ", "ark", "ARK", ":", "/", "12148/x5", "\n", "  ", "k", "%6B", "&shy;", "\xad", "<p>", "<?xml", "%PDF-1.7",
)  # fmt: skip
_PIECES += (
    "https://n2t.net/ark/12148/x5", "http://n2t.net/ark:/12148/x5 ", "{", "}", "@a{b,", "\\begin{document}", "\0",
)  # fmt: skip
_PIECES += ("\x02", "\u4e2d", "From: a\n", "GIF89a", "PK\x03\x04", "00120cam a22")


@given(
    st.lists(st.sampled_from(_PIECES), max_size=8).map("".join) | st.text(max_size=30),
    st.sampled_from(["utf-8", "cp1252", "utf-16"]),
    st.sampled_from([None, "text/plain", "text/html", "application/json", "text/x-unknown"]),
    st.sampled_from(["a.txt", "a", "a.md", "a.csv", "a.html"]),
    st.sampled_from([None, "latin-1", "utf-8"]),
    st.booleans(),
)
def test_reading_is_equal_in_every_process(
    text: str, encoding: str, media_type: str | None, path: str, charset: str | None, is_damaged: bool
) -> None:
    findings = (Finding("damaged", "x"),) if is_damaged else ()
    data = text.encode(encoding, "replace")
    member = ArchiveMember("n", path, data, media_type, charset, findings=findings)
    here = extraction_of_short_text(member)
    elsewhere = extraction_in_time(member, with_links=False)
    assert here in (None, elsewhere)
    is_plain = elsewhere.reading.media_type == "text/plain" and data
    if here is None and is_plain and not {"unknown-format", "unreadable"} & {each.kind for each in elsewhere.findings}:
        assert not all(holds_no_label(block.text) for block in elsewhere.reading.blocks)


def test_long_texts_are_not_read_here() -> None:
    data = b"many words " * 6_000
    assert extraction_of_short_text(ArchiveMember("a.txt", "a.txt", data[: 2**16])) is not None
    assert extraction_of_short_text(ArchiveMember("a.txt", "a.txt", data)) is None


def test_interrupted_reading_gives_finished_documents() -> None:
    def interrupted() -> Iterator[Part]:
        yield from members(500, chars=90)
        raise KeyboardInterrupt

    found = []
    with TwoPasses(facts_of, jobs=1) as passes, pytest.raises(KeyboardInterrupt):
        found.extend(passes.results(interrupted(), stop_exceptions=(KeyboardInterrupt,)))
    assert 64 <= len(found) <= 500
    assert [each.summary.name for each in found] == [f"{number:03}.txt" for number in range(len(found))]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for processes in /proc")
def test_killed_processes_cost_no_row_and_leave_nothing_behind(tmp_path: Path) -> None:
    for each in members(150):
        (tmp_path / each.name).write_bytes(each.data)
    whole = run_command("extract", "--jobs", "2", tmp_path).stdout
    command = [sys.executable, "-m", "arkaudit", "extract", "--jobs", "2", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_environment()) as process:
        killed: list[int] = []
        while process.poll() is None and len(killed) < 4:
            for child in children_of(process.pid):
                os.kill(child, signal.SIGKILL)
                killed.append(child)
            time.sleep(0.1)
        rows, _ = process.communicate()
    assert killed
    # A process killed while it read a single document loses that document, with a finding; all others are complete.
    assert len(rows.decode().splitlines()) > 0.9 * len(whole.splitlines())
    assert set(rows.decode().splitlines()) <= set(whole.splitlines())
    assert not [child for child in killed if Path(f"/proc/{child}").exists()]


def test_closed_stdout_ends_the_command(tmp_path: Path) -> None:
    for each in members(150):
        (tmp_path / each.name).write_bytes(each.data)
    command = [sys.executable, "-m", "arkaudit", "extract", "--jobs", "2", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_environment()) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"{")
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
        assert process.wait(60) == 0


@pytest.mark.parametrize("jobs", ["0", "x"])
def test_malformed_number_of_processes_is_a_mistake(jobs: str, tmp_path: Path) -> None:
    done = run_command("extract", "--jobs", jobs, tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for processes in /proc")
def test_number_of_processes_is_configurable(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("jobs = 0\n")
    done = run_command("extract", "-c", tmp_path / "a.toml", tmp_path)
    assert (done.returncode, "jobs" in done.stderr) == (2, True)
    folder = tmp_path / "papers"
    folder.mkdir()
    for each in members(100):
        (folder / each.name).write_bytes(each.data)
    (tmp_path / "a.toml").write_text("jobs = 1\n")
    command = [sys.executable, "-m", "arkaudit", "extract", "-c", str(tmp_path / "a.toml"), str(folder)]
    most = 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=clean_environment()) as process:
        while process.poll() is None:
            most = max(most, len(children_of(process.pid)))
            time.sleep(0.05)
    assert (process.returncode, most) == (0, 1)


class DeferredExecutor:
    """An executor whose work runs when the test starts it."""

    jobs = 1

    def __init__(self) -> None:
        self.begun: list[Future[list[str]]] = []

    def submit(self, *work: Any) -> Future[list[str]]:
        self.begun.append(Future())
        return self.begun[-1]


def test_interrupted_local_reading_gives_finished_documents() -> None:
    executor = DeferredExecutor()
    reading = PartReader[str](
        executor,  # type: ignore[arg-type]
        lambda part, extraction: part if extraction is None else part.name,
        lambda member: None,
    )

    def parts() -> Iterator[ArchiveMember | str]:
        yield from (ArchiveMember("sent", "a.txt", bytes(BATCH_BYTES)), "B", "C")
        executor.begun[0].set_result(["SENT"])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(reading.results(parts(), lambda part: BATCH_BYTES))
    assert [each for some in reading.completed_results() for each in some] == ["SENT", "B", "C"]


@pytest.mark.parametrize(("documents", "confidence"), [(1, "likely"), (2, "certain")])
def test_two_documents_with_an_intact_name_support_a_broken_one(documents: int, confidence: str) -> None:
    intact = [b"see ark:/53355/cl010066723 there"] * documents
    [*_, broken] = extract([*intact, b"see ark:/53355/cl0100\n66723 there"], together=True)
    [mention] = broken.mentions
    assert (str(mention.ark), mention.confidence.token) == ("ark:53355/cl010066723", confidence)
