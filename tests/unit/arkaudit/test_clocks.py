"""Runs whose clock was ahead: they keep their order, and neither reports nor checks wait for their time."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from arkaudit.features.stores.checks import problems
from crawler.history.ark_status import ArkState
from crawler.history.rechecking import Intervals, KnownArk, RecheckPolicy, due_arks, without_times_ahead
from crawler.history.run_times import clamp_times
from crawler.model.observations import moment
from crawler.store.store import Store
from crawler.verdicts.verdict import skipped_verdict
from extractors.model.ark import Ark
from reports.store.frames import load_frames
from reports.store.run_queries import current_scope
from reports.store.store_reading import read_store
from tests.real.loopback import select

NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def run(number: int, started: timedelta) -> SimpleNamespace:
    at = moment(NOW + started)
    return SimpleNamespace(run_id=number, started_at=at, ended_at=at)


def test_run_that_is_ahead_counts_as_made_before_the_next_one() -> None:
    runs = [run(1, -9 * DAY), run(2, 365 * DAY), run(3, 365 * DAY), run(4, -DAY), run(5, 400 * DAY)]
    corrected = clamp_times(runs, NOW)
    assert sorted(corrected) == [2, 3, 5]
    starts = [corrected.get(one.run_id, {}).get("started_at", one.started_at) for one in runs]
    assert starts == sorted(set(starts))
    assert starts[-1] < moment(NOW)


def test_nothing_is_corrected_where_no_time_is_ahead() -> None:
    assert clamp_times([run(1, -DAY), run(2, -9 * DAY), run(3, timedelta())], NOW) == {}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Path]:
    """Two runs that judged one ARK; the clock of the first was a year ahead."""
    path = tmp_path / "a.db"
    ahead = datetime.now(UTC) + 365 * DAY
    with Store.open(path) as made:
        for at in (ahead, datetime.now(UTC)):
            run_id = made.begin_run(
                command="check", at=moment(at), version="0", resolver="", user_agent="t", seeds=["a"]
            )
            made.record_verdicts(
                run_id, [skipped_verdict(Ark.parse("ark:99999/x"), "http://a/ark:99999/x", f"run {run_id}")]
            )
            made.end_run(run_id, at=moment(at), state="finished")
    return path


def test_report_shows_the_verdict_of_the_last_run(store: Path, caplog: pytest.LogCaptureFixture) -> None:
    before = store.read_bytes()
    stands = read_store(store, current_scope)
    assert stands is not None
    assert stands.until == 2
    assert list(load_frames(store).verdicts["run_id"]) == [2]
    assert "1 run has times in the future" in caplog.text
    assert store.read_bytes() == before


def test_next_command_corrects_times_and_keeps_the_old_ones(store: Path) -> None:
    with Store.open(store) as opened:
        assert opened.run_ids() == [1, 2]
        [known] = opened.known_arks()
        assert known.checked_at is not None
        assert known.checked_at <= datetime.now(UTC)
    [(kind, detail)] = select(store, "select kind, detail from finding")
    assert select(store, "select max(started_at) <= ? from run", (moment(datetime.now(UTC)),))[0] == (1,)
    assert kind == "clock-ahead"
    assert str(datetime.now(UTC).year + 1) in detail
    assert read_store(store, lambda connection: list(problems(connection))) == []


def test_future_check_delays_no_recheck() -> None:
    ark = KnownArk("ark:1/x", "1", "http://a/", "a", ArkState.HEALTHY, NOW + 365 * DAY)
    again = without_times_ahead(ark, NOW)
    assert due_arks([again], RecheckPolicy(Intervals()), NOW)[0] == [again]
