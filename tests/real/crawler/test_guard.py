"""No connection to forbidden addresses: by name, in any notation, by redirect, by rebinding."""

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest
import trustme

from tests.real.loopback import (
    RawServer,
    accept_connections,
    json_lines,
    outcomes,
    reply,
    run_command,
    select,
    tunnel_to,
)
from tests.vectors import FOLDER

ARK = "ark:/12x45/x5"
QUICK = ("--delay", "0", "--backoff", "0", "--attempts", "1", "--timeout", "60")
#: Notations of addresses of this machine, and hosts that become one when a URL is prepared for sending.
LITERALS = [
    row["host"] for row in json.loads((FOLDER / "addresses.json").read_text("utf-8"))
    if row["kind"] in ("a loopback", "an unspecified")
]  # fmt: skip
DISGUISES = [
    "①②⑦.⓪.⓪.①", "１２７.０.０.１", "127。0。0。1", "%31%32%37.0.0.1", "user:pw@127.0.0.1", "127.0.0.1%2e",
    "LOCALHOST", "localhost.", "[0:0:0:0:0:0:0:1]", "[::1%25lo]",
]  # fmt: skip
#: Answers of a hostile name server: those of a name in order, the last one for ever. Other names have no address,
#: so that no real name server is asked.
LOOK_UPS = """
import socket, sys, json
answers = {"localhost": [["127.0.0.1", "::1"]], "localhost.": [["127.0.0.1"]], **json.loads(sys.argv.pop(1))}
real = socket.getaddrinfo
def look_up(host, port, *args, **kwargs):
    name = (host.decode() if isinstance(host, bytes) else host).lower()
    if name not in answers:
        from crawler.model.addresses import is_literal
        if not is_literal(name):
            raise socket.gaierror(socket.EAI_NONAME, "made up by the test")
        return real(host, port, *args, **kwargs)
    given = answers[name].pop(0) if len(answers[name]) > 1 else answers[name][0]
    return [found for address in given for found in real(address, port, *args, **kwargs)]
socket.getaddrinfo = look_up
from crawler.wire.endpoints import ReportingResolver
ReportingResolver.__init__.__kwdefaults__["getaddrinfo"] = look_up  # the preloaded process has the real one
from arkaudit.cli import main
main(sys.argv[1:])
"""


class Private:
    """A service of this machine, on IPv4 and IPv6, that counts who connects."""

    def __init__(self) -> None:
        self.connections = 0

    def __enter__(self) -> Self:
        first = socket.create_server(("127.0.0.1", 0))
        self.port: int = first.getsockname()[1]
        self._listeners = [first]
        if socket.has_ipv6:
            self._listeners.append(socket.create_server(("::1", self.port), family=socket.AF_INET6))
        for listener in self._listeners:
            threading.Thread(target=accept_connections, args=(listener, self._serve), daemon=True).start()
        return self

    def _serve(self, connection: socket.socket) -> None:
        self.connections += 1
        with connection:
            connection.sendall(reply(body="secret"))

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for listener in self._listeners:
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()


@pytest.fixture
def private() -> Iterator[Private]:
    with Private() as running:
        yield running


def with_names(names: dict[str, list[list[str]]], *arguments: str | Path, stdin: str = "", **environment: str) -> Any:
    told = {"ARKAUDIT_CACHE": "/no/such/folder", **environment}
    return run_command(json.dumps(names), *arguments, program=LOOK_UPS, stdin=stdin, **told)


def an_object(target: str) -> bytes:
    """Answer with an object for one ARK, and with 404 for others."""
    is_there = target.endswith((ARK, "/landing"))
    return reply(body="<title>An object</title><p>Forty leaves") if is_there else reply("404 Not Found")


