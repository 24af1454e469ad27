"""Agents of Twisted and Scrapy put right: exact targets, guarded addresses, long headers, distinct timeouts.

Scrapy's own agents rebuild the target from a parsed URL and so lose a bare ``?``, which is a question of its own
(draft-kunze-ark-10, 6). The seams used here are private to Scrapy 2.19, to which the project is pinned; tests that
read request lines from raw sockets guard them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy.core.downloader.handlers.http11 import (
    _BindAddressAgent,
    _LenientHTTP11ClientFactory,
    _LenientHTTP11ClientProtocol,
    _LenientHTTPClientParser,
    _ScrapyAgent,
    _ScrapyProxyAgent,
    _TunnelingAgent,
)
from scrapy.exceptions import DownloadTimeoutError
from scrapy.utils._download_handlers import make_response
from twisted.internet.defer import CancelledError
from twisted.internet.endpoints import wrapClientTLS
from twisted.internet.error import ConnectingCancelledError, DNSLookupError
from twisted.internet.interfaces import IHandshakeListener, ISSLTransport
from twisted.internet.tcp import Connection
from twisted.protocols.policies import ProtocolWrapper
from twisted.python.failure import Failure
from twisted.web._newclient import STATUS, _contentLength
from twisted.web.http_headers import InvalidHeaderName
from zope.interface import implementer

from crawler.model.addresses import AddressGuard, Routes
from crawler.model.resolving import request_target
from crawler.wire.endpoints import AddressRefused, GuardedEndpoint, NameServerSilent
from crawler.wire.failures import BODY_TIMEOUT

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response
    from twisted.internet.defer import Deferred
    from twisted.internet.interfaces import IAddress, IStreamClientEndpoint
    from twisted.web._newclient import HTTP11ClientProtocol
    from twisted.web._newclient import Request as TxRequest
    from twisted.web.client import URI, Agent, HTTPConnectionPool
    from twisted.web.iweb import IResponse


# The moment at which a request really goes out: connections and handshakes take their time, and intervals count.


@dataclass(slots=True)
class Sending:
    """The progress of one request on its way out."""

    on_sent: Callable[[], None] = field(default=lambda: None)
    """Called when it has gone out; once more when only the end of a handshake has let it go."""
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
        return self._pool.getConnection(key, endpoint).addCallback(_Watched, self._sending)


class _Watched:
    """A connection, for one request."""

    def __init__(self, protocol: Any, sending: Sending) -> None:
        self._protocol = protocol
        self._sending = sending

    def request(self, request: TxRequest) -> Deferred[IResponse]:
        self._sending.is_reused = getattr(self._protocol, "has_served", False)
        self._protocol.has_served = True
        self._protocol.on_handshake = self._goes_out_soon
        response: Deferred[IResponse] = self._protocol.request(request)
        self._goes_out()
        if ISSLTransport.providedBy(self._protocol.transport):
            self._goes_out_soon()
        return response

    def _goes_out_soon(self) -> None:
        """TLS gathers what is written until the event loop comes round."""
        asyncio.get_running_loop().call_later(0, self._goes_out)

    def _goes_out(self) -> None:
        """Write what is buffered now, and not when the event loop comes round to it: that may take a while."""
        transport = self._protocol.transport
        while isinstance(transport, ProtocolWrapper):
            transport = transport.transport
        # One that is being closed is closed by the event loop, which then wants the last word of doWrite for itself.
        if (
            isinstance(transport, Connection)
            and transport.connected
            and not transport.disconnecting
        ):
            transport.doWrite()  # type: ignore[no-untyped-call]
        self._sending.on_sent()


#: Bytes of an answer's status line and headers; a single header may take them all.
HEAD_LIMIT = 2**20


class HeadTooLong(ValueError):
    """Raised inside the parser when the headers of an answer never end."""


class NotConnectedInTime(DownloadTimeoutError):
    """Raised when the time was up before a connection was made."""


class NoAnswerInTime(DownloadTimeoutError):
    """Raised when the time was up and the host, though connected, had said nothing."""


class _BoundedParser(_LenientHTTPClientParser):
    """Takes heads as browsers do: of any length up to `HEAD_LIMIT`, and without the lines of which nothing can be made.

    Twisted hangs up on a line over 16 KiB, and gives up an answer for a header's name: that of a PHP warning, say.
    """

    MAX_LENGTH = HEAD_LIMIT
    _head_bytes = 0

    def lineReceived(self, line: bytes) -> None:
        self._head_bytes += len(line) + 1
        if self._head_bytes > HEAD_LIMIT:
            raise HeadTooLong(f"more than {HEAD_LIMIT} bytes of headers")
        if self.state == STATUS:
            line = b" ".join(line.split(None, 2))  # "HTTP/1.1  200 OK"
            if not line:
                return
        elif self._partialHeader is None and line.startswith(
            (b" ", b"\t")
        ):  # resumes nothing (RFC 9112, 2.2)
            return
        super().lineReceived(line)

    def headerReceived(self, name: bytes, value: bytes) -> None:
        """Pass over what is no header; a blank before the colon is none of the name (RFC 9112, 5.1)."""
        with suppress(InvalidHeaderName):
            super().headerReceived(name.rstrip(), value)  # type: ignore[no-untyped-call]

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
    """Parses answers with `_BoundedParser`; like Scrapy's own, it can only swap the class of the parser."""

    on_handshake: Callable[[], None] | None = None

    def handshakeCompleted(self) -> None:
        """Return what was written before this goes out only now."""
        if self.on_handshake is not None:
            self.on_handshake()

    def request(self, request: TxRequest) -> Deferred[IResponse]:
        response = super().request(request)
        assert self._parser is not None
        self._parser.__class__ = _BoundedParser
        return response


