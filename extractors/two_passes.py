"""Many documents on all cores: each is read, and then decided once more on what is whole in any of them.

Both passes go through an executor, in batches, and give their results in the order of the documents, so that these are
the same for every number of processes. The first pass keeps each document as plain data in a temporary file; the second
decides it, and makes of it whatever the caller wants (*render*), also in the other process.
"""

from __future__ import annotations

import io
import os
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
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
    whole_arks,
)
from extractors.extraction import Extraction
from extractors.isolated import (
    BATCH_BYTES,
    BATCH_DOCUMENTS,
    BatchReading,
    batches,
    document_executor,
    document_worker,
    extraction_in_time,
    extraction_of_member,
    extraction_of_short_text,
    failed_extraction,
    inline_extraction,
    may_stay_inline,
    part_weight,
    read_member,
    worked_ahead,
)
from extractors.model.ark import Ark
from extractors.model.documents import Finding
from extractors.model.errors import SourceUnreadable
from extractors.processes.codec import decoded, encoded, result_type
from extractors.processes.worker import WorkerError, WorkerExecutor, shared
from extractors.wraps.evidence import Evidence

R = TypeVar("R")
S = TypeVar("S")

_WHOLE = "whole ARKs"

#: A document that is to be read, or what else is said of a file.
Part = ArchiveMember | Document
#: Makes something of a part and of what was read of it, if that is a document; a function of a module.
Make = Callable[[Part, Extraction | None], S]
#: What was made of a document that was decided, and its findings since.
Decided = tuple[R, tuple[Finding, ...]]


# The first pass.


def parts_reading(
    executor: WorkerExecutor, make: Make[S], read: Callable[[Sequence[Part]], list[S]] | None = None
) -> BatchReading[Part, S]:
    """Return what reads parts in batches and gives what *make* makes of each.

    What is short, or no document, is read here. *read* takes the place of what reads a batch in another process.
    """

    def read_here(part: Part) -> S | None:
        if isinstance(part, Document):
            return make(part, None)
        extraction = extraction_of_short_text(part)
        return None if extraction is None else make(part, extraction)

    def read_little(part: Part) -> S | None:
        if isinstance(part, Document):
            return make(part, None)
        extraction = inline_extraction(part, with_links=False)
        return None if extraction is None else make(part, extraction)

    def failed(part: Part, failure: WorkerError) -> S:
        if isinstance(part, Document):
            return make(part, None)
        extraction = failed_extraction(failure, part.media_type)
        return make(part, extraction_of_member(extraction, part))

    return BatchReading(
        executor, read or BatchRead(make), failed, stays_here=_is_little, read_little=read_little, read_here=read_here
    )


def _is_little(batch: Sequence[Part]) -> bool:
    """Return whether a batch is not worth a process: it is not full, and has nothing but short texts and pages."""
    if sum(map(part_weight, batch)) >= BATCH_BYTES or len(batch) >= BATCH_DOCUMENTS:
        return False
    return all(isinstance(part, Document) or may_stay_inline(part) for part in batch)


@dataclass(frozen=True, slots=True)
class BatchRead(Generic[S]):
    """Reads each of some parts without its links, in the time that a document has, and gives what *make* makes of it."""

    make: Make[S]

    @property
    def returns(self) -> Any:
        """The type of what it returns (`extractors.processes.codec.result_type`)."""
        return list[result_type(self.make)]  # type: ignore[misc]

    def __call__(self, parts: Sequence[Part]) -> list[S]:
        """Return what is made of each of *parts*; of what takes too long, as far as it was read."""
        return [
            self.make(part, None if isinstance(part, Document) else extraction_in_time(part, with_links=False))
            for part in parts
        ]


def document_of(part: Part, extraction: Extraction | None) -> Document:
    """Return the document that *part* is, or that was read of it."""
    if isinstance(part, Document):
        return part
    assert extraction is not None
    return Document.of(part.name, extraction)


@dataclass(frozen=True, slots=True)
class DocumentSummary:
    """A document that was read, without its mentions: those are in *encoded*."""

    name: str
    findings: Sequence[Finding]
    mentions: int
    is_unreadable: bool
    is_read_in_part: bool
    is_folder: bool
    whole: frozenset[Ark]
    """Its ARKs about which nothing had to be decided."""
    encoded: bytes
    """The document as plain data (`extractors.processes.codec`)."""


