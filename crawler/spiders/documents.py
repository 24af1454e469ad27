"""Fetches documents and hands them to the extractors; follows links within the site of its seeds."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from scrapy import Request
from scrapy.http import Response
from twisted.python.failure import Failure
from w3lib.url import canonicalize_url

from crawler.middlewares import chain_of
from crawler.observations import ChainEnd, CitedMention, DocumentOutcome, DocumentRecord, Hop
from crawler.resolving import SUCCESSES, names_skipped_ark, request_url, sendable
from crawler.scope import Scope
from crawler.spiders.auditing import AuditSpider
from crawler.verdict import OUTCOME_OF_END, status_outcome
from extractors.documents import Finding, Reading, Role
from extractors.extraction import Extraction, extract
from extractors.find import Mention
from extractors.formats import Format, format_of, parse_content_type
from extractors.worker import Worker, WorkerDied, WorkerError, WorkerOutOfMemory, WorkerTimeout

logger = logging.getLogger(__name__)

#: Findings that mean that nothing could be read, rather than that something was odd.
_NOTHING_READ = frozenset(
    {
        "unreadable",
        "encrypted",
        "unknown-format",
        "parser-crashed",
        "parser-timeout",
        "parser-out-of-memory",
        "empty",
    }
)
#: What a document did to its parser, as a finding about the document.
_FAILURES: tuple[tuple[type[WorkerError], str], ...] = (
    (WorkerDied, "parser-crashed"),
    (WorkerTimeout, "parser-timeout"),
    (WorkerOutOfMemory, "parser-out-of-memory"),
    (WorkerError, "unreadable"),
)
#: Larger documents, and PDFs of any size, are parsed in a process that can be killed.
_INLINE_BYTES = 2**16


#: The process that parses what might crash or hang its parser.
DocumentWorker = Worker[..., Extraction]


class DocumentsSpider(AuditSpider):
    """Seeds are URLs and files; what a document says and where it leads is decided by the extractors."""

    name = "documents"

    def __init__(
        self,
        *,
        seeds: Sequence[str],
        files: Sequence[Path] = (),
        resolver: str,
        worker: DocumentWorker,
        depth: int | None = None,
        max_pages: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._seeds = seeds
        self._files = files
        self._resolver = resolver
        self._worker = worker
        self._depth = depth
        self._max_pages = max_pages
        self._scope = Scope.of(seeds)
        self._seen: set[str] = set()

    async def start(self) -> AsyncIterator[Request | DocumentRecord]:
        for path in self._files:
            yield await self._read_file(path)
        for seed in self._seeds:
            for request in self._requests([seed], found_on=None, depth=0):
                yield request

    def _requests(self, urls: Sequence[str], *, found_on: str | None, depth: int) -> Iterator[Request]:
        """A request for each URL that is new, in scope and within the limits."""
        for url in urls:
            sent = sendable(url)
            if not self._scope.holds(sent) or names_skipped_ark(sent):
                continue
            try:
                same = canonicalize_url(sent)
            except ValueError:  # a link that is no URL leads nowhere, and must not take the others with it
                continue
            if same in self._seen:
                continue
            if self._max_pages is not None and len(self._seen) >= self._max_pages:
                logger.warning("stopped at %d documents (--max-pages)", self._max_pages)
                return
            self._seen.add(same)
            yield Request(
                sent,
                callback=self.fetched,
                errback=self.failed,
                cb_kwargs={"url": sent, "found_on": found_on, "depth": depth},
                dont_filter=True,  # new ones are told here, by a stated form; a redirect must never be lost
                meta={
                    "verbatim_url": True,
                    "dont_merge_cookies": True,
                    "documents_only": True,
                    "body_limit": self.settings.getint("ARKAUDIT_DOCUMENT_LIMIT"),
                },
            )

    async def fetched(
        self, response: Response, url: str, found_on: str | None, depth: int
    ) -> AsyncIterator[Request | DocumentRecord]:
        request = response.request
        assert request is not None
        hops, end, detail = chain_of(request)
        if end is not ChainEnd.ANSWERED or response.status not in SUCCESSES:
            yield unfetched(url, found_on, hops, end, detail, response.status)
            return
        content_type = (response.headers.get("Content-Type") or b"").decode("latin-1")
        media_type, charset = parse_content_type(content_type) if content_type else (None, None)
        extraction = await self._extract(
            response.body, media_type=media_type, name=urlsplit(response.url).path, charset=charset
        )
        cut = "download_stopped" in response.flags or "dataloss" in response.flags
        yield self._record(url, found_on, hops, response.body, extraction, cut=cut)
        if self._depth is None or depth < self._depth:
            base = urljoin(response.url, extraction.reading.base or "")
            links = [joined for link in extraction.reading.links if (joined := _joined(base, link))]
            for following in self._requests(links, found_on=url, depth=depth + 1):
                yield following

    async def failed(self, failure: Failure) -> AsyncIterator[DocumentRecord]:
        request: Request = failure.request  # type: ignore[attr-defined]
        hops, end, detail = chain_of(request)
        yield unfetched(request.cb_kwargs["url"], request.cb_kwargs["found_on"], hops, end, detail, None)

    async def _read_file(self, path: Path) -> DocumentRecord:
        try:
            data = path.read_bytes()
        except OSError as problem:
            finding = Finding("unreadable", f"{problem.strerror or problem}")
            return DocumentRecord(
                document_name(path), None, _now(), DocumentOutcome.UNREADABLE.value, findings=(finding,)
            )
        extraction = await self._extract(data, media_type=None, name=path.name, charset=None)
        return self._record(document_name(path), None, (), data, extraction, cut=False)

    def _request_url(self, mention: Mention, extraction: Extraction, hops: tuple[Hop, ...]) -> str:
        """The URL that asks for a mention's object; a relative link names the resolver that its page is on."""
        own = relative_resolver(mention, extraction, hops[-1].url) if hops else None
        if own is not None:
            return request_url(own + mention.repaired, own, self._resolver)
        return request_url(mention.repaired, mention.resolver, self._resolver)

    async def _extract(self, data: bytes, *, media_type: str | None, name: str, charset: str | None) -> Extraction:
        read = partial(extract_killably, self._worker, data, media_type=media_type, name=name, charset=charset)
        return await asyncio.get_running_loop().run_in_executor(None, read)

    def _record(
        self,
        url: str,
        found_on: str | None,
        hops: tuple[Hop, ...],
        data: bytes,
        extraction: Extraction,
        *,
        cut: bool,
    ) -> DocumentRecord:
        findings = extraction.findings
        if cut:
            findings = (
                *findings,
                Finding("size-limit", f"only the first {len(data)} bytes arrived or were read"),
            )
        nothing_read = any(finding.kind in _NOTHING_READ for finding in findings) and not extraction.mentions
        outcome = DocumentOutcome.UNREADABLE if nothing_read else DocumentOutcome.READ
        return DocumentRecord(
            url=url,
            found_on=found_on,
            fetched_at=hops[-1].at if hops else _now(),
            outcome=outcome.value,
            hops=hops,
            media_type=extraction.reading.media_type,
            title=extraction.reading.title,
            body_bytes=len(data),
            body_sha256=hashlib.sha256(data).hexdigest(),
            mentions=tuple(
                CitedMention(mention, self._request_url(mention, extraction, hops)) for mention in extraction.mentions
            ),
            findings=findings,
        )


