"""Decide the URL for a question about an ARK, the target of a redirect, the next step, and repeated requests.

URLs are raw text and never canonicalized: a bare ``?``, dot segments and the case of escapes are part of the request
(draft-castelan-ark-uri, 7.1).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import unquote

import idna

from crawler.model.defaults import ATTEMPTS, BACKOFF_S, LONGEST_WAIT_S
from crawler.model.observations import ACCESS, ChainEnd, Hop, Observation, Question
from extractors.find import find_arks
from extractors.mentions.mention import LINK_TARGETS, Mention
from extractors.model.ark import SKIPPED_NAANS
from extractors.model.errors import ArkauditError
from extractors.model.normalize import LABEL
from extractors.model.urls import split_url

REDIRECTS = frozenset({301, 302, 303, 307, 308})
#: Successes of the reference algorithm (2020, 7.1.3), and 203 and 300, because a list of alternatives is access too.
SUCCESSES = frozenset({200, 203, 204, 206, 226, 300, 304})
INFLECTIONS: Mapping[Question, str] = {
    Question.OBJECT: "",
    Question.INFO: "?info",
    Question.DOUBLE: "??",
    Question.SINGLE: "?",
}
#: The questions about the other two services, in the order of the requests.
INFLECTED = (Question.INFO, Question.DOUBLE, Question.SINGLE)
#: Maximum length of a requested URL: the length that every recipient should support (RFC 9110, 4.1).
URL_LIMIT = 8_000
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
_HTTP = re.compile(r"https?://", re.IGNORECASE)
_SKIPPED_NAAN = re.compile(rf"(?<![0-9a-z])ark:/*(?:{'|'.join(sorted(SKIPPED_NAANS))})(?![0-9a-z])", re.IGNORECASE)
_AUTHORITY = re.compile(r"(?P<scheme>https?)://(?P<authority>[^/?#]*)", re.IGNORECASE)
_HOST_NAME = re.compile(r"[A-Za-z0-9._-]{1,253}\Z")
_UNSAFE = re.compile(r"[^\x21-\x7e]")


class BadLocation(ArkauditError, ValueError):
    """Raised if a Location can't be made into a URL, with the reason as message."""


# -- the request


def request_url(repaired: str, resolver: str | None, global_resolver: str) -> str:
    """Return the URL that requests the object of a mention, at its own resolver or at the global one.

    *repaired* is the repaired mention with its resolver; characters outside ASCII become UTF-8 escapes. The label of a
    compact ARK becomes lower case, because some resolvers know no other.

    >>> request_url("ARK:/12148/btv1b84", None, "https://n2t.net/")
    'https://n2t.net/ark:/12148/btv1b84'
    >>> request_url("gallica.bnf.fr/ark:/12148/btv1b84", "gallica.bnf.fr/", "https://n2t.net/")
    'https://gallica.bnf.fr/ark:/12148/btv1b84'
    """
    if resolver is None:
        mention_text = LABEL.sub(lambda label: label[0].lower(), repaired, count=1)
        url = f"{global_resolver.rstrip('/')}/{mention_text}"
    elif _HTTP.match(resolver):
        url = repaired
    else:
        url = "https://" + repaired.removeprefix("//")
    return sendable(url)


def mention_url(repaired: str, resolver: str | None, page_resolver: str | None, global_resolver: str) -> str:
    """Return the URL that requests the object of a mention; *page_resolver* is the resolver of a relative link.

    >>> mention_url("ark:/12148/btv1b84", None, "https://www.bnf.fr/r/", "https://n2t.net/")
    'https://www.bnf.fr/r/ark:/12148/btv1b84'
    >>> mention_url("//bnf.fr/ark:/12148/btv1b84", "//bnf.fr/", "http://bnf.fr/", "https://n2t.net/")
    'http://bnf.fr/ark:/12148/btv1b84'
    >>> mention_url("ark:/12148/btv1b84", None, None, "https://n2t.net/")
    'https://n2t.net/ark:/12148/btv1b84'
    """
    if page_resolver is not None:
        return request_url(page_resolver + repaired.removeprefix(resolver or ""), page_resolver, global_resolver)
    return request_url(repaired, resolver, global_resolver)


