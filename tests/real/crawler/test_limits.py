"""Endless answers of a hostile host end by the limits of `docs/security.md`, one limit at a time."""

import gzip
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any

import pytest

from tests.real.loopback import RawServer, check_rows, reply, serve_connections

#: Seconds for a request to hosts that would take all there are,
TIMEOUT_S = 2.0
#: and to those that send so much that another limit ends them, on a machine that is busy with other things, too.
LONG_TIMEOUT_S = 60.0
PAGE = reply(body="<title>An object</title><p>Forty leaves, with drawings.")
ROBOTS = reply("404 Not Found")
Sender = Callable[[socket.socket, threading.Event], None]


@contextmanager
def serve_endless(robots: Sender | None, page: Sender | None) -> Iterator[tuple[int, list[int]]]:
    """Yield the port of a host that sends robots.txt, or everything else, by a function, and its count of octets.

    Without a function, there is no robots.txt, and every other target is a page.
    """
    stopped = threading.Event()
    sent: list[int] = []

    class CountingSender:
        def __init__(self, connection: socket.socket) -> None:
            self.connection = connection

        def sendall(self, data: bytes) -> None:
            self.connection.sendall(data)
            sent.append(len(data))

    def serve(connection: socket.socket) -> None:
        try:
            with connection:
                head = connection.recv(65536)
                is_robots = b"/robots.txt" in head.split(b"\r\n")[0]
                sender = robots if is_robots else page
                if sender is None:
                    connection.sendall(ROBOTS if is_robots else PAGE)
                else:
                    sender(CountingSender(connection), stopped)  # type: ignore[arg-type]
        except OSError:
            return  # it was hung up on, as it should be

    with serve_connections(serve) as port:
        yield port, sent
        stopped.set()


def without_end(head: bytes, piece: bytes, *, pause_s: float = 0.0) -> Sender:
    """Return a sender of *head*, and then of *piece* again and again, with a pause or without."""

    def send(connection: socket.socket, stopped: threading.Event) -> None:
        connection.sendall(head)
        while not stopped.wait(pause_s):
            connection.sendall(piece)

    return send


def silence(connection: socket.socket, stopped: threading.Event) -> None:
    """Keep the connection without an answer."""
    stopped.wait(60)


CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
#: The answer for an ARK, its possible outcomes, words of the reason, and the most octets that may be taken.
ENDLESS: dict[str, tuple[Sender, set[str], str, int]] = {
    "interim answers": (
        without_end(b"", b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n" * 100),
        {"protocol-error"}, "never end", 2**23,
    ),
    "headers": (without_end(b"HTTP/1.1 200 OK\r\n", b"X-More: yes\r\n" * 1000), {"protocol-error"}, "never end", 2**23),
    "a header": (without_end(b"HTTP/1.1 200 OK\r\nX-Long: ", b"x" * 10_000), {"protocol-error"}, "never end", 2**23),
    "a status line": (without_end(b"HTTP/1.1 200 ", b"x" * 10_000), {"protocol-error"}, "", 2**23),
    "trailers": (
        without_end(CHUNKED + b"5\r\n<p>ok\r\n0\r\n", b"X-More: yes\r\n" * 1000),
        {"undetermined"}, "not read to the end", 2**23,
    ),
    "the size of a chunk": (
        without_end(CHUNKED, b"0" * 10_000), {"undetermined"}, "could not be read", 2**23,
    ),
    "a body": (
        without_end(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>An object</title>", b"<p>more" * 1000),
        {"undetermined"}, "not read to the end", 2**24,
    ),
    "headers, drop by drop": (without_end(b"HTTP/1.1 200 OK\r\n", b"x", pause_s=0.05), {"timeout"}, "in time", 2**20),
    "a body, drop by drop": (
        without_end(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>An object</title>", b"x", pause_s=0.05),
        {"undetermined"}, "not read to the end", 2**20,
    ),
    "interim answers, drop by drop": (
        without_end(b"", b"HTTP/1.1 102 Processing\r\n\r\n", pause_s=0.1), {"timeout"}, "in time", 2**20,
    ),
    "silence": (silence, {"timeout"}, "in time", 0),
}  # fmt: skip
#: Answers so slow that only the time limit ends them.
SLOW = [name for name in ENDLESS if "drop by drop" in name or name == "silence"]
FLOODS = [name for name in ENDLESS if name not in SLOW]


@pytest.fixture(scope="module")
def found() -> dict[str, tuple[dict[str, Any], int]]:
    """Return for each of `ENDLESS` the row about its ARK, and the number of octets sent."""
    with ThreadPoolExecutor(2) as threads:
        slow = threads.submit(check_hosts, SLOW, TIMEOUT_S)
        return check_hosts(FLOODS, LONG_TIMEOUT_S) | slow.result()


def check_hosts(names: Sequence[str], timeout_s: float) -> dict[str, tuple[dict[str, Any], int]]:
    with ExitStack() as hosts:
        served = [hosts.enter_context(serve_endless(None, ENDLESS[name][0])) for name in names]
        rows = check_rows(
            "--timeout", str(timeout_s), "--attempts", "1",
            *(f"http://127.0.0.1:{port}/ark:/12x45/x5" for port, _ in served),
        )  # fmt: skip
        return {name: (row, sum(sent)) for name, row, (_, sent) in zip(names, rows, served, strict=True)}


@pytest.mark.parametrize("name", ENDLESS)
@pytest.mark.promise
def test_endless_answers_are_ended(name: str, found: dict[str, tuple[dict[str, Any], int]]) -> None:
    _, expected, words, most_bytes = ENDLESS[name]
    row, sent = found[name]
    assert row["object"]["outcome"] in expected, row["object"]
    assert words in str(row["object"]["evidence"])
    assert sent <= most_bytes * row["requests"], "octets in the system's buffers count as sent"


@pytest.mark.promise
def test_unread_answer_is_never_judged_as_another_page(found: dict[str, tuple[dict[str, Any], int]]) -> None:
    row, _ = found["the size of a chunk"]
    assert "another page" not in str(row["object"]["evidence"])
    assert "could not be read" in str(row["object"]["evidence"])


@cache
def bomb() -> bytes:
    """Return an answer with a robots.txt of 128 MiB of line feeds, compressed."""
    packed = gzip.compress(b"\n" * 2**27)
    return (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: gzip\r\nConnection: close\r\n"
        b"Content-Length: %d\r\n\r\n" % len(packed)
    ) + packed


def send_bomb(connection: socket.socket, stopped: threading.Event) -> None:
    without_end(bomb(), b"", pause_s=5)(connection, stopped)


ROBOTS_WITHOUT_END: dict[str, tuple[Sender, set[str]]] = {
    "rules": (
        without_end(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nUser-agent: *\nDisallow: /ark:\n",
            b"Allow: /x\n" * 1000,
        ),
        {"robots"},
    ),
    "rules, drop by drop": (
        without_end(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nUser-agent: *\n", b"#", pause_s=0.05),
        {"timeout"},
    ),
    "silence": (silence, {"timeout"}),
    "a bomb": (
        send_bomb,
        {"resolved", "undetermined", "robots"},
    ),
    "a pattern that takes for ever": (
        without_end(
            reply(body="User-agent: *\nDisallow: /" + "*k" * 2_000 + "*z$\n", media_type="text/plain"), b"", pause_s=5
        ),
        {"resolved", "undetermined"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("timeout_s", "is_slow"), [(TIMEOUT_S, True), (LONG_TIMEOUT_S, False)])
def test_a_robots_txt_that_never_ends_is_ended(timeout_s: float, is_slow: bool) -> None:
    bomb()
    asked = {name: each for name, each in ROBOTS_WITHOUT_END.items() if ("timeout" in each[1]) is is_slow}
    with ExitStack() as hosts:
        served = [hosts.enter_context(serve_endless(sender, None)) for sender, _ in asked.values()]
        rows = check_rows(
            "--timeout", str(timeout_s), "--attempts", "1",
            *(f"http://127.0.0.1:{port}/ark:/12x45/{'k' * 300}" for port, _ in served),
        )  # fmt: skip
    told = {name: row["object"]["outcome"] for name, row in zip(asked, rows, strict=True)}
    assert {name: outcome for name, outcome in told.items() if outcome not in asked[name][1]} == {}


def test_a_handshake_that_never_ends_is_ended() -> None:
    with serve_endless(silence, silence) as (port, _):
        [row] = check_rows("--timeout", "2", "--attempts", "1", f"https://127.0.0.1:{port}/ark:/12x45/x5")
    assert row["object"]["outcome"] == "timeout"


def test_redirects_end_also_where_each_sets_a_cookie() -> None:
    def onward(target: str) -> bytes:
        return reply("302 Found", Location=target, Set_Cookie=f"n={len(server.targets)}")

    with RawServer(onward) as server:
        [row] = check_rows("--attempts", "1", f"{server.url}/ark:/12x45/x5")
        asked = [target for target in server.targets if target == "/ark:/12x45/x5"]
    assert row["object"]["outcome"] in ("too-many-redirects", "loop")
    assert len(asked) <= 21
