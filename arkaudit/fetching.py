"""Documents at URLs, fetched by the documents spider for `arkaudit extract`."""

from __future__ import annotations

from collections.abc import Iterator

from scrapy import signals
from scrapy.crawler import Crawler

from arkaudit.audits import audit
from arkaudit.config import Config
from arkaudit.exits import errors
from crawler.observations import DocumentRecord
from crawler.seeds import Seeds
from crawler.storage.store import Store
from extractors.documents import Document


def fetched_documents(seeds: Seeds, config: Config) -> Iterator[Document]:
    """The documents at the URLs themselves; no link is followed and nothing is kept."""
    records: list[DocumentRecord] = []

    def collect(crawler: Crawler) -> None:
        crawler.signals.connect(take, signal=signals.item_scraped, weak=False)

    def take(item: object) -> None:
        if isinstance(item, DocumentRecord):
            records.append(item)

    only_these = config.model_copy(update={"crawl": config.crawl.model_copy(update={"depth": 0})})
    with Store.open(None) as store:
        audit(
            only_these,
            store,
            command="extract",
            seeds=seeds,
            resolve=False,
            on_start=collect,
            console=errors(),
        )
    order = {url: number for number, url in enumerate(seeds.urls)}
    last = len(order)
    for record in sorted(records, key=lambda each: order.get(each.url, order.get(each.found_on or "", last))):
        unresolved = [cited.unresolved for cited in record.mentions if cited.unresolved is not None]
        yield Document(record.url, [cited.mention for cited in record.mentions], record.findings, unresolved)
