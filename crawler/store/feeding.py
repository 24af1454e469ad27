"""From the frontier to a spider: a bounded part of what waits is in memory, and hosts are asked in turn."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Generic, TypeVar

from crawler.store import StoreUnwritable
from crawler.store.frontier import Frontier, FrontierEntry
from crawler.store.store import Recordable, Store

logger = logging.getLogger(__name__)

#: A commit waits no longer than this, so that a crash loses little, and holds no more than this many records.
COMMIT_AFTER_S = 0.2
COMMIT_AT_ITEMS = 100


class Recorder:
    """Records what one spider observes, in the order in which it is given; what belongs together is never split.

    Used within a running event loop. When the store can't be written any more, *failed* is called, once, and nothing
    further is recorded.
    """

    def __init__(
        self,
        store: Store,
        run_id: int,
        *,
        failed: Callable[[StoreUnwritable], None],
        withheld: Callable[[Recordable], Recordable] = lambda item: item,
    ) -> None:
        self._store = store
        self._run_id = run_id
        self._failed = failed
        self._withheld = withheld
        """Takes secrets out of what is recorded."""
        self._has_failed = False
        self._pending: list[Recordable] = []
        self._timer: asyncio.TimerHandle | None = None
        self.on_add: Callable[[Sequence[Recordable]], None] = lambda items: None
        """Called with what is to be recorded, as it was given."""
        self.on_commit: Callable[[Sequence[Recordable]], None] = lambda items: None
        """Told what a transaction has just recorded."""
        self.others: Callable[[], Sequence[Recordable]] = tuple
        """What is to be recorded in the same transaction as whatever else is."""

    def add(self, *items: Recordable) -> None:
        """Record *items* in one transaction, at once or in a moment; and with none, what `others` gives in a moment."""
        self._pending += map(self._withheld, items)
        if len(self._pending) >= COMMIT_AT_ITEMS:
            self.commit()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(COMMIT_AFTER_S, self.commit)
        self.on_add(items)

    def commit(self) -> bool:
        """Record what is pending now; whether anything was."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        items, self._pending = [*self._pending, *self.others()], []
        if not items or self._has_failed:
            return False
        try:
            self._store.record(self._run_id, items)
        except Exception as failure:
            # Also what we did not foresee: a run that went on would say that it finished, without these records.
            self._has_failed = True
            if not isinstance(failure, StoreUnwritable):
                logger.error("%d records can't be kept", len(items), exc_info=failure)
                failure = StoreUnwritable(f"{len(items)} records can't be kept: {failure!r}")
            self._failed(failure)
            return False
        self.on_commit(items)
        return True


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
        """Let *things* wait at *host*, after what waits there."""
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


#: How long nothing may happen before it is asked whether anything still can.
_CHECK_AFTER_S = 1.0


@dataclass(frozen=True, slots=True)
class Bounds:
    """The most of a run that is in memory; the rest waits in the store."""

    in_hand: int = 2000
    """Entries that were handed out and have no outcome yet."""
    per_host: int = 4
    """Of these, entries whose host has not answered yet, for each host."""
    waiting: int = 3000
    """Entries that wait in memory for their turn."""
    hosts: int = 400
    """Hosts that these belong to."""
    share: int = 250
    """Entries of one host that are claimed at a time, at most, and how many at least."""
    least_share: int = 8
    most: int | None = None
    """Entries that a run may hand out in all, files apart; None for no limit."""