def citation_urls(mentions: Sequence[Mention], resolvers: Sequence[str | None], global_resolver: str) -> Iterator[str]:
    """Yield the URL that requests each mention of a document, in order.

    *resolvers* has a value for each mention: the resolver of a relative link, otherwise None. The URL of a link's
    target is also that of its text, so that one citation is requested at one URL.
    """
    urls = [
        mention_url(mention.repaired, mention.resolver, page_resolver, global_resolver)
        for mention, page_resolver in zip(mentions, resolvers, strict=True)
    ]
    target_urls: dict[int | None, str] = {}
    for mention, url in zip(mentions, urls, strict=True):
        if mention.role in LINK_TARGETS:
            target_urls.setdefault(mention.citation, url)
    for mention, url in zip(mentions, urls, strict=True):
        yield target_urls.get(mention.citation, url) if mention.link is not None else url


def sendable(url: str) -> str:
    """Return *url* without fragment, user and password, in printable ASCII.

    A host in another script becomes its ASCII form (RFC 5891), and an empty port is removed (RFC 3986, 6.2.3). Other
    characters outside printable ASCII become UTF-8 escapes. Nothing else changes.

    >>> sendable("https://example.org/ark:12345/4б?info#f1")
    'https://example.org/ark:12345/4%D0%B1?info'
    >>> sendable("https://me:secret@Bücher.example:/ark:12345/x5")
    'https://xn--bcher-kva.example/ark:12345/x5'
    """
    without_fragment = url.split("#", 1)[0]
    match = _AUTHORITY.match(without_fragment)
    if match is None:
        return _escape(without_fragment)
    host, colon, port = match["authority"].rpartition("@")[2].removesuffix(":").partition(":")
    if not host.isascii() or "%" in host:
        with suppress(UnicodeError):  # an invalid host is only escaped; idna's own errors are of this kind
            host = idna.encode(unquote(host), uts46=True).decode("ascii")
    return f"{match['scheme']}://{_escape(f'{host}{colon}{port}')}{_escape(without_fragment[match.end() :])}"


def _escape(text: str) -> str:
    def escapes(match: re.Match[str]) -> str:
        return "".join(f"%{octet:02X}" for octet in match[0].encode("utf-8", "surrogatepass"))

    return _UNSAFE.sub(escapes, text)


def request_target(url: str) -> str:
    """Return the target in the request line for *url*: path and query, byte for byte, with a bare ``?``.

    Raises ValueError for a character that can't be sent unchanged.

    >>> request_target("https://n2t.net/ark:/12148/btv1b84?")
    '/ark:/12148/btv1b84?'
    """
    rest = url.split("://", 1)[1].split("#", 1)[0]
    start = min((index for index in (rest.find("/"), rest.find("?")) if index >= 0), default=len(rest))
    target = rest[start:] if rest[start:].startswith("/") else "/" + rest[start:]
    if _UNSAFE.search(target):
        raise ValueError(f"not a request target: {target!r}")
    return target


def asked_url(url: str, question: Question) -> str:
    """Return the URL that asks *question* about the object at *url*, which has no query.

    >>> asked_url("https://n2t.net/ark:12148/btv1b84", Question.SINGLE)
    'https://n2t.net/ark:12148/btv1b84?'
    >>> asked_url("https://my-resolver.org/ark:/12148/btv1-b84", Question.HYPHENS)
    'https://my-resolver.org/ark:/12148/btv1b84'
    >>> asked_url("https://my-resolver.org/ark:/12148/btv1b84/", Question.NO_SLASH)
    'https://my-resolver.org/ark:/12148/btv1b84'
    """
    if question is Question.NO_SLASH:
        return url.rstrip("/") if LABEL.search(url) else url
    if question is Question.HYPHENS:
        resolver = resolver_of(url)
        return resolver + url[len(resolver) :].replace("-", "")
    return url + INFLECTIONS[question]


def without_inflection(url: str) -> str:
    """Return *url* without an inflection at its end.

    >>> without_inflection("https://n2t.net/ark:12148/btv1b84??"), without_inflection("https://n2t.net/ark:12148/btv1b84")
    ('https://n2t.net/ark:12148/btv1b84', 'https://n2t.net/ark:12148/btv1b84')
    """
    endings = (INFLECTIONS[question] for question in INFLECTED)
    return url.removesuffix(next(filter(url.endswith, endings), ""))


