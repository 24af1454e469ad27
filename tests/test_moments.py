"""The times at which a named audit is due, from its schedule and from the results of its runs."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arkaudit.configuration.schedule import Schedule
from arkaudit.schedules.ledger import Due, ScheduledRun, due_now
from tests.vectors import vectors


def utc(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def run_of(told):
    ended = utc(told["ended"]) if "ended" in told else None
    due = utc(told["due"]) if told["due"] else None
    return ScheduledRun(utc(told["started"]), due, ended, told.get("code"))


@pytest.mark.parametrize("case", vectors("schedules"))
def test_it_is_due(case):
    found = due_now(
        Schedule.parse(case["schedule"], case.get("zone")),
        [run_of(told) for told in case["runs"]],
        since=utc(case["since"]),
        now=utc(case["now"]),
    )
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
    schedule, entries, now = Schedule.parse(expression), [], since
    for wait, took in looks:
        now += timedelta(minutes=wait)
        due = due_now(schedule, entries, since=since, now=now)
        before = max([since, *(entry.started for entry in entries)])
        assert (due is not None) == (before < schedule.last_until(now))
        if due:
            entries.append(ScheduledRun(now, due.moment, now + timedelta(minutes=took), 0))
            now += timedelta(minutes=took)
    moments = [entry.due for entry in entries]
    assert moments == sorted(set(moments))
