"""The download handler: sends each request exactly as written, to an allowed address, in its turn.

Scrapy's own agents rebuild the target from a parsed URL, and so lose a bare ``?``, which is a question of its own
(draft-kunze-ark-10, 6). The interfaces used here are private to Scrapy 2.19, to which the project is pinned; tests that
read request lines from raw sockets guard them.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any

from scrapy import Request
from scrapy.core.downloader.handlers.http11 import (
    HTTP11DownloadHandler,
    TunnelError,
    _BindAddressAgent,
    _LenientHTTP11ClientFactory,
    _LenientHTTP11ClientProtocol,
    _LenientHTTPClientParser,
    _ScrapyAgent,
    _ScrapyProxyAgent,
)
from scrapy.crawler import Crawler
from scrapy.exceptions import CannotResolveHostError, DownloadTimeoutError
from scrapy.http import Response
from scrapy.utils._download_handlers import make_response, wrap_twisted_exceptions
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.endpoints import wrapClientTLS
from twisted.internet.error import ConnectError, ConnectingCancelledError, DNSLookupError
from twisted.internet.interfaces import IAddress, IHandshakeListener, ISSLTransport, IStreamClientEndpoint
from twisted.internet.tcp import Connection
from twisted.protocols.policies import ProtocolWrapper
from twisted.web._newclient import (
    STATUS,
    HTTP11ClientProtocol,
    ParseError,
    RequestNotSent,
    RequestTransmissionFailed,
    ResponseNeverReceived,
    _contentLength,
)
from twisted.web._newclient import Request as TxRequest
from twisted.web.client import URI, Agent, HTTPConnectionPool
from twisted.web.http_headers import Headers as TxHeaders
from twisted.web.http_headers import InvalidHeaderName
from twisted.web.iweb import IResponse
from zope.interface import implementer

from crawler.model.addresses import AddressGuard, Routes
from crawler.model.observations import VALUE_CHARS, ChainEnd
from crawler.model.resolving import request_target, retry_after_s
from crawler.politeness.throttle import routes_and_guard, throttle_of
from crawler.wire.endpoints import (
    AddressRefused,
    GuardedEndpoint,
    LookUpNotBegun,
    NameServerSilent,
    NoAnswerInTime,
    NotConnectedInTime,
    ReportingResolver,
    refusal_before_lookup,
)
from crawler.wire.failures import BODY_TIMEOUT
from crawler.wire.middlewares import RunStopped, end_and_words, header_of
from extractors.model.errors import ArkauditError
from extractors.model.urls import split_url

# The moment when a request is sent. Connections and handshakes take time, and intervals count from here.


@dataclass(slots=True)
class RequestProgress:
    """The callbacks and the state of one request that is being sent."""

    on_sent: Callable[[], None] = field(default=lambda: None)
    """Called when the request was written; called again if the end of a handshake sent it."""
    sign: Callable[[TxHeaders], None] = field(default=lambda headers: None)
    """Adds the signature to the request's headers when they are written."""
    is_reused: bool = False
    """True if the connection had served another request before, so that the host may have closed it."""


class WatchedPool:
    """A pool of connections for one request: *pool*, with events reported to *progress*."""

    def __init__(self, pool: HTTPConnectionPool, progress: RequestProgress) -> None:
        self._pool = pool
        self._progress = progress
        self.persistent = pool.persistent

    def getConnection(self, key: Hashable, endpoint: IStreamClientEndpoint) -> Deferred[Any]:
        """Return a connection that reports when the request is written to it."""
        return self._pool.getConnection(key, endpoint).addCallback(self._watch)

    def _watch(self, protocol: Any) -> Any:
        protocol.progress = self._progress
        return protocol


#: The largest size of an answer's status line and headers in bytes, with those of interim answers.
HEAD_LIMIT = 2**20
#: The numbers of header lines and of bytes of a header's value that are read.
MOST_HEAD_LINES, HEADER_BYTES = 1_000, VALUE_CHARS


class HeadTooLong(ValueError):
    """Raised inside the parser if the headers of an answer exceed `HEAD_LIMIT`."""


