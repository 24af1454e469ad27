"""Many documents on all cores: each is read, and then decided once more on what stands whole in any of them.

Both passes go through an executor, in batches, and give their results in the order of the documents, so that these are
the same for every number of processes. The first pass keeps each document pickled in a temporary file; the second one
decides it, and makes of it whatever the caller wants (*render*), also in the other process.
"""

from __future__ import annotations

import os
import pickle
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import IO, Generic, Self, TypeVar

from extractors.archives.members import ArchiveMember
from extractors.ark import Ark
from extractors.document_model import Finding
from extractors.documents import Document, whole_arks
from extractors.extraction import extract_in_time
from extractors.isolated import (
    PARSING_BYTES,
    PARSING_CPU_S,
    PARSING_S,
    READING_CPU_S,
    extraction_of_member,
    failed_extraction,
    may_stay_inline,
)
from extractors.worker import WorkerError
from extractors.worker_executor import WorkerExecutor, shared
from extractors.wraps.evidence import Evidence

R = TypeVar("R")
T = TypeVar("T")

#: A batch is full with so many bytes, or documents; a PDF takes about so many times longer than a text.
_BATCH_BYTES = 2**18
_BATCH_DOCUMENTS = 64
_PDF_WEIGHT = 16
#: So many batches a process are under way at most: one that is read, and some that wait.
_AHEAD = 3
_WHOLE = "whole ARKs"

Part = ArchiveMember | Document


@dataclass(frozen=True, slots=True)
class DocumentSummary:
    """A document that was read, without its mentions: those are in *pickled*."""

    name: str
    findings: Sequence[Finding]
    mentions: int
    is_unreadable: bool
    is_folder: bool
    whole: frozenset[Ark]
    """Its ARKs about which nothing had to be decided."""
    pickled: bytes

    @classmethod
    def of(cls, document: Document) -> DocumentSummary:
        """Return the summary of *document*."""
        return cls(
            document.name,
            document.findings,
            len(document.mentions),
            document.is_unreadable,
            document.is_folder,
            frozenset(whole_arks(document)),
            pickle.dumps(document),
        )


