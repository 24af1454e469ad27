"""Fetches documents and hands them to the extractors; follows links within the site of its seeds."""

from __future__ import annotations

import asyncio
import io
import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from scrapy import Request
from scrapy.http import Response
from twisted.python.failure import Failure

from crawler.feeding import Bounds
from crawler.frontier import Entry, State
from crawler.leads import Kind, Lead, leads_to_pages
from crawler.middlewares import chain_of
from crawler.observations import ChainEnd, DocumentOutcome, DocumentRecord, Hop, ObjectOutcome
from crawler.reading import DocumentReader, DocumentWorker, Row, Source, now, web_url
from crawler.resolving import SUCCESSES, names_skipped_ark, sendable
from crawler.scope import Scope
from crawler.spiders.auditing import AuditSpider
from crawler.verdict import OUTCOME_OF_END, status_outcome
from extractors.documents import Finding
from extractors.formats import parse_content_type

logger = logging.getLogger(__name__)


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
        super().__init__(bounds=Bounds(most=max_pages), **kwargs)
        self._seeds = seeds
        self._files = {document_name(path): path for path in files}
        self._depth = depth
        self._max_pages = max_pages
        self._scope = Scope.of(seeds)
        self._reader = DocumentReader(worker, resolver=resolver, scope=self._scope)
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        """Documents of a host are read in the order in which they came, so that the same is found first every time."""

    async def begin(self) -> AsyncIterator[Request | DocumentRecord]:
        self.frontier.add(map(Lead.to_file, self._files))
        self.frontier.add(self._leads(self._seeds, found_on=None, depth=0))
        async for entry in self.feed.entries():
            if entry.lead.kind is Kind.FILE:
                async for record in self._file_records(entry.lead.url):
                    yield record
            else:
                yield self._request(entry.lead)
        self._tell_of_limit()

    def outcome_of_lost(self, entry: Entry) -> DocumentRecord:
        lead, finding = entry.lead, Finding("no-outcome", "it was asked for, and nothing came of it")
        outcome = ObjectOutcome.UNDETERMINED.value
        return DocumentRecord(lead.url, lead.found_on, now(), outcome, findings=(finding,), settles=lead.canonical)

    def _tell_of_limit(self) -> None:
        """Say, and keep, that more was found than may be fetched."""
        left = self.frontier.counts()[State.WAITING]
        if self.feed.is_full and left:
            words = f"stopped at {self._max_pages} documents (--max-pages); {left} more were found and not fetched"
            logger.warning(words)
            self.store.record_findings(self.run_id, "this crawl", [Finding("max-pages", words)])

    def _leads(self, urls: Iterable[str], *, found_on: str | None, depth: int) -> Iterator[Lead]:
        """The leads among *urls* that are in scope, in their order."""
        sent = (sendable(url) for url in urls)
        followed = (url for url in sent if self._scope.holds(url) and not names_skipped_ark(url))
        return leads_to_pages(followed, found_on=found_on, depth=depth)

    def _request(self, lead: Lead) -> Request:
        return Request(
            lead.url,
            callback=self.fetched,
            errback=self.failed,
            cb_kwargs={"lead": lead},
            dont_filter=True,  # the frontier knows what is new; a redirect must never be lost
            meta={
                "verbatim_url": True,
                "dont_merge_cookies": True,
                "documents_only": True,
                "body_limit": self.settings.getint("ARKAUDIT_DOCUMENT_LIMIT"),
            },
        )

    async def fetched(self, response: Response, lead: Lead) -> AsyncIterator[DocumentRecord]:
        request = response.request
        assert request is not None
        hops, end, detail = chain_of(request)
        if end is not ChainEnd.ANSWERED or response.status not in SUCCESSES:
            yield unfetched(lead, hops, end, detail, response.status)
            return
        content_type = (response.headers.get("Content-Type") or b"").decode("latin-1")
        media_type, charset = parse_content_type(content_type) if content_type else (None, None)
        source = Source(
            lead.url,
            io.BytesIO(response.body),
            path=urlsplit(response.url).path,
            found_on=lead.found_on,
            hops=hops,
            media_type=media_type,
            charset=charset,
            is_cut="download_stopped" in response.flags or "dataloss" in response.flags,
        )
        async with self._turns[lead.host]:
            self.feed.answered(lead.canonical)
            async for row in self._reader.rows(source):
                if row.is_member:
                    yield row.record
                else:
                    leads = tuple(self._followed(row, response.url, lead))
                    yield replace(row.record, leads=leads, settles=lead.canonical)

    def _followed(self, row: Row, url: str, lead: Lead) -> Iterator[Lead]:
        """What the document at *url*, which *lead* led to, leads to in its turn."""
        if row.extraction is None or (self._depth is not None and lead.depth >= self._depth):
            return
        base = urljoin(url, row.extraction.reading.base or "")
        links = [joined for link in row.extraction.reading.links if (joined := web_url(base, link))]
        yield from self._leads(links, found_on=lead.url, depth=lead.depth + 1)

    async def failed(self, failure: Failure) -> AsyncIterator[DocumentRecord]:
        request: Request = failure.request  # type: ignore[attr-defined]
        lead: Lead = request.cb_kwargs["lead"]
        hops, end, detail = chain_of(request)
        yield unfetched(lead, hops, end, detail, None)

    async def _file_records(self, name: str) -> AsyncIterator[DocumentRecord]:
        """The rows about a local file; one that can't be read to its end has given what came before."""
        path = self._files.get(name, Path(name))
        try:
            with path.open("rb") as stream:
                async for row in self._reader.rows(Source(name, stream, path.name)):
                    yield replace(row.record, settles=None if row.is_member else name)
        except OSError as problem:
            finding = Finding("unreadable", f"{problem.strerror or problem}")
            outcome = DocumentOutcome.UNREADABLE.value
            yield DocumentRecord(name, None, now(), outcome, findings=(finding,), settles=name)


def document_name(path: Path) -> str:
    """The name of a file as a document; what no text can hold is spelled out.

    >>> document_name(Path("caf\\udce9.txt"))
    'caf\\\\udce9.txt'
    """
    return str(path).encode("utf-8", "backslashreplace").decode("utf-8")


def unfetched(lead: Lead, hops: tuple[Hop, ...], end: ChainEnd, detail: str, status: int | None) -> DocumentRecord:
    """The row about a document that could not be had: the outcome of its chain, with the words for it."""
    if end is ChainEnd.ANSWERED and status is not None:
        outcome, words = status_outcome(status), f"answered {status}"
    else:
        outcome, words = OUTCOME_OF_END[end], detail or end.value
    return DocumentRecord(
        url=lead.url,
        found_on=lead.found_on,
        fetched_at=hops[-1].at if hops else now(),
        outcome=outcome.value,
        hops=hops,
        findings=(Finding("not-fetched", words),),
        settles=lead.canonical,
    )
