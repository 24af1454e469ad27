"""Decides about each request of a page that a browser renders. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from crawler.answers.quirks import is_visitor_counter
from crawler.model.observations import Chain, ChainEnd
from crawler.model.resolving import REFUSING_STATUSES, names_skipped_ark, url_fault
from extractors.model.urls import is_web_url, origin_of

#: The number of documents that a page may lead to by itself.
MOST_DOCUMENTS = 5
#: The largest size of one answer to a page, in bytes on the wire.
REQUEST_BYTES = 8 * 2**20
#: The number of characters of a URL in the description of a missing part.
_URL_CHARS = 300
#: Kinds of requests without effect on text. Styles get an empty answer, because some pages wait for them.
_WITHOUT_TEXT = frozenset(
    {"image", "media", "font", "texttrack", "manifest", "ping", "cspviolationreport", "cspreport", "stylesheet"}
)
#: Statuses that depend on the client or the moment rather than on the resource.
_CLIENT_STATUSES = REFUSING_STATUSES | {408, 425}
#: Headers that the browser needs. Bodies are already decompressed, and cookies are kept outside the browser.
_BROWSER_HEADERS = (
    "content-type", "content-language", "content-disposition", "content-security-policy", "x-content-type-options",
    "access-control-allow-origin", "access-control-allow-credentials", "access-control-expose-headers",
)  # fmt: skip


class Treatment(StrEnum):
    """The decision about a request."""

    ASKED = "asked"
    LEFT_OUT = "left out"
    """The request has no effect on text."""
    WITHHELD = "withheld"
    """The request may affect the page, but is not sent; the page is incomplete."""


@dataclass(frozen=True, slots=True)
class PageRequest:
    """One request of a page."""

    url: str
    method: str
    kind: str
    """The browser's name for the kind: document, script, fetch, xhr, image …"""
    headers: Mapping[str, str]
    """With names in lower case."""
    in_frame: bool = False
    """True for a request from a frame within the page."""

    @property
    def origin(self) -> str:
        """The origin of the requested URL."""
        return origin_of(self.url)

    @property
    def asking_origin(self) -> str | None:
        """The origin of the page if it differs from that of the requested URL (CORS), else None."""
        origin_header = self.headers.get("origin")
        return origin_header if origin_header is not None and origin_header != self.origin else None


def treatment(request: PageRequest) -> tuple[Treatment, str]:
    """Return the decision about a request of a page, with the reason if it is withheld.

    >>> treatment(PageRequest("https://x.example/api", "POST", "fetch", {}))
    (<Treatment.WITHHELD: 'withheld'>, 'POST https://x.example/api: only GET is sent for a page')
    """
    if request.kind in _WITHOUT_TEXT or request.in_frame or "prefetch" in request.headers.get("sec-purpose", ""):
        return Treatment.LEFT_OUT, ""
    if is_visitor_counter(request.url) or request.url.partition("?")[0].endswith("/favicon.ico"):
        return Treatment.LEFT_OUT, ""
    short_url = short(request.url)
    if request.kind in ("websocket", "eventsource"):
        return Treatment.WITHHELD, f"{short_url}: a permanent connection, which is never opened"
    if request.method != "GET":
        return Treatment.WITHHELD, f"{request.method} {short_url}: only GET is sent for a page"
    why_not = why_not_requested(request.url)
    return (Treatment.ASKED, "") if why_not is None else (Treatment.WITHHELD, why_not)


def why_not_requested(url: str) -> str | None:
    """Return the reason why *url* is never requested, or None if requests are allowed."""
    if not is_web_url(url):
        return f"{short(url)}: neither http nor https"
    if (fault := url_fault(url)) is not None:
        return short(fault)
    if names_skipped_ark(url):
        return f"{short(url)}: an example or a test, which is never requested"
    return None


def fault_of_answer(url: str, end: ChainEnd, detail: str, status: int | None) -> str | None:
    """Return the reason why an answer may differ from a browser's answer, or None.

    >>> fault_of_answer("https://x.example/api", ChainEnd.ANSWERED, "", 404) is None
    True
    >>> fault_of_answer("https://x.example/api", ChainEnd.ANSWERED, "", 503)
    'https://x.example/api: answered 503'
    """
    if end is not ChainEnd.ANSWERED or status is None:
        return f"{short(url)}: {end.value}{': ' if detail else ''}{short(detail)}"
    return f"{short(url)}: answered {status}" if status in _CLIENT_STATUSES or status >= 500 else None


def headers_for_browser(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the part of an answer's *headers* that the browser needs; names are in lower case."""
    return {name: headers[name] for name in _BROWSER_HEADERS if name in headers}


def may_read(page_request: PageRequest, headers: Mapping[str, str], hops: Chain) -> bool:
    """Return True if the scripts of a page may read an answer with *headers*, after the redirects in *hops*.

    An answer of another origin needs a header of CORS, whatever its value. The browser gets the answer without the
    redirects, so it can't decide this itself.
    """
    if page_request.kind not in ("fetch", "xhr"):
        return True
    left_origin = any(origin_of(hop.url) != page_request.origin for hop in hops)
    return "access-control-allow-origin" in headers or not (left_origin or page_request.asking_origin is not None)


def short(message: str) -> str:
    """Return *message*, cut after `_URL_CHARS` characters."""
    return message if len(message) <= _URL_CHARS else f"{message[:_URL_CHARS]}…"