def relative_resolver(mention: Mention, extraction: Extraction, page_url: str) -> str | None:
    """The resolver of an ARK in a relative link (``/ark:/12148/x``); none for ``ark:/…`` and for text."""
    if mention.role is not Role.LINK_TARGET or mention.resolver is not None:
        return None
    base = urljoin(page_url, extraction.reading.base or "")
    for block in extraction.reading.blocks:
        before, found, _ = block.text.strip().partition(mention.as_written)
        is_relative = before.endswith("/") and "?" not in before and ":" not in before
        if block.role is Role.LINK_TARGET and found and is_relative:
            return _joined(base, before)
    return None


def document_name(path: Path) -> str:
    """The name of a file as a document; what no text can hold is spelled out.

    >>> document_name(Path("caf\\udce9.txt"))
    'caf\\\\udce9.txt'
    """
    return str(path).encode("utf-8", "backslashreplace").decode("utf-8")


def extract_killably(
    worker: DocumentWorker,
    data: bytes,
    *,
    media_type: str | None = None,
    name: str = "",
    charset: str | None = None,
) -> Extraction:
    """What a document holds; a PDF or a large one is parsed in *worker*, whose death is a finding about it."""
    is_pdf = format_of(data, media_type=media_type, name=name, charset=charset) is Format.PDF
    if len(data) <= _INLINE_BYTES and not is_pdf:
        return extract(data, media_type=media_type, name=name, charset=charset)
    try:
        return worker.call(data, media_type=media_type, name=name, charset=charset)
    except WorkerError as failure:
        kind = next(kind for failed, kind in _FAILURES if isinstance(failure, failed))
        reading = Reading(media_type or "", findings=(Finding(kind, str(failure)),))
        return Extraction(reading, ())


def unfetched(
    url: str, found_on: str | None, hops: tuple[Hop, ...], end: ChainEnd, detail: str, status: int | None
) -> DocumentRecord:
    """The row about a document that could not be had: the outcome of its chain, with the words for it."""
    if end is ChainEnd.ANSWERED and status is not None:
        outcome, words = status_outcome(status), f"answered {status}"
    else:
        outcome, words = OUTCOME_OF_END[end], detail or end.value
    return DocumentRecord(
        url=url,
        found_on=found_on,
        fetched_at=hops[-1].at if hops else _now(),
        outcome=outcome.value,
        hops=hops,
        findings=(Finding("not-fetched", words),),
    )


def _joined(base: str, link: str) -> str | None:
    """The http or https URL that *link* means, without its fragment; a broken one leads nowhere."""
    try:
        url = urljoin(base, link.strip())
    except ValueError:
        return None
    return url.partition("#")[0] if url.lower().startswith(("http://", "https://")) else None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
