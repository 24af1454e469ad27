"""What is judged while a run asks, and what at its end, amount to the same, whenever each ARK was judged."""

from __future__ import annotations

import asyncio
import errno
import os
import random
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from crawler.early_verdicts import MOST_WAITING, EarlyVerdicts
from crawler.judging import Background, Target, judge_run
from crawler.observations import Observation, Question, TlsResult, Verdict
from crawler.storage.frontier_rows import ARKS, SettledEntry
from crawler.storage.store import Recordable, Store
from crawler.verdicts.closed import ClosedCollection
from extractors.ark import Ark
from extractors.naan import Registry
from tests.test_verdict import observation

AT = "2026-11-21T00:00:00.000+00:00"
LATER = float("inf")
BACKGROUND = Background(Registry.builtin())
R = "https://r.example/"


def new_run(path: Path) -> tuple[Store, int]:
    """A store with a run, which anybody may record in."""
    store = Store.open(path)
    run = store.begin_run(command="check", at=AT, version="", resolver="", user_agent="", seeds=[])
    return store, run


def at_its_end(path: Path, targets: Sequence[Target], came: Iterable[Recordable]) -> list[Verdict]:
    """The verdicts on *targets*, all of them made when everything had come, in a store at *path*."""
    store, run = new_run(path)
    heard: list[Verdict] = []
    with store:
        store.record(run, came)
        judge_run(store, run, targets, BACKGROUND, heard=heard.append)
    return heard


def as_it_came(
    path: Path, targets: Sequence[Target], came: Sequence[Recordable], chance: random.Random
) -> tuple[list[Verdict], EarlyVerdicts]:
    """The verdicts on *targets*, judged at random moments while everything came, some of them much too early."""
    store, run = new_run(path)
    early, heard, waiting = EarlyVerdicts(store, run, BACKGROUND), list[Verdict](), list(came)
    with store:
        while waiting:
            size = chance.randint(1, 12)
            some, waiting = waiting[:size], waiting[size:]
            store.record(run, some)
            early.recorded(some, 0.0)
            urls = [each.request_url for each in some if isinstance(each, Observation)]
            early.recorded([SettledEntry(ARKS, url) for url in urls if chance.random() < 0.5], 0.0)
            while chance.random() < 0.9 and early.judge_some(LATER):
                pass
        judge_run(store, run, targets, BACKGROUND, heard=heard.append, kept=early)
    return heard, early


def all_in(path: Path) -> list[list[tuple[Any, ...]]]:
    """Everything that is in a store."""
    with sqlite3.connect(path) as raw:
        tables = [name for (name,) in raw.execute("select name from sqlite_master where type = 'table'")]
        own = [name for name in tables if name != "provenance"]  # which names the run itself
        return [raw.execute(f"select * from {name} order by 1").fetchall() for name in sorted(own)]


def agree(folder: Path, targets: Sequence[Target], came: Sequence[Recordable], seed: int) -> EarlyVerdicts:
    """Both ways give the same verdicts, and write the same into a store."""
    came = [*came]
    heard, early = as_it_came(folder / "early.db", targets, came, random.Random(seed))
    assert heard == at_its_end(folder / "late.db", targets, came)
    assert all_in(folder / "early.db") == all_in(folder / "late.db")
    return early


def about(ark: str, question: Question = Question.OBJECT, **told: Any) -> Observation:
    return observation(question, told, R + ark)


ARK = "ark:12x45/x50"
PAGE = {"type": "text/html", "body": "<title>Maps of the harbour</title><p>Ink on paper, in four colours"}
FOUND = about(ARK, **PAGE)
LED = about(ARK, chain=[302, 200], urls=[R + ARK, "https://land.example/x"], **PAGE)
UNKNOWN = about(ARK, chain=[404])
PROMISED = about(
    ARK, Question.INFO, body=f"erc: A | B | 1784 | {ARK}\nerc-support: A | C | 2019 | https://r.example/p\n"
)


