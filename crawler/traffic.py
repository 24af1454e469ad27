"""An extension that records how hosts were treated: what went to each, and the pauses that they asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self, cast

from scrapy import signals
from scrapy.exceptions import NotConfigured

from crawler.model.observations import HostTraffic, Pause
from crawler.politeness.throttle import throttle_of
from crawler.spiders.auditing import AuditSpider
from crawler.storage.store_errors import StoreUnwritable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy.crawler import Crawler


class TrafficRecorder:
    """Takes what a governor remembers into the store: pauses when they are asked for, the rest with what is recorded.

    A turn is counted before anything is sent. It is on record in a moment (`crawler.storage.recording.COMMIT_AFTER_S`),
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
        spider.recorder.beside = lambda: [spider.withheld(each) for each in self._throttle.take_traffic()]
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
            spider.store.record(spider.run_id, [spider.withheld(each) for each in records])
        except StoreUnwritable as failure:
            spider.store_failure = failure
            spider.stop(reason="store-unwritable")
