"""Extraction in a process that can be killed: a parser that crashes, hangs or takes all memory costs one document."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from extractors.archives.members import ArchiveMember
from extractors.document_reading import read_short_text
from extractors.extraction import (
    Extraction,
    doubted_where_cut,
    extract_in_time,
    extraction_of,
    extraction_without_arks,
    is_cut,
)
from extractors.model.documents import Finding, Reading
from extractors.model.formats import Format, format_of
from extractors.processes.worker import (
    Worker,
    WorkerDied,
    WorkerError,
    WorkerKilled,
    WorkerOutOfMemory,
    WorkerTimeout,
)
from extractors.processes.worker_executor import WorkerExecutor

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
#: Formats whose parser may take the process with it: a PDF, and what may hold one.
_MAY_CRASH = frozenset({Format.PDF, Format.MAIL})
#: Larger documents, and PDFs of any size, are parsed in a process that can be killed.
_INLINE_BYTES = 2**16

#: The process that parses what might crash or hang its parser.
DocumentWorker = Worker[..., Extraction]


def document_worker() -> DocumentWorker:
    """Return the process that parses what might crash or hang its parser; it starts with the first such document."""
    reading = partial(extract_in_time, cpu_s=READING_CPU_S)
    return Worker(reading, timeout_s=PARSING_S, cpu_s=PARSING_CPU_S, memory_bytes=PARSING_BYTES)


def document_executor(jobs: int) -> WorkerExecutor:
    """Return so many processes of the same kind, as an executor; each starts when it is needed."""
    return WorkerExecutor(
        jobs, timeout_s=PARSING_S, cpu_s=PARSING_CPU_S, memory_bytes=PARSING_BYTES
    )


def read_member(
    worker: DocumentWorker, member: ArchiveMember, *, with_links: bool = True
) -> Extraction:
    """Return the extraction of *member*; a PDF, mail or a large document is parsed in *worker*.

    That the worker died, or took too much time or memory, is a finding about the document, and so are the findings of
    its archive.
    """
    read = extraction_of if may_stay_inline(member) else worker.call
    try:
        extraction = read(member.data, with_links=with_links, **_labels(member))
    except WorkerError as failure:
        extraction = failed_extraction(failure, member.media_type)
    return extraction_of_member(extraction, member)


def extraction_in_time(member: ArchiveMember, *, with_links: bool = True) -> Extraction:
    """Return the extraction of *member* in this process, as far as it comes in the time that a document has."""
    extraction = extract_in_time(
        member.data, cpu_s=READING_CPU_S, with_links=with_links, **_labels(member)
    )
    return extraction_of_member(extraction, member)


def _labels(member: ArchiveMember) -> dict[str, Any]:
    """What is said of the format of *member*."""
    return {"media_type": member.media_type, "name": member.path, "charset": member.charset}


def extraction_of_short_text(member: ArchiveMember) -> Extraction | None:
    """Return the extraction of *member*, if it is a short text that surely cites no ARK; None otherwise.

    For this process: to send it to another one would take longer. It is only decoded and looked at, without a parser
    or a search, which could hang, and it is so short that no look takes long.
    """
    if len(member.data) > _INLINE_BYTES:
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
        len(member.data) <= _INLINE_BYTES
        and format_of(member.data, **_labels(member)) not in _MAY_CRASH
    )


def failed_extraction(failure: WorkerError, media_type: str | None) -> Extraction:
    """Return the extraction of a document whose process ended: nothing, and a finding that says how."""
    kind = next(kind for failed, kind in _FAILURES if isinstance(failure, failed))
    reading = Reading(media_type or "", findings=(Finding(kind, str(failure)),))
    return Extraction(reading, ())
