"""An add-on for other Scrapy projects: spiders use the guarded, throttled downloads, and see the hops of each answer.

    ADDONS = {"crawler.addon.GuardedDownloads": 300}

The interface does not depend on the HTTP client: settings configure it, and `hops_of` returns the hops.
"""

from __future__ import annotations

from typing import Any

from scrapy.http import Response
from scrapy.settings import BaseSettings

from crawler.model.observations import Chain
from crawler.model.registry import cache_folder
from crawler.politeness.throttle import share_pace
from crawler.spiders import settings as ours
from crawler.wire.middlewares import CrawlerPart, chain_of

#: Settings that exact, guarded and throttled requests depend on.
_REQUIRED_SETTINGS = (
    "DOWNLOADER",
    "SCHEDULER_PRIORITY_QUEUE",
    "CONCURRENT_REQUESTS",
    "CONCURRENT_REQUESTS_PER_DOMAIN",
    "DOWNLOAD_DELAY",
    "DOWNLOAD_DELAY_JITTER",
)
#: Settings that the project may override.
_OVERRIDABLE_SETTINGS = (
    "ROBOTSTXT_OBEY",
    "TWISTED_DNS_RESOLVER",
    "DOWNLOAD_FAIL_ON_DATALOSS",
    "DOWNLOAD_MAXSIZE",
    "DOWNLOAD_WARNSIZE",
)
#: Scrapy's middlewares for robots.txt, redirects and compression, which are replaced.
_REPLACED_MIDDLEWARES = (
    "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware",
    "scrapy.downloadermiddlewares.redirect.RedirectMiddleware",
    "scrapy.downloadermiddlewares.httpcompression.HttpCompressionMiddleware",
)
_MIDDLEWARES = (
    "crawler.wire.middlewares.UsableUrls",
    "crawler.wire.robots.ObeyRobots",
    "crawler.wire.middlewares.HopRecorder",
    "crawler.wire.middlewares.BoundedCompression",
)


class GuardedDownloads(CrawlerPart):
    """Sends the requests of any spider to allowed addresses, exactly as written, at the pace of their hosts.

    The add-on includes the address guard, exact request targets, one pace for all audits of this machine, robots.txt,
    and a record of every hop. It follows redirects; errors such as 404 reach the spider as usual.
    """

    def update_settings(self, settings: BaseSettings) -> None:
        """Add the components to *settings*; the project's own values of ``ARKAUDIT_…`` are kept."""
        for name in dir(ours):
            if name.startswith("ARKAUDIT_") or name in _OVERRIDABLE_SETTINGS:
                settings.set(name, getattr(ours, name), priority="addon")
        for name in _REQUIRED_SETTINGS:
            settings.set(name, getattr(ours, name), priority="spider")
        our_middlewares = ours.DOWNLOADER_MIDDLEWARES
        middlewares = dict.fromkeys(_REPLACED_MIDDLEWARES) | {name: our_middlewares[name] for name in _MIDDLEWARES}
        if not settings.getbool("ROBOTSTXT_OBEY"):
            middlewares["crawler.wire.robots.ObeyRobots"] = None
        _add(settings, "DOWNLOADER_MIDDLEWARES", middlewares)
        _add(settings, "DOWNLOAD_HANDLERS", {scheme: ours.DOWNLOAD_HANDLERS[scheme] for scheme in ("http", "https")})
        _add(settings, "EXTENSIONS", {"crawler.wire.middlewares.BodyBounds": 0})
        share_pace(self._crawler, settings, cache_folder())


def _add(settings: BaseSettings, name: str, components: dict[str, Any]) -> None:
    settings.set(name, {**settings.getdict(name), **components}, priority="spider")


def hops_of(response: Response) -> Chain:
    """Return the requests that led to *response*, with redirects: each with URL, time, status and address.

    Empty in a project without the add-on.
    """
    return chain_of(response.request)[0] if response.request is not None else ()
