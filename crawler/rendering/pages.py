"""The pages of app shells, shown by a browser for a spider, and what is observed of them."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from scrapy.http.cookies import CookieJar

from crawler.answers.answer import read_answer
from crawler.answers.likeness import same_answer
from crawler.model.observations import ChainEnd, Observation, Question
from crawler.model.resolving import SUCCESSES
from crawler.rendering.chromium import Chromium
from crawler.rendering.fetching import PageFetcher, headers_of
from crawler.rendering.options import RenderOptions
from crawler.rendering.page_visit import PageAnswer, ShownPage

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

#: Questions that a browser answers.
RENDERED = frozenset({Question.RENDERED, Question.CONTROL_RENDERED})
_UNSTEADY = "shown twice, it is another page each time"


class PageRenderer:
    """The browser of a run, and what it has shown."""

    def __init__(self, crawler: Crawler, options: RenderOptions) -> None:
        self._chromium = Chromium(options)
        self._fetcher = PageFetcher(crawler)

    async def observed(self, seen: Observation, response: Response, stopped: asyncio.Event) -> Observation | None:
        """What a browser shows of the page that was *seen*; None where the run is *stopped* before it has.

        What is no page stays as it was seen. A control's page is shown twice: where it changes by itself, that another
        page differs from it proves nothing.
        """
        is_page = seen.end is ChainEnd.ANSWERED and seen.status in SUCCESSES and "html" in (seen.media_type or "")
        if not is_page or not seen.body_complete:
            return seen
        showing = asyncio.ensure_future(self._observed(seen, response))
        stopping = asyncio.ensure_future(stopped.wait())
        try:
            await asyncio.wait({showing, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
            if not showing.done():
                showing.cancel()
        return None if stopped.is_set() else await showing

    async def _observed(self, seen: Observation, response: Response) -> Observation:
        first = as_shown(seen, await self._shown(seen, response))
        is_whole = first.rendering is not None and first.rendering.is_whole
        if seen.question is not Question.CONTROL_RENDERED or not is_whole:
            return first
        again = as_shown(seen, await self._shown(seen, response))
        assert first.rendering is not None
        assert again.rendering is not None
        requests = (*first.rendering.requests, *again.rendering.requests)
        fault = again.rendering.fault or (None if same_answer(first, again) else _UNSTEADY)
        return replace(first, rendering=replace(again.rendering, requests=requests, fault=fault))

    async def _shown(self, seen: Observation, response: Response) -> ShownPage:
        request = response.request
        jar = (request.meta.get("jar") if request is not None else None) or CookieJar()
        document = PageAnswer(response.status, headers_of(response), response.body, seen.hops)
        fetch = partial(self._fetcher.fetch, page_url=seen.final_url, jar=jar)
        return await self._chromium.show(seen.final_url, document, fetch)

    async def close(self) -> None:
        """End the browser."""
        await self._chromium.close()


def as_shown(seen: Observation, shown: ShownPage) -> Observation:
    """The observation of a page as a browser has shown it; without anything of the page where it was not shown."""
    body = (shown.html or "").encode("utf-8", "replace")
    answer = read_answer(body, "text/html; charset=utf-8", seen.ark)
    return replace(
        seen,
        hops=(*seen.hops, *shown.documents),
        media_type=seen.media_type,
        title=answer.title,
        text=answer.text,
        body_bytes=len(body),
        body_sha256=hashlib.sha256(body).hexdigest() if body else None,
        record=answer.record,
        similarity=answer.similarity,
        facts=answer.facts,
        rendering=shown.rendering,
    )
