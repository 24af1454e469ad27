"""Read what a web archive answered, by the Memento protocol (RFC 7089): its links, and the capture that it shows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final
from urllib.parse import unquote, urlsplit

from crawler.answers.answer import Answer
from crawler.answers.notices import PageWords
from crawler.model.observations import ChainEnd, Hop
from crawler.model.resolving import REDIRECTS, BadLocation, resolved_location

#: Characters of a page's words that evidence repeats.
_MOST_SAID: Final = 120
#: Captures of one URL that a list is read for.
_MOST_LISTED: Final = 10_000
#: Answers that show the thing itself: neither alternatives (300), nor "not modified", nor a part of it.
SHOWN: Final = frozenset({200, 203, 226})
#: One link of a Link header, or of a list in ``application/link-format`` (RFC 8288, 3; RFC 6690, 2).
_LINK: Final = re.compile(r"<(?P<target>[^<>]*)>(?P<parameters>(?:[^<\"]|\"[^\"]*\")*)")
_PARAMETER: Final = re.compile(r";\s*(?P<name>[A-Za-z*-]+)\s*=\s*(?:\"(?P<quoted>[^\"]*)\"|(?P<token>[^\s;,\"]+))")


@dataclass(frozen=True, slots=True)
class ArchiveAnswer:
    """The chain that an `ArchiveAsk` came to."""

    hops: tuple[Hop, ...]
    end: ChainEnd
    detail: str = ""
    text: str = ""
    """The body, where it is a list of captures."""
    fault: str | None = None
    """Why the page is not the thing itself, whatever its status (`page_fault`)."""


@dataclass(frozen=True, slots=True)
class MementoLinks:
    """The links of an answer that are of the protocol (RFC 7089, 2.2)."""

    original: str | None = None
    timemap: str | None = None
    captures: tuple[tuple[datetime, str], ...] = ()
    """By time."""


def memento_links(text: str, base: str) -> MementoLinks:
    """Read a Link header, or a list of captures, which has the same form; relative to *base*.

    >>> memento_links('</o>; rel="original", </web/1/x>; rel="first memento"; datetime="Tue, 01 Jan 2019 00:00:00 GMT"',
    ...               "https://a.example/").captures
    ((datetime.datetime(2019, 1, 1, 0, 0, tzinfo=datetime.timezone.utc), 'https://a.example/web/1/x'),)
    """
    original = timemap = None
    captures: dict[str, datetime] = {}
    for link in _LINK.finditer(text):
        parameters = {
            parameter["name"].lower(): parameter["quoted"] or parameter["token"] or ""
            for parameter in _PARAMETER.finditer(link["parameters"])
        }
        relations = parameters.get("rel", "").lower().split()
        if "original" in relations:
            original = link["target"]
        url = _absolute(base, link["target"])
        if url is None:
            continue
        if "timemap" in relations and parameters.get("type", "application/link-format").startswith("application/link"):
            timemap = timemap or url
        captured_at = _moment(parameters.get("datetime"))
        if "memento" in relations and captured_at is not None and len(captures) < _MOST_LISTED:
            captures.setdefault(url, captured_at)
    return MementoLinks(original, timemap, tuple(sorted((at, url) for url, at in captures.items())))


def _absolute(base: str, target: str) -> str | None:
    try:
        url = resolved_location(base, target)
    except BadLocation:
        return None
    return url if url.lower().startswith(("http://", "https://")) else None


def _moment(text: str | None) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text) if text else None
    except (ValueError, TypeError, OverflowError):
        return None
    if moment is None:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)


@dataclass(frozen=True, slots=True)
class Capture:
    """A capture that was looked at."""

    url: str
    captured_at: datetime
    fault: str | None
    """Why it shows nothing good; none for one that does."""
    status: int | None = None
    original: str | None = None
    """The URL that was captured, by the archive's word."""


@dataclass(frozen=True, slots=True)
class ArchiveReading:
    """The meaning of an answer: a capture, that there is none, links to follow, or nothing."""

    links: MementoLinks = field(default_factory=MementoLinks)
    capture: Capture | None = None
    has_none: bool = False
    untold: str | None = None


