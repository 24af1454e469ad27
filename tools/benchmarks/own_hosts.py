"""Speed of a crawl of the operator's own host with two reading processes relative to one, by the clock.

Such a host is asked without pauses, so that reading PDFs takes most of the time. Both take turns, and must store the
same mentions.

    python -m tools.benchmarks.own_hosts [ROUNDS]
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from threading import Thread

from extractors.model.budget import core_count
from tools.benchmarks.crawl import environment
from tools.benchmarks.pdf import prose_pdf

ROUNDS = "3"
PDFS, PDF_PAGES = 120, 100
#: Minimum of the speed with two processes relative to one.
FLOOR = 1.2
AT_A_TIME = 20

#: Runs the command, and writes the CPU times of its own process and of its children.
_PROGRAM = """
import atexit, json, resource, sys
from arkaudit.__main__ import main
place = sys.argv.pop(1)
def write_times():
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    with open(place, "w") as file:
        json.dump([each.ru_utime + each.ru_stime for each in used], file)
atexit.register(write_times)
main()
"""
_CITED = (
    "select replace(url, ?, ''), as_written, reason, spans from mention join document using (document_id) order by 1, 4"
)


@dataclass(frozen=True, slots=True)
class Audit:
    """One run of the command."""

    requests: int
    seconds: float
    own_cpu_s: float
    others_cpu_s: float
    kept: Sequence[tuple[object, ...]]

    @property
    def own_ms(self) -> float:
        """Milliseconds of CPU of its own process per request."""
        return self.own_cpu_s / self.requests * 1000

    def __str__(self) -> str:
        others_ms = self.others_cpu_s / self.requests * 1000
        rate = f"{self.requests / self.seconds:.0f} requests/s"
        return f"{self.seconds:.1f} s, {rate}, CPU a request: {self.own_ms:.2f} ms its own, {others_ms:.2f} of others"


def main(arguments: Sequence[str] = ()) -> int:
    """Print the figures; return 1 below the floor."""
    [rounds] = (int(text) for text in [*arguments, ROUNDS][:1])
    if core_count() < 2:
        print("own hosts: skipped, because this machine has only one core")
        return 0
    pairs = [(_crawl(1), _crawl(2)) for _ in range(rounds)]
    if any(one.kept != two.kept for one, two in pairs):
        print("own hosts: two processes store something else than one")
        return 1
    by_clock = median(one.seconds / two.seconds for one, two in pairs)
    print(f"own hosts: crawl of PDFs, two processes next to one: {by_clock:.2f} (floor {FLOOR:g})")
    one, two = min(pairs, key=lambda pair: pair[1].seconds)
    print(f"  --jobs 1: {one}\n  --jobs 2: {two}")
    return int(by_clock < FLOOR)


def _crawl(jobs: int) -> Audit:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Shelf)
    Thread(target=server.serve_forever, daemon=True).start()
    port = server.server_port
    for number in range(PDFS):
        _pdf(number)
    measured = _measure(["crawl", f"http://127.0.0.1:{port}/"], port, jobs, _CITED)
    server.shutdown()
    return Audit(PDFS + 1, *measured)


def _measure(
    command: Sequence[str], port: int, jobs: int, kept: str
) -> tuple[float, float, float, Sequence[tuple[object, ...]]]:
    """Run a command on the host at *port*; return seconds, CPU times of its own and of others, and stored rows."""
    with tempfile.TemporaryDirectory(prefix="arkaudit-own-hosts-") as place:
        folder = Path(place)
        (folder / "arkaudit.toml").write_text(
            f'[network]\nonly_routed = true\nconnect_to = ["127.0.0.1:{port}=127.0.0.1:{port}"]\n\n'
            f'[hosts."http://127.0.0.1:{port}"]\ninterval = 0\nconcurrency = {AT_A_TIME}\n'
        )
        started = time.perf_counter()
        options = ("-c", "arkaudit.toml", "--store", "audit.db", "--jobs", str(jobs))
        subprocess.run(
            [sys.executable, "-P", "-c", _PROGRAM, "cpu.json", *command, *options],
            cwd=folder,
            env={**os.environ, **environment(folder)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
        )
        seconds = time.perf_counter() - started
        own_cpu_s, others_cpu_s = json.loads((folder / "cpu.json").read_text())
        with sqlite3.connect(folder / "audit.db") as raw:
            return seconds, own_cpu_s, others_cpu_s, raw.execute(kept, (str(port),)).fetchall()


# -- a host with PDFs


@cache
def _pdf(number: int) -> bytes:
    return prose_pdf(pages=PDF_PAGES, first=PDF_PAGES * number)


class _Shelf(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        name = self.path.strip("/").removesuffix(".pdf")
        media_type, body = "text/html", b""
        if not name:
            body = "".join(f"<a href='/{number}.pdf'>{number}</a>\n" for number in range(PDFS)).encode()
        elif name.isdigit():
            media_type, body = "application/pdf", _pdf(int(name))
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
