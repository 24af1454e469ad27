"""Pages as a browser shows them: a Chromium that opens no connection, and has from us all that it asks for.

Here: where a browser is, how much a page may take, and what is done with each request that it makes; pure but for the
first.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from crawler.answers.quirks import is_visitor_counter
from crawler.history.ark_status import host_of
from crawler.model.observations import Chain, ChainEnd
from crawler.model.resolving import names_skipped_ark, url_fault

#: Under which names a Chromium is installed. The first has no windows at all, and starts in a third of the time.
NAMES = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
)
#: Where `playwright install chromium` puts its own.
_OF_PLAYWRIGHT = (
    "chromium_headless_shell-*/chrome-headless-shell-*/chrome-headless-shell",
    "chromium-*/chrome-linux*/chrome",
    "chromium-*/chrome-mac*/Chromium.app/Contents/MacOS/Chromium",
)


@dataclass(frozen=True, slots=True)
class PageLimits:
    """How much one page may take; what is beyond that is not asked for, and the page is not whole then."""

    requests: int = 60
    bytes: int = 20 * 2**20
    """Of all that it asks for, as it is sent."""
    seconds: float = 30.0
    """Of its own work, without the time in which it waits for what it has asked for."""


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """The browser that shows pages, and the limits of each."""

    browser: Path
    limits: PageLimits = PageLimits()


def find_browser(named: Path | None = None) -> Path | None:
    """The Chromium to be used: the one that was *named*, or that is installed; None where there is none."""
    if named is not None:
        program = shutil.which(named)
        return None if program is None else Path(program)
    installed = next((path for path in map(shutil.which, NAMES) if path), None)
    if installed is not None:
        return Path(installed)
    folder = Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or Path.home() / ".cache" / "ms-playwright")
    return next((path for pattern in _OF_PLAYWRIGHT for path in sorted(folder.glob(pattern), reverse=True)), None)


# -- the requests of a page

#: Documents that a page may lead to by itself, one after the other.
MOST_DOCUMENTS = 5
#: The most of one thing that a page asks for, in bytes on the wire.
REQUEST_BYTES = 8 * 2**20
#: Characters of a URL in the words for what a page lacks.
_URL_CHARS = 300
#: What bears on no text. Styles are answered with an empty one: some pages wait for theirs.
_WITHOUT_TEXT = frozenset(
    {"image", "media", "font", "texttrack", "manifest", "ping", "cspviolationreport", "cspreport", "stylesheet"}
)
#: Statuses that say more about us, or about the moment, than about what was asked for.
_ABOUT_US = frozenset({401, 403, 407, 408, 425, 429, 451, 999})
#: Headers of an answer that the browser needs; what was packed is unpacked by then, and cookies stay with us.
_PASSED_ON = (
    "content-type", "content-language", "content-disposition", "content-security-policy", "x-content-type-options",
    "access-control-allow-origin", "access-control-allow-credentials", "access-control-expose-headers",
)  # fmt: skip


class Treatment(StrEnum):
    """What becomes of a request."""

    ASKED = "asked"
    LEFT_OUT = "left out"
    """It bears on no text."""
    WITHHELD = "withheld"
    """It may bear on what is shown, and is none that we make: the page is not whole without it."""


@dataclass(frozen=True, slots=True)
class PageRequest:
    """One request of a page."""

    url: str
    method: str
    kind: str
    """As the browser calls it: document, script, fetch, xhr, image …"""
    headers: Mapping[str, str]
    """Names in lower case."""
    in_frame: bool = False
    """Whether a frame within the page asks, and not the page."""

    @property
    def origin(self) -> str:
        """The origin of what is asked for."""
        return origin(self.url)

    @property
    def asking_origin(self) -> str | None:
        """The origin of the page, where the browser compares it with that of what is asked for (CORS)."""
        asking = self.headers.get("origin")
        return asking if asking is not None and asking != self.origin else None


def origin(url: str) -> str:
    """Scheme, host and port of a URL as a browser writes them.

    >>> origin("https://Api.example:443/x?y"), origin("http://api.example:8080/")
    ('https://api.example', 'http://api.example:8080')
    """
    host = host_of(url)
    return f"{url.partition(':')[0].lower()}://{host}" if host else ""


def treatment(asked: PageRequest) -> tuple[Treatment, str]:
    """Return what becomes of a request of a page, and why it is withheld, if it is.

    >>> treatment(PageRequest("https://x.example/api", "POST", "fetch", {}))
    (<Treatment.WITHHELD: 'withheld'>, 'POST https://x.example/api: nothing but GET is sent for a page')
    """
    if asked.kind in _WITHOUT_TEXT or asked.in_frame or "prefetch" in asked.headers.get("sec-purpose", ""):
        return Treatment.LEFT_OUT, ""
    if is_visitor_counter(asked.url) or asked.url.partition("?")[0].endswith("/favicon.ico"):
        return Treatment.LEFT_OUT, ""
    shown = short(asked.url)
    if asked.kind in ("websocket", "eventsource"):
        return Treatment.WITHHELD, f"{shown}: a connection that stays open, which is not made"
    if asked.method != "GET":
        return Treatment.WITHHELD, f"{asked.method} {shown}: nothing but GET is sent for a page"
    why_not = url_not_asked(asked.url)
    return (Treatment.ASKED, "") if why_not is None else (Treatment.WITHHELD, why_not)


def url_not_asked(url: str) -> str | None:
    """Return why a URL is not asked for, no matter who wants it; None where it is."""
    if not url.lower().startswith(("http://", "https://")):
        return f"{short(url)}: neither http nor https"
    if (fault := url_fault(url)) is not None:
        return short(fault)
    if names_skipped_ark(url):
        return f"{short(url)}: an example or a test, which is never requested"
    return None


def fault_of_answer(url: str, end: ChainEnd, detail: str, status: int | None) -> str | None:
    """Return why what came for a request may be something else than what a browser gets; None where it is not.

    >>> fault_of_answer("https://x.example/api", ChainEnd.ANSWERED, "", 404) is None
    True
    >>> fault_of_answer("https://x.example/api", ChainEnd.ANSWERED, "", 503)
    'https://x.example/api: answered 503'
    """
    if end is not ChainEnd.ANSWERED or status is None:
        return f"{short(url)}: {end.value}{': ' if detail else ''}{short(detail)}"
    return f"{short(url)}: answered {status}" if status in _ABOUT_US or status >= 500 else None


def passed_on(headers: Mapping[str, str]) -> dict[str, str]:
    """Return what a browser gets of the headers of an answer, whose names are in lower case."""
    return {name: headers[name] for name in _PASSED_ON if name in headers}


def may_read(asked: PageRequest, headers: Mapping[str, str], hops: Chain) -> bool:
    """Return whether a page may see an answer with these headers at all, where it comes from another origin.

    Its browser would compare the values; here it gets the answer as if no redirect had led to it.
    """
    if asked.kind not in ("fetch", "xhr"):
        return True
    led_away = any(origin(hop.url) != asked.origin for hop in hops)
    return "access-control-allow-origin" in headers or not (led_away or asked.asking_origin is not None)


def short(words: str) -> str:
    """*words*, cut where they are long."""
    return words if len(words) <= _URL_CHARS else f"{words[:_URL_CHARS]}…"
