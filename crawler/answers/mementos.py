"""Search web archives for the last good capture of an ARK's target, by the Memento protocol (RFC 7089).

A search sends a TimeGate the URL, reads the capture that it names, and goes back in time if that shows an error. It
depends only on the answers; the caller sends the requests.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from enum import StrEnum
from functools import partial
from typing import Any
from urllib.parse import unquote, urlsplit

from crawler.answers.answer import Answer
from crawler.answers.notices import PageWords
from crawler.model.observations import Chain, ChainEnd, Hop, moment
from crawler.model.resolving import REDIRECTS, BadLocation, resolved_location, sendable
from crawler.sources.links import header_links
from extractors.model.ark import Ark
from extractors.model.urls import is_web_url

#: Maximum number of characters of a page that evidence quotes.
_MOST_SAID = 120
#: Maximum number of captures of one URL that are read from a list.
_MOST_LISTED = 10_000
#: Statuses of answers with the resource itself: not alternatives (300), "not modified", or a part of it.
SHOWN = frozenset({200, 203, 226})


@dataclass(frozen=True, slots=True)
class ArchiveAnswer:
    """The chain of requests of an `ArchiveAsk`."""

    hops: Chain
    end: ChainEnd
    detail: str = ""
    text: str = ""
    """The body, if it is a list of captures."""
    fault: str | None = None
    """The reason why the page is not the resource itself, whatever its status (`page_fault`)."""


@dataclass(frozen=True, slots=True)
class MementoLinks:
    """The links of an answer that belong to the protocol (RFC 7089, 2.2)."""

    original: str | None = None
    timemap: str | None = None
    captures: tuple[tuple[datetime, str], ...] = ()
    """The captures by time."""


def memento_links(text: str, base: str) -> MementoLinks:
    """Read a Link header, or a list of captures, which has the same form, relative to *base*.

    >>> memento_links('</o>; rel="original", </web/1/x>; rel="first memento"; datetime="Tue, 01 Jan 2019 00:00:00 GMT"',
    ...               "https://a.example/").captures
    ((datetime.datetime(2019, 1, 1, 0, 0, tzinfo=datetime.timezone.utc), 'https://a.example/web/1/x'),)
    """
    original = timemap = None
    captures: dict[str, datetime] = {}
    for target, parameters in header_links(text):
        relations = parameters.get("rel", "").lower().split()
        if "original" in relations:
            original = target
        url = _absolute(base, target)
        if url is None:
            continue
        media_type = parameters.get("type", "application/link-format")
        if "timemap" in relations and media_type.startswith("application/link"):
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
    return url if is_web_url(url) else None


def _moment(text: str | None) -> datetime | None:
    try:
        date = parsedate_to_datetime(text or "")
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, TypeError, OverflowError):
        return None


@dataclass(frozen=True, slots=True)
class Capture:
    """A capture that was read."""

    url: str
    captured_at: datetime
    fault: str | None
    """The reason why it does not show the resource, or None."""
    status: int | None = None
    original: str | None = None
    """The URL that was captured, according to the archive."""


@dataclass(frozen=True, slots=True)
class ArchiveReading:
    """The meaning of an answer: a capture, no capture, links to follow, or unknown."""

    links: MementoLinks = field(default_factory=MementoLinks)
    capture: Capture | None = None
    has_none: bool = False
    untold: str | None = None


def read_archive(answer: ArchiveAnswer) -> ArchiveReading:
    """Read the answer of an archive, from a TimeGate or with a capture, depending on the header of captures."""
    marked = [hop for hop in answer.hops if captured_at(hop) is not None]
    last = answer.hops[-1] if answer.hops else None
    links = _links_of(answer.hops)
    if marked and (capture := _capture(answer, marked, links)) is not None:
        return ArchiveReading(links, capture)
    if answer.end is not ChainEnd.ANSWERED or last is None:
        words = filter(None, (answer.end.value, answer.detail))
        return ArchiveReading(links, untold=": ".join(words))
    if last.status in (404, 410):
        return ArchiveReading(links, has_none=True)
    if last.status in SHOWN and (links.captures or links.timemap):
        return ArchiveReading(links)
    if last.status in SHOWN:
        return ArchiveReading(links, untold="its answer names no capture, so it is not a TimeGate")
    return ArchiveReading(links, untold=f"it answered {last.status}")


#: Ends of chains of redirects without a page.
_LOST = (ChainEnd.LOOP, ChainEnd.TOO_MANY_REDIRECTS, ChainEnd.BAD_REDIRECT, ChainEnd.NON_WEB)


def _capture(answer: ArchiveAnswer, marked: Sequence[Hop], links: MementoLinks) -> Capture | None:
    """Return the capture at the end of a chain, or None if the archive did not show it."""
    first, last = marked[0], answer.hops[-1]
    is_answered = answer.end is ChainEnd.ANSWERED
    at = captured_at(last)
    if at is None:  # a capture of a redirect
        if is_answered and last.status in (404, 410):
            fault = "it is a redirect to a URL that was not captured"
        elif answer.end in _LOST:
            fault = f"it is a redirect: {answer.end.value}"
        elif is_answered and last.status in SHOWN and not links.captures:
            fault = f"it is a redirect that leaves the archive, to {last.url}"
        else:
            return None
        begun = captured_at(first)
        assert begun is not None
        return Capture(first.url, begun, fault, first.status)
    if not is_answered:
        fault = f"it is a redirect: {answer.end.value}"
        return Capture(last.url, at, fault, last.status) if last.status in REDIRECTS else None
    url = _absolute(last.url, last.headers.get("Content-Location", last.url))
    if url is None or url not in {named for _, named in links.captures}:
        url = last.url
    if last.status not in SHOWN:
        return Capture(url, at, f"it answers {last.status}", last.status)
    if answer.fault:
        return Capture(url, at, f"it answers {last.status}, and {answer.fault}", last.status)
    return Capture(url, at, None, last.status, links.original)


def page_fault(answer: Answer) -> str | None:
    """Return the reason why a captured page does not show the resource, such as an error or a log-in page.

    >>> from crawler.answers.answer import read_answer
    >>> page_fault(read_answer(b"<title>Page not found</title><p>Sorry", "text/html"))
    "says 'Page not found'"
    """
    if answer.facts.challenge:
        return "is a robot check"
    words = PageWords(answer.title or "", answer.text or "", answer.facts.headings)
    if words.is_titled_log_in:
        return "asks to log in"
    if not (words.is_titled_absent or words.is_all_absence):
        return None
    said = words.title if words.is_titled_absent else words.body.strip()
    return f"says {said[:_MOST_SAID]!r}"


def captured_at(hop: Hop) -> datetime | None:
    """Return the capture time of a hop, by its own header (RFC 7089, 2.1.1); None if it is not a capture."""
    return _moment(hop.headers.get("Memento-Datetime"))


def _links_of(hops: Sequence[Hop]) -> MementoLinks:
    """Return the links of the last answer, and of earlier ones about the same original.

    A captured redirect leads to captures of another URL, whose links count then.
    """
    links_of_each = [memento_links(hop.headers.get("Link", ""), hop.url) for hop in hops]
    original = next((links.original for links in reversed(links_of_each) if links.original), None)
    if original is not None:
        is_meant = partial(is_same_resource, original)
        links_of_each = [links for links in links_of_each if is_meant(links.original or "")]
    captures = {url: at for links in links_of_each for at, url in links.captures}
    timemap = next((links.timemap for links in reversed(links_of_each) if links.timemap), None)
    return MementoLinks(original, timemap, tuple(sorted((at, url) for url, at in captures.items())))


def is_same_resource(one: str, other: str) -> bool:
    """Return True if two URLs are the same for an archive (SURT).

    It ignores scheme, ``www.``, default ports, case, escapes and a final slash.

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


