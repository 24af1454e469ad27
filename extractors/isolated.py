"""Extraction in processes that can be killed: a parser that crashes, hangs or exhausts memory costs one document."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, TypeVar

from extractors.archives.members import ArchiveMember
from extractors.extraction import (
    Extraction,
    doubt_cut_mentions,
    extract_in_time,
    extraction_without_arks,
    is_cut,
    read_short_text,
)
from extractors.model.check_characters import NOTHING_DECLARED, Declared
from extractors.model.documents import Finding, Reading
from extractors.model.formats import Format, format_of, package_format
from extractors.processes.codec import result_type
from extractors.processes.worker import (
    Worker,
    WorkerDied,
    WorkerError,
    WorkerExecutor,
    WorkerKilled,
    WorkerOutOfMemory,
    WorkerTimeout,
)

#: CPU time to read and search a document; mentions found by then are kept.
READING_CPU_S = 60.0
#: CPU time after which a parser that never finishes a step is killed and its results are lost. A decompression bomb
#: costs all of it.
PARSING_CPU_S = 120
#: Wall-clock limit for a parser that waits forever; far above any delay on a busy machine.
PARSING_S = 1800.0
PARSING_BYTES = 2**30

#: The kind of finding about a document whose parser was killed from outside twice.
KILLED = "parser-killed"
#: The kind of finding for each failure of a worker.
_FAILURES: tuple[tuple[type[WorkerError], str], ...] = (
    (WorkerKilled, KILLED),
    (WorkerDied, "parser-crashed"),
    (WorkerTimeout, "parser-timeout"),
    (WorkerOutOfMemory, "parser-out-of-memory"),
    (WorkerError, "unreadable"),
)
#: Formats that are read in time and memory bounded by the size. Other formats may expand: packed parts, entities,
#: shared strings.
_INLINE_FORMATS = frozenset({Format.PLAIN, Format.HTML})
#: Larger documents, and those of other formats, are parsed in a process that can be killed.
INLINE_BYTES = 2**16
#: CPU time for a document read in this process; if it takes longer, it is read again in a process that can be killed.
INLINE_CPU_S = 1.0

#: The process for documents that may crash or hang their parser.
DocumentWorker = Worker[..., Extraction]


def document_worker() -> DocumentWorker:
    """Return a worker for documents that may crash or hang their parser; its process starts with the first call."""
    reading = partial(extract_in_time, cpu_s=READING_CPU_S)
    return Worker(reading, timeout_s=PARSING_S, cpu_s=PARSING_CPU_S, memory_bytes=PARSING_BYTES)


def document_executor(jobs: int) -> WorkerExecutor:
    """Return an executor of at most *jobs* processes for parsing; each starts when it is needed."""
    return WorkerExecutor(jobs, timeout_s=PARSING_S, cpu_s=PARSING_CPU_S, memory_bytes=PARSING_BYTES)


def read_member(worker: DocumentWorker, member: ArchiveMember, *, with_links: bool = True) -> Extraction:
    """Return the extraction of *member*; only small texts and pages are parsed outside *worker*.

    Failures of the worker, and problems with its archive, become findings about the document.
    """
    here = inline_extraction(member, with_links=with_links)
    if here is not None:
        return here
    try:
        extraction = worker.call(member.data, with_links=with_links, **_format_labels(member))
    except WorkerError as failure:
        extraction = failed_extraction(failure, member.media_type)
    return extraction_of_member(extraction, member)


def extraction_in_time(
    member: ArchiveMember, *, with_links: bool = True, declared: Declared = NOTHING_DECLARED
) -> Extraction:
    """Return the extraction of *member* in this process, within the time limit of a document.

    *with_links* and *declared* are those of `extraction_of`.
    """
    return _extraction_within(READING_CPU_S, member, with_links=with_links, declared=declared)


def inline_extraction(
    member: ArchiveMember, *, with_links: bool = True, declared: Declared = NOTHING_DECLARED
) -> Extraction | None:
    """Return the extraction of a small *member* in this process; None if it needs a process that can be killed."""
    if not may_stay_inline(member):
        return None
    extraction = _extraction_within(INLINE_CPU_S, member, with_links=with_links, declared=declared)
    is_unfinished = any(finding.kind == "time-limit" for finding in extraction.findings)
    return None if is_unfinished else extraction


def _extraction_within(cpu_s: float, member: ArchiveMember, *, with_links: bool, declared: Declared) -> Extraction:
    """Return the extraction of *member* within *cpu_s* seconds of CPU time; a failure becomes a finding."""
    try:
        extraction = extract_in_time(
            member.data, cpu_s=cpu_s, **_format_labels(member), with_links=with_links, declared=declared
        )
    except MemoryError:  # about this process, not about the document
        raise
    except Exception as failure:
        failed = WorkerError(f"{type(failure).__name__}: {failure}")
        extraction = failed_extraction(failed, member.media_type)
    return extraction_of_member(extraction, member)


def _format_labels(member: ArchiveMember) -> dict[str, Any]:
    """Return the declared type and name of *member*, as arguments of the readers."""
    return {"media_type": member.media_type, "name": member.path, "charset": member.charset}


def extraction_of_short_text(member: ArchiveMember) -> Extraction | None:
    """Return the extraction of *member* if it is a short text that certainly cites no ARK; None otherwise.

    Sending such a text to another process would take longer. It is only decoded and scanned, without a parser that
    could hang.
    """
    if len(member.data) > INLINE_BYTES:
        return None
    reading = read_short_text(member.data, **_format_labels(member))
    extraction = extraction_without_arks(reading) if reading is not None else None
    return None if extraction is None else extraction_of_member(extraction, member)


def extraction_of_member(extraction: Extraction, member: ArchiveMember) -> Extraction:
    """Return *extraction* with the findings of the archive about *member*."""
    if not member.findings:
        return extraction
    findings = (*extraction.reading.findings, *member.findings)
    if is_cut(member.findings):
        extraction = doubt_cut_mentions(extraction, member.data)
    return replace(extraction, reading=replace(extraction.reading, findings=findings))


def may_stay_inline(member: ArchiveMember) -> bool:
    """Return True if the size and format of *member* allow parsing it in this process."""
    return (
        len(member.data) <= INLINE_BYTES
        and not package_format(member.data)
        and format_of(member.data, **_format_labels(member)) in _INLINE_FORMATS
    )


def failed_extraction(failure: WorkerError, media_type: str | None) -> Extraction:
    """Return an empty extraction with a finding about how the process ended."""
    kind = next(kind for failed, kind in _FAILURES if isinstance(failure, failed))
    reading = Reading(media_type or "", findings=(Finding(kind, str(failure)),))
    return Extraction(reading, ())


# Batches of documents for several processes; results come in the order of the documents.

T = TypeVar("T")
S = TypeVar("S")

#: A module-level function that converts a part and its extraction; None for a part that is no member.
Make = Callable[[Any, Extraction | None], S]

#: The sizes at which a batch is full. A PDF takes about `_PDF_WEIGHT` times longer than a text of its size.
BATCH_BYTES = 2**18
BATCH_DOCUMENTS = 64
_PDF_WEIGHT = 16
#: Batches under way per process at most: one being read, the others waiting.
AHEAD = 3


@dataclass(frozen=True, slots=True)
class ReadMembers(Generic[S]):
    """Reads members within the time limit of a document, and applies *make* to each with its extraction."""

    make: Make[S]
    with_links: bool
    declared: Declared = field(default_factory=dict)

    @property
    def returns(self) -> Any:
        """The return type of a call (`extractors.processes.codec.result_type`)."""
        return list[result_type(self.make)]  # type: ignore[misc]

    def __call__(self, members: Sequence[ArchiveMember]) -> list[S]:
        """Return the result of `make` for each of *members*; one that takes too long is read only partly."""
        read = partial(extraction_in_time, with_links=self.with_links, declared=self.declared)
        return [self.make(member, read(member)) for member in members]


class PartReader(Generic[S]):
    """Reads parts in batches in the processes of an executor, and applies *make*, a module-level function, to each.

    A part is a member to read, or anything else, which *make* gets without an extraction. *read_here* is tried for
    every member first. If *reads_few_here*, a first and only batch of small documents is read in this process.

    If a process dies over a batch, each member of it is read alone. *read* replaces the function that reads a batch.
    """

    def __init__(
        self,
        executor: WorkerExecutor,
        make: Make[S],
        read_here: Callable[[ArchiveMember], Extraction | None],
        *,
        with_links: bool = False,
        declared: Declared = NOTHING_DECLARED,
        reads_few_here: bool = False,
        read: Callable[[Sequence[ArchiveMember]], list[S]] | None = None,
    ) -> None:
        self._executor = executor
        self._make = make
        self._read_here = read_here
        self._with_links = with_links
        self._declared = declared
        self._reads_few_here = reads_few_here
        self._read = read or ReadMembers(make, with_links, declared)
        self.has_started = False
        """True if any member was sent to a process."""
        self._ahead: deque[tuple[list[S | None], list[ArchiveMember], Future[list[S]] | None]] = deque()
        """For each batch under way: the results made here, the members left, and their future if they were sent."""

    def results(self, parts: Iterable[Any], weight: Callable[[Any], int]) -> Iterator[list[S]]:
        """Yield the results of *parts*, batch by batch, in order."""
        for batch in batches(parts, weight):
            here = [self._result_here(part) for part in batch]
            left = [part for part, result in zip(batch, here, strict=True) if result is None]
            begun = None
            if left and (self.has_started or not (self._reads_few_here and _is_too_small(batch, left))):
                self.has_started = True
                begun = self._executor.submit(self._read, left)
            self._ahead.append((here, left, begun))
            while self._ahead:
                first = self._ahead[0][2]
                is_done = first is None or first.done()  # or it will be read here
                if not is_done and len(self._ahead) <= self._executor.jobs * AHEAD:
                    break
                yield self._next()
        while self._ahead:
            yield self._next()

    def completed_results(self) -> Iterator[list[S]]:
        """Yield the results that are complete but not yet yielded, after an interruption."""
        for here, left, begun in self._ahead:
            if left and (begun is None or not begun.done() or begun.exception() is not None):
                return
            yield _in_order(here, begun.result() if begun is not None else [])

    def failed(self, member: ArchiveMember, failure: WorkerError) -> S:
        """Return the result for a document whose process ended, with the reason as its finding."""
        return self._make(member, extraction_of_member(failed_extraction(failure, member.media_type), member))

    def _result_here(self, part: Any) -> S | None:
        """Return the result for a part that needs no other process, or None."""
        if not isinstance(part, ArchiveMember):
            return self._make(part, None)
        extraction = self._read_here(part)
        return None if extraction is None else self._make(part, extraction)

    def _next(self) -> list[S]:
        here, left, begun = self._ahead[0]
        results = _in_order(here, self._results(left, begun))
        self._ahead.popleft()  # only now, so that an interrupt can't lose it
        return results

    def _results(self, members: list[ArchiveMember], begun: Future[list[S]] | None) -> list[S]:
        if begun is None:
            return [result for member in members for result in self._read_small(member)]
        try:
            return begun.result()
        except WorkerError as failure:
            if len(members) == 1:
                return [self.failed(members[0], failure)]
        alone = [([member], self._executor.submit(self._read, [member])) for member in members]
        return [result for member, reading in alone for result in self._results(member, reading)]

    def _read_small(self, member: ArchiveMember) -> list[S]:
        extraction = inline_extraction(member, with_links=self._with_links, declared=self._declared)
        if extraction is not None:
            return [self._make(member, extraction)]
        self.has_started = True
        return self._results([member], self._executor.submit(self._read, [member]))


def _is_too_small(batch: Sequence[Any], left: Iterable[ArchiveMember]) -> bool:
    """Return True if a batch is too small for a process: not full, and only short texts and pages are *left* of it."""
    is_full = sum(map(part_weight, batch)) >= BATCH_BYTES or len(batch) >= BATCH_DOCUMENTS
    return not is_full and all(map(may_stay_inline, left))


def _in_order(here: Iterable[S | None], of_left: Iterable[S]) -> list[S]:
    """Return the results of a batch in order: those made *here*, and those of the items left."""
    following = iter(of_left)
    return [next(following) if result is None else result for result in here]


def run_batches(
    executor: WorkerExecutor, work: Callable[[list[T]], S], batched: Iterable[list[T]], here: Callable[[list[T]], S]
) -> Iterator[S]:
    """Yield the result of *work* for each batch, in order, with several batches under way in *executor*.

    If a process is killed over a batch, *here* does the work in this process, so that no row is lost.
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
    """Yield *items* in lists of `BATCH_DOCUMENTS` items, or fewer if their *weight* reaches `BATCH_BYTES`.

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
    """Return the weight of a document, in bytes of text; 0 for anything else."""
    if not isinstance(part, ArchiveMember):
        return 0
    return len(part.data) * (_PDF_WEIGHT if b"%PDF-" in part.data[:1024] else 1)
