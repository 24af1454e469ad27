"""Fetches documents, passes them to the extractors, and follows their links as the gate allows."""

from __future__ import annotations

import asyncio
import io
import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.http import Response

from crawler.answers.quirks import is_log_in
from crawler.model.crawl_requests import (
    CrawlRequest,
    Extent,
    FrontierState,
    Outlinks,
    Reach,
    RequestKind,
    SourceKind,
    SourceReading,
    canonical_form,
    outlinks_of,
)
from crawler.model.observations import Chain, ChainEnd, DocumentOutcome, DocumentRecord, now
from crawler.model.registry import load_registry
from crawler.model.resolving import SUCCESSES, fetch_wait_s
from crawler.sources.gate import CrawlPlan, GateResult
from crawler.sources.source_reading import SourceReader, may_be_source
from crawler.spiders.auditing import AuditSpider, OwnRun
from crawler.spiders.document_reading import (
    BegunReading,
    DocumentReader,
    DocumentSource,
    Row,
    headers_of,
    log_in_record,
    read_ahead,
    redirect_record,
    source_record,
    unfetched_record,
    whole_lines,
)
from crawler.spiders.items import Citation, citations
from crawler.spiders.runs import conclude_documents
from crawler.spiders.seeds import Seeds
from crawler.store import StoreUnwritable
from crawler.store.feeding import Bounds
from crawler.store.frontier import FrontierEntry
from crawler.store.store import Recordable
from crawler.wire.middlewares import chain_of
from extractors.documents import document_name
from extractors.model.check_characters import NOTHING_DECLARED, Declared
from extractors.model.documents import Finding
from extractors.model.urls import join_url
from extractors.processes.worker import WorkerExecutor

logger = logging.getLogger(__name__)

#: The subject of findings about a whole crawl.
CRAWL = "this crawl"
#: Advice about links that were not followed.
ADVICE = {
    "nofollow": "; --ignore-nofollow is for your own sites",
    "nofollow-page": "; --ignore-nofollow is for your own sites",
    "trap-depth": "; --depth follows more",
}
#: Maximum number of open documents of a host; with several processes, twice their number.
DOCUMENTS_A_HOST = 4
#: Records of a file that may wait for those of the files before it.
_MOST_WAITING = 256
#: Maximum number of bytes of a local file that are read as a source.
_SOURCE_BYTES = 64 * 2**20


