"""The results of the runs of each named audit: a small file next to the configuration, and a lock that dies with a run.

The run itself keeps its ledger, so that one begun by hand counts like one that a schedule began, and so that it is
known how a run ended whose scheduler is gone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from filelock import FileLock, Timeout

from arkaudit.exits import code_of, say
from crawler.model.durable_files import durable_file
from extractors.model.errors import ArkauditError, UserMistake

if TYPE_CHECKING:
    from pydantic import TypeAdapter

#: So often a run that did not come to its end is taken up again; then it waits for the next moment of the schedule.
MOST_ATTEMPTS = 3
#: Before the second further attempt; each further wait is longer by as much.
BETWEEN_ATTEMPTS = timedelta(minutes=5)
#: So long another process may hold a lock to see whether it is held.
_PROBING_S = 1.0
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
    # the newest runs that did not come to their end, all for the same moment
    newest = takewhile(lambda entry: not entry.has_come_to_its_end and entry.due == entries[-1].due, reversed(entries))
    attempts = [*newest][::-1]
    if attempts:
        last = attempts[-1]
        is_patient = now >= last.started + BETWEEN_ATTEMPTS * (len(attempts) - 1)
        if len(attempts) < MOST_ATTEMPTS and is_patient:
            return Due(last.due or last.started, resumes=True)
    moment = schedule.last_until(now)
    # A time that lies ahead is of a clock that was: it would keep the audit from running until then.
    begun = [start for start in (since, *(entry.started for entry in entries)) if start <= now]
    return Due(moment, resumes=bool(attempts)) if moment > max(begun, default=since) else None


#: The folder of ledgers, next to the configuration.
FOLDER = ".arkaudit"
#: So many runs of an audit are remembered; everything else about them is in its store.
_REMEMBERED = 200


#: No ledger of so many entries is longer.
_MOST_BYTES = 2**20
#: So far a time may lie ahead, as clocks are set by a little now and then.
_LEEWAY = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class LedgerContent:
    """The content of a ledger."""

    since: datetime
    """When the audit's schedule was first seen."""
    entries: tuple[ScheduledRun, ...] = ()
    """The runs that are remembered, in the order in which they began."""

    @classmethod
    def read(cls, data: bytes) -> LedgerContent:
        """Return what a file holds. Raises ValueError, which names the place of the first fault.

        >>> LedgerContent.read(b'{"since": []}')
        Traceback (most recent call last):
        ValueError: since: Input should be a valid datetime
        """
        from pydantic import ValidationError

        try:
            content = _contents().validate_json(data, strict=True)
        except ValidationError as problem:
            fault = problem.errors()[0]
            raise ValueError(": ".join(filter(None, (".".join(map(str, fault["loc"])), fault["msg"])))) from None
        entries = (
            _with_times(entry, partial(_in_utc, place=f"entries.{number}"))
            for number, entry in enumerate(content.entries)
        )
        return cls(_in_utc(content.since, place="since"), tuple(entries))

    def clamped(self, now: datetime) -> LedgerContent:
        """Return the same with no time ahead of *now*, but for what clocks differ."""

        def clamp(at: datetime) -> datetime:
            return at if at <= now + _LEEWAY else now

        return LedgerContent(clamp(self.since), tuple(_with_times(entry, clamp) for entry in self.entries))


@cache
def _contents() -> TypeAdapter[LedgerContent]:
    from pydantic import TypeAdapter  # not for the help of the commands

    return TypeAdapter(LedgerContent)


def _with_times(entry: ScheduledRun, change: Callable[[datetime], datetime]) -> ScheduledRun:
    return replace(
        entry,
        started=change(entry.started),
        due=entry.due and change(entry.due),
        ended=entry.ended and change(entry.ended),
    )


def _in_utc(at: datetime, place: str) -> datetime:
    try:
        if at.tzinfo is not None:
            return at.astimezone(UTC)
    except OverflowError:
        pass
    raise ValueError(f"{place}: no moment with a time zone")


class Running(UserMistake):
    """Raised when an audit is to begin that is running already, or has run for the same moment."""


class Ledger:
    """The ledger of one named audit."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self._folder = folder
        self._file = folder / f"{name}.json"
        self._lock = FileLock(folder / f"{name}.lock")

    def content(self, now: datetime) -> LedgerContent:
        """Return what the ledger holds; one that isn't there yet begins *now*.

        Times that lie ahead of *now* are set to it, and said. Raises `UserMistake` for a ledger that can't be read,
        which stays as it is.
        """
        stored = self._read()
        content = (stored or LedgerContent(now)).clamped(now)
        if content != stored:
            self._write(content)
        if stored is not None and content != stored:
            say(
                f"{self.name}: the ledger {self._file} had times that lie ahead, of a clock that was: set to now",
                level=logging.WARNING,
            )
        return content

    def is_running(self) -> bool:
        """Return whether a run of this audit is under way, in whatever process."""
        if not self._folder.is_dir():
            return False
        try:
            with self._held(0):
                return False
        except Timeout:
            return True

    def _held(self, patience_s: float) -> AbstractContextManager[object]:
        """Take the lock. Raises Timeout, and `UserMistake` where there can be none."""
        try:
            return self._lock.acquire(timeout=patience_s)
        except Timeout:  # which is an OSError
            raise
        except OSError as problem:
            raise UserMistake(f"the lock {self._lock.lock_file} can't be taken: {problem.strerror}") from None

    @contextmanager
    def turn(self, *, due: datetime | None) -> Iterator[None]:
        """Run one audit, alone, and note how it ends. Raises `Running`, and what the run raises."""
        self._make_folder()
        try:
            # Others hold it for a moment, to see whether it is held.
            lock = self._held(_PROBING_S)
        except Timeout:
            raise Running(f"the audit {self.name} is running already") from None
        with lock:
            now = _now()
            content = self.content(now)
            if due is not None and any(entry.due == due and entry.has_come_to_its_end for entry in content.entries):
                raise Running(f"the audit {self.name} has run for {due:%Y-%m-%d %H:%M} UTC already")
            entry = ScheduledRun(started=now, due=due)
            self._keep(content, entry)
            code: int | None = None
            try:
                yield
                code = 0
            except BaseException as ending:
                code = code_of(ending)
                raise
            finally:
                self._keep(content, replace(entry, ended=_now(), exit_code=code))

    def _keep(self, content: LedgerContent, entry: ScheduledRun) -> None:
        self._write(replace(content, entries=(*content.entries, entry)[-_REMEMBERED:]))

    def _make_folder(self) -> None:
        try:
            self._folder.mkdir(exist_ok=True)
        except OSError as problem:
            raise UserMistake(f"no ledger of runs can be kept in {self._folder}: {problem.strerror}") from None

    def _read(self) -> LedgerContent | None:
        try:
            if not self._file.exists():
                return None
            if not self._file.is_file():
                raise ValueError("it is no file")
            with self._file.open("rb") as file:
                return LedgerContent.read(file.read(_MOST_BYTES))
        except (OSError, ValueError) as problem:
            raise UserMistake(
                f"the ledger {self._file} can't be read: {problem}: put it right, or move it away to begin a new one"
            ) from None

    def _write(self, content: LedgerContent) -> None:
        """Replace the file, whole: who reads it meanwhile sees the old one or the new."""
        self._make_folder()
        try:
            with durable_file(self._file) as file:
                file.write(_contents().dump_json(content, indent=1))
        except OSError as problem:
            raise UserMistake(f"the ledger {self._file} can't be written: {problem.strerror}") from None


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)
