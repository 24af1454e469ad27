"""What both spiders have: the store they write to, and how they stop when it can't be written."""

from __future__ import annotations

import asyncio
from typing import Any

import scrapy

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
        self._stopping: asyncio.Task[None] | None = None

    def stop(self, *, reason: str) -> None:
        """Send nothing more, and end when what is in flight is done."""
        engine = self.crawler.engine
        if engine is not None and self._stopping is None:
            self._stopping = asyncio.ensure_future(engine.close_spider_async(reason=reason))