class DocumentsSpider(AuditSpider):
    """Crawls from seeds, which are URLs and files. The extractors read documents, and the gate selects links."""

    name = "documents"

    def __init__(
        self,
        *,
        plan: CrawlPlan,
        files: Sequence[Path] = (),
        source_files: Collection[Path] = (),
        executor: WorkerExecutor,
        declared: Declared = NOTHING_DECLARED,
        **kwargs: Any,
    ) -> None:
        per_host = max(DOCUMENTS_A_HOST, 2 * executor.jobs)
        super().__init__(bounds=Bounds(most=plan.max_pages, per_host=per_host), **kwargs)
        self._plan = plan
        self._files = {document_name(path): path for path in files}
        self._source_files = frozenset(source_files)
        """Files that the user named directly, so that the URLs they list are requested."""
        self._gate = plan.gate()
        self._jobs = executor.jobs
        self._declared = declared
        self._reader = DocumentReader(executor, resolver=self.resolver, declared=declared)
        self._reading: set[asyncio.Task[None]] = set()
        """The tasks that read files before their turn."""
        self._files_open = 0
        """The number of files with records that were not taken."""
        self._sources = SourceReader(executor, plan.oai)
        self._sitemaps: dict[str, Sequence[str]] = {}
        """The sitemaps in each robots.txt that was read, by its canonical URL."""
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        """Locks that keep the answers of a host in order, whichever is read first, so that each run finds documents in
        the same order.
        """

    exported = Citation

    @classmethod
    def begin_run(cls, crawler: Crawler, given: Mapping[str, Any]) -> tuple[OwnRun, dict[str, Any]]:
        """Begin a crawl of ``seeds`` in *given*, separated by blanks, with options as of `arkaudit crawl`."""
        other_arguments = dict(given)
        seeds = Seeds.parse(str(other_arguments.pop("seeds", "")).split())
        if not seeds.urls and not seeds.files:
            logger.warning("there is nothing to crawl: give -a seeds=URL")
        plan = CrawlPlan.from_urls(
            seeds.urls,
            seeds.named_kinds,
            depth=crawler.settings.getint("DEPTH_LIMIT") or None,
            include=str(other_arguments.pop("include", "")).split(),
            exclude=str(other_arguments.pop("exclude", "")).split(),
            scope=Extent(other_arguments.pop("scope", Extent.SITE)),
        )
        run = OwnRun(crawler, command="crawl", seeds=seeds.names)
        return run, other_arguments | {
            "plan": plan,
            "files": seeds.files,
            "source_files": seeds.named_files,
            "executor": run.executor,
        }

    def results(self, *, is_whole: bool) -> Iterable[Any]:
        """Record the results that need all documents (`conclude_documents`) if the run is complete; return no items."""
        if is_whole:
            registry = load_registry()
            conclude_documents(self.store, self.run_id, registry, resolver=self.resolver, declared=self._declared)
        return ()

    async def parse(self, response: Response) -> AsyncIterator[Citation]:
        """Yield the citations in any response, for ``scrapy parse`` and as a callback of other spiders."""
        request = response.request
        assert request is not None
        hops, _, _ = chain_of(request)
        name = CrawlRequest.to_page(response.url).url
        async for row in self._reader.rows(DocumentSource.from_response(response, hops, name=name)):
            for citation in citations(self.redact(row.record)):
                yield citation

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider._robots_read, signal=signals.robots_parsed)
        crawler.signals.connect(spider._on_spider_closed, signal=signals.spider_closed)
        return spider

    async def begin(self) -> AsyncIterator[DocumentRecord | Citation]:
        """Add the seeds to the frontier, read the files, and yield their documents; the feed sends the requests."""
        self.end_after(self._plan.max_time, self._time_is_up)
        for crawl_request in self.frontier.requests():  # of a resumed run
            if crawl_request.kind is RequestKind.PAGE:
                self._gate.remember(crawl_request)
        self._gate.remember_listed(self.frontier.list_digests())
        self.frontier.add(map(CrawlRequest.to_file, self._files))
        self.frontier.add(self._plan.seeds())
        for is_again in (False, True):
            if is_again and not self._add_unreached():
                break
            async for records in read_ahead(self._files_in_turn(), self._jobs, self._reading):
                async for record in records:
                    for item in self._items(record):
                        yield item
                self._files_open -= 1
        if self.feed.is_full:
            self.recorder.commit()  # the links of the last documents count too
            waiting_count, max_pages = self.frontier.counts()[FrontierState.WAITING], self._plan.max_pages
            if waiting_count:  # more documents were found than may be fetched
                limit_text = f"stopped at {max_pages} {'document' if max_pages == 1 else 'documents'} (--max-pages)"
                rest_text = f"{waiting_count} more {'was' if waiting_count == 1 else 'were'} found and not fetched"
                self._note_early_end("max-pages", f"{limit_text}; {rest_text}")

    def _add_unreached(self) -> bool:
        """Add the web documents that cited ARKs in earlier runs, and to which no link led; return False if none.

        Only their own answers show whether they are gone. Their links are not followed.
        """
        self.recorder.commit()
        new_requests = [
            CrawlRequest.to_page(url, found_on=found_on, reach=Reach.LEAF)
            for url, found_on in self.store.unreached_documents(self.run_id)
            if found_on is not None and self._gate.is_wanted(url)
        ]
        self.frontier.add(new_requests)
        return bool(new_requests) and not self.is_stopping

    async def _files_in_turn(self) -> AsyncIterator[AsyncIterator[DocumentRecord]]:
        """Request the URLs of the feed; yield an iterator over the records of each file."""
        async for entry in self.feed.entries():
            crawl_request = entry.crawl_request
            if crawl_request.kind is RequestKind.FILE:
                self._files_open += 1
                records = self._file_records(crawl_request.url)
                yield read_ahead(records, _MOST_WAITING, self._reading)
                self.feed.note_answer(crawl_request.canonical)
            else:
                self.ask_now(self._request(crawl_request))
                await asyncio.sleep(0)

    def _items(self, record: DocumentRecord) -> Iterator[DocumentRecord | Citation]:
        """Record a document, and yield its record without secrets. If Scrapy runs the spider, also yield its citations."""
        redacted_record = self.redact(record)
        self.recorder.add(redacted_record)
        yield redacted_record
        if self.own_run is not None:
            yield from citations(redacted_record)

    def _is_idle(self) -> bool:
        return not self._files_open and super()._is_idle()

    def outcome_of_lost(self, entry: FrontierEntry) -> DocumentRecord:
        finding = Finding("no-outcome", "it was requested, but got no outcome")
        return replace(unfetched_record(entry.crawl_request, (), ChainEnd.UNDETERMINED, "", None), findings=(finding,))

    def on_recorded(self, items: Sequence[Recordable]) -> None:
        super().on_recorded(items)
        for item in items:
            if isinstance(item, DocumentRecord):
                self._gate.note_recorded(item.new_requests)

    def _request(self, crawl_request: CrawlRequest, *, attempt: int = 1, earlier: Chain = ()) -> Request:
        """Return the request for a document; *earlier* are the hops of earlier attempts."""
        return Request(
            crawl_request.url,
            callback=self.handle_answer,
            errback=self.handle_failure,
            cb_kwargs={"crawl_request": crawl_request, "attempt": attempt, "earlier": earlier},
            dont_filter=True,  # the frontier filters; a redirect must not be lost
            meta={
                "verbatim_url": True,
                "documents_only": True,
                "body_limit": self.settings.getint("ARKAUDIT_DOCUMENT_LIMIT"),
            },
        )

    async def on_answer(
        self, request: Request, response: Response | None, crawl_request: CrawlRequest, attempt: int, earlier: Chain
    ) -> AsyncIterator[DocumentRecord | Citation]:
        """Yield the documents in an answer with their citations, or the record of a failure.

        *attempt* is the number of this attempt, and *earlier* the chain of those before.
        """
        hops, end, _ = chain_of(request)
        if response is None or end is not ChainEnd.ANSWERED or response.status not in SUCCESSES:
            async for item in self._unfetched(request, response):
                yield item
            return
        hops = (*earlier, *hops)
        begun: BegunReading | None = None
        # The content of a large document depends on no other, so it is read before its turn.
        if crawl_request.source is None and not may_be_source(response.body):
            target = crawl_request.redirected_to(hops[-1].url)
            source = DocumentSource.from_response(response, hops, name=target.url, found_on=target.found_on)
            begun = self._reader.begin(source)
        try:
            async with self._turns[crawl_request.host]:
                self.feed.note_answer(crawl_request.canonical)
                async for record in self._landing_records(crawl_request, response, hops, begun):
                    for item in self._items(record):
                        yield item
        except StoreUnwritable as failure:
            self._store_failed(failure)
        finally:
            if begun is not None:
                begun.cancel()  # if it was not used

    async def _unfetched(self, request: Request, response: Response | None) -> AsyncIterator[DocumentRecord | Citation]:
        """Yield the row about a document that was not fetched, and its citations, unless it is requested again."""
        crawl_request: CrawlRequest = request.cb_kwargs["crawl_request"]
        self.feed.note_answer(crawl_request.canonical)
        if self._asks_again(request):
            return
        hops, end, detail = chain_of(request)
        hops = (*request.cb_kwargs["earlier"], *hops)
        status = None if response is None else response.status
        async with self._turns[crawl_request.host]:
            record = unfetched_record(crawl_request, hops, end, detail, status)
            if response is not None and response.body:
                source = await self._read(crawl_request, response)
                # Some repositories send their errors with 404 or 422.
                faults = source.findings if source is not None and not source.is_document else ()
                record = replace(record, findings=(*record.findings, *faults))
            url = request.url if response is None else response.url
            sitemaps = tuple(self._sitemaps_for(crawl_request, url))
            record = replace(record, new_requests=sitemaps, outlinks=outlinks_of(sitemaps))
            for item in self._items(record):
                yield item

    def _asks_again(self, request: Request) -> bool:
        """Request the document again later if the failure of *request* is temporary; return True then."""
        hops, end, _ = chain_of(request)
        kwargs = request.cb_kwargs
        wait_s = fetch_wait_s(hops, end, kwargs["attempt"], self.patience)
        if wait_s is None or self.is_stopping:
            return False
        repetition = self._request(
            kwargs["crawl_request"], attempt=kwargs["attempt"] + 1, earlier=(*kwargs["earlier"], *hops)
        )
        self.ask_later(repetition, wait_s)
        return True

    # -- the content and links of a document

    async def _landing_records(
        self, crawl_request: CrawlRequest, response: Response, hops: Chain, begun: BegunReading | None
    ) -> AsyncIterator[DocumentRecord]:
        """Yield the rows about the document at the end of the redirects of *crawl_request*.

        A document at another URL has its own row, once for all requests that lead to it; the first request to arrive
        records it. A document that was found before, or is already requested, is left to that request.
        """
        landing_request = crawl_request.redirected_to(hops[-1].url)
        if landing_request is not crawl_request and is_log_in(landing_request.url):
            yield log_in_record(crawl_request, hops)
            return
        redirect: DocumentRecord | None = None
        records_landing = True
        if landing_request is not crawl_request:
            self.recorder.commit()  # earlier documents come first
            records_landing = self._records_landing(landing_request, crawl_request)
            if records_landing:
                self._gate.remember(landing_request)
                redirect = redirect_record(crawl_request, hops[:-1], landing_request)
            else:
                stored_request = self.frontier.find(landing_request.canonical) or landing_request
                redirect = redirect_record(crawl_request, hops, stored_request)
            hops = hops[-1:]
        leads_further = crawl_request.is_seed or crawl_request.source is not None
        if records_landing or leads_further:
            async for record in self._records(landing_request, response, hops, begun):
                if record.settles is None:
                    yield record
                elif records_landing or redirect is None:
                    yield replace(record, redirected_from=redirect)
                else:
                    redirect = replace(
                        redirect, new_requests=record.new_requests, listed=record.listed, outlinks=record.outlinks
                    )
        if redirect is not None and not records_landing:
            yield redirect

    def _records_landing(self, landing_request: CrawlRequest, crawl_request: CrawlRequest) -> bool:
        """Claim the document *landing_request*, where redirects end, for *crawl_request*; return True if that succeeds.

        No other request is sent for that document then.
        """
        if self.frontier.claim_redirect_target(landing_request):
            return True
        if self.frontier.take_over(landing_request, FrontierState.WAITING, by=crawl_request):
            return True
        if self.feed.has_handed_out(landing_request.canonical):
            return False
        is_taken = self.frontier.take_over(landing_request, FrontierState.CLAIMED, by=crawl_request)
        if is_taken:
            self.feed.exclude(landing_request.canonical)
        return is_taken

    async def _records(
        self, crawl_request: CrawlRequest, response: Response, hops: Chain, begun: BegunReading | None
    ) -> AsyncIterator[DocumentRecord]:
        """Yield the rows about a document and its members; its own row comes last, with its links."""
        listing = await self._read(crawl_request, response)
        source = DocumentSource.from_response(response, hops, name=crawl_request.url, found_on=crawl_request.found_on)
        if listing is None or listing.is_document:
            async for row in self._reader.rows(source, begun):
                if row.is_member:
                    yield row.record
                else:
                    yield _with_links(
                        row.record, self._requests_of(crawl_request, listing, row, response), crawl_request.canonical
                    )
            return
        for record in listing.records:
            source_of_record = DocumentSource(
                record.name, io.BytesIO(record.data), "record.xml", crawl_request.url, media_type="application/xml"
            )
            async for row in self._reader.rows(source_of_record):
                yield (row.record if row.is_member else replace(row.record, outlinks=(Outlinks.to(record.name, b""),)))
        yield _with_links(
            source_record(source, is_faulty=listing.is_faulty),
            self._gate.source(crawl_request, listing),
            crawl_request.canonical,
        )

    async def _read(self, crawl_request: CrawlRequest, response: Response) -> SourceReading | None:
        """Return the content of *response* as a source of links, or None if it is not a source."""
        harvests = crawl_request.is_seed or crawl_request.source is SourceKind.OAI
        return await self._sources.read(
            whole_lines(response), url=response.url, named_kind=crawl_request.source, harvests=harvests
        )

    def _requests_of(
        self, crawl_request: CrawlRequest, source_reading: SourceReading | None, row: Row, response: Response
    ) -> GateResult:
        """Return the requests for the links of a source or page and, for a seed, for the sitemaps of its site."""
        if source_reading is not None:
            return self._gate.source(crawl_request, source_reading)
        if row.extraction is None:
            return GateResult()
        gate_result = self._gate.page(
            crawl_request, row.extraction.reading, url=response.url, headers=headers_of(response)
        )
        sitemaps = self._sitemaps_for(crawl_request, response.url)
        outlinks = (*gate_result.outlinks, *outlinks_of(sitemaps))
        return replace(gate_result, new_requests=(*gate_result.new_requests, *sitemaps), outlinks=outlinks)

    def _sitemaps_for(self, crawl_request: CrawlRequest, url: str) -> Sequence[CrawlRequest]:
        """Return the requests for sitemaps in the robots.txt at *url*'s host, if *crawl_request* is a site's seed."""
        if not crawl_request.is_seed or crawl_request.source is not None or not self._plan.sitemaps:
            return ()
        robots_url = join_url(url, "/robots.txt") or url
        return self._gate.sitemaps(self._sitemaps.get(canonical_form(robots_url), ()), robots_url=robots_url)

    def _robots_read(self, robotparser: Any, request: Request) -> None:
        sitemap_urls = getattr(getattr(robotparser, "rp", None), "sitemaps", ())
        self._sitemaps[canonical_form(request.url)] = list(sitemap_urls)

    async def _file_records(self, name: str) -> AsyncIterator[DocumentRecord]:
        """Yield the rows about a local file, also those before a read error."""
        path = self._files.get(name, Path(name))
        try:
            with path.open("rb") as stream:
                async for row in self._reader.rows(DocumentSource(name, stream, path.name)):
                    gate_result = GateResult() if row.is_member else await self._requests_of_file(path, name)
                    yield row.record if row.is_member else _with_links(row.record, gate_result, name)
        except OSError as problem:
            finding = Finding("unreadable", f"{problem.strerror or problem}")
            outcome = DocumentOutcome.UNREADABLE
            yield DocumentRecord(name, None, now(), outcome, findings=(finding,), settles=name)

    async def _requests_of_file(self, path: Path, name: str) -> GateResult:
        """Return the requests for the links of a local file that is a source: a list, a sitemap. Links of local pages
        are not followed.
        """
        if path not in self._source_files:
            return GateResult()
        named_kind = self._plan.named_kinds.get(str(path))
        with path.open("rb") as stream:
            data = stream.read(_SOURCE_BYTES)
        source = await self._sources.read(data, url=path.absolute().as_uri(), named_kind=named_kind, harvests=False)
        return self._gate.source(CrawlRequest.to_file(name), source) if source is not None else GateResult()

    # -- the end

    def _time_is_up(self) -> None:
        """Send no more requests; open ones are still recorded."""
        self._note_early_end("max-time", f"the crawl ended after {self._plan.max_time:g} seconds (--max-time)")
        self.stop(reason="max-time")

    def _note_early_end(self, kind: str, words: str) -> None:
        """Report and record the reason why the crawl ended early."""
        logger.warning(words)
        try:
            self.store.record_findings(self.run_id, CRAWL, [Finding(kind, words)])
        except StoreUnwritable as failure:
            self._store_failed(failure)

    def _on_spider_closed(self) -> None:
        # Scrapy no longer takes their records.
        for task in self._reading:
            task.cancel()
        for kind, count in sorted(self._gate.left_out.items()):
            logger.warning("links not followed: %d (%s); the findings say which%s", count, kind, ADVICE.get(kind, ""))


def _with_links(record: DocumentRecord, gate_result: GateResult, canonical: str) -> DocumentRecord:
    """Return *record* with the links and findings of *gate_result*.

    Storing this record also completes the entry of *canonical*, the document's URL, in the frontier.
    """
    findings = (*record.findings, *gate_result.findings)
    return replace(
        record,
        findings=findings,
        new_requests=gate_result.new_requests,
        settles=canonical,
        listed=gate_result.listed,
        outlinks=gate_result.outlinks,
    )