class _BoundedParser(_LenientHTTPClientParser):
    """Reads headers up to `HEAD_LIMIT`, cuts long values, and skips lines that are not headers, as browsers do.

    Twisted drops the connection at a line over 16 KiB, and the answer at an invalid name, for example a PHP warning.
    """

    MAX_LENGTH = HEAD_LIMIT
    _head_bytes = _head_lines = 0
    _has_location = False

    def lineReceived(self, line: bytes) -> None:
        self._head_bytes += len(line) + 1
        if self._head_bytes > HEAD_LIMIT:
            raise HeadTooLong(f"more than {HEAD_LIMIT} bytes of headers")
        self._head_lines += 1
        # The empty line that ends the headers is always read. So is the first Location: without it, a redirect would
        # seem to be broken.
        is_location = line[:9].lower() == b"location:" and not self._has_location
        if self._head_lines > MOST_HEAD_LINES and line.rstrip(b"\r") and not is_location:
            return
        self._has_location |= is_location
        if self.state == STATUS:
            line = b" ".join(line.split(None, 2))  # "HTTP/1.1  200 OK"
            if not line:
                return
        elif self._partialHeader is None and line.startswith((b" ", b"\t")):  # continues no header (RFC 9112, 2.2)
            return
        super().lineReceived(line)

    def statusReceived(self, status: bytes) -> None:
        """Reject a status without three digits (RFC 9110, 15), which a store could not hold."""
        super().statusReceived(status)  # type: ignore[no-untyped-call]
        if not 100 <= self.response.code <= 999:
            raise ParseError("no status of three digits", status[:HEADER_BYTES])  # type: ignore[no-untyped-call]

    def headerReceived(self, name: bytes, value: bytes) -> None:
        """Keep the header, with a long value cut to `HEADER_BYTES`. Skip invalid headers, and cookies that are too long.

        A space before the colon is not part of the name (RFC 9112, 5.1).
        """
        name = name.rstrip()
        is_cut_cookie = len(value) > HEADER_BYTES and name.lower() == b"set-cookie"
        if is_cut_cookie or len(name) > HEADER_BYTES:
            return
        with suppress(InvalidHeaderName):
            super().headerReceived(name, value[:HEADER_BYTES])  # type: ignore[no-untyped-call]

    def allHeadersReceived(self) -> None:
        """Ignore an impossible Content-Length or an unknown Transfer-Encoding, so that the rest of the answer is read."""
        try:
            is_length = (_contentLength(self.connHeaders) or 0) <= sys.maxsize
        except ValueError:
            is_length = False
        if not is_length:
            self.connHeaders.removeHeader(b"content-length")
        codings = self.connHeaders.getRawHeaders(b"transfer-encoding")
        if codings and codings[0].lower() not in self._transferDecoders:
            self.connHeaders.removeHeader(b"transfer-encoding")
        super().allHeadersReceived()  # type: ignore[no-untyped-call]

    def lineLengthExceeded(self, line: bytes) -> None:
        raise HeadTooLong(f"a header of more than {HEAD_LIMIT} bytes")


@implementer(IHandshakeListener)
class _BoundedProtocol(_LenientHTTP11ClientProtocol):
    """Parses answers with `_BoundedParser`, and reports when a request is sent.

    Like Scrapy's own protocol, it can only replace the class of the parser.
    """

    progress: RequestProgress | None = None
    """The progress of the current request."""
    _has_served = False

    def handshakeCompleted(self) -> None:
        """Send the request that was written before the handshake."""
        self._flush_soon()

    def request(self, request: TxRequest) -> Deferred[IResponse]:
        """Send the request, signed if it must be, and read its answer by `_BoundedParser`."""
        if self.progress is not None:
            self.progress.is_reused = self._has_served
            self.progress.sign(request.headers)
        self._has_served = True
        response = super().request(request)
        assert self._parser is not None
        self._parser.__class__ = _BoundedParser
        self._flush()
        if ISSLTransport.providedBy(self.transport):
            self._flush_soon()
        return response

    def _flush_soon(self) -> None:
        """Send after the next turn of the event loop, because TLS collects the data until then."""
        asyncio.get_running_loop().call_later(0, self._flush)

    def _flush(self) -> None:
        """Write the buffered data now, not in the next turn of the event loop, which may come late."""
        transport: Any = self.transport
        while isinstance(transport, ProtocolWrapper):
            transport = transport.transport
        # The event loop closes a connection that is being closed, and needs the result of doWrite itself.
        if isinstance(transport, Connection) and transport.connected and not transport.disconnecting:
            transport.doWrite()  # type: ignore[no-untyped-call]
        if self.progress is not None:
            self.progress.on_sent()


class BoundedFactory(_LenientHTTP11ClientFactory):
    """Speaks HTTP over new connections with `_BoundedProtocol`."""

    def buildProtocol(self, addr: IAddress | None) -> HTTP11ClientProtocol:
        return _BoundedProtocol(self._quiescentCallback)  # type: ignore[no-untyped-call]


