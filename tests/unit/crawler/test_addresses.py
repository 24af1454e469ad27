"""The address guard and the routes, without a network."""

import ipaddress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.model.addresses import AddressGuard, Routes, addresses_in
from crawler.wire.endpoints import AddressRefused, refusal_before_lookup
from tests.vectors import vectors


@pytest.mark.parametrize("vector", vectors("addresses"))
def test_private_addresses_are_refused_in_any_notation(vector: dict[str, Any]) -> None:
    refusal = AddressGuard().refusal(vector["host"])
    if vector["kind"] is None:
        assert refusal is None
    else:
        assert refusal is not None
        assert refusal.endswith(f" is {vector['kind']} address")


@given(st.ip_addresses(v=4))
def test_every_notation_of_an_address_is_that_address(address: ipaddress.IPv4Address) -> None:
    octets = address.packed
    notations = (
        str(address), f"{address}.", str(int(address)), hex(int(address)), f"0{int(address):o}",
        ".".join(hex(octet) for octet in octets), ".".join(f"0{octet:o}" for octet in octets),
        f"{octets[0]}.{int(address) & 0xFFFFFF}", f"{octets[0]}.{octets[1]}.{int(address) & 0xFFFF}",
    )  # fmt: skip
    assert all(addresses_in(notation)[0] == address for notation in notations)


@given(st.ip_addresses(v=6))
def test_non_global_addresses_are_refused(address: ipaddress.IPv6Address) -> None:
    if not address.is_global:
        assert AddressGuard().refusal(str(address)) is not None


@given(st.text(max_size=300))
def test_no_host_is_too_odd_to_be_asked_about(text: str) -> None:
    AddressGuard().refusal(text)


def test_allowed_addresses_are_exactly_those_given_in_any_spelling() -> None:
    guard = AddressGuard.for_networks(["10.0.0.0/8", "::1"])
    assert guard.refusal("10.1.1.1") is None
    assert guard.refusal("0x0a010101") is None
    assert guard.refusal("::ffff:10.1.1.1") is None
    assert guard.refusal("64:ff9b::a01:101") is None
    assert guard.refusal("::1") is None
    assert guard.refusal("127.0.0.1") is not None


def test_malformed_network_is_named() -> None:
    with pytest.raises(ValueError, match="everything"):
        AddressGuard.for_networks(["everything"])


@pytest.mark.parametrize(
    "text",
    ["n2t.net", "n2t.net:443", "n2t.net:443=localhost", "n2t.net:0=127.0.0.1:1", "a:1=b:2", "a:99999=127.0.0.1:1"],
)
def test_malformed_route_is_named(text: str) -> None:
    with pytest.raises(ValueError, match=text):
        Routes.parse([text])


def test_a_route_is_for_one_host_and_port() -> None:
    routes = Routes.parse(["N2T.net:443=127.0.0.1:8443", "[::1]:80=[::1]:8080"])
    assert routes.target("n2t.net", 443) == ("127.0.0.1", 8443)
    assert routes.target("n2t.net", 80) is None
    assert routes.target("::1", 80) == ("::1", 8080)


@pytest.mark.parametrize(
    ("host", "error"),
    [
        pytest.param("127.0.0.1", None, id="an address that was allowed"),
        pytest.param("routed.example", None, id="a name with a route"),
        pytest.param("other.example", AddressRefused, id="a name without one"),
        pytest.param("93.184.216.34", AddressRefused, id="a public address"),
        pytest.param("0x5db8d822", AddressRefused, id="the same in another notation"),
        pytest.param("[2606:2800:220:1::]", AddressRefused, id="one of IPv6"),
        pytest.param("10.0.0.7", AddressRefused, id="a private address"),
    ],
)
def test_with_only_routed_nothing_else_is_reached(host: str, error: type[Exception] | None) -> None:
    routes = Routes.parse(["routed.example:80=127.0.0.1:8080"], only=True)
    refused = refusal_before_lookup(host, 80, routes, AddressGuard.for_networks(["127.0.0.0/8"]))
    assert refused is None if error is None else isinstance(refused, error)