@pytest.mark.parametrize(
    ("first", "late", "is_again"),
    [
        pytest.param([FOUND], None, False, id="nothing"),
        pytest.param([FOUND], about(ARK, Question.INFO, chain=[404]), True, id="one more answer"),
        pytest.param([FOUND], about(ARK, **PAGE, attempt=2), True, id="one more attempt"),
        pytest.param([FOUND], about(ARK, Question.CONTROL, **PAGE, asked=R + "ark:12x45/x5zz"), True, id="a control"),
        pytest.param(
            [FOUND],
            observation(Question.CONTROL, {**PAGE, "asked": R + "ark:12x45/x5zz"}, R + "ark:12x45/x51"),
            True,
            id="a control in the name of another ARK",
        ),
        pytest.param(
            [FOUND],
            observation(Question.CONTROL, {**PAGE, "asked": R + "ark:12x46/x5zz"}, R + "ark:12x46/x51"),
            False,
            id="a control of another NAAN",
        ),
        pytest.param([FOUND], TlsResult("r.example", 443, False, "expired", AT), True, id="its certificate"),
        pytest.param([FOUND], TlsResult("s.example", 443, False, "expired", AT), False, id="another certificate"),
        pytest.param(
            [LED],
            about("ark:12x45/k5", chain=[302, 200], urls=[R + "ark:12x45/k5", "https://land.example/x"], **PAGE),
            True,
            id="another ARK at its landing page",
        ),
        pytest.param(
            [LED],
            about("ark:12x45/k5", chain=[302, 200], urls=[R + "ark:12x45/k5", "https://land.example/y"], **PAGE),
            False,
            id="another ARK at another page",
        ),
        pytest.param(
            [UNKNOWN],
            observation(Question.WELL_KNOWN, {"body": "/ids/", "asked": R + ".well-known/ark"}, R + "ark:12x45/x51"),
            True,
            id="what its host says of its path",
        ),
        pytest.param(
            [FOUND, PROMISED],
            observation(Question.POLICY_LINK, {"chain": [404], "asked": R + "p"}, R + "ark:12x45/x51"),
            True,
            id="the page of its promise",
        ),
        pytest.param(
            [FOUND, PROMISED],
            observation(Question.POLICY_LINK, {"chain": [404], "asked": R + "q"}, R + "ark:12x45/x51"),
            False,
            id="the page of another promise",
        ),
    ],
)
def test_what_comes_late_is_heeded_and_nothing_else_is_judged_again(
    first: Sequence[Recordable], late: Recordable | None, is_again: bool, tmp_path: Path
) -> None:
    targets = [(Ark.parse(each), R + each) for each in (ARK, "ark:12x45/k5")]
    rest = [late] if late is not None else []
    store, run = new_run(tmp_path / "early.db")
    early, heard = EarlyVerdicts(store, run, BACKGROUND), list[Verdict]()
    with store:
        store.record(run, first)
        early.recorded([SettledEntry(ARKS, R + ARK)], 0.0)
        while early.judge_some(LATER):
            pass
        store.record(run, rest)
        judge_run(store, run, targets, BACKGROUND, heard=heard.append, kept=early)
    assert (early.held, early.again) == ((0, 1) if is_again else (1, 0))
    assert heard == at_its_end(tmp_path / "late.db", targets, [*first, *rest])
    assert all_in(tmp_path / "early.db") == all_in(tmp_path / "late.db")


def test_nothing_is_judged_before_its_time_and_nothing_outlasts_the_process(tmp_path: Path) -> None:
    store, run = new_run(tmp_path / "early.db")
    early = EarlyVerdicts(store, run, BACKGROUND)
    with store:
        before = sorted(tmp_path.iterdir())
        store.record(run, [FOUND])
        early.recorded([SettledEntry(ARKS, R + ARK)], 100.0)
        assert early.judge_some(100.5)  # it looks at what there is
        assert not early.judge_some(100.5)
        while early.judge_some(LATER):
            pass
        assert sorted(tmp_path.iterdir()) == before  # what is kept has no name
        judge_run(store, run, [(Ark.parse(ARK), R + ARK)], BACKGROUND, kept=early)
        assert early.held == 1
        early.close()
        early.recorded([SettledEntry(ARKS, R + ARK)], 0.0)
        while early.judge_some(LATER):
            pass
        assert sorted(tmp_path.iterdir()) == before
        judge_run(store, run, [(Ark.parse(ARK), R + ARK)], BACKGROUND, kept=early)
        assert early.held == 1