# -- requests and records


#: Maximum number of captures of one URL that are read: enough for a binary search among sixty.
MOST_CAPTURES = 6
#: Maximum number of octets that are read of a list of captures, and of a capture.
TIMEMAP_LIMIT, CAPTURE_LIMIT = 2**20, 2**17


class MementoOutcome(StrEnum):
    """The outcome of a search for a capture."""

    CAPTURED = "captured"
    """There is a capture, and it shows the page itself."""
    NO_CAPTURE = "no-capture"
    """The archive has no capture, or no good one."""
    NOT_TOLD = "not-told"
    """The archive gave no usable answer: it is down, refuses programs, or is not a TimeGate. The next run repeats it.
    """


@dataclass(frozen=True, slots=True)
class CaptureWish:
    """An ARK that fails, and the URLs to find a capture for."""

    ark: Ark
    request_url: str
    """The URL that requested the object."""
    originals: tuple[str, ...]
    """The URLs to search for, the best first."""
    worked_at: datetime | None = None
    """The last time at which it worked, if the store has it."""


@dataclass(frozen=True, slots=True)
class ArchiveAsk:
    """A request to an archive."""

    url: str
    accept_datetime: datetime | None = None
    wants_list: bool = False
    """True if the body is a list of captures, not a page."""

    @property
    def body_limit(self) -> int:
        """The maximum number of octets of the body that are read."""
        return TIMEMAP_LIMIT if self.wants_list else CAPTURE_LIMIT

    @property
    def headers(self) -> dict[str, str]:
        """The headers for negotiation (RFC 7089, 2.1.1).

        >>> ArchiveAsk("https://a.example/", datetime(2019, 3, 4, 5, 6, 7, tzinfo=UTC)).headers
        {'Accept-Datetime': 'Mon, 04 Mar 2019 05:06:07 GMT'}
        """
        if self.accept_datetime is None:
            return {}
        wanted = self.accept_datetime.astimezone(UTC)
        return {"Accept-Datetime": format_datetime(wanted, usegmt=True)}


