"""Faults that Dask's workers load in tests: parts are slow and logged, and workers are killed where a test says.

`FAULTS` has words like ``recorded@3``: after three parts have started in all, the first worker that reaches this
point is killed, once.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

from distributed import get_client, get_worker

import arkaudit.features.datasets.parts
import arkaudit.features.datasets.passes
from arkaudit.features.datasets.parts import Part
from arkaudit.features.datasets.passes import READ
from arkaudit.features.datasets.storage import Storage
from extractors.model.check_characters import Declared

_read = arkaudit.features.datasets.passes.read_part


def read_part(storage: Storage, part: Part, folder: str, declared: Declared) -> str:
    """Read *part* as always, but slowly, and never a file with poison in its name."""
    if Path(storage.location, READ, f"{part.digest}.parquet").exists():  # whose answer got lost with a worker
        if is_due("again", part.digest):
            raise RuntimeError("not now")
        return _read(storage, part, folder, declared)
    with _log().open("a") as log:
        log.write(f"{part.digest} {os.getpid()}\n")
    if any("poison" in Path(file.name).name for file in part.files):
        wait_for_nanny()
        os.kill(os.getpid(), signal.SIGKILL)
    kill_if_due("begun", part.digest)
    time.sleep(float(os.environ.get("FAULTS_SECONDS", "0")))
    made = _read(storage, part, folder, declared)
    kill_if_due("published", part.digest)
    return made


def wait_for_nanny() -> None:
    """Wait until the nanny of this worker counts it as started: over one that dies before, it gives up for good."""

    # By the name of its parameter Dask gives it the nanny.
    def is_started(dask_worker: Any) -> bool:
        states = (dask_worker.status, getattr(dask_worker.process, "status", None))
        return all(str(state).endswith("running") for state in states)

    client, own = get_client(), get_worker().address
    while not client.run(is_started, nanny=True, workers=[own])[own]:
        time.sleep(0.05)


def kill_if_due(point: str, key: str) -> None:
    """Kill this worker if that is to happen at this point, now."""
    if is_due(point, key):
        os.kill(os.getpid(), signal.SIGKILL)


def is_due(point: str, key: str) -> bool:
    """Return True if a fault is due at this point now; it is logged, and happens only once."""
    for number, fault in enumerate(os.environ.get("FAULTS", "").split()):
        where, _, after = fault.partition("@")
        if where != point or (len(_log().read_text().splitlines()) if _log().exists() else 0) < int(after):
            continue
        try:
            with _log().with_suffix(f".fault{number}").open("x") as file:
                file.write(f"{fault} {key} {os.getpid()}\n")
        except FileExistsError:
            continue
        return True
    return False


def dask_setup(worker: Any) -> None:
    """Let a worker come to the point where its answer is fetched; Dask calls it by this name."""
    get_data = worker.handlers["get_data"]

    async def watched(comm: Any, **options: Any) -> Any:  # Dask passes arguments by parameter name
        kill_if_due("fetched", " ".join(map(str, options.get("keys", ()))))
        return await get_data(comm, **options)

    worker.handlers["get_data"] = watched


def _log() -> Path:
    return Path(os.environ["FAULTS_LOG"])


if "FAULTS_VERSION" in os.environ:
    arkaudit.features.datasets.parts.__version__ = os.environ["FAULTS_VERSION"]
if "FAULTS_LOG" in os.environ:  # not where doctests are looked for
    read_part.__module__ = _read.__module__
    arkaudit.features.datasets.passes.read_part = read_part
