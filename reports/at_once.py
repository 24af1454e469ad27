"""Work on several things at once, on as many threads as there are cores: what is long here runs outside of Python."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Made = TypeVar("Made")


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def ahead(items: Iterator[Item]) -> Iterator[Item]:
    """Return the same items; while one is worked on, the next is made. None of them is kept here.

    Who stops early doesn't wait for the one that is being made.

    >>> list(ahead(iter("abc")))
    ['a', 'b', 'c']
    """
    if cores() == 1:
        yield from items
        return
    pool = ThreadPoolExecutor(1)
    try:
        upcoming: Future[Item | None] = pool.submit(next, items, None)
        while (made := [upcoming.result()])[0] is not None:
            upcoming = pool.submit(next, items, None)
            yield made.pop()  # type: ignore[misc]  # it is none of None
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def in_order(function: Callable[[Item], Made], items: Iterable[Item], *, workers: int | None = None) -> Iterator[Made]:
    """Return what *function* makes of each item, in the order of the items; no more are made than are worked on.

    >>> list(in_order(str, range(3), workers=2))
    ['0', '1', '2']
    """
    most = workers or cores()
    if most == 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(most) as pool:
        begun: deque[Future[Made]] = deque()
        for item in items:
            begun.append(pool.submit(function, item))
            if len(begun) == most:
                yield begun.popleft().result()
        while begun:
            yield begun.popleft().result()
