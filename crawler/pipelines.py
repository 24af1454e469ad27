"""From the spiders to the store: grouped commits, and one TLS probe a host and day."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self, cast
from urllib.parse import urlsplit

from scrapy import signals
from scrapy.exceptions import NotConfigured

from crawler.model.addresses import AddressGuard, Routes
from crawler.model.observations import (
    ChainEnd,
    DocumentRecord,
    HostTraffic,
    ObjectOutcome,
    Observation,
    Pause,
    TlsResult,
)
from crawler.politeness.throttle import NotAsked, throttle_of
from crawler.spiders.auditing import AuditSpider
from crawler.store.store_errors import StoreUnwritable
from crawler.wire.middlewares import RunStopped
from crawler.wire.tls import is_late, means, not_probed, probe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy.crawler import Crawler


#: So often a certificate is looked for that was not seen in time.
PROBES = 3


class StorePipeline:
    """Records what the spiders yield, in grouped commits."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        crawler.signals.connect(self.spider_closed, signal=signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> StorePipeline:
        _require_store(crawler)
        return cls(crawler)

    async def process_item(self, item: Any) -> Any:
        if not isinstance(item, DocumentRecord | Observation):  # one for feeds, of what is on record
            return item
        spider = cast("AuditSpider", self._crawler.spider)
        item = spider.withheld(item)
        if not isinstance(item, Observation):  # the spider has recorded it, in the order of its decisions
            spider.recorder.add(item)
        return item

    def spider_closed(self) -> None:
        cast("AuditSpider", self._crawler.spider).recorder.commit()


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
        self._may_be_proxied = settings.getbool("HTTPPROXY_ENABLED")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> TlsProbePipeline:
        _require_store(crawler)
        return cls(crawler)

    async def process_item(self, item: Any) -> Any:
        spider = cast("AuditSpider", self._crawler.spider)
        for host, port in https_hosts(item):
            if (host, port) in spider.probed_hosts or spider.store_failure is not None:
                continue
            spider.probed_hosts.add((host, port))
            seen_by = means(host, port, routes=self._routes, ca_file=self._ca_file)
            today = datetime.now(UTC).date().isoformat()
            result = spider.store.tls_result_of_day(host, port, day=today, means=seen_by)
            spider.recorder.add(result or await self._seen(host, port))
        return item

    async def _seen(self, host: str, port: int) -> TlsResult:
        """Return what a probe gave, repeated where it was late: that may have been our own slowness."""
        result = await self._probed(host, port)
        for _ in range(PROBES - 1):
            if not is_late(result) or cast("AuditSpider", self._crawler.spider).is_stopping:
                break
            result = await self._probed(host, port)
        return result

    async def _probed(self, host: str, port: int) -> TlsResult:
        """Return what the probe gave; it connects to the host as everything does, when it is its turn."""
        try:
            name = f"[{host}]" if ":" in host else host
            async with throttle_of(self._crawler).slot(f"https://{name}:{port}") as slot:
                return await probe(
                    host,
                    port,
                    guard=self._guard,
                    routes=self._routes,
                    ca_file=self._ca_file,
                    timeout_s=self._timeout_s,
                    may_be_proxied=self._may_be_proxied,
                    on_connected=slot.sent,
                )
        except (NotAsked, RunStopped) as failure:
            return not_probed(host, port, str(failure))


def _require_store(crawler: Crawler) -> None:
    """Raise `NotConfigured` for a spider that has no store."""
    if not issubclass(crawler.spidercls, AuditSpider):
        raise NotConfigured("this spider has no store")


def https_hosts(item: Any) -> Iterator[tuple[str, int]]:
    """The https hosts of an item's chain that answered, or with which no secure connection could be made."""
    match item:
        case Observation():
            hops, has_failed = item.hops, item.end is ChainEnd.TLS
        case DocumentRecord():
            hops = tuple(hop for row in item.rows for hop in row.hops)
            has_failed = item.outcome == ObjectOutcome.TLS
        case _:
            return
    for number, hop in enumerate(hops, start=1):
        parts = urlsplit(hop.url)
        is_reported = hop.status is not None or (has_failed and number == len(hops))
        if parts.scheme.lower() == "https" and parts.hostname and is_reported:
            yield parts.hostname, parts.port or 443


# An extension that records how hosts were treated: what went to each, and the pauses that they asked for.


class TrafficRecorder:
    """Takes what a governor remembers into the store: pauses when they are asked for, the rest with what is recorded.

    A turn is counted before anything is sent. It is on record in a moment (`crawler.store.feeding.COMMIT_AFTER_S`),
    also where no answer comes, and never later than its answer: so much may be lost when a run is killed.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._throttle = throttle_of(crawler)
        crawler.signals.connect(self.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(self.spider_closed, signal=signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if not issubclass(crawler.spidercls, AuditSpider):
            raise NotConfigured("this spider has no store")
        return cls(crawler)

    def spider_opened(self) -> None:
        spider = cast(AuditSpider, self._crawler.spider)
        spider.recorder.others = lambda: [spider.withheld(traffic) for traffic in self._throttle.take_traffic()]
        self._throttle.on_turn = spider.recorder.add
        self._throttle.on_pause = lambda: self._record(self._throttle.take_pauses())

    def spider_closed(self) -> None:
        self._throttle.on_turn = self._throttle.on_pause = lambda: None
        self._record([*self._throttle.take_pauses(), *self._throttle.take_traffic()])

    def _record(self, records: Sequence[Pause | HostTraffic]) -> None:
        spider = cast(AuditSpider, self._crawler.spider)
        if not records or spider.store_failure is not None:
            return
        try:
            spider.store.record(spider.run_id, [spider.withheld(record) for record in records])
        except StoreUnwritable as failure:
            spider.store_failure = failure
            spider.stop(reason="store-unwritable")
