"""Corrects the times of runs whose clock was ahead, so that runs stay in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, select, update
from sqlalchemy.dialects.sqlite import insert

from crawler.model import schema
from crawler.model.observations import moment

#: The kind of a finding about a run whose clock was ahead.
CLOCK_AHEAD = "clock-ahead"
_run = schema.run.c
_STEP = timedelta(milliseconds=1)


def corrected_times(connection: Connection, now: datetime) -> dict[int, dict[str, str | None]]:
    """Return the corrected ``started_at`` and ``ended_at`` of runs with times after *now*, by number of the run."""
    query = select(_run.run_id, _run.started_at, _run.ended_at).order_by(_run.run_id)
    return clamp_times(connection.execute(query).all(), now)


def clamp_times(runs: Sequence[Any], now: datetime) -> dict[int, dict[str, str | None]]:
    """Return the corrected times of those *runs*, rows in ascending order, that have times after *now*.

    Such a run is dated just before the next run. Keys are the number of the run, then ``started_at`` and ``ended_at``.
    """
    times_by_run: dict[int, dict[str, str | None]] = {}
    next_start = now
    for run in reversed(runs):
        started = _parse_time(run.started_at)
        is_ahead = started > now
        if is_ahead:
            started = next_start - _STEP
        if is_ahead or (run.ended_at is not None and _parse_time(run.ended_at) > now):
            ended = None if run.ended_at is None else moment(started if is_ahead else next_start)
            start = moment(started) if is_ahead else run.started_at
            times_by_run[run.run_id] = {"started_at": start, "ended_at": ended}
        next_start = min(next_start, started)
    return times_by_run


def store_corrected_times(connection: Connection, now: datetime) -> Mapping[int, Mapping[str, str | None]]:
    """Correct the times of runs after *now* and return them (`clamp_times`); a finding records the original times."""
    times_by_run = corrected_times(connection, now)
    for run_id, times in times_by_run.items():
        original_run = connection.execute(select(_run.started_at, _run.ended_at).where(_run.run_id == run_id)).one()
        detail = f"by its clock, which was ahead, it began {original_run.started_at} and ended {original_run.ended_at}"
        connection.execute(
            insert(schema.finding)
            .values(run_id=run_id, subject=f"run {run_id}", kind=CLOCK_AHEAD, detail=detail)
            .on_conflict_do_nothing()
        )
        connection.execute(update(schema.run).where(_run.run_id == run_id).values(**times))
    return times_by_run


def show_corrected_times(connection: Connection, now: datetime) -> int:
    """Let a read-only connection see corrected times, in a temporary table that hides the stored one.

    Return the number of corrected runs.
    """
    times_by_run = corrected_times(connection, now)
    if times_by_run:
        connection.exec_driver_sql("CREATE TEMP TABLE run AS SELECT * FROM main.run")
        connection.exec_driver_sql("CREATE UNIQUE INDEX temp.run_by_id ON run (run_id)")
        for run_id, times in times_by_run.items():
            connection.execute(update(schema.run).where(_run.run_id == run_id).values(**times))
    return len(times_by_run)


def moment_of_check(answer: Any, run: Any) -> str:
    """Return the time of the last *answer*, or of the start of *run* without one; never after the end of *run*."""
    checked_at = str((answer.at if answer is not None else "") or run.started_at)
    return checked_at if run.ended_at is None else min(checked_at, str(run.ended_at))


def clock_ahead_message(count: int) -> str:
    """Return the message about runs whose clock was ahead.

    >>> clock_ahead_message(1)
    '1 run has times in the future, because its clock was ahead: it counts as made before the next one'
    """
    if count == 1:
        return "1 run has times in the future, because its clock was ahead: it counts as made before the next one"
    return (
        f"{count} runs have times in the future, because their clock was ahead: each counts as made before the next one"
    )


def _parse_time(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)
