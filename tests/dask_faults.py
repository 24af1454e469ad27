"""Loaded by Dask's workers in tests: parts take a while and are written down, some files take their worker along."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import arkaudit.cluster
from extractors.dataset.part_worker import PartWorker
from extractors.dataset.plan import Part
from extractors.dataset.reading import ReadRecord, record_file

_read = PartWorker.read


def read_with_faults(self: PartWorker, place: str, part: Part, folder: str) -> ReadRecord:
    """Read *part* as always, but slowly, and never a file with poison in its name."""
    if Path(place, record_file(part.key)).exists():  # whose answer got lost with a worker
        return _read(self, place, part, folder)
    with Path(os.environ["FAULTS_LOG"]).open("a") as log:
        log.write(f"{part.key} {os.getpid()}\n")
    if any("poison" in Path(file.name).name for file in part.files):
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(float(os.environ.get("FAULTS_SECONDS", "0")))
    return _read(self, place, part, folder)


if "FAULTS_VERSION" in os.environ:
    arkaudit.cluster.__version__ = os.environ["FAULTS_VERSION"]
if "FAULTS_LOG" in os.environ:  # not where doctests are looked for
    PartWorker.read = read_with_faults  # type: ignore[method-assign]
