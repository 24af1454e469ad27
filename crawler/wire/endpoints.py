"""Connects along the routes, and only to allowed addresses; others don't even see a handshake."""

from __future__ import annotations

import re
import socket
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from scrapy.exceptions import DownloadTimeoutError
from scrapy.resolver import CachingHostnameResolver
from twisted.internet._resolver import GAIResolver
from twisted.internet.base import ReactorBase
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import HostnameEndpoint, TCP4ClientEndpoint, TCP6ClientEndpoint
from twisted.internet.error import DNSLookupError
from twisted.internet.interfaces import (
    IAddress,
    IHostnameResolver,
    IReactorPluggableNameResolver,
    IResolutionReceiver,
    IStreamClientEndpoint,
)
from twisted.python.failure import Failure
from zope.interface import implementer

from crawler.model.addresses import AddressGuard, Routes
from extractors.model.errors import ArkauditError

#: An address in its usual notation. Any other notation is left to the resolver.
_ADDRESS = re.compile(r"(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!\Z)|\Z)){4}|(?=.*:.*:)[0-9a-fA-F:]{2,39}")


class AddressRefused(ArkauditError):
    """Raised if all addresses of a host are forbidden; no connection has been tried."""


class NotConnectedInTime(DownloadTimeoutError):
    """Raised if the timeout came before the connection."""


class NoAnswerInTime(DownloadTimeoutError):
    """Raised if the timeout came after the connection and before any answer."""


def refusal_before_lookup(host: str, port: int, routes: Routes, guard: AddressGuard) -> Exception | None:
    """Return the exception for a *host* that is refused without a look-up of its addresses, or None."""
    if routes.target(host, port) is not None:
        return None
    refusal = guard.refusal(host)
    if refusal:
        return AddressRefused(refusal)
    if routes.only and not guard.allows(host):
        return AddressRefused(f"{host}:{port} has no route, and only routed names may be reached")
    return None


@implementer(IStreamClientEndpoint)
class GuardedEndpoint:
    """An endpoint for a host's name or address: at its route, or else at an allowed address.

    Raises `AddressRefused` for a name without a route, if only routed names are allowed, and for a host that is
    written as a forbidden address. `connect` fails with `AddressRefused` if no address of the name is allowed.
    """

    def __init__(
        self, reactor: Any, host: str, port: int, *, guard: AddressGuard, routes: Routes, timeout: float, bind: Any
    ) -> None:
        refusal = refusal_before_lookup(host, port, routes, guard)
        if refusal is not None:
            raise refusal
        target = routes.target(host, port)
        self._guard = guard if target is None else None
        self._refusals: list[str] = []
        self._reactor = reactor
        self._target = target or (host, port)
        self._options = {"timeout": timeout, "bindAddress": bind}

    def connect(self, factory: Any) -> Deferred[Any]:
        """Connect to the host, by an address that the guard allows; a failure gets the reason in words."""
        host, port = self._target
        endpoint: Any
        if _ADDRESS.fullmatch(host):  # no look-up needed
            endpoint_class = TCP6ClientEndpoint if ":" in host else TCP4ClientEndpoint
            endpoint = endpoint_class(self._reactor, host, port, **self._options)
        else:
            guarded_reactor = _AllowedAddresses(self._reactor, self._refusal)
            endpoint = HostnameEndpoint(guarded_reactor, host, port, **self._options)
        connection: Deferred[Any] = endpoint.connect(factory)
        return connection.addErrback(self._explain)

    def _refusal(self, address: str) -> str | None:
        refusal = self._guard.refusal(address) if self._guard is not None else None
        if refusal:
            self._refusals.append(refusal)
        return refusal

    def _explain(self, failure: Failure) -> Failure:
        """Report a name with only forbidden addresses as refused, not as a name without an address."""
        if self._refusals and isinstance(failure.value, DNSLookupError):
            raise AddressRefused(self._refusals[0])
        return failure


