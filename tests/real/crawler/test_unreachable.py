"""Failures over real sockets, each with its own outcome and a clear reason."""

import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
import trustme

from tests.real.loopback import (
    ON_LOOPBACK,
    RawServer,
    check_rows,
    json_lines,
    outcomes,
    reply,
    run_command,
    serve_connections,
)

PAGE = reply(body="<title>An object</title><p>Forty leaves, with drawings.")
ONCE = ("--timeout", "60", "--attempts", "1")
#: For hosts that stay silent: on a busy machine the other steps take less than that.
BRIEFLY = ("--timeout", "4", "--attempts", "1")


def reset(connection: socket.socket) -> None:
    connection.recv(65536)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def hang(connection: socket.socket) -> None:
    with connection, suppress(OSError):
        connection.settimeout(20)
        while connection.recv(65536):
            pass


def hang_up(connection: socket.socket) -> None:
    with connection:
        connection.recv(65536)


def speak_no_http(connection: socket.socket) -> None:
    with connection:
        connection.recv(65536)
        connection.sendall(b"220 mail.example ESMTP ready\r\n\r\n")


def send_headers_for_ever(connection: socket.socket) -> None:
    with connection:
        connection.recv(65536)
        with suppress(OSError):
            connection.sendall(b"HTTP/1.1 200 OK\r\n")
            while True:
                connection.sendall(b"X-More: " + b"x" * 60_000 + b"\r\n")


@pytest.mark.parametrize(
    ("scheme", "handle", "outcome", "words"),
    [
        ("http", reset, "reset", "broke off the connection"),
        ("http", hang_up, "reset", "hung up without a final answer"),
        ("http", hang, "timeout", "connected, but no answer in time"),
        ("https", hang, "timeout", "connected, but no answer in time"),
        ("http", speak_no_http, "protocol-error", "no HTTP"),
        ("https", speak_no_http, "tls", "no secure connection could be made (wrong version number)"),
        ("http", send_headers_for_ever, "protocol-error", "the headers of the answer never end"),
    ],
)
def test_a_failure_has_its_own_outcome_and_words(
    scheme: str, handle: Callable[[socket.socket], None], outcome: str, words: str
) -> None:
    with serve_connections(handle) as port:
        patience = BRIEFLY if outcome == "timeout" else ONCE
        [row] = check_rows(*patience, f"{scheme}://127.0.0.1:{port}/ark:/12x45/x5")
    assert outcomes([row]) == [outcome]
    assert words in row["hops"][-1]["error"]
    assert any(words in told for told in row["object"]["evidence"])


def test_a_connection_that_is_refused() -> None:
    [row] = check_rows(*ONCE, "http://127.0.0.1:9/ark:/12x45/x5")
    assert outcomes([row]) == ["refused"]
    assert "the host refused the connection" in row["hops"][-1]["error"]


