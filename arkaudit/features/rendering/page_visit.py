"""Visits one page in a browser: from its fetched document to the result of its scripts.

The page's clock stops while it waits for answers, so that neither a slow host nor the throttle changes the result.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from arkaudit.features.rendering.page_requests import (
    MOST_DOCUMENTS,
    REQUEST_BYTES,
    PageRequest,
    Treatment,
    headers_for_browser,
    may_read,
    short,
    treatment,
)
from crawler.answers.answer import read_answer
from crawler.answers.likeness import same_page
from crawler.model.observations import Chain, Hop, Rendering
from extractors.model.budget import OverBudget, cpu_limit

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, CDPSession, Frame, Page, Request, Route, WebSocketRoute

    from arkaudit.features.rendering.section import Render

logger = logging.getLogger(__name__)

#: The number of requests of a page in flight at a time.
REQUESTS = 6
#: Seconds of the page's own clock, which stops while it waits, between two looks; and seconds of real time for drawing
#: and workers. The page is finished if two looks give the same, and has no end after `LOOKS` different ones.
SCRIPTS_S, DRAWING_S = 5, 0.25
LOOKS = 6
#: Seconds of CPU time for the comparison of two states of a page.
COMPARING_CPU_S = 2.0
#: The number of characters read of a rendered page.
SHOWN_CHARS = 2**21
#: Seconds for closing a page or a browser.
CLOSING_S = 10.0
#: The longest delay in seconds between the end of a page and the notice of its browser's end.
ENDING_S = 5.0
#: Seconds after which a page is given up.
LONGEST_S = 900.0
_LOOK_S = 0.05
#: Removes the ways of communication that can't be intercepted as requests. It also runs animation frames by the page's
#: own clock, which may run through five seconds before the first is drawn.
_PREPARATION = """
for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "WebTransport", "SharedWorker"]) {
  try { delete globalThis[name]; } catch {}
}
globalThis.requestAnimationFrame = (draw) => setTimeout(() => draw(performance.now()), 16);
globalThis.cancelAnimationFrame = (id) => clearTimeout(id);
globalThis.requestIdleCallback = (work) => setTimeout(() => work({didTimeout: false, timeRemaining: () => 40}), 1);
globalThis.cancelIdleCallback = (id) => clearTimeout(id);
"""
#: Reads the rendered tree, with the contents of open shadow roots in place of their hosts' children, which are in their
#: slots; without shadow roots, the markup. The copy has no window, so that no script in it runs.
_READING = """
(() => {
  const page = document.documentElement;
  if (!page) return "";
  if (![...document.querySelectorAll("*")].some((each) => each.shadowRoot)) return page.outerHTML;
  const apart = document.implementation.createHTMLDocument("");
  const shown = (node) => {
    const copy = apart.importNode(node, false);
    const assigned = node.localName === "slot" ? node.assignedNodes() : [];
    const content = assigned.length ? assigned : (node.shadowRoot || node).childNodes;
    for (const each of content) if (each.localName !== "noscript") copy.append(shown(each));
    return copy;
  };
  return shown(page).outerHTML;
})()
"""
_FAILED_BEFORE_ROUTING = re.compile(r"ERR_(?:PROXY|TUNNEL|NAME_NOT|INTERNET)")


@dataclass(frozen=True, slots=True)
class PageAnswer:
    """The answer to a request of a page."""

    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    """With names in lower case."""
    body: bytes = b""
    hops: Chain = ()
    fault: str | None = None
    """The reason why the answer is missing, or may differ from a browser's answer."""


#: Fetches the answer to a request, up to the given number of bytes.
Fetch = Callable[[PageRequest, int], Awaitable[PageAnswer]]


@dataclass(frozen=True, slots=True)
class ShownPage:
    """A page as rendered, complete or not."""

    rendering: Rendering
    html: str | None = None
    documents: Chain = ()
    """The documents that the page led to by itself, with redirects."""


class PageFault(Exception):
    """Raised if a page can't be finished; the message is the reason."""


class BrowserFault(Exception):
    """Raised if there is no browser, or if it has ended."""


