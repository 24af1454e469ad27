"""Fetches documents and hands them to the extractors; follows links within the site of its seeds."""

from __future__ import annotations

import io
import logging
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from scrapy import Request
from scrapy.http import Response
from twisted.python.failure import Failure
from w3lib.url import canonicalize_url

from crawler.attempts import Patience, next_fetch
from crawler.middlewares import chain_of
from crawler.observations import ChainEnd, DocumentOutcome, DocumentRecord, Hop
from crawler.reading import DocumentReader, DocumentWorker, Source, now, web_url
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
        patience: Patience | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._patience = patience or Patience()
        self._seeds = seeds
        self._files = files
        self._depth = depth
        self._max_pages = max_pages
        self._scope = Scope.of(seeds)
        self._reader = DocumentReader(worker, resolver=resolver, scope=self._scope)
        self._seen: set[str] = set()

    async def start(self) -> AsyncIterator[Request | DocumentRecord]:
        for path in self._files:
            async for record in self._file_records(path):
                yield record
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
            yield self._ask(sent, found_on, depth)

    def _ask(
        self, url: str, found_on: str | None, depth: int, *, earlier: tuple[Hop, ...] = (), tries: int = 1
    ) -> Request:
        """A request for a document; *earlier* are the hops of the attempts before."""
        return Request(
            url,
            callback=self.fetched,
            errback=self.failed,
            cb_kwargs={"url": url, "found_on": found_on, "depth": depth, "earlier": earlier, "tries": tries},
            dont_filter=True,  # new ones are told by a stated form; a redirect must never be lost
            meta={
                "verbatim_url": True,
                "dont_merge_cookies": True,
                "documents_only": True,
                "body_limit": self.settings.getint("ARKAUDIT_DOCUMENT_LIMIT"),
            },
        )

    def _asks_again(self, request: Request) -> bool:
        """Whether what *request* ran into may pass, and the document is asked for once more after a while."""
        hops, end, _ = chain_of(request)
        told = request.cb_kwargs
        wait_s = next_fetch(hops, end, told["tries"], self._patience)
        if wait_s is None:
            return False
        earlier, tries = (*told["earlier"], *hops), told["tries"] + 1
        again = self._ask(told["url"], told["found_on"], told["depth"], earlier=earlier, tries=tries)
        self.ask_later(again, wait_s)
        return True

    async def fetched(
        self, response: Response, url: str, found_on: str | None, depth: int, earlier: tuple[Hop, ...], tries: int
    ) -> AsyncIterator[Request | DocumentRecord]:
        request = response.request
        assert request is not None
        if self._asks_again(request):
            return
        hops, end, detail = chain_of(request)
        hops = (*earlier, *hops)
        if end is not ChainEnd.ANSWERED or response.status not in SUCCESSES:
            yield unfetched(url, found_on, hops, end, detail, response.status)
            return
        content_type = (response.headers.get("Content-Type") or b"").decode("latin-1")
        media_type, charset = parse_content_type(content_type) if content_type else (None, None)
        source = Source(
            url,
            io.BytesIO(response.body),
            path=urlsplit(response.url).path,
            found_on=found_on,
            hops=hops,
            media_type=media_type,
            charset=charset,
            is_cut="download_stopped" in response.flags or "dataloss" in response.flags,
        )
        async for row in self._reader.rows(source):
            yield row.record
            if row.extraction is None or row.is_member or (self._depth is not None and depth >= self._depth):
                continue
            base = urljoin(response.url, row.extraction.reading.base or "")
            links = [joined for link in row.extraction.reading.links if (joined := web_url(base, link))]
            for following in self._requests(links, found_on=url, depth=depth + 1):
                yield following

    async def failed(self, failure: Failure) -> AsyncIterator[DocumentRecord]:
        request: Request = failure.request  # type: ignore[attr-defined]
        if self._asks_again(request):
            return
        hops, end, detail = chain_of(request)
        told = request.cb_kwargs
        yield unfetched(told["url"], told["found_on"], (*told["earlier"], *hops), end, detail, None)

    async def _file_records(self, path: Path) -> AsyncIterator[DocumentRecord]:
        """The rows about a local file; one that can't be read to its end has given what came before."""
        name = document_name(path)
        try:
            with path.open("rb") as stream:
                async for row in self._reader.rows(Source(name, stream, path.name)):
                    yield row.record
        except OSError as problem:
            finding = Finding("unreadable", f"{problem.strerror or problem}")
            yield DocumentRecord(name, None, now(), DocumentOutcome.UNREADABLE.value, findings=(finding,))


def document_name(path: Path) -> str:
    """The name of a file as a document; what no text can hold is spelled out.

    >>> document_name(Path("caf\\udce9.txt"))
    'caf\\\\udce9.txt'
    """
    return str(path).encode("utf-8", "backslashreplace").decode("utf-8")


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
        fetched_at=hops[-1].at if hops else now(),
        outcome=outcome.value,
        hops=hops,
        findings=(Finding("not-fetched", words),),
    )
