"""The requests of a conformance test for one ARK at a resolver. No I/O.

The ARK, which is known to exist, is requested as it is, in equal and in unequal forms, with inflections, and with other
features of HTTP. Names that can't exist are requested for comparison.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from arkaudit.features.conform.spellings import forms
from crawler.answers.probes import control_ark
from crawler.model.observations import Question
from crawler.model.resolving import INFLECTED, asked_url, request_url, resolver_of
from extractors.model.ark import Ark
from extractors.model.normalize import LABEL
from extractors.model.urls import split_url

#: An unassigned NAAN of 16 octets, the length that must be supported (draft-kunze-ark-38, 2.3), and one of five.
LONG_NAAN, OTHER_NAAN = "0123456789bcdfgh", "00000"
#: Octets that no ARK contains: NUL, an incomplete UTF-8 character, and a brace.
ODD_OCTETS = "%00%FF%7D"
#: The number of octets of an overlong name.
OVERLONG_OCTETS = 4_000
#: The number of names requested within a minute from the user's own resolver.
NAMES_A_MINUTE = 100
#: The query that should reach the target.
QUERY = "from=arkaudit"
#: The origin of a script in a browser; a reserved domain (RFC 2606).
ORIGIN = "https://scripts.example"
_LOOK_ALIKE = "%E2%80%90"
#: Label, NAAN, base name and qualifier: "ark:/" "12148" "bpt6k-1" "/f2.item".
_WRITTEN = re.compile(rf"({LABEL.pattern})([^/]+)/+([^/.]+)(.*)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Probe:
    """One request of the test."""

    ark: Ark
    request_url: str
    """The URL that requests the ARK under test, also if the probe requests another name."""
    question: Question
    url: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    times: int = 1
    """The number of names to request in sequence, by numbers appended to *url*, until a request is refused."""


@dataclass(frozen=True, slots=True)
class NamedArk:
    """An ARK as the user wrote it. Other forms derive from this spelling, because a resolver may accept no other."""

    ark: Ark
    as_written: str
    """The ARK from its label to its end."""

    def url_at(self, resolver: str) -> str:
        """Return the URL that requests the ARK, as written, at *resolver* (``https://HOST/``)."""
        return request_url(self.as_written, None, resolver)


def probes(resolver: str, written_ark: NamedArk, *, is_gone: bool = False, is_own: bool = False) -> Iterator[Probe]:
    """Yield the probes about *written_ark* at *resolver*; if its object *is_gone*, only that for its tombstone.

    A resolver that is the user's own (*is_own*) gets `NAMES_A_MINUTE` further names.

    >>> named = NamedArk(Ark.parse("ark:12x45/b7"), "ark:12x45/b-7")
    >>> asked = list(probes("https://ark.example.org/", named))
    >>> asked[1].url, asked[-1].url
    ('https://ark.example.org/ark:12x45/b-7?info', 'https://ark.example.org/')
    """
    ark, url = written_ark.ark, written_ark.url_at(resolver)
    resolver_base = resolver_of(url)
    # Names that can't exist are asked in the form of the label that is tested.
    label = "ark:/" if written_ark.as_written[4:5] == "/" else "ark:"

    def probe(
        question: Question, probe_url: str, *, asked_ark: Ark = ark, method: str = "GET", **headers: str
    ) -> Probe:
        return Probe(asked_ark, url, question, probe_url, method, headers)

    if is_gone:
        yield probe(Question.TOMBSTONE, url)
        return
    yield probe(Question.OBJECT, url)
    for question in INFLECTED:
        yield probe(question, asked_url(url, question))
    control = control_ark(ark, resolver_base)
    unknown = f"{resolver_base}{label}{control.naan}/{control.name}"
    yield probe(Question.CONTROL, unknown, asked_ark=control)
    yield probe(Question.CONTROL_INFO, asked_url(unknown, Question.INFO), asked_ark=control)
    for question, other_url in forms(url, ark):
        yield probe(question, other_url)
    for question, as_written in _spellings(written_ark.as_written):
        yield probe(question, resolver_base + as_written)
    for question, naan in ((Question.LONG_NAAN, LONG_NAAN), (Question.OTHER_NAAN, OTHER_NAAN)):
        yield probe(question, f"{resolver_base}{label}{naan}/{ark.name}", asked_ark=Ark(naan, ark.name))
    yield probe(Question.ODD_OCTETS, f"{resolver_base}{label}{ark.naan}/{ODD_OCTETS}")
    yield probe(Question.OVER_LONG, f"{resolver_base}{label}{ark.naan}/{'z' * OVERLONG_OCTETS}")
    yield probe(Question.QUERY, f"{url}?{QUERY}")
    yield probe(Question.HEAD, url, method="HEAD")
    yield probe(Question.ACCEPT, url, Accept="application/x-arkaudit-unheard-of")
    yield probe(Question.FROM_SCRIPT, asked_url(url, Question.INFO), Origin=ORIGIN)
    if split_url(url).scheme == "https" and split_url(url).port in (None, 443):
        yield probe(Question.PLAIN_HTTP, f"http://{url.removeprefix('https://')}")
    yield probe(Question.FRONT_PAGE, resolver_base)
    if is_own:
        yield Probe(control, url, Question.RATE, unknown, times=NAMES_A_MINUTE)


def _spellings(as_written: str) -> Iterator[tuple[Question, str]]:
    """Yield other spellings of an ARK with their questions.

    All are spellings of the same ARK, except that with the name in the other case.

    >>> dict(_spellings("ark:/12x45/b-7.pdf"))[Question.OTHER_CASE]
    'ark:/12x45/B-7.pdf'
    """
    match = _WRITTEN.fullmatch(as_written)
    if match is None:
        return
    label, naan, name, qualifier = match.groups()
    if naan.swapcase() != naan:
        swapped_naan = naan.upper() if naan != naan.upper() else naan.lower()
        yield Question.OTHER_CASE_NAAN, f"{label}{swapped_naan}/{name}{qualifier}"
    if name.swapcase() != name:
        yield Question.OTHER_CASE, f"{label}{naan}/{name.swapcase()}{qualifier}"
    middle = (len(name) + 1) // 2
    if len(name) > 1 and "%" not in name:
        hyphenated_name = f"{name[:middle]}{_LOOK_ALIKE}{name[middle:]}"
        yield Question.LOOK_ALIKE, f"{label}{naan}/{hyphenated_name}{qualifier}"
    if name[0].isalnum():
        yield Question.NEEDLESS_ESCAPE, f"{label}{naan}/%{ord(name[0]):02X}{name[1:]}{qualifier}"


#: The questions for comparing two resolvers.
COMPARED_QUESTIONS = (Question.OBJECT, Question.INFO)


def comparison_probes(resolvers: Sequence[str], arks: Iterable[NamedArk]) -> Iterator[Probe]:
    """Yield the probes that compare *resolvers*: for the object and the metadata of each ARK at each resolver."""
    for written_ark in arks:
        for url in map(written_ark.url_at, resolvers):
            for question in COMPARED_QUESTIONS:
                yield Probe(written_ark.ark, url, question, asked_url(url, question))
