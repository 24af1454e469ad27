"""Ask a web archive for a capture of an ARK's target, by the Memento protocol (RFC 7089).

One request goes to the archive's TimeGate, for the day on which the ARK worked last, or of the document that cites it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from functools import partial
from typing import Any
from urllib.parse import unquote

from crawler.answers.answer import Answer
from crawler.answers.notices import PageWords
from crawler.model.observations import Chain, ChainEnd, Hop, moment
from crawler.model.outcomes import MementoOutcome
from crawler.model.resolving import BadLocation, resolved_location, sendable
from crawler.sources.links import header_links
from extractors.model.ark import Ark
from extractors.model.urls import is_web_url, split_url

#: Maximum number of characters of a page that a reason quotes.
_MOST_QUOTED_CHARS = 120
#: Maximum number of octets that are read of a capture.
CAPTURE_LIMIT = 2**17
#: Statuses of answers with the resource itself: not alternatives (300), "not modified", or a part of it.
RESOURCE_STATUSES = frozenset({200, 203, 226})
#: Ends of chains of redirects without a page.
_ENDS_WITHOUT_PAGE = (ChainEnd.LOOP, ChainEnd.TOO_MANY_REDIRECTS, ChainEnd.BAD_REDIRECT, ChainEnd.NON_WEB)


@dataclass(frozen=True, slots=True)
class WantedCapture:
    """The capture to ask a web archive for, of the object of a failing ARK."""

    ark: Ark
    request_url: str
    """The URL that requested the object."""
    original: str
    """The URL to find a capture of."""
    worked_at: datetime | None = None
    """The last time at which the ARK worked, or None if not in the store."""
    cited_at: datetime | None = None
    """The date of the oldest document that cites the ARK."""

    @property
    def wanted_at(self) -> datetime | None:
        """The time near which a capture is wanted; None for the newest."""
        return self.worked_at or self.cited_at

    @property
    def headers(self) -> dict[str, str]:
        """The headers for negotiation (RFC 7089, 2.1.1).

        >>> ark, url = Ark.parse("ark:12148/x5"), "https://n2t.net/ark:12148/x5"
        >>> WantedCapture(ark, url, url, datetime(2019, 3, 4, 5, 6, 7, tzinfo=UTC)).headers
        {'Accept-Datetime': 'Mon, 04 Mar 2019 05:06:07 GMT'}
        """
        if self.wanted_at is None:
            return {}
        return {"Accept-Datetime": format_datetime(self.wanted_at.astimezone(UTC), usegmt=True)}


@dataclass(frozen=True, slots=True)
class ArchiveAnswer:
    """The chain of requests that begins at a TimeGate."""

    hops: Chain
    end: ChainEnd
    detail: str = ""
    fault: str | None = None
    """The reason why the page is not the resource itself, whatever its status (`page_fault`), or None."""


@dataclass(frozen=True, slots=True)
class MementoRecord:
    """The answer of an archive about one ARK at one URL; it changes no verdict."""

    ark: Ark
    request_url: str
    timegate: str
    outcome: MementoOutcome
    reason: str
    """The reason for the outcome, in a sentence."""
    wanted_at: str | None = None
    """The time near which a capture was wanted; None for the newest."""
    original_url: str | None = None
    """The captured URL."""
    memento_url: str | None = None
    memento_at: str | None = None
    """The capture time."""
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
        }

    @property
    def at(self) -> str:
        """The time of the last answer, or an empty text if nothing was requested."""
        return self.hops[-1].at if self.hops else ""


# -- what to ask for


def wanted_capture(
    ark: Ark,
    request_url: str,
    *,
    led_to: str | None = None,
    good_url: str | None = None,
    worked_at: datetime | None = None,
    documents: Iterable[tuple[str, Sequence[Hop]]] = (),
) -> WantedCapture:
    """Return the capture to ask for if an ARK fails at *request_url*.

    Its URL is *good_url*, the address at which the ARK worked last. Otherwise it is *led_to*, the present target of
    redirects, if that contains the ARK's name, or else *request_url*. *documents* are the time of fetching and the hops
    of each document that cites the ARK.

    >>> ark = Ark.parse("ark:12148/btv1b84")
    >>> wanted_capture(ark, "https://n2t.net/ark:12148/btv1b84", led_to="https://gallica.example/btv1b84.item").original
    'https://gallica.example/btv1b84.item'
    """
    is_named = led_to is not None and ark.name in unquote(led_to).replace("-", "")
    original = good_url or (led_to if is_named else None) or request_url
    cited_at = min((_document_date(fetched_at, hops) for fetched_at, hops in documents), default=None)
    return WantedCapture(ark, request_url, sendable(original), worked_at, cited_at)


def _document_date(fetched_at: str, hops: Sequence[Hop]) -> datetime:
    """Return the time of the last change of a document, by its Last-Modified header, or else the time of fetching."""
    last_modified = _parse_time(hops[-1].headers.get("Last-Modified")) if hops else None
    return last_modified or datetime.fromisoformat(fetched_at)


def may_ask_again(
    outcome: MementoOutcome, asked_at: datetime, *, now: datetime, max_age_s: float, worked_at: datetime | None
) -> bool:
    """Return True if an archive that gave *outcome* at *asked_at* may be asked again.

    This is so if it gave no usable answer, if the answer is older than *max_age_s*, or if the ARK has worked since.

    >>> then, now = datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 11, 20, tzinfo=UTC)
    >>> may_ask_again(MementoOutcome.NO_CAPTURE, then, now=now, max_age_s=30 * 86_400, worked_at=None)
    False
    """
    if outcome is MementoOutcome.NO_ANSWER or (worked_at is not None and worked_at > asked_at):
        return True
    return asked_at > now or (now - asked_at).total_seconds() > max_age_s


# -- what the answer means


@dataclass(frozen=True, slots=True)
class MementoLinks:
    """The links of an answer that belong to the protocol (RFC 7089, 2.2)."""

    original: str | None = None
    captures: tuple[tuple[datetime, str], ...] = ()
    """Time and URL of each capture, ordered by time."""


@dataclass(frozen=True, slots=True)
class _Capture:
    url: str
    captured_at: datetime
    fault: str = ""
    """The reason why the capture does not show the resource, or an empty text."""
    is_opened: bool = True


def memento_record(wanted: WantedCapture, timegate: str, answer: ArchiveAnswer) -> MementoRecord:
    """Return the result of the request for a capture at *timegate*, from its *answer*."""
    links = _memento_links_of(answer.hops[-1]) if answer.hops else MementoLinks()
    capture = _final_capture(answer, links) or _named_capture(answer, links, wanted.wanted_at)
    new_record = partial(
        MementoRecord,
        ark=wanted.ark,
        request_url=wanted.request_url,
        timegate=timegate,
        wanted_at=moment(wanted.wanted_at) if wanted.wanted_at else None,
        hops=answer.hops,
    )
    if capture is None:
        outcome, reason = _refusal(answer)
        return new_record(outcome=outcome, reason=reason)
    answered_original = _memento_links_of(answer.hops[0]).original
    if answered_original is not None and not is_same_resource(answered_original, wanted.original):
        problem = f"the archive answered for {answered_original} instead of {wanted.original}"
        return new_record(outcome=MementoOutcome.NO_CAPTURE, reason=problem)
    if capture.fault:
        problem = f"the capture of {capture.captured_at:%Y-%m-%d} is not good: {capture.fault}"
        return new_record(outcome=MementoOutcome.NO_CAPTURE, reason=problem)
    return new_record(
        outcome=MementoOutcome.CAPTURED,
        reason=_capture_words(capture, wanted),
        original_url=links.original or wanted.original,
        memento_url=capture.url,
        memento_at=moment(capture.captured_at),
    )


def memento_links(text: str, base_url: str) -> MementoLinks:
    """Return the links in *text*, the value of a Link header, relative to *base_url*.

    >>> memento_links('</o>; rel="original", </web/1/x>; rel="first memento"; datetime="Tue, 01 Jan 2019 00:00:00 GMT"',
    ...               "https://a.example/").captures
    ((datetime.datetime(2019, 1, 1, 0, 0, tzinfo=datetime.timezone.utc), 'https://a.example/web/1/x'),)
    """
    original = None
    captures: dict[str, datetime] = {}
    for target, parameters in header_links(text):
        relations = parameters.get("rel", "").lower().split()
        if "original" in relations:
            original = target
        url, captured_at = _web_url(base_url, target), _parse_time(parameters.get("datetime"))
        if url is not None and "memento" in relations and captured_at is not None:
            captures.setdefault(url, captured_at)
    return MementoLinks(original, tuple(sorted((at, url) for url, at in captures.items())))


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
    quotation = words.title if words.is_titled_absent else words.body.strip()
    return f"says {quotation[:_MOST_QUOTED_CHARS]!r}"


def is_same_resource(url: str, other_url: str) -> bool:
    """Return True if two URLs are the same for an archive (SURT).

    It ignores scheme, ``www.``, default ports, case, escapes and a final slash.

    >>> is_same_resource("http://www.Lib.example:80/Item/7/", "https://lib.example/item/%37")
    True
    """
    return _comparison_key(url) == _comparison_key(other_url)


def _comparison_key(url: str) -> str:
    parts = split_url(url if "://" in url else f"http://{url}")
    if parts.fault is not None:
        return url
    port = "" if parts.port in (None, 80, 443) else f":{parts.port}"
    host = parts.hostname.removeprefix("www.")
    rest = unquote(parts.path.rstrip("/")) + (f"?{unquote(parts.query)}" if parts.query else "")
    return f"{host}{port}{rest}".lower()


def _final_capture(answer: ArchiveAnswer, links: MementoLinks) -> _Capture | None:
    """Return the capture at the end of a chain, with a fault if it does not show the resource; None without a capture."""
    capture_times = [capture_time for hop in answer.hops if (capture_time := _captured_at(hop)) is not None]
    if not capture_times:
        return None
    last_hop, url = answer.hops[-1], answer.hops[-1].url
    if answer.end in _ENDS_WITHOUT_PAGE:
        fault = f"it is a redirect: {answer.end.value}"
    elif answer.end is not ChainEnd.ANSWERED:
        return None
    elif _captured_at(last_hop) is None:
        if links.captures or last_hop.status not in (*RESOURCE_STATUSES, 404, 410):
            return None
        fault = f"it is a redirect to {url}, which is no capture"
    else:
        fault = f"it answers {last_hop.status}" if last_hop.status not in RESOURCE_STATUSES else ""
        if not fault and answer.fault:
            fault = f"it answers {last_hop.status}, and {answer.fault}"
        located_url = _web_url(url, last_hop.headers.get("Content-Location", url))
        url = located_url if located_url in {named for _, named in links.captures} else url
    return _Capture(url or last_hop.url, capture_times[-1], fault)


def _named_capture(answer: ArchiveAnswer, links: MementoLinks, wanted_at: datetime | None) -> _Capture | None:
    """Return the capture nearest to *wanted_at* that the links of a successful answer name, or None.

    Without *wanted_at*, it is the newest.
    """
    is_shown = answer.end is ChainEnd.ANSWERED and answer.hops[-1].status in RESOURCE_STATUSES
    if not (is_shown and links.captures):
        return None
    wanted_time = wanted_at or links.captures[-1][0]
    capture_time, url = min(links.captures, key=lambda capture: abs(capture[0] - wanted_time))
    return _Capture(url, capture_time, is_opened=False)


def _refusal(answer: ArchiveAnswer) -> tuple[MementoOutcome, str]:
    """Return the outcome and the reason of an answer without a capture."""
    status = answer.hops[-1].status if answer.hops else None
    if answer.end is not ChainEnd.ANSWERED or status is None:
        fault = ": ".join(filter(None, (answer.end.value, answer.detail)))
    elif status in (404, 410):
        return MementoOutcome.NO_CAPTURE, "no capture"
    elif status in RESOURCE_STATUSES:
        fault = "its answer names no capture, so it is not a TimeGate"
    else:
        fault = f"it answered {status}"
    return MementoOutcome.NO_ANSWER, f"no usable answer: {fault}"


def _capture_words(capture: _Capture, wanted: WantedCapture) -> str:
    """Return a sentence about the day of a capture, compared with the last day on which the ARK worked."""
    captured_at = capture.captured_at
    capture_note = f"captured on {captured_at:%Y-%m-%d}" + ("" if capture.is_opened else " (not opened)")
    if wanted.worked_at is None:
        citation_note = f", near the date of the document ({wanted.cited_at:%Y-%m-%d})" if wanted.cited_at else ""
        return f"{capture_note}{citation_note}; the last time the ARK worked is not known"
    last_worked = f"{wanted.worked_at:%Y-%m-%d}"
    if (captured_at - wanted.worked_at).days > 0:
        return f"{capture_note}, after the ARK last worked ({last_worked}): it may show something else"
    return f"{capture_note}, while the ARK worked (until {last_worked} at least)"


def _captured_at(hop: Hop) -> datetime | None:
    """Return the capture time of a hop, by its own header (RFC 7089, 2.1.1); None if it is not a capture."""
    return _parse_time(hop.headers.get("Memento-Datetime"))


def _memento_links_of(hop: Hop) -> MementoLinks:
    return memento_links(hop.headers.get("Link", ""), hop.url)


def _web_url(base: str, target: str) -> str | None:
    try:
        url = resolved_location(base, target)
    except BadLocation:
        return None
    return url if is_web_url(url) else None


def _parse_time(text: str | None) -> datetime | None:
    try:
        parsed_time = parsedate_to_datetime(text or "")
        return (parsed_time if parsed_time.tzinfo else parsed_time.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, TypeError, OverflowError):
        return None