def resolver_of(url: str) -> str:
    """Return the part of a request URL before the first label: the resolver.

    >>> resolver_of("https://n2t.net/ark:/12148/btv1b84")
    'https://n2t.net/'
    """
    label = LABEL.search(url)
    return url[: label.start()] if label else url


def path_of_resolver(url: str) -> str:
    """Return the part of a URL's path before ``ark:``; the whole path if the URL has no ``ark:``.

    >>> path_of_resolver("https://n2t.net/r/ark:/12148/btv1b84"), path_of_resolver("https://library.example/item/7")
    ('/r/', '/item/7')
    """
    return split_url(resolver_of(url)).path


def label_of(url: str) -> str:
    """Return the label in a request URL, in lower case, or an empty text.

    >>> label_of("https://n2t.net/ARK:/12148/btv1b84"), label_of("https://example.org/brunner/06l")
    ('ark:/', '')
    """
    label = LABEL.search(url)
    return label[0].lower() if label else ""


def with_other_label(url: str) -> str:
    """Return *url* with ``ark:`` for ``ark:/``, or the reverse. A label in capitals only becomes lower case.

    >>> with_other_label("https://n2t.net/ark:/12148/x5"), with_other_label("https://n2t.net/ark:12148/x5")
    ('https://n2t.net/ark:12148/x5', 'https://n2t.net/ark:/12148/x5')
    >>> with_other_label("https://n2t.net/ARK:/12148/x5")
    'https://n2t.net/ark:/12148/x5'
    """

    def swapped(label: re.Match[str]) -> str:
        if label[0] != label[0].lower():
            return label[0].lower()
        return label[0].rstrip("/") + ("" if label[0].endswith("/") else "/")

    return LABEL.sub(swapped, url, count=1)


def same_host(url: str, other_url: str) -> bool:
    """Return True if two URLs have the same host. Explicit ports must agree, because test hosts share addresses.

    >>> same_host("http://n2t.net/x", "https://www.N2T.net/y"), same_host("http://127.0.0.1:1/", "http://127.0.0.1:2/")
    (True, False)
    """
    both_parts = split_url(url), split_url(other_url)
    ports = {parts.port for parts in both_parts if parts.port is not None}
    names = {parts.hostname.removeprefix("www.") for parts in both_parts}
    return len(names) == 1 and len(ports) < 2 and not any(parts.fault for parts in both_parts)


# -- the steps of a chain


@dataclass(frozen=True, slots=True)
class Follow:
    """The decision to follow a redirect to a URL."""

    url: str


@dataclass(frozen=True, slots=True)
class Stop:
    """The decision to end a chain, with the kind of its end."""

    end: ChainEnd
    detail: str = ""


def next_step(
    asked_urls: Iterable[str], status: int, location: str | None, *, max_hops: int, cookie_at: int | None = None
) -> Follow | Stop:
    """Return the step after an answer, by the reference algorithm of the 2020 URI scheme (7.1.3).

    *asked_urls* are the URLs of this chain, the answering one last; *cookie_at* is the index of the last URL that set a
    cookie. *location* is the header, or None. A repeated URL is a loop, unless a cookie was set since, because some
    hosts expect it back.

    >>> next_step(["https://n2t.net/ark:1/x"], 302, "ftp://example.org/x", max_hops=5)
    Stop(end=<ChainEnd.NON_WEB: 'non-web'>, detail='ftp://example.org/x')
    """
    urls = list(asked_urls)
    if status not in REDIRECTS:
        return Stop(ChainEnd.ANSWERED)
    if location is None or not location.strip():
        return Stop(ChainEnd.BAD_REDIRECT, "no Location")
    try:
        url = resolved_location(urls[-1], location)
    except BadLocation as problem:
        return Stop(ChainEnd.BAD_REDIRECT, str(problem))
    if not _HTTP.match(url):
        if url.lower().startswith(("http:", "https:")):
            return Stop(ChainEnd.BAD_REDIRECT, f"no host: {url}")
        return Stop(ChainEnd.NON_WEB, url[:URL_LIMIT])
    # The header may be cut and its dots merged, so the longer of both counts.
    if is_too_long(longest := max(url, location, key=len)):
        return Stop(ChainEnd.UNDETERMINED, f"the target was not requested: {_too_long(longest)}")
    if names_skipped_ark(url):
        return Stop(ChainEnd.SKIPPED, f"{url} contains an example or test ARK, which is never requested")
    if url in urls and (cookie_at is None or cookie_at < len(urls) - 1 - urls[::-1].index(url)):
        loop_back = f"redirects back to {url}"
        detail = "redirects to itself" if url == urls[-1] else loop_back
        return Stop(ChainEnd.LOOP, f"{urls[-1]} {detail}")
    if len(urls) > max_hops:
        return Stop(ChainEnd.TOO_MANY_REDIRECTS, f"more than {max_hops} redirects")
    return Follow(url)


