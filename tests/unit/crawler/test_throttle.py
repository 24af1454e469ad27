"""Turns at hosts, granted in one process and among several: only ever later than asked, never sooner."""

import asyncio
import json
import logging
import os
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from itertools import pairwise
from pathlib import Path

import pytest
from filelock import lock_descriptor

from crawler.model.observations import ChainEnd
from crawler.model.resolving import Patience
from crawler.politeness.host_files import (
    GRACE_S,
    KEPT_S,
    LONGEST_POLL_S,
    LONGEST_REQUEST_S,
    POLL_S,
    HostFiles,
    HostLease,
    HostWait,
)
from crawler.politeness.pacing import Allowance, Allowances
from crawler.politeness.throttle import HostGivenUp, HostThrottle

INTERVAL_S = 0.05

#: The clock of the event loop and the one that is looked at differ by less.
TOLERANCE_S = 0.002

QUICK = Patience(attempts=3, backoff_s=0.0, longest_wait_s=5.0)

HOST = "http://r.example/ark:/12x45/x5"


def throttle(interval_s: float = INTERVAL_S, concurrency: int = 1, *, folder: Path | None = None) -> HostThrottle:
    allowances = Allowances(interval_s, {"own.example": Allowance(interval_s, concurrency)})
    return HostThrottle(allowances, QUICK, files=HostFiles(folder) if folder else None, is_own=lambda _: True)


class Log:
    """When requests to each host started, and how many were under way at most."""

    def __init__(self) -> None:
        self.starts: defaultdict[str, list[float]] = defaultdict(list)
        self.most: dict[str, int] = {}
        self._under_way: defaultdict[str, int] = defaultdict(int)

    async def ask(self, by: HostThrottle, url: str = HOST, *, takes_s: float = 0.0, status: int = 200) -> None:
        async with by.slot(url) as slot:
            self.starts[url].append(time.monotonic())
            slot.report_sent()  # behind our own note of it, which a busy machine may make late
            self._under_way[url] += 1
            self.most[url] = max(self.most.get(url, 0), self._under_way[url])
            await asyncio.sleep(takes_s)
            self._under_way[url] -= 1
            slot.report_answer(status)

    def shortest_gap(self, url: str = HOST) -> float:
        return min(later - earlier for earlier, later in pairwise(self.starts[url]))


def run(scene: Callable[[], Awaitable[None]], *, at_most_s: float = 60.0) -> None:
    """Run a scene to its end; one that hangs fails."""

    async def bounded() -> None:
        async with asyncio.timeout(at_most_s):
            await scene()

    asyncio.run(bounded())


def test_turns_at_a_host_come_one_after_another_an_interval_apart() -> None:
    log, by = Log(), throttle()

    async def scene() -> None:
        await asyncio.gather(*(log.ask(by, takes_s=0.01) for _ in range(8)))

    run(scene)
    assert len(log.starts[HOST]) == 8
    assert log.shortest_gap() >= INTERVAL_S - TOLERANCE_S
    assert log.most[HOST] == 1


@pytest.mark.parametrize(("url", "most"), [(HOST, 1), ("http://own.example/x", 4)])
def test_as_many_as_are_allowed_are_under_way_at_a_host(url: str, most: int) -> None:
    log, by = Log(), throttle(0.0, concurrency=4)

    async def scene() -> None:
        await asyncio.gather(*(log.ask(by, url, takes_s=0.03) for _ in range(12)))

    run(scene)
    assert log.most[url] == most


def test_a_thousand_hosts_are_asked_at_once() -> None:
    log, by, turns = Log(), throttle(), 3
    urls = [f"http://h{number}.example/" for number in range(1000)]

    async def scene() -> None:
        await asyncio.gather(*(log.ask(by, url) for url in urls for _ in range(turns)))

    run(scene)
    assert all(len(log.starts[url]) == turns for url in urls)
    assert min(log.shortest_gap(url) for url in urls) >= INTERVAL_S - TOLERANCE_S


def test_intervals_count_from_when_a_request_really_went_out() -> None:
    by, starts, sent = throttle(), list[float](), list[float]()

    async def connects_slowly() -> None:
        async with by.slot(HOST) as slot:
            starts.append(time.monotonic())
            await asyncio.sleep(0.03)
            sent.append(time.monotonic())
            slot.report_sent()
            slot.report_answer(200)

    async def scene() -> None:
        await asyncio.gather(connects_slowly(), connects_slowly())

    run(scene)
    assert starts[1] - sent[0] >= INTERVAL_S - TOLERANCE_S


