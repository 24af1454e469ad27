"""The second pass of a dataset: the documents of a part, decided on the evidence of all, become rows of its tables."""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from arkaudit.datasets.columns import DATASET_TABLES, MENTIONS, ParquetFile
from arkaudit.datasets.evidence import LEARNED_FILE, NAMES_FILE, read_evidence
from arkaudit.datasets.first_pass import Origin, document_in, documents_file, lines_in
from arkaudit.datasets.storage import Storage, digest_of_file
from extractors.documents import Document, mention_row
from extractors.mentions.mention import Mention
from extractors.model.ark import Ark, shoulder_of
from extractors.processes.codec import decoded, encoded
from extractors.processes.worker import WorkerDied, WorkerOutOfMemory, WorkerTimeout, shared
from extractors.processes.worker_executor import AHEAD, WorkerExecutor, batches
from extractors.wraps.evidence import Evidence

DECIDED = "work/decided"
EVIDENCE = "work/evidence"
#: The name by which processes share the evidence.
SHARED = "evidence of a dataset"

Rows = dict[str, list[list[Any]]]


@dataclass(frozen=True, slots=True)
class DecidedRecord:
    """The commit record of a part's second pass."""

    attempt: str
    rows: dict[str, int]
    """By table; those without rows have no file."""
    sha256: dict[str, str]
    """Of the file of each table that has one."""

    @classmethod
    def of_bytes(cls, data: bytes) -> DecidedRecord:
        """Return the record in a file. Raises ValueError for what is none."""
        record: DecidedRecord = decoded(data, cls)
        return record

    def to_bytes(self) -> bytes:
        """Return the record as a file has it."""
        return encoded(self) + b"\n"


def record_file(key: str, digest: str) -> str:
    """Return the name of the commit record of a part, decided on the evidence of *digest*."""
    return f"{DECIDED}/{digest}/{key}.json"


def table_file(table: str, key: str, digest: str, attempt: str) -> str:
    """Return the name of a file of a table."""
    return f"{table}/{key}-{digest}-{attempt}.parquet"


def evidence_in(storage: Storage, digest: str) -> Evidence:
    """Return the evidence of *digest*, its names mapped to memory. Raises FileNotFoundError."""
    learned = storage.read(f"{EVIDENCE}/{digest}/{LEARNED_FILE}")
    with storage.local(f"{EVIDENCE}/{digest}/{NAMES_FILE}") as names:
        if learned is None:
            raise FileNotFoundError(f"{EVIDENCE}/{digest}/{LEARNED_FILE}")
        return read_evidence(names, learned)  # which stays mapped, also when the file is removed


def decide_part(
    storage: Storage,
    key: str,
    read_attempt: str,
    digest: str,
    evidence: Evidence,
    executor: WorkerExecutor | None = None,
) -> DecidedRecord:
    """Decide a part, unless that was done already, and return its commit record: the first one counts.

    *executor* shares the evidence; without one, everything is done here. Raises OSError where the storage fails.
    """
    record_name = record_file(key, digest)
    done = storage.read(record_name)
    if done is not None:
        return DecidedRecord.of_bytes(done)
    attempt = secrets.token_hex(4)
    scratches = {table.name: storage.scratch() for table in DATASET_TABLES}
    try:
        with storage.local(documents_file(key, read_attempt)) as path, lines_in(path) as lines:
            files = {
                table.name: ParquetFile(table, scratches[table.name]) for table in DATASET_TABLES
            }
            try:
                for rows in _rows_of(lines, evidence, executor):
                    for table, some in rows.items():
                        files[table].add(some)
            finally:
                for file in files.values():
                    file.close()
        counts = {table: file.rows for table, file in files.items()}
        digests = {
            table: digest_of_file(scratches[table]) for table, count in counts.items() if count
        }
        for table, count in counts.items():
            if count:
                storage.put(scratches[table], table_file(table, key, digest, attempt))
    finally:
        for scratch in scratches.values():
            scratch.unlink(missing_ok=True)
    record = DecidedRecord(attempt, counts, digests)
    if storage.create(record_name, record.to_bytes()):
        return record
    for table in counts:
        storage.remove(table_file(table, key, digest, attempt))
    first = storage.read(record_name)
    assert first is not None
    return DecidedRecord.of_bytes(first)


