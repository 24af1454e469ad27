"""Connects where the routes lead, and only to addresses that may be reached: not even a handshake with others."""

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

#: An address in its usual notation; in any other it is left to who looks names up.
_ADDRESS = re.compile(r"(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!\Z)|\Z)){4}|(?=.*:.*:)[0-9a-fA-F:]{2,39}")


class AddressRefused(ArkauditError):
    """Raised when all that a host leads to may not be reached; no connection has been tried then."""


class NotConnectedInTime(DownloadTimeoutError):
    """Raised when the time was up before a connection was made."""


class NoAnswerInTime(DownloadTimeoutError):
    """Raised when the time was up and the host, though connected, had said nothing."""


class NameNotRouted(ArkauditError):
    """Raised when only routed names may be reached and this one is not; nothing has been looked up then."""


def refused_unasked(host: str, port: int, routes: Routes, guard: AddressGuard) -> Exception | None:
    """Return why *host* must not be reached, as far as is known without looking it up; a name is refused when
    connected.
    """
    if routes.target(host, port) is not None:
        return None
    refusal = guard.refusal(host)
    if refusal:
        return AddressRefused(refusal)
    if routes.only and not guard.allows(host):
        return NameNotRouted(f"{host}:{port} has no route, and only what is routed may be reached")
    return None


@implementer(IStreamClientEndpoint)
class GuardedEndpoint:
    """An endpoint of a host by name or address: where it is routed to, or else at an address that may be reached.

    Raises `NameNotRouted` or, where the host is written as an address, `AddressRefused`; `connect` fails with
    `AddressRefused` when no address of the name may be reached.
    """

    def __init__(
        self, reactor: Any, host: str, port: int, *, guard: AddressGuard, routes: Routes, timeout: float, bind: Any
    ) -> None:
        refused = refused_unasked(host, port, routes, guard)
        if refused is not None:
            raise refused
        target = routes.target(host, port)
        self._guard = guard if target is None else None
        self._refusals: list[str] = []
        self._reactor = reactor
        self._target = target or (host, port)
        self._options = {"timeout": timeout, "bindAddress": bind}

    def connect(self, factory: Any) -> Deferred[Any]:
        host, port = self._target
        endpoint: Any
        if _ADDRESS.fullmatch(host):  # nothing to look up, and no look-up to wait for
            at_address = TCP6ClientEndpoint if ":" in host else TCP4ClientEndpoint
            endpoint = at_address(self._reactor, host, port, **self._options)
        else:
            names = _AllowedAddresses(self._reactor, self._refusal)
            endpoint = HostnameEndpoint(names, host, port, **self._options)
        connected: Deferred[Any] = endpoint.connect(factory)
        return connected.addErrback(self._explained)

    def _refusal(self, address: str) -> str | None:
        refusal = self._guard.refusal(address) if self._guard is not None else None
        if refusal:
            self._refusals.append(refusal)
        return refusal

    def _explained(self, failure: Failure) -> Failure:
        """A name that has only addresses that may not be reached is not one without an address."""
        if self._refusals and isinstance(failure.value, DNSLookupError):
            raise AddressRefused(self._refusals[0])
        return failure


@implementer(IReactorPluggableNameResolver, IHostnameResolver)
class _AllowedAddresses:
    """The reactor, whose names have only the addresses that may be reached."""

    def __init__(self, reactor: Any, refusal: Any) -> None:
        self._reactor = reactor
        self._refusal = refusal

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reactor, name)

    @property
    def nameResolver(self) -> Any:
        return self

    def resolveHostName(self, receiver: Any, *args: Any, **kwargs: Any) -> Any:
        sieve = _Sieve(receiver, self._refusal)
        return self._reactor.nameResolver.resolveHostName(sieve, *args, **kwargs)


@implementer(IResolutionReceiver)
class _Sieve:
    """Hands on the addresses of a name that may be reached."""

    def __init__(self, receiver: Any, refusal: Any) -> None:
        self._receiver = receiver
        self._refusal = refusal

    def __getattr__(self, name: str) -> Any:
        return getattr(self._receiver, name)

    def addressResolved(self, address: IAddress) -> None:
        if self._refusal(getattr(address, "host", "")) is None:
            self._receiver.addressResolved(address)


# Looks names up, IPv4 and IPv6 alike, and remembers why a name had no address: Twisted forgets it.

#: A temporary failure that took so long is a name server's silence; a faster one, its own failure.
SILENT_AFTER_S = 4.0


class NameFailure(ArkauditError):
    """The root of what can be wrong with a name; the message is the name."""


class NameNotFound(NameFailure):
    """Raised for a name that doesn't exist, or has no address."""


class NameServerFailed(NameFailure):
    """Raised when the name servers answered, but could not say."""


class NameServerSilent(NameFailure):
    """Raised when no name server answered in time."""


class LookUpNotBegun(NameFailure):
    """Raised when the time was up before we had got to looking a name up: that is our own slowness."""


class TellingResolver(CachingHostnameResolver):
    """Scrapy's caching resolver, which can be asked afterwards why a name had no address."""

    def __init__(
        self, reactor: ReactorBase, cache_size: int, *, getaddrinfo: Callable[..., Any] = socket.getaddrinfo
    ) -> None:
        super().__init__(reactor, cache_size)
        threads: Any = reactor
        look_up: Any = self._look_up
        resolver: Any = GAIResolver(threads, getaddrinfo=look_up)
        self.original_resolver = resolver
        self._getaddrinfo = getaddrinfo
        self._failures: dict[str, NameFailure] = {}
        self._under_way: Counter[str] = Counter()
        """How many threads look each name up just now."""

    def failure(self, host: str) -> NameFailure | None:
        """Return why the last look-up of *host* found no address; None when nothing is known of it."""
        return self._failures.get(host.lower())

    def is_looking_up(self, host: str) -> bool:
        """Return whether a name server has been asked for *host*, and has not answered yet."""
        return self._under_way[host.lower()] > 0

    def _look_up(self, host: str, *arguments: Any) -> Any:
        """`socket.getaddrinfo`, called in a thread."""
        name, begun = host.lower(), time.monotonic()
        self._under_way[name] += 1
        try:
            addresses = self._getaddrinfo(host, *arguments)
        except socket.gaierror as problem:
            self._failures[name] = name_failure(host, problem.errno, time.monotonic() - begun)
            raise
        except UnicodeError as problem:  # a label too long, or an empty one
            self._failures[name] = NameNotFound(host)
            raise socket.gaierror(socket.EAI_NONAME, str(problem)) from problem
        finally:
            self._under_way[name] -= 1
        self._failures.pop(name, None)
        return addresses


def name_failure(host: str, code: int | None, elapsed_s: float) -> NameFailure:
    """Return what a getaddrinfo error means, from its *code* and how long it took.

    >>> name_failure("missing.invalid", socket.EAI_NONAME, 0.1), name_failure("n2t.net", socket.EAI_AGAIN, 10.0)
    (NameNotFound('missing.invalid'), NameServerSilent('n2t.net'))
    """
    if code in (socket.EAI_AGAIN, socket.EAI_FAIL, socket.EAI_SYSTEM):
        return NameServerSilent(host) if elapsed_s >= SILENT_AFTER_S else NameServerFailed(host)
    return NameNotFound(host)
