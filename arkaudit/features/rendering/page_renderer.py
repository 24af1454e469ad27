"""Renders the pages of app shells for a spider, and observes the results."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import shlex
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.http.cookies import CookieJar
from scrapy.http.request import NO_CALLBACK

from arkaudit.features.rendering.page_requests import (
    REQUEST_BYTES,
    PageRequest,
    fault_of_answer,
    short,
    why_not_requested,
)
from arkaudit.features.rendering.page_visit import (
    CLOSING_S,
    BrowserFault,
    Fetch,
    PageAnswer,
    PageVisit,
    ShownPage,
    finishes_within,
    first_line,
)
from crawler.answers.answer_reading import AnswerReader
from crawler.answers.likeness import same_answer
from crawler.model.observations import Chain, ChainEnd, Observation, Question, Rendering
from crawler.model.resolving import SUCCESSES, Follow, next_step
from crawler.wire.credentialed import sessions_of
from crawler.wire.failures import body_faults
from crawler.wire.middlewares import chain_of
from extractors.model.urls import authority_of, origin_of

if TYPE_CHECKING:
    from playwright.async_api import Browser, Playwright

    from arkaudit.features.rendering.section import Render


# -- fetches the requests of rendered pages through the same guard, robots.txt and throttle as all others


#: The number of bytes of scripts that are cached for later pages.
KEPT_BYTES = 64 * 2**20


class PageFetcher:
    """Fetches the requests of a run's pages; each script is requested once."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._sessions = sessions_of(crawler)
        self._max_hops = crawler.settings.getint("ARKAUDIT_MAX_HOPS")
        self._scripts: dict[str, asyncio.Task[PageAnswer]] = {}
        self._kept_bytes = 0

    async def fetch(self, page_request: PageRequest, limit: int, *, page_url: str, jar: CookieJar) -> PageAnswer:
        """Return the answer to *page_request* of the page at *page_url*, with cookies in *jar*, up to *limit* bytes."""
        if page_request.kind != "script":
            return await self._answer(page_request, limit, page_url, jar)
        script = self._scripts.get(page_request.url)
        if script is not None:
            cached_answer = await asyncio.shield(script)  # no request is sent for this page
            return replace(cached_answer, hops=tuple(replace(hop, sent=False) for hop in cached_answer.hops))
        task = self._scripts[page_request.url] = asyncio.ensure_future(
            self._answer(page_request, REQUEST_BYTES, page_url, jar)
        )
        answer = await asyncio.shield(task)
        self._kept_bytes += len(answer.body)
        if answer.fault is not None or self._kept_bytes > KEPT_BYTES:
            self._kept_bytes -= len(answer.body)
            self._scripts.pop(page_request.url, None)
        return answer

    async def _answer(self, page_request: PageRequest, limit: int, page_url: str, jar: CookieJar) -> PageAnswer:
        engine = self._crawler.engine
        assert engine is not None
        url = page_request.url.partition("#")[0]
        hops: Chain = ()
        while True:
            why_not = why_not_requested(url)
            is_elsewhere = origin_of(url) != origin_of(page_url)
            if why_not is None and is_elsewhere and self._sessions.find(url) is not None:
                # Contents that a host shows only to the operator are not for the pages of others.
                message = "a page of another host may not use your credentials for this host"
                why_not = f"{short(url)}: {message}"
            if why_not is not None:
                return PageAnswer(hops=hops, fault=why_not)
            request = self._request(url, page_request, limit, jar)
            response = None
            with suppress(Exception):  # the chain says why there is no answer
                response = await engine.download_async(request)
            last_request = request if response is None else response.request or request
            request_hops, end, detail = chain_of(last_request)
            hops = (*hops, *request_hops)
            if response is None:
                return PageAnswer(hops=hops, fault=fault_of_answer(url, end, detail, None))
            urls = [hop.url for hop in hops]
            step = next_step(urls, response.status, hops[-1].location, max_hops=self._max_hops)
            if isinstance(step, Follow):
                url = step.url
                continue
            fault = fault_of_answer(url, step.end, step.detail, response.status)
            body_fault = next(body_faults(response.flags, len(response.body)), None)
            if fault is None and body_fault is not None:
                fault = f"{short(url)}: {body_fault.detail}"
            status = response.status if step.end is ChainEnd.ANSWERED else 0
            return PageAnswer(status, headers_of(response), response.body, hops, fault)

    def _request(self, url: str, page_request: PageRequest, limit: int, jar: CookieJar) -> Request:
        header_names = ("accept", "x-requested-with")
        headers = {name: page_request.headers[name] for name in header_names if name in page_request.headers}
        if page_request.asking_origin is not None:
            headers["Origin"] = page_request.asking_origin
        meta = {"verbatim_url": True, "body_limit": limit, "dont_redirect": True, "jar": jar}
        return Request(url, headers=headers, meta=meta, dont_filter=True, callback=NO_CALLBACK)