def _rows_of(
    lines: Iterator[bytes], evidence: Evidence, executor: WorkerExecutor | None
) -> Iterator[Rows]:
    """The rows of a part, batch by batch."""
    archives: set[str] = set()
    for rows in _decided(batches(lines, len), evidence, executor):
        rows["documents"] = [row for row in rows["documents"] if _is_first(row, archives)]
        yield rows


def _is_first(row: Sequence[Any], archives: set[str]) -> bool:
    """Return whether a row of a document is the first with its name: an archive may be said to be damaged twice."""
    name, _, record = row[:3]
    if record:
        return True
    is_first = name not in archives
    archives.add(name)
    return is_first


def _decided(
    batched: Iterable[list[bytes]], evidence: Evidence, executor: WorkerExecutor | None
) -> Iterator[Rows]:
    if executor is None:
        for batch in batched:
            yield rows_of_lines(batch, evidence)
        return
    ahead: deque[tuple[list[bytes], Future[Rows]]] = deque()
    for batch in batched:
        ahead.append((batch, executor.submit(decide_lines, batch)))
        if len(ahead) > executor.jobs * AHEAD:
            yield _result(*ahead.popleft(), evidence)
    while ahead:
        yield _result(*ahead.popleft(), evidence)


def _result(batch: list[bytes], decided: Future[Rows], evidence: Evidence) -> Rows:
    try:
        return decided.result()
    except (WorkerDied, WorkerOutOfMemory, WorkerTimeout):  # a kill from outside must cost no row
        return rows_of_lines(batch, evidence)


def decide_lines(batch: Sequence[bytes]) -> Rows:
    """Return the rows of documents, decided on the evidence that all processes share."""
    return rows_of_lines(batch, shared(SHARED))


def rows_of_lines(batch: Sequence[bytes], evidence: Evidence) -> Rows:
    """Return the rows of documents in each table, decided on *evidence*."""
    rows: Rows = {table.name: [] for table in DATASET_TABLES}
    for line in batch:
        alone, origin = document_in(line)
        document = alone.decided_on(evidence)
        where = [document.name, origin.source, origin.record(document.name)]
        if not document.is_folder and (origin.size is not None or document.is_unreadable):
            rows["documents"].append([*where, *_about(document, origin)])
        rows["mentions"] += (
            [*where, ordinal, *cells]
            for ordinal, cells in enumerate(
                _mention_cells(document, origin, _decided_again(alone, document)), 1
            )
        )
        rows["findings"] += (
            [*where, finding.kind, finding.detail] for finding in document.findings
        )
    return rows


def _about(document: Document, origin: Origin) -> list[Any]:
    outcome = "unreadable" if document.is_unreadable else "read"
    mentions = len(document.mentions)
    return [
        origin.url,
        outcome,
        document.media_type,
        document.title,
        origin.size,
        origin.sha256,
        mentions,
    ]


_CELLS = [column.name for column in MENTIONS.columns[4:]]


def _decided_again(alone: Document, document: Document) -> frozenset[int]:
    """The places of the mentions of a document that are another than it *alone* says."""
    changed = (
        doubt.index
        for doubt in alone.unresolved
        if _decision(alone.mentions[doubt.index]) != _decision(document.mentions[doubt.index])
    )
    return frozenset(changed)


def _decision(mention: Mention) -> tuple[Ark, str]:
    return mention.ark, mention.reason


def _mention_cells(
    document: Document, origin: Origin, again: frozenset[int]
) -> Iterator[list[Any]]:
    for index, mention in enumerate(document.mentions):
        ark = mention.ark
        row = mention_row(document.name, mention)
        row |= {
            "naan": ark.naan,
            "shoulder": shoulder_of(ark.name),
            "name": ark.name,
            "qualifier": ark.qualifier,
        }
        row["link_resolver"] = origin.link_resolvers.get(index)
        row["decided"] = 2 if index in again else 1
        yield [row[name] for name in _CELLS]