class ExactScrapyAgent(_ScrapyAgent):
    """Scrapy's own agent, changed to connect only where allowed and to send the exact request target."""

    routes: Routes
    guard: AddressGuard
    progress: RequestProgress
    _reader: Any = None

    def _get_agent(self, request: Request, timeout: float) -> Agent:
        """Return Scrapy's agent, changed so that it sends the exact target, through the guard."""
        # Scrapy builds its agents in one long method, so they are changed afterwards.
        typed_agent = super()._get_agent(request, timeout)
        agent: Any = typed_agent
        target = request_target(request.url)
        if type(typed_agent) is _BindAddressAgent:  # exactly this class: agents for proxies are its subclasses
            agent._getEndpoint = partial(self._endpoint, agent._endpointFactory)
        elif refusal := self.guard.refusal(split_url(request.url).hostname):
            # The proxy looks names up, and has to guard itself.
            raise AddressRefused(refusal)
        if isinstance(agent, _ScrapyProxyAgent):  # for http through a proxy, the target is the whole URL
            scheme, rest = request.url.split("://", 1)
            target = f"{scheme}://{rest.split('/', 1)[0].split('?', 1)[0]}{target}"
        send_request, target_octets = agent._requestWithEndpoint, target.encode("ascii")

        def send_exactly(*args: Any, **kwargs: Any) -> Any:
            if "requestPath" in kwargs:
                return send_request(*args, **{**kwargs, "requestPath": target_octets})
            return send_request(*args[:-1], target_octets, **kwargs)  # the target is the last argument

        agent._requestWithEndpoint = send_exactly
        agent._pool = WatchedPool(agent._pool, self.progress)
        return typed_agent

    def _endpoint(self, factory: Any, uri: URI) -> Any:
        """Return an endpoint that follows the routes and the guard; SNI and the Host header keep the URL's own host."""
        endpoint = GuardedEndpoint(
            factory._reactor,
            uri.host.decode("ascii"),
            uri.port,
            guard=self.guard,
            routes=self.routes,
            timeout=factory._connectTimeout,
            bind=factory._bindAddress,
        )
        if uri.scheme != b"https":
            return endpoint
        creator = factory._policyForHTTPS.creatorForNetloc(uri.host, uri.port)
        return wrapClientTLS(creator, endpoint)  # type: ignore[arg-type]

    def _cb_timeout(self, result: Any, request: Request, url: str, timeout: float) -> Any:
        """Raise the exception for a timeout by the moment of the timeout: at look-up, connection or answer."""
        try:
            return super()._cb_timeout(result, request, url, timeout)
        except DownloadTimeoutError:
            # The result of the cancellation shows how far the request had come.
            message, cancellation = f"{timeout:g} seconds", getattr(result, "value", None)
            if isinstance(cancellation, DNSLookupError):
                raise NameServerSilent(message) from None
            is_early = isinstance(cancellation, ConnectingCancelledError | CancelledError)
            raise (NotConnectedInTime if is_early else NoAnswerInTime)(message) from None

    def _cb_bodyready(self, txresponse: Any, request: Request) -> Any:
        result = super()._cb_bodyready(txresponse, request)
        self._reader = getattr(txresponse, "_bodyProtocol", None)
        return result

    def _cb_bodydone(self, result: Any, url: str) -> Response:
        for name in ("certificate", "ip_address"):  # Scrapy omits them if the body isn't read
            result.setdefault(name, getattr(result["txresponse"], f"_scrapy_{name}", None))
        return super()._cb_bodydone(result, url)

    def answer_so_far(self, request: Request) -> Response | None:
        """Return the part of the answer that had arrived at the timeout, or None without its headers."""
        if self._txresponse is None:
            return None
        return make_response(
            request.url,
            int(self._txresponse.code),
            self._headers_from_twisted_response(self._txresponse),
            body=self._reader._bodybuf.getvalue() if self._reader is not None else b"",
            flags=[BODY_TIMEOUT],
            certificate=getattr(self._txresponse, "_scrapy_certificate", None),
            ip_address=getattr(self._txresponse, "_scrapy_ip_address", None),
        )


#: The time in seconds that an idle connection to a host stays open.
IDLE_S = 60
_PROXY_AUTHENTICATION_REQUIRED = 407
#: Failures of a request that are not the proxy's fault: the proxy waited for the host, or the address was refused here.
_NOT_OF_PROXY = frozenset({ChainEnd.TIMEOUT, ChainEnd.REFUSED_ADDRESS})
#: Errors on a connection that the host closed while it was idle.
_STALE_ERRORS = (RequestNotSent, RequestTransmissionFailed, ResponseNeverReceived)


class ProxyFailed(ArkauditError):
    """Raised if a configured proxy could not be reached or refused to serve; this says nothing about the host."""