def names_skipped_ark(url: str) -> bool:
    """Return True if *url* contains an example or test ARK, in any spelling. These are never requested.

    >>> names_skipped_ark("https://n2t.net/ark:/%31%32%33%34%35/x5"), names_skipped_ark("https://n2t.net/ark:/12148/x5")
    (True, False)
    >>> names_skipped_ark("https://m.example/landmark:12345"), names_skipped_ark("https://m.example/id%2Fark:12345")
    (False, True)
    """
    spellings = {url, unquote(url)}
    # Without a name, or with a placeholder for one, it is no ARK, but no request either.
    if any(map(_SKIPPED_NAAN.search, spellings)):
        return True
    return any(mention.ark.is_skipped for spelling in spellings for mention in find_arks(spelling))


def resolved_location(base: str, location: str) -> str:
    """Return the URL to which *location* refers from the URL *base* (RFC 3986, 5.2).

    Dots are merged only in relative paths. *location* contains the header's octets as Latin-1; octets outside ASCII
    are escaped one by one, in any encoding.
    Raises `BadLocation` for an invalid host or port. The URL may be too long to request (`is_too_long`).

    >>> resolved_location("https://n2t.net/a/b/c", "../ark:/1/./x%7d?")
    'https://n2t.net/a/ark:/1/x%7d?'
    >>> resolved_location("https://n2t.net/a/b", "/ark:/1/./x?")
    'https://n2t.net/ark:/1/./x?'
    """
    octets = re.sub(r"[\x80-\xff]", lambda octet: f"%{ord(octet[0]):02X}", location.strip(" \t\r\n"))
    reference = sendable(octets)
    scheme, _, rest = base.partition("://")
    if _SCHEME.match(reference):
        url = reference
    elif reference.startswith("//"):
        url = f"{scheme}:{reference}"
    else:
        authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
        path, question_mark, query = request_target(base).partition("?")
        if reference.startswith("/"):
            target = reference
        elif reference.startswith("?"):
            target = path + reference
        elif not reference:
            target = path + question_mark + query
        else:
            target = _merge_path(path, reference)
        url = f"{scheme}://{authority}{target}"
    url = sendable(url)
    fault = url_fault(url) if _HTTP.match(url) and not is_too_long(url) else None
    if fault:
        raise BadLocation(fault)
    return url


def _merge_path(path: str, reference: str) -> str:
    """Return the relative *reference* resolved against *path* without its dot segments (RFC 3986, 5.2)."""
    head, question_mark, query = reference.partition("?")
    merged_segments: list[str] = []
    segments = (path.rpartition("/")[0] + "/" + head).split("/")[1:]
    for segment in segments:
        if segment == "..":
            del merged_segments[-1:]
        elif segment != ".":
            merged_segments.append(segment)
    if segments[-1] in (".", ".."):
        merged_segments.append("")
    return "/" + "/".join(merged_segments) + question_mark + query


def url_fault(url: str) -> str | None:
    """Return the reason why an http or https URL can't or may not be requested, or None.

    >>> url_fault("https://n2t.net:port/ark:12148/x5"), url_fault("http://127.0.0.1:8000/")
    ("Port could not be cast to integer value as 'port': https://n2t.net:port/ark:12148/x5", None)
    """
    if is_too_long(url):
        return _too_long(url)
    parts = split_url(url)
    host, port = parts.hostname, parts.port
    if parts.fault is not None:
        return f"{parts.fault}: {url}"
    if not host or port == 0:
        return f"no {'port' if host else 'host'}: {url}"
    return None if ":" in host or _HOST_NAME.match(host) else f"no name that a host can have: {url}"


