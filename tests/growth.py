"""Growth of time with size: linear work takes about twice as long for twice the size, on any machine."""

import time
from collections.abc import Callable

#: Largest factor that linear work may take for twice the size.
LINEAR = 2.6


def seconds(work: Callable[[], object], times: int = 1) -> float:
    """Return the least CPU time of *work*, in seconds, in *times* attempts."""
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
        ratios.append(seconds(lambda: work(2 * size)) / max(seconds(lambda: work(size), 2), 1e-6))
    return min(ratios)
