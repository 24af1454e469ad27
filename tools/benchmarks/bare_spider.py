"""A bare Scrapy spider as a baseline: it only follows links and counts pages.

It uses arkaudit's download handler, so that requests are the same, and otherwise Scrapy's settings. If *tuned*, it also
has the settings of arkaudit that make a crawl faster.

    python -m tools.benchmarks.bare_spider URL [tuned]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import scrapy
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.http import HtmlResponse

AT_ONCE = 64
_HANDLER = "crawler.wire.credentialed.CredentialedDownloadHandler"


class BareSpider(scrapy.Spider):
    """Follows every link."""

    name = "bare"

    def __init__(self, url: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = [url]
        self.allowed_domains = [urlsplit(url).hostname or ""]
        self.pages = 0

    def parse(self, response: HtmlResponse) -> Iterator[scrapy.Request]:  # type: ignore[override]
        self.pages += 1
        for link in response.css("a::attr(href)"):
            yield response.follow(link, self.parse)  # type: ignore[arg-type]

    def closed(self, reason: str) -> None:
        print(self.pages)


def settings(url: str, *, is_tuned: bool) -> dict[str, Any]:
    """Return settings to crawl the host of *url* without a throttle."""
    host = urlsplit(url).netloc
    tuned: dict[str, Any] = {
        "DOWNLOAD_HANDLERS": {"http": _HANDLER, "https": _HANDLER},
        "CONCURRENT_REQUESTS": AT_ONCE,
        "CONCURRENT_REQUESTS_PER_DOMAIN": AT_ONCE,
        "DOWNLOAD_DELAY": 0,
        "ROBOTSTXT_OBEY": False,
        "LOG_LEVEL": "ERROR",
        "TELNETCONSOLE_ENABLED": False,
        "REMOTE_CONTROL_ENABLED": False,
        "ARKAUDIT_CONNECT_TO": [f"{host}={host}"],
        "ARKAUDIT_ONLY_ROUTED": True,
        "ARKAUDIT_INTERVAL": 0.0,
        "ARKAUDIT_HOSTS": {host: {"interval": 0.0, "concurrency": AT_ONCE}},
        "ARKAUDIT_ATTEMPTS": 1,
        "ARKAUDIT_BACKOFF": 2.0,
        "ARKAUDIT_LONGEST_WAIT": 60.0,
    }
    if is_tuned:
        tuned |= {"CONCURRENT_ITEMS": 1, "COOKIES_ENABLED": False, "REFERER_ENABLED": False, "RETRY_ENABLED": False}
    return tuned


def main(arguments: list[str]) -> None:
    """Crawl, and print the number of pages."""
    url, *rest = arguments
    process = AsyncCrawlerProcess(settings(url, is_tuned=rest == ["tuned"]))
    process.crawl(BareSpider, url=url)
    process.start()


if __name__ == "__main__":
    main(sys.argv[1:])
