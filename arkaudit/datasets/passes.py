"""The two passes of a dataset over its parts.

In the first, the bytes of a part become its documents, and their ARKs that are whole. In the second, the documents are
decided on the evidence of all parts, and become rows of the dataset's tables.
"""

from __future__ import annotations

import hashlib
import io
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from arkaudit.datasets.columns import DATASET_TABLES, MENTIONS, ParquetFile
from arkaudit.datasets.evidence import LEARNED_FILE, NAMES_FILE, column_of, read_evidence, write_names
from arkaudit.datasets.plan import Part
from arkaudit.datasets.storage import InputFile, Storage, digest_of_file, is_object, opened_object
from extractors import two_passes
from extractors.archives.members import INSIDE, ArchiveMember
from extractors.documents import Document, document_name, documents_in, documents_in_file, mention_row, whole_arks
from extractors.extraction import Extraction
from extractors.isolated import KILLED, batches, part_weight, worked_ahead
from extractors.mentions.mention import Mention, relative_resolver
from extractors.model.ark import Ark, shoulder_of
from extractors.model.documents import Finding
from extractors.processes.codec import decoded, encoded
from extractors.processes.worker import WorkerExecutor, shared
from extractors.two_passes import document_of, parts_reading
from extractors.wraps.evidence import Evidence

#: Where the results of the first pass are, of the second one, and the evidence that this rests on.
READ = "work/read"
DECIDED = "work/decided"
EVIDENCE = "work/evidence"

Record = TypeVar("Record")


@dataclass(frozen=True, slots=True)
class ReadRecord:
    """The commit record of a part's first pass."""

    attempt: str
    unreadable: int
    mentions: int
    sha256: tuple[str, str]
    """Of the file with its documents, and of that with its names."""
    killed: int = 0
    """Documents whose process was killed from outside, as a system does without memory: the next command reads them."""
    first_unreadable: tuple[str, ...] = ()
    """The names of a few that could not be read."""


@dataclass(frozen=True, slots=True)
class DecidedRecord:
    """The commit record of a part's second pass."""

    attempt: str
    rows: dict[str, int]
    """By table; those without rows have no file."""
    sha256: dict[str, str]
    """Of the file of each table that has one."""


def read_record_file(key: str) -> str:
    """Return the name of the commit record of a part that was read."""
    return f"{READ}/{key}.json"


def documents_file(key: str, attempt: str) -> str:
    """Return the name of the file that has the documents of a part."""
    return f"{READ}/{key}-{attempt}.jsonl.zst"


def names_file(key: str, attempt: str) -> str:
    """Return the name of the file that has the ARKs of a part that are whole."""
    return f"{READ}/{key}-{attempt}.whole.arrow"


def decided_record_file(key: str, digest: str) -> str:
    """Return the name of the commit record of a part, decided on the evidence of *digest*."""
    return f"{DECIDED}/{digest}/{key}.json"


def table_file(table: str, key: str, digest: str, attempt: str) -> str:
    """Return the name of a file of a table."""
    return f"{table}/{key}-{digest}-{attempt}.parquet"


def files_of_read(key: str, record: ReadRecord) -> dict[str, str]:
    """Return the files of a part that was read, and their digests."""
    names = documents_file(key, record.attempt), names_file(key, record.attempt)
    return dict(zip(names, record.sha256, strict=True))


def files_of_decided(key: str, digest: str, record: DecidedRecord) -> dict[str, str]:
    """Return the files of a part that was decided, and their digests."""
    return {table_file(table, key, digest, record.attempt): sha256 for table, sha256 in record.sha256.items()}


def _committed(storage: Storage, name: str, record: Record, files: Iterable[str]) -> Record:
    """Keep the commit *record* of a part; where there is one already, that counts, and *files* are removed."""
    if storage.create(name, encoded(record) + b"\n"):
        return record
    for file in files:
        storage.remove(file)
    return decoded(storage.read(name) or b"", type(record))


# Documents between the two passes of a dataset: one line of JSON each, with its mentions and doubts about them.

#: The codec of the files that hold them.
_CODEC = "zstd"


@dataclass(frozen=True, slots=True)
class _Origin:
    """What a document was before it was read."""

    source: str
    """The archive or file that it is, or is in."""
    url: str | None = None
    size: int | None = None
    """Its bytes; None for what has none of its own."""
    sha256: str | None = None
    link_resolvers: Mapping[int, str] = field(default_factory=dict)
    """The resolvers that relative links mean, by the places of their mentions."""


