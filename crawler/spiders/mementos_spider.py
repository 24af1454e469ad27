"""Searches an archive for ARKs that fail, after all verdicts (RFC 7089). It decides nothing and changes no verdict."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from scrapy import Request
from scrapy.http import Response

from crawler.answers.mementos import (
    ArchiveAnswer,
    ArchiveAsk,
    MementoRecord,
    Search,
    capture_search,
    memento_links,
    page_fault,
)
from crawler.model.crawl_requests import CrawlRequest
from crawler.model.observations import ChainEnd, Hop
from crawler.model.resolving import Patience, next_fetch
from crawler.spiders.auditing import AuditSpider
from crawler.store.feeding import Bounds
from crawler.store.frontier import FrontierEntry, SettledEntry
from crawler.verdicts.verdict import JUDGING_CPU_S, TOO_LONG_TO_JUDGE
from crawler.wire.middlewares import chain_of, header_of
from extractors.model.ark import Ark
from extractors.model.budget import OverBudget, cpu_limit
from extractors.model.urls import authority_of

#: Maximum number of open searches, all at one host.
SEARCHES = 20


@dataclass(slots=True)
class OpenSearch:
    """An open search, with its current request."""

    entry: FrontierEntry
    search: Search
    ask: ArchiveAsk
    attempt: int = 1
    earlier: list[Hop] = field(default_factory=list)
    """The hops of failed attempts."""


class MementosSpider(AuditSpider):
    """Searches archives for a copy of each ARK on its frontier; each request depends on the previous answer."""

    name = "mementos"
    exported = MementoRecord

    def __init__(self, *, timegate: str, targets: Iterable[tuple[Ark, str]], patience: Patience, **kwargs: Any) -> None:
        super().__init__(bounds=Bounds(in_hand=SEARCHES, per_host=SEARCHES), **kwargs)
        self._timegate = timegate
        self._patience = patience
        self.frontier.add(CrawlRequest.to_ark(ark, url) for ark, url in targets)

    async def begin(self) -> AsyncIterator[Request]:
        async for entry in self.feed.entries():
            search = capture_search(self.store.capture_wish(self.run_id, entry.crawl_request.url), self._timegate)
            yield self._request(OpenSearch(entry, search, next(search)))

    def _request(self, under_way: OpenSearch) -> Request:
        ask = under_way.ask
        return Request(
            ask.url,
            callback=self.handle_answer,
            errback=self.handle_failure,
            headers=ask.headers,
            cb_kwargs={"under_way": under_way},
            dont_filter=True,
            meta={"verbatim_url": True, "text_only": not ask.wants_list, "body_limit": ask.body_limit},
        )

    async def on_answer(
        self, request: Request, response: Response | None, under_way: OpenSearch
    ) -> AsyncIterator[MementoRecord | Request]:
        hops, end, detail = chain_of(request)
        wait_s = next_fetch(hops, end, under_way.attempt, self._patience)
        if wait_s is not None:
            under_way.attempt += 1
            under_way.earlier += hops
            self.ask_later(self._request(under_way), wait_s)
            return
        text, fault = "", None
        if response is not None and under_way.ask.wants_list:
            text = response.body.decode("utf-8", "replace")
            try:
                with cpu_limit(JUDGING_CPU_S):
                    memento_links(text, response.url)
            except OverBudget:
                text, end, detail = "", ChainEnd.UNDETERMINED, TOO_LONG_TO_JUDGE
        elif response is not None:
            content_type = header_of(response.headers, "Content-Type")
            host = authority_of(response.url)
            answer = await self.answers.read(response.body, content_type, host=host)
            fault = page_fault(answer)
            if answer.fault is not None:
                end, detail = ChainEnd.UNDETERMINED, f"the answer was not read: {answer.fault}"
        try:
            under_way.ask = under_way.search.send(ArchiveAnswer(hops, end, detail, text, fault))
        except StopIteration as over:
            record: MementoRecord = over.value
            record = replace(record, hops=tuple(sorted((*under_way.earlier, *record.hops), key=lambda hop: hop.at)))
            self.recorder.add(record, SettledEntry(self.name, under_way.entry.crawl_request.canonical))
            yield self.redact(record)
        else:
            under_way.attempt = 1
            yield self._request(under_way)
