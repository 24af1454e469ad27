"""The address guard and the routes, without a network."""

from __future__ import annotations

import pytest

from crawler.addresses import AddressGuard, BadRoute, Routes

REFUSED = (
    "127.0.0.1", "127.255.255.254", "10.1.1.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0",
    "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fe80::1%eth0", "fec0::1", "fd00::1", "ff02::1",
    "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "2002:a00:1::",
)  # fmt: skip


@pytest.mark.parametrize("address", REFUSED)
def test_an_address_that_is_not_public_is_refused(address: str) -> None:
    assert AddressGuard().refusal(address) is not None


@pytest.mark.parametrize("address", ["8.8.8.8", "2001:4860:4860::8888", "64:ff9b::808:808", "::ffff:8.8.8.8"])
def test_a_public_address_is_reached(address: str) -> None:
    assert AddressGuard().refusal(address) is None


def test_what_is_allowed_is_allowed_in_every_spelling_and_nothing_else_is() -> None:
    guard = AddressGuard.allowing(["10.0.0.0/8", "::1"])
    assert guard.refusal("10.1.1.1") is None
    assert guard.refusal("::ffff:10.1.1.1") is None
    assert guard.refusal("::1") is None
    assert guard.refusal("127.0.0.1") is not None


def test_a_network_that_is_none_is_named() -> None:
    with pytest.raises(ValueError, match="everything"):
        AddressGuard.allowing(["everything"])


@pytest.mark.parametrize(
    "text",
    [
        "n2t.net",
        "n2t.net:443",
        "n2t.net:443=localhost",
        "n2t.net:0=127.0.0.1:1",
        "a:1=b:2",
        "a:99999=127.0.0.1:1",
    ],
)
def test_a_route_that_is_none_is_named(text: str) -> None:
    with pytest.raises(BadRoute, match=text):
        Routes.parse([text])


def test_a_route_is_for_one_host_and_port() -> None:
    routes = Routes.parse(["N2T.net:443=127.0.0.1:8443", "[::1]:80=[::1]:8080"])
    assert routes.target("n2t.net", 443) == ("127.0.0.1", 8443)
    assert routes.target("n2t.net", 80) is None
    assert routes.target("::1", 80) == ("::1", 8080)
    assert routes.leads_to("127.0.0.1", 8443)
    assert not routes.leads_to("127.0.0.1", 8444)