@dataclass(frozen=True, slots=True)
class _Line:
    document: Document
    origin: _Origin


@contextmanager
def _lines_in(path: Path) -> Iterator[Iterator[bytes]]:
    """Give the lines of a compressed file, one by one."""
    with pa.CompressedInputStream(pa.OSFile(str(path), "rb"), _CODEC) as file, io.BufferedReader(file) as lines:
        yield iter(lines.readline, b"")


# The first pass.

#: Of so many documents that could not be read a record has the names.
_MOST_NAMES = 3


def read_part(storage: Storage, part: Part, executor: WorkerExecutor, folder: str = "") -> ReadRecord:
    """Read *part*, unless it has been read already, and return its commit record: the first one counts.

    Local paths are taken from *folder*. Raises OSError and `StorageFailed` where the storage fails, or an input there.
    """
    done = storage.read(read_record_file(part.key))
    if done is not None:
        return decoded(done, ReadRecord)
    about_folders = [Document(folder, (), (finding,), is_folder=True) for folder, finding in part.folders]
    parts = (found for file in part.files for found in _parts_of(file, folder))
    results = parts_reading(executor, read_of).results(parts, part_weight)
    return _published(storage, part.key, about_folders, chain.from_iterable(results))


def record_as_unreadable(storage: Storage, part: Part, reason: str) -> ReadRecord:
    """Keep that the files of *part* could not be read, and why; returns the commit record that counts."""
    documents = [Document(_name_of(file), (), (Finding(KILLED, reason),)) for file in part.files]
    return _published(storage, part.key, documents, ())


def _name_of(file: InputFile) -> str:
    """Return the name of a file as a document."""
    return file.name if is_object(file.name) else document_name(Path(file.name))


def _parts_of(file: InputFile, folder: str) -> Iterator[two_passes.Part]:
    """The documents in a file. Raises `StorageFailed` when an object could not be read, which is no damage to it."""
    source = _name_of(file)
    if not is_object(source):
        yield from documents_in_file(Path(folder, file.name), source)
        return
    try:
        with opened_object(source) as stream:
            yield from documents_in(stream, source, path=source.rpartition("/")[2])
    except FileNotFoundError:
        yield Document(source, (), (Finding("unreadable", "there is no such object any more"),))


@dataclass(frozen=True, slots=True)
class _ReadDocument:
    """A document that was read, as a line, and what is counted of it."""

    line: bytes
    name: str
    mentions: int
    is_unreadable: bool
    is_killed: bool
    whole: tuple[str, ...]
    """Normal forms of its ARKs about which nothing had to be decided."""


def read_of(part: two_passes.Part, extraction: Extraction | None) -> _ReadDocument:
    """Return what is kept of the document that *part* is, or that was read of it."""
    document, origin = document_of(part, extraction), _Origin(part.name)
    if isinstance(part, ArchiveMember):
        resolvers: dict[int, str] = {}
        if extraction is not None and part.url is not None:
            for index, mention in enumerate(extraction.mentions):
                resolver = relative_resolver(mention, extraction.reading, part.url)
                if resolver is not None:
                    resolvers[index] = resolver
        digest = hashlib.sha256(part.data).hexdigest()
        origin = _Origin(part.source, part.url, len(part.data), digest, resolvers)
    return _ReadDocument(
        encoded(_Line(document, origin)) + b"\n",
        document.name,
        len(document.mentions),
        document.is_unreadable,
        any(finding.kind == KILLED for finding in document.findings),
        tuple({str(ark) for ark in whole_arks(document)}),
    )


def _published(storage: Storage, key: str, said: Iterable[Document], read: Iterable[_ReadDocument]) -> ReadRecord:
    """Write the documents and names of a part, then its commit record; what is *said* of its files comes first."""
    mentions = killed = 0
    unreadable: list[str] = []
    whole: set[str] = set()
    attempt = secrets.token_hex(4)
    names = documents_file(key, attempt), names_file(key, attempt)
    with storage.scratch() as lines, storage.scratch() as arks:
        with pa.CompressedOutputStream(pa.OSFile(str(lines), "wb"), _CODEC) as file:
            for document in chain(map(partial(read_of, extraction=None), said), read):
                file.write(document.line)
                whole.update(document.whole)
                mentions += document.mentions
                killed += document.is_killed
                if document.is_unreadable:
                    unreadable.append(document.name)
        write_names(column_of(whole), arks)
        digests = digest_of_file(lines), digest_of_file(arks)
        storage.put(lines, names[0])
        storage.put(arks, names[1])
    first = tuple(unreadable[:_MOST_NAMES])
    record = ReadRecord(attempt, len(unreadable), mentions, digests, killed, first)
    return _committed(storage, read_record_file(key), record, names)


