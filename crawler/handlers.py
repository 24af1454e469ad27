"""The download handler: the exact request target on the wire, the address guard, and the routes.

Scrapy's own handler rebuilds the target from a parsed URL and so loses a bare ``?``, which is a question of its own
(draft-kunze-ark-10, 6). The seam used here is private to Scrapy 2.19, to which the project is pinned; a test that
reads request lines from a raw socket guards it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from scrapy.core.downloader.handlers.http11 import (
    HTTP11DownloadHandler,
    _BindAddressAgent,
    _LenientHTTP11ClientFactory,
    _ScrapyAgent,
    _ScrapyProxyAgent,
    _TunnelingAgent,
)
from scrapy.exceptions import DownloadTimeoutError
from scrapy.utils._download_handlers import make_response, wrap_twisted_exceptions
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.endpoints import HostnameEndpoint, wrapClientTLS

from crawler.addresses import AddressGuard, Routes, is_literal
from crawler.resolving import request_target

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.internet.interfaces import IAddress
    from twisted.web._newclient import HTTP11ClientProtocol
    from twisted.web.client import URI, Agent

#: Flag of a response whose body had not arrived when the time was up: its status still counts.
BODY_TIMEOUT = "body-timeout"


class AddressRefused(Exception):
    """Raised when a connection was made to an address that may not be reached; nothing has been sent then."""


class NameNotRouted(Exception):
    """Raised when only routed names may be reached and this one is not; nothing has been looked up then."""


class _GuardedFactory(_LenientHTTP11ClientFactory):
    """Looks at the address that was really connected to, before anything is sent."""

    def __init__(self, guard: AddressGuard, routes: Routes, quiescent: Callable[..., None], metadata: str) -> None:
        super().__init__(quiescent, metadata)  # type: ignore[no-untyped-call]
        self._guard = guard
        self._routes = routes

    def buildProtocol(self, addr: IAddress | None) -> HTTP11ClientProtocol:
        host, port = getattr(addr, "host", ""), getattr(addr, "port", 0)
        refusal = self._guard.refusal(host)
        if refusal and not self._routes.leads_to(host, port):
            raise AddressRefused(refusal)
        return super().buildProtocol(addr)


class _Exact:
    """Mixed into an agent: sends *target* as the request target."""

    target: bytes
    routes: Routes
    guard: AddressGuard

    def _requestWithEndpoint(self, *args: Any, **kwargs: Any) -> Any:
        if "requestPath" in kwargs:
            kwargs["requestPath"] = self.target
        else:
            args = (*args[:-1], self.target)
        return super()._requestWithEndpoint(*args, **kwargs)  # type: ignore[misc]


class _DirectAgent(_Exact, _BindAddressAgent):
    """Connects to where the routes lead; the URL's own host stays in SNI and in the Host header."""

    def _getEndpoint(self, uri: URI) -> Any:
        host = uri.host.decode("ascii")
        target = self.routes.target(host, uri.port)
        if target is None:
            if self.routes.only and not is_literal(host):
                raise NameNotRouted(f"{host}:{uri.port} has no route, and only routed names may be reached")
            # An address in the URL is refused before a connection is tried; a name, when it is connected.
            if is_literal(host) and (refusal := self.guard.refusal(host)) and not self.routes.leads_to(host, uri.port):
                raise AddressRefused(refusal)
            return super()._getEndpoint(uri)  # type: ignore[no-untyped-call]
        factory = self._endpointFactory
        endpoint = HostnameEndpoint(
            factory._reactor, *target, timeout=factory._connectTimeout, bindAddress=factory._bindAddress
        )
        if uri.scheme != b"https":
            return endpoint
        creator = factory._policyForHTTPS.creatorForNetloc(uri.host, uri.port)
        return wrapClientTLS(creator, endpoint)  # type: ignore[arg-type]


class _TunnelAgent(_Exact, _TunnelingAgent):
    """Through a proxy to https: the tunnel's target is the URL's own host."""


class _ProxyAgent(_Exact, _ScrapyProxyAgent):
    """Through a proxy to http: the target is the whole URL."""


_EXACT: dict[type[Agent], type[_Exact]] = {
    _BindAddressAgent: _DirectAgent,
    _TunnelingAgent: _TunnelAgent,
    _ScrapyProxyAgent: _ProxyAgent,
}


class _ExactScrapyAgent(_ScrapyAgent):
    """Scrapy's own agent, with our agents inside."""

    routes: Routes
    guard: AddressGuard

    def _get_agent(self, request: Request, timeout: float) -> Agent:
        agent = super()._get_agent(request, timeout)
        exact = _EXACT[type(agent)]
        # Scrapy itself swaps the class of the response parser like this: its agents are built in one long method.
        agent.__class__ = exact  # type: ignore[assignment]
        target = request_target(request.url)
        if exact is _ProxyAgent:
            scheme, rest = request.url.split("://", 1)
            target = f"{scheme}://{rest.split('/', 1)[0].split('?', 1)[0]}{target}"
        agent.target = target.encode("ascii")  # type: ignore[attr-defined]
        agent.routes, agent.guard = self.routes, self.guard  # type: ignore[attr-defined]
        return agent

    def answer_without_body(self, request: Request) -> Response | None:
        """What had arrived of the answer when the time was up, if its headers had."""
        if self._txresponse is None:
            return None
        headers = self._headers_from_twisted_response(self._txresponse)
        return make_response(request.url, int(self._txresponse.code), headers, flags=[BODY_TIMEOUT])


class ExactDownloadHandler(HTTP11DownloadHandler):
    """Scrapy's handler for http and https, sending each URL's target byte for byte to addresses that are allowed."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        settings = crawler.settings
        self._routes = Routes.parse(
            settings.getlist("ARKAUDIT_CONNECT_TO"), only=settings.getbool("ARKAUDIT_ONLY_ROUTED")
        )
        self._guard = AddressGuard.allowing(settings.getlist("ARKAUDIT_ALLOW_ADDRESSES"))
        self._pool._factory = partial(  # type: ignore[assignment]
            _GuardedFactory, self._guard, self._routes
        )

    async def download_request(self, request: Request) -> Response:
        agent = _ExactScrapyAgent(
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
        except DownloadTimeoutError:
            answer = agent.answer_without_body(request)
            if answer is None:
                raise
            return answer
