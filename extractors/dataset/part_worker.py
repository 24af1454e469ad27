"""Work on the parts of a dataset in one process, whichever engine calls it: by plain values that can be sent there."""

from __future__ import annotations

import atexit
from functools import cache
from typing import Self

from extractors.dataset.deciding import SHARED, DecidedRecord, decide_part, evidence_in
from extractors.dataset.plan import Part
from extractors.dataset.reading import ReadRecord, read_part
from extractors.dataset.storage import Storage, open_storage
from extractors.isolated import document_executor
from extractors.wraps.evidence import Evidence


class PartWorker:
    """Reads and decides parts, with so many killable processes (*jobs*) for documents."""

    def __init__(self, jobs: int) -> None:
        self._executor = document_executor(jobs)
        self._storages: dict[str, Storage] = {}
        self._evidence: tuple[str, str, Evidence] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the processes, whatever they do."""
        self._executor.shutdown(cancel_futures=True)

    def read(self, place: str, part: Part, folder: str) -> ReadRecord:
        """Read *part* into the dataset at *place*; local paths are taken from *folder*."""
        return read_part(self._storage(place), part, self._executor, folder)

    def decide(self, place: str, key: str, read_attempt: str, digest: str) -> DecidedRecord:
        """Decide a part of the dataset at *place* on the evidence of *digest*."""
        storage = self._storage(place)
        if self._evidence is None or self._evidence[:2] != (place, digest):
            evidence = evidence_in(storage, digest)
            self._evidence = place, digest, evidence
            if self._executor.jobs > 1:
                self._executor.share(SHARED, evidence)
        executor = self._executor if self._executor.jobs > 1 else None
        return decide_part(storage, key, read_attempt, digest, self._evidence[2], executor)

    def _storage(self, place: str) -> Storage:
        if place not in self._storages:
            self._storages[place] = open_storage(place)
        return self._storages[place]


@cache
def own_worker() -> PartWorker:
    """Return the worker of this process, which an engine has started."""
    worker = PartWorker(jobs=1)
    atexit.register(worker.close)
    return worker
