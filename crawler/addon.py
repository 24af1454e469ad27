"""For other people's Scrapy projects: an add-on that lets a spider ask as we do, and what it then knows of each answer.

    ADDONS = {"crawler.addon.GuardedDownloads": 300}

Which HTTP client sends the requests is no part of this: settings name what it does, and `hops_of` what came of it.
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

#: Settings on which it depends that requests go out exactly, guarded and in turn.
_NEEDED = (
    "DOWNLOADER",
    "SCHEDULER_PRIORITY_QUEUE",
    "CONCURRENT_REQUESTS",
    "CONCURRENT_REQUESTS_PER_DOMAIN",
    "DOWNLOAD_DELAY",
    "DOWNLOAD_DELAY_JITTER",
)
#: Settings that the project may have otherwise.
_WANTED = (
    "ROBOTSTXT_OBEY",
    "TWISTED_DNS_RESOLVER",
    "DOWNLOAD_FAIL_ON_DATALOSS",
    "DOWNLOAD_MAXSIZE",
    "DOWNLOAD_WARNSIZE",
)
#: Scrapy's middlewares in whose place others come: that for robots.txt, redirects and compressed bodies.
_REPLACED = (
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
    """Sends the requests of any spider to addresses that are allowed, exactly as written, and when it is their turn.

    The address guard, request targets byte for byte, one pace for all audits of this machine, robots.txt, and a
    record of every hop. Redirects are followed by it; 404 and the like go the usual way.
    """

    def update_settings(self, settings: BaseSettings) -> None:
        """Put the parts into *settings*; all of ours (``ARKAUDIT_…``) keep the values that the project gives them."""
        for name in dir(ours):
            if name.startswith("ARKAUDIT_") or name in _WANTED:
                settings.set(name, getattr(ours, name), priority="addon")
        for name in _NEEDED:
            settings.set(name, getattr(ours, name), priority="spider")
        enabled = ours.DOWNLOADER_MIDDLEWARES
        middlewares = dict.fromkeys(_REPLACED) | {name: enabled[name] for name in _MIDDLEWARES}
        if not settings.getbool("ROBOTSTXT_OBEY"):
            middlewares["crawler.wire.robots.ObeyRobots"] = None
        _add(settings, "DOWNLOADER_MIDDLEWARES", middlewares)
        _add(settings, "DOWNLOAD_HANDLERS", {scheme: ours.DOWNLOAD_HANDLERS[scheme] for scheme in ("http", "https")})
        _add(settings, "EXTENSIONS", {"crawler.wire.middlewares.BodyBounds": 0})
        share_pace(self._crawler, settings, cache_folder())


def _add(settings: BaseSettings, name: str, components: dict[str, Any]) -> None:
    settings.set(name, {**settings.getdict(name), **components}, priority="spider")


def hops_of(response: Response) -> Chain:
    """Return the requests that led to *response*, redirects included: each with URL, moment, status and address.

    None in a project without the add-on.
    """
    return chain_of(response.request)[0] if response.request is not None else ()
