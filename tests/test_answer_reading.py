"""Answers say the same wherever they are read, and are heard in the order in which they came."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import pytest

from crawler import answer_reading
from crawler.answer_reading import AnswerReader
from crawler.answers.answer import Answer, read_answer, unread_answer
from crawler.answers.facts import AnswerFacts
from crawler.observations import MetadataOutcome, ObjectOutcome, Observation, Question
from crawler.verdicts.verdict import VerdictContext, judge
from extractors.ark import Ark
from extractors.isolated import document_executor
from extractors.worker_executor import WorkerExecutor
from tests.loopback import ON_LOOPBACK, RawServer, clean_environment, reply
from tests.test_hostile_bodies import BODIES
from tests.test_two_passes import children
from tests.test_verdict import observation
from tests.waiting import PATIENCE_S, wait_until
from tests.zoo import FRAMES, PAGE, animals

P = ParamSpec("P")
R = TypeVar("R")
ARK = Ark.parse("ark:/12x45/x5")
HTML = "text/html; charset=utf-8"
#: A page as large as those that are read elsewhere, and one that is not.
LARGE = f"<title>A notebook</title><h1>Notebook</h1>{'<p>Forty leaves, with drawings of the harbour. ' * 900}"
SMALL = "<title>A notebook</title><p>Forty leaves"


@pytest.fixture
def executor() -> Iterator[WorkerExecutor]:
    with document_executor(2) as executor:
        yield executor


@pytest.fixture
def all_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_reading, "LARGE_BYTES", 0)
    monkeypatch.setattr(answer_reading, "FIRST_BYTES", 0)


def read(reader: AnswerReader, bodies: Sequence[tuple[bytes, str | None]]) -> list[Answer]:
    """All of them, begun at once."""

    async def answers() -> list[Answer]:
        readings = [reader.begin(body, content_type, ARK) for body, content_type in bodies]
        return [await each.answer() for each in readings]

    return asyncio.run(answers())


def bodies() -> Iterator[tuple[bytes, str | None]]:
    """What answers the zoo has, and what was made to keep a reader busy, but not as much of it."""
    yield from ((frame.encode(), HTML) for frame in FRAMES.values())
    for animal in animals():
        for answers in animal.on.values():
            yield from (((answer.body or PAGE).encode(answer.encoding), answer.type) for answer in answers)
    for media_type, begins, goes_on, ends in BODIES.values():
        yield (begins + goes_on * (5_000 // len(goes_on)) + ends).encode(), media_type
    yield b"\x00\x01", None
    yield b"", HTML
    yield LARGE.encode() * 20, HTML
    yield b"word " * 200_000, "text/plain"


@pytest.mark.usefixtures("all_elsewhere")
def test_an_answer_says_the_same_wherever_it_is_read(executor: WorkerExecutor) -> None:
    some = [*dict.fromkeys(bodies())]
    assert len(some) > 400
    assert read(AnswerReader(executor), some) == [read_answer(*each, ARK) for each in some]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for processes in /proc")
def test_a_short_check_and_small_answers_start_no_process(executor: WorkerExecutor) -> None:
    others, reader = set(children(os.getpid())), AnswerReader(executor)
    first = answer_reading.FIRST_BYTES // len(LARGE) + 1
    read(reader, [(LARGE.encode(), HTML), (SMALL.encode(), HTML)] * first)
    read(reader, [(SMALL.encode(), HTML)])
    assert set(children(os.getpid())) <= others
    read(reader, [(LARGE.encode(), HTML)])
    assert len(set(children(os.getpid())) - others) == 1


class Ending(WorkerExecutor):
    """Processes that end at so many calls."""

    ends = 1

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        self.ends -= 1
        return super().submit(os.abort) if self.ends >= 0 else super().submit(fn, *args, **kwargs)


@pytest.mark.usefixtures("all_elsewhere")
def test_an_answer_whose_process_was_killed_is_read_once_more() -> None:
    with Ending(1) as executor:
        assert read(AnswerReader(executor), [(LARGE.encode(), HTML)] * 2) == [read_answer(LARGE.encode(), HTML)] * 2


@pytest.mark.usefixtures("all_elsewhere")
@pytest.mark.parametrize(
    ("limits", "ends", "fault"),
    [
        ({}, 2, "killed by SIGABRT"),
        ({"timeout_s": 0.0}, 0, "no answer within 0 s"),
        ({"memory_bytes": 2**20}, 0, "wanted more than 1048576 bytes"),
    ],
)
def test_an_answer_that_ends_its_process_is_one_without_anything_in_it(
    limits: dict[str, Any], ends: int, fault: str
) -> None:
    with Ending(1, **limits) as executor:
        executor.ends = ends
        [answer] = read(AnswerReader(executor), [(LARGE.encode(), HTML)])
    assert (answer.media_type, answer.text, answer.fault) == ("text/html", None, f"its reader ended: {fault}")


UNREAD = unread_answer(HTML, "its reader ended: killed by SIGABRT")


def unread(seen: Observation) -> Observation:
    """The same answer, over which its reader has ended."""
    return replace(
        seen, title=UNREAD.title, text=UNREAD.text, record=UNREAD.record, similarity=UNREAD.similarity,
        facts=UNREAD.facts, body_complete=False,
    )  # fmt: skip


def test_what_was_not_read_proves_nothing() -> None:
    url = "https://r.example/ark:12x45/x5"
    page = observation(Question.OBJECT, {"type": "text/html", "body": LARGE}, url)
    record = observation(Question.INFO, {"type": "text/html", "body": LARGE.replace("leaves", "pages")}, url)
    control = observation(
        Question.CONTROL, {"type": "text/html", "body": LARGE, "asked": url + "zz", "urls": [url + "zz"]}, url
    )
    outcomes = {
        (
            judged.object.outcome,
            judged.metadata.outcome,
        )
        for answers in ((unread(page), record), (page, unread(record)), (unread(page), unread(record)))
        for stranger in (control, unread(control))
        if stranger.text is None or answers[0].text is None
        for judged in [
            judge(
                {each.question: AnswerFacts(each) for each in answers},
                context=VerdictContext(control=AnswerFacts(stranger)),
            )
        ]
    }
    assert {outcome for outcome, _ in outcomes} == {ObjectOutcome.UNDETERMINED}
    assert {outcome for _, outcome in outcomes} <= {MetadataOutcome.UNDETERMINED}, outcomes


# -- whole checks


def answered(target: str) -> bytes:
    """Large pages for objects, small records, and nothing for names that can't exist."""
    name = target.partition("?")[0].rpartition("/")[2]
    if not name.startswith("x0"):
        return reply("404 Not Found", body=f"<title>Nothing</title>{LARGE if len(name) % 2 else ''}")
    if "?" in target:
        return reply(body=f"erc:\nwho: Rossi\nwhat: Notebook {name}\nwhen: 1952\nwhere: ark:/12x45/{name}\n")
    return reply(body=LARGE.replace("A notebook", f"Notebook {name}"))