def is_too_long(url: str) -> bool:
    """Return True if *url* exceeds arkaudit's own limit, which says nothing about the host or the ARK.

    >>> is_too_long("https://n2t.net/" + "x" * 7_984), is_too_long("https://n2t.net/" + "x" * 7_985)
    (False, True)
    """
    return len(url) > URL_LIMIT


def _too_long(url: str) -> str:
    return f"the URL has {len(url)} characters, more than the limit of {URL_LIMIT}"


def requests_sent(observations: Iterable[Observation]) -> int:
    """Return the number of requests for *observations*: all hops that were sent, and those of rendered pages."""
    sent_count = 0
    for observation in observations:
        page_requests = observation.rendering.requests if observation.rendering is not None else ()
        sent_count += sum(hop.sent for hop in (*observation.hops, *page_requests))
        if observation.hops and observation.end in (ChainEnd.ROBOTS, ChainEnd.REFUSED_ADDRESS):
            sent_count -= observation.hops[-1].sent
    return sent_count


# -- repeated attempts within a run, and the time to wait


def statuses_in_words(statuses: Iterable[int]) -> str:
    """Return *statuses* in words, in increasing order.

    >>> statuses_in_words({451, 401, 403})
    '401, 403 or 451'
    """
    *first_statuses, last_status = map(str, sorted(statuses))
    return f"{', '.join(first_statuses)} or {last_status}" if first_statuses else last_status


#: Statuses of failures that are often temporary.
PASSING_STATUSES = frozenset({429, 502, 503, 504})
#: Statuses by which a host refuses access. They do not show that the object is missing.
REFUSING_STATUSES = frozenset({401, 403, 407, 429, 451, 999})
#: Beginnings of messages about slow look-ups; the next one may succeed, because the address may be cached.
SLOW_LOOK_UPS = (
    "the name could not be looked up in time",
    "our own machine did not get to looking the name up, which says nothing of the host",
)
_PASSING_ENDS = frozenset({ChainEnd.TIMEOUT, ChainEnd.RESET})
_RETRY_SECONDS = re.compile(r"(?P<whole>[0-9]+)(?P<part>\.[0-9]+)?(?:\s*,.*)?\Z", re.ASCII)
_SPOKEN_RETRY = re.compile(r"(?:(?P<h>[0-9]++)\s*+h)?\s*+(?:(?P<m>[0-9]++)\s*+m)?\s*+(?:(?P<s>[0-9]++)\s*+s)?\Z", re.I)
#: Maximum length of a Retry-After; dates are shorter, and further digits change nothing.
_RETRY_CHARS = 100

#: A year. Longer values, or those with too many digits, mean that the host must not be contacted today.
LONGEST_PAUSE_S = 366 * 86_400.0
#: A date in a year beyond Python's calendar.
_BEYOND_CALENDARS = re.compile(r"\b[A-Z][a-z]{2}[ -][0-9]{5,} [0-9]{2}:", re.ASCII)


@dataclass(frozen=True, slots=True)
class Patience:
    """The limits for repeated attempts."""

    attempts: int = ATTEMPTS
    """Maximum number of attempts; 1 means no repetition."""
    backoff_s: float = BACKOFF_S
    """Seconds before the second attempt, doubled for each further one."""
    longest_wait_s: float = LONGEST_WAIT_S
    """Maximum seconds to wait; a host that wants a longer pause is not contacted again in this run."""

    def backoff(self, attempt: int) -> float:
        """Return the seconds to wait after an attempt; the first has the number 1.

        >>> [Patience(backoff_s=2).backoff(attempt) for attempt in (1, 2, 3)]
        [2.0, 4.0, 8.0]
        """
        return self.backoff_s * float(2 ** (attempt - 1))