class PageVisit:
    """One visit of a page, from its document to its final state."""

    def __init__(self, url: str, document: PageAnswer, fetch: Fetch, limits: Render) -> None:
        self._url = url
        self._fetch = fetch
        self._limits = limits
        self._ready: dict[str, PageAnswer] = {_without_fragment(url): document}
        """Documents that are available before the page requests them."""
        self._hops: list[Hop] = []
        self._documents: list[Hop] = []
        self._lacking: dict[str, None] = {}
        self._left_out = self._asked = self._bytes = self._pending = self._visits = 0
        self._turns = asyncio.Semaphore(REQUESTS)
        self._page: Page | None = None
        self._is_over = asyncio.Event()
        """Set when the virtual time of the page has run down."""
        self._is_arriving = False
        """True from the delivery of a document until the browser has it."""
        self._has_crashed = self._is_closed = False
        self._clock: CDPSession | None = None

    async def show(self, browser: Browser) -> tuple[ShownPage, bool]:
        """Return the rendered page, and True if the page does not close, so that *browser* must end.

        Raises `BrowserFault`.
        """
        from playwright.async_api import Error

        name = f"Chromium {browser.version}"
        try:
            context = await browser.new_context(
                service_workers="block",
                accept_downloads=False,
                locale="en-US",
                timezone_id="UTC",
                reduced_motion="reduce",
            )
        except Exception as failure:
            raise BrowserFault(first_line(failure)) from failure
        html, fault = None, None
        try:
            async with asyncio.timeout(LONGEST_S):
                html = await self._visit(context)
        except TimeoutError:
            fault = f"it did not finish in {LONGEST_S:g} s"
        except (PageFault, Error) as failure:
            if await self._has_ended(browser):
                raise BrowserFault("the browser ended while it showed the page") from failure
            fault = first_line(failure)
        except Exception as failure:  # raised if the process between playwright and the browser has died
            raise BrowserFault(first_line(failure)) from failure
        finally:
            is_stuck = not await finishes_within(CLOSING_S, context.close())
        rendering = Rendering(name, tuple(self._hops), tuple(self._lacking), self._left_out, fault)
        return ShownPage(rendering, html, tuple(self._documents)), is_stuck

    async def _visit(self, context: BrowserContext) -> str:
        """Open the page, read it repeatedly, and return its HTML once two successive readings are alike.

        Raises `PageFault` if they still differ after `LOOKS` readings, or if the page can't be shown.
        """
        await context.add_init_script(_PREPARATION)
        await context.route("**/*", self._on_request)
        await context.route_web_socket(re.compile(".*"), self._refuse_socket)
        page = self._page = await context.new_page()
        context.on("page", _close)
        page.on("crash", self._on_crash)
        page.on("close", self._on_close)
        page.on("framenavigated", self._on_navigation)
        page.on("requestfailed", self._on_failed_request)
        self._clock = await context.new_cdp_session(page)
        self._clock.on("Emulation.virtualTimeBudgetExpired", lambda _: self._is_over.set())
        async with self._limit_time():
            await page.goto(self._url, wait_until="commit", timeout=0)
        html = None
        for _ in range(LOOKS):
            async with self._limit_time():
                await self._restart_clock()
            await self._wait_for_end()
            await asyncio.sleep(DRAWING_S)
            previous_html, html = html, await self._read()
            if previous_html is not None and _are_alike(previous_html, html):
                return html
        raise PageFault("its content keeps changing")

    async def _has_ended(self, browser: Browser) -> bool:
        """Return True if *browser* has ended.

        If the page is closed, wait at most `ENDING_S` for that, because the end of a browser is noticed later.
        """
        deadline = asyncio.get_running_loop().time() + (ENDING_S if self._is_closed else 0)
        while browser.is_connected() and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(_LOOK_S)
        return not browser.is_connected()

    @asynccontextmanager
    async def _limit_time(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self._limits.seconds):
                yield
        except TimeoutError:
            raise self._too_slow() from None

    def _too_slow(self) -> PageFault:
        return PageFault(f"its scripts did not finish in {self._limits.seconds:g} s")

    # -- its clock

    async def _restart_clock(self) -> None:
        assert self._clock is not None
        self._is_over.clear()
        policy = {"policy": "pauseIfNetworkFetchesPending", "budget": SCRIPTS_S * 1000}
        await self._clock.send("Emulation.setVirtualTimePolicy", policy)

    async def _wait_for_end(self) -> None:
        """Wait until the page's clock has run down and no request is open.

        Raises `PageFault` if the page crashes, closes or takes too long. Time spent on open requests does not count.
        """
        loop = asyncio.get_running_loop()
        seconds_left, visits = self._limits.seconds, self._visits
        while not self._is_over.is_set() or self._pending or self._is_arriving:
            started_s = loop.time()
            await asyncio.sleep(_LOOK_S)
            if self._has_crashed:
                raise PageFault("the process that showed it crashed")
            if self._is_closed:
                raise PageFault("it was closed while it was shown")
            if self._visits != visits:
                visits = self._visits
                async with self._limit_time():
                    await self._restart_clock()
            if not self._pending:
                seconds_left -= loop.time() - started_s
            if seconds_left <= 0:
                raise self._too_slow()

    async def _read(self) -> str:
        """Return the page's HTML, read by a script that the page's own scripts can't affect."""
        assert self._clock is not None
        async with self._limit_time():
            tree = await self._clock.send("Page.getFrameTree")
            world = await self._clock.send("Page.createIsolatedWorld", {"frameId": tree["frameTree"]["frame"]["id"]})
            parameters = {
                "expression": f"{_READING.strip()}.slice(0, {SHOWN_CHARS})",
                "contextId": world["executionContextId"],
                "returnByValue": True,
            }
            result = (await self._clock.send("Runtime.evaluate", parameters))["result"].get("value")
        if not isinstance(result, str):
            raise PageFault("its content could not be read")
        return result

    # -- events

    def _on_crash(self, page: Page) -> None:
        self._has_crashed = True

    def _on_close(self, page: Page) -> None:
        self._is_closed = True

    def _on_navigation(self, frame: Frame) -> None:
        if self._page is not None and frame is self._page.main_frame and self._is_arriving:
            self._is_arriving = False
            self._visits += 1

    def _on_failed_request(self, request: Request) -> None:
        if request.is_navigation_request():
            self._is_arriving = False
        if _FAILED_BEFORE_ROUTING.search(request.failure or ""):
            self._note_lack(f"{short(request.url)}: requested in a way that can't be intercepted")

    async def _refuse_socket(self, socket: WebSocketRoute) -> None:
        self._note_lack(f"{short(socket.url)}: a permanent connection, which is never opened")
        await _close(socket)

    def _note_lack(self, message: str) -> None:
        self._lacking[message] = None

    # -- requests

    async def _on_request(self, route: Route) -> None:
        """Answer a request of the page, whatever happens."""
        from playwright.async_api import Error

        self._pending += 1
        try:
            await self._answer_request(route)
        except Error as gone:  # the page has gone, or no longer wants the answer
            logger.debug("%s: %s", route.request.url, first_line(gone))
            await finishes_within(CLOSING_S, route.abort("failed"))
        except Exception as failure:  # the page must not wait for it
            self._note_lack(f"{short(route.request.url)}: {first_line(failure)}")
            await finishes_within(CLOSING_S, route.abort("failed"))
        finally:
            self._pending -= 1

    async def _answer_request(self, route: Route) -> None:
        """Answer a request of the page by the crawler's answer to it, or abort it."""
        request = route.request
        page_request = PageRequest(
            request.url, request.method, request.resource_type, request.headers, in_frame=not self._is_of_page(request)
        )
        is_visit = page_request.kind == "document" and page_request.method == "GET" and not page_request.in_frame
        loaded_answer = self._ready.pop(_without_fragment(page_request.url), None) if is_visit else None
        if loaded_answer is not None:
            await self._fulfill(route, page_request, loaded_answer)
            return
        decision, reason = treatment(page_request)
        if decision is Treatment.ASKED:
            reason = self._beyond_limits(page_request)
        if decision is Treatment.LEFT_OUT:
            self._left_out += 1
        elif reason:
            self._note_lack(reason)
        if decision is not Treatment.ASKED or reason:
            if page_request.kind == "stylesheet":
                await route.fulfill(status=200, headers={"content-type": "text/css"}, body="")
            else:
                await route.abort("blockedbyclient")
            return
        self._asked += 1
        async with self._turns:
            answer = await self._fetch(page_request, max(1, min(REQUEST_BYTES, self._limits.max_bytes - self._bytes)))
        self._bytes += sum(hop.body_bytes or 0 for hop in answer.hops)
        (self._documents if page_request.kind == "document" else self._hops).extend(answer.hops)
        if answer.fault is not None:
            self._note_lack(answer.fault)
        if not 200 <= answer.status < 600:
            await route.abort("failed")
        elif not may_read(page_request, answer.headers, answer.hops):
            await route.abort("accessdenied")
        elif page_request.kind == "document":
            await self._deliver_document(route, page_request, answer)
        else:
            await self._fulfill(route, page_request, answer)

    def _is_of_page(self, request: Request) -> bool:
        from playwright.async_api import Error

        try:
            frame = request.frame
        except Error:  # the request of a new window
            return False
        return self._page is None or frame is self._page.main_frame

    def _beyond_limits(self, page_request: PageRequest) -> str:
        """Return the reason why the page may send no such request any more; empty if it may."""
        limits = self._limits
        if self._asked >= limits.max_requests:
            return f"it makes more than {limits.max_requests} requests"
        if self._bytes >= limits.max_bytes:
            return f"it loads more than {limits.max_bytes:,} bytes"
        if page_request.kind == "document" and self._visits > MOST_DOCUMENTS:
            return f"it leads to more than {MOST_DOCUMENTS} other pages, one after the other"
        return ""

    async def _deliver_document(self, route: Route, page_request: PageRequest, answer: PageAnswer) -> None:
        """Deliver *answer*, a document that the page leads to; after redirects, send the browser to the final URL."""
        url = answer.hops[-1].url if answer.hops else page_request.url
        if _without_fragment(url) == _without_fragment(page_request.url):
            await self._fulfill(route, page_request, answer)
            return
        self._ready[_without_fragment(url)] = answer
        target = json.dumps(url).replace("<", "\\u003c")
        body = f"<script>location.replace({target} + location.hash)</script>"
        await route.fulfill(status=200, headers={"content-type": "text/html"}, body=body)

    async def _fulfill(self, route: Route, page_request: PageRequest, answer: PageAnswer) -> None:
        if page_request.kind == "document":
            self._is_arriving = True
        await route.fulfill(status=answer.status, headers=headers_for_browser(answer.headers), body=answer.body)


