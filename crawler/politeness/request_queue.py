"""Scrapy's queue of requests: next leaves one for the next host with a free slot, and no more than can go out.

Scrapy counts what it downloads by host name, and only once robots.txt is there. So a slow host, or a dead one, could
fill all the places there are while others wait. Here each host, with its scheme and port, has a slot of its own and
as many places as its governor allows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from scrapy import Request, Spider
from scrapy.core.downloader import Downloader
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.pqueues import DownloaderAwarePriorityQueue, DownloaderInterface
from twisted.internet.defer import Deferred

from crawler.politeness.pacing import host_of
from crawler.politeness.throttle import throttle_of


class HostDownloader(Downloader):
    """Scrapy's downloader with a slot for each host, scheme and port included, that knows what it has in hand."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._throttle = throttle_of(crawler)
        self.in_hand: Counter[str] = Counter()
        """How many requests out of the queue each slot has that are not done with, wherever they wait."""
        self.full: set[str] = set()
        """Slots that had no space at the last look, and of whose requests none has ended since."""

    def get_slot_key(self, request: Request) -> str:
        """The host of *request*: scheme, name and port."""
        return host_of(request.url)

    def needs_backout(self) -> bool:
        """Return whether there is no place for another request; what waits for a host that is held takes up none."""
        if not super().needs_backout():
            return False
        held = sum(count + 1 for slot, count in self.in_hand.items() if self._throttle.is_held(slot))
        return len(self.active) - held >= self.total_concurrency

    def fetch(self, request: Request, spider: Spider | None = None) -> Deferred[Response | Request]:
        """Return what Scrapy's own does, counted."""
        fetched: Deferred[Response | Request]
        if request.meta.get("dont_obey_robotstxt"):  # robots.txt itself, for which others wait
            fetched = super().fetch(request)
            return fetched
        slot = self.get_slot_key(request)
        self.in_hand[slot] += 1

        def done(result: Any) -> Any:
            self.in_hand[slot] -= 1
            self.full.discard(slot)
            if not self.in_hand[slot]:
                del self.in_hand[slot]
            return result

        fetched = super().fetch(request)
        return fetched.addBoth(done)


class _HostCapacity(DownloaderInterface):
    """Says which hosts have space for a request."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._throttle = throttle_of(crawler)

    def stats(self, possible_slots: Mapping[str, Any]) -> list[tuple[int, str]]:  # type: ignore[override]
        """The slots with space, and what they have in hand; those that are known to be full are not looked at again.

        It is called for each request, and there may be hundreds of hosts.
        """
        downloader = self.downloader
        assert isinstance(downloader, HostDownloader)
        stats = []
        for slot in possible_slots.keys() - downloader.full:
            count = downloader.in_hand[slot]
            if count < self._throttle.free_slots(slot):
                stats.append((count, slot))
            elif not self._throttle.is_held(slot):  # for which time may make space, and nothing else
                downloader.full.add(slot)
        return stats


class HostQueue(DownloaderAwarePriorityQueue):
    """Scrapy's queue, which takes hosts in turn; hosts without space, and those that are held, are passed over."""

    def __init__(self, crawler: Crawler, *args: Any, **kwargs: Any) -> None:
        super().__init__(crawler, *args, **kwargs)
        self._downloader_interface = _HostCapacity(crawler)
