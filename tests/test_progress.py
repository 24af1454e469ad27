"""What a run tells while it asks: how far it is, how fast it goes, and how long it still takes."""

from __future__ import annotations

from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from arkaudit import progress
from arkaudit.audits import AuditInterrupted
from arkaudit.exits import end_for
from arkaudit.progress import HostsLeft, RunProgress
from crawler.observations import ChainEnd, Observation, Question
from extractors.ark import Ark


def urls(host: str, number: int) -> list[str]:
    return [f"https://{host}/ark:/12x45/x{each}" for each in range(number)]


@pytest.mark.parametrize(
    ("slow_interval_s", "expected"),
    [
        pytest.param(30.0, ("https://slow.example", 20), id="fewer ARKs at a longer interval"),
        pytest.param(1.0, ("https://many.example", 100), id="more ARKs at the same"),
    ],
)
def test_the_slowest_host_is_told(slow_interval_s: float, expected: tuple[str, int]) -> None:
    interval_s = {"https://many.example": 1.0, "https://slow.example": slow_interval_s}
    left = HostsLeft([*urls("many.example", 100), *urls("slow.example", 20)], interval_s.__getitem__)
    slowest = left.slowest(now=0.0)
    assert slowest is not None
    assert (slowest.host, slowest.left) == expected


def test_a_host_that_answers_slowly_is_reckoned_by_its_own_pace() -> None:
    left = HostsLeft(urls("a.example", 40), lambda host: 1.0)
    for number, url in enumerate(urls("a.example", 20)):
        left.asked(url, now=7.0 * number)
    slowest = left.slowest(now=7.0 * 19)
    assert slowest is not None
    assert (slowest.left, slowest.seconds) == (20, 140.0)


def test_a_host_that_stopped_answering_takes_longer_with_every_second() -> None:
    left = HostsLeft(urls("a.example", 40), lambda host: 1.0)
    for url in urls("a.example", 20):
        left.asked(url, now=0.0)
    seconds = [slowest.seconds for now in (10.0, 100.0) if (slowest := left.slowest(now))]
    assert seconds[0] < seconds[1]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 100)), max_size=60))
def test_what_was_not_expected_is_never_counted_twice(asked: list[tuple[str, float]]) -> None:
    left = HostsLeft([*urls("a", 3), *urls("b", 5)], lambda host: 1.0)
    for host, now in sorted(asked, key=lambda each: each[1]):
        left.asked(f"https://{host}/ark:/12x45/x", now)
    slowest = left.slowest(200.0)
    done = {name: sum(host == name for host, _ in asked) for name in "ab"}
    assert (slowest is None) is (done["a"] >= 3 and done["b"] >= 5)
    assert slowest is None or (slowest.left > 0 and slowest.seconds >= 0)


def test_a_log_gets_a_line_with_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter([0.0, 0.0, *(float(each) for each in range(1, 10_000))])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(moments))
    written = StringIO()
    asked = urls("a.example", 60)
    with RunProgress(Console(file=written, width=60)) as shown:
        every = {*asked, *urls("b.example", 1140)}
        shown.stage("URLs of ARKs", 1200, urls=every, waiting=lambda: HostsLeft(every, lambda host: 1.0))
        for url in asked[:40]:
            shown.seen(observation(url))
        for url in (asked[0], "https://a.example/another-reading"):
            shown.seen(observation(url))
    lines = written.getvalue().splitlines()
    assert "1,200" in lines[0]
    assert "a minute; about 61 min left, for https://b.example is still asked for 1,140 URLs" in lines[0]
    assert lines[-1] == "URLs of ARKs: 40 of 1,200, 0 requests", "what was not expected is no part of the total"


def observation(url: str) -> Observation:
    return Observation(
        ark=Ark("12x45", "x1"),
        question=Question.OBJECT,
        request_url=url,
        asked_url=url,
        end=ChainEnd.ANSWERED,
        hops=(),
    )


def test_a_host_whose_first_arks_take_long_is_reckoned_by_its_last_ones() -> None:
    left = HostsLeft(urls("a.example", 400), lambda host: 1.0)
    now = 0.0
    for at, url in enumerate(urls("a.example", 100)):
        now += 9.0 if at < 20 else 3.0
        left.asked(url, now)
    slowest = left.slowest(now)
    assert slowest is not None
    assert slowest.seconds == pytest.approx(300 * 3.0)


def test_after_an_interrupt_the_next_command_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["arkaudit", "run", "my thesis.pdf", "--no-resume", "--store", "a.db"])
    with pytest.raises(SystemExit) as ending:
        end_for(AuditInterrupted(1))
    assert ending.value.code == 130
    [interrupted, following] = capsys.readouterr().err.splitlines()
    assert interrupted.endswith("what was observed until then is kept")
    assert following == "arkaudit: next, to go on with it: arkaudit run 'my thesis.pdf' --store a.db"


def test_a_host_is_looked_up_once_however_often_it_is_told() -> None:
    looked_up: list[str] = []

    def interval_of(host: str) -> float:
        looked_up.append(host)
        return 1.0

    left = HostsLeft([*urls("a.example", 3), *urls("b.example", 3)], interval_of)
    for now in range(5):
        left.slowest(float(now))
    assert sorted(looked_up) == ["https://a.example", "https://b.example"]
