"""An overview of the planned runs and the results of the last ones."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from rich.table import Table

from arkaudit.exits import EXIT_FINDING, EXIT_INTERRUPTED, EXIT_MISTAKE, EXIT_UNFINISHED
from arkaudit.schedules.moments import ScheduledRun
from arkaudit.schedules.scheduler import Planned

_OUTCOMES = {
    0: "done",
    EXIT_FINDING: "done, with findings",
    EXIT_MISTAKE: "a mistake in its configuration",
    EXIT_UNFINISHED: "could not finish",
    EXIT_INTERRUPTED: "interrupted",
}


def rows(audits: Iterable[Planned], now: datetime) -> list[dict[str, Any]]:
    """One row for each audit with a schedule: when it runs next, and how its last run ended."""
    return [_row(audit, now) for audit in audits]


def _row(audit: Planned, now: datetime) -> dict[str, Any]:
    is_running = audit.ledger.is_running()
    due = audit.due(now)
    entries = audit.ledger.entries()
    last = entries[-1] if entries else None
    return {
        "audit": audit.name,
        "schedule": audit.schedule.expression,
        "timezone": str(audit.schedule.zone or "UTC"),
        "next": (due.moment if due else audit.schedule.next_after(now)).isoformat(),
        "is_due": due is not None,
        "last_started": last.started.isoformat() if last else None,
        "last_ended": last.ended.isoformat() if last and last.ended else None,
        "outcome": outcome(last, is_running=is_running),
    }


def outcome(last: ScheduledRun | None, *, is_running: bool) -> str:
    """Return how the last run ended, in a word or two.

    >>> outcome(ScheduledRun(datetime(2026, 3, 1, tzinfo=UTC)), is_running=False)
    'killed'
    """
    if is_running:
        return "running"
    if last is None:
        return "not yet run"
    if last.ended is None:
        return "killed"
    return _OUTCOMES.get(last.exit_code if last.exit_code is not None else -1, f"exit code {last.exit_code}")


def table(listed: Iterable[dict[str, Any]]) -> Table:
    """The rows for people."""
    shown = Table("audit", "schedule", "next (UTC)", "last began (UTC)", "took", "outcome", box=None)
    for row in listed:
        next_at = "now" if row["is_due"] else _minute(row["next"])
        shown.add_row(row["audit"], row["schedule"], next_at, _minute(row["last_started"]), _took(row), row["outcome"])
    return shown


def _minute(moment: str | None) -> str:
    return f"{datetime.fromisoformat(moment).astimezone(UTC):%Y-%m-%d %H:%M}" if moment else ""


def _took(row: dict[str, Any]) -> str:
    if not row["last_ended"]:
        return ""
    return str(datetime.fromisoformat(row["last_ended"]) - datetime.fromisoformat(row["last_started"]))
