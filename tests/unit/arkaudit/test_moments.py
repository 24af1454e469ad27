"""The times at which a named audit is due, from its schedule and from the results of its runs."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arkaudit.configuration.schedule import Schedule
from arkaudit.schedules.last_run import Due, LastRun, due_now
from tests.vectors import vectors


def utc(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def last_of(case):
    """Return the last run of a case, and how many runs before it were unfinished and for the same moment."""
    last = LastRun(utc(case["since"]))
    for told in case["runs"]:
        due = utc(told["due"]) if told["due"] else None
        attempts = last.attempts + 1 if last.is_unfinished and last.due == due else 1
        ended = utc(told["ended"]) if "ended" in told else None
        last = LastRun(utc(told["started"]), due, ended, told.get("code"), attempts)
    return last


@pytest.mark.parametrize("case", vectors("schedules"))
def test_it_is_due(case):
    found = due_now(Schedule.parse(case["schedule"], case.get("zone")), last_of(case), utc(case["now"]))
    assert found == (Due(utc(case["due"]), case.get("resumes", False)) if case["due"] else None)


@pytest.mark.parametrize("expression", ["", "* * * *", "61 * * * *", "every day", "0 3 31 2 *", "* * * * * * *"])
def test_malformed_schedule_is_refused(expression):
    with pytest.raises(ValueError, match="is not a cron expression"):
        Schedule.parse(expression)


@pytest.mark.parametrize("zone", ["Mars/Olympus", "../etc/passwd", "Europe"])
def test_unknown_time_zone_is_refused(zone):
    with pytest.raises(ValueError, match="is not a time zone"):
        Schedule.parse("0 3 * * *", zone)


STARTS = st.datetimes(datetime(2026, 1, 1), datetime(2026, 12, 1), timezones=st.just(UTC))
MINUTES = st.integers(1, 3 * 24 * 60)


@given(
    STARTS, st.lists(st.tuples(MINUTES, st.integers(0, 90)), max_size=30), st.sampled_from(["0 3 * * *", "5 * * * *"])
)
def test_looking_at_any_moments_every_moment_is_made_up_for_once(since, looks, expression):
    """Looking at random times and running due audits for a while: each moment gets exactly one run."""
    schedule, now, last, moments = Schedule.parse(expression), since, LastRun(since), []
    for wait, took in looks:
        now += timedelta(minutes=wait)
        due = due_now(schedule, last, now)
        assert (due is not None) == (last.started < schedule.last_until(now))
        if due:
            moments.append(due.moment)
            last = LastRun(now, due.moment, now + timedelta(minutes=took), 0, 1)
            now += timedelta(minutes=took)
    assert moments == sorted(set(moments))