def headers_of(response: Response) -> Mapping[str, str]:
    """Return the headers of an answer, with names in lower case."""
    return {
        name.decode("latin-1").lower(): b", ".join(values).decode("latin-1")
        for name, values in response.headers.items()
    }


# -- a Chromium that opens no connection: each request of a page is intercepted and answered here


logger = logging.getLogger(__name__)

#: The largest memory of each process of the browser, in bytes; if a page needs more, its scripts fail or it crashes.
MEMORY_BYTES = 2 * 2**30
#: The number of pages rendered at a time.
PAGES = 4
#: Seconds for the start of a browser.
STARTING_S = 60.0
_FLAGS = (
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--proxy-server=http://nowhere.invalid:9",
    "--proxy-bypass-list=<-loopback>",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-quic",
    "--dns-prefetch-disable",
    "--no-pings",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--js-flags=--max-old-space-size=512",
)
#: The environment variables passed to a browser; others may hold secrets.
_PASSED_VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "FONTCONFIG_FILE")


class Chromium:
    """A browser that is started for the first page, and again if it has died."""

    def __init__(self, program: Path, limits: Render) -> None:
        self._program = program
        self._limits = limits
        self._playwright: Playwright | None = None
        self._browser: Browser | None = None
        self._starting = asyncio.Lock()
        self._pages = asyncio.Semaphore(PAGES)
        self._fault: str | None = None
        """Why it can't be started; the start is tried once."""

    async def show(self, url: str, document: PageAnswer, fetch: Fetch) -> ShownPage:
        """Return the rendered *document* of *url*; its requests are answered by *fetch*."""
        async with self._pages:
            for is_last in (False, True):
                browser = None
                try:
                    browser = await self._start()
                    shown_page, is_stuck = await PageVisit(url, document, fetch, self._limits).show(browser)
                except BrowserFault as fault:
                    await self._drop(browser)
                    if is_last or self._fault is not None:
                        return ShownPage(Rendering("Chromium", fault=str(fault)))
                    continue  # another page may have crashed it
                if is_stuck:
                    await self._drop(browser)
                return shown_page
        raise AssertionError("the loop returns at its second pass")

    async def _start(self) -> Browser:
        """Return the running browser, started if necessary. Raises `BrowserFault`, always after the first failure."""
        from playwright.async_api import async_playwright

        async with self._starting:
            if self._fault is not None:
                raise BrowserFault(self._fault)
            if self._browser is not None and self._browser.is_connected():
                return self._browser
            try:
                async with asyncio.timeout(STARTING_S):
                    if self._playwright is None:
                        self._playwright = await async_playwright().start()
                    with _limit_memory(self._program) as program:
                        self._browser = await self._playwright.chromium.launch(
                            executable_path=program,
                            headless=True,
                            args=_FLAGS,
                            ignore_default_args=["--disable-popup-blocking"],  # thousands of windows take memory
                            # Without a user of its own, a container lacks the means for the sandbox.
                            chromium_sandbox=os.geteuid() != 0,
                            env={name: os.environ[name] for name in _PASSED_VARIABLES if name in os.environ},
                            handle_sigint=False,
                            handle_sigterm=False,
                            handle_sighup=False,
                        )
            except Exception as failure:  # of many classes, because many things can be missing
                lacks_sandbox = "No usable sandbox" in str(failure)
                reason = (
                    "this system grants no user namespaces for its sandbox" if lacks_sandbox else first_line(failure)
                )
                self._fault = f"{self._program} could not be started: {reason}"
                logger.warning("%s; nothing is rendered", self._fault)
                raise BrowserFault(self._fault) from failure
            return self._browser

    async def _drop(self, dead_browser: Browser | None) -> None:
        """End *dead_browser*, which hangs or has died, and its connection; the next page gets a new browser."""
        if dead_browser is not self._browser:
            return
        browser, playwright = self._browser, self._playwright
        self._browser = self._playwright = None
        if browser is not None:
            await finishes_within(CLOSING_S, browser.close())
        if playwright is not None:
            await finishes_within(CLOSING_S, playwright.stop())

    async def close(self) -> None:
        """End the browser; no further page is rendered."""
        self._fault = "the run has ended"
        await self._drop(self._browser)