@dataclass(frozen=True, slots=True)
class MementoRecord:
    """The result of a search for one ARK at one URL; it changes no verdict."""

    ark: Ark
    request_url: str
    timegate: str
    outcome: MementoOutcome
    reason: str
    """One sentence."""
    wanted_at: str | None = None
    """The time near which a capture was wanted; None for the newest."""
    original_url: str | None = None
    """The captured URL."""
    memento_url: str | None = None
    memento_at: str | None = None
    """The capture time."""
    evidence: tuple[str, ...] = ()
    hops: Chain = ()
    """Every request, with attempts and redirects."""

    @property
    def json(self) -> dict[str, Any]:
        """The readable part as JSON, without the requests."""
        return {
            "outcome": self.outcome.value,
            "reason": self.reason,
            "url": self.memento_url,
            "captured_at": self.memento_at,
            "original_url": self.original_url,
            "evidence": list(self.evidence),
        }

    @property
    def at(self) -> str:
        """The time of the last answer, or an empty text if nothing was requested."""
        return self.hops[-1].at if self.hops else ""


# -- the URLs to search for


def capture_wish(
    ark: Ark,
    request_url: str,
    *,
    led_to: str | None = None,
    good_url: str | None = None,
    worked_at: datetime | None = None,
) -> CaptureWish:
    """Return the captures to search for if an ARK fails at *request_url*.

    First comes the address at which the ARK worked last (*good_url*). Then comes the target of its redirects now
    (*led_to*), if it contains the ARK's name; otherwise it may be a general error page. The last is the requested URL,
    because archives keep redirects.

    >>> ark = Ark.parse("ark:12148/btv1b84")
    >>> wish = capture_wish(ark, "https://n2t.net/ark:12148/btv1b84", led_to="https://gallica.example/btv1b84.item")
    >>> wish.originals
    ('https://gallica.example/btv1b84.item', 'https://n2t.net/ark:12148/btv1b84')
    """
    named = led_to if led_to is not None and ark.name in unquote(led_to).replace("-", "") else None
    urls = dict.fromkeys(sendable(url) for url in (good_url, named, request_url) if url)
    return CaptureWish(ark, request_url, tuple(urls), worked_at)


