"""A spider middleware for other Scrapy projects, which finds the ARKs in the responses of a spider.

SPIDER_MIDDLEWARES = {"crawler.ark_citations.ArkCitations": 950}
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.http import Response

from crawler.model.defaults import GLOBAL_RESOLVER
from crawler.spiders.document_reading import DocumentReader, DocumentSource
from crawler.spiders.items import citations
from crawler.wire.middlewares import CrawlerPart, chain_of
from extractors.isolated import document_executor


class ArkCitations(CrawlerPart):
    """Adds a `crawler.spiders.items.Citation` for each ARK in a response to the spider's own items.

    A response may be a page, a PDF, an archive, or any other format that `extractors` reads. An unreadable document
    has no ARKs. The statistics ``arkaudit/documents`` and ``arkaudit/citations`` count the results.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._executor = document_executor(1)
        resolver = crawler.settings.get("ARKAUDIT_RESOLVER") or GLOBAL_RESOLVER
        self._reader = DocumentReader(self._executor, resolver=resolver)
        crawler.signals.connect(self._close, signal=signals.engine_stopped)

    def _close(self) -> None:
        self._executor.shutdown(wait=False)

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Yield all of *result*, then the citations in *response*."""
        async for item in result:
            yield item
        hops = chain_of(response.request)[0] if response.request is not None else ()
        async for row in self._reader.rows(DocumentSource.from_response(response, hops)):
            self._count("documents")
            for citation in citations(row.record):
                self._count("citations")
                yield citation

    def _count(self, counted_items: str) -> None:
        if self._crawler.stats is not None:
            self._crawler.stats.inc_value(f"arkaudit/{counted_items}")
