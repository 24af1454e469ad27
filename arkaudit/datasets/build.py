"""Make a dataset from its plan to its manifest, by any engine.

After a kill at any moment, the same command resumes from the commit records.
"""

from __future__ import annotations

import atexit
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

import pyarrow as pa

from arkaudit.datasets import passes
from arkaudit.datasets.columns import DATASET_TABLES, DatasetTable, ParquetFile
from arkaudit.datasets.evidence import (
    LEARNED_FILE,
    NAMES_FILE,
    SortedNames,
    digest_of,
    evidence_of,
    learned_json,
    merge_columns,
    read_names,
    write_names,
)
from arkaudit.datasets.passes import (
    EVIDENCE,
    READ,
    SHARED,
    DecidedRecord,
    ReadRecord,
    decide_part,
    evidence_in,
    read_part,
)
from arkaudit.datasets.plan import FORMAT, FORMAT_VERSION, MANIFEST, InputTotal, Manifest, Part, TableFiles, mark_halved
from arkaudit.datasets.storage import SCRATCH, Storage, digest_of_file, open_storage
from extractors.isolated import document_executor
from extractors.model.errors import PartsFailed, StorageFailed
from extractors.processes.codec import from_json
from extractors.wraps.evidence import Evidence

Record = TypeVar("Record", ReadRecord, DecidedRecord)


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a method of `PartWorker`, for one part."""

    key: str
    method: str
    """``read`` or ``decide``."""
    arguments: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a call: a commit record, or the reason for the failure."""

    call: Call
    record: Any = None
    lost: str = ""
    """Why the processes that tried it died."""
    failed: str = ""
    """The message of an exception."""


class PartWorker:
    """Reads and decides parts in this process, with *jobs* killable processes for documents."""

    def __init__(self, jobs: int) -> None:
        self._executor = document_executor(jobs)
        self._storages: dict[str, Storage] = {}
        self._evidence: tuple[str, str, Evidence] | None = None

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
                answer = Answer(call, self.record(call))
            except (StorageFailed, OSError) as problem:
                answer = Answer(call, failed=str(problem))
            yield answer

    def record(self, call: Call) -> Any:
        """Do the work of *call*, and return the commit record of the part."""
        return getattr(self, call.method)(*call.arguments)

    def read(self, dataset: str, part: Part, folder: str) -> ReadRecord:
        """Read *part* into the dataset at *dataset*; local paths are relative to *folder*."""
        return read_part(self._storage(dataset), part, self._executor, folder)

    def decide(self, dataset: str, key: str, documents: str, digest: str) -> DecidedRecord:
        """Decide a part of the dataset at *dataset*, in the file *documents*, on the evidence of *digest*."""
        storage = self._storage(dataset)
        if self._evidence is None or self._evidence[:2] != (dataset, digest):
            evidence = evidence_in(storage, digest)
            self._evidence = dataset, digest, evidence
            if self._executor.jobs > 1:
                self._executor.share(SHARED, evidence)
        executor = self._executor if self._executor.jobs > 1 else None
        return decide_part(storage, key, documents, digest, self._evidence[2], executor)

    def _storage(self, dataset: str) -> Storage:
        if dataset not in self._storages:
            self._storages[dataset] = open_storage(dataset)
        return self._storages[dataset]


@cache
def own_worker() -> PartWorker:
    """Return the worker of this process, which an engine started."""
    worker = PartWorker(jobs=1)
    atexit.register(worker.close)
    return worker


#: Names of files that `_clean` may remove: of parts (`p000001-3f0c9a1b2c4d5e6f-8c1d22aa.parquet`), evidence, empty
#: tables, and scratch files.
DATASET_FILES = re.compile(
    rf"p[0-9]{{6,}}[ab]*(?:\.json|-[0-9a-f]{{8}}\.(?:jsonl\.zst|whole\.arrow)|-[0-9a-f]{{16}}-[0-9a-f]{{8}}\.parquet)"
    rf"|none-[0-9a-f]{{16}}\.parquet|{re.escape(LEARNED_FILE)}|{re.escape(NAMES_FILE)}|[0-9a-f]{{16}}"
)
#: Number of attempts for a part that fails without killing its worker.
_ATTEMPTS = 3


class _NotSound(Exception):
    """Raised for a part that must be processed again. The message is the reason."""


class Engine(Protocol):
    """An executor of calls, one by one or in parallel."""

    def answers(self, calls: Iterable[Call]) -> Iterator[Answer]:
        """Yield the answers to *calls*, in any order."""


class Listener:
    """Callbacks about the progress of a dataset, which do nothing here."""

    def show_plan(self, parts: Sequence[Part], done: Sequence[Part]) -> None:
        """Receive all *parts*, and those that were *done* by an earlier command."""

    def count_read(self, part: Part, record: ReadRecord) -> None:
        """Count a part that was read."""

    def set_back(self, part: Part, reason: str) -> None:
        """Report a part that failed, and will be tried again."""

    def begin_deciding(self, parts: int, done: int) -> None:
        """Begin the second pass over *parts* parts."""

    def count_decided(self, record: DecidedRecord) -> None:
        """Count a part that was decided."""