def may_search_again(
    outcome: MementoOutcome, asked_at: datetime, *, now: datetime, max_age_s: float, worked_at: datetime | None
) -> bool:
    """Return True if an archive may be searched again: the result is old or unknown, or the ARK has worked since.

    >>> then, now = datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 11, 20, tzinfo=UTC)
    >>> may_search_again(MementoOutcome.NO_CAPTURE, then, now=now, max_age_s=30 * 86_400, worked_at=None)
    False
    """
    if outcome is MementoOutcome.NOT_TOLD or (worked_at is not None and worked_at > asked_at):
        return True
    return asked_at > now or (now - asked_at).total_seconds() > max_age_s


# -- the search

Search = Generator[ArchiveAsk, ArchiveAnswer, MementoRecord]


def capture_search(wish: CaptureWish, timegate: str) -> Search:
    """Search for the last good capture: yields requests, receives answers, returns the record.

    The last good capture from the time when the ARK worked counts, or else a later one. After an unusable answer no
    further URL is requested.
    """
    hops: list[Hop] = []
    evidence: list[str] = []
    outcome, reason = MementoOutcome.NO_CAPTURE, "no capture"
    captured: dict[str, str] = {}
    for original in wish.originals:
        search = _UrlSearch(original, wish.worked_at)
        yield from search.run(timegate)
        hops += search.hops
        evidence += search.words
        best = search.best
        if best is not None:
            outcome, reason = MementoOutcome.CAPTURED, _found_words(best, wish)
            captured = {"original_url": best.original or original, "memento_url": best.url}
            captured["memento_at"] = moment(best.captured_at)
            break
        if search.untold is not None:
            outcome, reason = MementoOutcome.NOT_TOLD, f"no usable answer: {search.untold}"
            break
        if search.has_bad:
            reason = "no good capture: each one that was read shows an error"
    return MementoRecord(
        ark=wish.ark,
        request_url=wish.request_url,
        timegate=timegate,
        outcome=outcome,
        reason=reason,
        wanted_at=moment(wish.worked_at) if wish.worked_at else None,
        evidence=tuple(evidence),
        hops=tuple(hops),
        **captured,
    )