@contextmanager
def _limit_memory(browser: Path) -> Iterator[Path]:
    """Yield the path of a program that starts *browser* with limited memory for each process.

    On a noexec disk it is *browser* itself, without a limit.
    """
    with tempfile.TemporaryDirectory(prefix="arkaudit-") as folder:
        program = Path(folder, "browser")
        limit_command = f"ulimit -S -d {MEMORY_BYTES // 2**10} || :"
        program.write_text(f'#!/bin/sh\n{limit_command}\nexec {shlex.quote(str(browser.absolute()))} "$@"\n', "utf-8")
        program.chmod(0o700)
        yield program if os.access(program, os.X_OK) else browser


_UNSTEADY = "it changes with each rendering"


class PageRenderer:
    """The browser of a run, and the observations of the pages that it renders."""

    def __init__(self, program: Path, limits: Render, crawler: Crawler, reader: AnswerReader) -> None:
        self._chromium = Chromium(program, limits)
        self._fetcher = PageFetcher(crawler)
        self._reader = reader

    async def observe(self, observation: Observation, response: Response, stopped: asyncio.Event) -> Observation | None:
        """Return *observation* with the content of the rendered page; None if *stopped* is set before.

        Observations of other documents are returned unchanged. A control's page is rendered twice. If the renderings
        differ, a difference to another page proves nothing.
        """
        is_page = (
            observation.end is ChainEnd.ANSWERED
            and observation.status in SUCCESSES
            and "html" in (observation.media_type or "")
        )
        if not is_page or not observation.body_complete:
            return observation
        showing = asyncio.ensure_future(self._observe(observation, response))
        stopping = asyncio.ensure_future(stopped.wait())
        try:
            await asyncio.wait({showing, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
            if not showing.done():
                showing.cancel()
        return None if stopped.is_set() else await showing

    async def _observe(self, observation: Observation, response: Response) -> Observation:
        """Return *observation* with the rendered page; a control's page is rendered twice."""
        first_observation = await self._observe_once(observation, response)
        is_whole = first_observation.rendering is not None and first_observation.rendering.is_whole
        if observation.question is not Question.CONTROL_RENDERED or not is_whole:
            return first_observation
        second_observation = await self._observe_once(observation, response)
        assert first_observation.rendering is not None
        assert second_observation.rendering is not None
        requests = (*first_observation.rendering.requests, *second_observation.rendering.requests)
        fault = second_observation.rendering.fault or (
            None if same_answer(first_observation, second_observation) else _UNSTEADY
        )
        return replace(
            first_observation, rendering=replace(second_observation.rendering, requests=requests, fault=fault)
        )

    async def _observe_once(self, observation: Observation, response: Response) -> Observation:
        """Return *observation* with the content of the rendered page, or without content if rendering failed."""
        request = response.request
        jar = (request.meta.get("jar") if request is not None else None) or CookieJar()
        document = PageAnswer(response.status, headers_of(response), response.body, observation.hops)
        fetch = partial(self._fetcher.fetch, page_url=observation.final_url, jar=jar)
        shown_page = await self._chromium.show(observation.final_url, document, fetch)
        body = (shown_page.html or "").encode("utf-8", "replace")
        answer = await self._reader.read(
            body, "text/html; charset=utf-8", observation.ark, host=authority_of(observation.final_url)
        )
        fault = shown_page.rendering.fault or answer.fault
        return replace(
            observation,
            hops=(*observation.hops, *shown_page.documents),
            title=answer.title,
            text=answer.text,
            body_bytes=len(body),
            body_sha256=hashlib.sha256(body).hexdigest() if body else None,
            record=answer.record,
            similarity=answer.similarity,
            facts=answer.facts,
            rendering=replace(shown_page.rendering, fault=fault),
        )

    async def close(self) -> None:
        """End the browser."""
        await self._chromium.close()