def bracket(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") and "@" not in host else host


def test_no_notation_of_an_address_is_connected_to(private: Private) -> None:
    hosts = [bracket(host) for host in (*LITERALS, *DISGUISES)]
    urls = [f"http://{host}:{private.port}/{ARK}" for host in hosts]
    rows = json_lines(with_names({}, "check", "--from", "-", *QUICK, stdin="\n".join(urls)).stdout)
    assert len(rows) == len(urls) > 20
    assert {row["asked"]: row["object"]["outcome"] for row in rows} == dict.fromkeys(urls, "refused-address")
    assert private.connections == 0
    assert {row["requests"] for row in rows} == {0}


@pytest.mark.promise
def test_a_redirect_to_any_notation_is_not_followed_there(private: Private) -> None:
    hosts = [bracket(host) for host in (*LITERALS, *DISGUISES)]

    def respond(target: str) -> bytes:
        number = int(target.partition("?")[0].rpartition("x")[2])
        host = hosts[number].encode().decode("latin-1")
        return reply("302 Found", Location=f"http://{host}:{private.port}/").decode().encode("latin-1")

    with RawServer(respond) as public:
        routed = ("--connect-to", f"r.example:80=127.0.0.1:{public.port}")
        urls = [f"http://r.example/ark:/12x45/x{number}" for number in range(len(hosts))]
        rows = json_lines(with_names({}, "check", "--from", "-", *QUICK, *routed, stdin="\n".join(urls)).stdout)
    assert len(rows) == len(urls)
    # The octets of a Location outside ASCII are escaped one by one: no host is made of those.
    as_sent = {url: host for url, host in zip(urls, hosts, strict=True) if host.isascii()}
    assert {row["asked"]: row["object"]["outcome"] for row in rows if row["asked"] in as_sent} == dict.fromkeys(
        as_sent, "refused-address"
    )
    assert set(outcomes(rows)) <= {"refused-address", "bad-redirect", "dns"}
    assert private.connections == 0


def test_a_name_that_leads_inside_is_not_connected_to(private: Private) -> None:
    names = {
        "inside.example": [["127.0.0.1"]], "six.example": [["::1"]], "mapped.example": [["::ffff:127.0.0.1"]],
        "both.example": [["127.0.0.1", "::1"]], "metadata.example": [["169.254.169.254"]],
    }  # fmt: skip
    urls = [f"http://{name}:{private.port}/{ARK}" for name in names]
    rows = json_lines(with_names(names, "check", "--from", "-", *QUICK, stdin="\n".join(urls)).stdout)
    assert outcomes(rows) == ["refused-address"] * len(names)
    assert private.connections == 0
    assert "127.0.0.1 is a loopback address" in rows[0]["hops"][-1]["error"]
    assert "a cloud metadata address" in rows[-1]["hops"][-1]["error"]


def test_of_a_name_with_public_and_private_addresses_only_the_public_ones_are_tried(private: Private) -> None:
    with RawServer(an_object, address="127.0.0.2") as public:
        names = {"mixed.example": [["127.0.0.1", "127.0.0.2"]]}
        done = with_names(
            names, "check", *QUICK, "--allow-address", "127.0.0.2/32", f"http://mixed.example:{public.port}/{ARK}"
        )
        [row] = json_lines(done.stdout)
        assert outcomes([row]) == ["resolved"]
        assert {hop["address"] for hop in row["hops"]} == {"127.0.0.2"}


def test_a_name_that_is_public_first_and_private_then_does_not_get_inside(private: Private) -> None:
    # Two ports are two hosts and are asked at once: each look-up may get either answer, and no request the inside.
    with RawServer(an_object, address="127.0.0.2") as public:
        names = {"rebinding.example": [["127.0.0.2"], ["127.0.0.1"]]}
        urls = [f"http://rebinding.example:{port}/{ARK}" for port in (public.port, private.port)]
        done = with_names(
            names, "check", "--from", "-", *QUICK, "--allow-address", "127.0.0.2/32", stdin="\n".join(urls)
        )
    outside, inside = outcomes(json_lines(done.stdout))
    assert outside in ("resolved", "refused-address")
    assert inside in ("refused", "refused-address")
    assert private.connections == 0


def test_a_document_is_not_fetched_from_inside(private: Private, tmp_path: Path) -> None:
    seeds = [f"http://{host}:{private.port}/" for host in ("127.0.0.1", "0x7f.1", "inside.example")]
    names = {"inside.example": [["127.0.0.1"]]}
    done = with_names(names, "crawl", *QUICK, *seeds, "--store", tmp_path / "a.db")
    assert done.returncode == 3, done.stderr
    assert select(tmp_path / "a.db", "select url, outcome from document order by document_id") == [
        (seed, "refused-address") for seed in seeds
    ]
    assert private.connections == 0


def test_robots_txt_is_not_followed_inside(private: Private) -> None:
    moved = reply("302 Found", Location=f"http://127.0.0.1:{private.port}/robots.txt")
    with RawServer(lambda _: reply(body="x"), robots=moved) as public:
        routed = ("--connect-to", f"r.example:80=127.0.0.1:{public.port}")
        done = with_names({}, "check", *QUICK, *routed, f"http://r.example/{ARK}")
        assert public.targets == []
    [row] = json_lines(done.stdout)
    assert outcomes([row]) == ["refused-address"]
    assert private.connections == 0


def test_the_registry_is_not_fetched_from_inside(private: Private, tmp_path: Path) -> None:
    for host in ("2130706433", "inside.example"):
        done = with_names(
            {"inside.example": [["127.0.0.1"]]}, "registry", "update", f"https://{host}:{private.port}/", *QUICK,
            ARKAUDIT_CACHE=str(tmp_path),
        )  # fmt: skip
        assert done.returncode == 3, done.stderr
        assert "refused-address: 127.0.0.1 is a loopback address" in done.stderr
    assert private.connections == 0


def test_route_allows_only_its_own_host() -> None:
    with RawServer(an_object) as server:
        routed = ("--connect-to", f"r.example:80=127.0.0.1:{server.port}")
        urls = (f"http://r.example/{ARK}", f"http://127.0.0.1:{server.port}/{ARK}")
        rows = json_lines(with_names({}, "check", *QUICK, *routed, *urls).stdout)
    assert outcomes(rows) == ["resolved", "refused-address"]


# -- a proxy is the operator's own choice


def test_a_proxy_may_be_inside_and_addresses_inside_are_not_asked_of_it(private: Private) -> None:
    with RawServer(an_object) as proxy:
        urls = (f"http://r.example/{ARK}", f"http://127.0.0.1:{private.port}/{ARK}", f"http://0x7f.1/{ARK}")
        rows = json_lines(with_names({}, "check", *QUICK, *urls, http_proxy=proxy.url).stdout)
        assert outcomes(rows) == ["resolved", "refused-address", "refused-address"]
        assert not any("127.0.0.1" in target or "0x7f" in target for target in proxy.targets)


def test_each_hop_goes_through_the_proxy_of_its_own_scheme_and_host() -> None:
    moved = reply("302 Found", Location="http://direct.example/landing")
    with RawServer(lambda _: moved) as proxy, RawServer(an_object) as landing:
        [row] = json_lines(
            with_names(
                {}, "check", *QUICK, "--connect-to", f"direct.example:80=127.0.0.1:{landing.port}", f"http://r.example/{ARK}",
                http_proxy=proxy.url.replace("://", "://me:secret@"), no_proxy="direct.example",
            ).stdout
        )  # fmt: skip
        assert [hop["url"] for hop in row["hops"]] == [f"http://r.example/{ARK}", "http://direct.example/landing"]
        assert landing.targets[0] == "/landing"
        assert all("Proxy-Authorization: Basic" in head for head in proxy.heads)
        assert not any("Proxy-Authorization" in head for head in landing.heads)


def test_certificate_of_a_host_is_seen_through_a_proxy() -> None:
    leaf = trustme.CA().issue_cert("another.example")
    with RawServer(an_object, tls=leaf) as host, tunnel_to(host.port) as (port, lines):
        done = with_names({}, "check", *QUICK, f"https://r.example/{ARK}", https_proxy=f"http://127.0.0.1:{port}")
    [row] = json_lines(done.stdout)
    assert outcomes([row]) == ["resolved"]
    assert row["remarks"] == ["the certificate of r.example is for another host"]
    assert set(lines) == {"CONNECT r.example:443 HTTP/1.1"}