def summary_of(part: Part, extraction: Extraction | None) -> DocumentSummary:
    """Return the summary of the document that *part* is, or that was read of it."""
    document = document_of(part, extraction)
    return DocumentSummary(
        document.name,
        document.findings,
        len(document.mentions),
        document.is_unreadable,
        document.is_read_in_part,
        document.is_folder,
        frozenset(whole_arks(document)),
        encoded(document),
    )


@dataclass(frozen=True, slots=True)
class Rendered(Generic[R]):
    """A document, and what was made of it when it had been decided."""

    summary: DocumentSummary
    """Without its whole ARKs and its encoded mentions."""
    value: R


class TwoPasses(Generic[R]):
    """Reads documents in so many processes (*jobs*), and gives what *render*, a function of a module, makes of each.

    >>> member = ArchiveMember("a.txt", "a.txt", b"see ark:/12148/bpt6k107371t")
    >>> with TwoPasses(repr, jobs=2) as passes:
    ...     [each.value for each in passes.of([member])]
    ["<Document 'a.txt': 1 mentions, 0 findings>"]
    """

    def __init__(
        self,
        render: Callable[[Document], R],
        *,
        jobs: int,
        read: Callable[[Sequence[Part]], list[DocumentSummary]] | None = None,
    ) -> None:
        self._render = render
        self._executor = document_executor(jobs)
        self._reading = parts_reading(self._executor, summary_of, read)
        self._ready: deque[DocumentSummary] = deque()

    def __enter__(self) -> Self:
        return self

    @property
    def has_started(self) -> bool:
        """True if there was so much to read that other processes were started."""
        return self._reading.has_started

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown(cancel_futures=True)

    def of(
        self,
        parts: Iterable[Part],
        *,
        ends_at: tuple[type[BaseException], ...] = (),
        on_read: Callable[[DocumentSummary], None] = lambda summary: None,
    ) -> Iterator[Rendered[R]]:
        """Give each of *parts*, in their order, when all were read; *on_read* is called for each before.

        An exception of *ends_at* ends the reading: what was read until then is given, and then the exception is raised.
        """
        whole: set[Ark] = set()
        read: list[tuple[DocumentSummary, int, int]] = []
        end: BaseException | None = None
        with tempfile.TemporaryFile() as kept:

            def keep(summary: DocumentSummary) -> None:
                at = kept.seek(0, os.SEEK_END)
                kept.write(summary.encoded)
                whole.update(summary.whole)
                bare = replace(summary, whole=frozenset(), encoded=b"")
                read.append((bare, at, len(summary.encoded)))
                on_read(summary)

            try:
                for summary in self._read(parts):
                    keep(summary)
            except ends_at as reason:
                end = reason
                not_given = chain(self._ready, chain.from_iterable(self._reading.finished()))
                for summary in not_given:
                    keep(summary)
                # what is under way there is not waited for
                self._executor.shutdown(cancel_futures=True)
            documents = batches((_at(kept, at, size) for _, at, size in read), len)
            is_here = end is not None or not self.has_started
            values = self._decided(documents, frozenset(whole), is_here=is_here)
            for (summary, _, _), (value, findings) in zip(read, values, strict=True):
                yield Rendered(replace(summary, findings=findings), value)
        if end is not None:
            raise end

    def _read(self, parts: Iterable[Part]) -> Iterator[DocumentSummary]:
        for summaries in self._reading.results(parts, part_weight):
            self._ready.extend(summaries)
            while self._ready:
                yield self._ready.popleft()  # not later, so that none is given twice

    def _decided(self, batched: Iterable[list[bytes]], whole: frozenset[Ark], *, is_here: bool) -> Iterator[Decided[R]]:
        def here(batch: list[bytes]) -> list[Decided[R]]:
            return _rendered(batch, whole, self._render)

        if is_here:
            yield from chain.from_iterable(map(here, batched))
            return
        self._executor.share(_WHOLE, whole)
        decided = worked_ahead(self._executor, BatchDecision(self._render), batched, here)
        yield from chain.from_iterable(decided)


# The second pass.


@dataclass(frozen=True, slots=True)
class BatchDecision(Generic[R]):
    """Decides encoded documents in another process, on the ARKs that all processes share, and renders them there."""

    render: Callable[[Document], R]

    @property
    def returns(self) -> Any:
        """The type of what it returns (`extractors.processes.codec.result_type`)."""
        return list[tuple[result_type(self.render), tuple[Finding, ...]]]  # type: ignore[misc]

    def __call__(self, documents: Sequence[bytes]) -> list[Decided[R]]:
        """Return what is made of each of *documents*."""
        return _rendered(documents, shared(_WHOLE), self.render)


