"""The first pass of a dataset: the bytes of a part become its documents, and their ARKs that are whole."""

from __future__ import annotations

import hashlib
import io
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import pyarrow as pa

from arkaudit.datasets.evidence import column_of, write_names
from arkaudit.datasets.plan import Part
from arkaudit.datasets.storage import InputFile, Storage, digest_of_file, is_object, opened_object
from extractors.archives.members import INSIDE, ArchiveMember
from extractors.documents import (
    Document,
    document_name,
    documents_in,
    documents_in_file,
    whole_arks,
)
from extractors.extraction import Extraction
from extractors.isolated import (
    KILLED,
    extraction_in_time,
    extraction_of_member,
    extraction_of_short_text,
    failed_extraction,
    may_stay_inline,
)
from extractors.mentions.mention import relative_resolver
from extractors.model.documents import Finding
from extractors.processes.codec import decoded, encoded
from extractors.processes.worker import WorkerError
from extractors.processes.worker_executor import (
    BATCH_BYTES,
    BATCH_DOCUMENTS,
    BatchReading,
    WorkerExecutor,
    part_weight,
)

# Documents between the two passes of a dataset: one line of JSON each, with its mentions and doubts about them.


#: The codec of the files that hold them.
_CODEC = "zstd"


@dataclass(frozen=True, slots=True)
class Origin:
    """What a document was before it was read."""

    source: str
    """The archive or file that it is, or is in."""
    url: str | None = None
    size: int | None = None
    """Its bytes; None for what has none of its own."""
    sha256: str | None = None
    link_resolvers: Mapping[int, str] = field(default_factory=dict)
    """The resolvers that relative links mean, by the places of their mentions."""

    @classmethod
    def of(
        cls,
        source: str,
        part: ArchiveMember | Document,
        link_resolvers: Mapping[int, str] = MappingProxyType({}),
    ) -> Origin:
        """Return the origin of *part*, a document that is to be read, or what else is to be said of *source*."""
        if isinstance(part, Document):
            return cls(source)
        return cls(
            source, part.url, len(part.data), hashlib.sha256(part.data).hexdigest(), link_resolvers
        )

    def record(self, document: str) -> str:
        """Return what *document* is in its source: nothing for a whole file.

        >>> Origin("a.warc").record("a.warc!/http://b.example/c"), Origin("a.pdf").record("a.pdf")
        ('http://b.example/c', '')
        """
        return (
            document.removeprefix(self.source).removeprefix(INSIDE)
            if document != self.source
            else ""
        )


@dataclass(frozen=True, slots=True)
class _Line:
    document: Document
    origin: Origin


def line_of(document: Document, origin: Origin) -> bytes:
    """Return a line that `document_in` reads; lone surrogates stay what they are."""
    return encoded(_Line(document, origin)) + b"\n"


def document_in(line: bytes) -> tuple[Document, Origin]:
    """Return the document in a line that `line_of` has made."""
    read: _Line = decoded(line, _Line)
    return read.document, read.origin


def write_lines(lines: Iterable[bytes], path: Path) -> None:
    """Write *lines* into a compressed file."""
    with pa.CompressedOutputStream(pa.OSFile(str(path), "wb"), _CODEC) as file:
        for line in lines:
            file.write(line)


@contextmanager
def lines_in(path: Path) -> Iterator[Iterator[bytes]]:
    """Give the lines of a compressed file, one by one."""
    with (
        pa.CompressedInputStream(pa.OSFile(str(path), "rb"), _CODEC) as file,
        io.BufferedReader(file) as lines,
    ):
        yield iter(lines.readline, b"")


#: Where the results of the first pass are.
READ = "work/read"
#: Of so many documents that could not be read a record has the names.
_MOST_NAMES = 3


@dataclass(frozen=True, slots=True)
class ReadRecord:
    """The commit record of a part's first pass."""

    attempt: str
    documents: int
    unreadable: int
    mentions: int
    unresolved: int
    sha256: tuple[str, str]
    """Of the file with its documents, and of that with its names."""
    killed: int = 0
    """Documents whose process was killed from outside, as a system does without memory: the next command reads them."""
    first_unreadable: tuple[str, ...] = ()
    """The names of a few that could not be read."""

    @classmethod
    def of_bytes(cls, data: bytes) -> ReadRecord:
        """Return the record in a file. Raises ValueError for what is none."""
        record: ReadRecord = decoded(data, cls)
        return record

    def to_bytes(self) -> bytes:
        """Return the record as a file has it."""
        return encoded(self) + b"\n"