def test_a_pause_holds_for_the_whole_host_and_is_on_record() -> None:
    by, log = throttle(), Log()

    async def scene() -> None:
        async with by.slot(HOST) as slot:
            answered = time.monotonic()
            slot.report_answer(503, 0.4)
        await asyncio.gather(log.ask(by), log.ask(by))
        assert log.starts[HOST][0] - answered >= 0.4 - TOLERANCE_S

    run(scene)
    [pause] = by.take_pauses()
    assert (pause.host, pause.url, pause.asked_s, pause.is_kept) == ("http://r.example", HOST, 0.4, True)
    assert by.take_pauses() == []
    [traffic] = by.take_traffic()
    assert (traffic.host, traffic.requests, traffic.failures) == ("http://r.example", 3, 0)
    assert by.take_traffic() == []


def test_cancelled_request_releases_its_turn() -> None:
    by, log = throttle(), Log()

    async def scene() -> None:
        first = asyncio.ensure_future(log.ask(by, takes_s=0.1))
        await asyncio.sleep(0.02)
        second, third = asyncio.ensure_future(log.ask(by)), asyncio.ensure_future(log.ask(by))
        await asyncio.sleep(0.02)
        second.cancel()
        await asyncio.gather(first, third)

    run(scene)
    assert len(log.starts[HOST]) == 2


def test_dropped_requests_get_no_turn() -> None:
    by, log = throttle(), Log()

    async def scene() -> None:
        asking = [asyncio.ensure_future(log.ask(by, takes_s=0.05)) for _ in range(5)]
        await asyncio.sleep(0.02)
        by.drop_waiting(KeyError("stopped"))
        ended = await asyncio.gather(*asking, return_exceptions=True)
        assert [type(each) for each in ended] == [type(None), *[KeyError] * 4]

    run(scene)
    assert len(log.starts[HOST]) == 1


# -- dead hosts


async def fail(by: HostThrottle, url: str = HOST, end: ChainEnd = ChainEnd.REFUSED) -> str:
    """Send a request to a host that refuses connections."""
    try:
        async with by.slot(url) as slot:
            slot.report_failure(end, "the host refused the connection")
    except HostGivenUp as refusal:
        return str(refusal)
    return "asked"


def test_a_dead_host_is_asked_five_times_and_once_more_at_the_end() -> None:
    by, log, url = throttle(), Log(), "http://living.example/"

    async def scene() -> None:
        dead = [asyncio.ensure_future(fail(by)) for _ in range(12)]
        for _ in range(10):
            await log.ask(by, url, takes_s=0.1)
            assert sum(each.done() for each in dead) <= 5, "the others wait while there is anything else to do"
        told = await asyncio.gather(*dead)
        assert told[:6] == ["asked"] * 6
        for words in told[6:]:
            assert "no answer 6 times in a row" in words
            assert "the host refused the connection" in words
            assert HOST in words, "it names the request that it rests on"

    run(scene)
    traffic = {each.host: each for each in by.take_traffic()}["http://r.example"]
    assert (traffic.requests, traffic.failures) == (6, 6)
    assert traffic.given_up is not None
    assert by.free_slots("http://r.example") > 2, "queued requests come out to get their outcome"


def test_a_dead_host_is_tried_once_more_at_once_also_with_the_files_of_other_audits(tmp_path: Path) -> None:
    told: list[str] = []

    async def scene() -> None:
        by = throttle(folder=tmp_path)
        told.extend(await asyncio.gather(*(fail(by) for _ in range(8))))

    run(scene, at_most_s=20.0)  # a lock that is taken without a turn holds the host up for ten minutes
    assert len(told) == 8


def test_a_host_that_comes_back_is_asked_about_everything() -> None:
    by, log = throttle(), Log()

    async def scene() -> None:
        for _ in range(5):
            await fail(by)
        assert by.free_slots("http://r.example") == 0
        await asyncio.gather(*(log.ask(by) for _ in range(6)))

    run(scene)
    assert len(log.starts[HOST]) == 6


def test_another_stage_tries_a_dead_host_once() -> None:
    by = throttle()

    async def scene() -> None:
        for _ in range(7):
            await fail(by)
        by.begin_stage()
        told = await asyncio.gather(*(fail(by) for _ in range(4)))
        assert told[:2] == ["asked", "asked"], "one as it comes, and one at the end"
        assert all("not asked" in words for words in told[2:])

    run(scene)


def test_a_pause_beyond_our_patience_ends_the_questions_when_there_is_nothing_else_to_do() -> None:
    by = throttle()

    async def scene() -> None:
        async with by.slot(HOST) as slot:
            slot.report_answer(503, 3600.0)
        with pytest.raises(HostGivenUp, match="pause longer than the limit of 5 s"):
            async with by.slot(HOST):
                raise AssertionError("it was asked")

    run(scene)
    assert [pause.is_kept for pause in by.take_pauses()] == [False]


