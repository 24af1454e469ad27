"""A zoo of resolvers on loopback: each animal is a few lines in `tests/vectors/zoo`, and answers over real sockets.

An animal lives at ``NAME.example`` and at every name below it. Its answers are found by the question: ``object``,
``?info``, ``??``, ``?``, ``control`` (any other ARK) with the same inflections, a request target, or the whole
``//host/target``. An inflection that is not listed gets the answer for the object, as with most software.
"""

import datetime
import gzip
import socket
import ssl
import struct
import threading
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import trustme

from tests.real.loopback import accept_connections

FOLDER = Path(__file__).parents[2] / "vectors" / "zoo"
#: Frames of pages by name; ``{title}`` and ``{main}`` are filled by an answer.
FRAMES = {file.stem: file.read_text("utf-8") for file in (FOLDER / "frames").glob("*.html")}
#: Seconds after which every client has given up.
HANG_S = 12.0
INFLECTIONS = ("?info", "??", "?")
PAGE = """<!DOCTYPE html><html lang="en"><head><title>{title}</title></head>
<body><h1>{title}</h1><p>Identifier: {ark}</p><p>Forty leaves, with drawings of the harbour of Livorno.</p></body>
</html>
"""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer: complete HTTP, faulty HTTP, or raw bytes."""

    status: int = 200
    reason: str = "Reason"
    type: str | None = "text/html; charset=utf-8"
    location: str | None = None
    headers: tuple[str, ...] = ()
    body: str | None = None
    title: str = "Notebook of Ada Rossi"
    frame: str | None = None
    """The page in `FRAMES` around the body: menus and footers, as on real sites."""
    encoding: str = "utf-8"
    fault: str | None = None
    """``hang``, ``reset``, ``hang-up``, ``trickle``, ``trickled-head``, ``huge``, ``gzip-bomb``, ``unsaid-gzip``, or
    just ``gzip``."""
    delay_s: float = 0.0
    raw: str | None = None
    """The whole answer, octets as Latin-1."""
    cookie: str | None = None
    """Given only to who brings this cookie; the next answer in the list is for the others."""
    agent: str | None = None
    """Given only to whose User-Agent holds this."""


@dataclass(frozen=True, slots=True)
class Animal:
    """One behaviour, and the verdict that it deserves."""

    why: str
    name: str
    ark: str
    object: str
    metadata: str
    commitment: str
    scheme: str = "http"
    asked: str | None = None
    """The input of the command; by default the ARK at this animal's own host."""
    on: Mapping[str, tuple[Answer, ...]] = field(default_factory=dict)
    robots: Answer | None = None
    tls: str | None = None
    """The kind of certificate: ``ok``, ``expired``, ``self-signed``, ``wrong-host``, ``unknown-issuer`` or ``none``."""
    upgrades: bool = False
    """Whether plain HTTP is answered with a redirect to the same address over TLS."""
    place: str = "open"
    """``open``, ``closed`` (without a listener), ``nowhere`` (the name leads nowhere) or ``ipv6``."""
    final: str | None = None
    """Where the object was in the end."""
    says: tuple[str, ...] = ()
    """Words that the evidence and the remarks must contain."""
    unsaid: tuple[str, ...] = ()
    """Words that they must not contain."""
    never: tuple[str, ...] = ()
    """Request targets that must not be asked."""
    at_most: int | None = None
    """How often the object's URL may be requested."""
    known: str | None = None
    """The known fault of arkaudit here, if any; the test insists that it persists."""

    @property
    def host(self) -> str:
        return f"{self.name}.{'invalid' if self.place == 'nowhere' else 'example'}"

    @property
    def url(self) -> str:
        return self.asked or f"{self.scheme}://{self.host}/{self.ark}"

    @property
    def hosts(self) -> set[str]:
        """Return every host name of the animal."""
        named = {key[2:].partition("/")[0] for key in self.on if key.startswith("//")}
        return {self.host, *(each for each in named if each.endswith(f"{self.name}.example"))}

    def answers_to(self, host: str, target: str, *, is_secure: bool) -> tuple[Answer, ...]:
        """Return the answer to a request target at one of its hosts; 404 for unknown targets."""
        if self.upgrades and not is_secure:
            return (Answer(301, location=f"https://{host}{target}"),)
        path, mark, query = target.partition("?")
        inflection = mark + query if mark + query in INFLECTIONS else ""
        for key in (f"//{host}{target}", f"//{host}{path}", target, path):
            if key in self.on:
                return self.on[key]
        is_ark = "ark:" in path.lower()
        kind = "object" if path == "/" + self.ark else "control" if is_ark else "elsewhere"
        keys = {
            "object": (inflection or "object", "inflected" if inflection else "object", "object"),
            "control": (f"control {inflection}".strip(), "control inflected" if inflection else "control", "control"),
            "elsewhere": ("elsewhere",),
        }[kind]
        found = next((self.on[key] for key in (*keys, "anything") if key in self.on), None)
        return found or ((Answer(),) if kind == "object" else (Answer(404, body="Not found: {target}"),))


