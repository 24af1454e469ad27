"""The moment at which a request really goes out: connections and handshakes take their time, and intervals count.

Twisted's pool hands out connections; a `WatchedPool` tells when a request was written to one, and whether that
connection had been used before. The seams are private to Twisted's agents, as those of `agents.py` are to Scrapy's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from twisted.internet.interfaces import ISSLTransport
from twisted.internet.tcp import Connection
from twisted.protocols.policies import ProtocolWrapper

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred
    from twisted.internet.interfaces import IStreamClientEndpoint
    from twisted.web._newclient import Request as TxRequest
    from twisted.web.client import HTTPConnectionPool
    from twisted.web.iweb import IResponse


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
        """A connection that tells when the request is written to it."""
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
        if isinstance(transport, Connection) and transport.connected and not transport.disconnecting:
            transport.doWrite()  # type: ignore[no-untyped-call]
        self._sending.on_sent()
