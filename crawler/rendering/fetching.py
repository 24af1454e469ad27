"""Gets what shown pages ask for: each request goes the way of all others, through guard, robots.txt and throttle."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.http.cookies import CookieJar
from scrapy.http.request import NO_CALLBACK

from crawler.model.observations import ChainEnd, Hop
from crawler.model.resolving import Follow, next_step
from crawler.rendering.page_requests import REQUEST_BYTES, PageRequest, fault_of_answer, origin, short, url_not_asked
from crawler.rendering.page_visit import PageAnswer, with_kept
from crawler.wire.flags import incomplete
from crawler.wire.middlewares import chain_of
from crawler.wire.sessions import sessions_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

#: Bytes of scripts that are kept, for the pages behind the first that asks for them.
KEPT_BYTES = 64 * 2**20


class PageFetcher:
    """What pages of one run ask for; scripts are asked for once."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._sessions = sessions_of(crawler)
        self._max_hops = crawler.settings.getint("ARKAUDIT_MAX_HOPS")
        self._scripts: dict[str, asyncio.Task[PageAnswer]] = {}
        self._kept_bytes = 0

    async def fetch(self, asked: PageRequest, limit: int, *, page_url: str, jar: CookieJar) -> PageAnswer:
        """What comes for a request of the page at *page_url*, whose cookies are in *jar*, in *limit* bytes at most."""
        if asked.kind != "script":
            return await self._answer(asked, limit, page_url, jar)
        known = self._scripts.get(asked.url)
        if known is not None:
            return with_kept(await asyncio.shield(known))
        task = self._scripts[asked.url] = asyncio.ensure_future(self._answer(asked, REQUEST_BYTES, page_url, jar))
        answer = await asyncio.shield(task)
        self._kept_bytes += len(answer.body)
        if answer.fault is not None or self._kept_bytes > KEPT_BYTES:
            self._kept_bytes -= len(answer.body)
            self._scripts.pop(asked.url, None)
        return answer

    async def _answer(self, asked: PageRequest, limit: int, page_url: str, jar: CookieJar) -> PageAnswer:
        url = asked.url.partition("#")[0]
        hops: tuple[Hop, ...] = ()
        while True:
            why_not = url_not_asked(url) or self._why_not_sent(url, page_url)
            if why_not is not None:
                return PageAnswer(hops=hops, fault=why_not)
            request = self._request(url, asked, limit, jar)
            response = await self._downloaded(request)
            own, end, detail = chain_of(request if response is None else response.request or request)
            hops = (*hops, *own)
            if response is None:
                return PageAnswer(hops=hops, fault=fault_of_answer(url, end, detail, None))
            location = hops[-1].location
            step = next_step([hop.url for hop in hops], response.status, location, max_hops=self._max_hops)
            if isinstance(step, Follow):
                url = step.url
                continue
            return _answer_of(response, url, hops, step.end, step.detail)

    def _request(self, url: str, asked: PageRequest, limit: int, jar: CookieJar) -> Request:
        named = ("accept", "x-requested-with")
        headers = {name: asked.headers[name] for name in named if name in asked.headers}
        if asked.asking_origin is not None:
            headers["Origin"] = asked.asking_origin
        meta = {"verbatim_url": True, "body_limit": limit, "dont_redirect": True, "jar": jar}
        return Request(url, headers=headers, meta=meta, dont_filter=True, callback=NO_CALLBACK)

    async def _downloaded(self, request: Request) -> Response | None:
        """The answer; None where there is none: its chain says why."""
        engine = self._crawler.engine
        assert engine is not None
        try:
            return await engine.download_async(request)
        except Exception:  # of any kind, as an errback would have it
            return None

    def _why_not_sent(self, url: str, page_url: str) -> str | None:
        """Return why a page can't have what it asks for: what a host shows to us alone is for no page of others."""
        if origin(url) != origin(page_url) and self._sessions.find(url) is not None:
            return f"{short(url)}: a page of another host may not ask a host of ours that knows us"
        return None


def _answer_of(response: Response, url: str, hops: tuple[Hop, ...], end: ChainEnd, detail: str) -> PageAnswer:
    fault = fault_of_answer(url, end, detail, response.status)
    lost = next(incomplete(response.flags, len(response.body)), None)
    if fault is None and lost is not None:
        fault = f"{short(url)}: {lost.detail}"
    status = response.status if end is ChainEnd.ANSWERED else 0
    return PageAnswer(status, headers_of(response), response.body, hops, fault)


def headers_of(response: Response) -> Mapping[str, str]:
    """The headers of an answer, under names in lower case."""
    return {
        name.decode("latin-1").lower(): b", ".join(values).decode("latin-1")
        for name, values in response.headers.items()
    }
