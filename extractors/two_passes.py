"""Read many documents on all cores, then decide doubtful mentions by the ARKs that are whole in any document.

Both passes send batches to an executor and return results in document order, so that results are the same for any
number of processes. The first pass writes each document to a temporary file. The second pass decides its mentions and
renders it (*render*) in the worker process.
"""

from __future__ import annotations

import io
import os
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, Any, BinaryIO, Generic, Self, TypeVar, cast

from extractors.archives.members import ArchiveMember
from extractors.documents import (
    STANDARD_INPUT,
    Document,
    document_name,
    documents_in,
    documents_in_file,
    files_in,
    hidden_finding,
)
from extractors.extraction import Extraction, whole_arks
from extractors.isolated import (
    Make,
    PartReader,
    batches,
    document_executor,
    document_worker,
    extraction_of_short_text,
    part_weight,
    read_member,
    run_batches,
)
from extractors.model.ark import Ark
from extractors.model.budget import DECIDING_CPU_S, TimeBudget, use_budget
from extractors.model.check_characters import NOTHING_DECLARED, Declared
from extractors.model.documents import Finding
from extractors.model.errors import SourceUnreadable
from extractors.model.files import is_folder, path_exists
from extractors.model.urls import is_web_url
from extractors.processes.codec import from_json, result_type, to_json
from extractors.processes.worker import WorkerExecutor, shared_value
from extractors.wraps.evidence import Evidence, use_evidence

R = TypeVar("R")
S = TypeVar("S")

_EVIDENCE = "evidence of all documents"

#: A document to read, or a `Document` with findings only.
Part = ArchiveMember | Document
#: The rendered document and its findings after the second pass.
Decided = tuple[R, tuple[Finding, ...]]


# The first pass.


def parts_reader(
    executor: WorkerExecutor,
    make: Make[S],
    declared: Declared,
    read_batch: Callable[[Sequence[ArchiveMember]], list[S]] | None = None,
) -> PartReader[S]:
    """Return the reader of a first pass; it calls *make* with each part and its extraction, which has no links.

    Short texts without an ARK are read in this process. *read_batch* replaces the function that reads a batch.
    """
    return PartReader(
        executor, make, extraction_of_short_text, declared=declared, reads_few_inline=True, read=read_batch
    )


def document_of(part: Part, extraction: Extraction | None) -> Document:
    """Return *part* if it is a `Document`, else the document of its *extraction*."""
    if isinstance(part, Document):
        return part
    assert extraction is not None
    return Document.from_extraction(part.name, extraction)


@dataclass(frozen=True, slots=True)
class DocumentSummary:
    """What the first pass knows about a document that was read; its mentions are only in `encoded`."""

    name: str
    findings: Sequence[Finding]
    mention_count: int
    is_unreadable: bool
    is_read_in_part: bool
    is_folder: bool
    whole_arks: frozenset[Ark]
    """The ARKs of its mentions that needed no decision."""
    encoded: bytes
    """The document as plain data (`extractors.processes.codec`)."""

    @classmethod
    def of(cls, document: Document) -> DocumentSummary:
        """Return the summary of *document*."""
        return cls(
            document.name,
            document.findings,
            len(document.mentions),
            document.is_unreadable,
            document.is_read_in_part,
            document.is_folder,
            whole_arks(document.mentions),
            to_json(document),
        )


def summary_of(part: Part, extraction: Extraction | None) -> DocumentSummary:
    """Return the summary of the document of *part* and its *extraction*."""
    return DocumentSummary.of(document_of(part, extraction))


@dataclass(frozen=True, slots=True)
class RenderedDocument(Generic[R]):
    """A document with decided mentions, and the result of rendering it."""

    summary: DocumentSummary
    """Without `whole_arks` and `encoded`."""
    value: R