@dataclass(frozen=True, slots=True)
class FinishedDataset:
    """A finished dataset."""

    manifest: Manifest
    unreadable: int
    """Number of unreadable documents."""
    first_unreadable: Sequence[str]


@dataclass(slots=True)
class DatasetMaker:
    """Makes the dataset in *storage* from *parts*."""

    storage: Storage
    parts: Sequence[Part]
    engine: Engine
    version: str
    listener: Listener = field(default_factory=Listener)
    folder: str = field(default_factory=lambda: str(Path.cwd()))
    """The folder of relative local paths."""

    def make(self) -> FinishedDataset:
        """Make the dataset. Raises `PartsFailed`, and OSError if the storage fails."""
        read = self._read_parts()
        digest = self._evidence(read)
        decided = self._decide_parts(read, digest)
        manifest = self._manifest(read, decided, digest)
        self.storage.replace(MANIFEST, manifest.to_bytes())
        _clean(self.storage, manifest, read)
        unreadable = [name for record in read.values() for name in record.first_unreadable]
        return FinishedDataset(manifest, sum(record.unreadable for record in read.values()), unreadable)

    # -- the first pass

    def _read_parts(self) -> dict[str, ReadRecord]:
        """Read the parts that have no valid record yet, and return the records of all parts in order."""
        committed = _committed_keys(self.storage, READ)
        records: dict[str, ReadRecord] = {}
        for part in self.parts:
            if part.key in committed:
                try:
                    records[part.key] = self._read_record(part.key)
                except _NotSound as problem:
                    self.listener.set_back(part, f"{problem}; it is read again")
                    self._forget(part.key)
        done = [part for part in self.parts if part.key in records]
        self.listener.show_plan(self.parts, done)
        todo = [part for part in self.parts if part.key not in records]
        reading_again = _Retries()
        while todo or reading_again.alone:
            some = todo or [reading_again.alone.pop()]
            parts = {part.key: part for part in some}
            calls = (Call(part.key, "read", (self.storage.place, part, self.folder)) for part in some)
            todo = []
            for answer in self.engine.answers(calls):
                part = parts[answer.call.key]
                if answer.record is None:
                    self.listener.set_back(part, answer.lost or answer.failed)
                    todo += reading_again.after(answer, part, self.storage)
                if answer.record is None and part.key in reading_again.given_up:
                    answer = replace(answer, record=passes.record_as_unreadable(self.storage, part, answer.lost))
                if answer.record is not None:
                    records[part.key] = answer.record
                    self.listener.count_read(part, answer.record)
        if reading_again.problem:
            raise PartsFailed(reading_again.problem)
        ordered = [key for part in self.parts for key in _keys(part, reading_again.halves)]
        return {key: records[key] for key in ordered}

    def _read_record(self, key: str) -> ReadRecord:
        """Return the record of a part that was read. Raises `_NotSound` if it has to be read again."""
        record = self._record(passes.read_record_file(key), ReadRecord)
        if record.killed:
            raise _NotSound(f"the process of {record.killed} of its documents was killed")
        if len(record.sha256) != 2:
            raise _NotSound("its record does not name its two files")
        return record

    def _record(self, name: str, kind: type[Record]) -> Record:
        """Return the record in a file. Raises `_NotSound` if it, or one of its files, is missing or damaged."""
        try:
            record = from_json(self.storage.read(name) or b"", kind)
        except ValueError:
            raise _NotSound(f"{name} is damaged") from None
        for file, digest in record.sha256.items():
            now = self.storage.digest(file)
            if now != digest:
                raise _NotSound(f"{file} is {'missing' if now is None else 'damaged'}")
        return record

    def _forget(self, key: str) -> None:
        """Remove the commit records of a part, so that it is read and decided again."""
        self.storage.remove(passes.read_record_file(key))
        for digest in self.storage.folders(passes.DECIDED):
            self.storage.remove(passes.decided_record_file(key, digest))

    # -- between the passes

    def _evidence(self, read: Mapping[str, ReadRecord]) -> str:
        """Write the evidence of all parts, and return its digest."""
        column = merge_columns(self._columns(read))
        digest = digest_of(column)
        with self.storage.scratch() as scratch:
            write_names(column, scratch)
            self.storage.put(scratch, f"{EVIDENCE}/{digest}/{NAMES_FILE}")
        learned = learned_json(evidence_of(SortedNames.of_column(column)))
        self.storage.replace(f"{EVIDENCE}/{digest}/{LEARNED_FILE}", learned)
        return digest

    def _columns(self, read: Mapping[str, ReadRecord]) -> Iterator[pa.LargeBinaryArray]:
        for record in read.values():
            _, names = record.sha256
            with self.storage.local(names) as path:
                yield read_names(path)

    # -- the second pass

    def _decide_parts(self, read: Mapping[str, ReadRecord], digest: str) -> dict[str, DecidedRecord]:
        committed = _committed_keys(self.storage, f"{passes.DECIDED}/{digest}")
        records: dict[str, DecidedRecord] = {}
        for key in read:
            if key in committed:
                try:
                    records[key] = self._record(passes.decided_record_file(key, digest), DecidedRecord)
                except _NotSound as reason:
                    self.listener.set_back(Part(key, ()), f"{reason}; it is decided again")
                    self.storage.remove(passes.decided_record_file(key, digest))
        self.listener.begin_deciding(len(read), len(records))
        calls: Iterable[Call] = (
            Call(key, "decide", (self.storage.place, key, next(iter(record.sha256)), digest))
            for key, record in read.items()
            if key not in records
        )
        for _ in range(_ATTEMPTS):
            again: list[Call] = []
            problem = ""
            for answer in self.engine.answers(calls):
                if answer.record is not None:
                    records[answer.call.key] = answer.record
                    self.listener.count_decided(answer.record)
                else:
                    again.append(answer.call)
                    problem = f"part {answer.call.key}: {answer.lost or answer.failed}"
            calls = again
        if again:
            raise PartsFailed(problem)
        return {key: records[key] for key in read}

    # -- the manifest

    def _manifest(self, read: Mapping[str, ReadRecord], decided: Mapping[str, DecidedRecord], digest: str) -> Manifest:
        tables: dict[str, TableFiles] = {}
        for table in DATASET_TABLES:
            files = {
                name: sha256
                for record in decided.values()
                for name, sha256 in record.sha256.items()
                if name.startswith(f"{table.name}/")
            } or _without_rows(self.storage, table, digest)
            rows = sum(record.rows[table.name] for record in decided.values())
            tables[table.name] = TableFiles(rows, tuple(files), tuple(files.values()))
        files_read = [file for part in self.parts for file in part.files]
        size = sum(file.size for file in files_read)
        total = InputTotal(len(files_read), size)
        return Manifest(FORMAT, FORMAT_VERSION, self.version, digest, total, len(read), tables)