def test_what_is_due_is_judged_beside_other_work_and_what_is_not_waits(tmp_path: Path) -> None:
    others = [about(f"ark:12x45/k{number}", **PAGE) for number in range(20)]
    store, run = new_run(tmp_path / "early.db")
    early, heard = EarlyVerdicts(store, run, BACKGROUND), list[Verdict]()

    async def wait() -> None:
        now = asyncio.get_running_loop().time()
        early.recorded([SettledEntry(ARKS, each.request_url) for each in others], now - 10)
        early.recorded([SettledEntry(ARKS, R + ARK)], now + 3_600)
        judging = asyncio.ensure_future(early.judge_in_pauses())
        while len(early._kept._places) < len(others):
            await asyncio.sleep(0.01)
        judging.cancel()

    targets = [(each.ark, each.request_url) for each in (*others, FOUND)]
    with store:
        store.record(run, [FOUND, *others])
        asyncio.run(asyncio.wait_for(wait(), 120))
        judge_run(store, run, targets, BACKGROUND, heard=heard.append, kept=early)
    assert (early.held, early.again, len(heard)) == (20, 0, 21)
    assert heard == at_its_end(tmp_path / "late.db", targets, [FOUND, *others])


def test_what_a_busy_run_has_no_time_for_takes_no_memory_and_is_judged_at_its_end(tmp_path: Path) -> None:
    store, run = new_run(tmp_path / "early.db")
    early, heard = EarlyVerdicts(store, run, BACKGROUND), list[Verdict]()
    with store:
        store.record(run, [FOUND])
        early.recorded([SettledEntry(ARKS, R + ARK)], 0.0)
        early.recorded([SettledEntry(ARKS, f"{R}{number}") for number in range(2 * MOST_WAITING)], 0.0)
        assert len(early._waiting) == MOST_WAITING
        judge_run(store, run, [(Ark.parse(ARK), R + ARK)], BACKGROUND, heard=heard.append, kept=early)
    assert (early.held, len(heard)) == (0, 1)


def test_a_disk_that_is_full_costs_no_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room(*_: object) -> int:
        raise OSError(errno.ENOSPC, "no room")

    store, run = new_run(tmp_path / "early.db")
    early, heard = EarlyVerdicts(store, run, BACKGROUND), list[Verdict]()
    with store:
        store.record(run, [FOUND])
        early.recorded([SettledEntry(ARKS, R + ARK)], -10.0)
        monkeypatch.setattr(os, "pwrite", no_room)
        asyncio.run(early.judge_in_pauses())
        judge_run(store, run, [(Ark.parse(ARK), R + ARK)], BACKGROUND, heard=heard.append, kept=early)
    assert (early.held, len(heard)) == (0, 1)


def test_another_registry_or_another_collection_that_is_closed_makes_all_anew(tmp_path: Path) -> None:
    targets = [(Ark.parse(ARK), R + ARK)]
    store, run = new_run(tmp_path / "early.db")
    early = EarlyVerdicts(store, run, BACKGROUND)
    with store:
        store.record(run, [FOUND])
        early.recorded([SettledEntry(ARKS, R + ARK)], 0.0)
        while early.judge_some(LATER):
            pass
        judge_run(store, run, targets, Background(Registry.builtin(), closed=(ClosedCollection("12x45"),)), kept=early)
        assert early.held == 0
        judge_run(store, run, targets, BACKGROUND, kept=early)
        assert early.held == 1
