"""Pure: what the user has said of where a crawl goes, as one value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from crawler.model.crawl_requests import CrawlRequest
from crawler.model.listing import SourceKind
from crawler.model.scope import Extent, Scope
from crawler.sources.gate import Gate, Rules
from crawler.sources.oai_pmh import Selection, harvest_url
from crawler.sources.traps import Traps


@dataclass(frozen=True, slots=True)
class CrawlPlan:
    """The plan of a crawl: where it begins, how its seeds are to be read, and how far it goes."""

    year: int
    """Of the day on which it began: what a calendar's future is counted from."""
    urls: tuple[str, ...] = ()
    orders: Mapping[str, SourceKind] = field(default_factory=dict)
    """How seeds are to be read, by URL or path, where the user has said so; else their content tells."""
    rules: Rules = field(default_factory=Rules)
    extent: Extent = Extent.SITE
    content_hosts: tuple[str, ...] = ()
    selection: Selection = field(default_factory=Selection)
    """Which records of a repository are harvested."""
    has_sitemaps: bool = True
    """Whether the sitemaps that the robots.txt of a site names are read."""
    max_pages: int | None = None
    max_time_s: float | None = None

    @property
    def scope(self) -> Scope:
        """Return what the crawl stays within."""
        return Scope.of(self.urls, extent=self.extent, content_hosts=self.content_hosts)

    def gate(self) -> Gate:
        """The gate that every URL passes which the crawl discovers, as it stands at the beginning."""
        return Gate(self.scope, self.rules, Traps(self.year))

    def seeds(self) -> Iterable[CrawlRequest]:
        """The leads of the URLs, in their order; of a repository the first request of its harvest."""
        for url in self.urls:
            order = self.orders.get(url)
            yield CrawlRequest.to_page(
                harvest_url(url, self.selection) if order is SourceKind.OAI else url, source=order
            )
