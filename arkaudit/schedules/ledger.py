"""The ledger of a named audit: a file with start, end and exit code of its runs, and a lock held while one runs.

Each run writes the ledger itself, so that manual runs count too, and so that it survives the scheduler.
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

from filelock import FileLock, Timeout

from arkaudit.configuration.schedule import Schedule
from arkaudit.output.exits import DISK_ERRORS, code_of, say
from crawler.model.durable_files import durable_file
from extractors.model.errors import UserMistake
from extractors.model.files import is_file, is_folder, path_exists

if TYPE_CHECKING:
    from pydantic import TypeAdapter

#: Number of attempts for one moment of the schedule.
MOST_ATTEMPTS = 3
#: Wait before the third attempt; each further wait is longer by as much.
BETWEEN_ATTEMPTS = timedelta(minutes=5)
#: Seconds to wait for a lock that another process only probes.
_PROBING_S = 1.0
#: Exit codes of finished runs. 2 is a mistake that another attempt would repeat.
_ENDED = frozenset({0, 1, 2})


@dataclass(frozen=True, slots=True)
class ScheduledRun:
    """An entry of the ledger: one run of a named audit."""

    started: datetime
    due: datetime | None = None
    """The moment of the schedule; None for a manual run."""
    ended: datetime | None = None
    exit_code: int | None = None

    @property
    def has_come_to_its_end(self) -> bool:
        """True if the run needs no further attempt."""
        return self.ended is not None and self.exit_code in _ENDED


@dataclass(frozen=True, slots=True)
class Due:
    """The moment of the schedule for which an audit has to run now."""

    moment: datetime
    resumes: bool = False
    """True if an earlier run for this moment is unfinished."""


def due_now(schedule: Schedule, entries: Sequence[ScheduledRun], *, since: datetime, now: datetime) -> Due | None:
    """Return the moment for which an idle audit is due *now*, or None; *since* is the first sight of its schedule.

    One run makes up for all missed moments. An unfinished run is attempted again first: at once, then with pauses,
    `MOST_ATTEMPTS` times in all.

    >>> day = lambda day, hour=0: datetime(2026, 3, day, hour, tzinfo=UTC)
    >>> due_now(Schedule("0 3 * * *"), [], since=day(1), now=day(4, 12)).moment.day
    4
    >>> due_now(Schedule("0 3 * * *"), [ScheduledRun(day(4, 3), day(4, 3), day(4, 5), 0)], since=day(1), now=day(4, 12))
    """
    # The newest unfinished runs, all for the same moment.
    newest = takewhile(lambda entry: not entry.has_come_to_its_end and entry.due == entries[-1].due, reversed(entries))
    attempts = [*newest][::-1]
    if attempts:
        last = attempts[-1]
        is_patient = now >= last.started + BETWEEN_ATTEMPTS * (len(attempts) - 1)
        if len(attempts) < MOST_ATTEMPTS and is_patient:
            return Due(last.due or last.started, resumes=True)
    moment = schedule.last_until(now)
    # A time in the future comes from a wrong clock, and would block the audit until then.
    begun = [start for start in (since, *(entry.started for entry in entries)) if start <= now]
    return Due(moment, resumes=bool(attempts)) if moment > max(begun, default=since) else None


#: The folder of ledgers, next to the configuration.
FOLDER = ".arkaudit"
#: Number of runs in a ledger.
_REMEMBERED = 200


#: Size limit of a ledger; larger than one with all its entries.
_MOST_BYTES = 2**20
#: Allowed difference between clocks.
_LEEWAY = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class LedgerContent:
    """The content of a ledger."""

    since: datetime
    """The time of the first look at the audit's schedule."""
    entries: tuple[ScheduledRun, ...] = ()
    """The last runs in order of their start."""

    @classmethod
    def read(cls, data: bytes) -> LedgerContent:
        """Return the content of a file. Raises ValueError with the place of the first fault.

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

    def clamp_to(self, now: datetime) -> LedgerContent:
        """Return the content with times in the future (beyond clock differences) set to *now*."""

        def clamp(at: datetime) -> datetime:
            return at if at <= now + _LEEWAY else now

        return LedgerContent(clamp(self.since), tuple(_with_times(entry, clamp) for entry in self.entries))


@cache
def _contents() -> TypeAdapter[LedgerContent]:
    # Imported here to keep `--help` fast.
    from pydantic import TypeAdapter

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
    raise ValueError(f"{place}: not a time with a time zone")


class Running(UserMistake):
    """Raised for an audit that is running already, or has run for the same moment."""


class Ledger:
    """The ledger of one named audit."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self._folder = folder
        self._file = folder / f"{name}.json"
        self._lock = FileLock(folder / f"{name}.lock")

    def content(self, now: datetime) -> LedgerContent:
        """Return the content of the ledger; a new one begins *now*.

        Times after *now* are corrected, with a warning. Raises `UserMistake` for an unreadable ledger, which stays
        unchanged.
        """
        stored = self._load()
        content = (stored or LedgerContent(now)).clamp_to(now)
        if content != stored:
            self._write(content)
            if stored is not None:
                words = "had times in the future, which were set to now"
                say(f"{self.name}: the ledger {self._file} {words}", level=logging.WARNING)
        return content

    def is_running(self) -> bool:
        """Return True if a run of this audit is under way in any process."""
        if not is_folder(self._folder):
            return False
        try:
            with self._acquire(0):
                return False
        except Timeout:
            return True

    def _acquire(self, patience_s: float) -> AbstractContextManager[object]:
        """Take the lock. Raises Timeout, or `UserMistake` if the lock file can't be used."""
        try:
            return self._lock.acquire(timeout=patience_s)
        # Timeout is an OSError.
        except Timeout:
            raise
        except OSError as problem:
            if problem.errno in DISK_ERRORS:
                raise
            raise UserMistake(f"the lock {self._lock.lock_file} can't be taken: {problem.strerror}") from None

    @contextmanager
    def turn(self, *, due: datetime | None) -> Iterator[None]:
        """Hold the lock during a run, and record its end. Raises `Running`, and exceptions of the run."""
        self._make_folder()
        try:
            # `is_running` of another process may hold it for a moment.
            lock = self._acquire(_PROBING_S)
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
            if problem.errno in DISK_ERRORS:
                return
            raise UserMistake(f"the ledger of runs can't be kept in {self._folder}: {problem.strerror}") from None

    def _load(self) -> LedgerContent | None:
        try:
            if not path_exists(self._file):
                return None
            if not is_file(self._file):
                raise ValueError("it is not a file")
            with self._file.open("rb") as file:
                return LedgerContent.read(file.read(_MOST_BYTES))
        except (OSError, ValueError) as problem:
            raise UserMistake(
                f"the ledger {self._file} can't be read: {problem}; correct it, or move it away to begin a new one"
            ) from None

    def _write(self, content: LedgerContent) -> None:
        """Replace the file atomically, for readers at the same time. On a full disk, only print a warning.

        The store of the run names the full disk then, and the run ends with the exit code for it.
        """
        self._make_folder()
        try:
            with durable_file(self._file) as file:
                file.write(_contents().dump_json(content, indent=1))
        except OSError as problem:
            if problem.errno in DISK_ERRORS:
                say(f"the ledger {self._file} can't be written: {problem.strerror}", level=logging.WARNING)
                return
            raise UserMistake(f"the ledger {self._file} can't be written: {problem.strerror}") from None


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)
