"""pywb as it is, a web archive on loopback over WARC files that a test has written, until it is closed.

It comes from PyPI into an environment of its own (``make pywb``); nothing of it is imported here.
"""

import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from types import TracebackType
from typing import Self

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from tests.real.waiting import PATIENCE_S

ENVIRONMENT = Path(__file__).parents[3] / ".venv" / "pywb"
PYTHON = Path(os.environ.get("PYWB_PYTHON", ENVIRONMENT / "bin" / "python"))
_MANAGE = """from pywb.manager.manager import main
main(["init", "library"])
main(["add", "library", "captures.warc.gz"])
"""
_SERVE = "import sys; from pywb.apps.cli import wayback; wayback(sys.argv[1:])"
_CONFIG = "framed_replay: {framed}\nredirect_to_exact: {redirecting}\ncollections_root: collections\n"


@dataclass(frozen=True)
class ArchivedPage:
    """An answer that was captured."""

    url: str
    at: str
    """ISO 8601, as WARC has it."""
    body: str
    status: str = "200 OK"
    location: str = ""


class Pywb:
    """Serves the *captured* pages; *framed* pages answer the TimeGate with a frame, *redirecting* ones with a redirect."""

    def __init__(self, captured: Sequence[ArchivedPage], *, framed: bool = False, redirecting: bool = False) -> None:
        self._captured = captured
        self._config = _CONFIG.format(framed=str(framed).lower(), redirecting=str(redirecting).lower())
        self._folder = tempfile.TemporaryDirectory(prefix="pywb-")
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self._write()
            self._serve()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(PATIENCE_S / 4)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._folder.cleanup()

    @property
    def timegate(self) -> str:
        return f"http://127.0.0.1:{self.port}/library/"

    @property
    def requests(self) -> list[str]:
        """Return the targets requested from the archive, without its own requests to itself."""
        lines = (Path(self._folder.name) / "log").read_text("utf-8", "replace").splitlines()
        asked = [line.split('"')[1].split(" ")[1] for line in lines if '"GET ' in line]
        return [each for each in asked if not each.startswith("/library/index")]

    def _write(self) -> None:
        folder = Path(self._folder.name)
        (folder / "config.yaml").write_text(self._config)
        with (folder / "captures.warc.gz").open("wb") as file:
            writer = WARCWriter(file, gzip=True)
            for each in self._captured:
                headers = [("Content-Type", "text/html; charset=utf-8")]
                headers += [("Location", each.location)] if each.location else []
                told = StatusAndHeaders(each.status, headers, protocol="HTTP/1.1")
                record = writer.create_warc_record(
                    each.url, "response", payload=BytesIO(each.body.encode()), http_headers=told,
                    warc_headers_dict={"WARC-Date": each.at},
                )  # fmt: skip
                writer.write_record(record)
        done = subprocess.run(
            [PYTHON, "-c", _MANAGE], cwd=folder, capture_output=True, text=True, check=False, timeout=PATIENCE_S
        )
        assert done.returncode == 0, done.stderr

    def _serve(self) -> None:
        folder = Path(self._folder.name)
        for _ in range(3):  # another one may be quicker to take the port
            with socket.create_server(("127.0.0.1", 0)) as probe:
                self.port: int = probe.getsockname()[1]
            with (folder / "log").open("wb") as log:
                command = [PYTHON, "-c", _SERVE, "-b", "127.0.0.1", "-p", str(self.port), "-t", "2"]
                self._process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
            until = time.monotonic() + PATIENCE_S
            while self._process.poll() is None and time.monotonic() < until:
                try:
                    socket.create_connection(("127.0.0.1", self.port), 1).close()
                except OSError:
                    time.sleep(0.05)
                else:
                    return
        raise AssertionError((folder / "log").read_text("utf-8", "replace"))
