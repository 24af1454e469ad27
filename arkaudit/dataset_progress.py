"""The progress of making a dataset: live on a terminal, plain lines in a log; always on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Self

from arkaudit.exits import errors, say
from arkaudit.reading_progress import LINE_EVERY_S
from extractors.dataset.deciding import DecidedRecord
from extractors.dataset.making import Listener
from extractors.dataset.plan import Part
from extractors.dataset.reading import ReadRecord
from reports.display import counted

if TYPE_CHECKING:
    from rich.status import Status


class DatasetProgress(Listener):
    """Parts and bytes that were read, how fast, how long it will take, and what could not be read."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._status: Status | None = None
        self._parts = self._parts_done = self._bytes = self._bytes_done = 0
        self._bytes_before = self._mentions = self._unreadable = self._set_back = 0
        self._began = self._last_line = clock()

    def __enter__(self) -> Self:
        if sys.stderr.isatty() and errors().is_terminal:
            self._status = errors().status("reading")
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()

    def planned(self, parts: Sequence[Part], done: Sequence[Part]) -> None:
        """All *parts* are known, and those that were *done* before."""
        self._parts, self._bytes = len(parts), sum(part.size for part in parts)
        self._parts_done, self._bytes_done = len(done), sum(part.size for part in done)
        self._bytes_before = self._bytes_done
        self._began = self._clock()
        if done:
            say(f"going on: {len(done):,} of {counted(len(parts), 'part')} had been read")

    def read(self, part: Part, record: ReadRecord) -> None:
        """One more part was read."""
        self._parts_done += 1
        self._bytes_done += part.size
        self._mentions += record.mentions
        self._unreadable += record.unreadable
        self._tell(self.reading)

    def set_back(self, part: Part, reason: str) -> None:
        """A part was lost or has failed."""
        self._set_back += 1
        say(f"part {part.key}: {reason}")

    def deciding(self, parts: int, done: int) -> None:
        """All were read; so many are decided now."""
        self._parts, self._parts_done = parts, done

    def decided(self, record: DecidedRecord) -> None:
        """One more part was decided."""
        self._parts_done += 1
        self._tell(f"{self._parts_done:,} of {counted(self._parts, 'part')} decided")

    @property
    def reading(self) -> str:
        """The progress of the first pass in one line."""
        seconds, read = self._clock() - self._began, self._bytes_done - self._bytes_before
        amount = f"{self._parts_done:,} of {counted(self._parts, 'part')} read"
        amount += f", {self._bytes_done / 1e6:,.1f} of {self._bytes / 1e6:,.1f} MB"
        if seconds > 0 and read:
            left = (self._bytes - self._bytes_done) * seconds / read
            amount += f", {read / 1e6 / seconds:.1f} MB/s, {_duration(left)} left"
        amount += f", {counted(self._mentions, 'mention of an ARK', 'mentions of ARKs')}"
        if self._unreadable:
            amount += f", {counted(self._unreadable, 'document')} could not be read"
        return amount + (f", {counted(self._set_back, 'setback')}" if self._set_back else "")

    def _tell(self, line: str) -> None:
        if self._status is not None:
            self._status.update(line)
        elif self._clock() - self._last_line >= LINE_EVERY_S:
            self._last_line = self._clock()
            sys.stderr.write(f"{line}\n")


def _duration(seconds: float) -> str:
    """Return a duration as people say it.

    >>> _duration(59.6), _duration(600), _duration(90_000)
    ('60 s', '10 min', '25 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.0f} h"