# The second pass.

#: The name by which processes share the evidence.
SHARED = "evidence of a dataset"

Rows = dict[str, list[list[Any]]]


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
    done = storage.read(decided_record_file(key, digest))
    if done is not None:
        return decoded(done, DecidedRecord)
    attempt = secrets.token_hex(4)
    names = {table.name: table_file(table.name, key, digest, attempt) for table in DATASET_TABLES}
    with ExitStack() as stack:
        scratches = {table: stack.enter_context(storage.scratch()) for table in names}
        with storage.local(documents_file(key, read_attempt)) as path, _lines_in(path) as lines:
            files = {table.name: ParquetFile(table, scratches[table.name]) for table in DATASET_TABLES}
            try:
                for rows in _rows_of(lines, evidence, executor):
                    for table, some in rows.items():
                        files[table].add(some)
            finally:
                for file in files.values():
                    file.close()
        counts = {table: file.rows for table, file in files.items()}
        filled = [table for table, count in counts.items() if count]
        digests = {table: digest_of_file(scratches[table]) for table in filled}
        for table in filled:
            storage.put(scratches[table], names[table])
    decided = DecidedRecord(attempt, counts, digests)
    return _committed(storage, decided_record_file(key, digest), decided, names.values())


def _rows_of(lines: Iterator[bytes], evidence: Evidence, executor: WorkerExecutor | None) -> Iterator[Rows]:
    """The rows of a part, batch by batch; an archive that is said to be damaged twice is one document."""
    here = partial(rows_of_lines, evidence=evidence)
    batched = batches(lines, len)
    archives: set[str] = set()
    for rows in worked_ahead(executor, decide_lines, batched, here) if executor else map(here, batched):
        documents, rows["documents"] = rows["documents"], []
        for row in documents:
            name, _, record = row[:3]
            if record or name not in archives:
                rows["documents"].append(row)
            if not record:
                archives.add(name)
        yield rows


def decide_lines(batch: Sequence[bytes]) -> Rows:
    """Return the rows of documents, decided on the evidence that all processes share."""
    return rows_of_lines(batch, shared(SHARED))


def rows_of_lines(batch: Sequence[bytes], evidence: Evidence) -> Rows:
    """Return the rows of documents in each table, decided on *evidence*."""
    rows: Rows = {table.name: [] for table in DATASET_TABLES}
    for line in batch:
        read = decoded(line, _Line)
        origin, document = read.origin, read.document.decided_on(evidence)
        # in its source: nothing for a whole file
        record = document.name.removeprefix(origin.source).removeprefix(INSIDE)
        where = [document.name, origin.source, record]
        if not document.is_folder and (origin.size is not None or document.is_unreadable):
            about = [
                origin.url,
                "unreadable" if document.is_unreadable else "read",
                document.media_type,
                document.title,
                origin.size,
                origin.sha256,
                len(document.mentions),
            ]
            rows["documents"].append([*where, *about])
        rows["mentions"] += [[*where, *cells] for cells in _mention_cells(read.document, document, origin)]
        rows["findings"] += [[*where, finding.kind, finding.detail] for finding in document.findings]
    return rows


_CELLS = [column.name for column in MENTIONS.columns[3:]]


def _mention_cells(alone: Document, document: Document, origin: _Origin) -> Iterator[list[Any]]:
    """The cells of the mentions of a *document*, which *alone* may have said otherwise."""
    again = {
        doubt.index
        for doubt in alone.unresolved
        if _decision(alone.mentions[doubt.index]) != _decision(document.mentions[doubt.index])
    }
    for index, mention in enumerate(document.mentions):
        ark = mention.ark
        row = mention_row(document.name, mention) | {
            "ordinal": index + 1,
            "naan": ark.naan,
            "shoulder": shoulder_of(ark.name),
            "name": ark.name,
            "qualifier": ark.qualifier,
            "link_resolver": origin.link_resolvers.get(index),
            "decided": 2 if index in again else 1,
        }
        yield [row[name] for name in _CELLS]


def _decision(mention: Mention) -> tuple[Ark, str]:
    return mention.ark, mention.reason
