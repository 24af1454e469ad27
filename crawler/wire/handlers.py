"""The download handler: each request is sent exactly as asked, to an address that is allowed, when it is its turn.

Scrapy's own agents rebuild the target from a parsed URL and so lose a bare ``?``, which is a question of its own
(draft-kunze-ark-10, 6). The seams used here are private to Scrapy 2.19, to which the project is pinned; tests that
read request lines from raw sockets guard them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any
from urllib.parse import urlsplit

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
    TellingResolver,
    refused_unasked,
)
from crawler.wire.failures import BODY_TIMEOUT
from crawler.wire.identity import RequestSigner
from crawler.wire.middlewares import RunStopped, end_and_words, header_of
from extractors.model.errors import ArkauditError

# The moment at which a request really goes out: connections and handshakes take their time, and intervals count.


@dataclass(slots=True)
class Sending:
    """The progress of one request on its way out."""

    on_sent: Callable[[], None] = field(default=lambda: None)
    """Called when it has gone out; once more when only the end of a handshake has let it go."""
    sign: Callable[[TxHeaders], None] = field(default=lambda headers: None)
    """Puts the signature on its headers, as they are written."""
    is_reused: bool = False
    """Whether it went over a connection that had served before, which the host may have closed meanwhile."""


class WatchedPool:
    """A pool of connections for one request: *pool*, with what happens reported to *sending*."""

    def __init__(self, pool: HTTPConnectionPool, sending: Sending) -> None:
        self._pool = pool
        self._sending = sending
        self.persistent = pool.persistent

    def getConnection(self, key: Hashable, endpoint: IStreamClientEndpoint) -> Deferred[Any]:
        """A connection that says when the request is written to it."""
        return self._pool.getConnection(key, endpoint).addCallback(self._watched)

    def _watched(self, protocol: Any) -> Any:
        protocol.sending = self._sending
        return protocol


#: Bytes of an answer's status line and headers, those of interim answers included.
HEAD_LIMIT = 2**20
#: Lines of a head, and bytes of a header's value that are read: whoever parses one never sees a longer one.
MOST_HEAD_LINES, HEADER_BYTES = 1_000, VALUE_CHARS


class HeadTooLong(ValueError):
    """Raised inside the parser when the headers of an answer never end."""


class _BoundedParser(_LenientHTTPClientParser):
    """Reads heads up to `HEAD_LIMIT`, cuts long values, and passes over lines that are no headers, as browsers do.

    Twisted hangs up on a line over 16 KiB, and gives up an answer for a header's name: that of a PHP warning, say.
    """

    MAX_LENGTH = HEAD_LIMIT
    _head_bytes = _head_lines = 0
    _has_location = False

    def lineReceived(self, line: bytes) -> None:
        self._head_bytes += len(line) + 1
        if self._head_bytes > HEAD_LIMIT:
            raise HeadTooLong(f"more than {HEAD_LIMIT} bytes of headers")
        self._head_lines += 1
        # The empty line that ends the head is read always, and so is the first target of a redirect: without it, a
        # redirect would seem to be broken.
        is_location = line[:9].lower() == b"location:" and not self._has_location
        if self._head_lines > MOST_HEAD_LINES and line.rstrip(b"\r") and not is_location:
            return
        self._has_location |= is_location
        if self.state == STATUS:
            line = b" ".join(line.split(None, 2))  # "HTTP/1.1  200 OK"
            if not line:
                return
        elif self._partialHeader is None and line.startswith((b" ", b"\t")):  # resumes nothing (RFC 9112, 2.2)
            return
        super().lineReceived(line)

    def statusReceived(self, status: bytes) -> None:
        """Refuse a status that has not three digits (RFC 9110, 15): no store could hold all of them."""
        super().statusReceived(status)  # type: ignore[no-untyped-call]
        if not 100 <= self.response.code <= 999:
            raise ParseError("no status of three digits", status[:HEADER_BYTES])  # type: ignore[no-untyped-call]

    def headerReceived(self, name: bytes, value: bytes) -> None:
        """Keep the beginning of a header's value, of a cookie all or nothing; pass over what is no header.

        A blank before the colon is none of the name (RFC 9112, 5.1).
        """
        name = name.rstrip()
        is_cut_cookie = len(value) > HEADER_BYTES and name.lower() == b"set-cookie"
        if is_cut_cookie or len(name) > HEADER_BYTES:
            return
        with suppress(InvalidHeaderName):
            super().headerReceived(name, value[:HEADER_BYTES])  # type: ignore[no-untyped-call]

    def allHeadersReceived(self) -> None:
        """A length or coding of the body that makes no sense is passed over: the status counts all the same."""
        try:
            _contentLength(self.connHeaders)
        except ValueError:
            self.connHeaders.removeHeader(b"content-length")
        codings = self.connHeaders.getRawHeaders(b"transfer-encoding")
        if codings and codings[0].lower() not in self._transferDecoders:
            self.connHeaders.removeHeader(b"transfer-encoding")
        super().allHeadersReceived()  # type: ignore[no-untyped-call]

    def lineLengthExceeded(self, line: bytes) -> None:
        raise HeadTooLong(f"a header of more than {HEAD_LIMIT} bytes")


@implementer(IHandshakeListener)
class _BoundedProtocol(_LenientHTTP11ClientProtocol):
    """Parses answers with `_BoundedParser`, and says when a request goes out.

    Like Scrapy's own, it can only swap the class of the parser.
    """

    sending: Sending | None = None
    """The progress of the request that it is for."""
    _has_served = False

    def handshakeCompleted(self) -> None:
        """Send what was written before this, which goes out only now."""
        self._go_out_soon()

    def request(self, request: TxRequest) -> Deferred[IResponse]:
        if self.sending is not None:
            self.sending.is_reused = self._has_served
            self.sending.sign(request.headers)
        self._has_served = True
        response = super().request(request)
        assert self._parser is not None
        self._parser.__class__ = _BoundedParser
        self._go_out()
        if ISSLTransport.providedBy(self.transport):
            self._go_out_soon()
        return response

    def _go_out_soon(self) -> None:
        """TLS gathers what is written until the event loop comes round."""
        asyncio.get_running_loop().call_later(0, self._go_out)

    def _go_out(self) -> None:
        """Write what is buffered now, and not when the event loop comes round to it: that may take a while."""
        transport: Any = self.transport
        while isinstance(transport, ProtocolWrapper):
            transport = transport.transport
        # One that is being closed is closed by the event loop, which then wants the last word of doWrite for itself.
        if isinstance(transport, Connection) and transport.connected and not transport.disconnecting:
            transport.doWrite()  # type: ignore[no-untyped-call]
        if self.sending is not None:
            self.sending.on_sent()


class BoundedFactory(_LenientHTTP11ClientFactory):
    """Speaks HTTP over new connections with `_BoundedProtocol`."""

    def buildProtocol(self, addr: IAddress | None) -> HTTP11ClientProtocol:
        return _BoundedProtocol(self._quiescentCallback)  # type: ignore[no-untyped-call]


def _exactly(send: Callable[..., Any], target: bytes) -> Callable[..., Any]:
    """Return what sends a request as *send* does, but with this request target, which is its last argument."""

    def sending(*args: Any, **kwargs: Any) -> Any:
        if "requestPath" in kwargs:
            return send(*args, **{**kwargs, "requestPath": target})
        return send(*args[:-1], target, **kwargs)

    return sending


class ExactScrapyAgent(_ScrapyAgent):
    """Scrapy's own agent; what it makes connects where it may, and sends the request target exactly."""

    routes: Routes
    guard: AddressGuard
    sending: Sending
    _reader: Any = None

    def _get_agent(self, request: Request, timeout: float) -> Agent:
        # Scrapy builds its agents in one long method, so they are changed when they are there.
        made = super()._get_agent(request, timeout)
        agent: Any = made
        target = request_target(request.url)
        if type(made) is _BindAddressAgent:  # and none through a proxy, of which these are kinds
            agent._getEndpoint = partial(self._endpoint, agent._endpointFactory)
        elif refusal := self.guard.refusal(urlsplit(request.url).hostname or ""):
            # Names are looked up by the proxy, which has to guard itself.
            raise AddressRefused(refusal)
        if isinstance(agent, _ScrapyProxyAgent):  # to http: the target is the whole URL
            scheme, rest = request.url.split("://", 1)
            target = f"{scheme}://{rest.split('/', 1)[0].split('?', 1)[0]}{target}"
        agent._requestWithEndpoint = _exactly(agent._requestWithEndpoint, target.encode("ascii"))
        agent._pool = WatchedPool(agent._pool, self.sending)
        return made

    def _endpoint(self, factory: Any, uri: URI) -> Any:
        """Connects where it may, the routes first; the URL's own host stays in SNI and in the Host header."""
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
        try:
            return super()._cb_timeout(result, request, url, timeout)
        except DownloadTimeoutError:
            # What cancelling it gave says how far it had come.
            words, gave = f"{timeout:g} seconds", getattr(result, "value", None)
            if isinstance(gave, DNSLookupError):
                raise NameServerSilent(words) from None
            is_early = isinstance(gave, ConnectingCancelledError | CancelledError)
            raise (NotConnectedInTime if is_early else NoAnswerInTime)(words) from None

    def _cb_bodyready(self, txresponse: Any, request: Request) -> Any:
        result = super()._cb_bodyready(txresponse, request)
        self._reader = getattr(txresponse, "_bodyProtocol", None)
        return result

    def _cb_bodydone(self, result: Any, url: str) -> Response:
        if result.get("ip_address") is None:  # Scrapy forgets it where the body isn't read
            result["ip_address"] = getattr(result["txresponse"], "_scrapy_ip_address", None)
        return super()._cb_bodydone(result, url)

    def answer_so_far(self, request: Request) -> Response | None:
        """Return what had arrived of the answer when the time was up, if its headers had."""
        if self._txresponse is None:
            return None
        return make_response(
            request.url,
            int(self._txresponse.code),
            self._headers_from_twisted_response(self._txresponse),
            body=self._reader._bodybuf.getvalue() if self._reader is not None else b"",
            flags=[BODY_TIMEOUT],
            ip_address=getattr(self._txresponse, "_scrapy_ip_address", None),
        )


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
        self._signer: RequestSigner | None = crawler.settings.get("ARKAUDIT_SIGNER")
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
            sending = Sending(slot.report_sent, partial(self._sign, request.url))
            try:
                response = await self._exchange(request, sending)
            except Exception as failure:
                if _is_stale(failure, sending):
                    raise _ConnectionStale from failure
                slot.report_failure(*end_and_words(failure))
                raise
            proxy = request.meta.get("proxy")
            if response.status == _PROXY_AUTHENTICATION_REQUIRED and proxy:
                raise ProxyFailed(f"the proxy {proxy} wants to know who asks")
            header = header_of(response.headers, "Retry-After")
            is_wish = response.status == 429 or response.status >= 500 or 300 <= response.status < 400
            wish_s = retry_after_s(header, at=datetime.now(UTC).isoformat()) if is_wish else None
            slot.report_answer(response.status, wish_s)
            return response

    def _sign(self, url: str, headers: TxHeaders) -> None:
        """Sign a request for the host that it names; one of a redirect, or sent once more, is signed anew."""
        if self._signer is not None:
            host = headers.getRawHeaders("host", [""])[0]
            signature = self._signer.headers(f"{urlsplit(url).scheme}://{host}/")
            for name, value in signature.items():
                headers.setRawHeaders(name, [value])

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
            answer = agent.answer_so_far(request) if isinstance(failure, DownloadTimeoutError) else None
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
        if urlsplit(request.url).scheme == "http":  # no tunnel: whatever is spoken is spoken with the proxy
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
