"""Pure: which URL to ask about an ARK, where a redirect leads, and what comes next in a chain.

URLs are handled as raw text and never canonicalized: a bare ``?``, dot segments and the case of escapes are part of
what is asked (draft-castelan-ark-uri, 7.1).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from crawler.observations import ChainEnd, Observation, Question
from extractors.ark import BETANUMERIC, Ark
from extractors.checkchar import Check, check
from extractors.find import find_arks
from extractors.normalize import LABEL

REDIRECTS = frozenset({301, 302, 303, 307, 308})
SUCCESSES = frozenset({200, 203, 204, 206, 226, 304})
_NOT_FOUND = frozenset({400, 404, 410})
INFLECTIONS: Mapping[Question, str] = {
    Question.OBJECT: "",
    Question.INFO: "?info",
    Question.DOUBLE: "??",
    Question.SINGLE: "?",
}
#: The questions about the other two services, in the order in which they are asked.
INFLECTED = (Question.INFO, Question.DOUBLE, Question.SINGLE)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
_HTTP = re.compile(r"https?://", re.IGNORECASE)
_UNSAFE = re.compile(r"[^\x21-\x7e]")


class BadLocation(ValueError):
    """Raised when a Location can't be made into a URL; the message says why."""


# -- what is asked


def request_url(repaired: str, resolver: str | None, global_resolver: str) -> str:
    """The URL that asks for the object of a mention: its own resolver as written, or the global one.

    *repaired* is the mention made whole, resolver included; characters outside ASCII become UTF-8 escapes. The URL
    of a compact ARK is ours to make, so its label is in lower case: some resolvers know no other.

    >>> request_url("ARK:/12148/btv1b84", None, "https://n2t.net/")
    'https://n2t.net/ark:/12148/btv1b84'
    >>> request_url("gallica.bnf.fr/ark:/12148/btv1b84", "gallica.bnf.fr/", "https://n2t.net/")
    'https://gallica.bnf.fr/ark:/12148/btv1b84'
    """
    if resolver is None:
        url = global_resolver.rstrip("/") + "/" + LABEL.sub(lambda label: label[0].lower(), repaired, count=1)
    elif _HTTP.match(resolver):
        url = repaired
    else:
        url = "https://" + repaired
    return sendable(url)


def sendable(url: str) -> str:
    """*url* without its fragment, every character outside printable ASCII as UTF-8 escapes; nothing else changes.

    >>> sendable("https://example.org/ark:12345/4б?info#f1")
    'https://example.org/ark:12345/4%D0%B1?info'
    """
    without_fragment = url.split("#", 1)[0]
    return _UNSAFE.sub(
        lambda found: "".join(f"%{octet:02X}" for octet in found[0].encode("utf-8", "surrogatepass")),
        without_fragment,
    )


def request_target(url: str) -> str:
    """What stands in the request line for *url*: path and query, byte for byte, a bare ``?`` included.

    Raises ValueError when a character could not be sent as it is.

    >>> request_target("https://n2t.net/ark:/12148/btv1b84?")
    '/ark:/12148/btv1b84?'
    """
    rest = url.split("://", 1)[1].split("#", 1)[0]
    start = min((at for at in (rest.find("/"), rest.find("?")) if at >= 0), default=len(rest))
    target = rest[start:] if rest[start:].startswith("/") else "/" + rest[start:]
    if _UNSAFE.search(target):
        raise ValueError(f"not a request target: {target!r}")
    return target


def asked_url(url: str, question: Question) -> str:
    """The URL that puts *question* about the object at *url*, which has no query.

    >>> asked_url("https://n2t.net/ark:12148/btv1b84", Question.SINGLE)
    'https://n2t.net/ark:12148/btv1b84?'
    >>> asked_url("https://my-resolver.org/ark:/12148/btv1-b84", Question.HYPHENS)
    'https://my-resolver.org/ark:/12148/btv1b84'
    """
    if question is Question.HYPHENS:
        resolver = resolver_of(url)
        return resolver + url[len(resolver) :].replace("-", "")
    return url + INFLECTIONS[question]


def resolver_of(url: str) -> str:
    """The part of a request URL before the first label: the resolver that was asked.

    >>> resolver_of("https://n2t.net/ark:/12148/btv1b84")
    'https://n2t.net/'
    """
    label = LABEL.search(url)
    return url[: label.start()] if label else url


