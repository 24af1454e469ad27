"""Pure: who is next, when many things wait at many hosts, and no host may hold up another."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from typing import Generic, TypeVar

Thing = TypeVar("Thing")


class Rotation(Generic[Thing]):
    """Things that wait at hosts, taken from the hosts in turn, from each in the order in which they came.

    Of what was taken, no more than *per_host* is out for a host at a time.

    >>> rotation: Rotation[int] = Rotation(per_host=2)
    >>> for host, number in [("a", 1), ("a", 2), ("a", 3), ("b", 4)]:
    ...     rotation.put(host, [number])
    >>> [rotation.take() for _ in range(4)]
    [('a', 1), ('b', 4), ('a', 2), None]
    >>> rotation.give_back("a")
    >>> rotation.take()
    ('a', 3)
    """

    def __init__(self, per_host: int) -> None:
        self._per_host = per_host
        self._queues: dict[str, deque[Thing]] = {}
        self._out: Counter[str] = Counter()
        self._ready: dict[str, None] = {}
        """The hosts that something may be taken from, the next one first."""
        self._size = 0

    def __len__(self) -> int:
        """Return how many things wait."""
        return self._size

    def __contains__(self, host: str) -> bool:
        """Return whether something waits at *host*."""
        return host in self._queues

    @property
    def hosts(self) -> int:
        """At how many hosts something waits."""
        return len(self._queues)

    def put(self, host: str, things: Iterable[Thing]) -> None:
        """Let *things* wait at *host*, behind what waits there."""
        added = deque(things)
        if added:
            self._size += len(added)
            self._queues.setdefault(host, deque()).extend(added)
            self._settle_turn(host)

    def take(self) -> tuple[str, Thing] | None:
        """The next thing and its host; None when nothing waits that may be taken now."""
        host = next(iter(self._ready), None)
        if host is None:
            return None
        del self._ready[host]
        thing = self._queues[host].popleft()
        self._size -= 1
        self._out[host] += 1
        if not self._queues[host]:
            del self._queues[host]
        self._settle_turn(host)
        return host, thing

    def give_back(self, host: str) -> None:
        """Note that something taken from *host* is through."""
        self._out[host] -= 1
        if self._out[host] <= 0:
            del self._out[host]
        self._settle_turn(host)

    def _settle_turn(self, host: str) -> None:
        if host in self._queues and self._out[host] < self._per_host:
            self._ready.setdefault(host)
        else:
            self._ready.pop(host, None)
