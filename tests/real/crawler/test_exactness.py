"""Exactness on the wire: every inflection and every odd character, over http, https, redirects and proxies."""

import json
import os
import socket
import string
import threading
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
import trustme

from crawler.history.ark_status import ArkState, DatedVerdict
from crawler.model.observations import ObjectOutcome
from tests.real import preloaded
from tests.real.loopback import ON_LOOPBACK, RawServer, check_rows, outcomes, reply, run_command, tunnel_to
from tests.unit.crawler.test_ark_status import status_of

#: Every printable character allowed in a path, once; extraction emits a part of them.
ODD = "".join(sorted(set(string.printable) - set(string.whitespace) - set("#?%"))) + "%7d%7D%2e%zz%"
URLS = tuple(f"ark:/12x45/{name}" for name in (f"x{ODD}", "x/./../y//z.b.a", "=~*+@_$:", "caf%C3%A9%20x", "x--y."))
INFLECTIONS = ("", "?info", "??", "?")
PAGE = reply(body="<title>An object</title><p>Forty leaves, with drawings.")

#: Asks about ARKs at exactly these URLs, whatever a reader of documents would make of them.
ASK = """
import json, sys
from arkaudit.audits.audit import Audit
from arkaudit.configuration.config_files import load
from crawler.store.store import Store
from extractors.model.ark import Ark
told = json.load(sys.stdin)
with Store.open(None) as store:
    targets = [(Ark("12x45", f"x{number}"), url) for number, url in enumerate(told["urls"])]
    run_id = Audit(load(None, told["config"]), store, targets=targets).run("check")
    print(json.dumps([seen.asked_url for seen in store.observations(run_id)]))
"""


def ask(urls: list[str], *, proxy: str | None = None, connect_to: list[str] | None = None) -> list[str]:
    """Ask for each URL; return the first URL of each chain, as recorded by the store."""
    environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    if proxy:
        environment |= {"http_proxy": proxy, "https_proxy": proxy}
    config = {
        "politeness.delay": 0, "politeness.backoff": 0, "politeness.timeout": 5, "politeness.attempts": 1,
        "network.only_routed": proxy is None, "network.allow_addresses": ["127.0.0.0/8"],
        "network.connect_to": connect_to or [], "hosts": {"resolver.example": {"interval": 0}},
    }  # fmt: skip
    done = preloaded.run(
        [],
        environment={**environment, "PYTHONIOENCODING": "utf-8"},
        program=ASK,
        stdin=json.dumps({"urls": urls, "config": config}),
    )
    assert done.returncode == 0, done.stderr
    return [str(url) for url in json.loads(done.stdout)]


def expected_targets(prefix: str = "") -> set[str]:
    return {f"{prefix}/{url}{inflection}" for url in URLS for inflection in INFLECTIONS}


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_each_character_arrives_as_it_was_asked(scheme: str) -> None:
    tls = trustme.CA().issue_cert("127.0.0.1") if scheme == "https" else None
    with RawServer(lambda _: PAGE, tls=tls) as server:
        told = ask([f"{server.url}/{url}" for url in URLS])
        assert expected_targets() <= set(server.targets)
        assert {url.removeprefix(server.url) for url in told} == set(server.targets), (
            "the store records the URLs that were sent"
        )


def test_each_character_of_a_location_is_followed_as_it_came() -> None:
    with RawServer(lambda _: PAGE) as landing:
        with RawServer(lambda target: reply("302 Found", Location=f"{landing.url}/land{target}")) as resolver:
            ask([f"{resolver.url}/{url}" for url in URLS])
        assert expected_targets("/land") <= set(landing.targets)


def test_each_character_passes_a_proxy_as_it_was_asked() -> None:
    with RawServer(lambda _: PAGE) as proxy:
        ask([f"http://resolver.example/{url}" for url in URLS], proxy=proxy.url)
        assert expected_targets("http://resolver.example") <= set(proxy.targets)


def test_each_character_passes_a_tunnel_as_it_was_asked() -> None:
    with RawServer(lambda _: PAGE, tls=trustme.CA().issue_cert("resolver.example")) as server:
        with tunnel_to(server.port) as (port, lines):
            ask([f"https://resolver.example/{url}" for url in URLS], proxy=f"http://127.0.0.1:{port}")
        assert expected_targets() <= set(server.targets)
        assert set(lines) == {"CONNECT resolver.example:443 HTTP/1.1"}
        assert all("Host: resolver.example\r\n" in head for head in server.heads)


def test_a_user_and_a_password_are_never_sent() -> None:
    with RawServer(lambda _: PAGE) as server:
        [row] = check_rows(f"http://me:secret@127.0.0.1:{server.port}/ark:/12x45/x5")
        assert server.targets[0] == "/ark:/12x45/x5"
        assert not any("secret" in head or "Authorization" in head for head in server.heads)
    assert "secret" not in json.dumps({**row, "asked": ""})
    assert outcomes([row]) != ["dns"]


