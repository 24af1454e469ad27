"""Pure: the requests of a conformance test: which URLs ask a resolver about one ARK, and in which way.

An ARK of which it is known that it is there is asked for as it is, in forms that mean the same or must not mean the
same, with inflections, and in the ways of HTTP; beside it names that can't exist.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from crawler.asking.probes import control_ark, forms
from crawler.model.observations import Question
from crawler.model.resolving import INFLECTED, asked_url, request_url, resolver_of
from extractors.model.ark import Ark
from extractors.model.normalize import LABEL

#: A NAAN of 16 octets that no one has, as long as must be supported (2023, 2.3), and one of five.
LONG_NAAN, OTHER_NAAN = "0123456789bcdfgh", "00000"
#: Octets that no ARK has: NUL, half of a character of UTF-8, and a brace.
ODD_OCTETS = "%00%FF%7D"
#: Octets of a name that is longer than anybody needs.
OVER_LONG = 4_000
#: Names for which a resolver of one's own is asked within a minute.
NAMES_A_MINUTE = 100
#: The query that is to reach the target, and its value.
QUERY = "from=arkaudit"
#: The site whose scripts ask; a domain that no one can have (RFC 2606).
ORIGIN = "https://scripts.example"
_LOOK_ALIKE = "%E2%80%90"
#: Label, NAAN, base name, and the qualifier: "ark:/" "12148" "bpt6k-1" "/f2.item".
_WRITTEN = re.compile(rf"({LABEL.pattern})([^/]+)/+([^/.]+)(.*)", re.IGNORECASE | re.DOTALL)


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
    times: int = 1
    """How many names are asked for, one after another, while they are answered: this one, with its number appended."""


@dataclass(frozen=True, slots=True)
class NamedArk:
    """An ARK as the user has written it: a resolver may know that spelling alone, and forms are made of it."""

    ark: Ark
    written: str
    """From its label to its end."""

    def url_at(self, resolver: str) -> str:
        """The URL that asks for it at *resolver*, the URL before the label."""
        return request_url(self.written, None, resolver)


def probes(resolver: str, named: NamedArk, *, is_gone: bool = False, is_own: bool = False) -> Iterator[Probe]:
    """The requests about *named* at *resolver*; of one whose object *is gone* that for the object alone.

    A resolver that *is the user's own* is asked for a hundred names more.

    >>> named = NamedArk(Ark.parse("ark:12x45/b7"), "ark:12x45/b-7")
    >>> asked = list(probes("https://ark.example.org/", named))
    >>> asked[1].url, asked[-1].url
    ('https://ark.example.org/ark:12x45/b-7?info', 'https://ark.example.org/')
    """
    ark, url = named.ark, named.url_at(resolver)
    base = resolver_of(url)

    def probe(question: Question, asked: str, *, of: Ark = ark, method: str = "GET", **headers: str) -> Probe:
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
    for question, asked in forms(url, ark):
        yield probe(question, asked)
    for question, written in _spellings(named.written):
        yield probe(question, base + written)
    for question, naan in ((Question.LONG_NAAN, LONG_NAAN), (Question.OTHER_NAAN, OTHER_NAAN)):
        other = Ark(naan, ark.name)
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
    if is_own:
        yield Probe(control, url, Question.RATE, base + str(control), times=NAMES_A_MINUTE)


def _spellings(written: str) -> Iterator[tuple[Question, str]]:
    """Return other spellings of an ARK that mean the same, and the name in the other case, which means another.

    >>> dict(_spellings("ark:/12x45/b-7.pdf"))[Question.OTHER_CASE]
    'ark:/12x45/B-7.pdf'
    """
    parts = _WRITTEN.fullmatch(written)
    if parts is None:
        return
    label, naan, name, rest = parts.groups()
    if naan.swapcase() != naan:
        other = naan.upper() if naan != naan.upper() else naan.lower()
        yield Question.OTHER_CASE_NAAN, f"{label}{other}/{name}{rest}"
    if name.swapcase() != name:
        yield Question.OTHER_CASE, f"{label}{naan}/{name.swapcase()}{rest}"
    middle = (len(name) + 1) // 2
    if len(name) > 1 and "%" not in name:
        with_hyphen = f"{name[:middle]}{_LOOK_ALIKE}{name[middle:]}"
        yield Question.LOOK_ALIKE, f"{label}{naan}/{with_hyphen}{rest}"
    if name[0].isalnum():
        yield Question.NEEDLESS_ESCAPE, f"{label}{naan}/%{ord(name[0]):02X}{name[1:]}{rest}"


#: What two resolvers are compared by.
COMPARED = (Question.OBJECT, Question.INFO)


def comparison_probes(resolvers: Sequence[str], arks: Iterable[NamedArk]) -> Iterator[Probe]:
    """The requests that compare *resolvers*: for the object and its description, of each ARK, at each of them."""
    for named in arks:
        for url in map(named.url_at, resolvers):
            for question in COMPARED:
                yield Probe(named.ark, url, question, asked_url(url, question))
