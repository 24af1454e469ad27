"""The CPU time limit for one document, so that a huge one gives partial results instead of none.

The limit is CPU time of the thread, not wall-clock time, so that results don't depend on the load of the machine.
The loops of readers and of the search for ARKs check the limit; without a budget they run to the end.
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

#: CPU time to decide the doubtful mentions of a document by the evidence of other documents, in seconds.
DECIDING_CPU_S = 10.0
#: Calls of `TimeBudget.is_spent` between two readings of the clock, which take about as long as a short call.
_STEPS = 32


class ReadingStage(Enum):
    """A stage of reading a document; its value is the share of the document's time at which the stage must end."""

    READING = 1 / 3
    FINDING = 2 / 3
    SUGGESTING = 1.0


class TimeBudget:
    """The CPU time for one document, in *seconds* from now by *clock*, with findings about unfinished work."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.thread_time) -> None:
        self._seconds = seconds
        self._clock = clock
        self._start = clock()
        self._step_count = 0
        self._spent_stages: set[ReadingStage] = set()
        self.findings: list[Finding] = []

    def is_spent(self, stage: ReadingStage, *, checks_now: bool = False) -> bool:
        """Return True if the time for *stage* is up; the clock is read every `_STEPS` calls, or if *checks_now*."""
        self._step_count += 1
        checks_clock = stage not in self._spent_stages and (checks_now or self._step_count % _STEPS == 0)
        if checks_clock and self._clock() - self._start >= self._seconds * stage.value:
            self._spent_stages.add(stage)
        return stage in self._spent_stages

    def note(self, message: str) -> None:
        """Add the finding that the CPU time limit was reached, with a *message* about the work; the same finding only once."""
        limit = f"the CPU time limit for one document was reached ({self._seconds:g} s)"
        finding = Finding("time-limit", f"{message}: {limit}")
        if finding not in self.findings:
            self.findings.append(finding)


def core_count() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class OverBudget(BaseException):
    """Raised in a block of `cpu_limit` that takes too long; a BaseException, so that parsers don't catch it."""


def can_limit_cpu() -> bool:
    """Return True if `cpu_limit` works: in the main thread of a system with CPU timers."""
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

    def raise_over_budget(*_: object) -> None:
        raise OverBudget

    previous_handler = signal.signal(signal.SIGVTALRM, raise_over_budget)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, previous_handler)


_current: ContextVar[TimeBudget | None] = ContextVar("budget", default=None)


@contextmanager
def use_budget(budget: TimeBudget | None) -> Iterator[None]:
    """Make *budget* the current budget in the block; None lifts the limit."""
    token = _current.set(budget)
    try:
        yield
    finally:
        _current.reset(token)


def current_budget() -> TimeBudget | None:
    """Return the budget of the innermost `use_budget` block; None without a limit."""
    return _current.get()


def as_time_allows(items: Iterable[Item], item_name: str, *, is_slow: bool = False) -> Iterator[Item]:
    """Yield *items* until the time for reading is up; then add a finding with their number and *item_name*.

    With *is_slow*, the clock is read before every item, because an item may take long, such as a page of a PDF.

    >>> list(as_time_allows("abc", "letter"))
    ['a', 'b', 'c']
    """
    budget = _current.get()
    if budget is None:
        yield from items
        return
    for item_index, item in enumerate(items):
        if budget.is_spent(ReadingStage.READING, checks_now=is_slow):
            budget.note(f"read up to {item_name} {item_index:,}")
            return
        yield item


def has_time(stage: ReadingStage, message: str) -> bool:
    """Return True if time is left for *stage*, or there is no budget; else add a finding with *message*."""
    budget = _current.get()
    if budget is None or not budget.is_spent(stage):
        return True
    budget.note(message)
    return False
