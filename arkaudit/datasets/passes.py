"""The two passes of a dataset over its parts.

The first pass reads the files of a part into documents, and collects their complete ARKs. The second pass decides
doubtful mentions by the evidence of all parts, and writes the rows of the tables.
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
from arkaudit.datasets.storage import InputFile, Storage, digest_of_file, is_object, open_object
from extractors import two_passes
from extractors.archives.members import INSIDE, ArchiveMember
from extractors.documents import Document, document_name, documents_in, documents_in_file, mention_row, whole_arks
from extractors.extraction import Extraction
from extractors.isolated import KILLED, batches, part_weight, run_batches
from extractors.mentions.mention import relative_resolvers
from extractors.model.ark import shoulder_of
from extractors.model.documents import Finding
from extractors.processes.codec import from_json, to_json
from extractors.processes.worker import WorkerExecutor, shared_value
from extractors.two_passes import document_of, parts_reader
from extractors.wraps.evidence import Evidence

#: Folders of the results of the first pass, of the second pass, and of the evidence.
READ = "work/read"
DECIDED = "work/decided"
EVIDENCE = "work/evidence"


@dataclass(frozen=True, slots=True)
class ReadRecord:
    """The commit record of a part's first pass."""

    unreadable: int
    mentions: int
    sha256: dict[str, str]
    """Digests by name of the file of documents, then of the file of complete ARKs."""
    killed: int = 0
    """Number of documents whose process was killed from outside, for example for lack of memory. The next command reads
    them again."""
    first_unreadable: tuple[str, ...] = ()
    """Names of the first unreadable documents."""


@dataclass(frozen=True, slots=True)
class DecidedRecord:
    """The commit record of a part's second pass."""

    rows: dict[str, int]
    """Number of rows by table; tables without rows have no file."""
    sha256: dict[str, str]
    """Digests by name of the files of the tables."""


Record = TypeVar("Record", ReadRecord, DecidedRecord)


def read_record_file(key: str) -> str:
    """Return the name of the commit record of a part that was read."""
    return f"{READ}/{key}.json"


def decided_record_file(key: str, digest: str) -> str:
    """Return the name of the commit record of a part that was decided on the evidence of *digest*."""
    return f"{DECIDED}/{digest}/{key}.json"


def _commit(storage: Storage, name: str, record: Record) -> Record:
    """Store and return a commit record; if there is one already, return that and remove the files of *record*."""
    if storage.create(name, to_json(record) + b"\n"):
        return record
    for file in record.sha256:
        storage.remove(file)
    return from_json(storage.read(name) or b"", type(record))


# -- the file of documents between the passes: one line of JSON per document

#: Compression of the file.
_CODEC = "zstd"


@dataclass(frozen=True, slots=True)
class _Origin:
    """The source of a document."""

    source: str
    """The archive or file."""
    url: str | None = None
    size: int | None = None
    """Size in bytes; None for a folder or an archive itself."""
    sha256: str | None = None
    link_resolvers: Mapping[int, str] = field(default_factory=dict)
    """Resolvers of relative links, by the index of the mention."""


@dataclass(frozen=True, slots=True)
class _Line:
    document: Document
    origin: _Origin


@contextmanager
def _lines_in(path: Path) -> Iterator[Iterator[bytes]]:
    """Give the lines of a compressed file, one by one."""
    with pa.CompressedInputStream(pa.OSFile(str(path), "rb"), _CODEC) as file, io.BufferedReader(file) as lines:
        yield iter(lines.readline, b"")


# -- the first pass

#: Number of unreadable documents that a record names.
_MOST_NAMES = 3


def read_part(storage: Storage, part: Part, executor: WorkerExecutor, folder: str = "") -> ReadRecord:
    """Read *part* unless it has a commit record, and return the record.

    Local paths are relative to *folder*. Raises OSError and `StorageFailed` if the storage fails.
    """
    done = storage.read(read_record_file(part.key))
    if done is not None:
        return from_json(done, ReadRecord)
    about_folders = [Document(folder, (), (finding,), is_folder=True) for folder, finding in part.folders]
    parts = (found for file in part.files for found in _parts_of(file, folder))
    results = parts_reader(executor, read_of).results(parts, part_weight)
    return _publish(storage, part.key, about_folders, chain.from_iterable(results))


def record_as_unreadable(storage: Storage, part: Part, reason: str) -> ReadRecord:
    """Record the files of *part* as unreadable for a *reason*, and return the commit record."""
    documents = [Document(_name_of(file), (), (Finding(KILLED, reason),)) for file in part.files]
    return _publish(storage, part.key, documents, ())


def _name_of(file: InputFile) -> str:
    """Return the name of a file as a document."""
    return file.name if is_object(file.name) else document_name(Path(file.name))


def _parts_of(file: InputFile, folder: str) -> Iterator[two_passes.Part]:
    """Yield the documents in a file. Raises `StorageFailed` if the storage fails, which is not damage to the file."""
    source = _name_of(file)
    if not is_object(source):
        yield from documents_in_file(Path(folder, file.name), source)
        return
    try:
        with open_object(source) as stream:
            yield from documents_in(stream, source, path=source.rpartition("/")[2])
    except FileNotFoundError:
        yield Document(source, (), (Finding("unreadable", "the object no longer exists"),))


