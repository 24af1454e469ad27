"""Asks an archive about ARKs that fail, after all verdicts (RFC 7089). It decides nothing and changes no verdict."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from scrapy import Request
from scrapy.http import Response

from crawler.answers.mementos import (
    CAPTURE_LIMIT,
    ArchiveAnswer,
    MementoRecord,
    WantedCapture,
    memento_record,
    page_fault,
)
from crawler.model.crawl_requests import CrawlRequest
from crawler.model.observations import ChainEnd, Hop
from crawler.model.resolving import fetch_wait_s
from crawler.spiders.auditing import AuditSpider
from crawler.store.feeding import Bounds
from crawler.store.frontier import FrontierEntry, SettledEntry
from crawler.wire.middlewares import chain_of, header_of
from extractors.model.ark import Ark
from extractors.model.urls import authority_of

#: Maximum number of open requests, all at one host.
OPEN_REQUESTS = 20


@dataclass(slots=True)
class _OpenRequest:
    entry: FrontierEntry
    wanted: WantedCapture
    attempt: int = 1
    earlier: list[Hop] = field(default_factory=list)
    """The hops of failed attempts."""


class MementosSpider(AuditSpider):
    """Asks the TimeGate of an archive for a capture of each ARK on its frontier, once."""

    name = "mementos"
    exported = MementoRecord

    def __init__(self, *, timegate: str, targets: Iterable[tuple[Ark, str]], **kwargs: Any) -> None:
        super().__init__(bounds=Bounds(in_hand=OPEN_REQUESTS, per_host=OPEN_REQUESTS), **kwargs)
        self._timegate = timegate
        self.frontier.add(CrawlRequest.to_ark(ark, url) for ark, url in targets)

    async def begin(self) -> AsyncIterator[Request]:
        async for entry in self.feed.entries():
            yield self._request(_OpenRequest(entry, self.store.wanted_capture(self.run_id, entry.crawl_request.url)))

    def _request(self, under_way: _OpenRequest) -> Request:
        """Return the request to the TimeGate, or to one of its captures."""
        return Request(
            self._timegate + under_way.wanted.original,
            callback=self.handle_answer,
            errback=self.handle_failure,
            headers=under_way.wanted.headers,
            cb_kwargs={"under_way": under_way},
            dont_filter=True,
            meta={"verbatim_url": True, "text_only": True, "body_limit": CAPTURE_LIMIT},
        )

    async def on_answer(
        self, request: Request, response: Response | None, under_way: _OpenRequest
    ) -> AsyncIterator[MementoRecord | Request]:
        """Yield the record of an archive's answer, or ask again later after a temporary failure."""
        hops, end, detail = chain_of(request)
        wait_s = fetch_wait_s(hops, end, under_way.attempt, self.patience)
        if wait_s is not None:
            under_way.attempt += 1
            under_way.earlier += hops
            self.ask_later(self._request(under_way), wait_s)
            return
        fault = None
        if response is not None:
            content_type = header_of(response.headers, "Content-Type")
            answer = await self.answers.read(response.body, content_type, host=authority_of(response.url))
            fault = page_fault(answer)
            if answer.fault is not None:
                end, detail = ChainEnd.UNDETERMINED, f"the answer was not read: {answer.fault}"
        record = memento_record(under_way.wanted, self._timegate, ArchiveAnswer(hops, end, detail, fault))
        record = replace(record, hops=(*under_way.earlier, *record.hops))
        self.recorder.add(record, SettledEntry(self.name, under_way.entry.crawl_request.canonical))
        yield self.redact(record)