@implementer(IReactorPluggableNameResolver, IHostnameResolver)
class _AllowedAddresses:
    """The reactor, with a resolver that returns only allowed addresses."""

    def __init__(self, reactor: Any, refusal: Any) -> None:
        self._reactor = reactor
        self._refusal = refusal

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reactor, name)

    @property
    def nameResolver(self) -> Any:
        return self

    def resolveHostName(self, receiver: Any, *args: Any, **kwargs: Any) -> Any:
        address_filter = _AddressFilter(receiver, self._refusal)
        return self._reactor.nameResolver.resolveHostName(address_filter, *args, **kwargs)


@implementer(IResolutionReceiver)
class _AddressFilter:
    """A receiver of looked-up addresses that passes only allowed addresses to *receiver*."""

    def __init__(self, receiver: Any, refusal: Any) -> None:
        self._receiver = receiver
        self._refusal = refusal

    def __getattr__(self, name: str) -> Any:
        return getattr(self._receiver, name)

    def addressResolved(self, address: IAddress) -> None:
        if self._refusal(getattr(address, "host", "")) is None:
            self._receiver.addressResolved(address)


# Looks up IPv4 and IPv6 addresses, and remembers why a name had no address, which Twisted forgets.

#: Seconds after which a temporary failure counts as a silent name server; a faster one is the server's own failure.
SILENT_AFTER_S = 4.0


class NameNotFound(ArkauditError):
    """Raised for a name that doesn't exist or has no address."""


class NameServerFailed(ArkauditError):
    """Raised if the name servers answered with an error."""


class NameServerSilent(ArkauditError):
    """Raised if no name server answered in time."""


class LookUpNotBegun(ArkauditError):
    """Raised if the timeout came before the look-up began; the delay was local."""


class ReportingResolver(CachingHostnameResolver):
    """Scrapy's caching resolver, which also reports why a name had no address."""

    def __init__(
        self, reactor: ReactorBase, cache_size: int, *, getaddrinfo: Callable[..., Any] = socket.getaddrinfo
    ) -> None:
        super().__init__(reactor, cache_size)
        thread_reactor: Any = reactor
        look_up: Any = self._look_up
        resolver: Any = GAIResolver(thread_reactor, getaddrinfo=look_up)
        self.original_resolver = resolver
        self._getaddrinfo = getaddrinfo
        self._failures: dict[str, ArkauditError] = {}
        self._under_way: Counter[str] = Counter()
        """The number of threads looking up each name at present."""

    def failure(self, host: str) -> ArkauditError | None:
        """Return the exception for the last look-up of *host*, or None if no failure is recorded."""
        return self._failures.get(host.lower())

    def is_looking_up(self, host: str) -> bool:
        """Return True while a look-up of *host* is under way."""
        return self._under_way[host.lower()] > 0

    def _look_up(self, host: str, *arguments: Any) -> Any:
        """Call `socket.getaddrinfo` in a thread."""
        name, started_s = host.lower(), time.monotonic()
        self._under_way[name] += 1
        try:
            addresses = self._getaddrinfo(host, *arguments)
        except socket.gaierror as problem:
            self._failures[name] = name_failure(host, problem.errno, time.monotonic() - started_s)
            raise
        except UnicodeError as problem:  # a label that is too long or empty
            self._failures[name] = NameNotFound(host)
            raise socket.gaierror(socket.EAI_NONAME, str(problem)) from problem
        finally:
            self._under_way[name] -= 1
        self._failures.pop(name, None)
        return addresses


def name_failure(host: str, code: int | None, elapsed_s: float) -> ArkauditError:
    """Return the failure that a getaddrinfo error *code* means after *elapsed_s* seconds.

    >>> name_failure("missing.invalid", socket.EAI_NONAME, 0.1), name_failure("n2t.net", socket.EAI_AGAIN, 10.0)
    (NameNotFound('missing.invalid'), NameServerSilent('n2t.net'))
    """
    if code in (socket.EAI_AGAIN, socket.EAI_FAIL, socket.EAI_SYSTEM):
        return NameServerSilent(host) if elapsed_s >= SILENT_AFTER_S else NameServerFailed(host)
    return NameNotFound(host)