#: The command, which reads all large answers elsewhere from the first on.
PROGRAM = "import crawler.answer_reading as r; r.FIRST_BYTES = 0; from arkaudit.__main__ import main; main()"


def command(server: RawServer, *options: str | Path) -> list[str | Path]:
    arks = [f"{server.url}/ark:/12x45/x0{number:02}" for number in range(40)]
    return [sys.executable, "-P", "-c", PROGRAM, "check", *ON_LOOPBACK, *options, *arks]


def test_a_check_keeps_the_same_with_any_number_of_processes(tmp_path: Path) -> None:
    kept, printed = [], []
    with RawServer(answered) as server:
        for jobs in ("1", "2"):
            store = tmp_path / f"{jobs}.db"
            done = subprocess.run(
                command(server, "--jobs", jobs, "--store", store),
                capture_output=True,
                env=clean_environment(),
                check=False,
                timeout=PATIENCE_S,
                text=True,
            )
            assert done.returncode == 0, done.stderr
            printed.append(sorted(line.partition('"hops"')[0] for line in done.stdout.splitlines()))
            with sqlite3.connect(store) as raw:
                asked = "request_url, question, attempt"
                kept.append(
                    [
                        raw.execute(
                            f"select {asked}, text, title, record, similarity, facts, remarks, body_sha256, chain_end"
                            f" from observation order by {asked}"
                        ).fetchall(),
                        raw.execute(
                            "select request_url, object, metadata, commitment, object_evidence, metadata_evidence,"
                            " remarks, rests_on from verdict order by 1"
                        ).fetchall(),
                    ]
                )
    assert kept[0] == kept[1]
    assert printed[0] == printed[1]
    assert len(kept[0][0]) > 80
    assert len(kept[0][1]) == 40


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_leaves_no_process_behind(tmp_path: Path, times: int) -> None:
    with (
        RawServer(answered) as server,
        subprocess.Popen(
            command(server, "--jobs", "2", "--delay", "0.1", "--store", tmp_path / "a.db"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=clean_environment(),
            text=True,
        ) as running,
    ):
        wait_until(lambda: children(running.pid), "a process that reads")
        left = children(running.pid)
        for _ in range(times):
            running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=PATIENCE_S)
        assert (running.returncode, "Traceback" in said) == (130, False), said
        wait_until(lambda: not [each for each in left if Path(f"/proc/{each}").exists()], "the end of its processes")