def test_a_host_in_another_script_is_asked_for_in_ascii() -> None:
    with RawServer(lambda _: PAGE) as server:
        route = f"--connect-to=xn--bcher-kva.example:80=127.0.0.1:{server.port}"
        check_rows(route, "http://b\N{LATIN SMALL LETTER U WITH DIAERESIS}cher.example/ark:/12x45/x5")
        assert all("Host: xn--bcher-kva.example\r\n" in head for head in server.heads)
        assert server.targets[0] == "/ark:/12x45/x5"


def test_a_host_with_an_empty_port_is_asked_at_the_schemes_own() -> None:
    with RawServer(lambda _: PAGE) as server:
        [row] = check_rows(f"--connect-to=r.example:80=127.0.0.1:{server.port}", "http://r.example:/ark:/12x45/x5")
        assert "Host: r.example\r\n" in server.heads[0]
    assert row["final_url"] == "http://r.example/ark:/12x45/x5"


def test_a_long_url_is_sent_and_the_host_says_whether_it_is_too_long() -> None:
    name = "x5" * 3_900
    with RawServer(lambda target: reply("414 URI Too Long") if len(target) > 7_000 else PAGE) as server:
        [row] = check_rows(f"{server.url}/ark:/12x45/{name}")
        assert server.targets[0] == f"/ark:/12x45/{name}"
    assert row["hops"][-1]["status"] == 414


def test_oversized_url_is_not_sent_and_blames_no_host() -> None:
    with RawServer(lambda _: PAGE) as server:
        [row] = check_rows(f"{server.url}/ark:/12x45/{'x5' * 4_050}")
        assert server.targets == []
    assert (row["object"]["outcome"], row["requests"]) == ("undetermined", 0)
    assert "more than the limit of 8000" in row["hops"][-1]["error"]
    assert row["hops"][-1]["sent"] is False
    outcome = ObjectOutcome(row["object"]["outcome"])
    ark_status, _ = status_of(DatedVerdict(datetime(2026, 1, day, tzinfo=UTC), outcome) for day in (1, 9, 17))
    assert ark_status is not None
    assert (ark_status.strikes, ark_status.state) == (0, ArkState.UNDETERMINED)


def test_redirect_behind_a_thousand_lines_of_its_head_is_followed() -> None:
    lines = "".join(f"X-{number}: x\r\n" for number in range(1_500))
    with RawServer(
        lambda target: (
            PAGE if target == "/object" else f"HTTP/1.1 302 Found\r\n{lines}Location: /object\r\n\r\n".encode()
        )
    ) as server:
        [row] = check_rows(f"{server.url}/ark:/12x45/x5")
        assert "/object" in server.targets
    assert row["final_url"] == f"{server.url}/object"


def test_a_long_header_is_read(tmp_path: Path) -> None:
    long = "l" * 200_000
    with RawServer(
        lambda _: reply(body="<title>An object</title>", Link=f"<https://x.example/{long}>; rel=next", Server="nginx")
    ) as server:
        [row] = check_rows(f"{server.url}/ark:/12x45/x5")
    assert row["hops"][-1]["status"] == 200
    assert [name for name in row["hops"][-1]["headers"] if name.lower() == "server"] == ["Server"]
    assert 1_000 < len(row["hops"][-1]["headers"]["Link"]) < 10_000, "only the useful part is kept"


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("host", ["n2t.net:99999", "n2t.net:port"])
def test_impossible_url_is_reported(scheme: str, host: str) -> None:
    done = run_command("check", *ON_LOOPBACK, f"{scheme}://{host}/ark:/12x45/x5")
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines():
        row = json.loads(line)
        if row["hops"]:
            assert "the URL can't be requested" in row["hops"][-1]["error"]


def test_slow_body_keeps_its_status_and_received_part() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9000\r\n\r\n"

    class TricklingServer(RawServer):
        def _serve(self, connection: socket.socket) -> None:
            with connection, suppress(OSError):
                line = connection.recv(65536).decode("latin-1").partition("\r\n")[0]
                self.request_lines.append(line)
                if line.split(" ")[1].endswith("/robots.txt"):
                    connection.sendall(reply("404 Not Found"))
                    return
                connection.sendall(head + b"<title>Notebook of Ada Rossi</title>")
                for _ in range(100):
                    threading.Event().wait(0.2)
                    connection.sendall(b".")

    with TricklingServer(lambda _: None) as server:
        [row] = check_rows("--timeout", "4", "--attempts", "1", f"{server.url}/ark:/12x45/x5")
    assert row["hops"][-1]["status"] == 200
    assert row["hops"][-1]["address"] == "127.0.0.1"
