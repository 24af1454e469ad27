"""The results of the runs of each named audit: a small file next to the configuration, and a lock that dies with a run.

The run itself keeps its ledger, so that one begun by hand counts like one that a schedule began, and so that it is
known how a run ended whose scheduler is gone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from arkaudit.exits import code_of
from arkaudit.schedules.moments import ScheduledRun
from extractors.model.errors import UserMistake

#: The folder of ledgers, next to the configuration.
FOLDER = ".arkaudit"
#: So many runs of an audit are remembered; everything else about them is in its store.
_REMEMBERED = 200


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
        return [_entry(stored) for stored in self._read().get("entries", [])]

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
        stored["entries"] = [_as_json(entry) for entry in entries[-_REMEMBERED:]]
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


def _as_json(entry: ScheduledRun) -> dict[str, Any]:
    return {
        "due": entry.due.isoformat() if entry.due else None,
        "started": entry.started.isoformat(),
        "ended": entry.ended.isoformat() if entry.ended else None,
        "exit_code": entry.exit_code,
    }


def _entry(kept: dict[str, Any]) -> ScheduledRun:
    def moment(name: str) -> datetime | None:
        return datetime.fromisoformat(kept[name]) if kept.get(name) else None

    return ScheduledRun(datetime.fromisoformat(kept["started"]), moment("due"), moment("ended"), kept.get("exit_code"))


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)
