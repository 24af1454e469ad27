"""The results of the runs of each named audit: a small file next to the configuration, and a lock that dies with a run.

The run itself keeps its ledger, so that one begun by hand counts like one that a schedule began, and so that it is
known how a run ended whose scheduler is gone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from filelock import FileLock, Timeout

from arkaudit.exits import code_of
from extractors.model.errors import ArkauditError, UserMistake

if TYPE_CHECKING:
    from pydantic import TypeAdapter

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
        except (
            ValueError,
            OSError,
        ) as problem:  # ZoneInfoNotFoundError is a KeyError on some systems, see below
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
    # the newest runs that did not come to their end, all for the same moment
    newest = takewhile(
        lambda entry: not entry.has_come_to_its_end and entry.due == entries[-1].due,
        reversed(entries),
    )
    attempts = [*newest][::-1]
    if attempts:
        last = attempts[-1]
        is_patient = now >= last.started + BETWEEN_ATTEMPTS * (len(attempts) - 1)
        if len(attempts) < MOST_ATTEMPTS and is_patient:
            return Due(last.due or last.started, resumes=True)
    moment = schedule.last_until(now)
    after = max([since, *(entry.started for entry in entries[-1:])])
    return Due(moment, resumes=bool(attempts)) if moment > after else None


#: The folder of ledgers, next to the configuration.
FOLDER = ".arkaudit"
#: So many runs of an audit are remembered; everything else about them is in its store.
_REMEMBERED = 200


@cache
def _entries() -> TypeAdapter[list[ScheduledRun]]:
    from pydantic import TypeAdapter  # not for the help of the commands

    return TypeAdapter(list[ScheduledRun])


class Running(UserMistake):
    """Raised when an audit is to begin that is running already."""


class Ledger:
    """The ledger of one named audit."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self._folder = folder
        self._file = folder / f"{name}.json"
        self._lock = FileLock(folder / f"{name}.lock")

    def seen(self, now: datetime) -> datetime:
        """Return when the audit's schedule was first seen: *now*, the first time."""
        stored = self._read()
        if "since" not in stored:
            stored["since"] = now.isoformat()
            self._write(stored)
        return datetime.fromisoformat(stored["since"])

    def entries(self) -> list[ScheduledRun]:
        """The runs that are remembered, oldest first."""
        return _entries().validate_python(self._read().get("entries", []))

    def is_running(self) -> bool:
        """Return whether a run of this audit is under way, in whatever process."""
        if not self._folder.is_dir():
            return False
        try:
            with self._lock.acquire(timeout=0):
                return False
        except Timeout:
            return True

    @contextmanager
    def turn(self, *, due: datetime | None) -> Iterator[None]:
        """Run one audit, alone, and note how it ends. Raises `Running`, and what the run raises."""
        self._make_folder()
        try:
            lock = self._lock.acquire(timeout=0)
        except Timeout:
            raise Running(f"the audit {self.name} is running already") from None
        with lock:
            entry = ScheduledRun(started=_now(), due=due)
            before = self.entries()
            self._keep([*before, entry])
            code: int | None = None
            try:
                yield
                code = 0
            except BaseException as ending:
                code = code_of(ending)
                raise
            finally:
                self._keep([*before, replace(entry, ended=_now(), exit_code=code)])

    def _keep(self, entries: Sequence[ScheduledRun]) -> None:
        stored = self._read()
        stored.setdefault("since", entries[0].started.isoformat())
        stored["entries"] = _entries().dump_python([*entries[-_REMEMBERED:]], mode="json")
        self._write(stored)

    def _make_folder(self) -> None:
        try:
            self._folder.mkdir(exist_ok=True)
        except OSError as problem:
            raise UserMistake(f"no ledger of runs can be kept in {self._folder}: {problem.strerror}") from None

    def _read(self) -> dict[str, Any]:
        try:
            stored = json.loads(self._file.read_text("utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as problem:
            raise UserMistake(f"the ledger {self._file} can't be read: {problem}") from None
        if not isinstance(stored, dict):
            raise UserMistake(f"the ledger {self._file} is none of ours")
        return stored

    def _write(self, stored: dict[str, Any]) -> None:
        """Replace the file, whole: who reads it meanwhile sees the old one or the new."""
        self._make_folder()
        new = self._file.with_name(f"{self._file.name}.{os.getpid()}.new")
        try:
            with new.open("w", encoding="utf-8") as stream:
                json.dump(stored, stream, indent=1)
                stream.flush()
                os.fsync(stream.fileno())
            new.replace(self._file)
        except OSError as problem:
            new.unlink(missing_ok=True)
            raise UserMistake(f"the ledger {self._file} can't be written: {problem.strerror}") from None


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)