def test_unaccepted_connection_is_a_timeout() -> None:
    # A full queue of one: further connections wait for ever.
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        waiting = [socket.socket() for _ in range(4)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(full.getsockname())
        [row] = check_rows(*BRIEFLY, f"http://127.0.0.1:{full.getsockname()[1]}/ark:/12x45/x5")
        for each in waiting:
            each.close()
    assert outcomes([row]) == ["timeout"]
    assert "no connection in time" in row["hops"][-1]["error"]


NAMES = """
import socket, sys, time
def look_up(host, *_, **__):
    known = {"missing.example": socket.EAI_NONAME, "failing.example": socket.EAI_AGAIN, "slow.example": None}
    if known.get(host, 0) is None:
        time.sleep(8)
    raise socket.gaierror(known.get(host) or socket.EAI_NONAME, "made up by the test")
socket.getaddrinfo = look_up
from crawler.wire.endpoints import ReportingResolver
ReportingResolver.__init__.__kwdefaults__["getaddrinfo"] = look_up  # the preloaded process has the real one
from arkaudit.cli import main
main(sys.argv[1:])
"""


def test_kinds_of_name_lookup_failures_are_distinguished() -> None:
    hosts = {
        "missing.example": "there is no such name",
        "failing.example": "its name server failed",
        "slow.example": "the name could not be looked up in time",
        f"{'a' * 70}.example": "there is no such name",
    }
    urls = [f"http://{host}/ark:/12x45/x5" for host in hosts]
    done = run_command("check", "-q", "--contact", "auditor@library.example", *BRIEFLY, *urls, program=NAMES)
    rows = json_lines(done.stdout)
    assert outcomes(rows) == ["dns"] * len(hosts), done.stderr
    for row, words in zip(rows, hosts.values(), strict=True):
        assert words in row["hops"][-1]["error"]
    assert done.stderr == ""


def test_a_host_that_has_ipv6_only_works() -> None:
    with RawServer(lambda _: PAGE, address="::1", tls=trustme.CA().issue_cert("six.example", "::1")) as server:
        literal, named = check_rows(
            "--allow-address", "::1", "--connect-to", f"six.example:443=[::1]:{server.port}",
            f"{server.url}/ark:/12x45/x5", "https://six.example/ark:/12x45/x5",
        )  # fmt: skip
        assert {f"Host: [::1]:{server.port}", "Host: six.example"} <= {
            line for head in server.heads for line in head.split("\r\n")
        }
    assert [row["hops"][-1]["address"] for row in (literal, named)] == ["::1", "::1"]
    assert [row["remarks"] for row in (literal, named)] == [[], []]


def test_only_results_are_printed_about_certificates() -> None:
    with RawServer(lambda _: PAGE, tls=trustme.CA().issue_cert("another.example")) as server:
        done = run_command("check", "-q", *ON_LOOPBACK, f"{server.url}/ark:/12x45/x5")
    assert done.stderr == ""


# -- the user's own proxy


def through_proxy(proxy: str, *urls: str) -> list[dict[str, Any]]:
    command = ("check", "--delay", "0", *ONCE, "--allow-address", "127.0.0.0/8", *urls)
    done = run_command(*command, http_proxy=proxy, https_proxy=proxy)
    assert done.returncode == 0, done.stderr
    return json_lines(done.stdout)


def test_a_dead_proxy_is_not_the_fault_of_the_host() -> None:
    rows = through_proxy("http://127.0.0.1:9", "http://r.example/ark:/12x45/x5", "https://r.example/ark:/12x45/x5")
    assert outcomes(rows) == ["undetermined", "undetermined"]
    for row in rows:
        assert "the configured proxy failed" in row["hops"][-1]["error"]
        assert "http://127.0.0.1:9" in row["hops"][-1]["error"]


def test_a_proxy_that_does_not_connect_us_is_not_the_fault_of_the_host() -> None:
    with RawServer(lambda _: reply("502 Bad Gateway")) as proxy:
        [row] = through_proxy(proxy.url, "https://r.example/ark:/12x45/x5")
        assert proxy.request_lines[0] == "CONNECT r.example:443 HTTP/1.1"
    assert outcomes([row]) == ["undetermined"]
    assert "the configured proxy failed" in row["hops"][-1]["error"]


@pytest.mark.parametrize(
    "answer",
    [
        reply("407 Proxy Authentication Required", Proxy_Authenticate="Basic"),
        b"",  # it hangs up
        b"220 mail.example ESMTP\r\n",
    ],
    ids=["wants a password", "hangs up", "is none"],
)
def test_a_proxy_that_does_not_serve_us_is_not_the_fault_of_the_host(answer: bytes) -> None:
    with RawServer(lambda _: answer, robots=answer) as proxy:
        [row] = through_proxy(proxy.url, "http://r.example/ark:/12x45/x5")
    assert outcomes([row]) == ["undetermined"]
    assert f"the configured proxy failed, not the host (the proxy {proxy.url}" in row["hops"][-1]["error"]
