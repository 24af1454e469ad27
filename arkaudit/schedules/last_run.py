"""The last run of a named audit: a small file with its start, end and exit code, and a lock held while it runs.

Each run writes the file itself, so that manual runs count too, and so that it survives the scheduler. Power loss loses
at most the note that a run ended: the next one resumes what is left of it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from filelock import FileLock, Timeout

from arkaudit.configuration.schedule import Schedule
from arkaudit.output.exits import DISK_ERRORS, code_of, say
from crawler.model.durable_files import durable_file
from extractors.model.errors import UserMistake
from extractors.model.files import is_file, is_folder, path_exists

#: Number of attempts for one moment of the schedule.
MOST_ATTEMPTS = 3
#: Wait before the third attempt; each further wait is longer by as much.
BETWEEN_ATTEMPTS = timedelta(minutes=5)
#: The folder of these files, next to the configuration.
FOLDER = ".arkaudit"
#: Size limit of a file, and allowed difference between clocks.
_MOST_BYTES = 2**16
_CLOCK_LEEWAY = timedelta(minutes=1)
#: Seconds to wait for a lock that another process only probes.
_LOCK_WAIT_S = 1.0
#: Exit codes of finished runs. 2 is a mistake that another attempt would repeat.
_FINAL_CODES = frozenset({0, 1, 2})


@dataclass(frozen=True, slots=True)
class LastRun:
    """The last run of a named audit."""

    started: datetime
    """The start of the run; for an audit that never ran, the time when its schedule was first read."""
    due: datetime | None = None
    """The scheduled time of the run; None for a manual run."""
    ended: datetime | None = None
    exit_code: int | None = None
    attempts: int = 0
    """Number of successive runs for the same scheduled time, with this run; 0 if the audit never ran."""

    @property
    def is_unfinished(self) -> bool:
        """True if the run has not ended, or ended with an exit code that calls for a further attempt."""
        return self.attempts > 0 and (self.ended is None or self.exit_code not in _FINAL_CODES)

    @classmethod
    def parse(cls, data: bytes) -> LastRun:
        """Return the run in *data*, the content of a file made by `dump`. Raises ValueError.

        >>> LastRun.parse(b'{"started": []}')
        Traceback (most recent call last):
        ValueError: it holds no run
        """
        try:
            values = json.loads(data)
            started, due, ended = (
                values[name] and datetime.fromisoformat(values[name]).astimezone(UTC)
                for name in ("started", "due", "ended")
            )
            run = cls(started, due, ended, values["exit_code"], values["attempts"])
            is_valid = isinstance(started, datetime) and type(run.attempts) is int
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
            is_valid = False
        if not is_valid or type(run.exit_code) not in (int, type(None)):
            raise ValueError("it holds no run")
        return run

    def dump(self) -> bytes:
        """Return the run as JSON, the content of the file."""
        return json.dumps(asdict(self), default=datetime.isoformat, indent=1).encode()

    def without_future_times(self, now: datetime) -> LastRun:
        """Return the run with times in the future (beyond clock differences) set to *now*."""
        started, due, ended = (
            now if time is not None and time > now + _CLOCK_LEEWAY else time
            for time in (self.started, self.due, self.ended)
        )
        return replace(self, started=started or now, due=due, ended=ended)


@dataclass(frozen=True, slots=True)
class Due:
    """The scheduled time for which an audit has to run now."""

    moment: datetime
    is_resumption: bool = False
    """True if an earlier run for the same time is unfinished."""


def due_now(schedule: Schedule, last_run: LastRun, now: datetime) -> Due | None:
    """Return the scheduled time for which an audit that is not running is due *now*, or None.

    One run makes up for all missed times. An unfinished run is attempted again first: at once, then after growing
    waits, until there were `MOST_ATTEMPTS` attempts.

    >>> day = lambda day, hour=0: datetime(2026, 3, day, hour, tzinfo=UTC)
    >>> due_now(Schedule("0 3 * * *"), LastRun(day(1)), day(4, 12)).moment.day
    4
    >>> due_now(Schedule("0 3 * * *"), LastRun(day(4, 3), day(4, 3), day(4, 5), 0, 1), day(4, 12))
    """
    has_waited = now >= last_run.started + BETWEEN_ATTEMPTS * (last_run.attempts - 1)
    if last_run.is_unfinished and last_run.attempts < MOST_ATTEMPTS and has_waited:
        return Due(last_run.due or last_run.started, is_resumption=True)
    moment = schedule.last_until(now)
    return Due(moment, is_resumption=last_run.is_unfinished) if moment > last_run.started else None


class AuditRunning(UserMistake):
    """Raised for an audit that is running already, or has run for the same scheduled time."""


class LastRunFile:
    """The file about the last run of one named audit."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self._folder = folder
        self._file = folder / f"{name}.json"
        self._lock = FileLock(folder / f"{name}.lock")

    def read(self, now: datetime) -> LastRun:
        """Return the last run; for an audit that never ran, record that its schedule was first read *now*.

        Times after *now* are corrected, with a warning. Raises `UserMistake` for an unreadable file, which stays
        unchanged.
        """
        stored_run = self._load()
        last_run = (stored_run or LastRun(now)).without_future_times(now)
        if last_run != stored_run:
            self._write(last_run)
            if stored_run is not None:
                problem = "had times in the future, which were set to now"
                say(f"{self.name}: {self._file} {problem}", level=logging.WARNING)
        return last_run

    def is_running(self) -> bool:
        """Return True if another process or this one runs the audit."""
        if not is_folder(self._folder):
            return False
        try:
            with self._acquire(0):
                return False
        except Timeout:
            return True

    def _acquire(self, patience_s: float) -> AbstractContextManager[object]:
        """Take the lock within *patience_s* seconds, and return it as a context manager that releases it.

        Raises Timeout, or `UserMistake` if the lock file can't be used.
        """
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
        """Hold the lock during the ``with`` block, which runs the audit for the scheduled time *due*.

        The start and end of the block are recorded in the file. *due* is None for a manual run. Raises `AuditRunning`,
        and exceptions of the block.
        """
        self._make_folder()
        try:
            # `is_running` of another process may hold it for a moment.
            lock = self._acquire(_LOCK_WAIT_S)
        except Timeout:
            raise AuditRunning(f"the audit {self.name} is running already") from None
        with lock:
            now = _now()
            last_run = self.read(now)
            if due is not None and last_run.attempts and due <= last_run.started and not last_run.is_unfinished:
                raise AuditRunning(f"the audit {self.name} has run for {due:%Y-%m-%d %H:%M} UTC already")
            attempts = last_run.attempts + 1 if last_run.is_unfinished and last_run.due == due else 1
            run = LastRun(now, due, attempts=attempts)
            self._write(run)
            exit_code: int | None = None
            try:
                yield
                exit_code = 0
            except BaseException as exception:
                exit_code = code_of(exception)
                raise
            finally:
                self._write(replace(run, ended=_now(), exit_code=exit_code))

    def _make_folder(self) -> None:
        try:
            self._folder.mkdir(exist_ok=True)
        except OSError as problem:
            if problem.errno in DISK_ERRORS:
                return
            raise UserMistake(f"the last run can't be recorded in {self._folder}: {problem.strerror}") from None

    def _load(self) -> LastRun | None:
        """Return the last run in the file, or None without a file. Raises `UserMistake` if it can't be read."""
        try:
            if not path_exists(self._file):
                return None
            if not is_file(self._file):
                raise ValueError("it is not a file")
            with self._file.open("rb") as file:
                return LastRun.parse(file.read(_MOST_BYTES))
        except (OSError, ValueError) as problem:
            reason = f"can't be read: {problem}; remove it, and the audit waits for its next time"
            raise UserMistake(f"the last run in {self._file} {reason}") from None

    def _write(self, run: LastRun) -> None:
        """Replace the file atomically, because others may be reading it. On a full disk, only print a warning.

        The store of the run then fails with the error and the exit code for a full disk. Raises `UserMistake`.
        """
        self._make_folder()
        try:
            with durable_file(self._file) as file:
                file.write(run.dump())
        except OSError as problem:
            message = f"the last run can't be recorded in {self._file}: {problem.strerror}"
            if problem.errno not in DISK_ERRORS:
                raise UserMistake(message) from None
            say(message, level=logging.WARNING)


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)