class TwoPasses(Generic[R]):
    """Reads documents in *jobs* processes and renders each with *render*, a module-level function.

    *declared* are the user's check characters by NAAN.

    >>> member = ArchiveMember("a.txt", "a.txt", b"see ark:/12148/bpt6k107371t")
    >>> with TwoPasses(repr, jobs=2) as passes:
    ...     [document.value for document in passes.results([member])]
    ["<Document 'a.txt': 1 mentions, 0 findings>"]
    """

    def __init__(
        self,
        render: Callable[[Document], R],
        *,
        jobs: int,
        declared: Declared = NOTHING_DECLARED,
        read_batch: Callable[[Sequence[ArchiveMember]], list[DocumentSummary]] | None = None,
    ) -> None:
        self._render = render
        self._executor = document_executor(jobs)
        self._declared = declared
        self._reading = parts_reader(self._executor, summary_of, declared, read_batch)
        self._ready: deque[DocumentSummary] = deque()

    def __enter__(self) -> Self:
        return self

    @property
    def has_started(self) -> bool:
        """True if other processes were started, because there was enough to read."""
        return self._reading.has_started

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown(cancel_futures=True)

    def results(
        self,
        parts: Iterable[Part],
        *,
        stop_exceptions: tuple[type[BaseException], ...] = (),
        on_read: Callable[[DocumentSummary], None] = lambda summary: None,
    ) -> Iterator[RenderedDocument[R]]:
        """Read all *parts*, then yield the rendered documents in their order.

        *on_read* is called when a document was read. An exception of *stop_exceptions* stops the reading. It is raised
        when the documents read until then were yielded.
        """
        whole_arks, repeated_arks = set[Ark](), set[Ark]()
        summaries: list[tuple[DocumentSummary, int, int]] = []
        stop_exception: BaseException | None = None
        with tempfile.TemporaryFile() as file:

            def add_summary(summary: DocumentSummary) -> None:
                offset = file.seek(0, os.SEEK_END)
                file.write(summary.encoded)
                repeated_arks.update(summary.whole_arks & whole_arks)
                whole_arks.update(summary.whole_arks)
                short_summary = replace(summary, whole_arks=frozenset(), encoded=b"")
                summaries.append((short_summary, offset, len(summary.encoded)))
                on_read(summary)

            try:
                for summary in self._read(parts):
                    add_summary(summary)
            except stop_exceptions as reason:
                stop_exception = reason
                unread_summaries = chain(self._ready, chain.from_iterable(self._reading.completed_results()))
                for summary in unread_summaries:
                    add_summary(summary)
                # Don't wait for the batches that are still running.
                self._executor.shutdown(cancel_futures=True)
            documents = (_bytes_at(file, offset, size) for _, offset, size in summaries)
            executor = None if stop_exception is not None or not self.has_started else self._executor
            evidence = Evidence.from_arks(whole_arks, frozenset(repeated_arks), declared=self._declared)
            values = decided_documents(documents, evidence, self._render, executor)
            for (summary, _, _), (value, findings) in zip(summaries, values, strict=True):
                yield RenderedDocument(replace(summary, findings=findings), value)
        if stop_exception is not None:
            raise stop_exception

    def _read(self, parts: Iterable[Part]) -> Iterator[DocumentSummary]:
        for batch in self._reading.results(parts, part_weight):
            self._ready.extend(batch)
            while self._ready:
                yield self._ready.popleft()  # before the yield, so that an interrupt can't repeat it


# The second pass.


def decided_documents(
    documents: Iterable[bytes], evidence: Evidence, render: Callable[[Document], R], executor: WorkerExecutor | None
) -> Iterator[Decided[R]]:
    """Decide the doubtful mentions of the encoded *documents* by *evidence*; yield them rendered, in order.

    The processes of *executor* decide; without an executor, this process does.
    """
    decide_batch = partial(_render_batch, evidence=evidence, render=render)
    document_batches = batches(documents, len)
    if executor is None:
        return chain.from_iterable(map(decide_batch, document_batches))
    executor.share(_EVIDENCE, evidence)
    return chain.from_iterable(run_batches(executor, BatchDecision(render), document_batches, decide_batch))


@dataclass(frozen=True, slots=True)
class BatchDecision(Generic[R]):
    """Decides and renders encoded documents in a worker process, by the evidence that all processes share."""

    render: Callable[[Document], R]

    @property
    def returns(self) -> Any:
        """The return type of a call, for `extractors.processes.codec`."""
        return list[tuple[result_type(self.render), tuple[Finding, ...]]]  # type: ignore[misc]

    def __call__(self, documents: Sequence[bytes]) -> list[Decided[R]]:
        """Return, for each of the encoded *documents*, the result of `render` for the decided document, and its findings."""
        return _render_batch(documents, shared_value(_EVIDENCE), self.render)


