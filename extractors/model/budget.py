"""The CPU time limit for one document, so that a huge one gives partial results instead of none.

The limit is CPU time of the thread, not wall-clock time, so that results don't depend on the load of the machine.
Readers and the search check it in their loops; without a budget they run to the end.
"""

from __future__ import annotations

import os
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

#: CPU time to decide the doubtful mentions of a document by all others, in seconds.
DECIDING_CPU_S = 10.0
#: Steps between two readings of the clock, which cost about as much as a short step.
_STEPS = 32


class ReadingStage(Enum):
    """A stage of reading a document, and the share of its time at which the stage must end."""

    READING = 1 / 3
    FINDING = 2 / 3
    SUGGESTING = 1.0


class TimeBudget:
    """The CPU time for one document, with findings about unfinished work."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.thread_time) -> None:
        self._seconds = seconds
        self._clock = clock
        self._start = clock()
        self._steps = 0
        self._spent: set[ReadingStage] = set()
        self.findings: list[Finding] = []

    def is_spent(self, stage: ReadingStage, *, now: bool = False) -> bool:
        """Return True if the time for *stage* is up; the clock is read every `_STEPS` calls, or *now*."""
        self._steps += 1
        looks = stage not in self._spent and (now or self._steps % _STEPS == 0)
        if looks and self._clock() - self._start >= self._seconds * stage.value:
            self._spent.add(stage)
        return stage in self._spent

    def note(self, words: str) -> None:
        """Add a finding that the CPU time limit was reached, with *words* about the work; once for the same words."""
        limit = f"the CPU time limit for one document was reached ({self._seconds:g} s)"
        finding = Finding("time-limit", f"{words}: {limit}")
        if finding not in self.findings:
            self.findings.append(finding)


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class OverBudget(BaseException):
    """Raised inside a block that takes too long; a BaseException, so that parsers don't catch it."""


def can_limit_cpu() -> bool:
    """Return True in the main thread of a system with CPU timers."""
    return hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Raise `OverBudget` in the block after *seconds* of CPU time.

    The signal interrupts Python and its regular expressions, but no C libraries. Where `can_limit_cpu` is False, there
    is no limit.
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
def use_budget(budget: TimeBudget | None) -> Iterator[None]:
    """Make *budget* the current one in the block; None lifts the limit."""
    token = _current.set(budget)
    try:
        yield
    finally:
        _current.reset(token)


def current() -> TimeBudget | None:
    """Return the current budget, if there is one."""
    return _current.get()


def as_time_allows(items: Iterable[Item], of: str, *, each: bool = False) -> Iterator[Item]:
    """Yield *items* until the time for reading is up, then note how many were read; *of* names one item.

    With *each*, the clock is read before each item, because one may take long, such as a page of a PDF.

    >>> list(as_time_allows("abc", "letter"))
    ['a', 'b', 'c']
    """
    budget = _current.get()
    if budget is None:
        yield from items
        return
    for done, item in enumerate(items):
        if budget.is_spent(ReadingStage.READING, now=each):
            budget.note(f"read up to {of} {done:,}")
            return
        yield item


def has_time(stage: ReadingStage, otherwise: str) -> bool:
    """Return True if time is left for *stage* in the current budget; otherwise add the finding *otherwise*."""
    budget = _current.get()
    if budget is None or not budget.is_spent(stage):
        return True
    budget.note(otherwise)
    return False
