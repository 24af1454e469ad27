"""The Maptr procedure against a name server on loopback."""

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

from crawler.model.registry import dns_look_up, resolvers
from tests.real.loopback import ON_LOOPBACK, RawServer, reply, run_command
from tests.unit.crawler.test_maptr import HOSTS, in_zone


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
                    f'0 0 "{each.flags}" "{each.service}" "!^.*$!x!" {each.replacement.rstrip(".")}.'
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