def control_url(url: str, ark: Ark) -> str:
    """A URL at the same resolver for a name that can't exist: what it answers is what a mere 200 is worth there.

    The name keeps the real one's length and beginning, and its check character is wrong where a zone is known; it
    depends on resolver and NAAN only, so that an audit asks the same control again.

    >>> control = control_url("https://n2t.net/ark:/12148/btv1b8449691v", Ark.parse("ark:12148/btv1b8449691v"))
    >>> control == control_url("https://n2t.net/ark:/12148/btv1b8449691v", Ark.parse("ark:12148/btv1b8449691v"))
    True
    >>> len(control) == len("https://n2t.net/ark:/12148/btv1b8449691v")
    True
    """
    label = LABEL.search(url)
    assert label is not None, "a request URL holds an ARK"
    kept = ark.shoulder or ""
    digest = hashlib.sha256(f"{resolver_of(url)} {ark.naan} {kept}".encode()).digest()
    letters = [letter for letter in BETANUMERIC if letter.isalpha()]
    length = max(len(ark.name) - len(kept), 8)
    invented = "".join(letters[octet % len(letters)] for octet in (digest * (length // 32 + 1))[:length])
    name = kept + invented
    if check(Ark(ark.naan, name)) is Check.PASSES:
        name = name[:-1] + ("b" if name[-1] != "b" else "c")
    return f"{url[: label.end()]}{ark.naan}/{name}"


def next_question(answers: Mapping[Question, Observation], *, described: bool, legacy: bool) -> Question | None:
    """What to ask about an ARK after *answers*, or None when there is nothing more to learn.

    The object comes first; its metadata is asked for when the object's resolver answered at all; the legacy forms
    ``??`` and ``?`` only when *legacy* and nothing has *described* the object yet (2023, 5.1.2: they are optional).
    A name with hyphens that is not found is asked for once more without them: they are inert (2023, 3.2).
    """
    if Question.OBJECT not in answers:
        return Question.OBJECT
    asked = answers[Question.OBJECT]
    if asked.end not in (ChainEnd.ANSWERED, ChainEnd.NON_WEB):
        return None
    if asked.status in _NOT_FOUND:
        has_hyphens = asked_url(asked.request_url, Question.HYPHENS) != asked.request_url
        return Question.HYPHENS if has_hyphens and Question.HYPHENS not in answers else None
    if Question.INFO not in answers:
        return Question.INFO
    if described or not legacy:
        return None
    return next((question for question in (Question.DOUBLE, Question.SINGLE) if question not in answers), None)


# -- what a chain amounts to


@dataclass(frozen=True, slots=True)
class Follow:
    """Go on to this URL."""

    url: str


@dataclass(frozen=True, slots=True)
class Stop:
    """The chain ends here, and how."""

    end: ChainEnd
    detail: str = ""


def next_step(
    asked: Iterable[str], status: int, location: str | None, *, max_hops: int, cookie_at: int | None = None
) -> Follow | Stop:
    """Whether to follow an answer: the reference algorithm of the 2020 URI scheme (7.1.3).

    *asked* are the URLs requested so far in this chain, the answering one last; *cookie_at* is which of them last
    set a cookie. A URL that comes by again is a loop, unless a cookie has come since: some hosts ask for it back.

    >>> next_step(["https://n2t.net/ark:1/x"], 302, "ftp://example.org/x", max_hops=5)
    Stop(end=<ChainEnd.NON_WEB: 'non-web'>, detail='ftp://example.org/x')
    """
    urls = list(asked)
    if status not in REDIRECTS:
        return Stop(ChainEnd.ANSWERED)
    if location is None or not location.strip():
        return Stop(ChainEnd.BAD_REDIRECT, "no Location")
    try:
        url = resolved_location(urls[-1], location)
    except BadLocation as problem:
        return Stop(ChainEnd.BAD_REDIRECT, str(problem))
    if not _HTTP.match(url):
        is_web = url.lower().startswith(("http:", "https:"))
        return Stop(ChainEnd.BAD_REDIRECT, f"no host: {url}") if is_web else Stop(ChainEnd.NON_WEB, url)
    if names_skipped_ark(url):
        return Stop(ChainEnd.SKIPPED, f"{url} names an example or a test, which is never requested")
    if url in urls and (cookie_at is None or cookie_at < len(urls) - 1 - urls[::-1].index(url)):
        return Stop(ChainEnd.LOOP, url)
    if len(urls) > max_hops:
        return Stop(ChainEnd.TOO_MANY_REDIRECTS, f"more than {max_hops} redirects")
    return Follow(url)


def names_skipped_ark(url: str) -> bool:
    """Whether *url* leads to an example or test ARK: those are never requested, however they are linked.

    >>> names_skipped_ark("https://n2t.net/ark:/%31%32%33%34%35/x5"), names_skipped_ark("https://n2t.net/ark:/12148/x5")
    (True, False)
    """
    return any(mention.ark.is_skipped for spelling in (url, unquote(url)) for mention in find_arks(spelling))


def resolved_location(base: str, location: str) -> str:
    """The URL that a Location means, as raw text (RFC 3986, 5.2); only relative paths have their dots merged.

    *location* is the header's octets as Latin-1; octets outside ASCII are escaped one by one, whatever they encode.
    Raises `BadLocation` when host or port make no sense.

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
        path, question, query = request_target(base).partition("?")
        if reference.startswith("/"):
            target = reference
        elif reference.startswith("?"):
            target = path + reference
        elif not reference:
            target = path + question + query
        else:
            target = _merged(path, reference)
        url = f"{scheme}://{authority}{target}"
    if _HTTP.match(url):
        _require_host(url)
    return url


def _merged(path: str, reference: str) -> str:
    head, question, query = reference.partition("?")
    kept: list[str] = []
    segments = (path.rpartition("/")[0] + "/" + head).split("/")[1:]
    for segment in segments:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in (".", ".."):
        kept.append("")
    return "/" + "/".join(kept) + question + query


def _require_host(url: str) -> None:
    try:
        parts = urlsplit(url)
        has_host, _ = bool(parts.hostname), parts.port
    except ValueError as problem:
        raise BadLocation(f"{problem}: {url}") from None
    if not has_host:
        raise BadLocation(f"no host: {url}")


#: Failures by the class names of the exception, its causes and its reasons; the first that is known decides.
FAILURES: Mapping[str, ChainEnd] = {
    "RobotsForbidden": ChainEnd.ROBOTS,
    "AddressRefused": ChainEnd.REFUSED_ADDRESS,
    "NameNotRouted": ChainEnd.REFUSED_ADDRESS,
    "CannotResolveHostError": ChainEnd.DNS,
    "DNSLookupError": ChainEnd.DNS,
    "DownloadConnectionRefusedError": ChainEnd.REFUSED,
    "ConnectionRefusedError": ChainEnd.REFUSED,
    "DownloadTimeoutError": ChainEnd.TIMEOUT,
    "SSL.Error": ChainEnd.TLS,
    "ParseError": ChainEnd.PROTOCOL_ERROR,
    "BadStatusLine": ChainEnd.PROTOCOL_ERROR,
    "ConnectionLost": ChainEnd.RESET,
    "ConnectionDone": ChainEnd.RESET,
    "ConnectionAborted": ChainEnd.RESET,
    "NoRouteError": ChainEnd.REFUSED,
    "ConnectError": ChainEnd.REFUSED,
    "ResponseNeverReceived": ChainEnd.RESET,
    "ValueError": ChainEnd.PROTOCOL_ERROR,
    "KeyError": ChainEnd.PROTOCOL_ERROR,  # Twisted's words for a transfer coding that it doesn't know
}


def failure_end(names: Collection[str]) -> ChainEnd:
    """What a failure is, from the *names* of its exceptions, in whatever order they were raised.

    >>> failure_end(["DownloadFailedError", "ResponseNeverReceived", "ConnectionLost"]).value
    'reset'
    """
    return next((end for name, end in FAILURES.items() if name in names), ChainEnd.UNDETERMINED)


def requests_sent(observations: Iterable[Observation]) -> int:
    """How many requests went out for *observations*: every hop but those that our own rules held back."""
    held_back = (ChainEnd.ROBOTS, ChainEnd.REFUSED_ADDRESS)
    return sum(len(each.hops) - (each.end in held_back and len(each.hops) > 0) for each in observations)
