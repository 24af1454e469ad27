"""The download handler: each request is sent exactly as asked, to an address that is allowed, and no sooner.

How the request gets onto the wire stands in `agents.py`; here is what it comes to.
"""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler, TunnelError
from scrapy.exceptions import CannotResolveHostError, DownloadTimeoutError
from scrapy.utils._download_handlers import wrap_twisted_exceptions
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.error import ConnectError

from crawler.addresses import AddressGuard, Routes
from crawler.agents import BoundedFactory, ExactScrapyAgent, NotConnectedInTime
from crawler.attempts import retry_after_s
from crawler.names import TellingResolver

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

#: By these a host says that it is asked too fast, or is too busy: with a Retry-After, for how long.
_BUSY = frozenset({429, 503})


class ProxyFailed(Exception):
    """Raised when a proxy of ours could not be reached, or would not connect us: that says nothing of the host."""


class ExactDownloadHandler(HTTP11DownloadHandler):
    """Scrapy's handler for http and https, sending each URL's target byte for byte to addresses that are allowed."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        settings = crawler.settings
        self._routes = Routes.parse(
            settings.getlist("ARKAUDIT_CONNECT_TO"), only=settings.getbool("ARKAUDIT_ONLY_ROUTED")
        )
        self._guard = AddressGuard.allowing(settings.getlist("ARKAUDIT_ALLOW_ADDRESSES"))
        self._longest_wait_s = settings.getfloat("ARKAUDIT_LONGEST_WAIT")
        self._open_again_at: dict[str, float] = {}
        self._pool._factory = BoundedFactory

    async def download_request(self, request: Request) -> Response:
        await self._pause(request)
        response = await self._exchange(request)
        self._heed(request, response)
        return response

    async def _exchange(self, request: Request) -> Response:
        agent = ExactScrapyAgent(
            contextFactory=self._contextFactory,
            bindAddress=self._bind_address,
            pool=self._pool,
            maxsize=self._default_maxsize,
            warnsize=self._default_warnsize,
            fail_on_dataloss=self._fail_on_dataloss,
            crawler=self._crawler,
            tls_verbose_logging=self._tls_verbose_logging,
        )
        agent.routes, agent.guard = self._routes, self._guard
        try:
            with wrap_twisted_exceptions():
                return await maybe_deferred_to_future(agent.download_request(request))
        except Exception as failure:
            answer = agent.answer_so_far(request) if isinstance(failure, DownloadTimeoutError) else None
            if answer is not None:
                return answer
            told = _told(failure, request)
            if told is failure:
                raise
            raise told from failure

    async def _pause(self, request: Request) -> None:
        """Wait as long as this host has asked us to, or until the run is stopped."""
        open_again_at = self._open_again_at.get(_host(request), 0.0)
        wait_s = open_again_at - time.monotonic()
        if wait_s > 0:
            pause = getattr(self._crawler.spider, "pause", asyncio.sleep)
            await pause(wait_s)

    def _heed(self, request: Request, response: Response) -> None:
        """Remember for how long a busy host wants to be left alone, as far as our patience goes."""
        if response.status not in _BUSY:
            return
        header = (response.headers.get("Retry-After") or b"").decode("latin-1")
        wait_s = retry_after_s(header, at=datetime.now(UTC).isoformat())
        if wait_s and wait_s <= self._longest_wait_s:
            self._open_again_at[_host(request)] = time.monotonic() + wait_s


def _host(request: Request) -> str:
    return urlsplit(request.url).netloc.lower()


def _told(failure: Exception, request: Request) -> Exception:
    """*failure*, or what it means: whose fault it is when a proxy stands between, and why a name had no address."""
    proxy = request.meta.get("proxy")
    if proxy:
        to_proxy = (CannotResolveHostError, ConnectError, NotConnectedInTime, TunnelError)
        is_proxys = isinstance(failure, to_proxy) or isinstance(failure.__cause__, to_proxy)
        return ProxyFailed(f"the proxy {proxy}: {failure}") if is_proxys else failure
    if isinstance(failure, CannotResolveHostError):
        from twisted.internet import reactor

        resolver = reactor.nameResolver
        host = urlsplit(request.url).hostname or ""
        if isinstance(resolver, TellingResolver):
            return resolver.failure(host) or failure
    return failure
