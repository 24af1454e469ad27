"""Feeds a spider from the frontier: a bounded number of requests is in memory, and hosts take turns."""

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

#: The longest wait before a commit, which bounds the loss in a crash, and the largest number of records in it.
COMMIT_AFTER_S = 0.2
COMMIT_AT_ITEMS = 100


class Recorder:
    """Records the observations of one spider in order; the items of one `add` share a transaction.

    Needs a running event loop. If the store becomes unwritable, it calls *on_failure* once and records nothing further.
    """

    def __init__(
        self,
        store: Store,
        run_id: int,
        *,
        on_failure: Callable[[StoreUnwritable], None],
        redact: Callable[[Recordable], Recordable] = lambda item: item,
    ) -> None:
        self._store = store
        self._run_id = run_id
        self._on_failure = on_failure
        self._redact = redact
        """Removes secrets from an item before it is recorded."""
        self._has_failed = False
        self._pending: list[Recordable] = []
        self._timer: asyncio.TimerHandle | None = None
        self.on_add: Callable[[Sequence[Recordable]], None] = lambda items: None
        """Called with the items of each `add`, unchanged."""
        self.on_commit: Callable[[Sequence[Recordable]], None] = lambda items: None
        """Called with the items of each finished transaction."""
        self.further_items: Callable[[], Sequence[Recordable]] = tuple
        """Returns further items to record in each transaction."""

    def add(self, *items: Recordable) -> None:
        """Record *items* and those of `further_items` in one transaction, at most `COMMIT_AFTER_S` from now."""
        self._pending += map(self._redact, items)
        if len(self._pending) >= COMMIT_AT_ITEMS:
            self.commit()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(COMMIT_AFTER_S, self.commit)
        self.on_add(items)

    def commit(self) -> bool:
        """Record all pending items now. Return False if there were none, or if recording failed."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        items, self._pending = [*self._pending, *self.further_items()], []
        if not items or self._has_failed:
            return False
        try:
            self._store.record(self._run_id, items)
        except Exception as failure:
            # Any other error stops recording, too: a run that continued would seem complete without these records.
            self._has_failed = True
            if not isinstance(failure, StoreUnwritable):
                logger.error("%d records can't be kept", len(items), exc_info=failure)
                failure = StoreUnwritable(f"{len(items)} records can't be kept: {failure!r}")
            self._on_failure(failure)
            return False
        self.on_commit(items)
        return True


ItemT = TypeVar("ItemT")


class Rotation(Generic[ItemT]):
    """Queues of items, one for each host. Hosts take turns; the items of one host keep their order.

    At most *per_host* items of a host are out at a time.

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
        self._queues: dict[str, deque[ItemT]] = {}
        self._out: Counter[str] = Counter()
        self._ready: dict[str, None] = {}
        """The hosts that an item may be taken from, in the order of their turns."""
        self._size = 0

    def __len__(self) -> int:
        """Return the number of waiting items."""
        return self._size

    def __contains__(self, host: str) -> bool:
        """Return True if an item waits at *host*."""
        return host in self._queues

    @property
    def hosts(self) -> int:
        """The number of hosts with waiting items."""
        return len(self._queues)

    def put(self, host: str, items: Iterable[ItemT]) -> None:
        """Append *items* to the queue of *host*."""
        new_items = deque(items)
        if new_items:
            self._size += len(new_items)
            self._queues.setdefault(host, deque()).extend(new_items)
            self._update_turn(host)

    def take(self) -> tuple[str, ItemT] | None:
        """Return the next item with its host, or None if none may be taken now."""
        host = next(iter(self._ready), None)
        if host is None:
            return None
        del self._ready[host]
        item = self._queues[host].popleft()
        self._size -= 1
        self._out[host] += 1
        if not self._queues[host]:
            del self._queues[host]
        self._update_turn(host)
        return host, item

    def give_back(self, host: str) -> None:
        """Note that an item taken from *host* is finished."""
        self._out[host] -= 1
        if self._out[host] <= 0:
            del self._out[host]
        self._update_turn(host)

    def _update_turn(self, host: str) -> None:
        """Let *host* take turns if it has waiting items and fewer than the limit of a host are out."""
        if host in self._queues and self._out[host] < self._per_host:
            self._ready.setdefault(host)
        else:
            self._ready.pop(host, None)


#: Seconds without any change after which `Feed` looks for lost entries.
_CHECK_AFTER_S = 1.0


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits of the part of a run's frontier that is in memory."""

    in_hand: int = 2000
    """Entries that were handed out and have no outcome yet."""
    per_host: int = 4
    """Entries per host that were handed out and have no answer yet."""
    waiting: int = 3000
    """Entries that were claimed and are not handed out yet."""
    hosts: int = 400
    """Hosts of these waiting entries."""
    share: int = 250
    """The largest number of entries of one host to claim at a time; `least_share` is the smallest."""
    least_share: int = 8
    most: int | None = None
    """Entries that a run may hand out in all, without files; None for no limit."""


