"""Make a dataset from its plan to its manifest, by any engine.

Each step is a function of files, and its result has a name that follows from them. So a part is done if its files
exist, and after a kill at any moment the same command makes only those that are missing.
"""

from __future__ import annotations

import atexit
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Protocol, Self

import pyarrow as pa

from arkaudit import __version__
from arkaudit.datasets.columns import DATASET_TABLES
from arkaudit.datasets.connection import connect, parquet
from arkaudit.datasets.evidence import digest_of, evidence_of, write_evidence
from arkaudit.datasets.passes import (
    EVIDENCE,
    READ,
    decide_part,
    evidence_file,
    evidence_in,
    finished_files,
    give_up_part,
    part_stem,
    read_part,
)
from arkaudit.datasets.plan import (
    FORMAT,
    FORMAT_VERSION,
    MANIFEST,
    InputTotal,
    Manifest,
    Part,
    Plan,
    TableFile,
    TableFiles,
)
from arkaudit.datasets.storage import SCRATCH, open_storage
from arkaudit.output.exits import say
from arkaudit.output.progress import Progress
from extractors.isolated import document_executor
from extractors.model.errors import DatasetError
from reports.languages.display import count_noun


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a method of `PartWorker`, for one part."""

    key: str
    method: str
    """``read`` or ``decide``."""
    arguments: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a call, or the reason for the failure."""

    call: Call
    result: Any = None
    lost: str = ""
    """Why the processes that tried it died."""
    failed: str = ""
    """The message of an exception."""


class Engine(Protocol):
    """An executor of calls, one by one or in parallel."""

    def answers(self, calls: Iterable[Call]) -> Iterator[Answer]:
        """Yield the answers to *calls*, in any order."""


