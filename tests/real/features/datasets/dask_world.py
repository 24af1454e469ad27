"""A Dask cluster on loopback, of processes that can be killed, and drivers that make datasets with it."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Self

from tests.real.loopback import clean_environment
from tests.real.waiting import PATIENCE_S, wait_until

_ROOT = Path(__file__).parents[4]
_HOW_FAR = re.compile(r"[\d,]+ of [\d,]+ parts? (?:read|decided)\b|arkaudit: the cluster has no worker")


class Cluster:
    """A scheduler and some workers with a nanny each, which starts another process where one has ended."""

    def __init__(
        self, folder: Path, workers: int, *, seconds: float = 0.0, nannies: bool = True, **environment: str
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._log = folder / "parts.log"
        self._environment = {
            **clean_environment(),
            "DASK_DISTRIBUTED__WORKER__PRELOAD": "tests.real.features.datasets.dask_faults",
            "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "2",
            "FAULTS_LOG": str(self._log),
            "FAULTS_SECONDS": str(seconds),
            **environment,
        }
        self._count = workers
        self._options = () if nannies else ("--no-nanny",)
        self._processes: list[subprocess.Popen[bytes]] = []
        self.workers: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start(self) -> None:
        file = self._folder / "scheduler.json"
        self.scheduler = self._begin(
            "dask_scheduler", "--scheduler-file", str(file), "--port", "0", "--dashboard-address", "127.0.0.1:0"
        )
        wait_until(lambda: file.exists() and file.read_text().rstrip().endswith("}"), "a scheduler")
        self.address = str(json.loads(file.read_text())["address"])
        # A worker that a busy machine starts slowly must not give up.
        options = f"--nthreads 1 --memory-limit 0 --dashboard-address 127.0.0.1:0 --death-timeout {PATIENCE_S:g}"
        for number in range(self._count):
            self.workers.append(
                self._begin("dask_worker", self.address, "--name", f"w{number}", *options.split(), *self._options)
            )

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            for child in children_of(process.pid):
                _kill(child)
            process.kill()
            process.wait()

    def _begin(self, module: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.{module}", "--host", "127.0.0.1", *arguments]
        with (self._folder / f"{module}.log").open("ab") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, env=self._environment, cwd=_ROOT)
        self._processes.append(process)
        return process

    @property
    def begun(self) -> list[tuple[str, int]]:
        """Return the started parts, each with its process."""
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        return [(key, int(pid)) for key, pid in (line.split() for line in lines)]

    @property
    def faults(self) -> list[str]:
        """Return the faults that have happened, as in `FAULTS`."""
        return sorted(path.read_text().split()[0] for path in self._folder.glob("*.fault*"))

    @property
    def at_work(self) -> list[int]:
        """Return the living processes of workers that have started a part."""
        return [pid for pid in dict.fromkeys(pid for _, pid in self.begun) if Path(f"/proc/{pid}").exists()]


def children_of(pid: int) -> list[int]:
    """Return the child processes of a process."""
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        return []


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, 9)


def driver(out: Path, workers: str, *places: Path, part_size: str = "1") -> subprocess.Popen[str]:
    """Start a command that makes a dataset."""
    command = [sys.executable, "-m", "arkaudit", "dataset", "make", *map(str, places), "--out", str(out)]
    return subprocess.Popen(
        [*command, "--workers", workers, "--part-size", part_size],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**clean_environment(), "PYTHONFAULTHANDLER": "1"},
        cwd=_ROOT,
        start_new_session=True,  # as of a terminal
    )


def wait_for_end(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Return the exit code of a command and its standard error; fail if it doesn't end.

    Lines about progress and late workers are left out: a slow machine prints more of them.
    """
    try:
        _, said = process.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)  # for the faulthandler to say where it is
        _, said = process.communicate()
        raise AssertionError(f"the command did not end; its standard error: {said}") from None
    return process.returncode, "".join(line for line in said.splitlines(True) if not _HOW_FAR.match(line))
