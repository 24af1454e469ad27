"""How much CPU time a command takes that has next to nothing to do, beside the import of what it can't do without.

That is click for ``--help``; lxml and regex beside it for `extract`; and Scrapy's process, SQLAlchemy and pydantic for
`check` of one ARK, which a server on loopback answers. Best of several rounds, in turns.
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
#: At least so much of the time goes into those imports: what is below has begun to import what it doesn't use.
FLOORS = {"--help": 0.5, "extract": 0.14, "check": 0.3}
#: Seconds of CPU to reach, on a machine as quick as the first one that this was measured on.
AIMS = {"--help": 0.15, "extract": 0.45, "check": 1.2}


def main() -> int:
    """Prints the times; 1 below a floor."""
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
        f"{name} {ours[name]:.2f} s of CPU (aim {AIMS[name]}), of which its libraries take "
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
        """Nothing is written down."""


def _cpu_s(arguments: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    sys.exit(main())
