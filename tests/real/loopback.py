"""Servers on loopback that answer with raw bytes, the command run as a user runs it, and the rows of its store."""

import csv
import json
import os
import random
import socket
import sqlite3
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import trustme

from tests.real import preloaded
from tests.real.waiting import PATIENCE_S

_SO_TIMESTAMPNS = 35  # of Linux; Python has no name for it
#: From a request target to the bytes of the whole answer; None hangs up without a word.
Responder = Callable[[str], bytes | None]


def reply(status: str = "200 OK", body: str = "", media_type: str = "text/html", **headers: str) -> bytes:
    """Return a complete, well-formed answer that closes its connection."""
    lines = {"Content-Type": media_type, "Content-Length": str(len(body.encode())), "Connection": "close"}
    lines.update({name.replace("_", "-"): value for name, value in headers.items()})
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"HTTP/1.1 {status}\r\n{head}\r\n{body}".encode()


def accept_connections(listener: socket.socket, serve: Callable[[socket.socket], object]) -> None:
    """Serve each connection in a thread, until the listener is closed."""
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=serve, args=(connection,), daemon=True).start()


def _timed_server(address: str) -> socket.socket:
    """Return a listener whose connections have the kernel's times of arrival, for `arrival`."""
    listener = socket.create_server((address, 0), family=socket.AF_INET6 if ":" in address else socket.AF_INET)
    # Connections inherit the option. Set on a connection, it misses the packets that came before the server's thread
    # ran: the kernel then gives the time of reading, which is late on a busy machine.
    listener.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    return listener


@contextmanager
def serve_connections(serve: Callable[[socket.socket], object]) -> Iterator[int]:
    """Yield the port of a host that serves each connection in a thread."""
    listener = _timed_server("127.0.0.1")
    threading.Thread(target=accept_connections, args=(listener, serve), daemon=True).start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


@contextmanager
def tunnel_to(port: int) -> Iterator[tuple[int, list[str]]]:
    """Yield a proxy that connects every client to one port: its own port, and the first lines of its requests."""
    lines: list[str] = []

    def pipe(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        for each in (source, sink):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def serve(client: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            head += client.recv(65536)
        lines.append(head.decode("latin-1").partition("\r\n")[0])
        server = socket.create_connection(("127.0.0.1", port))
        client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        threading.Thread(target=pipe, args=(client, server), daemon=True).start()
        pipe(server, client)

    with serve_connections(serve) as own:
        yield own, lines


def latency_s(target: str) -> float:
    """Return the seconds that a server takes to answer, the same for the same target, so that answers overtake others."""
    return random.Random(target).uniform(0, 0.01)


class RawServer:
    """Reads each request line as sent on the wire, and answers with the bytes that *respond* returns."""

    def __init__(
        self,
        respond: Responder,
        *,
        tls: trustme.LeafCert | None = None,
        address: str = "127.0.0.1",
        robots: bytes = reply("404 Not Found"),
    ) -> None:
        self._respond = respond
        self._robots = robots
        self._address = address
        self._context: ssl.SSLContext | None = None
        if tls is not None:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.configure_cert(self._context)
        self.request_lines: list[str] = []
        self.heads: list[str] = []
        self.times: list[float] = []
        """Arrival of each request in monotonic seconds, by the kernel's clock for packets."""

    def __enter__(self) -> Self:
        self._listener = _timed_server(self._address)
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=accept_connections, args=(self._listener, self._serve), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)

    @property
    def url(self) -> str:
        host = f"[{self._address}]" if ":" in self._address else self._address
        return f"{'https' if self._context else 'http'}://{host}:{self.port}"

    @property
    def targets(self) -> list[str]:
        """Return the request targets, byte for byte, without robots.txt."""
        targets = [line.split(" ")[1] for line in self.request_lines]
        return [target for target in targets if not target.endswith("/robots.txt")]

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection:
                connection.settimeout(20)
                arrived_at = arrival(connection)
                if self._context:
                    connection = self._context.wrap_socket(connection, server_side=True)
                head = b""
                while b"\r\n\r\n" not in head:
                    arrived_at = arrival(connection)
                    received = connection.recv(65536)
                    if not received:
                        return
                    head += received
                text = head.decode("latin-1")
                line = text.partition("\r\n")[0]
                self.heads.append(text)
                self.times.append(arrived_at)
                self.request_lines.append(line)
                target = line.split(" ")[1]
                answer = self._robots if target.endswith("/robots.txt") else self._respond(target)
                if answer is not None:
                    time.sleep(latency_s(target))
                    connection.sendall(answer)
        except OSError:
            return  # some tests close the connection on purpose


def arrival(connection: socket.socket) -> float:
    """Wait for unread bytes; return the kernel's time of their arrival, in monotonic seconds.

    Behind TLS these are the bytes of the next record, which OpenSSL has not read yet. A connection that ends, and a
    kernel that gives no time, have the present moment.
    """
    _, ancillary, _, _ = socket.socket.recvmsg(connection, 1, 256, socket.MSG_PEEK)
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, _SO_TIMESTAMPNS):
            seconds, nanoseconds = struct.unpack("ll", data[:16])
            return monotonic_of(seconds + nanoseconds / 1e9)
    return time.monotonic()