def _rendered(documents: Sequence[bytes], whole: frozenset[Ark], render: Callable[[Document], R]) -> list[Decided[R]]:
    evidence = _evidence(whole)
    all_decided = (decoded(document, Document).decided_on(evidence) for document in documents)
    return [(render(document), tuple(document.findings)) for document in all_decided]


@lru_cache(maxsize=1)
def _evidence(whole: frozenset[Ark]) -> Evidence:
    """Return the evidence that *whole* ARKs give, made once in each process."""
    return Evidence.of(whole)


def _at(kept: IO[bytes], at: int, size: int) -> bytes:
    kept.seek(at)
    return kept.read(size)


# For programs: what is in a path, in bytes or in an open file.

#: What `extract` reads: a path, the bytes of a document, or an open file that gives bytes.
Source = str | os.PathLike[str] | bytes | BinaryIO


def extract(
    source: Source | Iterable[Source],
    *,
    name: str = STANDARD_INPUT,
    media_type: str | None = None,
    charset: str | None = None,
    together: bool = False,
) -> Iterator[Document]:
    """Return the documents in *source*, one by one, each read when it is asked for.

    A folder represents all files in it, an archive (ZIP, TAR, WARC …) for all documents in it, in a fixed order. The
    format is recognized by content. What may crash a parser is read in a process of its own.

    Args:
        source: a path, bytes, an open binary file that can seek, or several of these.
        name: the name of bytes and of open files; its ending may show their format.
        media_type: what is known of the format of bytes, as ``text/html``.
        charset: what is known of the character set of bytes.
        together: read all documents first, and decide what is doubtful in one on what is whole in any of them, as
            the command does. Otherwise each document is decided by itself.

    Raises:
        SourceUnreadable: when a path names nothing, or *source* is a URL (`arkaudit extract` fetches those). Anything
            else that goes wrong is among the findings of a document.

    >>> [str(mention.ark) for mention in next(extract(b'<a href="/ark:/12148/btv1b84">scan</a>')).mentions]
    ['ark:12148/btv1b84']
    """
    is_one = isinstance(source, str | os.PathLike | bytes) or hasattr(source, "read")
    sources = cast("list[Source]", [source] if is_one else [*cast("Iterable[Source]", source)])
    places = [_place(item) for item in sources]  # a mistake is raised at once, not when the first document is wanted
    documents = _documents_at(places, name, media_type, charset)
    return _decided_together(documents) if together else documents


def _decided_together(documents: Iterable[Document]) -> Iterator[Document]:
    with TwoPasses(_itself, jobs=1) as passes:
        for decided in passes.of(documents):
            yield decided.value


def _itself(document: Document) -> Document:
    return document


def _place(source: Source) -> Path | BinaryIO:
    """The path or stream that *source* names."""
    if isinstance(source, bytes):
        return io.BytesIO(source)
    if not isinstance(source, str | os.PathLike):
        return source
    if isinstance(source, str) and source.lower().startswith(("http://", "https://")):
        raise SourceUnreadable(f"a URL is not fetched here, but by `arkaudit extract`: {source!r}")
    path = Path(source)
    if not str(source).strip() or not path.exists():
        raise SourceUnreadable(f"no such file or folder: {str(source)!r}")
    return path


def _documents_at(
    places: Iterable[Path | BinaryIO], name: str, media_type: str | None, charset: str | None
) -> Iterator[Document]:
    with document_worker() as worker:
        for source in places:
            for part in _parts_of(source, name):
                if isinstance(part, Document):
                    yield part
                    continue
                if not isinstance(source, Path) and part.name == name:  # which nothing else says anything of
                    part = replace(part, media_type=media_type, charset=charset)
                yield Document.of(part.name, read_member(worker, part, with_links=False))


def _parts_of(source: Path | BinaryIO, name: str) -> Iterator[ArchiveMember | Document]:
    if not isinstance(source, Path):
        yield from documents_in(source, name, path=name)
    elif source.is_dir():
        hidden: list[str] = []
        for path in sorted(files_in(source, hidden)):
            yield from documents_in_file(path)
        if hidden:
            yield Document(document_name(source), (), (hidden_finding(hidden),), is_folder=True)
    else:
        yield from documents_in_file(source)
