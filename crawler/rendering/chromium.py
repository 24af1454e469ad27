"""A Chromium that shows pages and opens no connection: each request of a page is taken over, and answered by us.

What is not taken over, by a way that nobody has thought of, gets nowhere: no name has an address for it, and its proxy
is one of those.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shlex
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from crawler.model.observations import Rendering
from crawler.rendering.options import RenderOptions
from crawler.rendering.page_visit import (
    CLOSING_S,
    BrowserFault,
    Fetch,
    PageAnswer,
    PageVisit,
    ShownPage,
    ended_within,
    first_line,
)

if TYPE_CHECKING:
    from playwright.async_api import Browser, Playwright

logger = logging.getLogger(__name__)

#: Bytes of memory of each process of the browser; a page that wants more has its scripts fail, or crashes.
MEMORY_BYTES = 2 * 2**30
#: Pages that are shown at a time.
PAGES = 4
#: Seconds in which a browser starts.
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
#: What a browser is told of the environment: no secret that stands there for us.
_TOLD = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "FONTCONFIG_FILE")


class Chromium:
    """A browser that is started when the first page is to be shown, and anew when it has died of one."""

    def __init__(self, options: RenderOptions) -> None:
        self._options = options
        self._playwright: Playwright | None = None
        self._browser: Browser | None = None
        self._starting = asyncio.Lock()
        self._pages = asyncio.Semaphore(PAGES)
        self._fault: str | None = None
        """Why it can't be started: that is tried once."""

    async def show(self, url: str, document: PageAnswer, fetch: Fetch) -> ShownPage:
        """The *document* at *url*, shown; what it asks for is had by *fetch*."""
        async with self._pages:
            for is_last in (False, True):
                browser = None
                try:
                    browser = await self._started()
                    shown, is_stuck = await PageVisit(url, document, fetch, self._options).shown(browser)
                except BrowserFault as fault:
                    await self._drop(browser)
                    if is_last or self._fault is not None:
                        return ShownPage(Rendering("Chromium", fault=str(fault)))
                    continue  # another page may have taken it down
                if is_stuck:
                    await self._drop(browser)
                return shown
        raise AssertionError("the second time is the last")

    async def _started(self) -> Browser:
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
                    with _bounded(self._options.browser) as program:
                        self._browser = await self._playwright.chromium.launch(
                            executable_path=program,
                            headless=True,
                            args=_FLAGS,
                            ignore_default_args=["--disable-popup-blocking"],  # thousands of windows are some memory
                            # A container without a user of its own has none of what the sandbox is made of.
                            chromium_sandbox=os.geteuid() != 0,
                            env={name: os.environ[name] for name in _TOLD if name in os.environ},
                            handle_sigint=False,
                            handle_sigterm=False,
                            handle_sighup=False,
                        )
            except Exception as failure:  # of many kinds, as is what can be missing
                is_sandboxs = "No usable sandbox" in str(failure)
                why = "this system grants no user namespaces for its sandbox" if is_sandboxs else first_line(failure)
                self._fault = f"{self._options.browser} could not be started: {why}"
                logger.warning("%s; nothing is rendered", self._fault)
                raise BrowserFault(self._fault) from failure
            return self._browser

    async def _drop(self, which: Browser | None) -> None:
        """End a browser that hangs, or has died, with whatever speaks to it; the next page has a new one."""
        if which is not self._browser:
            return
        browser, playwright = self._browser, self._playwright
        self._browser = self._playwright = None
        if browser is not None:
            await ended_within(CLOSING_S, browser.close())
        if playwright is not None:
            await ended_within(CLOSING_S, playwright.stop())

    async def close(self) -> None:
        """End it; nothing is shown any more."""
        self._fault = "the run has ended"
        await self._drop(self._browser)


@contextmanager
def _bounded(browser: Path) -> Iterator[Path]:
    """A program that starts *browser* with a bound on the memory of each of its processes, where files can be run."""
    with tempfile.TemporaryDirectory(prefix="arkaudit-") as folder:
        program = Path(folder, "browser")
        bound = f"ulimit -S -d {MEMORY_BYTES // 2**10} || :"
        program.write_text(f'#!/bin/sh\n{bound}\nexec {shlex.quote(str(browser.absolute()))} "$@"\n', "utf-8")
        program.chmod(0o700)
        yield program if os.access(program, os.X_OK) else browser
