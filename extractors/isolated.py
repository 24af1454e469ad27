"""Extraction in processes that can be killed: a parser that crashes, hangs or takes all memory costs one document."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import Any, Generic, TypeVar

from extractors.archives.members import ArchiveMember
from extractors.extraction import (
    Extraction,
    doubted_where_cut,
    extract_in_time,
    extraction_without_arks,
    is_cut,
    read_short_text,
)
from extractors.model.documents import Finding, Reading
from extractors.model.formats import Format, format_of, package_format
from extractors.processes.worker import (
    Worker,
    WorkerDied,
    WorkerError,
    WorkerExecutor,
    WorkerFailed,
    WorkerKilled,
    WorkerOutOfMemory,
    WorkerTimeout,
)

#: The CPU time in which a document is read and searched; what was found until then is kept.
READING_CPU_S = 60.0
#: The CPU time after which a parser is killed that doesn't come to the end of a step, and nothing is kept. Bombs use
#: all of it, so it is also what they cost.
PARSING_CPU_S = 120
#: The same by the clock, for a parser that waits for ever: so long that a busy machine can't come near it.
PARSING_S = 1800.0
PARSING_BYTES = 2**30

#: The finding about a document whose parser was killed from outside, and killed again.
KILLED = "parser-killed"
#: What a document did to its parser, as a finding about the document.
_FAILURES: tuple[tuple[type[WorkerError], str], ...] = (
    (WorkerKilled, KILLED),
    (WorkerDied, "parser-crashed"),
    (WorkerTimeout, "parser-timeout"),
    (WorkerOutOfMemory, "parser-out-of-memory"),
    (WorkerError, "unreadable"),
)
#: Formats that are read step by step, in time and memory that the size bounds. Any other may hold more than it seems to:
#: packed parts, entities, strings that many cells show.
_INLINE_FORMATS = frozenset({Format.PLAIN, Format.HTML})
#: Larger documents, and those of other formats, are parsed in a process that can be killed.
INLINE_BYTES = 2**16
#: The CPU time for a document that is read without one; what takes longer is read again in a process that can be killed.
INLINE_CPU_S = 1.0

#: The process that parses what might crash or hang its parser.
DocumentWorker = Worker[..., Extraction]


def document_worker() -> DocumentWorker:
    """Return the process that parses what might crash or hang its parser; it starts with the first such document."""
    reading = partial(extract_in_time, cpu_s=READING_CPU_S)
    return Worker(reading, timeout_s=PARSING_S, cpu_s=PARSING_CPU_S, memory_bytes=PARSING_BYTES)


def document_executor(jobs: int) -> WorkerExecutor:
    """Return so many processes of the same kind, as an executor; each starts when it is needed."""
    return WorkerExecutor(jobs, timeout_s=PARSING_S, cpu_s=PARSING_CPU_S, memory_bytes=PARSING_BYTES)


def read_member(worker: DocumentWorker, member: ArchiveMember, *, with_links: bool = True) -> Extraction:
    """Return the extraction of *member*; all but a small text or page is parsed in *worker*.

    That the worker died, or took too much time or memory, is a finding about the document, and so are the findings of
    its archive.
    """
    here = inline_extraction(member, with_links=with_links)
    if here is not None:
        return here
    try:
        extraction = worker.call(member.data, with_links=with_links, **_labels(member))
    except WorkerError as failure:
        extraction = failed_extraction(failure, member.media_type)
    return extraction_of_member(extraction, member)


def extraction_in_time(member: ArchiveMember, *, with_links: bool = True) -> Extraction:
    """Return the extraction of *member* in this process, as far as it comes in the time that a document has."""
    return _extraction_within(READING_CPU_S, member, with_links=with_links)


def inline_extraction(member: ArchiveMember, *, with_links: bool = True) -> Extraction | None:
    """Return the extraction of a small *member* in this process; None if it is to be read in one that can be killed."""
    if not may_stay_inline(member):
        return None
    extraction = _extraction_within(INLINE_CPU_S, member, with_links=with_links)
    is_unfinished = any(finding.kind == "time-limit" for finding in extraction.findings)
    return None if is_unfinished else extraction


def _extraction_within(cpu_s: float, member: ArchiveMember, *, with_links: bool) -> Extraction:
    """Return the extraction of *member* as far as it comes in so much time; a failure is a finding about it."""
    try:
        extraction = extract_in_time(member.data, cpu_s=cpu_s, with_links=with_links, **_labels(member))
    except MemoryError:  # says something about this process, nothing about the document
        raise
    except Exception as failure:
        failed = WorkerFailed(type(failure).__name__, str(failure))
        extraction = failed_extraction(failed, member.media_type)
    return extraction_of_member(extraction, member)


def _labels(member: ArchiveMember) -> dict[str, Any]:
    """What is said of the format of *member*."""
    return {"media_type": member.media_type, "name": member.path, "charset": member.charset}


def extraction_of_short_text(member: ArchiveMember) -> Extraction | None:
    """Return the extraction of *member*, if it is a short text that surely cites no ARK; None otherwise.

    For this process: to send it to another one would take longer. It is only decoded and looked at, without a parser
    or a search, which could hang, and it is so short that no look takes long.
    """
    if len(member.data) > INLINE_BYTES:
        return None
    reading = read_short_text(member.data, **_labels(member))
    extraction = extraction_without_arks(reading) if reading is not None else None
    return None if extraction is None else extraction_of_member(extraction, member)


def extraction_of_member(extraction: Extraction, member: ArchiveMember) -> Extraction:
    """Return *extraction* with the findings that its archive has about *member*."""
    if not member.findings:
        return extraction
    findings = (*extraction.reading.findings, *member.findings)
    if is_cut(member.findings):
        extraction = doubted_where_cut(extraction, member.data)
    return replace(extraction, reading=replace(extraction.reading, findings=findings))


def may_stay_inline(member: ArchiveMember) -> bool:
    """Return whether *member* is so small, and of such a format, that it can be parsed without a process of its own."""
    return (
        len(member.data) <= INLINE_BYTES
        and not package_format(member.data)
        and format_of(member.data, **_labels(member)) in _INLINE_FORMATS
    )


def failed_extraction(failure: WorkerError, media_type: str | None) -> Extraction:
    """Return the extraction of a document whose process ended: nothing, and a finding that says how."""
    kind = next(kind for failed, kind in _FAILURES if isinstance(failure, failed))
    reading = Reading(media_type or "", findings=(Finding(kind, str(failure)),))
    return Extraction(reading, ())


# Documents in batches, which several processes read; results come in the order of the documents.

T = TypeVar("T")
S = TypeVar("S")

#: A batch is full with so many bytes, or documents; a PDF takes about so many times longer than a text.
BATCH_BYTES = 2**18
BATCH_DOCUMENTS = 64
_PDF_WEIGHT = 16
#: So many batches a process are under way at most: one that is read, and some that wait.
AHEAD = 3


class BatchReading(Generic[T, S]):
    """Reads what it is given in batches (*read*, a function of a module), in the processes of an executor.

    A process that ends over a batch costs nothing: each of its documents is read alone then, and *failed* makes the
    result of one over which a process ends again. Where *stays_here* says so of a first and only batch, no process is
    started for what *read_little* has a result of. What *read_here* has a result of is not sent anywhere.
    """

    def __init__(
        self,
        executor: WorkerExecutor,
        read: Callable[[Sequence[T]], list[S]],
        failed: Callable[[T, WorkerError], S],
        *,
        stays_here: Callable[[Sequence[T]], bool] = lambda batch: False,
        read_little: Callable[[T], S | None] = lambda item: None,
        read_here: Callable[[T], S | None] = lambda item: None,
    ) -> None:
        self._executor = executor
        self._read = read
        self._failed = failed
        self._stays_here = stays_here
        self._read_little = read_little
        self._read_here = read_here
        self.has_started = False
        """Whether other processes were asked."""
        self._ahead: deque[tuple[list[S | None], list[T], Future[list[S]] | None]] = deque()
        """Of each batch under way what was had here, what is left to be read, and the reading of that if it was begun."""

    def results(self, items: Iterable[T], weight: Callable[[T], int]) -> Iterator[list[S]]:
        """Give the results of *items*, batch by batch, in their order."""
        for some in batches(items, weight):
            here = [self._read_here(item) for item in some]
            left = [item for item, result in zip(some, here, strict=True) if result is None]
            begun = None
            if left and (self.has_started or not self._stays_here(some)):
                self.has_started = True
                begun = self._executor.submit(self._read, left)
            self._ahead.append((here, left, begun))
            while self._ahead and (len(self._ahead) > self._executor.jobs * AHEAD or self._is_done()):
                yield self._next()
        while self._ahead:
            yield self._next()

    def finished(self) -> Iterator[list[S]]:
        """Give the results that are there, and were not given yet, when the reading has been interrupted."""
        for here, left, begun in self._ahead:
            if left and (begun is None or not begun.done() or begun.exception() is not None):
                return
            yield _in_order(here, begun.result() if begun is not None else [])

    def _is_done(self) -> bool:
        """Return whether the results of the first batch are there, or are made when they are asked for."""
        begun = self._ahead[0][2]
        return begun is None or begun.done()

    def _next(self) -> list[S]:
        here, left, begun = self._ahead[0]
        results = _in_order(here, self._results(left, begun))
        self._ahead.popleft()  # not before: an interrupt must not lose it
        return results

    def _results(self, items: list[T], begun: Future[list[S]] | None) -> list[S]:
        if begun is None:
            return [result for item in items for result in self._little(item)]
        try:
            return begun.result()
        except WorkerError as failure:
            if len(items) == 1:
                return [self._failed(items[0], failure)]
        alone = [([item], self._executor.submit(self._read, [item])) for item in items]
        return [result for item, reading in alone for result in self._results(item, reading)]

    def _little(self, item: T) -> list[S]:
        result = self._read_little(item)
        if result is not None:
            return [result]
        self.has_started = True
        return self._results([item], self._executor.submit(self._read, [item]))


def _in_order(here: Iterable[S | None], of_left: Iterable[S]) -> list[S]:
    """Return all results of a batch: those that were had *here*, and those of what was left in their places."""
    following = iter(of_left)
    return [next(following) if result is None else result for result in here]


def worked_ahead(
    executor: WorkerExecutor, work: Callable[[list[T]], S], batched: Iterable[list[T]], here: Callable[[list[T]], S]
) -> Iterator[S]:
    """Give what *work* returns of each batch in a process of *executor*, in their order, several under way at a time.

    Where a process is killed over one, *here* does it: a kill from outside must cost no row.
    """
    ahead: deque[tuple[list[T], Future[S]]] = deque()

    def first() -> S:
        batch, begun = ahead.popleft()
        try:
            return begun.result()
        except (WorkerDied, WorkerOutOfMemory, WorkerTimeout):
            return here(batch)

    for batch in batched:
        ahead.append((batch, executor.submit(work, batch)))
        if len(ahead) > executor.jobs * AHEAD:
            yield first()
    while ahead:
        yield first()


def batches(items: Iterable[T], weight: Callable[[T], int]) -> Iterator[list[T]]:
    """Return *items* in lists that are full, but for the last one.

    >>> [len(batch) for batch in batches(["a"] * 100, len)]
    [64, 36]
    """
    batch: list[T] = []
    total = 0
    for item in items:
        batch.append(item)
        total += weight(item)
        if total >= BATCH_BYTES or len(batch) >= BATCH_DOCUMENTS:
            yield batch
            batch, total = [], 0
    if batch:
        yield batch


def part_weight(part: object) -> int:
    """Return how much work a document is, in bytes of text; anything else is none."""
    if not isinstance(part, ArchiveMember):
        return 0
    return len(part.data) * (_PDF_WEIGHT if b"%PDF-" in part.data[:1024] else 1)