class PartWorker:
    """Reads and decides parts in this process, with *jobs* killable processes for documents."""

    def __init__(self, jobs: int) -> None:
        self._executor = document_executor(jobs)
        self._storage = cache(open_storage)
        self._evidence = lru_cache(maxsize=1)(evidence_in)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the processes at once."""
        self._executor.shutdown(cancel_futures=True)

    def answers(self, calls: Iterable[Call]) -> Iterator[Answer]:
        """Yield the answers to *calls* one by one, as the engine of a single process."""
        for call in calls:
            try:
                answer = Answer(call, self.result(call))
            except (DatasetError, OSError) as problem:
                answer = Answer(call, failed=str(problem))
            yield answer

    def result(self, call: Call) -> Any:
        """Do the work of *call*, and return its result."""
        return getattr(self, call.method)(*call.arguments)

    def read(self, dataset: str, part: Part, folder: str) -> str:
        """Read *part* into the dataset at *dataset*, and return the name of its file; local paths are relative to *folder*."""
        return read_part(self._storage(dataset), part, self._executor, folder)

    def decide(self, dataset: str, stem: str, read_file: str, digest: str) -> list[TableFile]:
        """Decide the part in *read_file* of the dataset at *dataset* on the evidence of *digest*."""
        storage = self._storage(dataset)
        executor = self._executor if self._executor.jobs > 1 else None
        return decide_part(storage, stem, read_file, self._evidence(storage, digest), executor)


@cache
def own_worker() -> PartWorker:
    """Return the worker of this process, which an engine started."""
    worker = PartWorker(jobs=1)
    atexit.register(worker.close)
    return worker


@dataclass(frozen=True, slots=True)
class FinishedDataset:
    """A finished dataset."""

    manifest: Manifest
    unreadable: int
    """Number of unreadable documents."""
    first_unreadable: Sequence[str]


#: Number of attempts for a part that fails without killing its worker.
_ATTEMPTS = 3
#: Number of unreadable documents that a message names.
_MOST_NAMES = 3
#: Names of files that may be removed: of parts, evidence, and scratch files.
DATASET_FILES = re.compile(r"p[0-9]{6,}(?:-[0-9a-f]{16}){1,2}(?:\.again)?\.parquet|[0-9a-f]{16}(?:\.arrow)?")


@dataclass(slots=True)
class DatasetMaker:
    """Makes the dataset of a *plan*."""

    plan: Plan
    engine: Engine
    progress: Progress = field(default_factory=Progress)

    def make(self) -> FinishedDataset:
        """Make the dataset. Raises `DatasetError`, and OSError if the storage fails."""
        storage = self.plan.storage
        read = self._read_parts()
        digest, unreadable, first_unreadable = self._evidence(list(read.values()))
        decided = self._decide_parts(read, digest)
        files = [file for part in self.plan.parts() for file in part.files]
        total = InputTotal(len(files), sum(file.size for file in files))
        tables = {
            table.name: TableFiles.of([made[number] for made in decided]) for number, table in enumerate(DATASET_TABLES)
        }
        manifest = Manifest(FORMAT, FORMAT_VERSION, __version__, digest, total, len(read), tables)
        with storage.scratch() as scratch:
            scratch.write_bytes(manifest.to_bytes())
            storage.put(scratch, MANIFEST)
        kept = {*read.values(), evidence_file(digest), *(file.name for made in decided for file in made)}
        # Files of other attempts and of older evidence go. Files with foreign names stay.
        for folder in (READ, EVIDENCE, SCRATCH, *tables):
            for name in storage.names(folder):
                if f"{folder}/{name}" not in kept and DATASET_FILES.fullmatch(name):
                    storage.remove(f"{folder}/{name}")
        return FinishedDataset(manifest, unreadable, first_unreadable)

    def _read_parts(self) -> dict[str, str]:
        """Read the parts that are not done yet, and return the file of each part in order."""
        parts = {part.key: part for part in self.plan.parts()}
        done = {key: file.name for key, file in finished_files(self.plan.storage, READ).items() if key in parts}
        left = [part for key, part in parts.items() if key not in done]
        size = sum(parts[key].size for key in done)
        self.progress.stage("parts read", len(parts), done=len(done))
        if done:
            say(f"resuming: {len(done):,} of {count_noun(len(parts), 'part')} had been read")

        def take(key: str, file: str) -> None:
            nonlocal size
            done[key] = file
            size += parts[key].size
            self.progress.show(len(done), f", {size / 1e6:,.1f} MB")

        def call(part: Part) -> Call:
            return Call(part.key, "read", (self.plan.storage.place, part, str(Path.cwd())))

        lost = self._finish(map(call, left), take)
        # A lost part killed its workers, or waited at a worker that another part killed. So it is tried alone, then
        # file by file. A file that is lost alone is the cause.
        is_alone = len(left) == 1
        while lost:
            answer = lost.pop(0)
            part = parts[answer.call.key]
            again = [answer] if is_alone else self._finish([answer.call], take)
            is_alone = False
            if again and len(part.files) > 1:
                pieces = self.plan.split(part)
                parts.update((piece.key, piece) for piece in pieces)
                lost += [Answer(call(piece)) for piece in pieces]
            elif again:
                take(part.key, give_up_part(self.plan.storage, part, again[0].lost))
        return {part.key: done[part.key] for part in self.plan.parts()}

    def _evidence(self, files: Sequence[str]) -> tuple[str, int, list[str]]:
        """Write the evidence of all parts; return its digest, and the number and first names of unreadable documents."""
        storage = self.plan.storage
        table = parquet([f"{storage.place}/{file}" for file in files])
        with connect(storage.place) as connection:

            def names_in(column: str) -> pa.Table:
                query = f"SELECT unnest({column}) AS name FROM {table}"
                query = f"SELECT name, (count(*) > 1)::UTINYINT AS repeated FROM ({query}) GROUP BY name ORDER BY name"
                return connection.sql(query).to_arrow_table().combine_chunks()

            connection.execute("SET arrow_large_buffer_size = true")
            names = names_in("whole")
            evidence, digest = evidence_of(names, names_in("bases")), digest_of(names)
            query = f"SELECT count(unreadable), coalesce(min(unreadable, {_MOST_NAMES}), []) FROM {table}"
            [(unreadable, first_unreadable)] = connection.execute(query).fetchall()
        with storage.scratch() as scratch:
            write_evidence(names, evidence, scratch)
            storage.put(scratch, evidence_file(digest))
        return digest, unreadable, first_unreadable

    def _decide_parts(self, read: Mapping[str, str], digest: str) -> list[list[TableFile]]:
        """Decide the parts that are not done yet, and return the files of each part in order."""
        stems = {key: part_stem(key, file, digest) for key, file in read.items()}
        found = [finished_files(self.plan.storage, table.name) for table in DATASET_TABLES]
        done = {
            key: [files[stem] for files in found]
            for key, stem in stems.items()
            if all(stem in files for files in found)
        }
        self.progress.stage("parts decided", len(read), done=len(done))

        def take(key: str, files: list[TableFile]) -> None:
            done[key] = files
            self.progress.show(len(done))

        place = self.plan.storage.place
        left = (key for key in read if key not in done)
        lost = self._finish((Call(key, "decide", (place, stems[key], read[key], digest)) for key in left), take)
        for answer in lost:
            if self._finish([answer.call], take):
                raise DatasetError(f"part {answer.call.key}: {answer.lost}")
        return [done[key] for key in read]

    def _finish(self, calls: Iterable[Call], take: Callable[[str, Any], None]) -> list[Answer]:
        """Give *take* the results of *calls*, and return the lost ones. Raises `DatasetError` if a call fails again."""
        lost: list[Answer] = []
        for _ in range(_ATTEMPTS):
            failed: list[Answer] = []
            for answer in self.engine.answers(calls):
                if answer.result is not None:
                    take(answer.call.key, answer.result)
                    continue
                say(f"part {answer.call.key}: {answer.lost or answer.failed}")
                (lost if answer.lost else failed).append(answer)
            if not failed:
                return lost
            calls = [answer.call for answer in failed]
        raise DatasetError(f"part {failed[0].call.key}: {failed[0].failed}")