def monotonic_of(clock_s: float) -> float:
    """Return the moment *clock_s* of the machine's clock by the monotonic one, to a millisecond.

    The two are looked at until nothing else was done between: a busy machine would set that moment off otherwise.
    """
    while True:
        before = time.monotonic()
        ago_s = time.time() - clock_s
        if time.monotonic() - before < 0.001:
            return before - ago_s


def run_command(
    *arguments: str | Path,
    stdin: str = "",
    stdout: int | None = None,
    encoding: str = "utf-8",
    timeout_s: float = PATIENCE_S,
    program: str | None = None,
    first: Callable[[], None] | None = None,
    folder: Path | None = None,
    **environment: str,
) -> subprocess.CompletedProcess[str]:
    """Run `arkaudit`, or another *program*, with these arguments as a process, as `preloaded.run` does."""
    told = {**clean_environment(), "PYTHONIOENCODING": encoding, **environment}
    return preloaded.run(
        [str(each) for each in arguments], environment=told, stdin=stdin, stdout=stdout, timeout_s=timeout_s,
        program=program, first=first, folder=folder,
    )  # fmt: skip


def start_command(*arguments: str | Path, **how: Any) -> subprocess.Popen[str]:
    """Start `arkaudit` with these arguments, and pipes for its output unless *how* says otherwise."""
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-m", "arkaudit", *arguments], **(streams | how))


def read_csv(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table of a report."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def explained_rows(store: Path, arks: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the rows of the last checks in a store with their explanations, by request URL."""
    done = run_command("explain", *arks, "--store", store, "--format", "jsonl")
    assert done.returncode == 0, done.stderr
    return {row["asked"]: row for history in json_lines(done.stdout) for row in history["last_checks"]}


def select(store: Path, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
    """Return the rows of a query on a store."""
    with closing(sqlite3.connect(store)) as raw:
        return raw.execute(query, values).fetchall()


@cache
def cache_folder() -> tempfile.TemporaryDirectory[str]:
    """Return a cache folder that begins empty, without a copy of the registry.

    It is made at the first call, so that a killed process that only imports this module leaves no folder.
    """
    return tempfile.TemporaryDirectory(prefix="arkaudit-cache-")


def clean_environment() -> dict[str, str]:
    """Return the environment of a command: no proxy, and no copy of the registry."""
    inherited = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    return {**inherited, "ARKAUDIT_CACHE": cache_folder().name}


#: Options of every test that sends requests: all traffic stays on loopback, without waiting. On a busy machine a server
#: of the tests may need long for an answer.
ON_LOOPBACK = (
    "--delay", "0", "--backoff", "0", "--timeout", "30", "--only-routed", "--allow-address", "127.0.0.0/8",
)  # fmt: skip


def check_rows(*arguments: str | Path, **environment: str) -> list[dict[str, Any]]:
    """Return the rows that `arkaudit check` prints on loopback."""
    done = run_command("check", *ON_LOOPBACK, *arguments, **environment)
    assert done.returncode == 0, done.stderr
    return json_lines(done.stdout)


def json_lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def outcomes(rows: Sequence[dict[str, Any]], service: str = "object") -> list[str]:
    return [row[service]["outcome"] for row in rows]