def _render_batch(documents: Sequence[bytes], evidence: Evidence, render: Callable[[Document], R]) -> list[Decided[R]]:
    decided_documents = []
    for encoded_document in documents:
        document, budget = from_json(encoded_document, Document).decide(evidence), TimeBudget(DECIDING_CPU_S)
        with use_evidence(evidence), use_budget(budget):  # for the suggestions in its rows
            value = render(document)
        decided_documents.append((value, tuple(dict.fromkeys((*document.findings, *budget.findings)))))
    return decided_documents


def _bytes_at(file: IO[bytes], offset: int, size: int) -> bytes:
    file.seek(offset)
    return file.read(size)


# The Python interface: the documents in a path, in bytes or in an open file.

#: A source for `extract`: a path, the bytes of a document, or an open binary file.
Source = str | os.PathLike[str] | bytes | BinaryIO


def extract(
    source: Source | Iterable[Source],
    *,
    name: str = STANDARD_INPUT,
    media_type: str | None = None,
    charset: str | None = None,
    together: bool = False,
) -> Iterator[Document]:
    """Return an iterator over the documents in *source*, each read when it is requested.

    A folder gives all files in it, and an archive (ZIP, TAR, WARC …) all documents in it, in a fixed order. The format
    is recognized by content. Documents that may crash a parser are read in a separate process.

    Args:
        source: a path, bytes, an open binary file that can seek, or several of these.
        name: the name of bytes and of open files; its suffix may show their format.
        media_type: the media type of bytes, if known, such as ``text/html``.
        charset: the character set of bytes, if known.
        together: read all documents first, and decide doubtful mentions by the ARKs that are whole in any of them, as
            the command does. Otherwise each document is decided alone.

    Raises:
        SourceUnreadable: if a path doesn't exist, or *source* is a URL (`arkaudit extract` fetches those). Any other
            problem becomes a finding of a document.

    >>> [str(mention.ark) for mention in next(extract(b'<a href="/ark:/12148/btv1b84">scan</a>')).mentions]
    ['ark:12148/btv1b84']
    """
    is_single = isinstance(source, str | os.PathLike | bytes) or hasattr(source, "read")
    sources = cast("list[Source]", [source] if is_single else [*cast("Iterable[Source]", source)])
    paths_and_streams = [_path_or_stream(item) for item in sources]  # eager, so that a mistake is raised at once
    documents = _documents_at(paths_and_streams, name, media_type, charset)
    return _decided_documents(documents) if together else documents


def _decided_documents(documents: Iterable[Document]) -> Iterator[Document]:
    with TwoPasses(_same_document, jobs=1) as passes:
        for rendered_document in passes.results(documents):
            yield rendered_document.value


def _same_document(document: Document) -> Document:
    return document


def _path_or_stream(source: Source) -> Path | BinaryIO:
    """Return the path or stream of *source*. Raises `SourceUnreadable` as `extract`."""
    if isinstance(source, bytes):
        return io.BytesIO(source)
    if not isinstance(source, str | os.PathLike):
        return source
    if isinstance(source, str) and is_web_url(source):
        raise SourceUnreadable(f"URLs are fetched only by `arkaudit extract`: {source!r}")
    path = Path(source)
    if not str(source).strip() or not path_exists(path):
        raise SourceUnreadable(f"no such file or folder: {str(source)!r}")
    return path


def _documents_at(
    sources: Iterable[Path | BinaryIO], name: str, media_type: str | None, charset: str | None
) -> Iterator[Document]:
    """Yield the documents in *sources*, read in a process; *media_type* and *charset* are for open files only."""
    with document_worker() as worker:
        for source in sources:
            for part in _parts_of(source, name):
                if isinstance(part, Document):
                    yield part
                    continue
                if not isinstance(source, Path) and part.name == name:  # not a member with a type of its own
                    part = replace(part, media_type=media_type, charset=charset)
                yield Document.from_extraction(part.name, read_member(worker, part, with_links=False))


def _parts_of(source: Path | BinaryIO, name: str) -> Iterator[ArchiveMember | Document]:
    """Yield the documents in a file, a folder or an open file, unread.

    If a folder has files that are skipped, a `Document` for the folder itself has a finding about them.
    """
    if not isinstance(source, Path):
        yield from documents_in(source, name, path=name)
    elif is_folder(source):
        hidden_paths: list[str] = []
        for path in sorted(files_in(source, hidden_paths)):
            yield from documents_in_file(path)
        if hidden_paths:
            yield Document(document_name(source), (), (hidden_finding(hidden_paths),), is_folder=True)
    else:
        yield from documents_in_file(source)