@dataclass(slots=True)
class _Retries:
    """Further attempts for parts that were lost or failed.

    A lost part killed its workers, or waited in a worker that another part killed. So it is halved, and a single file
    is tried again alone: if it is lost then, that file is the cause.
    """

    halves: dict[str, tuple[Part, Part]] = field(default_factory=dict)
    alone: list[Part] = field(default_factory=list)
    """Parts to try without any other at the same time."""
    given_up: set[str] = field(default_factory=set)
    problem: str = ""
    """The reason why a part failed permanently."""
    _alone: set[str] = field(default_factory=set)
    _failures: Counter[str] = field(default_factory=Counter)

    def after(self, answer: Answer, part: Part, storage: Storage) -> Sequence[Part]:
        """Return the parts to try next, together with others, after an *answer* without a record."""
        if answer.lost and len(part.files) > 1:
            mark_halved(storage, part)
            self.halves[part.key] = part.halves
            return part.halves
        if answer.lost and part.key not in self._alone:
            self._alone.add(part.key)
            self.alone.append(part)
        elif answer.lost:
            self.given_up.add(part.key)
        else:
            self._failures[part.key] += 1
            if self._failures[part.key] < _ATTEMPTS:
                return [part]
            self.problem = self.problem or f"part {part.key}: {answer.failed}"
        return ()


def _committed_keys(storage: Storage, folder: str) -> set[str]:
    """Return the keys of the parts with a commit record in a folder."""
    return {name.removesuffix(".json") for name in storage.names(folder) if name.endswith(".json")}


def _keys(part: Part, halves: Mapping[str, tuple[Part, Part]]) -> Iterator[str]:
    """Yield the key of *part* or, if it was halved, those of its halves."""
    if part.key not in halves:
        yield part.key
        return
    for half in halves[part.key]:
        yield from _keys(half, halves)


def _without_rows(storage: Storage, table: DatasetTable, digest: str) -> dict[str, str]:
    """Write the file of a table without rows, for readers that need one, and return its name and digest."""
    name = f"{table.name}/none-{digest}.parquet"
    with storage.scratch() as scratch:
        ParquetFile(table, scratch).close()
        sha256 = digest_of_file(scratch)
        storage.put(scratch, name)
    return {name: sha256}


def _clean(storage: Storage, manifest: Manifest, read: Mapping[str, ReadRecord]) -> None:
    """Remove files of other attempts and of older evidence. Files with foreign names stay."""
    for folder in (passes.DECIDED, EVIDENCE):
        for digest in storage.folders(folder):
            if digest != manifest.evidence:
                _remove_others(storage, f"{folder}/{digest}", set())
                storage.remove_folder(f"{folder}/{digest}")
    for name, table in manifest.tables.items():
        _remove_others(storage, name, set(table.files))
    kept = {passes.read_record_file(key) for key in read}
    kept.update(*(record.sha256 for record in read.values()))
    _remove_others(storage, READ, kept)
    _remove_others(storage, SCRATCH, set())
    storage.remove_folder(SCRATCH)


def _remove_others(storage: Storage, folder: str, kept: set[str]) -> None:
    for name in storage.names(folder):
        if f"{folder}/{name}" not in kept and DATASET_FILES.fullmatch(name):
            storage.remove(f"{folder}/{name}")
