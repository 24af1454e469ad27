"""Scrapy's queue of requests, which takes hosts in turn and releases only requests that can be sent.

Scrapy counts downloads by host name, and only after robots.txt has arrived. A slow or dead host could then fill all
places while others wait. Here each origin (scheme, host and port) has its own slot, with the places that the throttle
allows.
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

from crawler.politeness.throttle import throttle_of
from extractors.model.urls import origin_of


class HostDownloader(Downloader):
    """Scrapy's downloader with a slot for each origin, and a count of the requests in hand."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._throttle = throttle_of(crawler)
        self.in_hand: Counter[str] = Counter()
        """The number of requests of each slot that have left the queue and have not ended."""
        self.full: set[str] = set()
        """Slots that had no space at the last look, and have had no request end since."""

    def get_slot_key(self, request: Request) -> str:
        """Return the origin of *request*: scheme, host and port."""
        return origin_of(request.url)

    def needs_backout(self) -> bool:
        """Return True if no further request may be taken from the queue, because enough requests are active.

        Requests to held hosts are not counted among these.
        """
        if not super().needs_backout():
            return False
        held_count = sum(count + 1 for slot, count in self.in_hand.items() if self._throttle.is_held(slot))
        return len(self.active) - held_count >= self.total_concurrency

    def fetch(self, request: Request, spider: Spider | None = None) -> Deferred[Response | Request]:
        """Fetch *request* as Scrapy does, and count it in `in_hand` until its end."""
        response: Deferred[Response | Request]
        if request.meta.get("dont_obey_robotstxt"):  # robots.txt itself; other requests wait for it
            response = super().fetch(request)
            return response
        slot = self.get_slot_key(request)
        self.in_hand[slot] += 1

        def done(result: Any) -> Any:
            self.in_hand[slot] -= 1
            self.full.discard(slot)
            if not self.in_hand[slot]:
                del self.in_hand[slot]
            return result

        response = super().fetch(request)
        return response.addBoth(done)


class _HostCapacity(DownloaderInterface):
    """The hosts with space for a request, as Scrapy's queue asks for them."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._throttle = throttle_of(crawler)

    def stats(self, possible_slots: Mapping[str, Any]) -> list[tuple[int, str]]:  # type: ignore[override]
        """Return (number of requests in hand, slot) for each of *possible_slots* that may take another request.

        Scrapy calls this for each request, and there may be hundreds of hosts. Slots known to be full are skipped.
        """
        downloader = self.downloader
        assert isinstance(downloader, HostDownloader)
        stats = []
        for slot in possible_slots.keys() - downloader.full:
            count = downloader.in_hand[slot]
            if count < self._throttle.free_slots(slot):
                stats.append((count, slot))
            elif not self._throttle.is_held(slot):  # a held host regains space by time alone
                downloader.full.add(slot)
        return stats


class HostQueue(DownloaderAwarePriorityQueue):
    """Scrapy's queue, which takes hosts in turn and skips hosts that are full or held."""

    def __init__(self, crawler: Crawler, *args: Any, **kwargs: Any) -> None:
        super().__init__(crawler, *args, **kwargs)
        self._downloader_interface = _HostCapacity(crawler)