class BoundedFactory(_LenientHTTP11ClientFactory):
    """Speaks HTTP over new connections with `_BoundedProtocol`."""

    def buildProtocol(self, addr: IAddress | None) -> HTTP11ClientProtocol:
        return _BoundedProtocol(self._quiescentCallback)  # type: ignore[no-untyped-call]


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
    """Connects where it may, the routes first; the URL's own host stays in SNI and in the Host header."""

    def _getEndpoint(self, uri: URI) -> Any:
        factory = self._endpointFactory
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


class _TunnelAgent(_Exact, _TunnelingAgent):
    """Through a proxy to https: the tunnel's target is the URL's own host."""


class _ProxyAgent(_Exact, _ScrapyProxyAgent):
    """Through a proxy to http: the target is the whole URL."""


_EXACT: dict[type[Agent], type[_Exact]] = {
    _BindAddressAgent: _DirectAgent,
    _TunnelingAgent: _TunnelAgent,
    _ScrapyProxyAgent: _ProxyAgent,
}


class ExactScrapyAgent(_ScrapyAgent):
    """Scrapy's own agent, with our agents inside."""

    routes: Routes
    guard: AddressGuard
    sending: Sending
    _reader: Any = None

    def _get_agent(self, request: Request, timeout: float) -> Agent:
        agent = super()._get_agent(request, timeout)
        exact = _EXACT[type(agent)]
        if exact is not _DirectAgent and (
            refusal := self.guard.refusal(urlsplit(request.url).hostname or "")
        ):
            raise AddressRefused(
                refusal
            )  # names are looked up by the proxy, which has to guard itself
        # Scrapy itself swaps the class of the response parser like this: its agents are built in one long method.
        agent.__class__ = exact  # type: ignore[assignment]
        target = request_target(request.url)
        if exact is _ProxyAgent:
            scheme, rest = request.url.split("://", 1)
            target = f"{scheme}://{rest.split('/', 1)[0].split('?', 1)[0]}{target}"
        agent.target = target.encode("ascii")  # type: ignore[attr-defined]
        agent.routes, agent.guard = self.routes, self.guard  # type: ignore[attr-defined]
        agent._pool = WatchedPool(agent._pool, self.sending)  # type: ignore[assignment]
        return agent

    def _cb_timeout(self, result: Any, request: Request, url: str, timeout: float) -> Any:
        try:
            return super()._cb_timeout(result, request, url, timeout)
        except DownloadTimeoutError:
            raise _late(result, f"{timeout:g} seconds") from None

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


def _late(result: Any, words: str) -> Exception:
    """Return how far a request had come when the time was up, from what cancelling it gave."""
    if isinstance(result, Failure):
        if isinstance(result.value, DNSLookupError):
            return NameServerSilent(words)
        if isinstance(result.value, ConnectingCancelledError | CancelledError):
            return NotConnectedInTime(words)
    return NoAnswerInTime(words)