@dataclass(frozen=True, slots=True)
class Rendered(Generic[R]):
    """A document, and what was made of it when it had been decided."""

    summary: DocumentSummary
    """Without what was pickled, and without its whole ARKs."""
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
        self._read_batch = read or read_batch
        self._executor = WorkerExecutor(jobs, timeout_s=PARSING_S, cpu_s=PARSING_CPU_S, memory_bytes=PARSING_BYTES)
        self._is_inline = True
        """Whether so little was read that no process was started for it."""
        self._ahead: deque[tuple[list[Part], Future[list[DocumentSummary]] | None]] = deque()
        self._ready: deque[DocumentSummary] = deque()
        self._evidence: Evidence | None = None

    def __enter__(self) -> Self:
        return self

    @property
    def has_started(self) -> bool:
        """True if there was so much to read that other processes were started."""
        return not self._is_inline

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
                kept.write(summary.pickled)
                whole.update(summary.whole)
                read.append((replace(summary, whole=frozenset(), pickled=b""), at, len(summary.pickled)))
                on_read(summary)

            try:
                for summary in self._read(parts):
                    keep(summary)
            except ends_at as reason:
                end = reason
                for summary in self._read_already():
                    keep(summary)
                self._executor.shutdown(cancel_futures=True)  # what is under way there is not waited for
                self._is_inline = True
            pickles = (_at(kept, at, size) for _, at, size in read)
            values = self._decided(pickles, frozenset(whole))
            for (summary, _, _), value in zip(read, values, strict=True):
                yield Rendered(summary, value)
        if end is not None:
            raise end

    # -- the first pass

    def _read(self, parts: Iterable[Part]) -> Iterator[DocumentSummary]:
        ahead = self._ahead
        for batch in _batches(parts, _weight):
            ahead.append((batch, self._begun(batch)))
            while ahead and (len(ahead) > self._executor.jobs * _AHEAD or _is_done(ahead[0][1])):
                yield from self._next()
        while ahead:
            yield from self._next()

    def _next(self) -> Iterator[DocumentSummary]:
        """The summaries of the batch that is next; each leaves `_ready` as it is given, so that none is given twice."""
        self._ready.extend(self._summaries(*self._ahead[0]))
        self._ahead.popleft()
        while self._ready:
            yield self._ready.popleft()

    def _read_already(self) -> Iterator[DocumentSummary]:
        """The summaries that are there, and were not given yet, when the reading has been interrupted."""
        yield from self._ready
        for _, begun in self._ahead:
            if begun is None or not begun.done() or begun.exception() is not None:
                return
            yield from begun.result()

    def _begun(self, batch: list[Part]) -> Future[list[DocumentSummary]] | None:
        """The reading of a batch in another process; None where it is not worth one."""
        members = [part for part in batch if isinstance(part, ArchiveMember)]
        is_little = self._is_inline and sum(map(_weight, batch)) < _BATCH_BYTES and len(batch) < _BATCH_DOCUMENTS
        if not members or (is_little and all(may_stay_inline(each) for each in members)):
            return None
        self._is_inline = False
        return self._executor.submit(self._read_batch, batch)

    def _summaries(self, batch: list[Part], begun: Future[list[DocumentSummary]] | None) -> list[DocumentSummary]:
        """The summaries of a batch. Where a process ended over it, each of its parts is read in one of its own."""
        if begun is None:
            return read_batch(batch)
        try:
            return begun.result()
        except WorkerError as failure:
            match batch:
                case [ArchiveMember() as member]:
                    extraction = failed_extraction(failure, member.media_type)
                    return [DocumentSummary.of(Document.of(member.name, extraction_of_member(extraction, member)))]
                case [part]:
                    return read_batch([part])
        each_alone = [([part], self._begun_alone(part)) for part in batch]
        return [summary for part, reading in each_alone for summary in self._summaries(part, reading)]

    def _begun_alone(self, part: Part) -> Future[list[DocumentSummary]]:
        return self._executor.submit(self._read_batch, [part])

    # -- the second pass

    def _decided(self, pickles: Iterator[bytes], whole: frozenset[Ark]) -> Iterator[R]:
        if self._is_inline:
            for batch in _batches(pickles, len):
                yield from self._decided_here(batch, whole)
            return
        self._executor.share(_WHOLE, whole)
        ahead: deque[tuple[list[bytes], Future[list[R]]]] = deque()
        for batch in _batches(pickles, len):
            ahead.append((batch, self._executor.submit(decide_batch, batch, self._render)))
            if len(ahead) > self._executor.jobs * _AHEAD:
                yield from self._values(*ahead.popleft(), whole)
        while ahead:
            yield from self._values(*ahead.popleft(), whole)

    def _values(self, batch: list[bytes], decided: Future[list[R]], whole: frozenset[Ark]) -> list[R]:
        try:
            return decided.result()
        except WorkerError:  # there is nothing in it that could crash; a kill from outside must cost no row
            return self._decided_here(batch, whole)

    def _decided_here(self, batch: list[bytes], whole: frozenset[Ark]) -> list[R]:
        self._evidence = self._evidence or Evidence.of(whole)
        return _rendered(batch, self._evidence, self._render)


def read_batch(parts: Sequence[Part]) -> list[DocumentSummary]:
    """Return the summary of each of *parts*; a document that takes too long is read as far as it was."""
    return [DocumentSummary.of(part if isinstance(part, Document) else _document(part)) for part in parts]


def _document(member: ArchiveMember) -> Document:
    extraction = extract_in_time(
        member.data, cpu_s=READING_CPU_S, media_type=member.media_type, name=member.path, charset=member.charset
    )
    return Document.of(member.name, extraction_of_member(extraction, member))


#: The evidence of the ARKs that this process shares, made once.
_made: dict[frozenset[Ark], Evidence] = {}


def decide_batch(pickles: Sequence[bytes], render: Callable[[Document], R]) -> list[R]:
    """Return what *render* makes of pickled documents, decided on the ARKs that all processes share."""
    whole = shared(_WHOLE)
    if whole not in _made:
        _made.clear()
        _made[whole] = Evidence.of(whole)
    return _rendered(pickles, _made[whole], render)


def _rendered(pickles: Sequence[bytes], evidence: Evidence, render: Callable[[Document], R]) -> list[R]:
    return [render(pickle.loads(each).decided_on(evidence)) for each in pickles]


def _batches(items: Iterable[T], weight: Callable[[T], int]) -> Iterator[list[T]]:
    """Return *items* in lists that are full, but for the last one."""
    batch: list[T] = []
    total = 0
    for item in items:
        batch.append(item)
        total += weight(item)
        if total >= _BATCH_BYTES or len(batch) >= _BATCH_DOCUMENTS:
            yield batch
            batch, total = [], 0
    if batch:
        yield batch


def _weight(part: Part) -> int:
    if isinstance(part, Document):
        return 0
    return len(part.data) * (_PDF_WEIGHT if b"%PDF-" in part.data[:1024] else 1)


def _is_done(future: Future[R] | None) -> bool:
    return future is None or future.done()


def _at(kept: IO[bytes], at: int, size: int) -> bytes:
    kept.seek(at)
    return kept.read(size)
