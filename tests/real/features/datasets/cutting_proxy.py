"""A relay on loopback that resets connections in the middle of a download."""

import contextlib
import re
import socket
import struct
import threading
from collections.abc import Iterator
from typing import Final

from tests.real.loopback import serve_connections
from tests.real.waiting import PATIENCE_S

_RESET: Final = struct.pack("ii", 1, 0)


class CuttingProxy:
    """Passes requests on to a server, one a connection, and cuts off the body of answers for some targets."""

    def __init__(self, port: int, targets: str, cuts: int, body_bytes: int) -> None:
        self._port, self._targets, self.cuts, self._body_bytes = (port, re.compile(targets), cuts, body_bytes)
        self.cut = 0
        """Answers that were cut off."""
        self._lock = threading.Lock()
        self.own_port = 0

    def relay(self, client: socket.socket) -> None:
        """Pass one request on to the server, and its answer back."""
        client.settimeout(PATIENCE_S)
        with (
            client,
            socket.create_connection(("127.0.0.1", self._port), timeout=PATIENCE_S) as server,
            contextlib.suppress(OSError),
        ):
            head, body = _head_of(client)
            if b"100-continue" in head.lower():
                client.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            length = re.search(rb"(?im)^content-length: *(\d+)", head)
            while length is not None and len(body) < int(length[1]):
                body += _receive(client)
            is_chunked = re.search(rb"(?im)^transfer-encoding: *chunked", head) is not None
            while is_chunked and not re.search(rb"(?:^|\r\n)0\r\n(?:[^\0]*\r\n)?\r\n\Z", body):
                body += _receive(client)
            server.sendall(_of_one_request(head) + body)
            most = self._most_of(head)
            head, body = _head_of(server)
            client.sendall(_of_one_request(head))
            sent = 0
            body = body or server.recv(65_536)
            while body:
                body = body if most is None else body[: most - sent]
                client.sendall(body)
                sent += len(body)
                if most is not None and sent >= most:
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                    return
                body = server.recv(65_536)

    def _most_of(self, head: bytes) -> int | None:
        """Return the number of octets of a body after which the connection is reset; None for the whole body."""
        method, target, *_ = head.decode("latin-1").split(" ")
        with self._lock:
            if method != "GET" or not self._targets.search(target) or self.cut >= self.cuts:
                return None
            self.cut += 1
        return self._body_bytes


def _head_of(connection: socket.socket) -> tuple[bytes, bytes]:
    """Return the head of a message, and the octets received after it."""
    read = b""
    while b"\r\n\r\n" not in read:
        read += _receive(connection)
    head, end, rest = read.partition(b"\r\n\r\n")
    return head + end, rest


def _receive(connection: socket.socket) -> bytes:
    """Return the next octets. Raises OSError at the end."""
    received = connection.recv(65_536)
    if not received:
        raise OSError("closed within a message")
    return received


def _of_one_request(head: bytes) -> bytes:
    """Return the head with a request to close the connection after the answer."""
    return re.sub(rb"(?im)^(?:connection|expect):[^\r]*\r\n", b"", head)[:-2] + b"Connection: close\r\n\r\n"


@contextlib.contextmanager
def cut_connections(port: int, targets: str, *, cuts: int, body_bytes: int = 600) -> Iterator[CuttingProxy]:
    """Yield a relay to a server on loopback that cuts off *cuts* answers to targets that match *targets*."""
    proxy = CuttingProxy(port, targets, cuts, body_bytes)
    with serve_connections(proxy.relay) as proxy.own_port:
        yield proxy
