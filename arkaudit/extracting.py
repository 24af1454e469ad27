"""Documents for `arkaudit extract`: files and standard input are read here, URLs by the documents spider."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console
from scrapy import signals
from scrapy.crawler import Crawler

from arkaudit.audits import audit, document_worker
from arkaudit.config import Config
from arkaudit.seeds import Seeds
from crawler.observations import DocumentRecord
from crawler.spiders.documents import document_name, extract_killably
from crawler.store import Store
from extractors.documents import Finding
from extractors.find import Mention


@dataclass(frozen=True, slots=True)
class Document:
    """What one document gave."""

    name: str
    mentions: Sequence[Mention]
    findings: Sequence[Finding]


def documents(seeds: Seeds, *, standard_input: bool, config: Config, console: Console) -> Iterator[Document]:
    """Every document, as soon as it has been read: standard input first, then files, then URLs."""
    with document_worker() as worker:
        if standard_input:
            read = extract_killably(worker, sys.stdin.buffer.read(), name="")
            yield Document("-", read.mentions, read.findings)
        for path in seeds.files:
            try:
                data = path.read_bytes()
            except OSError as problem:
                yield Document(document_name(path), (), (Finding("unreadable", str(problem.strerror or problem)),))
                continue
            read = extract_killably(worker, data, name=path.name)
            yield Document(document_name(path), read.mentions, read.findings)
    if seeds.urls:
        yield from _fetched(Seeds(seeds.urls, ()), config, console)


def _fetched(seeds: Seeds, config: Config, console: Console) -> Iterator[Document]:
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
            console=console,
        )
    order = {url: number for number, url in enumerate(seeds.urls)}
    for record in sorted(records, key=lambda record: order.get(record.url, len(order))):
        yield Document(record.url, [cited.mention for cited in record.mentions], record.findings)
