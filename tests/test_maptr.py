"""The Maptr procedure, in tables and against a name server on loopback."""

import socket
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import dns.message
import dns.rdatatype
import dns.resolver
import dns.rrset
import pytest

from crawler.model.registry import MOST_NAMES, Naptr, dns_look_up, resolvers, with_resolvers
from extractors.model.ark import Ark
from extractors.model.naan import Registry, RegistryEntry, ResolverTarget
from tests.loopback import ON_LOOPBACK, RawServer, reply, run_command

ZONE = {
    "12026.ark.arpa": [
        Naptr("h", "ark", "USLC", "lhc.nlm.example:8080"),
        Naptr("", "ark", "", "dlc.spct.example."),
        Naptr("h", "http", "", "other-service.example"),
        Naptr("u", "ark", "!^.*$!x!", "."),
    ],
    "dlc.spct.example": [Naptr("H", "ARK", "DLC", "sneezy.dopey.example"), Naptr("", "ark", "", "12026.ark.arpa")],
}
HOSTS = ["http://lhc.nlm.example:8080/ark:/${content}", "http://sneezy.dopey.example/ark:/${content}"]


def in_zone(name: str) -> list[Naptr]:
    return ZONE.get(name, [])


def test_resolvers_are_found_through_other_domains_and_no_name_is_asked_twice() -> None:
    assert [target.template for target in resolvers("12026", in_zone)] == HOSTS
    assert list(resolvers("99999", in_zone)) == []


def test_a_chain_of_domains_comes_to_an_end() -> None:
    asked = []

    def endless(name: str) -> list[Naptr]:
        asked.append(name)
        return [Naptr("", "ark", "", f"x{len(asked)}.example"), Naptr("", "ark", "", f"y{len(asked)}.example")]

    assert list(resolvers("12026", endless)) == []
    assert len(asked) == MOST_NAMES


def test_registered_naans_are_not_looked_up() -> None:
    known = Registry(
        (RegistryEntry("12148", targets=(ResolverTarget("https://ark.bnf.example/${pid}"),)), RegistryEntry("12026")),
        "a test",
    )
    asked = []

    def look_up(name: str) -> list[Naptr]:
        asked.append(name)
        return in_zone(name)

    more = with_resolvers(known, ["12148", "12026"], look_up)
    assert asked == ["12026.ark.arpa", "dlc.spct.example"]
    assert more.target(Ark("12026", "x5")) == "http://lhc.nlm.example:8080/ark:/12026/x5"
    assert more.target(Ark("12148", "x5")) == known.target(Ark("12148", "x5"))


def test_a_host_that_can_not_be_is_no_resolver() -> None:
    odd = [Naptr("h", "ark", "", host) for host in ("localhost", "a b.example", "x@y.example")]
    assert with_resolvers(Registry((), "a test"), ["12026"], lambda _: odd).target(Ark("12026", "x5")) is None


@pytest.fixture
def name_server() -> Iterator[int]:
    """Yield a name server on loopback that has `ZONE`; its port."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))

        def serve() -> None:
            while True:
                try:
                    data, client = server.recvfrom(4096)
                except OSError:
                    return
                query = dns.message.from_wire(data)
                name = query.question[0].name
                answer = dns.message.make_response(query)
                texts = [
                    f'0 0 "{each.flags}" "{each.service}" "{each.regexp}" {each.replacement.rstrip(".")}.'
                    for each in in_zone(name.to_text(omit_final_dot=True).lower())
                ]
                if texts:
                    answer.answer.append(dns.rrset.from_text_list(name, 60, "IN", "NAPTR", texts))
                server.sendto(answer.to_wire(), client)

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]


def test_records_come_from_a_name_server(name_server: int) -> None:
    resolver = dns.resolver.Resolver(configure=False)
    resolver.nameservers, resolver.port = ["127.0.0.1"], name_server
    look_up = dns_look_up(resolver)
    assert [target.template for target in resolvers("12026", look_up)] == HOSTS
    assert look_up("nowhere.example") == ()


def ask_names_at(port: int) -> None:
    """Make this process ask the name server at *port* on loopback instead of the system's."""

    def read(resolver: dns.resolver.Resolver, _: object) -> None:
        resolver.nameservers, resolver.port = ["127.0.0.1"], port

    dns.resolver.Resolver.read_resolv_conf = read  # type: ignore[method-assign]


@pytest.mark.parametrize("is_on", [False, True])
def test_maptr_setting_sends_an_ark_to_the_resolver_that_the_dns_names(
    name_server: int, tmp_path: Path, is_on: bool
) -> None:
    (tmp_path / "arkaudit.toml").write_text(f"[resolve]\ndirect = true\nmaptr = {str(is_on).lower()}\n")
    with RawServer(lambda _: reply(body="A deed")) as named, RawServer(lambda _: reply(body="A deed")) as everybodys:
        routes = (
            f"--connect-to=lhc.nlm.example:8080=127.0.0.1:{named.port}",
            f"--connect-to=global.example:80=127.0.0.1:{everybodys.port}",
        )
        command = ["check", "ark:12026/x5", *ON_LOOPBACK, *routes, "--resolver", "http://global.example/"]
        done = run_command(*command, "-c", tmp_path / "arkaudit.toml", first=partial(ask_names_at, name_server))
        assert done.returncode == 0, done.stderr
        assert (bool(named.targets), bool(everybodys.targets)) == (is_on, not is_on)