async def _close(closable: Page | WebSocketRoute) -> None:
    await finishes_within(CLOSING_S, closable.close())


def _are_alike(earlier_html: str, later_html: str) -> bool:
    """Return True if two states of a page differ in clocks and counters at most.

    Raises `PageFault` if the comparison takes more than `COMPARING_CPU_S`.
    """
    if earlier_html == later_html:
        return True
    try:
        with cpu_limit(COMPARING_CPU_S):
            earlier_answer, later_answer = (
                read_answer(text.encode("utf-8", "replace"), "text/html; charset=utf-8")
                for text in (earlier_html, later_html)
            )
            return earlier_answer.similarity == later_answer.similarity or same_page(
                earlier_answer.text, later_answer.text
            )
    except OverBudget:
        raise PageFault(f"its text could not be compared within {COMPARING_CPU_S:g} s of CPU time") from None


def _without_fragment(url: str) -> str:
    return url.partition("#")[0]


def first_line(failure: BaseException) -> str:
    """Return the first line of a failure's message, or the name of its class."""
    return short(next(iter(str(failure).splitlines()), "") or type(failure).__name__)


async def finishes_within(seconds: float, work: Awaitable[object]) -> bool:
    """Wait for *work* and ignore its errors; return False if it takes more than *seconds*."""
    try:
        async with asyncio.timeout(seconds):
            with suppress(Exception):
                await work
    except TimeoutError:
        return False
    return True