def record_file(key: str) -> str:
    """Return the name of the commit record of a part."""
    return f"{READ}/{key}.json"


def documents_file(key: str, attempt: str) -> str:
    """Return the name of the file that has the documents of a part."""
    return f"{READ}/{key}-{attempt}.jsonl.zst"


def names_file(key: str, attempt: str) -> str:
    """Return the name of the file that has the ARKs of a part that are whole."""
    return f"{READ}/{key}-{attempt}.whole.arrow"


def read_part(
    storage: Storage, part: Part, executor: WorkerExecutor, folder: str = ""
) -> ReadRecord:
    """Read *part*, unless it has been read already, and return its commit record: the first one counts.

    Local paths are taken from *folder*. Raises OSError and `StorageFailed` where the storage fails, or an input there.
    """
    done = storage.read(record_file(part.key))
    if done is not None:
        return ReadRecord.of_bytes(done)
    about_folders = [
        Document(document.folder, (), (Finding(document.kind, document.detail),), is_folder=True)
        for document in part.folders
    ]
    reading = BatchReading(
        executor, read_sourced, _failed, stays_here=_is_little, read_here=_read_here
    )
    sourced = (document for file in part.files for document in _sourced(file, folder))
    results = (document for some in reading.results(sourced, _weight) for document in some)
    return _published(storage, part.key, _chained(about_folders, results))


def record_as_unreadable(storage: Storage, part: Part, reason: str) -> ReadRecord:
    """Keep that the files of *part* could not be read, and why; returns the commit record that counts."""
    documents = [Document(name_of(file), (), (Finding(KILLED, reason),)) for file in part.files]
    return _published(storage, part.key, _chained(documents, ()))


def name_of(file: InputFile) -> str:
    """Return the name of a file as a document."""
    return file.name if is_object(file.name) else document_name(Path(file.name))


@dataclass(frozen=True, slots=True)
class _Sourced:
    """A document that is to be read, or what else is said of a file, and the name of that file."""

    source: str
    part: ArchiveMember | Document


@dataclass(frozen=True, slots=True)
class _ReadDocument:
    """A document that was read, as a line, and what is counted of it."""

    line: bytes
    name: str
    mentions: int
    unresolved: int
    is_unreadable: bool
    is_killed: bool
    is_member: bool
    whole: tuple[str, ...]
    """Normal forms of its ARKs about which nothing had to be decided."""

    @classmethod
    def of(cls, document: Document, origin: Origin) -> _ReadDocument:
        return cls(
            line_of(document, origin),
            document.name,
            len(document.mentions),
            len(document.unresolved),
            document.is_unreadable,
            any(finding.kind == KILLED for finding in document.findings),
            origin.size is not None,
            tuple({str(ark) for ark in whole_arks(document)}),
        )


def read_sourced(batch: Sequence[_Sourced]) -> list[_ReadDocument]:
    """Return what was read of each document of a batch, as `extractors.two_passes.read_batch` reads it."""
    read = []
    for sourced in batch:
        part = sourced.part
        if isinstance(part, Document):
            read.append(_ReadDocument.of(part, Origin(sourced.source)))
            continue
        extraction = extraction_in_time(part, with_links=False)
        origin = Origin.of(sourced.source, part, _link_resolvers(extraction, part.url))
        read.append(_ReadDocument.of(Document.of(part.name, extraction), origin))
    return read


def _read_here(sourced: _Sourced) -> _ReadDocument | None:
    """What was read of what need not be sent to another process."""
    part = sourced.part
    if isinstance(part, Document):
        return _ReadDocument.of(part, Origin(sourced.source))
    extraction = extraction_of_short_text(part)
    if extraction is None:
        return None
    return _ReadDocument.of(Document.of(part.name, extraction), Origin.of(sourced.source, part))