def animals(folder: Path = FOLDER) -> list[Animal]:
    """Return every animal of the data files, in their order."""
    files = sorted(folder.glob("*.toml"))
    rows = [row for file in files for row in tomllib.loads(file.read_text("utf-8"))["animal"]]
    return [_animal(number, row) for number, row in enumerate(rows)]


def _animal(number: int, row: dict[str, Any]) -> Animal:
    told = {"ark": f"ark:/12x45/cl0{10066723 + 37 * number}", **row}
    verdict = dict(zip(("object", "metadata", "commitment"), told.pop("verdict"), strict=True))
    on = {key.replace("{own}", told["ark"]): _answers(value) for key, value in told.pop("on", {}).items()}
    robots = told.pop("robots", None)
    lists = {key: tuple(told.pop(key)) for key in ("says", "unsaid", "never") if key in told}
    return Animal(**told, **verdict, **lists, on=on, robots=Answer(**robots, type="text/plain") if robots else None)


def _answers(value: Any) -> tuple[Answer, ...]:
    told = value if isinstance(value, list) else [value]
    return tuple(Answer(**{**each, "headers": tuple(each.get("headers", ()))}) for each in told)


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """A request as it arrived."""

    host: str
    method: str
    target: str
    at: float


class Zoo:
    """Serves *animals* on loopback, plain and over TLS, until it is closed."""

    def __init__(self, inhabitants: Iterable[Animal], authority: trustme.CA) -> None:
        self._by_host = {host: animal for animal in inhabitants for host in animal.hosts}
        self._authority = authority
        self._counts: Counter[tuple[str, str]] = Counter()
        self._lock = threading.Lock()
        self._listeners: list[socket.socket] = []
        self.requests: list[ReceivedRequest] = []
        """Every request but those for robots.txt."""
        self.robots_asked: list[str] = []

    def __enter__(self) -> Self:
        _bomb()  # packed beforehand: no client waits for that
        plain = self._listen("127.0.0.1", None)
        closed = socket.create_server(("127.0.0.1", 0))
        nobody = closed.getsockname()[1]
        closed.close()
        self.routes: list[str] = []
        for host, animal in self._by_host.items():
            if animal.place == "nowhere":
                continue
            port = nobody if animal.place == "closed" else plain
            address = "127.0.0.1"
            if animal.place == "ipv6":
                address, port = "[::1]", self._listen("::1", None)
            self.routes.append(f"{host}:80={address}:{port}")
            if animal.tls:
                secure = plain if animal.tls == "none" else self._listen("127.0.0.1", self._context(animal))
                self.routes.append(f"{host}:443=127.0.0.1:{secure}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for listener in self._listeners:
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()

    def _listen(self, address: str, context: ssl.SSLContext | None) -> int:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        listener = socket.create_server((address, 0), family=family, backlog=200)
        self._listeners.append(listener)
        serve = partial(self._serve, context=context)
        threading.Thread(target=accept_connections, args=(listener, serve), daemon=True).start()
        port: int = listener.getsockname()[1]
        return port

    def _context(self, animal: Animal) -> ssl.SSLContext:
        now = datetime.datetime.now(datetime.UTC)
        until = now - datetime.timedelta(days=1) if animal.tls == "expired" else now + datetime.timedelta(days=9)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        if animal.tls == "self-signed":
            itself = trustme.CA()  # an authority's own certificate, shown as if it were the host's
            with itself.cert_pem.tempfile() as certificate, itself.private_key_pem.tempfile() as key:
                context.load_cert_chain(certificate, key)
            return context
        authority = trustme.CA() if animal.tls == "unknown-issuer" else self._authority
        name = "somebody-else.example" if animal.tls == "wrong-host" else animal.host
        authority.issue_cert(name, not_before=now - datetime.timedelta(days=30), not_after=until).configure_cert(
            context
        )
        return context

    def _serve(self, connection: socket.socket, context: ssl.SSLContext | None) -> None:
        try:
            connection.settimeout(HANG_S)
            if context:
                connection = context.wrap_socket(connection, server_side=True)
            with connection:
                head = b""
                while b"\r\n\r\n" not in head:
                    received = connection.recv(65536)
                    if not received:
                        return
                    head += received
                    if head[:1] == b"\x16":  # TLS, at a port without TLS
                        connection.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
                        return
                self._answer(connection, head.decode("latin-1"), is_secure=context is not None)
        except OSError:
            return  # some animals make the client give up

    def _answer(self, connection: socket.socket, head: str, *, is_secure: bool) -> None:
        line, *lines = head.split("\r\n")
        method, target, _ = line.split(" ", 2)
        told = {name.lower(): value.strip() for name, _, value in (each.partition(":") for each in lines if each)}
        host = told.get("host", "").partition(":")[0].lower()
        animal = self._by_host[host]
        if target == "/robots.txt":
            self.robots_asked.append(host)
            _send(connection, animal.robots or Answer(404), target, animal, 0)
            return
        with self._lock:
            self.requests.append(ReceivedRequest(host, method, target, time.monotonic()))
            seen = self._counts[host, target]
            self._counts[host, target] += 1
        given = self._given(animal, host, target, is_secure=is_secure)
        fitting = [
            answer
            for answer in given
            if (answer.cookie is None or answer.cookie in told.get("cookie", ""))
            and (answer.agent is None or answer.agent in told.get("user-agent", ""))
        ]
        gated = any(answer.cookie or answer.agent for answer in given)
        answer = fitting[0 if gated else min(seen, len(fitting) - 1)]
        _send(connection, answer, target, animal, len(self.requests))

    def _given(self, animal: Animal, host: str, target: str, *, is_secure: bool) -> tuple[Answer, ...]:
        return animal.answers_to(host, target, is_secure=is_secure)


def _send(connection: socket.socket, answer: Answer, target: str, animal: Animal, number: int) -> None:
    time.sleep(answer.delay_s)
    if answer.fault == "hang":
        time.sleep(HANG_S)
        return
    if answer.fault == "hang-up":
        return
    if answer.fault == "reset":
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return
    for piece, pause_s in _pieces(answer, _words(target, animal, number)):
        connection.sendall(piece)
        time.sleep(pause_s)


def _words(target: str, animal: Animal, number: int) -> Mapping[str, str]:
    path = target.partition("?")[0]
    at = path.lower().find("ark:")
    ark = path[at:] if at >= 0 else animal.ark
    return {
        "{target}": target,
        "{path}": path,
        "{own}": animal.ark,
        "{ark}": ark,
        "{name}": ark.rpartition("/")[2],
        "{number}": str(number),
        "{long}": "x" * 60_000,
    }


def _fill(text: str, words: Mapping[str, str]) -> str:
    for word, value in words.items():
        text = text.replace(word, value)
    return text


@cache
def _bomb() -> bytes:
    return gzip.compress(bytes(200 * 2**20), 1)


def _pieces(answer: Answer, words: Mapping[str, str]) -> Iterator[tuple[bytes, float]]:
    """Yield the bytes to send, and the seconds to wait after each piece."""
    if answer.raw is not None:
        yield _fill(answer.raw, words).encode("latin-1"), 0.0
        return
    status = 302 if answer.location is not None and answer.status == 200 else answer.status
    text = answer.body
    if text is None:
        text = PAGE.replace("{title}", answer.title) if status == 200 else ""
    if answer.frame is not None:
        text = FRAMES[answer.frame].replace("{title}", answer.title).replace("{main}", text)
    body = _fill(text, words).encode(answer.encoding)
    headers = [_fill(each, words) for each in answer.headers]
    if answer.type is not None:
        headers.append(f"Content-Type: {answer.type}")
    if answer.location is not None:
        headers.append(f"Location: {_fill(answer.location, words)}")
    if answer.fault == "gzip-bomb":
        body, headers = _bomb(), [*headers, "Content-Encoding: gzip"]
    if answer.fault in ("gzip", "unsaid-gzip"):
        body, headers = (gzip.compress(body), headers + (["Content-Encoding: gzip"] if answer.fault == "gzip" else []))
    if answer.fault == "huge":
        body = body + b"<p>and so on</p>" * 2**19
    headers += [f"Content-Length: {len(body)}", "Connection: close"]
    has_body = status not in (204, 304)
    head = "".join(f"{line}\r\n" for line in (f"HTTP/1.1 {status} {answer.reason}", *headers, "")).encode("latin-1")
    if answer.fault == "trickled-head":
        yield from ((head[at : at + 1], 1.0) for at in range(len(head)))
    elif answer.fault == "trickle":
        yield head + body[:200], 1.0
        yield from ((body[at : at + 1], 1.0) for at in range(200, len(body)))
    else:
        yield head + (body if has_body else b""), 0.0
