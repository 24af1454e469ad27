"""Schedules of audits as cron expressions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo


def time_zone(name: str) -> ZoneInfo:
    """Return the IANA time zone of this name, such as ``Europe/Paris``. Raises ValueError."""
    try:
        return ZoneInfo(name)
    # ZoneInfoNotFoundError is a KeyError.
    except (ValueError, OSError, KeyError):
        raise ValueError(f"{name!r} is not a time zone") from None


@dataclass(frozen=True, slots=True)
class Schedule:
    """A cron expression and its time zone."""

    expression: str
    zone: ZoneInfo | None = None
    """None for UTC."""

    @classmethod
    def parse(cls, expression: str, zone: str | None = None) -> Schedule:
        """Return the schedule of five cron fields (six with seconds first). Raises `ValueError`.

        >>> Schedule.parse("0 3 * * MON", "Europe/Paris").expression
        '0 3 * * MON'
        """
        from cronsim import CronSimError

        schedule = cls(expression, time_zone(zone) if zone else None)
        try:
            schedule.next_after(datetime(2026, 1, 1, tzinfo=UTC))
        except (CronSimError, StopIteration):
            message = f"{expression!r} is not a cron expression that ever occurs (minute hour day month weekday)"
            raise ValueError(message) from None
        return schedule

    def next_after(self, moment: datetime) -> datetime:
        """Return the first moment of the schedule after *moment*, in UTC.

        >>> Schedule("30 2 * * *").next_after(datetime(2026, 3, 1, 2, 30, tzinfo=UTC)).isoformat()
        '2026-03-02T02:30:00+00:00'
        """
        return next(self._moments(moment)).astimezone(UTC)

    def last_until(self, moment: datetime) -> datetime:
        """Return the last moment of the schedule that is not after *moment*, in UTC."""
        return next(self._moments(moment + timedelta(seconds=1), is_backwards=True)).astimezone(UTC)

    def late_after(self, last_start: datetime) -> datetime:
        """Return the moment from which the run after *last_start* counts as missing: half an interval late.

        >>> Schedule("0 3 * * MON").late_after(datetime(2026, 3, 2, 3, 1, tzinfo=UTC)).isoformat()
        '2026-03-12T15:00:00+00:00'
        """
        next_start = self.next_after(last_start)
        return next_start + (self.next_after(next_start) - next_start) / 2

    def _moments(self, start: datetime, *, is_backwards: bool = False) -> Iterator[datetime]:
        from cronsim import CronSim

        return CronSim(self.expression, start.astimezone(self.zone or UTC), reverse=is_backwards)
