"""From seeds and configuration to the plan of a crawl."""

from __future__ import annotations

from datetime import date

from arkaudit.config import Config
from crawler.resolving import sendable
from crawler.seeds import Seeds
from crawler.sources.gate import Rules
from crawler.sources.plan import CrawlPlan


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