def attempt_wait_s(answer: Observation, patience: Patience) -> float | None:
    """Return the seconds to wait before the question of *answer* is repeated, or None if that answer is final.

    Only temporary failures are repeated: timeouts, broken connections, 429, 502, 503 and 504. Requests that were never
    sent are not repeated. A Retry-After (RFC 9110, 10.2.3) may lengthen the wait; beyond the limit of *patience*, the
    answer is final.
    """
    # The verdict on the object depends on the questions of access; the others are repeated once.
    attempt_limit = patience.attempts if answer.question in ACCESS else min(patience.attempts, 2)
    return fetch_wait_s(answer.hops, answer.end, answer.attempt, patience, most=attempt_limit)


def fetch_wait_s(
    hops: Sequence[Hop], end: ChainEnd, attempt: int, patience: Patience, *, most: int | None = None
) -> float | None:
    """Return the seconds to wait after an *attempt* (from 1) before its chain is repeated; None if it is final.

    At most *most* attempts are made, by default those of *patience*.

    >>> hops = (Hop("https://n2t.net/", "GET", "2026-11-21T12:00:00+00:00", 503),)
    >>> fetch_wait_s(hops, ChainEnd.ANSWERED, 1, Patience(backoff_s=2.0))
    2.0
    """
    last_hop = hops[-1] if hops else None
    has_had_enough = attempt >= (patience.attempts if most is None else most)
    if last_hop is None or not last_hop.sent or has_had_enough:
        return None
    is_slow_look_up = last_hop.status is None and (last_hop.error or "").startswith(SLOW_LOOK_UPS)
    is_busy = end is ChainEnd.ANSWERED and last_hop.status in PASSING_STATUSES
    if not is_slow_look_up and not is_busy and end not in _PASSING_ENDS:
        return None
    return wait_s(last_hop.headers.get("Retry-After"), attempt, patience, at=last_hop.at)


def wait_s(retry_after: str | None, attempt: int, patience: Patience, *, at: str) -> float | None:
    """Return the seconds to wait after an *attempt* (from 1); None if that is longer than *patience* allows.

    *retry_after* is the header, or None; *at* is the time of the answer, ISO 8601.
    """
    wanted_s = retry_after_s(retry_after, at=at)
    seconds = max(patience.backoff(attempt), wanted_s or 0.0)
    return seconds if seconds <= patience.longest_wait_s else None


def retry_after_s(header: str | None, *, at: str) -> float | None:
    """Return the seconds of a Retry-After, counted from the time *at* (ISO 8601), or None if it is invalid.

    It is a number of seconds or a date; ``2.7``, ``3s``, ``1m`` and ``1m30s`` also occur. The maximum is
    `LONGEST_PAUSE_S`.

    >>> [retry_after_s(text, at="2026-11-21T10:00:00+00:00") for text in ("120", "1m30s", "soon", None)]
    [120.0, 90.0, None, None]
    >>> retry_after_s("Sat, 21 Nov 2026 10:00:20 GMT", at="2026-11-21T10:00:00.000+00:00")
    20.0
    """
    text = (header or "").strip()[:_RETRY_CHARS]
    if match := _RETRY_SECONDS.match(text):
        return min(_capped_seconds(match["whole"]) + float((match["part"] or ".0")[:9]), LONGEST_PAUSE_S)
    spoken_match = _SPOKEN_RETRY.match(text) if text else None
    if spoken_match:
        hours, minutes, seconds = (_capped_seconds(spoken_match[unit] or "0") for unit in "hms")
        return min(hours * 3600 + minutes * 60 + seconds, LONGEST_PAUSE_S)
    if _BEYOND_CALENDARS.search(text):
        return LONGEST_PAUSE_S
    try:
        date, answered_at = parsedate_to_datetime(text), datetime.fromisoformat(at)
        date = date if date.tzinfo else date.replace(tzinfo=UTC)
        return min(max((date - answered_at).total_seconds(), 0.0), LONGEST_PAUSE_S)
    except (ValueError, TypeError, OverflowError):
        return None


def _capped_seconds(digits: str) -> float:
    """Return the number of seconds in *digits*, at most `LONGEST_PAUSE_S`, without parsing long numbers."""
    significant = digits.lstrip("0")
    return min(float(significant or 0), LONGEST_PAUSE_S) if len(significant) < 20 else LONGEST_PAUSE_S
