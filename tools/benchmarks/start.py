"""CPU time of commands with little work, relative to the import of the libraries that they need.

These are click for ``--help``; also lxml and regex for `extract`; and Scrapy, SQLAlchemy and pydantic for `check` of
one ARK, which a server on loopback answers. The best of several rounds counts, in which all take turns.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

ROUNDS = 5
_COMMAND = ("-P", "-m", "arkaudit")
_LEAST = {
    "--help": "import click",
    "extract": "import click, lxml.html, regex",
    "check": "import click, lxml.html, pydantic, regex, sqlalchemy; from scrapy.crawler import AsyncCrawlerProcess; "
    "import scrapy.core.downloader.handlers.http11",
}
#: Minimum share of these imports. A command below it imports modules that it doesn't use.
FLOORS = {"--help": 0.5, "extract": 0.14, "check": 0.3}
#: Aims in seconds of CPU, on the machine of the first measurement.
AIMS = {"--help": 0.15, "extract": 0.45, "check": 1.2}


def main() -> int:
    """Print the times; return 1 below a floor."""
    with tempfile.TemporaryDirectory() as folder:
        document = Path(folder, "letter.txt")
        document.write_text("The scan is ark:/12148/bpt6k107371t.\n")
        server = ThreadingHTTPServer(("127.0.0.1", 0), _Answer)
        Thread(target=server.serve_forever, daemon=True).start()
        at = f"127.0.0.1:{server.server_port}"
        store = str(Path(folder, "audit.db"))
        commands = {
            "--help": [*_COMMAND, "--help"],
            "extract": [*_COMMAND, "extract", str(document)],
            "check": [
                *_COMMAND, "check", f"http://{at}/ark:/12148/bpt6k107371t", "--only-routed", "--delay", "0",
                "--connect-to", f"{at}={at}", "--no-resume", "--store", store,
            ],
        }  # fmt: skip
        ours, least = dict.fromkeys(commands, 99.0), dict.fromkeys(commands, 99.0)
        for _ in range(ROUNDS):
            for name, arguments in commands.items():
                ours[name] = min(ours[name], _cpu_s(arguments))
                least[name] = min(least[name], _cpu_s(["-c", _LEAST[name]]))
        server.shutdown()
    figures = (
        f"{name} {ours[name]:.2f} s of CPU (aim {AIMS[name]}), share of its libraries "
        f"{least[name] / ours[name]:.2f} (floor {FLOORS[name]})"
        for name in commands
    )
    print(f"start: {'; '.join(figures)}")
    return int(any(least[name] / ours[name] < FLOORS[name] for name in commands))


class _Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(404 if "robots" in self.path else 200)
        self.end_headers()
        self.wfile.write(f"<title>A map</title><p>{self.path}".encode())

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def _cpu_s(arguments: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    sys.exit(main())