@dataclass(frozen=True, slots=True)
class _ReadDocument:
    """A document as a line, with its counts."""

    line: bytes
    name: str
    mentions: int
    is_unreadable: bool
    is_killed: bool
    whole: tuple[str, ...]
    """Normal forms of its complete ARKs."""


def read_of(part: two_passes.Part, extraction: Extraction | None) -> _ReadDocument:
    """Return the line and counts of the document that *part* is, or that *extraction* read from it."""
    document, origin = document_of(part, extraction), _Origin(part.name)
    if isinstance(part, ArchiveMember):
        resolvers: dict[int, str] = {}
        if extraction is not None and part.url is not None:
            found = relative_resolvers(extraction.mentions, extraction.reading, part.url)
            for index, resolver in enumerate(found):
                if resolver is not None:
                    resolvers[index] = resolver
        digest = hashlib.sha256(part.data).hexdigest()
        origin = _Origin(part.source, part.url, len(part.data), digest, resolvers)
    return _ReadDocument(
        to_json(_Line(document, origin)) + b"\n",
        document.name,
        len(document.mentions),
        document.is_unreadable,
        any(finding.kind == KILLED for finding in document.findings),
        tuple({str(ark) for ark in whole_arks(document)}),
    )


def _publish(storage: Storage, key: str, said: Iterable[Document], read: Iterable[_ReadDocument]) -> ReadRecord:
    """Write the documents (*said* ones without content first) and names of a part, then its commit record."""
    mentions = killed = 0
    unreadable: list[str] = []
    whole: set[str] = set()
    attempt = secrets.token_hex(4)
    names = f"{READ}/{key}-{attempt}.jsonl.zst", f"{READ}/{key}-{attempt}.whole.arrow"
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
    sha256 = dict(zip(names, digests, strict=True))
    record = ReadRecord(len(unreadable), mentions, sha256, killed, first)
    return _commit(storage, read_record_file(key), record)


# -- the second pass

#: The name of the evidence that processes share.
SHARED = "evidence of a dataset"

Rows = dict[str, list[list[Any]]]


def evidence_in(storage: Storage, digest: str) -> Evidence:
    """Return the evidence of *digest* with memory-mapped names. Raises FileNotFoundError."""
    learned = storage.read(f"{EVIDENCE}/{digest}/{LEARNED_FILE}")
    with storage.local(f"{EVIDENCE}/{digest}/{NAMES_FILE}") as names:
        if learned is None:
            raise FileNotFoundError(f"{EVIDENCE}/{digest}/{LEARNED_FILE}")
        # The names stay mapped when the file is removed.
        return read_evidence(names, learned)


def decide_part(
    storage: Storage, key: str, documents: str, digest: str, evidence: Evidence, executor: WorkerExecutor | None = None
) -> DecidedRecord:
    """Decide the part in the file *documents* unless it has a commit record, and return the record.

    The processes of *executor* share the evidence; without one, this process decides. Raises OSError if the storage
    fails.
    """
    done = storage.read(decided_record_file(key, digest))
    if done is not None:
        return from_json(done, DecidedRecord)
    attempt = secrets.token_hex(4)
    names = {table.name: f"{table.name}/{key}-{digest}-{attempt}.parquet" for table in DATASET_TABLES}
    with ExitStack() as stack:
        scratches = {table: stack.enter_context(storage.scratch()) for table in names}
        with storage.local(documents) as path, _lines_in(path) as lines:
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
        digests = {names[table]: digest_of_file(scratches[table]) for table in filled}
        for table in filled:
            storage.put(scratches[table], names[table])
    return _commit(storage, decided_record_file(key, digest), DecidedRecord(counts, digests))


def _rows_of(lines: Iterator[bytes], evidence: Evidence, executor: WorkerExecutor | None) -> Iterator[Rows]:
    """Yield the rows of a part in batches; several rows about one archive become one document."""
    here = partial(rows_of_lines, evidence=evidence)
    batched = batches(lines, len)
    archives: set[str] = set()
    for rows in run_batches(executor, decide_lines, batched, here) if executor else map(here, batched):
        documents, rows["documents"] = rows["documents"], []
        for row in documents:
            name, _, record = row[:3]
            if record or name not in archives:
                rows["documents"].append(row)
            if not record:
                archives.add(name)
        yield rows


def decide_lines(batch: Sequence[bytes]) -> Rows:
    """Return the rows of documents, decided on the shared evidence."""
    return rows_of_lines(batch, shared_value(SHARED))


def rows_of_lines(batch: Sequence[bytes], evidence: Evidence) -> Rows:
    """Return the rows of documents in each table, decided on *evidence*."""
    rows: Rows = {table.name: [] for table in DATASET_TABLES}
    for line in batch:
        read = from_json(line, _Line)
        origin, document = read.origin, read.document.decide(evidence)
        # Empty for a whole file.
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
    """Yield cells of the mentions of a *document*; *alone* is the same document before the second pass."""
    again = {
        doubt.index
        for doubt in alone.unresolved
        for before, after in [(alone.mentions[doubt.index], document.mentions[doubt.index])]
        if (before.ark, before.reason) != (after.ark, after.reason)
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
