"""What both spiders have: the store they write to, how they wait, and how they stop at once."""

from __future__ import annotations

import asyncio
from typing import Any, Self

import scrapy
from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DontCloseSpider

from crawler.governor import governor_of
from crawler.middlewares import RunStopped
from crawler.store import Store, StoreUnwritable


class AuditSpider(scrapy.Spider):
    """A spider that belongs to a run in a store."""

    def __init__(
        self, *, store: Store, run_id: int, probed_hosts: set[tuple[str, int]] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.store = store
        self.run_id = run_id
        self.store_failure: StoreUnwritable | None = None
        self.probed_hosts = probed_hosts if probed_hosts is not None else set()
        """Hosts whose certificate was looked at in this run, by either spider."""
        self._stopped = asyncio.Event()
        self._later: set[asyncio.TimerHandle] = set()
        self._stopping: asyncio.Task[None] | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider._stay_for_what_waits, signal=signals.spider_idle)
        return spider

    # -- waiting

    async def pause(self, seconds: float) -> None:
        """Wait for so long, or until the run is stopped."""
        try:
            async with asyncio.timeout(seconds):
                await self._stopped.wait()
        except TimeoutError:
            return

    def ask_later(self, request: Request, wait_s: float) -> None:
        """Send *request* after so many seconds, unless the run is stopped before."""

        def ask() -> None:
            self._later.discard(timer)
            if self.crawler.engine is not None and not self.is_stopping:
                self.crawler.engine.crawl(request)

        if not self.is_stopping:
            timer = asyncio.get_running_loop().call_later(wait_s, ask)
            self._later.add(timer)

    def _stay_for_what_waits(self) -> None:
        if self._later and not self.is_stopping:
            raise DontCloseSpider

    # -- stopping

    @property
    def is_stopping(self) -> bool:
        """Whether nothing more may be sent."""
        return self._stopped.is_set()

    def stop(self, *, reason: str) -> None:
        """Send nothing more, and end when what is in flight is done."""
        self.drop_what_is_queued()
        engine = self.crawler.engine
        if engine is not None and self._stopping is None:
            self._stopping = asyncio.ensure_future(engine.close_spider_async(reason=reason))

    def drop_what_is_queued(self) -> None:
        """Let nothing that waits for its turn be sent any more."""
        self._stopped.set()
        for timer in self._later:
            timer.cancel()
        self._later.clear()
        governor_of(self.crawler).drop_waiting(RunStopped("the run was stopped"))