def _link_resolvers(extraction: Extraction, page_url: str | None) -> dict[int, str]:
    """The resolvers that relative links of a page mean, by the places of their mentions."""
    if page_url is None:
        return {}
    resolvers = (
        relative_resolver(mention, extraction.reading, page_url) for mention in extraction.mentions
    )
    return {index: resolver for index, resolver in enumerate(resolvers) if resolver is not None}


def _failed(sourced: _Sourced, failure: WorkerError) -> _ReadDocument:
    """What is known of a document whose process ended."""
    part = sourced.part
    if isinstance(part, Document):
        return _ReadDocument.of(part, Origin(sourced.source))
    extraction = extraction_of_member(failed_extraction(failure, part.media_type), part)
    return _ReadDocument.of(Document.of(part.name, extraction), Origin.of(sourced.source, part))


def _weight(sourced: _Sourced) -> int:
    return part_weight(sourced.part)


def _is_little(batch: Sequence[_Sourced]) -> bool:
    """Return whether a batch is not worth a process: it is not full, and nothing in it may crash its parser."""
    if sum(map(_weight, batch)) >= BATCH_BYTES or len(batch) >= BATCH_DOCUMENTS:
        return False
    return all(
        isinstance(sourced.part, Document) or may_stay_inline(sourced.part) for sourced in batch
    )


def _sourced(file: InputFile, folder: str) -> Iterator[_Sourced]:
    source = name_of(file)
    parts = (
        _object_parts(source)
        if is_object(source)
        else documents_in_file(Path(folder, file.name), source)
    )
    for part in parts:
        yield _Sourced(source, part)


def _object_parts(source: str) -> Iterator[ArchiveMember | Document]:
    """The documents in an object. Raises `StorageFailed` when it could not be read, which is no damage to it."""
    try:
        with opened_object(source) as stream:
            yield from documents_in(stream, source, path=source.rpartition("/")[2])
    except FileNotFoundError:
        yield Document(source, (), (Finding("unreadable", "there is no such object any more"),))


def _chained(
    documents: Iterable[Document], read: Iterable[_ReadDocument]
) -> Iterator[_ReadDocument]:
    yield from (_ReadDocument.of(document, Origin(document.name)) for document in documents)
    yield from read


def _published(storage: Storage, key: str, read: Iterable[_ReadDocument]) -> ReadRecord:
    """Write the documents and names of a part, then its commit record; what came too late removes its own."""
    counted = _Counted()
    attempt = secrets.token_hex(4)
    documents, names = storage.scratch(), storage.scratch()
    try:
        write_lines(counted.lines(read), documents)
        write_names(column_of(counted.whole), names)
        digests = digest_of_file(documents), digest_of_file(names)
        storage.put(documents, documents_file(key, attempt))
        storage.put(names, names_file(key, attempt))
    finally:
        documents.unlink(missing_ok=True)
        names.unlink(missing_ok=True)
    record = counted.record(attempt, digests)
    if storage.create(record_file(key), record.to_bytes()):
        return record
    storage.remove(documents_file(key, attempt))
    storage.remove(names_file(key, attempt))
    first = storage.read(record_file(key))
    assert first is not None
    return ReadRecord.of_bytes(first)


class _Counted:
    """What is counted of documents while their lines are written."""

    def __init__(self) -> None:
        self.whole: set[str] = set()
        self._documents = self._mentions = self._unresolved = self._killed = 0
        self._unreadable: list[str] = []

    def lines(self, read: Iterable[_ReadDocument]) -> Iterator[bytes]:
        for document in read:
            self.whole.update(document.whole)
            self._documents += document.is_member or document.is_unreadable
            self._mentions += document.mentions
            self._unresolved += document.unresolved
            self._killed += document.is_killed
            if document.is_unreadable:
                self._unreadable.append(document.name)
            yield document.line

    def record(self, attempt: str, digests: tuple[str, str]) -> ReadRecord:
        return ReadRecord(
            attempt,
            self._documents,
            len(self._unreadable),
            self._mentions,
            self._unresolved,
            digests,
            self._killed,
            tuple(self._unreadable[:_MOST_NAMES]),
        )
