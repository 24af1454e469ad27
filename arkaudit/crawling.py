"""The documents of a run: from seeds and configuration to the stage that crawls them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, date, datetime
from typing import Any

from arkaudit.config import Config
from crawler.parsers import source_worker
from crawler.process import SpiderStage
from crawler.resolving import sendable
from crawler.seeds import Seeds
from crawler.sources.gate import Rules
from crawler.sources.plan import CrawlPlan
from crawler.spiders.documents_spider import DocumentsSpider
from extractors.isolated import document_worker
from extractors.worker_executor import WorkerExecutor


@contextmanager
def documents_stage(
    config: Config, seeds: Seeds, executor: WorkerExecutor, of_run: Callable[[], Mapping[str, Any]]
) -> Iterator[SpiderStage]:
    """Give the stage that crawls *seeds*, with the processes that parse documents and sources.

    *of_run* gives the arguments that all spiders of the run have; it is called when the stage begins.
    """
    with document_worker() as worker, source_worker() as sources:

        def arguments() -> dict[str, Any]:
            return {
                **of_run(),
                "plan": crawl_plan(config, seeds, today=datetime.now(UTC).date()),
                "files": seeds.files,
                "source_files": seeds.named_files,
                "resolver": config.resolver,
                "worker": worker,
                "source_worker": sources,
                "executor": executor,
                "patience": config.patience,
            }

        yield SpiderStage(DocumentsSpider, arguments)


def crawl_plan(config: Config, seeds: Seeds, *, today: date) -> CrawlPlan:
    """The plan of a crawl that begins at *seeds* on this day."""
    crawl = config.crawl
    return CrawlPlan(
        year=today.year,
        urls=tuple(map(sendable, seeds.urls)),
        orders={sendable(name) if "://" in name else name: order for name, order in seeds.orders.items()},
        rules=Rules(
            depth=crawl.depth,
            include=crawl.included,
            exclude=crawl.excluded,
            follows_nofollow=crawl.ignore_nofollow,
        ),
        extent=crawl.scope,
        content_hosts=tuple(crawl.content_hosts),
        selection=crawl.oai.selection,
        has_sitemaps=crawl.sitemaps,
        max_pages=crawl.max_pages,
        max_time_s=crawl.max_time,
    )