class Feed:
    """Hands out the entries of a frontier, hosts in turn, until all have their outcome.

    The claimed entries of a crashed process come first. If *is_idle* returns True while an entry has no outcome, the
    entry was lost: *on_lost* is called with it, and the feed no longer waits for its outcome.
    """

    def __init__(
        self,
        frontier: Frontier,
        recorder: Recorder,
        bounds: Bounds,
        *,
        is_idle: Callable[[], bool],
        on_lost: Callable[[FrontierEntry], None],
    ) -> None:
        self._frontier = frontier
        self._recorder = recorder
        self._bounds = bounds
        self._is_idle = is_idle
        self._on_lost = on_lost
        self._rotation: Rotation[FrontierEntry] = Rotation(bounds.per_host)
        self._hosts: dict[str, None] = {}
        """Hosts without entries in memory that may have some in the store, in the order of their turns."""
        self._has_more: set[str] = set()
        """Hosts with entries in memory that may have more in the store."""
        self._in_hand: dict[str, FrontierEntry] = {}
        self._unanswered: set[str] = set()
        self._taken: set[str] = set()
        """Entries in memory that get their outcome elsewhere, so they are not handed out."""
        self._left: int | None = None
        """The number of entries that may still be claimed, without files; None for no limit."""
        self._changed = asyncio.Event()
        self._is_stopped = False
        recorder.on_commit = self._on_commit

    async def entries(self) -> AsyncIterator[FrontierEntry]:
        """Yield the entries, each when its turn comes. Raises `crawler.store.StoreUnwritable`."""
        for claimed in self._frontier.claim_again():
            self._rotation.put(claimed.crawl_request.host, [claimed])
        self._left = None if self._bounds.most is None else self._bounds.most - self._frontier.handed_out_count()
        self._wait_at(self._frontier.hosts())
        while not self._is_stopped:
            entry = self._next()
            if entry is not None:
                yield entry
            elif self._is_empty and self._recorder.commit():
                continue  # the commit may have added entries
            elif self._in_hand:
                await self._wait_for_change()
            else:
                return

    @property
    def is_full(self) -> bool:
        """True if the run has handed out as many entries as it may."""
        return self._left is not None and self._left <= 0

    def has_handed_out(self, canonical: str) -> bool:
        """Return True if a claimed entry was handed out, or if another request records its outcome."""
        return canonical in self._in_hand or canonical in self._taken

    def exclude(self, canonical: str) -> None:
        """Don't hand out the claimed entry *canonical*, because another request records its outcome.

        It does not count against `Bounds.most`.
        """
        self._taken.add(canonical)
        if self._left is not None:
            self._left += 1

    def note_answer(self, canonical: str) -> None:
        """Note that the host of an entry has answered or never will. The next entry of this host may then be handed out."""
        if canonical in self._unanswered:
            self._unanswered.remove(canonical)
            self._rotation.give_back(self._in_hand[canonical].crawl_request.host)
            self._changed.set()

    def note_outcome(self, canonical: str) -> None:
        """Note that the outcome of an entry is recorded, or will be in the next transaction."""
        self.note_answer(canonical)
        if self._in_hand.pop(canonical, None) is not None:
            self._changed.set()

    def stop(self) -> None:
        """Hand out no further entries."""
        self._is_stopped = True
        self._changed.set()

    # -- entries in memory

    @property
    def _is_empty(self) -> bool:
        """True if no entry is left to hand out, in memory or in the store."""
        return not self._rotation and not self._hosts and len(self._in_hand) < self._bounds.in_hand

    def _next(self) -> FrontierEntry | None:
        """Take the next entry, hosts in turn, and count it as in hand and unanswered.

        None if no host has an entry that may be taken, or if `Bounds.in_hand` entries have no outcome yet.
        """
        if len(self._in_hand) >= self._bounds.in_hand:
            return None
        while True:
            next_item = self._rotation.take()
            if next_item is None and self._fill():
                next_item = self._rotation.take()
            if next_item is None:
                return None
            host, entry = next_item
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
        """Claim more waiting entries in one transaction. Return False if there are none."""
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
        """Return the number of entries to claim at each host whose turn it is, and remove these hosts from `_hosts`."""
        bounds, rotation = self._bounds, self._rotation
        host_count = rotation.hosts + len(self._hosts)
        share = max(bounds.least_share, min(bounds.share, bounds.waiting // max(host_count, 1)))
        free_hosts = min(bounds.hosts - rotation.hosts, (bounds.waiting - len(rotation)) // share)
        entries_left = self._left
        shares: dict[str, int] = {}
        for host in list(islice(self._hosts, max(free_hosts, 0))):
            if entries_left is not None and host:
                share = min(share, entries_left // host_count or 1)
                if entries_left <= 0:
                    continue
                entries_left -= share
            del self._hosts[host]
            shares[host] = share
        return shares

    def _wait_at(self, hosts: Iterable[str]) -> None:
        for host in hosts:
            if host in self._rotation:
                self._has_more.add(host)
            else:
                self._hosts.setdefault(host)

    def _on_commit(self, items: Sequence[Recordable]) -> None:
        new_requests = (crawl_request for item in items for crawl_request in getattr(item, "new_requests", ()))
        self._wait_at(dict.fromkeys(crawl_request.host for crawl_request in new_requests))
        self._changed.set()

    # -- waiting

    async def _wait_for_change(self) -> None:
        """Wait for a change, at most `_CHECK_AFTER_S`. If nothing is under way then, report entries without outcome as lost."""
        self._changed.clear()
        try:
            async with asyncio.timeout(_CHECK_AFTER_S):
                await self._changed.wait()
        except TimeoutError:
            if self._is_idle():
                for entry in list(self._in_hand.values()):
                    self._on_lost(entry)
                    self.note_outcome(entry.crawl_request.canonical)
