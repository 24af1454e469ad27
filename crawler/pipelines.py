"""Records facts about hosts: the traffic and the pauses."""

from __future__ import annotations

from typing import Self, cast

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from crawler.politeness.throttle import throttle_of
from crawler.spiders.auditing import AuditSpider
from crawler.wire.middlewares import CrawlerPart


class _Part(CrawlerPart):
    """A component for crawlers whose spider has a store."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if not issubclass(crawler.spidercls, AuditSpider):
            raise NotConfigured("this spider has no store")
        return super().from_crawler(crawler)

    @property
    def _spider(self) -> AuditSpider:
        return cast("AuditSpider", self._crawler.spider)


class TrafficRecorder(_Part):
    """Records the pauses of hosts when they are asked for, and the traffic with other records.

    A turn is counted before its request is sent. It is recorded within `crawler.store.feeding.COMMIT_AFTER_S`, even
    without an answer, and never later than its answer. A killed run may lose the turns of this time.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._throttle = throttle_of(crawler)
        crawler.signals.connect(self.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(self.spider_closed, signal=signals.spider_closed)

    def spider_opened(self) -> None:
        recorder = self._spider.recorder
        recorder.further_items = lambda: [self._spider.redact(traffic) for traffic in self._throttle.take_traffic()]
        self._throttle.on_turn = recorder.add
        self._throttle.on_pause = self._record_pauses

    def spider_closed(self) -> None:
        self._throttle.on_turn = self._throttle.on_pause = lambda: None
        self._record_pauses()

    def _record_pauses(self) -> None:
        recorder = self._spider.recorder
        recorder.add(*self._throttle.take_pauses())
        recorder.commit()