class Feed:
    """Hands out the entries of a frontier, hosts in turn, until nothing is left and every one has its outcome.

    What a process that died had claimed comes first. *is_idle* says whether nothing is under way any more: an entry
    that is still without an outcome then was lost on the way, and *lost* must settle it.
    """

    def __init__(
        self,
        frontier: Frontier,
        recorder: Recorder,
        bounds: Bounds,
        *,
        is_idle: Callable[[], bool],
        lost: Callable[[FrontierEntry], None],
    ) -> None:
        self._frontier = frontier
        self._recorder = recorder
        self._bounds = bounds
        self._is_idle = is_idle
        self._lost = lost
        self._rotation: Rotation[FrontierEntry] = Rotation(bounds.per_host)
        self._hosts: dict[str, None] = {}
        """Hosts of which nothing is in memory, though something may wait in the store; the next one first."""
        self._has_more: set[str] = set()
        """Hosts of which something is in memory, and more may wait in the store."""
        self._in_hand: dict[str, FrontierEntry] = {}
        self._unanswered: set[str] = set()
        self._taken: set[str] = set()
        """Of the entries in memory those that someone else has an outcome for: they are not handed out."""
        self._left: int | None = None
        """How many entries may still be claimed, where that is limited; files don't count."""
        self._changed = asyncio.Event()
        self._is_stopped = False
        recorder.on_commit = self._committed

    async def entries(self) -> AsyncIterator[FrontierEntry]:
        """The entries, each when its turn comes. Raises `crawler.store.StoreUnwritable`."""
        for claimed in self._frontier.claim_again():
            self._rotation.put(claimed.crawl_request.host, [claimed])
        self._left = None if self._bounds.most is None else self._bounds.most - self._frontier.handed_out()
        self._wait_at(self._frontier.hosts())
        while not self._is_stopped:
            entry = self._next()
            if entry is not None:
                yield entry
            elif self._is_hungry and self._recorder.commit():
                continue  # what was just recorded may lead on
            elif self._in_hand:
                await self._change()
            else:
                return

    @property
    def is_full(self) -> bool:
        """True if the run has handed out all that it may."""
        return self._left is not None and self._left <= 0

    def has_handed_out(self, canonical: str) -> bool:
        """Return whether an entry that was claimed is in hand, or in other hands."""
        return canonical in self._in_hand or canonical in self._taken

    def take(self, canonical: str) -> None:
        """Take an entry that was claimed out of what waits in memory: its outcome comes on another way."""
        self._taken.add(canonical)
        if self._left is not None:
            self._left += 1

    def answered(self, canonical: str) -> None:
        """Note that the host of an entry has answered, or never will: it may be asked for the next one."""
        if canonical in self._unanswered:
            self._unanswered.remove(canonical)
            self._rotation.give_back(self._in_hand[canonical].crawl_request.host)
            self._changed.set()

    def settled(self, canonical: str) -> None:
        """Note that the outcome of an entry is recorded, or about to be."""
        self.answered(canonical)
        if self._in_hand.pop(canonical, None) is not None:
            self._changed.set()

    def stop(self) -> None:
        """Hand out nothing more."""
        self._is_stopped = True
        self._changed.set()

    # -- what is in memory

    @property
    def _is_hungry(self) -> bool:
        """True if nothing is left to hand out, here or in the store."""
        return not self._rotation and not self._hosts and len(self._in_hand) < self._bounds.in_hand

    def _next(self) -> FrontierEntry | None:
        if len(self._in_hand) >= self._bounds.in_hand:
            return None
        while True:
            taken = self._rotation.take()
            if taken is None and self._fill():
                taken = self._rotation.take()
            if taken is None:
                return None
            host, entry = taken
            if host not in self._rotation and host in self._has_more:
                self._has_more.remove(host)
                self._hosts[host] = None
            if entry.crawl_request.canonical not in self._taken:
                break
            self._taken.remove(entry.crawl_request.canonical)
            self._rotation.give_back(host)
        self._in_hand[entry.crawl_request.canonical] = entry
        self._unanswered.add(entry.crawl_request.canonical)
        return entry

    def _fill(self) -> bool:
        """Claim more of what waits, in one transaction; whether there was any."""
        shares = self._shares()
        if not shares:
            return False
        claimed: dict[str, list[FrontierEntry]] = {host: [] for host in shares}
        for entry in self._frontier.claim(shares):
            claimed[entry.crawl_request.host].append(entry)
        for host, entries in claimed.items():
            if len(entries) == shares[host]:
                self._has_more.add(host)
            self._rotation.put(host, entries)
            if self._left is not None and host:
                self._left -= len(entries)
        return any(claimed.values())

    def _shares(self) -> dict[str, int]:
        """Return how many entries to claim at each of the hosts whose turn it is; these are no more in `_hosts`."""
        bounds, rotation = self._bounds, self._rotation
        hosts = rotation.hosts + len(self._hosts)
        share = max(bounds.least_share, min(bounds.share, bounds.waiting // max(hosts, 1)))
        free_hosts = min(bounds.hosts - rotation.hosts, (bounds.waiting - len(rotation)) // share)
        left = self._left
        shares: dict[str, int] = {}
        for host in list(islice(self._hosts, max(free_hosts, 0))):
            if left is not None and host:
                share = min(share, left // hosts or 1)
                if left <= 0:
                    continue
                left -= share
            del self._hosts[host]
            shares[host] = share
        return shares

    def _wait_at(self, hosts: Iterable[str]) -> None:
        for host in hosts:
            if host in self._rotation:
                self._has_more.add(host)
            else:
                self._hosts.setdefault(host)

    def _committed(self, items: Sequence[Recordable]) -> None:
        leads = (crawl_request for item in items for crawl_request in getattr(item, "leads", ()))
        self._wait_at(dict.fromkeys(crawl_request.host for crawl_request in leads))
        self._changed.set()

    # -- waiting

    async def _change(self) -> None:
        """Wait until something has changed; what was lost on the way is settled."""
        self._changed.clear()
        try:
            async with asyncio.timeout(_CHECK_AFTER_S):
                await self._changed.wait()
        except TimeoutError:
            if self._is_idle():
                for entry in list(self._in_hand.values()):
                    self._lost(entry)
                    self.settled(entry.crawl_request.canonical)