class _ConnectionStale(Exception):
    """Raised if a used connection was found closed, so that the request may never have arrived."""


class ExactDownloadHandler(HTTP11DownloadHandler):
    """Scrapy's handler for http and https, which sends each URL's target byte for byte to allowed addresses."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._routes, self._guard = routes_and_guard(crawler.settings)
        self._throttle = throttle_of(crawler)
        self._signer = crawler.settings.get("ARKAUDIT_SIGNER")
        self._pool._factory = BoundedFactory
        self._pool.maxPersistentPerHost = self._throttle.most_in_flight
        self._pool.cachedConnectionTimeout = IDLE_S
        # Twisted would repeat a request at once if the host has closed an idle connection; here it waits for its turn.
        self._pool.retryAutomatically = False

    async def download_request(self, request: Request) -> Response:
        parts = split_url(request.url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        if not request.meta.get("proxy"):
            refusal = refusal_before_lookup(parts.hostname, port, self._routes, self._guard)
            if refusal is not None:
                raise refusal
        try:
            return await self._in_turn(request)
        except _ConnectionStale:
            return await self._in_turn(request)

    async def _in_turn(self, request: Request) -> Response:
        """Make one exchange in the host's turn, and report its result to the throttle."""
        async with self._throttle.slot(request.url) as slot:
            if getattr(self._crawler.spider, "is_stopping", False):
                raise RunStopped("the run was stopped")
            progress = RequestProgress(slot.report_sent, partial(self._sign, request.url))
            try:
                response = await self._exchange(request, progress)
            except Exception as failure:
                if _is_stale(failure, progress):
                    raise _ConnectionStale from failure
                slot.report_failure(*end_and_words(failure))
                raise
            proxy = request.meta.get("proxy")
            if response.status == _PROXY_AUTHENTICATION_REQUIRED and proxy:
                raise ProxyFailed(f"the proxy {proxy} requires a log-in")
            header = header_of(response.headers, "Retry-After")
            may_want_pause = response.status == 429 or response.status >= 500 or 300 <= response.status < 400
            wanted_pause_s = retry_after_s(header, at=datetime.now(UTC).isoformat()) if may_want_pause else None
            slot.report_answer(response.status, wanted_pause_s)
            return response

    def _sign(self, url: str, headers: TxHeaders) -> None:
        """Sign a request for its host. Redirects and repeated requests get their own signatures."""
        if self._signer is not None:
            host = headers.getRawHeaders("host", [""])[0]
            signature = self._signer.headers(f"{split_url(url).scheme}://{host}/")
            for name, value in signature.items():
                headers.setRawHeaders(name, [value])

    async def _exchange(self, request: Request, progress: RequestProgress) -> Response:
        """Return the answer to a request, or as much of it as arrived in time. Raises an exception with the reason in
        words.
        """
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
        agent.routes, agent.guard, agent.progress = self._routes, self._guard, progress
        try:
            with wrap_twisted_exceptions():
                return await maybe_deferred_to_future(agent.download_request(request))
        except Exception as failure:
            answer = agent.answer_so_far(request) if isinstance(failure, DownloadTimeoutError) else None
            if answer is not None:
                return answer
            plain_failure = failure if _is_stale(failure, progress) else _explain(failure, request)
            if plain_failure is failure:
                raise
            raise plain_failure from failure


def _is_stale(failure: Exception, progress: RequestProgress) -> bool:
    return progress.is_reused and isinstance(failure.__cause__, _STALE_ERRORS)


def _explain(failure: Exception, request: Request) -> Exception:
    """Return a more precise exception for *failure* if the proxy or the look-up of the name failed; else *failure*."""
    proxy = request.meta.get("proxy")
    if proxy:
        proxy_errors = (CannotResolveHostError, ConnectError, NotConnectedInTime, TunnelError)
        is_of_proxy = isinstance(failure, proxy_errors) or isinstance(failure.__cause__, proxy_errors)
        if split_url(request.url).scheme == "http":  # without a tunnel, all communication is with the proxy
            is_of_proxy |= end_and_words(failure)[0] not in _NOT_OF_PROXY
        return ProxyFailed(f"the proxy {proxy}: {failure}") if is_of_proxy else failure
    if isinstance(failure, CannotResolveHostError | NameServerSilent):
        from twisted.internet import reactor

        resolver = reactor.nameResolver
        host = split_url(request.url).hostname
        if isinstance(failure, NameServerSilent):
            has_begun = not isinstance(resolver, ReportingResolver) or resolver.is_looking_up(host)
            return failure if has_begun else LookUpNotBegun(str(failure))
        if isinstance(resolver, ReportingResolver):
            return resolver.failure(host) or failure
    return failure