def read_archive(answer: ArchiveAnswer) -> ArchiveReading:
    """Read what an archive answered, as a TimeGate or with a capture: the capture's own header says which it is."""
    marked = [hop for hop in answer.hops if captured_at(hop) is not None]
    last = answer.hops[-1] if answer.hops else None
    links = _links_of(answer.hops)
    if marked and (capture := _capture(answer, marked, links)) is not None:
        return ArchiveReading(links, capture)
    if answer.end is not ChainEnd.ANSWERED or last is None:
        return ArchiveReading(
            links, untold=f"{answer.end.value}: {answer.detail}" if answer.detail else answer.end.value
        )
    if last.status in (404, 410):
        return ArchiveReading(links, has_none=True)
    if last.status in SHOWN and (links.captures or links.timemap):
        return ArchiveReading(links)
    if last.status in SHOWN:
        return ArchiveReading(links, untold="its answer names no capture: not that of a TimeGate")
    return ArchiveReading(links, untold=f"it answered {last.status}")


def _capture(answer: ArchiveAnswer, marked: Sequence[Hop], links: MementoLinks) -> Capture | None:
    """The capture that a chain ended at; None where the archive did not get as far as to show it."""
    first, last = marked[0], answer.hops[-1]
    at = captured_at(last)
    if at is None:  # a capture of a redirect
        at = captured_at(first)
        assert at is not None
        if answer.end is ChainEnd.ANSWERED and last.status in (404, 410):
            return Capture(first.url, at, "it is a redirect to what was not captured", first.status)
        if answer.end in (ChainEnd.LOOP, ChainEnd.TOO_MANY_REDIRECTS, ChainEnd.BAD_REDIRECT, ChainEnd.NON_WEB):
            return Capture(first.url, at, f"it is a redirect: {answer.end.value}", first.status)
        if answer.end is ChainEnd.ANSWERED and last.status in SHOWN and not links.captures:
            return Capture(first.url, at, f"it is a redirect that leaves the archive, to {last.url}", first.status)
        return None
    if answer.end is not ChainEnd.ANSWERED:
        if last.status in REDIRECTS:
            return Capture(last.url, at, f"it is a redirect: {answer.end.value}", last.status)
        return None
    memento_url = _absolute(last.url, last.headers.get("Content-Location", last.url))
    url = (
        memento_url
        if memento_url is not None and any(memento_url == named for _, named in links.captures)
        else last.url
    )
    if last.status not in SHOWN:
        return Capture(url, at, f"it answers {last.status}", last.status)
    if answer.fault:
        return Capture(url, at, f"it answers {last.status}, and {answer.fault}", last.status)
    return Capture(url, at, None, last.status, links.original)


def page_fault(answer: Answer) -> str | None:
    """Return why a captured page shows nothing good: it says that there is nothing, or it is in front of something.

    >>> from crawler.answers.answer import read_answer
    >>> page_fault(read_answer(b"<title>Page not found</title><p>Sorry", "text/html"))
    "says 'Page not found'"
    """
    if answer.facts.challenge:
        return "is a check for robots"
    words = PageWords(answer.title or "", answer.text or "", answer.facts.headings)
    if words.is_titled_log_in:
        return "asks to log in"
    said = words.title if words.is_titled_absent else words.body.strip() if words.is_all_absence else None
    return None if said is None else f"says {said[:_MOST_SAID]!r}"


def captured_at(hop: Hop) -> datetime | None:
    """Return when what a hop answered was captured, by its own word (RFC 7089, 2.1.1); None for no capture."""
    return _moment(hop.headers.get("Memento-Datetime"))


def _links_of(hops: Sequence[Hop]) -> MementoLinks:
    """The links of the last answer, and of those before it that are about the same original.

    A capture of a redirect leads on to captures of another URL: those are meant then.
    """
    links_of_each = [memento_links(hop.headers.get("Link", ""), hop.url) for hop in hops]
    original = next((links.original for links in reversed(links_of_each) if links.original), None)
    if original is not None:
        links_of_each = [
            links for links in links_of_each if links.original and is_same_resource(links.original, original)
        ]
    captures = {url: at for links in links_of_each for at, url in links.captures}
    timemap = next((links.timemap for links in reversed(links_of_each) if links.timemap), None)
    return MementoLinks(original, timemap, tuple(sorted((at, url) for url, at in captures.items())))


def is_same_resource(one: str, other: str) -> bool:
    """Return whether two URLs are one to an archive: scheme, ``www.``, default ports, case, escapes and a slash at the
    end are nothing to it (SURT).

    >>> is_same_resource("http://www.Lib.example:80/Item/7/", "https://lib.example/item/%37")
    True
    """
    return _key(one) == _key(other)


def _key(url: str) -> str:
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        port = "" if parts.port in (None, 80, 443) else f":{parts.port}"
    except ValueError:
        return url
    host = (parts.hostname or "").removeprefix("www.")
    rest = unquote(parts.path.rstrip("/")) + (f"?{unquote(parts.query)}" if parts.query else "")
    return f"{host}{port}{rest}".lower()
