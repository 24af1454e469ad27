"""From the frontier to a spider: a bounded part of what waits is in memory, and hosts are asked in turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from crawler.storage.frontier import Frontier
from crawler.storage.frontier_rows import FrontierEntry
from crawler.storage.recording import Recorder
from crawler.storage.rotation import Rotation
from crawler.storage.store import Recordable

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

    What a process that died had claimed comes first. *is_idle* tells whether nothing is under way any more: an entry
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
        """Of the entries in memory those that somebody else has an outcome for: they are not handed out."""
        self._left: int | None = None
        """How many entries may still be claimed, where that is limited; files don't count."""
        self._changed = asyncio.Event()
        self._is_stopped = False
        recorder.on_commit = self._committed

    async def entries(self) -> AsyncIterator[FrontierEntry]:
        """The entries, each when its turn comes. Raises `crawler.storage.store_errors.StoreUnwritable`."""
        self._take_over()
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

    def _take_over(self) -> None:
        for entry in self._frontier.claim_again():
            self._rotation.put(entry.crawl_request.host, [entry])
        self._left = None if self._bounds.most is None else self._bounds.most - self._frontier.handed_out()
        self._wait_at(self._frontier.hosts())

    def _next(self) -> FrontierEntry | None:
        if len(self._in_hand) >= self._bounds.in_hand:
            return None
        while True:
            found = self._rotation.take()
            if found is None and self._fill():
                found = self._rotation.take()
            if found is None:
                return None
            host, entry = found
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
        room = min(bounds.hosts - rotation.hosts, (bounds.waiting - len(rotation)) // share)
        left = self._left
        shares: dict[str, int] = {}
        for host in list(islice(self._hosts, max(room, 0))):
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
