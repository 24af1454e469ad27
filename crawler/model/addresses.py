"""Decide which addresses may be reached, and route names to other addresses.

The guard is applied three times: to a host that is written as an address, to every address of a name before a
connection, and to the address of the connection itself. So no redirect, unusual notation or changing name can bypass
it.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

#: Networks without public resolvers, with the kind of their addresses; the first that contains an address names it.
#: After the special-purpose registries of the IANA (RFC 6890), because Python's own lists differ between versions.
NOT_PUBLIC: tuple[tuple[Network, str], ...] = tuple(
    (ipaddress.ip_network(network), kind)
    for network, kind in (
        ("169.254.169.254/32", "a cloud metadata"),
        ("169.254.170.2/32", "a cloud metadata"),  # Amazon ECS
        ("100.100.100.200/32", "a cloud metadata"),  # Alibaba
        ("168.63.129.16/32", "a cloud metadata"),  # Azure; in a network that is public otherwise
        ("192.0.0.192/32", "a cloud metadata"),  # Oracle
        ("0.0.0.0/32", "an unspecified"),
        ("0.0.0.0/8", "a reserved"),  # "this network" (RFC 791)
        ("10.0.0.0/8", "a private"),
        ("100.64.0.0/10", "a carrier-grade NAT"),
        ("127.0.0.0/8", "a loopback"),
        ("169.254.0.0/16", "a link-local"),
        ("172.16.0.0/12", "a private"),
        ("192.0.0.0/24", "a reserved"),  # IETF protocol assignments
        ("192.0.2.0/24", "a documentation"),
        ("192.88.99.0/24", "a reserved"),  # relays of 6to4 (RFC 7526)
        ("192.168.0.0/16", "a private"),
        ("198.18.0.0/15", "a benchmarking"),
        ("198.51.100.0/24", "a documentation"),
        ("203.0.113.0/24", "a documentation"),
        ("224.0.0.0/4", "a multicast"),
        ("255.255.255.255/32", "a broadcast"),
        ("240.0.0.0/4", "a reserved"),
        ("fd00:ec2::/32", "a cloud metadata"),  # Amazon
        ("fd20:ce::254/128", "a cloud metadata"),  # Google
        ("::/128", "an unspecified"),
        ("::1/128", "a loopback"),
        ("64:ff9b:1::/48", "a NAT64"),  # of a network's own (RFC 8215)
        ("2001::/32", "a Teredo"),
        ("2001:db8::/32", "a documentation"),
        ("2001::/23", "a reserved"),  # IETF protocol assignments, benchmarking among them
        ("2002::/16", "a 6to4"),
        ("3fff::/20", "a documentation"),
        ("fc00::/7", "a private"),
        ("fe80::/10", "a link-local"),
        ("fec0::/10", "a site-local"),
        ("ff00::/8", "a multicast"),
    )
)
#: All IPv6 addresses of hosts on the public internet; IANA reserves the rest.
_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")
#: IPv6 notations of an IPv4 address, which alone decides.
_WRITTEN_IPV4 = (
    ipaddress.IPv6Network("::ffff:0:0/96"),  # mapped
    ipaddress.IPv6Network("::ffff:0:0:0/96"),  # translated (RFC 2765)
    ipaddress.IPv6Network("64:ff9b::/96"),  # NAT64 (RFC 6052)
)
_NUMBER = re.compile(r"(?P<hex>0[xX][0-9a-fA-F]*)|(?P<octal>0[0-7]+)|(?P<decimal>[0-9]+)")
_CONNECT_TO = re.compile(
    r"(?P<host>[^:=\s]+|\[[0-9a-fA-F:.]+\]):(?P<port>\d{1,5})"
    r"=(?P<address>[^:=\s]+|\[[0-9a-fA-F:.]+\]):(?P<to_port>\d{1,5})\Z"
)


@dataclass(frozen=True, slots=True)
class AddressGuard:
    """Refuses addresses that no public resolver has, unless they are allowed explicitly."""

    allowed: tuple[Network, ...] = ()

    @classmethod
    def for_networks(cls, networks: Iterable[str]) -> AddressGuard:
        """Return a guard that allows the given networks (``127.0.0.0/8``, ``::1``).

        Raises ValueError, with the text, for an invalid network.
        """
        return cls(tuple(ipaddress.ip_network(text.strip(), strict=False) for text in networks))

    def refusal(self, host: str) -> str | None:
        """Return the reason to refuse *host* if it is an address in any notation; None for a name or an allowed
        address.

        >>> AddressGuard().refusal("8.8.8.8") is None, AddressGuard().refusal("n2t.net") is None
        (True, True)
        >>> AddressGuard().refusal("::ffff:127.0.0.1"), AddressGuard().refusal("0x7f.1")
        ('127.0.0.1 is a loopback address', '127.0.0.1 is a loopback address')
        >>> AddressGuard.for_networks(["127.0.0.0/8"]).refusal("127.0.0.1") is None
        True
        """
        refused_addresses = (address for address in addresses_in(host) if not self._is_allowed(address))
        kinds = (
            (deciding_address, _kind(deciding_address))
            for address in refused_addresses
            for deciding_address in _addresses_that_decide(address)
        )
        return next((f"{deciding_address} is {kind} address" for deciding_address, kind in kinds if kind), None)

    def allows(self, host: str) -> bool:
        """Return True if *host* is an address that is allowed explicitly.

        >>> guard = AddressGuard.for_networks(["127.0.0.0/8"])
        >>> guard.allows("127.1"), guard.allows("8.8.8.8"), guard.allows("n2t.net")
        (True, False, False)
        """
        addresses = addresses_in(host)
        return bool(addresses) and all(map(self._is_allowed, addresses))

    def _is_allowed(self, address: Address) -> bool:
        return any(
            deciding_address in network
            for network in self.allowed
            for deciding_address in _addresses_that_decide(address)
        )


def addresses_in(host: str) -> tuple[Address, ...]:
    """Return the addresses that programs read in *host*, in any notation; empty for a name.

    A number with a leading zero is octal for some programs and decimal for others, so both count.

    >>> addresses_in("[fe80::1%25eth0]"), addresses_in("2130706433"), addresses_in("n2t.net")
    ((IPv6Address('fe80::1'),), (IPv4Address('127.0.0.1'),), ())
    >>> addresses_in("010.0.0.1.")
    (IPv4Address('8.0.0.1'), IPv4Address('10.0.0.1'))
    """
    bare_host = host.strip("[]").partition("%")[0]
    if len(bare_host) > 255:
        return ()
    if ":" in bare_host:
        with suppress(ValueError):
            return (ipaddress.IPv6Address(bare_host),)
        return ()
    parts = [_NUMBER.fullmatch(part) for part in bare_host.removesuffix(".").split(".")]
    if len(parts) > 4 or not all(parts):
        return ()
    c_address = _address([_value(part) for part in parts if part])
    decimal_numbers = [int(part[0]) if part["octal"] else _value(part) for part in parts if part]
    candidates = (c_address, _address(decimal_numbers))
    return tuple(dict.fromkeys(address for address in candidates if address is not None))


def _value(number_match: re.Match[str]) -> int:
    if number_match["hex"]:
        return int(number_match[0][2:] or "0", 16)
    return int(number_match[0], 8 if number_match["octal"] else 10)


def _address(numbers: list[int]) -> Address | None:
    """Return the address of one to four numbers; the last fills all remaining octets, as in inet_aton."""
    *octets, last_number = numbers
    if any(octet > 0xFF for octet in octets) or last_number >= 256 ** (4 - len(octets)):
        return None
    return ipaddress.IPv4Address(sum(octet << 8 * (3 - index) for index, octet in enumerate(octets)) + last_number)


def _addresses_that_decide(address: Address) -> Iterator[Address]:
    """Yield the addresses to check in place of *address*.

    These are the IPv4 address that it contains, or else itself and the ends of its tunnel (6to4, Teredo).
    """
    if isinstance(address, ipaddress.IPv4Address):
        yield address
        return
    embedded_ipv4 = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    if any(address in network for network in _WRITTEN_IPV4):
        yield embedded_ipv4
        return
    yield address
    if address.sixtofour:
        yield address.sixtofour
    elif address.teredo:
        yield from address.teredo


def _kind(address: Address) -> str | None:
    """Return the kind of *address* with its article, such as "a private"; None if the address is public."""
    kinds = (kind for network, kind in NOT_PUBLIC if address in network)
    is_outside = isinstance(address, ipaddress.IPv6Address) and address not in _GLOBAL_UNICAST
    return next(kinds, "a reserved" if is_outside else None)


@dataclass(frozen=True, slots=True)
class Routes:
    """Other addresses for hosts and ports, as with curl's ``--connect-to``; URL and Host header stay."""

    targets: Mapping[tuple[str, int], tuple[str, int]] = field(default_factory=dict)
    """The address and port to connect to, by host name in lower case and port."""
    only: bool = False
    """True if a name without a route fails instead of being looked up."""

    @classmethod
    def parse(cls, texts: Iterable[str], *, only: bool = False) -> Routes:
        """Return the routes written as ``HOST:PORT=ADDR:PORT``; *only* is the attribute. Raises ValueError.

        >>> Routes.parse(["n2t.net:443=127.0.0.1:8443"]).target("N2T.net", 443)
        ('127.0.0.1', 8443)
        >>> Routes.parse(["n2t.net=127.0.0.1"])
        Traceback (most recent call last):
        ...
        ValueError: not of the form HOST:PORT=ADDR:PORT: 'n2t.net=127.0.0.1'
        """
        targets = {}
        for text in texts:
            match = _CONNECT_TO.match(text.strip())
            if not match:
                raise ValueError(f"not of the form HOST:PORT=ADDR:PORT: {text!r}")
            address = "127.0.0.1" if match["address"] == "localhost" else match["address"].strip("[]")
            try:
                address = str(ipaddress.ip_address(address))
            except ValueError:
                message = f"a connection can be routed to an IP address only, not to {address!r}: {text!r}"
                raise ValueError(message) from None
            port, to_port = int(match["port"]), int(match["to_port"])
            if not (0 < port < 65536 and 0 < to_port < 65536):
                raise ValueError(f"not a port number: {text!r}")
            targets[match["host"].lower().strip("[]"), port] = address, to_port
        return cls(targets, only)

    def target(self, host: str, port: int) -> tuple[str, int] | None:
        """Return the address and port to connect to for *host* and *port*, or None. A route is always allowed."""
        return self.targets.get((host.lower().strip("[]"), port))


def is_literal(host: str) -> bool:
    """Return True if *host* is an address, in any notation, and not a name.

    >>> is_literal("[::1]"), is_literal("127.1"), is_literal("n2t.net")
    (True, True, False)
    """
    return bool(addresses_in(host))
