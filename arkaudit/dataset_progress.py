"""The progress of making a dataset."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from arkaudit.exits import say
from arkaudit.forecast import duration
from arkaudit.logs import StatusLine
from extractors.dataset.deciding import DecidedRecord
from extractors.dataset.making import Listener
from extractors.dataset.plan import Part
from extractors.dataset.reading import ReadRecord
from reports.display import counted


class DatasetProgress(StatusLine, Listener):
    """Parts and bytes that were read, how fast, how long it will take, and what could not be read."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock)
        self._parts = self._parts_done = self._bytes = self._bytes_done = 0
        self._bytes_before = self._mentions = self._unreadable = self._set_back = 0
        self._began = clock()

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
        self.tell(self.reading)

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
        self.tell(f"{self._parts_done:,} of {counted(self._parts, 'part')} decided")

    @property
    def reading(self) -> str:
        """The progress of the first pass in one line."""
        seconds, read = self._clock() - self._began, self._bytes_done - self._bytes_before
        amount = f"{self._parts_done:,} of {counted(self._parts, 'part')} read"
        amount += f", {self._bytes_done / 1e6:,.1f} of {self._bytes / 1e6:,.1f} MB"
        if seconds > 0 and read:
            left = (self._bytes - self._bytes_done) * seconds / read
            amount += f", {read / 1e6 / seconds:.1f} MB/s, {duration(left)} left"
        amount += f", {counted(self._mentions, 'mention of an ARK', 'mentions of ARKs')}"
        if self._unreadable:
            amount += f", {counted(self._unreadable, 'document')} could not be read"
        return amount + (f", {counted(self._set_back, 'setback')}" if self._set_back else "")
