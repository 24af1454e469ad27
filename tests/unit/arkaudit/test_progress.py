"""Messages on a run in progress, and on its interruption."""

from itertools import count

import pytest

from arkaudit.audits.audit import AuditInterrupted
from arkaudit.output.exits import end_for
from arkaudit.output.progress import RunProgress
from crawler.model.observations import ChainEnd, Observation, Question
from extractors.model.ark import Ark


def test_a_log_gets_a_line_each_minute_with_what_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    asked = [f"https://a.example/ark:/12x45/{number}" for number in range(1200)]
    seconds = count()
    with RunProgress(lambda: float(next(seconds))) as progress:
        progress.stage("URLs of ARKs", 1200, urls=set(asked))
        for url in asked[:100]:
            progress.count(observation(url))
        for url in (asked[0], "https://a.example/another-reading"):
            progress.count(observation(url))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("URLs of ARKs: 59 of 1,200, 0 requests; about 19 min left")
    assert lines[1] == "URLs of ARKs: 100 of 1,200, 0 requests", "unexpected requests are no part of the total"


def test_remaining_time_is_that_of_the_slowest_host(capsys: pytest.CaptureFixture[str]) -> None:
    many = [f"https://slow.example/ark:/12x45/{number}" for number in range(3000)]
    few = [f"https://quick.example/ark:/12x45/{number}" for number in range(50)]
    seconds = count()
    with RunProgress(lambda: float(next(seconds))) as progress:
        progress.stage("URLs of ARKs", 3050, urls={*many, *few})
        for url in (url for pair in zip(many[:50], few, strict=True) for url in pair):
            progress.count(observation(url))
    [line, _] = capsys.readouterr().err.splitlines()
    # After a minute 30 of 3,000 URLs are done at the slow host.
    assert line.endswith("about 97 min left")


def observation(url: str) -> Observation:
    return Observation(
        ark=Ark("12x45", "x1"), question=Question.OBJECT, request_url=url, asked_url=url, end=ChainEnd.ANSWERED, hops=()
    )


def test_interrupt_names_the_next_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["arkaudit", "run", "my thesis.pdf", "--no-resume", "--store", "a.db"])
    with pytest.raises(SystemExit) as ending:
        end_for(AuditInterrupted(1))
    assert ending.value.code == 130
    [interrupted, following] = capsys.readouterr().err.splitlines()
    assert interrupted.endswith("all observations until then are kept")
    assert following == "arkaudit: next, to resume it: arkaudit run 'my thesis.pdf' --store a.db"
