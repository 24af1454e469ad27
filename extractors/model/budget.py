"""The CPU time that one document may take, so that a huge one gives what was found until then, and not nothing.

CPU time of the thread is counted and not the time on the wall: what is found in a document must not depend on what
else the machine does. Readers and the search ask at their loops; outside a budget they never stop.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum
from typing import TypeVar

from extractors.model.documents import Finding

Item = TypeVar("Item")

#: The CPU time in which what is doubtful in a document is decided on all others, in seconds.
DECIDING_CPU_S = 10.0
#: Steps between two looks at the clock, which takes about as long as a short step.
_STEPS = 32


class ReadingStage(Enum):
    """A stage of reading a document, in order, and the share of its time by which it must be done."""

    READING = 1 / 3
    FINDING = 2 / 3
    SUGGESTING = 1.0


class TimeBudget:
    """The CPU time of one document, and what had to be left undone for want of it."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.thread_time) -> None:
        self._seconds = seconds
        self._clock = clock
        self._start = clock()
        self._steps = 0
        self._spent: set[ReadingStage] = set()
        self.findings: list[Finding] = []

    def is_spent(self, stage: ReadingStage, *, now: bool = False) -> bool:
        """Return whether the time for *stage* is up; the clock is looked at from time to time, or *now*."""
        self._steps += 1
        looks = stage not in self._spent and (now or self._steps % _STEPS == 0)
        if looks and self._clock() - self._start >= self._seconds * stage.value:
            self._spent.add(stage)
        return stage in self._spent

    def note(self, words: str) -> None:
        """Note once how far something came."""
        limit = f"the CPU time for one document is up ({self._seconds:g} s)"
        finding = Finding("time-limit", f"{words}: {limit}")
        if finding not in self.findings:
            self.findings.append(finding)


class OverBudget(BaseException):
    """Raised in the middle of what takes too long; no ``except Exception`` of a parser may swallow it."""


def can_limit_cpu() -> bool:
    """Return True in the main thread of a system that has timers of CPU time."""
    return hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Raise `OverBudget` in the block once it has taken so many seconds of CPU time.

    That interrupts Python and its regular expressions, but no other library of C. There is no limit where
    `can_limit_cpu` is False.
    """
    if not can_limit_cpu():
        yield
        return

    def end(*_: object) -> None:
        raise OverBudget

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


_current: ContextVar[TimeBudget | None] = ContextVar("budget", default=None)


@contextmanager
def spending(budget: TimeBudget | None) -> Iterator[None]:
    """Let what is read and found meanwhile spend *budget*; none for as long as it takes."""
    token = _current.set(budget)
    try:
        yield
    finally:
        _current.reset(token)


def current() -> TimeBudget | None:
    """Return the budget that is being spent, if any."""
    return _current.get()


def as_time_allows(items: Iterable[Item], of: str, *, each: bool = False) -> Iterator[Item]:
    """Yield *items* until the time for reading is up, and note how many there were; *of* names one of them.

    The clock is looked at before *each* where one may take long, such as a page of a PDF.

    >>> list(as_time_allows("abc", "letter"))
    ['a', 'b', 'c']
    """
    budget = _current.get()
    if budget is None:
        yield from items
        return
    for done, item in enumerate(items):
        if budget.is_spent(ReadingStage.READING, now=each):
            budget.note(f"read as far as {of} {done:,}")
            return
        yield item


def has_time(stage: ReadingStage, otherwise: str) -> bool:
    """Return whether there is time left for *stage*; notes what it means where there is none (*otherwise*)."""
    budget = _current.get()
    if budget is None or not budget.is_spent(stage):
        return True
    budget.note(otherwise)
    return False
