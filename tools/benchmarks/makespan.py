"""Duration of a whole check of many hosts, relative to the minimum that their intervals allow.

Two hundred hosts on loopback are asked about fifty ARKs each, with half a second between two requests to a host. The
bound is the number of intervals at the host with most requests. The makespan is the time of the whole command. The
shortest gap in the hosts' logs, with timestamps of the kernel, shows that no interval was shortened.

    python -m tools.benchmarks.makespan [HOSTS [ARKS [INTERVAL]]]
"""

from __future__ import annotations

import multiprocessing
import resource
import selectors
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from multiprocessing.connection import Connection
from pathlib import Path

from tools.benchmarks.crawl import environment

HOSTS, ARKS, INTERVAL_S = "200", "50", "0.5"
#: Maximum and aim of the makespan relative to the bound.
MOST, AIM = 1.30, 1.10
#: Allowed difference between the kernel's timestamps of arrival and the program's clock.
TOLERANCE_S = 0.01
#: A socket option of Linux, which Python has no name for.
_SO_TIMESTAMPNS = 35
#: Five digits, as in practice; NAANs with letters take a slower path.
NAAN = "90909"
_PAGE = f"<!DOCTYPE html><title>Notebook {{name}}</title><p>ark:/{NAAN}/{{name}}<p>{{words}}"
_RECORD = (
    f"erc:\nwho: Rossi, Ada\nwhat: Notebook {{name}}\nwhen: 1952\nwhere: ark:/{NAAN}/{{name}}\n\n"
    "erc-support:\nwho: A library\nwhat: Permanent: Stable Content\nwhen: 2020\nwhere: https://library.example/\n"
)
_WORDS = "Forty leaves, with drawings of the harbour. " * 40


@dataclass(frozen=True, slots=True)
class Audit:
    """The times of one run of the command, by the machine's clock."""

    starts: Mapping[str, Sequence[float]]
    """Times of requests, by host."""
    begun: float
    ended: float
    cpu_s: float


def main(arguments: Sequence[str] = ()) -> int:
    """Print two lines; return 1 if the makespan is too long, or a gap too short."""
    hosts, arks, interval = [*arguments, *(HOSTS, ARKS, INTERVAL_S)[len(arguments) :]]
    interval_s = float(interval)
    names = [f"h{number:04}.example" for number in range(int(hosts))]
    seen = run_check(names, int(arks), interval_s)
    every = sorted(moment for moments in seen.starts.values() for moment in moments)
    bound_s = max(len(moments) - 1 for moments in seen.starts.values()) * interval_s
    gap_s = min(later - earlier for moments in seen.starts.values() for earlier, later in pairwise(sorted(moments)))
    makespan_s, asking_s = seen.ended - seen.begun, every[-1] - every[0]
    ratio = makespan_s / bound_s
    print(
        f"makespan: {ratio:.2f} of the bound of {bound_s:.1f} s (at most {MOST:g}, aim {AIM:g}) for {hosts} hosts with "
        f"{arks} ARKs each at {interval} s; the shortest gap was {gap_s:.3f} s\n"
        f"  {every[0] - seen.begun:.1f} s to start, {asking_s:.1f} s to ask ({asking_s / bound_s:.2f} of the bound, "
        f"{len(every) / asking_s:.0f} requests a second), {seen.ended - every[-1]:.1f} s to judge and print; "
        f"{seen.cpu_s / len(every) * 1000:.1f} ms of CPU a request, {seen.cpu_s / makespan_s:.0%} of a core"
    )
    return int(ratio > MOST or gap_s < interval_s - TOLERANCE_S)


def run_check(names: Sequence[str], arks: int, interval_s: float) -> Audit:
    """Run a check of *arks* at each of the hosts *names*, and return its times."""
    spawning = multiprocessing.get_context("spawn")
    ours, theirs = spawning.Pipe()
    server = spawning.Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    port = ours.recv()
    with tempfile.TemporaryDirectory(prefix="arkaudit-makespan-") as folder:
        lines = [f"http://{name}/ark:/{NAAN}/b7{number:04}k" for number in range(arks) for name in names]
        Path(folder, "arks.txt").write_text("\n".join(lines))
        routes = "\n".join(f'    "{name}:80=127.0.0.1:{port}",' for name in names)
        Path(folder, "arkaudit.toml").write_text(
            f"[politeness]\ndelay = {interval_s}\n\n[network]\nonly_routed = true\nconnect_to = [\n{routes}\n]\n"
        )
        options = ("-c", "arkaudit.toml", "--from", "arks.txt", "--store", "audit.db")
        cpu_s, begun = _cpu_s(), time.time()
        with Path(folder, "rows.jsonl").open("w") as rows:
            subprocess.run(
                [sys.executable, "-m", "arkaudit", "check", *options],
                check=True,
                cwd=folder,
                stdout=rows,
                env=environment(Path(folder)),
            )
        ended, cpu_s = time.time(), _cpu_s() - cpu_s
    ours.send("done")
    starts = ours.recv()
    server.terminate()
    return Audit(starts, begun, ended, cpu_s)


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


# -- the hosts


def serve(pipe: Connection, rest_of_page: str = "") -> None:
    """Answer for all hosts until *pipe* gets a message, then send the times of requests by host.

    Pages end with *rest_of_page*.
    """
    starts: defaultdict[str, list[float]] = defaultdict(list)
    listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
    listener.setblocking(False)
    # Accepted connections inherit the option.
    listener.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    pipe.send(listener.getsockname()[1])
    with selectors.DefaultSelector() as waiting:
        waiting.register(listener, selectors.EVENT_READ)
        waiting.register(pipe, selectors.EVENT_READ)
        while True:
            for key, _ in waiting.select():
                if key.fileobj is pipe:
                    pipe.send(dict(starts))
                    return
                if key.fileobj is listener:
                    connection, _ = listener.accept()
                    waiting.register(connection, selectors.EVENT_READ)
                elif isinstance(key.fileobj, socket.socket) and not _respond(key.fileobj, starts, rest_of_page):
                    waiting.unregister(key.fileobj)
                    key.fileobj.close()


def _respond(connection: socket.socket, starts: defaultdict[str, list[float]], rest_of_page: str) -> bool:
    """Answer a request, which arrives in one piece; return False if the connection is closed."""
    try:
        received, ancillary, _, _ = connection.recvmsg(65536, 256)
    except OSError:
        return False
    if not received:
        return False
    seconds, nanoseconds = struct.unpack("ll", ancillary[0][2][:16]) if ancillary else divmod(time.time_ns(), 10**9)
    line, *headers = received.decode("latin-1").split("\r\n")
    host = next(each[5:].strip() for each in headers if each.lower().startswith("host:"))
    starts[host].append(seconds + nanoseconds / 1e9)
    connection.sendall(_answer(line.split(" ")[1], rest_of_page))
    return True


def _answer(target: str, rest_of_page: str) -> bytes:
    path, _, inflection = target.partition("?")
    name = path.rpartition("/")[2]
    is_known = path.startswith(f"/ark:/{NAAN}/b7") and name.endswith("k") and len(name) == 7
    body = (_RECORD if inflection else _PAGE).format(name=name, words=_WORDS) if is_known else "Not here"
    media_type = "text/plain" if inflection or not is_known else "text/html"
    body += rest_of_page if media_type == "text/html" else ""
    status = "200 OK" if is_known else "404 Not Found"
    head = f"HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {len(body)}\r\n\r\n"
    return f"{head}{body}".encode()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
