"""Pure: the requests of a conformance test: which URLs ask a resolver about one ARK, and in which way.

An ARK of which it is known that it is there is asked for as it is, in forms that mean the same or must not mean the
same, with inflections, and in the ways of HTTP; beside it names that can't exist.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from crawler.asking.probes import control_ark, form_url
from crawler.model.observations import CONFORMANCE, Question
from crawler.model.resolving import INFLECTED, asked_url
from extractors.model.ark import Ark

#: A NAAN of 16 octets that no one has, as long as must be supported (2023, 2.3), and one of five.
LONG_NAAN, OTHER_NAAN = "0123456789bcdfgh", "00000"
#: Octets that no ARK has: NUL, half of a character of UTF-8, and a brace.
ODD_OCTETS = "%00%FF%7D"
#: Octets of a name that is longer than anybody needs.
OVER_LONG = 4_000
#: The query that is to reach the target, and its value.
QUERY = "from=arkaudit"
#: The site whose scripts ask; a domain that no one can have (RFC 2606).
ORIGIN = "https://scripts.example"
_LOOK_ALIKE = "%E2%80%90"


@dataclass(frozen=True, slots=True)
class Probe:
    """One request of the test."""

    ark: Ark
    request_url: str
    """The URL of the ARK under test, to which it belongs."""
    question: Question
    url: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)


def url_of(resolver: str, ark: Ark) -> str:
    """The URL of *ark* at *resolver*, the URL before the label."""
    return f"{resolver.rstrip('/')}/{ark}"


def probes(resolver: str, ark: Ark, *, is_gone: bool = False) -> Iterator[Probe]:
    """The requests about *ark* at *resolver*, the URL before the label; of one that *is gone* that for the ARK alone.

    >>> asked = list(probes("https://ark.example.org/", Ark.parse("ark:12x45/b7")))
    >>> asked[1].url, asked[-1].url
    ('https://ark.example.org/ark:12x45/b7?info', 'https://ark.example.org/')
    """
    base = f"{resolver.rstrip('/')}/"
    url = url_of(resolver, ark)

    def probe(
        question: Question, asked: str, *, of: Ark = ark, method: str = "GET", **headers: str
    ) -> Probe:
        return Probe(of, url, question, asked, method, headers)

    if is_gone:
        yield probe(Question.TOMBSTONE, url)
        return
    yield probe(Question.OBJECT, url)
    for question in INFLECTED:
        yield probe(question, asked_url(url, question))
    control = control_ark(ark, base)
    yield probe(Question.CONTROL, base + str(control), of=control)
    yield probe(Question.CONTROL_INFO, asked_url(base + str(control), Question.INFO), of=control)
    for question in CONFORMANCE:
        asked = form_url(url, ark, question)
        if asked is not None and asked != url:
            yield probe(question, asked)
    for question, written in _spellings(ark):
        yield probe(question, base + written)
    for question, other in (
        (Question.LONG_NAAN, Ark(LONG_NAAN, ark.name)),
        (Question.OTHER_NAAN, Ark(OTHER_NAAN, ark.name)),
    ):
        yield probe(question, base + str(other), of=other)
    yield probe(Question.ODD_OCTETS, f"{base}ark:{ark.naan}/{ODD_OCTETS}")
    yield probe(Question.OVER_LONG, f"{base}ark:{ark.naan}/{'z' * OVER_LONG}")
    yield probe(Question.QUERY, f"{url}?{QUERY}")
    yield probe(Question.HEAD, url, method="HEAD")
    yield probe(Question.ACCEPT, url, Accept="application/x-arkaudit-unheard-of")
    yield probe(Question.FROM_SCRIPT, asked_url(url, Question.INFO), Origin=ORIGIN)
    if urlsplit(url).scheme == "https" and urlsplit(url).port in (None, 443):
        yield probe(Question.PLAIN_HTTP, f"http://{url.removeprefix('https://')}")
    yield probe(Question.FRONT_PAGE, base)


def _spellings(ark: Ark) -> Iterator[tuple[Question, str]]:
    """Return what *ark* is written as so that it means the same, or for the name in the other case another."""
    name = ark.name + ark.qualifier
    if ark.naan != ark.naan.upper():
        yield Question.UPPER_NAAN, f"ark:{ark.naan.upper()}/{name}"
    if ark.name.swapcase() != ark.name:
        yield Question.OTHER_CASE, f"ark:{ark.naan}/{ark.name.swapcase()}{ark.qualifier}"
    middle = (len(ark.name) + 1) // 2
    if "%" not in ark.name[middle - 2 : middle] and len(ark.name) > 1:
        yield Question.LOOK_ALIKE, f"ark:{ark.naan}/{name[:middle]}{_LOOK_ALIKE}{name[middle:]}"
    if ark.name[0].isalnum():
        yield Question.NEEDLESS_ESCAPE, f"ark:{ark.naan}/%{ord(name[0]):02X}{name[1:]}"
