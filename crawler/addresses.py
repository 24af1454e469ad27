"""Which addresses may be reached, and where names lead. Pure: the handler asks, this module answers.

The question is put about the address that a connection was really made to, so that neither a redirect, nor a
literal in an odd notation, nor a name that answers differently each time gets round it.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_CONNECT_TO = re.compile(
    r"(?P<host>[^:=\s]+|\[[0-9a-fA-F:.]+\]):(?P<port>\d{1,5})"
    r"=(?P<address>[^:=\s]+|\[[0-9a-fA-F:.]+\]):(?P<to_port>\d{1,5})\Z"
)


class BadRoute(ValueError):
    """Raised when a ``HOST:PORT=ADDR:PORT`` can't be read; the message says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class AddressGuard:
    """Refuses addresses that no public resolver has, unless they were allowed by name."""

    allowed: tuple[Network, ...] = ()

    @classmethod
    def allowing(cls, networks: Iterable[str]) -> AddressGuard:
        """A guard that lets the given networks (``127.0.0.0/8``, ``::1``) through.

        Raises ValueError, naming the text, when one is no network.
        """
        return cls(tuple(ipaddress.ip_network(text.strip(), strict=False) for text in networks))

    def refusal(self, host: str) -> str | None:
        """Why *host*, an address literal, must not be reached; None when it may.

        >>> AddressGuard().refusal("8.8.8.8") is None
        True
        >>> AddressGuard().refusal("::ffff:127.0.0.1")
        '127.0.0.1 is a loopback address'
        >>> AddressGuard.allowing(["127.0.0.0/8"]).refusal("127.0.0.1") is None
        True
        """
        address = ipaddress.ip_address(host.partition("%")[0])
        faces = list(_faces(address))
        if any(face in network for network in self.allowed for face in faces if face.version == network.version):
            return None
        for face in faces:
            kind = _kind(face)
            if kind:
                return f"{face} is {kind} address"
        return None


def _faces(address: Address) -> Iterator[Address]:
    """The address, and every IPv4 address that it is a way of writing."""
    yield address
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped:
            yield address.ipv4_mapped
        if address.sixtofour:
            yield address.sixtofour
        if address.teredo:
            yield from address.teredo
        if address in _NAT64:
            yield ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)


def _kind(address: Address) -> str | None:
    """The kind of an address that is not public, with its article; none where its IPv4 face speaks for it."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped or address in _NAT64:
            return None
        if address.is_site_local:
            return "a site-local"
    kinds = (
        (address.is_loopback, "a loopback"),
        (address.is_unspecified, "an unspecified"),
        (address.is_multicast, "a multicast"),
        (address.is_link_local, "a link-local"),
        (not address.is_global, "a private or reserved"),
    )
    return next((kind for holds, kind in kinds if holds), None)


@dataclass(frozen=True, slots=True)
class Routes:
    """Where connections for a host and port go instead, as with curl's ``--connect-to``; URL and Host stay."""

    targets: Mapping[tuple[str, int], tuple[str, int]] = field(default_factory=dict)
    only: bool = False
    """Whether a name that has no route fails instead of being looked up."""

    @classmethod
    def parse(cls, texts: Iterable[str], *, only: bool = False) -> Routes:
        """The routes written as ``HOST:PORT=ADDR:PORT``. Raises `BadRoute`.

        >>> Routes.parse(["n2t.net:443=127.0.0.1:8443"]).target("N2T.net", 443)
        ('127.0.0.1', 8443)
        >>> Routes.parse(["n2t.net=127.0.0.1"])
        Traceback (most recent call last):
        ...
        crawler.addresses.BadRoute: not of the form HOST:PORT=ADDR:PORT: 'n2t.net=127.0.0.1'
        """
        return cls(dict(_route(text) for text in texts), only)

    def target(self, host: str, port: int) -> tuple[str, int] | None:
        """The address and port to connect to for *host* and *port*, when they are routed."""
        return self.targets.get((host.lower().strip("[]"), port))

    def leads_to(self, address: str, port: int) -> bool:
        """Whether some route names exactly this address and port, and so allows it."""
        return (address, port) in self.targets.values()


def _route(text: str) -> tuple[tuple[str, int], tuple[str, int]]:
    found = _CONNECT_TO.match(text.strip())
    if not found:
        raise BadRoute(f"not of the form HOST:PORT=ADDR:PORT: {text!r}")
    address = "127.0.0.1" if found["address"] == "localhost" else found["address"].strip("[]")
    try:
        address = str(ipaddress.ip_address(address))
    except ValueError:
        raise BadRoute(f"a connection can be routed to an IP address only, not to {address!r}: {text!r}") from None
    ports = int(found["port"]), int(found["to_port"])
    if not all(0 < port < 65536 for port in ports):
        raise BadRoute(f"not a port number: {text!r}")
    return (found["host"].lower().strip("[]"), ports[0]), (address, ports[1])


def is_literal(host: str) -> bool:
    """Whether *host* is an address and not a name.

    >>> is_literal("[::1]"), is_literal("n2t.net")
    (True, False)
    """
    try:
        ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return False
    return True
