"""Looks names up, IPv4 and IPv6 alike, and remembers why a name had no address: Twisted forgets it."""

from __future__ import annotations

import socket
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from scrapy.resolver import CachingHostnameResolver
from twisted.internet._resolver import GAIResolver

from extractors.shared_errors import ArkauditError

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.internet.base import ReactorBase

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
        begun = time.monotonic()
        self._under_way[host.lower()] += 1
        try:
            found = self._getaddrinfo(host, *arguments)
        except socket.gaierror as problem:
            self._failures[host.lower()] = name_failure(host, problem.errno, time.monotonic() - begun)
            raise
        except UnicodeError as problem:  # a label too long, or an empty one
            self._failures[host.lower()] = NameNotFound(host)
            raise socket.gaierror(socket.EAI_NONAME, str(problem)) from problem
        finally:
            self._under_way[host.lower()] -= 1
        self._failures.pop(host.lower(), None)
        return found


def name_failure(host: str, code: int | None, elapsed_s: float) -> NameFailure:
    """Return what a getaddrinfo error means, from its *code* and how long it took.

    >>> name_failure("missing.invalid", socket.EAI_NONAME, 0.1), name_failure("n2t.net", socket.EAI_AGAIN, 10.0)
    (NameNotFound('missing.invalid'), NameServerSilent('n2t.net'))
    """
    if code in (socket.EAI_AGAIN, socket.EAI_FAIL, socket.EAI_SYSTEM):
        return NameServerSilent(host) if elapsed_s >= SILENT_AFTER_S else NameServerFailed(host)
    return NameNotFound(host)
