"""From the spiders to the store: grouped commits, and one TLS probe a host and day."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from scrapy import signals

from crawler.addresses import AddressGuard, Routes
from crawler.observations import ChainEnd, DocumentRecord, ObjectOutcome, Observation
from crawler.store import Recordable, StoreUnwritable
from crawler.tls import means, probe

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from crawler.spiders.auditing import AuditSpider

#: A commit waits no longer than this, so that a crash loses little, and holds no more than this many records.
COMMIT_AFTER_S = 0.2
COMMIT_AT_ITEMS = 100


class StorePipeline:
    """Records what the spiders yield; closes the spider when the store can't be written any more."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._pending: list[Recordable] = []
        self._timer: asyncio.TimerHandle | None = None
        crawler.signals.connect(self.spider_closed, signal=signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> StorePipeline:
        return cls(crawler)

    async def process_item(self, item: Recordable) -> Recordable:
        self._pending.append(item)
        if len(self._pending) >= COMMIT_AT_ITEMS:
            self._commit()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(COMMIT_AFTER_S, self._commit)
        return item

    def spider_closed(self) -> None:
        self._commit()

    def _commit(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        items, self._pending = self._pending, []
        spider = cast("AuditSpider", self._crawler.spider)
        if not items or spider.store_failure is not None:
            return
        try:
            spider.store.record(spider.run_id, items)
        except StoreUnwritable as failure:
            spider.store_failure = failure
            spider.stop(reason="store-unwritable")


class TlsProbePipeline:
    """Looks once a day at the certificate of every https host that a chain went through.

    What the store has of the same day (UTC), seen by the same means, becomes a row of this run with its own moment.
    """

    def __init__(self, crawler: Crawler) -> None:
        settings = crawler.settings
        self._crawler = crawler
        self._guard = AddressGuard.allowing(settings.getlist("ARKAUDIT_ALLOW_ADDRESSES"))
        self._routes = Routes.parse(
            settings.getlist("ARKAUDIT_CONNECT_TO"), only=settings.getbool("ARKAUDIT_ONLY_ROUTED")
        )
        self._ca_file: str | None = settings.get("ARKAUDIT_CA_FILE")
        self._timeout_s = settings.getfloat("DOWNLOAD_TIMEOUT")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> TlsProbePipeline:
        return cls(crawler)

    async def process_item(self, item: Recordable) -> Recordable:
        spider = cast("AuditSpider", self._crawler.spider)
        for host, port in https_hosts(item):
            if (host, port) in spider.probed_hosts or spider.store_failure is not None:
                continue
            spider.probed_hosts.add((host, port))
            seen_by = means(host, port, routes=self._routes, ca_file=self._ca_file)
            today = datetime.now(UTC).date().isoformat()
            result = spider.store.tls_result_of_day(host, port, day=today, means=seen_by) or await probe(
                host,
                port,
                guard=self._guard,
                routes=self._routes,
                ca_file=self._ca_file,
                timeout_s=self._timeout_s,
            )
            try:
                spider.store.record(spider.run_id, [result])
            except StoreUnwritable as failure:
                spider.store_failure = failure
                spider.stop(reason="store-unwritable")
        return item


def https_hosts(item: Recordable) -> Iterator[tuple[str, int]]:
    """The https hosts of an item's chain that answered, or with which no secure connection could be made."""
    match item:
        case Observation():
            has_failed = item.end is ChainEnd.TLS
        case DocumentRecord():
            has_failed = item.outcome == ObjectOutcome.TLS
        case _:
            return
    for number, hop in enumerate(item.hops, start=1):
        parts = urlsplit(hop.url)
        is_told = hop.status is not None or (has_failed and number == len(item.hops))
        if parts.scheme.lower() == "https" and parts.hostname and is_told:
            yield parts.hostname, parts.port or 443
