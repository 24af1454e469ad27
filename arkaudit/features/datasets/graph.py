"""Make a dataset by Dask: read the parts, learn the evidence of all documents, decide the parts.

A part under its final name is done. So the same command, after a kill at any moment, makes only the missing parts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from arkaudit import __version__
from arkaudit.features.datasets.cluster import document_process
from arkaudit.features.datasets.columns import DATASET_TABLES
from arkaudit.features.datasets.evidence import DatasetEvidence
from arkaudit.features.datasets.manifest import FORMAT_VERSION, MANIFEST, OWN_FILE, Manifest, TableFile, TableFiles
from arkaudit.features.datasets.parts import PART_BYTES, FolderFinding, Part, done_and_left, fingerprint
from arkaudit.features.datasets.passes import (
    READ,
    decide_part,
    decided_source,
    evidence_in,
    finished_files,
    give_up_part,
    parts_read,
    read_part,
    table_file,
)
from arkaudit.features.datasets.storage import SCRATCH, DatasetError, InputFile, Storage, reason_of
from arkaudit.output.exits import say
from arkaudit.output.progress import Progress
from extractors.model.check_characters import DECLARED, declare
from extractors.model.errors import UserMistake
from extractors.model.formats import PLUGIN_FORMATS, DocumentFormat, add_formats
from reports.languages.display import count_noun

if TYPE_CHECKING:
    from distributed import Client, Future

K = TypeVar("K")

#: Number of times that a part is tried again if its storage fails.
_RETRIES = 2
#: Number of unreadable documents that a message names.
_MOST_NAMES = 3


@dataclass(frozen=True, slots=True)
class FinishedDataset:
    """A finished dataset."""

    manifest: Manifest
    files: int
    """Number of input files."""
    unreadable: int
    """Number of unreadable documents."""
    first_unreadable: Sequence[str]


@dataclass(slots=True)
class DatasetMaker:
    """Makes the dataset in *storage* by the workers of *client*."""

    storage: Storage
    client: Client
    progress: Progress = field(default_factory=Progress)

    def make(
        self, files: Collection[InputFile], folders: Collection[FolderFinding] = (), *, part_bytes: int = PART_BYTES
    ) -> FinishedDataset:
        """Make the dataset of *files* and of the findings about *folders*.

        Raises `DatasetError`, OSError if the storage fails, and `UserMistake`.
        """
        storage = self.storage
        done, left = done_and_left(
            parts_read(storage), files, folders, location=storage.location, part_bytes=part_bytes
        )
        read = self._read(done, left)
        learned = self._submit(evidence_in, read)
        [(_, (digest, unreadable))] = self._answers(_summary, {"evidence": (learned,)})
        tables = self._decide(read, learned, digest)
        manifest = Manifest(FORMAT_VERSION, __version__, tables)
        with storage.scratch() as scratch:
            scratch.write_bytes(manifest.to_bytes())
            storage.put(scratch, MANIFEST)
        # Files of other attempts and of older evidence go. Files with foreign names stay.
        kept = {*read, *(name for table in tables.values() for name in table.files)}
        for folder in (READ, SCRATCH, *tables):
            for name in storage.names(folder):
                if f"{folder}/{name}" not in kept and OWN_FILE.fullmatch(name):
                    storage.remove(f"{folder}/{name}")
        return FinishedDataset(manifest, len(files), len(unreadable), unreadable[:_MOST_NAMES])

    def _read(self, done: Mapping[str, Part], left: Sequence[Part]) -> list[str]:
        """Read the parts *left*, and return the files of all parts in the order of their inputs."""
        read = dict(done)
        total = len(done) + len(left)
        self.progress.stage("parts read", total, done=len(done))
        if done:
            say(f"resuming: {len(done):,} of {count_noun(total, 'part')} had been read")
        size = sum(part.size for part in done.values())
        folder = str(Path.cwd())
        lost: list[Part] = []
        for part, name in self._answers(_read_here, {part: (part, folder) for part in left}, lost):
            read[name] = part
            size += part.size
            self.progress.show(len(read), f", {size / 1e6:,.1f} MB")
        # A part is also lost if it waited at a worker that another part ended. So each of its files is read alone, one
        # after the other. A file that is lost again is the cause.
        for file in (file for part in lost for file in part.files):
            alone, again = Part(fingerprint(), (file,)), list[Part]()
            for _, name in self._answers(_read_here, {alone: (alone, folder)}, again):
                read[name] = alone
            for _ in again:
                read[give_up_part(self.storage, alone, "it ended all workers that read it")] = alone
        return sorted(read, key=lambda name: [file.name for file in read[name].files])

    def _decide(self, read: Sequence[str], learned: Future, digest: str) -> dict[str, TableFiles]:
        """Decide the parts that are not done yet, and return the files of each table."""
        storage = self.storage
        sources = {name: decided_source(name, digest) for name in read}
        finished = [finished_files(storage, table.name) for table in DATASET_TABLES]
        decided: dict[str, list[TableFile]] = {
            name: [table_file(storage, files[source]) for files in finished]
            for name, source in sources.items()
            if all(source in files for files in finished)
        }
        self.progress.stage("parts decided", len(read), done=len(decided))
        calls = {name: (sources[name], name, learned) for name in read if name not in decided}
        for name, files in self._answers(decide_part, calls):
            decided[name] = files
            self.progress.show(len(decided))
        return {
            table.name: TableFiles.of([decided[name][number] for name in read])
            for number, table in enumerate(DATASET_TABLES)
        }

    def _answers(
        self, function: Callable[..., Any], calls: Mapping[K, tuple[Any, ...]], lost: list[K] | None = None
    ) -> Iterator[tuple[K, Any]]:
        """Yield the keys and results of *calls* as they come; the keys of those that end workers are added to *lost*.

        Raises `DatasetError`, and `UserMistake` for workers of other versions.
        """
        from distributed import KilledWorker, as_completed

        futures = {self._submit(function, *arguments): key for key, arguments in calls.items()}
        for future, result in as_completed(list(futures), with_results=True, raise_errors=False):
            key = futures.pop(future)
            if future.status == "finished":
                yield key, result
            elif future.status != "error":
                raise DatasetError("the scheduler is gone")
            elif isinstance(problem := result[1], KilledWorker) and lost is not None:
                lost.append(key)
            elif isinstance(problem, UserMistake | ModuleNotFoundError):
                raise UserMistake(f"a worker of the cluster can't be used: {problem}")
            else:
                raise DatasetError(str(problem) if isinstance(problem, DatasetError) else reason_of(problem))

    def _submit(self, function: Callable[..., Any], *arguments: Any) -> Future:
        """Call *function* with the storage and *arguments* in a worker."""
        # A new key each time, because a scheduler remembers failed ones.
        key = f"{function.__name__}-{uuid4().hex}"
        return self.client.submit(
            call_as,
            *(fingerprint(), dict(DECLARED), dict(PLUGIN_FORMATS), self.storage.location, function, *arguments),
            key=key,
            retries=_RETRIES,
        )


def call_as(
    expected: tuple[str, ...],
    declared: Mapping[str, bool],
    formats: Mapping[str, DocumentFormat],
    location: str,
    function: Callable[..., Any],
    *arguments: Any,
) -> Any:
    """Call *function* with the storage at *location* and *arguments* in a worker, as the command would.

    The worker gets the *declared* check characters and the *formats* of plug-ins.

    Raises `UserMistake` if the versions of the worker differ from *expected*.
    """
    declare(declared)
    add_formats(formats)
    if fingerprint() != expected:
        differing = "; ".join(entry for entry in fingerprint() if entry not in expected)
        raise UserMistake(f"it has {differing}, unlike this command")
    return function(Storage(location), *arguments)


def _read_here(storage: Storage, part: Part, folder: str) -> str:
    return read_part(storage, part, document_process(), folder)


def _summary(_: Storage, learned: DatasetEvidence) -> tuple[str, Sequence[str]]:
    return learned.digest, learned.unreadable
