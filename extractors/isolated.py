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
#: Memory limit of a parser.
PARSING_BYTES = 2**30

#: The kind of finding about a document whose parser was killed from outside twice.
KILLED = "parser-killed"
#: The kind of finding for each failure of a worker.
_FAILURE_KINDS: tuple[tuple[type[WorkerError], str], ...] = (
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
    """Return a worker that calls `extract_in_time` in a separate process, which starts with the first call."""
    read_document = partial(extract_in_time, cpu_s=READING_CPU_S)
    return Worker(read_document, timeout_s=PARSING_S, cpu_s=PARSING_CPU_S, memory_bytes=PARSING_BYTES)


def document_executor(jobs: int) -> WorkerExecutor:
    """Return an executor of at most *jobs* processes with the limits for parsing; a process starts when needed."""
    return WorkerExecutor(jobs, timeout_s=PARSING_S, cpu_s=PARSING_CPU_S, memory_bytes=PARSING_BYTES)


def read_member(worker: DocumentWorker, member: ArchiveMember, *, with_links: bool = True) -> Extraction:
    """Return the extraction of *member*; only small texts and pages are parsed outside *worker*.

    *with_links* is that of `extraction_of`. Failures of *worker* and the findings of *member* become findings of the
    extraction.
    """
    extraction = inline_extraction(member, with_links=with_links)
    if extraction is not None:
        return extraction
    try:
        extraction = worker.call(member.data, with_links=with_links, **_format_labels(member))
    except WorkerError as failure:
        extraction = failed_extraction(failure, member.media_type)
    return extraction_of_member(extraction, member)


def extraction_in_time(
    member: ArchiveMember, *, with_links: bool = True, declared: Declared = NOTHING_DECLARED
) -> Extraction:
    """Return the extraction of *member*, made in this process within the time limit of a document.

    *with_links* and *declared* are those of `extraction_of`.
    """
    return _extraction_within(READING_CPU_S, member, with_links=with_links, declared=declared)


def inline_extraction(
    member: ArchiveMember, *, with_links: bool = True, declared: Declared = NOTHING_DECLARED
) -> Extraction | None:
    """Return the extraction of a small *member*, made in this process; None if it needs a process that can be killed.

    *with_links* and *declared* are those of `extraction_of`.
    """
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
        worker_error = WorkerError(f"{type(failure).__name__}: {failure}")
        extraction = failed_extraction(worker_error, member.media_type)
    return extraction_of_member(extraction, member)


def _format_labels(member: ArchiveMember) -> dict[str, Any]:
    """Return the keyword arguments of readers: media type, name and charset of *member*."""
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
    """Return *extraction*, with the findings of *member* added to its own."""
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
    """Return an empty extraction whose finding describes *failure*; *media_type* is that of its document."""
    kind = next(kind for error_type, kind in _FAILURE_KINDS if isinstance(failure, error_type))
    reading = Reading(media_type or "", findings=(Finding(kind, str(failure)),))
    return Extraction(reading, ())


# Batches of documents for several processes; results come in the order of the documents.

T = TypeVar("T")
S = TypeVar("S")

#: A module-level function that converts a part and its extraction to a result. A part that is no member has None.
Make = Callable[[Any, Extraction | None], S]

#: The sizes at which a batch is full. A PDF takes about `_PDF_WEIGHT` times longer than a text of its size.
BATCH_BYTES = 2**18
BATCH_DOCUMENTS = 64
_PDF_WEIGHT = 16
#: Maximum number of batches under way for each process: one is read, the others wait.
BATCHES_PER_PROCESS = 3


@dataclass(frozen=True, slots=True)
class ReadMembers(Generic[S]):
    """Reads members within the time limit of a document, and converts each with its extraction by *make*."""

    make: Make[S]
    with_links: bool
    declared: Declared = field(default_factory=dict)

    @property
    def returns(self) -> Any:
        """The type of the results of a call (`extractors.processes.codec.result_type`)."""
        return list[result_type(self.make)]  # type: ignore[misc]

    def __call__(self, members: Sequence[ArchiveMember]) -> list[S]:
        """Return the result of `make` for each of *members*; one that takes too long is read only partly."""
        extract = partial(extraction_in_time, with_links=self.with_links, declared=self.declared)
        return [self.make(member, extract(member)) for member in members]


class PartReader(Generic[S]):
    """Reads parts in batches in the processes of *executor*, and converts each with its extraction by *make*.

    A part is a member to read, or anything else, which has no extraction. *read_here* reads a member in this process,
    or returns None if another process must read it. If *reads_few_inline*, a single batch of small documents is read in
    this process, too. *with_links* and *declared* are those of `extraction_of`.

    If a process dies over a batch, each member of it is read alone. *read* replaces `ReadMembers` for the batches.
    """

    def __init__(
        self,
        executor: WorkerExecutor,
        make: Make[S],
        read_here: Callable[[ArchiveMember], Extraction | None],
        *,
        with_links: bool = False,
        declared: Declared = NOTHING_DECLARED,
        reads_few_inline: bool = False,
        read: Callable[[Sequence[ArchiveMember]], list[S]] | None = None,
    ) -> None:
        self._executor = executor
        self._make = make
        self._read_here = read_here
        self._with_links = with_links
        self._declared = declared
        self._reads_few_inline = reads_few_inline
        self._read = read or ReadMembers(make, with_links, declared)
        self.has_started = False
        """True if any member was sent to a process."""
        self._batches: deque[tuple[list[S | None], list[ArchiveMember], Future[list[S]] | None]] = deque()
        """The batches under way: the results by part (None if missing), the members without one, and their future (None
        if they were not sent)."""

    def results(self, parts: Iterable[Any], weight: Callable[[Any], int]) -> Iterator[list[S]]:
        """Yield the results of *parts*, batch by batch, in order; *weight* returns the weight of a part in bytes."""
        for batch in batches(parts, weight):
            inline_results = [self._inline_result(part) for part in batch]
            remaining_members = [part for part, result in zip(batch, inline_results, strict=True) if result is None]
            future = None
            if remaining_members and (
                self.has_started or not (self._reads_few_inline and _is_too_small(batch, remaining_members))
            ):
                self.has_started = True
                future = self._executor.submit(self._read, remaining_members)
            self._batches.append((inline_results, remaining_members, future))
            while self._batches:
                first_future = self._batches[0][2]
                is_done = first_future is None or first_future.done()  # or it will be read here
                if not is_done and len(self._batches) <= self._executor.jobs * BATCHES_PER_PROCESS:
                    break
                yield self._next_results()
        while self._batches:
            yield self._next_results()

    def completed_results(self) -> Iterator[list[S]]:
        """Yield, after an interruption of `results`, the next complete batches in order, up to the first incomplete one."""
        for inline_results, remaining_members, future in self._batches:
            if remaining_members and (future is None or not future.done() or future.exception() is not None):
                return
            yield _merged_results(inline_results, future.result() if future is not None else [])

    def failed_result(self, member: ArchiveMember, failure: WorkerError) -> S:
        """Return the result for *member* after its process crashed: an extraction without ARKs, and a finding about *failure*."""
        return self._make(member, extraction_of_member(failed_extraction(failure, member.media_type), member))

    def _inline_result(self, part: Any) -> S | None:
        """Return the result for *part*, made in this process; None if another process must read it."""
        if not isinstance(part, ArchiveMember):
            return self._make(part, None)
        extraction = self._read_here(part)
        return None if extraction is None else self._make(part, extraction)

    def _next_results(self) -> list[S]:
        inline_results, remaining_members, future = self._batches[0]
        results = _merged_results(inline_results, self._results_of(remaining_members, future))
        self._batches.popleft()  # only now, so that an interrupt can't lose it
        return results

    def _results_of(self, members: list[ArchiveMember], future: Future[list[S]] | None) -> list[S]:
        """Return the results for *members* from *future*; without a future, make them now, in this process if it may.

        If the process failed, each member is read alone, so that only the one at fault has no result.
        """
        if future is None:
            return [result for member in members for result in self._results_of_small(member)]
        try:
            return future.result()
        except WorkerError as failure:
            if len(members) == 1:
                return [self.failed_result(members[0], failure)]
        single_futures = [([member], self._executor.submit(self._read, [member])) for member in members]
        return [
            result for member, single_future in single_futures for result in self._results_of(member, single_future)
        ]

    def _results_of_small(self, member: ArchiveMember) -> list[S]:
        extraction = inline_extraction(member, with_links=self._with_links, declared=self._declared)
        if extraction is not None:
            return [self._make(member, extraction)]
        self.has_started = True
        return self._results_of([member], self._executor.submit(self._read, [member]))


def _is_too_small(batch: Sequence[Any], remaining_members: Iterable[ArchiveMember]) -> bool:
    """Return True if *batch* is not full, and its *remaining_members* are small enough for this process."""
    is_full = sum(map(part_weight, batch)) >= BATCH_BYTES or len(batch) >= BATCH_DOCUMENTS
    return not is_full and all(map(may_stay_inline, remaining_members))


def _merged_results(inline_results: Iterable[S | None], remaining_results: Iterable[S]) -> list[S]:
    """Return *inline_results* with each None replaced by the next of *remaining_results*."""
    following_results = iter(remaining_results)
    return [next(following_results) if result is None else result for result in inline_results]


def run_batches(
    executor: WorkerExecutor,
    work: Callable[[list[T]], S],
    item_batches: Iterable[list[T]],
    work_here: Callable[[list[T]], S],
) -> Iterator[S]:
    """Yield the result of *work* for each of *item_batches*, in order, with several under way in *executor*.

    If a process dies over a batch or exceeds a limit, *work_here* does the same work in this process.
    """
    batches_under_way: deque[tuple[list[T], Future[S]]] = deque()

    def first_result() -> S:
        batch, future = batches_under_way.popleft()
        try:
            return future.result()
        except (WorkerDied, WorkerOutOfMemory, WorkerTimeout):
            return work_here(batch)

    for batch in item_batches:
        batches_under_way.append((batch, executor.submit(work, batch)))
        if len(batches_under_way) > executor.jobs * BATCHES_PER_PROCESS:
            yield first_result()
    while batches_under_way:
        yield first_result()


def batches(items: Iterable[T], weight: Callable[[T], int]) -> Iterator[list[T]]:
    """Yield *items* in lists of `BATCH_DOCUMENTS` items, or fewer if the sum of *weight* over them is `BATCH_BYTES`.

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
    """Return the weight of a member: the bytes of a text that takes as long to read. 0 for any other part."""
    if not isinstance(part, ArchiveMember):
        return 0
    return len(part.data) * (_PDF_WEIGHT if b"%PDF-" in part.data[:1024] else 1)
