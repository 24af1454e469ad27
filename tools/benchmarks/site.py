"""A site on loopback for crawls: any number of pages, generated from their numbers, in a child process.

A page has about 4 kB: a title, some prose, three ARKs and ten links. From page 0 all others can be reached.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from random import Random

from extractors.model.check_characters import check_character
from tools.benchmarks.prose import prose

LINKS = 10
#: Number of links of a page to new pages; the others are random.
_CHILDREN = 3
_PARAGRAPHS = [prose(700, seed=seed) for seed in range(40)]


@dataclass(frozen=True, slots=True)
class Site:
    """A running site."""

    port: int
    _pipe: Connection

    @property
    def url(self) -> str:
        """The URL of the first page."""
        return f"http://127.0.0.1:{self.port}/"

    def take_counts(self) -> tuple[int, int]:
        """Return the numbers of requests and of distinct pages since the last call."""
        self._pipe.send("taken")
        requests, pages = self._pipe.recv()
        return requests, pages


@contextmanager
def serve_site(pages: int, *, core: int | None = None, rest_of_page: str = "") -> Iterator[Site]:
    """Serve a site of *pages* on a core until the context ends; each page ends with *rest_of_page*."""
    spawning = multiprocessing.get_context("spawn")
    ours, theirs = spawning.Pipe()
    server = spawning.Process(target=_serve, args=(theirs, pages, core, rest_of_page), daemon=True)
    server.start()
    try:
        yield Site(ours.recv(), ours)
    finally:
        server.terminate()
        server.join()


def path(number: int) -> str:
    """Return the path of a page.

    >>> path(0), path(17)
    ('/', '/collection/17.html')
    """
    return f"/collection/{number}.html" if number else "/"


def page(number: int, pages: int, rest_of_page: str = "") -> bytes:
    """Return a page of a site of *pages*, which ends with *rest_of_page*."""
    chance = Random(number)
    children = range(_CHILDREN * number + 1, _CHILDREN * number + 1 + _CHILDREN)
    links = [each for each in children if each < pages]
    links += [chance.randrange(pages) for _ in range(LINKS - len(links))]
    items = "".join(f'<li><a href="{path(each)}">Box {each}, and what is in it</a></li>\n' for each in links)
    names = [_name(f"btv1b{number:07}{letter}") for letter in "kmn"]
    prose_of_page = "".join(f"<p>{chance.choice(_PARAGRAPHS)}</p>\n" for _ in range(4))
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Box {number}</title>\n'
        '<meta name="description" content="A box of the collection"></head>\n'
        f"<body><h1>Box {number}</h1>\n{prose_of_page}<ul>\n{items}</ul>\n"
        f'<p>Cite it as ark:/12148/{names[0]}, or as <a href="https://n2t.net/ark:/12148/{names[1]}">its record</a>;\n'
        f"its neighbour is ark:12148/{names[2]} in the same room.</p>{rest_of_page}</body></html>\n"
    ).encode()


def _name(stem: str) -> str:
    """Return a name with its check character; without it, it would count as mistyped."""
    return stem + check_character(stem)


# -- the server


class _Conversation(asyncio.Protocol):
    """Answers requests without a body on one connection, one after the other."""

    def __init__(self, pages: int, asked: list[str], rest_of_page: str) -> None:
        self._pages = pages
        self._rest_of_page = rest_of_page
        self._asked = asked
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        while b"\r\n\r\n" in self._received:
            head, _, self._received = self._received.partition(b"\r\n\r\n")
            line, _, headers = head.partition(b"\r\n")
            self._transport.write(self._answer(line.split(b" ")[1].decode("latin-1")))
            if b"connection: close" in headers.lower():
                self._transport.close()

    def _answer(self, target: str) -> bytes:
        number = 0 if target == "/" else _number(target)
        if number is None or number >= self._pages:
            return b"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n\r\nNot here\n"
        self._asked.append(target)
        body = page(number, self._pages, self._rest_of_page)
        # This header lifts LinkChecker's throttle (see its httpurl.py).
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\nLinkChecker: yes\r\n\r\n"
        return head.encode() + body


def _number(target: str) -> int | None:
    middle = target.removeprefix("/collection/").removesuffix(".html")
    return int(middle) if middle.isdigit() and path(int(middle)) == target else None


def _serve(pipe: Connection, pages: int, core: int | None, rest_of_page: str) -> None:
    if core is not None:
        os.sched_setaffinity(0, {core})
    asyncio.run(_run_server(pipe, pages, rest_of_page))


async def _run_server(pipe: Connection, pages: int, rest_of_page: str) -> None:
    loop = asyncio.get_running_loop()
    asked: list[str] = []

    def tell() -> None:
        try:
            pipe.recv()
        except EOFError:
            loop.stop()
            return
        pipe.send((len(asked), len(set(asked))))
        asked.clear()

    server = await loop.create_server(lambda: _Conversation(pages, asked, rest_of_page), "127.0.0.1", 0, backlog=1024)
    loop.add_reader(pipe.fileno(), tell)
    pipe.send(server.sockets[0].getsockname()[1])
    await server.serve_forever()
