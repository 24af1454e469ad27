"""Pure: whether an audit is due, from its cron expression and from what became of its runs so far."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from extractors.model.errors import ArkauditError

#: So often a run that did not come to its end is taken up again; then it waits for the next moment of the schedule.
MOST_ATTEMPTS = 3
#: Before the second further attempt; each further wait is longer by as much.
BETWEEN_ATTEMPTS = timedelta(minutes=5)
#: Exit codes of runs that came to their end, whatever they found; 2 is a mistake that another attempt would repeat.
_ENDED = frozenset({0, 1, 2})


class BadSchedule(ArkauditError, ValueError):
    """Raised by `Schedule.parse` for what is no cron expression, or no time zone."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """A cron expression, read in a time zone."""

    expression: str
    zone: ZoneInfo | None = None
    """None for UTC."""

    @classmethod
    def parse(cls, expression: str, zone: str | None = None) -> Schedule:
        """The schedule of five cron fields (six with seconds first). Raises `BadSchedule`.

        >>> Schedule.parse("0 3 * * MON", "Europe/Paris").expression
        '0 3 * * MON'
        """
        from cronsim import CronSimError

        try:
            schedule = cls(expression, ZoneInfo(zone) if zone else None)
        except (ValueError, OSError) as problem:  # ZoneInfoNotFoundError is a KeyError on some systems, see below
            raise BadSchedule(f"no time zone: {zone!r}") from problem
        except KeyError:
            raise BadSchedule(f"no time zone: {zone!r}") from None
        try:
            schedule.next_after(datetime(2026, 1, 1, tzinfo=UTC))
        except (CronSimError, StopIteration):
            raise BadSchedule(f"no cron expression of five fields that ever comes: {expression!r}") from None
        return schedule

    def next_after(self, moment: datetime) -> datetime:
        """The first moment of the schedule after *moment*, in UTC.

        >>> Schedule("30 2 * * *").next_after(datetime(2026, 3, 1, 2, 30, tzinfo=UTC)).isoformat()
        '2026-03-02T02:30:00+00:00'
        """
        return next(self._moments(moment)).astimezone(UTC)

    def last_until(self, moment: datetime) -> datetime:
        """The last moment of the schedule that is not after *moment*, in UTC."""
        return next(self._moments(moment + timedelta(seconds=1), is_backwards=True)).astimezone(UTC)

    def _moments(self, start: datetime, *, is_backwards: bool = False) -> Iterator[datetime]:
        from cronsim import CronSim

        return CronSim(self.expression, start.astimezone(self.zone or UTC), reverse=is_backwards)


@dataclass(frozen=True, slots=True)
class ScheduledRun:
    """One run of a named audit, as the ledger has it."""

    started: datetime
    due: datetime | None = None
    """The moment of the schedule that it is for; None for a run that was begun by hand."""
    ended: datetime | None = None
    exit_code: int | None = None

    @property
    def has_come_to_its_end(self) -> bool:
        """True if nothing of it is left to be done."""
        return self.ended is not None and self.exit_code in _ENDED


@dataclass(frozen=True, slots=True)
class Due:
    """That an audit is to run now."""

    moment: datetime
    resumes: bool = False
    """Whether an earlier run for this moment did not come to its end."""


def due_now(schedule: Schedule, entries: Sequence[ScheduledRun], *, since: datetime, now: datetime) -> Due | None:
    """Return whether an audit that isn't running is due *now*; *since* is when its schedule was first seen.

    However many moments were missed, they are made up for by one run. What did not come to its end comes first, at
    once, then with pauses, `MOST_ATTEMPTS` times in all.

    >>> day = lambda day, hour=0: datetime(2026, 3, day, hour, tzinfo=UTC)
    >>> due_now(Schedule("0 3 * * *"), [], since=day(1), now=day(4, 12)).moment.day
    4
    >>> due_now(Schedule("0 3 * * *"), [ScheduledRun(day(4, 3), day(4, 3), day(4, 5), 0)], since=day(1), now=day(4, 12))
    """
    attempts = _attempts(entries)
    if attempts:
        last = attempts[-1]
        is_patient = now >= last.started + BETWEEN_ATTEMPTS * (len(attempts) - 1)
        if len(attempts) < MOST_ATTEMPTS and is_patient:
            return Due(last.due or last.started, resumes=True)
    moment = schedule.last_until(now)
    after = max([since, *(entry.started for entry in entries[-1:])])
    return Due(moment, resumes=bool(attempts)) if moment > after else None


def _attempts(entries: Sequence[ScheduledRun]) -> Sequence[ScheduledRun]:
    """The newest runs that did not come to their end, all for the same moment."""
    begun = len(entries)
    while begun and not entries[begun - 1].has_come_to_its_end and entries[begun - 1].due == entries[-1].due:
        begun -= 1
    return entries[begun:]
