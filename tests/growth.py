"""How much longer something takes for twice as much: what is linear takes about twice as long, on any machine."""

from __future__ import annotations

import time
from collections.abc import Callable

#: At most so many times as long may twice as much take.
LINEAR = 2.6


def seconds(work: Callable[[], object], times: int = 1) -> float:
    """Return the least CPU time that *work* takes in so many attempts."""
    taken = []
    for _ in range(times):
        began = time.thread_time()
        work()
        taken.append(time.thread_time() - began)
    return min(taken)


def growth(work: Callable[[int], object], size: int) -> float:
    """Return how many times as long *work* takes for twice the *size*: the least of some measurements."""
    ratios = []
    while len(ratios) < 4 and (not ratios or min(ratios) > LINEAR):
        ratios.append(seconds(lambda: work(2 * size), 2) / max(seconds(lambda: work(size), 2), 1e-6))
    return min(ratios)
