"""How long a whole check of many hosts takes, beside the least that their intervals allow.

Two hundred hosts on loopback are asked about fifty ARKs each, with half a second between two requests to a host. The
bound is what no polite program can be faster than: the host that was asked most often, by its own log, one interval
after another. The makespan is that of the whole command, from its start to its end. Nothing may be gained by asking
sooner: the shortest gap in the servers' log is told, too.

    python -m benchmarks.makespan [HOSTS [ARKS [INTERVAL]]]
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from multiprocessing.connection import Connection
from pathlib import Path
from typing import ClassVar

HOSTS, ARKS, INTERVAL_S = 200, 50, 0.5
MOST = 1.10
#: What the log of a busy server may be late by.
TOLERANCE_S = 0.02
_PAGE = "<!DOCTYPE html><title>Notebook {name}</title><p>ark:/12x45/{name}<p>{words}"
_RECORD = (
    "erc:\nwho: Rossi, Ada\nwhat: Notebook {name}\nwhen: 1952\nwhere: ark:/12x45/{name}\n\n"
    "erc-support:\nwho: A library\nwhat: Permanent: Stable Content\nwhen: 2020\nwhere: https://library.example/\n"
)
_WORDS = "Forty leaves, with drawings of the harbour. " * 40


def main(arguments: Sequence[str] = ()) -> int:
    """Prints one line; 1 when the makespan is beyond the bound, or a gap was too short."""
    hosts, arks = (
        (int(text) for text in [*arguments[:2], str(HOSTS), str(ARKS)][:2])
        if len(arguments) != 1
        else (int(arguments[0]), ARKS)
    )
    interval_s = float(arguments[2]) if len(arguments) > 2 else INTERVAL_S
    names = [f"h{number:04}.example" for number in range(hosts)]
    log, makespan_s, cpu_s = _audited(names, arks, interval_s)
    starts = {name: sorted(log[name]) for name in names}
    bound_s = max(len(moments) - 1 for moments in starts.values()) * interval_s
    gap_s = min(later - earlier for moments in starts.values() for earlier, later in pairwise(moments))
    requests = sum(map(len, starts.values()))
    ratio = makespan_s / bound_s
    print(
        f"makespan: {ratio:.2f} of the bound of {bound_s:.1f} s (at most {MOST}) for {hosts} hosts with {arks} ARKs "
        f"each at {interval_s:g} s; {requests} requests, {cpu_s / requests * 1000:.2f} ms of CPU each, "
        f"{cpu_s / makespan_s:.0%} of a core; shortest gap {gap_s:.3f} s"
    )
    return int(ratio > MOST or gap_s < interval_s - TOLERANCE_S)


def _audited(names: Sequence[str], arks: int, interval_s: float) -> tuple[Mapping[str, list[float]], float, float]:
    """The moments of the requests to each host, the makespan, and the CPU seconds of the command."""
    spawning = multiprocessing.get_context("spawn")
    ours, theirs = spawning.Pipe()
    server = spawning.Process(target=_serve, args=(theirs,), daemon=True)
    server.start()
    port = ours.recv()
    with tempfile.TemporaryDirectory(prefix="arkaudit-makespan-") as folder:
        lines = [f"http://{name}/ark:/12x45/b7{number:04}k" for number in range(arks) for name in names]
        Path(folder, "arks.txt").write_text("\n".join(lines))
        routes = "\n".join(f'    "{name}:80=127.0.0.1:{port}",' for name in names)
        Path(folder, "arkaudit.toml").write_text(
            f"[politeness]\ndelay = {interval_s}\n\n[network]\nonly_routed = true\nconnect_to = [\n{routes}\n]\n"
        )
        command = [sys.executable, "-m", "arkaudit", "check", "-c", "arkaudit.toml", "--from", "arks.txt"]
        used_s, begun = _cpu_s(), time.monotonic()
        with Path(folder, "rows.jsonl").open("w") as rows:
            subprocess.run(
                [*command, "--store", "audit.db"],
                check=True, cwd=folder, stdout=rows, env={**os.environ, "ARKAUDIT_CACHE": str(Path(folder, "cache"))},
            )  # fmt: skip
        makespan_s, used_s = time.monotonic() - begun, _cpu_s() - used_s
    ours.send("log")
    log = ours.recv()
    server.terminate()
    return log, makespan_s, used_s


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class _Host(asyncio.Protocol):
    """Answers for every host, and notes when it was asked."""

    log: ClassVar[defaultdict[str, list[float]]] = defaultdict(list)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._received = b""

    def data_received(self, data: bytes) -> None:
        self._received += data
        while b"\r\n\r\n" in self._received:
            head, _, self._received = self._received.partition(b"\r\n\r\n")
            line, *headers = head.decode("latin-1").split("\r\n")
            host = next(each[5:].strip() for each in headers if each.lower().startswith("host:"))
            self.log[host].append(time.monotonic())
            self._transport.write(_answer(line.split(" ")[1]))


def _answer(target: str) -> bytes:
    path, _, inflection = target.partition("?")
    name = path.rpartition("/")[2]
    is_known = path.startswith("/ark:/12x45/b7") and name.endswith("k") and len(name) == 7
    body = (_RECORD if inflection else _PAGE).format(name=name, words=_WORDS) if is_known else "Not here"
    media_type = "text/plain" if inflection or not is_known else "text/html"
    status = "200 OK" if is_known else "404 Not Found"
    return (f"HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {len(body)}\r\n\r\n{body}").encode()


def _serve(pipe: Connection) -> None:
    async def serve() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(_Host, "127.0.0.1", 0, backlog=4096)
        pipe.send(server.sockets[0].getsockname()[1])
        await loop.run_in_executor(None, pipe.recv)
        pipe.send(dict(_Host.log))

    asyncio.run(serve())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
