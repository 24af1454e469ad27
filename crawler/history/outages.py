"""Pure: was it the hosts, or was it our own network? A run in which most hosts fail proves nothing against anybody."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit

#: A host is expected to answer unless it left so many runs that asked it, one after the other, without an answer.
MISSES_EXPECTED = 2
#: One host that does not answer is its own fault, however few others were asked.
LEAST_MISSING = 2

_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Contact:
    """The contact of a run with one host."""

    host: str
    answered: int = 0
    """Requests that got an HTTP answer, whatever its status."""
    met: int = 0
    """Requests that someone refused, cut off or answered with nonsense: a machine is there, and we have a network."""
    silent: int = 0
    """Requests without any sign of the host: no address for its name, or no word in time."""


@dataclass(frozen=True, slots=True)
class Assessment:
    """The assessment whether the failures of a run may be held against anybody, and why not."""

    is_suspect: bool
    reason: str
    expected: int
    """Hosts that were asked, and that were expected to answer."""
    missing: int
    """How many of these gave no HTTP answer at all."""


def assess(contacts: Collection[Contact], misses: Mapping[str, int]) -> Assessment:
    """Return whether a run with these *contacts* is suspect.

    *misses* says of hosts how many of the last runs that asked them, in a row, they left without an answer; a host that
    is not in it was never asked before. A run is suspect when not one host gave a sign of life, or when at least
    two hosts, and more than half of those that were expected to, did not answer. A host that has long been dead is not
    expected to.

    >>> assess([Contact("a.example", silent=2)], {}).reason
    'no host gave a sign of life'
    >>> assess([Contact("a.example", silent=2), Contact("n2t.net", answered=1)], {}).is_suspect
    False
    """
    expected = [contact for contact in contacts if misses.get(contact.host, 0) < MISSES_EXPECTED]
    missing = sum(not contact.answered for contact in expected)
    if contacts and not any(contact.answered or contact.met for contact in contacts):
        return Assessment(True, "no host gave a sign of life", len(expected), missing)
    if missing >= LEAST_MISSING and 2 * missing > len(expected):
        words = f"{missing} of {len(expected)} hosts that were expected to answer did not"
        return Assessment(True, words, len(expected), missing)
    return Assessment(False, "", len(expected), missing)


def host_of(url: str) -> str | None:
    """The host of a URL, with its port unless that goes without saying; None for what has none, such as a file.

    >>> host_of("https://N2T.net:443/ark:/12148/x5"), host_of("http://[::1]:8080/"), host_of("papers/a.pdf")
    ('n2t.net', '[::1]:8080', None)
    """
    return _host("/".join(url.split("/", 3)[:3]))


@lru_cache(maxsize=10_000)
def _host(origin: str) -> str | None:
    try:
        parts = urlsplit(origin)
        name, port = parts.hostname, parts.port
    except ValueError:
        return None
    if not name:
        return None
    name = f"[{name}]" if ":" in name else name
    return name if port in (None, _PORTS.get(parts.scheme.lower())) else f"{name}:{port}"
