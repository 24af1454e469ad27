"""The download handler: each request is sent exactly as asked, to an address that is allowed, when it is its turn.

How the request gets onto the wire is in `agents.py`; here is what it comes to.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler, TunnelError
from scrapy.exceptions import CannotResolveHostError, DownloadTimeoutError
from scrapy.utils._download_handlers import wrap_twisted_exceptions
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.error import ConnectError
from twisted.web._newclient import RequestNotSent, RequestTransmissionFailed, ResponseNeverReceived

from crawler.model.observations import ChainEnd
from crawler.model.resolving import retry_after_s
from crawler.politeness.throttle import routes_and_guard, throttle_of
from crawler.wire.agents import BoundedFactory, ExactScrapyAgent, NotConnectedInTime, Sending
from crawler.wire.endpoints import (
    LookUpNotBegun,
    NameServerSilent,
    TellingResolver,
    refused_unasked,
)
from crawler.wire.middlewares import RunStopped, end_and_words
from extractors.model.errors import ArkauditError

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

#: Seconds for which an idle connection to a host is kept.
IDLE_S = 60
_PROXY_AUTHENTICATION_REQUIRED = 407
#: What a request to a proxy may end by without its fault: it waits for the host, and we ask for no such address.
_NOT_A_PROXYS = frozenset({ChainEnd.TIMEOUT, ChainEnd.REFUSED_ADDRESS})
#: What comes of a connection that the host has closed while it was idle.
_STALE = (RequestNotSent, RequestTransmissionFailed, ResponseNeverReceived)


class ProxyFailed(ArkauditError):
    """Raised when a proxy of ours could not be reached, or would not serve us: that says nothing of the host."""


class _ConnectionStale(Exception):
    """Raised when a connection that had served before was found closed: the request may never have arrived."""


class ExactDownloadHandler(HTTP11DownloadHandler):
    """Scrapy's handler for http and https, sending each URL's target byte for byte to addresses that are allowed."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._routes, self._guard = routes_and_guard(crawler.settings)
        self._throttle = throttle_of(crawler)
        self._pool._factory = BoundedFactory
        self._pool.maxPersistentPerHost = self._throttle.most_in_flight
        self._pool.cachedConnectionTimeout = IDLE_S
        # Twisted would repeat a request at once when a host has closed an idle connection; here it takes its turn.
        self._pool.retryAutomatically = False

    async def download_request(self, request: Request) -> Response:
        parts = urlsplit(request.url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        if not request.meta.get("proxy"):
            refusal = refused_unasked(parts.hostname or "", port, self._routes, self._guard)
            if refusal is not None:
                raise refusal
        try:
            return await self._in_turn(request)
        except _ConnectionStale:
            return await self._in_turn(request)

    async def _in_turn(self, request: Request) -> Response:
        """One exchange, when its host may be asked; the host's governor learns what came of it."""
        async with self._throttle.slot(request.url) as slot:
            if getattr(self._crawler.spider, "is_stopping", False):
                raise RunStopped("the run was stopped")
            sending = Sending(slot.sent)
            try:
                response = await self._exchange(request, sending)
            except Exception as failure:
                if _is_stale(failure, sending):
                    raise _ConnectionStale from failure
                slot.failed(*end_and_words(failure))
                raise
            proxy = request.meta.get("proxy")
            if response.status == _PROXY_AUTHENTICATION_REQUIRED and proxy:
                raise ProxyFailed(f"the proxy {proxy} wants to know who asks")
            header = (response.headers.get("Retry-After") or b"").decode("latin-1")
            is_wish = (
                response.status == 429 or response.status >= 500 or 300 <= response.status < 400
            )
            wish_s = retry_after_s(header, at=datetime.now(UTC).isoformat()) if is_wish else None
            slot.answered(response.status, wish_s)
            return response

    async def _exchange(self, request: Request, sending: Sending) -> Response:
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
        agent.routes, agent.guard, agent.sending = self._routes, self._guard, sending
        try:
            with wrap_twisted_exceptions():
                return await maybe_deferred_to_future(agent.download_request(request))
        except Exception as failure:
            answer = (
                agent.answer_so_far(request) if isinstance(failure, DownloadTimeoutError) else None
            )
            if answer is not None:
                return answer
            explained = failure if _is_stale(failure, sending) else _explained(failure, request)
            if explained is failure:
                raise
            raise explained from failure


def _is_stale(failure: Exception, sending: Sending) -> bool:
    return sending.is_reused and isinstance(failure.__cause__, _STALE)


def _explained(failure: Exception, request: Request) -> Exception:
    """*failure*, or what it means: whose fault it is when a proxy is between, and why a name had no address."""
    proxy = request.meta.get("proxy")
    if proxy:
        to_proxy = (CannotResolveHostError, ConnectError, NotConnectedInTime, TunnelError)
        is_proxys = isinstance(failure, to_proxy) or isinstance(failure.__cause__, to_proxy)
        if (
            urlsplit(request.url).scheme == "http"
        ):  # no tunnel: whatever is spoken is spoken with the proxy
            is_proxys |= end_and_words(failure)[0] not in _NOT_A_PROXYS
        return ProxyFailed(f"the proxy {proxy}: {failure}") if is_proxys else failure
    if isinstance(failure, CannotResolveHostError | NameServerSilent):
        from twisted.internet import reactor

        resolver = reactor.nameResolver
        host = urlsplit(request.url).hostname or ""
        if isinstance(failure, NameServerSilent):
            has_begun = not isinstance(resolver, TellingResolver) or resolver.is_looking_up(host)
            return failure if has_begun else LookUpNotBegun(str(failure))
        if isinstance(resolver, TellingResolver):
            return resolver.failure(host) or failure
    return failure