class _UrlSearch:
    """The search for captures of one URL: the known captures, and those that were read."""

    def __init__(self, original: str, worked_at: datetime | None) -> None:
        self._original = original
        self._worked_at = worked_at
        self._named: dict[str, datetime] = {}
        self._asked: set[str] = set()
        self._looked_at: list[Capture] = []
        """The captures by time."""
        self._note: str | None = None
        self.hops: list[Hop] = []
        self.untold: str | None = None
        """The reason why the archive gave no usable answer, or None."""

    def run(self, timegate: str) -> Generator[ArchiveAsk, ArchiveAnswer, None]:
        """Request the TimeGate, then captures until the best is known."""
        original = self._original
        answer = yield ArchiveAsk(timegate + original, self._worked_at)
        self.hops += answer.hops
        read = read_archive(answer)
        if read.untold is not None:
            self.untold = read.untold
            self._note = f"the archive gave no usable answer for {original}: {read.untold}"
            return
        if read.has_none:
            self._note = f"the archive has no capture of {original}"
            return
        first = answer.hops[0]
        meant = memento_links(first.headers.get("Link", ""), first.url).original
        if meant is not None and not is_same_resource(meant, original):
            self._note = f"the archive answered for {meant} instead of {original}"
            return
        self._add(read)
        timemap = read.links.timemap
        for _ in range(MOST_CAPTURES):
            best = self.best
            will_do = best is not None and self._is_in_time(best.captured_at)
            if self._looked_at and not will_do and timemap is not None:  # there may be others
                answer = yield ArchiveAsk(timemap, wants_list=True)
                self.hops += answer.hops
                timemap = None
                if answer.end is ChainEnd.ANSWERED and answer.hops[-1].status in SHOWN:
                    self._name(memento_links(answer.text, answer.hops[-1].url).captures)
            url = self._next_url()
            if url is None:
                break
            answer = yield ArchiveAsk(url)
            self.hops += answer.hops
            read = read_archive(answer)
            self._asked.add(url)
            self._add(read)
            self.untold = read.untold or self.untold
        if self.best is None and self.untold is not None:
            self._note = f"the archive did not show a capture of {original}: {self.untold}"

    def _add(self, read: ArchiveReading) -> None:
        """Note the links of an answer, and its capture."""
        self._name(read.links.captures)
        capture = read.capture
        if capture is not None and capture not in self._looked_at:
            self._named.setdefault(capture.url, capture.captured_at)
            self._asked.add(capture.url)
            self._looked_at = sorted((*self._looked_at, capture), key=lambda item: item.captured_at)

    def _name(self, captures: Sequence[tuple[datetime, str]]) -> None:
        """Note captures that the archive names."""
        for at, url in captures:
            self._named.setdefault(url, at)

    @property
    def has_bad(self) -> bool:
        """True if a capture shows an error."""
        return any(capture.fault is not None for capture in self._looked_at)

    @property
    def best(self) -> Capture | None:
        """The last good capture from the time when the ARK worked, or else the first good one after it."""
        good = [capture for capture in self._looked_at if capture.fault is None]
        in_time = [capture for capture in good if self._is_in_time(capture.captured_at)]
        return in_time[-1] if in_time else next(iter(good), None)

    def _is_in_time(self, at: datetime) -> bool:
        return self._worked_at is None or at <= self._worked_at

    def _next_url(self) -> str | None:
        """Return the next capture to read: the last one in time, then by binary search between a good and a bad one.

        Pages that are gone seldom come back, so this finds the last good one in few steps.
        """
        best = self.best
        named = sorted((at, url) for url, at in self._named.items())
        times = [(at, url) for at, url in named if self._is_in_time(at)]
        if not times and best is None:
            times = named
        start, end = _BEFORE_ALL, _AFTER_ALL
        if best is not None and self._is_in_time(best.captured_at):
            start = best.captured_at
        for capture in reversed(self._looked_at):
            if capture.fault is not None and capture.captured_at > start:
                end = capture.captured_at
        between = [url for at, url in times if start < at < end and url not in self._asked]
        if not between or (start is not _BEFORE_ALL and end is _AFTER_ALL):
            return None
        return between[-1] if end > times[-1][0] else between[len(between) // 2]

    @property
    def words(self) -> Iterator[str]:
        """The results of each capture, and the reason for an early end."""
        for item in self._looked_at:
            shown = item.fault or f"it answers {item.status} to GET"
            yield f"capture of {self._original} of {item.captured_at:%Y-%m-%d}: {shown}"
        if self._note is not None:
            yield self._note


_BEFORE_ALL = datetime.min.replace(tzinfo=UTC)
_AFTER_ALL = datetime.max.replace(tzinfo=UTC)


def _found_words(capture: Capture, wish: CaptureWish) -> str:
    day = f"captured on {capture.captured_at:%Y-%m-%d}"
    if wish.worked_at is None:
        return f"{day}; the last time the ARK worked is not known"
    days = (capture.captured_at - wish.worked_at).days
    when = f"{wish.worked_at:%Y-%m-%d}"
    if days > 0:
        return f"{day}, after the ARK last worked ({when}): it may show something else"
    return f"{day}, while the ARK worked (until {when} at least)"