# -- several audits on one machine


def test_audits_on_one_machine_take_turns_and_both_get_on(tmp_path: Path) -> None:
    log, first, second = Log(), throttle(folder=tmp_path), throttle(folder=tmp_path)

    async def scene() -> None:
        await asyncio.gather(*(log.ask(by, takes_s=0.01) for by in (first, second) for _ in range(6)))

    run(scene)
    assert len(log.starts[HOST]) == 12
    assert log.shortest_gap() >= INTERVAL_S - TOLERANCE_S
    assert log.most[HOST] == 1
    assert [by.take_traffic()[0].requests for by in (first, second)] == [6, 6]


@pytest.mark.parametrize("others", [1, 3])
def test_no_audit_waits_until_another_has_done_with_a_slow_host(others: int, tmp_path: Path) -> None:
    """Where an answer takes longer than the interval, the next request might go out as soon as it is there."""
    busy, late = Log(), Log()

    async def scene() -> None:
        by = throttle(folder=tmp_path)
        asking = [asyncio.ensure_future(busy.ask(by, takes_s=3 * INTERVAL_S)) for _ in range(30 * others)]
        await asyncio.sleep(INTERVAL_S)
        late_ones = [throttle(folder=tmp_path) for _ in range(others)]
        await asyncio.gather(*(late.ask(by, takes_s=3 * INTERVAL_S) for by in late_ones for _ in range(3)))
        assert sum(each.done() for each in asking) <= 15 * others
        for each in asking:
            each.cancel()
        await asyncio.gather(*asking, return_exceptions=True)

    run(scene)


def test_an_audit_that_has_gone_away_while_it_waited_is_not_waited_for(tmp_path: Path) -> None:
    clock = Clock()
    files, others = HostFiles(tmp_path, wall=clock), HostFiles(tmp_path, wall=clock)
    claim = held_lease(files)
    wait(others)
    claim.release(0.0)
    clock.now += 1.0
    held_lease(files).release(0.0)  # it wanted to look long ago
    clock.now += 0.5
    wait(others)
    clock.now += 0.5
    assert wait(files) < 0.1, "it looks just now"
    clock.now += GRACE_S
    held_lease(files).release(0.0)


def test_polling_slows_down_for_long_waits(tmp_path: Path) -> None:
    clock = Clock()
    claim = held_lease(HostFiles(tmp_path, wall=clock))
    waits = []
    for _ in range(40):
        waits.append(wait(HostFiles(tmp_path, wall=clock)))
        clock.now += waits[-1]
    assert waits == sorted(waits)
    assert (waits[0], waits[-1]) == (POLL_S, LONGEST_POLL_S)
    claim.release(0.0)


def test_a_pause_that_one_audit_was_asked_for_is_kept_by_the_others(tmp_path: Path) -> None:
    log, first, second = Log(), throttle(folder=tmp_path), throttle(folder=tmp_path)

    async def scene() -> None:
        async with first.slot(HOST) as slot:
            answered = time.monotonic()
            slot.report_answer(429, 0.4)
        await log.ask(second)
        assert log.starts[HOST][0] - answered >= 0.4 - TOLERANCE_S

    run(scene)


