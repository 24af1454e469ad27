"""Make the rows about a fetched or opened document, or about an archive and its documents."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from io import BufferedReader, BytesIO
from typing import TypeVar

from scrapy.http import Response

from crawler.answers.facts import OUTCOME_OF_END, status_outcome
from crawler.answers.interstitials import Interstitial, interstitial_by_headers, interstitial_in
from crawler.model.crawl_requests import CrawlRequest
from crawler.model.observations import (
    Chain,
    ChainEnd,
    CitedMention,
    DocumentOutcome,
    DocumentRecord,
    ObjectOutcome,
    now,
)
from crawler.model.resolving import citation_urls
from crawler.sources.links import Headers
from crawler.spiders.archive_members import MemberExtraction, member_extraction
from crawler.wire.failures import INCOMPLETE, STOPPED, body_faults
from crawler.wire.middlewares import header_of
from extractors.archives.members import ArchiveMember
from extractors.archives.walk import archive_kind, members
from extractors.extraction import Extraction
from extractors.isolated import Make, PartReader, ReadMembers, inline_extraction, may_stay_inline, part_weight
from extractors.model.check_characters import NOTHING_DECLARED, Declared
from extractors.model.documents import NOTHING_READ, Finding
from extractors.model.formats import parse_content_type
from extractors.model.urls import split_url
from extractors.processes.worker import WorkerError, WorkerExecutor

T = TypeVar("T")

_HEAD_BYTES = 512
#: Media types of pages that hosts send in place of documents.
_PAGES = frozenset({"text/html", "application/xhtml+xml", "text/plain"})


@dataclass(frozen=True, slots=True)
class DocumentSource:
    """A fetched or opened document."""

    name: str
    stream: BufferedReader | BytesIO
    path: str
    """A name or URL path whose suffix may show the format."""
    found_on: str | None = None
    hops: Chain = ()
    media_type: str | None = None
    charset: str | None = None
    flags: Collection[str] = ()
    """The flags of the response, which show whether and why only a part has arrived."""

    @classmethod
    def from_response(
        cls, response: Response, hops: Chain, *, name: str | None = None, found_on: str | None = None
    ) -> DocumentSource:
        """Return the body of *response*, after *hops*, as a document. The default *name* is the URL."""
        content_type = header_of(response.headers, "Content-Type")
        media_type, charset = parse_content_type(content_type) if content_type else (None, None)
        return cls(
            name or response.url,
            BytesIO(response.body),
            split_url(response.url).path,
            found_on=found_on,
            hops=hops,
            media_type=media_type,
            charset=charset,
            flags=response.flags,
        )

    @property
    def page_url(self) -> str | None:
        """The URL at the end of `hops`; None for a file."""
        return self.hops[-1].url if self.hops else None

    def parts(self) -> list[ArchiveMember]:
        """Return the parts of the document, several if it is very large; empty for an archive."""
        self.stream.seek(0)
        if archive_kind(self.stream.read(_HEAD_BYTES)) is not None:
            return []
        return [part for part in self.walk() if isinstance(part, ArchiveMember)]

    def walk(self) -> Iterator[ArchiveMember | Finding]:
        """Yield the members of an archive or the document itself, from the start of the stream, and findings."""
        self.stream.seek(0)
        return members(self.stream, name=self.name, path=self.path, media_type=self.media_type, charset=self.charset)


def whole_lines(response: Response) -> bytes:
    """Return the body without the last line of a truncated text, because half a URL is another URL."""
    if INCOMPLETE.isdisjoint(response.flags):
        return response.body
    return response.body[: response.body.rfind(b"\n") + 1] or response.body


def headers_of(response: Response) -> Headers:
    """Return the headers of *response* that may contain links."""

    def values(name: str) -> tuple[str, ...]:
        return tuple(value.decode("latin-1") for value in response.headers.getlist(name))

    return Headers(values("Link"), values("X-Robots-Tag"), values("Refresh"))


@dataclass(frozen=True, slots=True)
class Row:
    """The row of a document with its extraction."""

    record: DocumentRecord
    extraction: Extraction | None
    """None for an archive, and for a page in place of the document."""
    is_member: bool = False
    """True for a member of an archive, whose links are not followed."""


class DocumentReader:
    """Makes rows of documents. Parsers that may crash or hang run in the processes of an *executor*."""

    def __init__(self, executor: WorkerExecutor, *, resolver: str, declared: Declared = NOTHING_DECLARED) -> None:
        self._executor = executor
        self._declared = declared
        self._resolver = resolver

    def begin(self, source: DocumentSource) -> BegunReading | None:
        """Begin to read a large document before its turn; None with one process, and for an archive.

        For smaller documents the transfer to a process and back would take longer than parsing.
        """
        parts = source.parts() if self._executor.jobs > 1 else ()
        if not parts or any(map(may_stay_inline, parts)):
            return None
        return self._executor.submit(ReadMembers(_maker(source), True, self._declared), parts)

    async def rows(self, source: DocumentSource, begun: BegunReading | None = None) -> AsyncIterator[Row]:
        """Yield the row about a document; for an archive, one for each document in it and then its own.

        *begun* is the result of `begin` for *source*. Raises the errors of reading the source's stream.
        """
        at = source.hops[-1].at if source.hops else now()
        findings: list[Finding] = []
        has_documents = False
        async for part in self._read(source, begun):
            if isinstance(part, Finding):
                findings.append(part)
                continue
            is_document_itself = part.name == source.name
            has_documents = True
            interstitial = _interstitial_of(source, part.extraction) if is_document_itself else None
            if interstitial is not None:
                yield Row(_interstitial_record(source, at, part, interstitial), None)
                return
            yield Row(self._record(source, at, part), part.extraction, is_member=not is_document_itself)
            if is_document_itself:
                return
        yield Row(await asyncio.to_thread(_archive_record, source, at, findings, has_documents), None)

    async def _read(
        self, source: DocumentSource, begun: BegunReading | None
    ) -> AsyncIterator[MemberExtraction | Finding]:
        """Yield the extractions of the documents in *source*. Small fetched documents are read in this process."""
        read_inline = partial(inline_extraction, declared=self._declared)
        read_in_process = read_inline if source.hops else lambda member: None
        part_reader = PartReader(
            self._executor, _maker(source), read_in_process, with_links=True, declared=self._declared
        )
        if begun is not None:
            try:
                extractions = await asyncio.wrap_future(begun)
            except WorkerError as failure:
                extractions = [part_reader.failed_result(part, failure) for part in source.parts()]
            for part in extractions:
                yield part
            return
        parts = source.parts() if source.hops else []
        if len(parts) == 1 and (extraction := read_inline(parts[0])) is not None:
            yield _maker(source)(parts[0], extraction)
            return
        results = part_reader.results(source.walk(), part_weight)
        while (batch := await asyncio.to_thread(next, results, None)) is not None:
            for part in batch:
                yield part

    def _record(self, source: DocumentSource, at: str, member: MemberExtraction) -> DocumentRecord:
        """Return the row about *member*: the document itself, or a member of an archive, which has no hops."""
        extraction = member.extraction
        is_own = member.name == source.name
        hops = source.hops if is_own else ()
        findings = extraction.findings
        missing = _missing_parts(source, member.size) if is_own else ()
        if missing:
            findings = (*(finding for finding in findings if finding.kind != "empty"), *missing)
        unresolved = {mention.index: mention for mention in extraction.unresolved}
        urls = citation_urls(extraction.mentions, member.resolvers, self._resolver)
        mentions = tuple(
            CitedMention(mention, url, unresolved.get(index))
            for index, (mention, url) in enumerate(zip(extraction.mentions, urls, strict=True))
        )
        return DocumentRecord(
            url=member.name,
            found_on=source.found_on if is_own else source.name,
            fetched_at=at,
            outcome=_outcome(findings, missing, is_read=bool(mentions), is_answer=bool(hops)),
            hops=hops,
            media_type=extraction.reading.media_type,
            title=extraction.reading.title,
            body_bytes=member.size,
            body_sha256=member.sha256,
            mentions=mentions,
            findings=findings,
        )


def _maker(source: DocumentSource) -> Make[MemberExtraction | Finding]:
    """Return the function that makes the extractions of the members of *source*."""
    return partial(member_extraction, own_name=source.name, page_url=source.page_url)


#: A running reading of a fetched document.
BegunReading = Future[list[MemberExtraction | Finding]]


def redirect_record(crawl_request: CrawlRequest, hops: Chain, target: CrawlRequest) -> DocumentRecord:
    """Return the row about a URL whose *hops* redirect to the document *target*, which has its own row."""
    return DocumentRecord(
        url=crawl_request.url,
        found_on=crawl_request.found_on,
        fetched_at=hops[-1].at,
        outcome=DocumentOutcome.REDIRECTED,
        hops=hops,
        settles=crawl_request.canonical,
        led_to=target.url,
    )


def unfetched_record(
    crawl_request: CrawlRequest, hops: Chain, end: ChainEnd, detail: str, status: int | None
) -> DocumentRecord:
    """Return the row about a document that could not be fetched: the outcome of its chain, and the reason."""
    if end is ChainEnd.ANSWERED and status is not None:
        outcome, message = status_outcome(status), f"answered {status}"
    else:
        outcome, message = OUTCOME_OF_END[end], detail or end.value
    return DocumentRecord(
        url=crawl_request.url,
        found_on=crawl_request.found_on,
        fetched_at=hops[-1].at if hops else now(),
        outcome=outcome,
        hops=hops,
        findings=(Finding("not-fetched", message),),
        settles=crawl_request.canonical,
    )


def log_in_record(crawl_request: CrawlRequest, hops: Chain) -> DocumentRecord:
    """Return the row about a document whose URL redirects to a log-in page."""
    message = f"it leads to a log-in page: {hops[-1].url}"
    return DocumentRecord(
        url=crawl_request.url,
        found_on=crawl_request.found_on,
        fetched_at=hops[-1].at,
        outcome=ObjectOutcome.BLOCKED,
        hops=hops,
        findings=(Finding("blocked", message),),
        settles=crawl_request.canonical,
    )


def _interstitial_of(source: DocumentSource, extraction: Extraction) -> Interstitial | None:
    """Return the page (log-in, maintenance …) that was sent in place of a fetched document, or None.

    None also if it cites an ARK whose name is not in its URL. Then it is the document itself.
    """
    if not source.hops or any(mention.ark.name not in source.hops[-1].url for mention in extraction.mentions):
        return None
    header_interstitial = interstitial_by_headers(source.hops[-1].headers)
    if header_interstitial is not None or extraction.reading.media_type not in _PAGES:
        return header_interstitial
    reading, body = extraction.reading, source.stream.getvalue() if isinstance(source.stream, BytesIO) else b""
    return interstitial_in(reading.title, len(reading.links), body)


def _interstitial_record(
    source: DocumentSource, at: str, member: MemberExtraction, page: Interstitial
) -> DocumentRecord:
    """Return the row about a document in whose place the host sent *page*."""
    return DocumentRecord(
        url=source.name,
        found_on=source.found_on,
        fetched_at=at,
        outcome=page.outcome,
        hops=source.hops,
        media_type=member.extraction.reading.media_type,
        title=member.extraction.reading.title,
        body_bytes=member.size,
        body_sha256=member.sha256,
        findings=(Finding(str(page.outcome), page.reason),),
    )


def source_record(source: DocumentSource, *, is_faulty: bool) -> DocumentRecord:
    """Return the row of an OAI-PMH answer, without the records in it; *is_faulty* as in `SourceReading`."""
    record = _archive_record(source, source.hops[-1].at if source.hops else now(), (), True)
    outcome = DocumentOutcome.UNREADABLE if is_faulty else DocumentOutcome.READ
    return replace(record, outcome=outcome, media_type=source.media_type)


def _archive_record(source: DocumentSource, at: str, findings: Sequence[Finding], is_read: bool) -> DocumentRecord:
    """Return the row about an archive itself."""
    source.stream.seek(0)
    kind = archive_kind(source.stream.read(_HEAD_BYTES))
    size = source.stream.seek(0, os.SEEK_END)
    source.stream.seek(0)
    missing = _missing_parts(source, size)
    all_findings = (*findings, *missing)
    return DocumentRecord(
        url=source.name,
        found_on=source.found_on,
        fetched_at=at,
        outcome=_outcome(all_findings, missing, is_read=is_read, is_answer=bool(source.hops)),
        hops=source.hops,
        media_type=kind.value if kind else None,
        body_bytes=size,
        body_sha256=hashlib.file_digest(source.stream, "sha256").hexdigest(),
        findings=all_findings,
    )


def _missing_parts(source: DocumentSource, size: int) -> tuple[Finding, ...]:
    """Return the reasons why a fetched document is incomplete after *size* bytes."""
    if not size and STOPPED in source.flags:
        return (Finding("unknown-format", f"not fetched, for it is no document: {source.media_type}"),)
    return tuple(body_faults(source.flags, size))


def _outcome(
    findings: Sequence[Finding], missing: Sequence[Finding], *, is_read: bool, is_answer: bool
) -> DocumentOutcome:
    """Return the outcome of a document from all *findings*, and *missing*, those about missing parts of its body.

    An empty file counts as read, but the empty answer of a host (*is_answer*) does not.
    """
    kinds_of_nothing = NOTHING_READ if is_answer else NOTHING_READ - {"empty"}
    if not is_read and any(finding.kind in kinds_of_nothing for finding in findings):
        return DocumentOutcome.UNREADABLE
    return DocumentOutcome.INCOMPLETE if missing else DocumentOutcome.READ


def read_ahead(items: AsyncIterator[T], item_limit: int, tasks: set[asyncio.Task[None]]) -> AsyncIterator[T]:
    """Yield *items*; a task, which is added to *tasks*, reads up to *item_limit* of them in advance.

    >>> async def numbers(first: int) -> AsyncIterator[int]:
    ...     for number in range(first, first + 3):
    ...         yield number
    >>> async def read() -> list[int]:
    ...     return [number async for number in read_ahead(numbers(7), 2, set())]
    >>> asyncio.run(read())
    [7, 8, 9]
    """
    items_ahead: asyncio.Queue[T | _End] = asyncio.Queue(item_limit)

    async def fill() -> None:
        failure = None
        try:
            async for item in items:
                await items_ahead.put(item)
        except Exception as raised:
            failure = raised
        await items_ahead.put(_End(failure))

    async def taken() -> AsyncIterator[T]:
        while not isinstance(item := await items_ahead.get(), _End):
            yield item
        if item.failure is not None:
            raise item.failure

    task = asyncio.create_task(fill())
    tasks.add(task)
    task.add_done_callback(tasks.discard)
    return taken()


@dataclass(frozen=True, slots=True)
class _End:
    failure: Exception | None
