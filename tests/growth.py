"""Growth of time with size: linear work takes about twice as long for twice the size, on any machine."""

import gc
import math
import time
from collections.abc import Callable

#: Largest factor that linear work may take for twice the size.
LINEAR = 2.6
#: The size is doubled so many times.
DOUBLINGS = 3
SIZES = 2**DOUBLINGS


def seconds(work: Callable[[], object], times: int = 1) -> float:
    """Return the least CPU time of *work*, in seconds, in *times* attempts, without the search for garbage.

    That search looks at all objects of the process, so it makes large results of linear work more than twice as slow.
    """
    taken = []
    gc.disable()
    try:
        for _ in range(times):
            began = time.thread_time()
            work()
            taken.append(time.thread_time() - began)
    finally:
        gc.enable()
    return min(taken)


def growth(work: Callable[[int], object], size: int) -> float:
    """Return how many times as long *work* takes for twice the *size*, on average over eight times the size.

    Other programs make times longer, by less than three doublings of work that is not linear: for eight times the size,
    linear work takes eight times as long, and quadratic work 64 times. The least times count. As long as the growth is
    not linear, more attempts are made: eight at least, and for two seconds of CPU.
    """
    small = large = math.inf
    attempts, began = 0, time.thread_time()
    while attempts < 8 or time.thread_time() - began < 2:
        attempts += 1
        small = min(small, max(seconds(lambda: work(size)), 1e-6))
        large = min(large, seconds(lambda: work(SIZES * size)))
        if large <= LINEAR**DOUBLINGS * small:
            break
    return math.pow(large / small, 1 / DOUBLINGS)