def test_unwritable_cache_is_reported_once_and_hosts_are_paced(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("where a folder belongs")
    log, by = Log(), throttle(folder=tmp_path / "file" / "hosts")

    async def scene() -> None:
        await asyncio.gather(*(log.ask(by) for _ in range(3)), log.ask(by, "http://other.example/"))

    with caplog.at_level(logging.WARNING):
        run(scene)
    assert log.shortest_gap() >= INTERVAL_S - TOLERANCE_S
    [words] = [record.getMessage() for record in caplog.records if "other audits" in record.getMessage()]
    assert words.startswith(f"the cache can't be written (Not a directory: {tmp_path / 'file' / 'hosts'}): ")


class Clock:
    """A clock of the machine that is set by hand."""

    def __init__(self) -> None:
        self.now = 1_000_000_000.0

    def __call__(self) -> float:
        return self.now


def held_lease(files: HostFiles) -> HostLease:
    claim = files.claim("http://r.example", 1.0, is_alone=True)
    assert isinstance(claim, HostLease)
    return claim


def wait(files: HostFiles) -> float:
    claim = files.claim("http://r.example", 1.0, is_alone=True)
    assert isinstance(claim, HostWait)
    return claim.seconds


@pytest.mark.parametrize("text", ["", "{", "[]", '{"started_at": "x"}', '{"started_at": NaN, "open_again_at": 1e999}'])
def test_malformed_host_file_costs_one_interval_at_most(text: str, tmp_path: Path) -> None:
    clock = Clock()
    files = HostFiles(tmp_path, wall=clock)
    path = files.path("http://r.example")
    path.write_text(text)
    os.utime(path, (clock.now, clock.now))
    clock.now += 1.0
    held_lease(files).release(1.0)
    assert json.loads(path.read_text())["started_at"] == clock.now


def test_a_clock_that_is_set_back_by_a_day_costs_an_interval(tmp_path: Path) -> None:
    clock = Clock()
    files = HostFiles(tmp_path, wall=clock)
    held_lease(files).release(1.0)
    clock.now -= 86_400
    assert wait(files) == pytest.approx(1.0)
    clock.now += 1.0
    held_lease(files).release(0.0)


def test_an_audit_that_is_suspended_while_it_asks_is_not_waited_for_all_day(tmp_path: Path) -> None:
    clock = Clock()
    files = HostFiles(tmp_path, wall=clock)
    suspended = held_lease(files)
    clock.now += LONGEST_REQUEST_S / 2
    assert wait(files) < 1.0
    clock.now += LONGEST_REQUEST_S
    held_lease(files).release(0.0)
    suspended.release(0.0)


@pytest.mark.parametrize("was_asked_before", [False, True])
def test_audit_waits_for_one_that_locked_the_file_a_moment_ago(was_asked_before: bool, tmp_path: Path) -> None:
    """The other audit has not yet written its state: the file is new, or has that of the day before."""
    clock = Clock()
    files = HostFiles(tmp_path, wall=clock)
    path = files.path("http://r.example")
    path.touch()
    if was_asked_before:
        held_lease(files).release(0.0)
    clock.now += 86_400
    with path.open("r+b") as locked_file:
        assert lock_descriptor(locked_file.fileno(), blocking=False)
        for _ in range(3):
            assert wait(files) < 1.0
            clock.now += 1.0
    held_lease(files).release(0.0)


def test_files_of_unused_hosts_are_removed(tmp_path: Path) -> None:
    old, new, used = (HostFiles(tmp_path).path(f"http://{name}.example") for name in ("old", "new", "used"))
    held_lease(HostFiles(tmp_path)).release(0.0)
    for path in (old, new, used):
        path.write_text("{}")
    for path in (old, used):
        os.utime(path, (time.time() - KEPT_S - 60,) * 2)
    in_use = HostFiles(tmp_path).claim("http://used.example", 1.0, is_alone=True)
    os.utime(used, (time.time() - KEPT_S - 60,) * 2)
    HostFiles(tmp_path).claim("http://r.example", 1.0, is_alone=True)
    assert {path.exists() for path in (new, used)} == {True}
    assert not old.exists()
    assert isinstance(in_use, HostLease)
    in_use.release(0.0)


def test_removed_folder_is_made_again(tmp_path: Path) -> None:
    files = HostFiles(tmp_path / "hosts")
    held_lease(files).release(0.0)
    files.path("http://r.example").unlink()
    (tmp_path / "hosts").rmdir()
    held_lease(files).release(0.0)
    assert files.path("http://r.example").exists()


def test_a_long_interval_of_ones_own_is_no_wish_of_the_host(tmp_path: Path) -> None:
    patience = Patience(attempts=1, backoff_s=0.0, longest_wait_s=0.0)
    log = Log()

    async def scene() -> None:
        for _ in range(2):
            files = HostFiles(tmp_path)
            await log.ask(HostThrottle(Allowances(2.5), patience, files=files, is_own=lambda _: True))

    run(scene)
    assert log.shortest_gap() >= 2.5 - TOLERANCE_S


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="descriptors are counted in /proc")
def test_descriptors_are_closed(tmp_path: Path) -> None:
    clock, descriptors = Clock(), Path("/proc/self/fd")
    files = HostFiles(tmp_path, wall=clock)
    held_lease(files).release(0.0)
    before = len(list(descriptors.iterdir()))
    clock.now += 2.0
    suspended = held_lease(files)
    for _ in range(5):
        wait(files)
    clock.now += 2 * LONGEST_REQUEST_S
    for _ in range(5):
        held_lease(files).release(0.0)
    suspended.release(0.0)
    assert len(list(descriptors.iterdir())) == before


def test_any_host_name_has_a_file(tmp_path: Path) -> None:
    files = HostFiles(tmp_path)
    names = ["http://[::1]:8080", "http://a/../b", "http://" + "x" * 250, "https://a", "http://a", "http://a:80"]
    assert len({files.path(name) for name in names}) == len(names)
    for name in names:
        claim = files.claim(name, 1.0, is_alone=True)
        assert isinstance(claim, HostLease)
        claim.release(0.0)
    assert all(path.parent == tmp_path for path in tmp_path.iterdir())
