"""Make probes of resolvers: names that can't exist, and other forms of names that do. No I/O.

Answers for names that can't exist (controls) show how much a 200 means. Forms of one ARK show whether a resolver treats
equal ARKs alike; they are requested once per resolver and shoulder.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from string import digits
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from crawler.answers.quirks import quirks
from crawler.model.crawl_requests import CAMPAIGN_PARAMETER, PRESENTATION_NAME
from crawler.model.observations import CONFORMANCE, ChainEnd, Observation, Question
from crawler.model.resolving import INFLECTIONS, SUCCESSES, asked_url, resolver_of, with_other_label
from extractors.model.ark import BETANUMERIC, Ark, shoulder_of
from extractors.model.check_characters import KNOWN, CheckCharacter
from extractors.model.naan import Registry
from extractors.model.normalize import LABEL

#: The number of names that make an unregistered shoulder; fewer with the same beginning may be chance.
ENOUGH_NAMES = 3
#: The number of invented characters that make it all but impossible that a name exists by chance,
_INVENTED = 10
#: and the number if a wrong check character rules it out.
_INVENTED_CHECKED = 4
#: The addition to a seed that gives other names.
_OTHER = " other"
_CONSONANTS = "".join(letter for letter in BETANUMERIC if letter.isalpha())
_HEXADECIMAL_LETTERS = "abcdef"
_HEXADECIMAL = re.compile(r"[0-9a-f-]{16,}\Z")
_PREFIX = re.compile(r"[A-Za-z]+(?=[0-9])")
#: Part of a URL with enough digits to identify one thing: ``/item/20391/view``.
_NUMBERED = re.compile(r"(?:\D*\d){3}")
_EXTENSION = re.compile(r"\.[A-Za-z]\w{0,4}\Z")
#: The end of a program's name: ``index.php``.
_PROGRAM = re.compile(r"\.(?:php\d?|aspx?|jspx?|cgi|do|action|p[ly]|cfm|exe|dll)\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The names that one control is valid for: those of one resolver, NAAN and shoulder."""

    place: str
    """The resolver, as a URL up to the label, or up to the path if there is no label."""
    naan: str
    shoulder: str = ""


@dataclass(frozen=True, slots=True)
class Shoulders:
    """The shoulders of ARKs: those in the registry, and those shared by several of the given ARKs."""

    registry: Registry
    known: frozenset[tuple[str, str]] = field(default_factory=frozenset)

    @classmethod
    def among(cls, arks: Iterable[Ark], registry: Registry) -> Shoulders:
        """Return the shoulders of *arks*.

        >>> arks = [Ark("12148", f"btv1b{number}") for number in range(3)] + [Ark("12148", "cb1z")]
        >>> shoulders = Shoulders.among(arks, Registry.builtin())
        >>> [shoulders.shoulder_of(ark) for ark in arks[2:]]
        ['btv1', '']
        """
        names_by_shoulder = Counter((ark.naan, shoulder) for ark in set(arks) if (shoulder := shoulder_of(ark.name)))
        return cls(
            registry, frozenset(shoulder_ for shoulder_, names in names_by_shoulder.items() if names >= ENOUGH_NAMES)
        )

    def shoulder_of(self, ark: Ark) -> str:
        """Return the shoulder of *ark*, or an empty string if none is known."""
        entry = self.registry.entry(ark)
        if entry is not None and entry.shoulder:
            return entry.shoulder
        shoulder = shoulder_of(ark.name) or ""
        return shoulder if (ark.naan, shoulder) in self.known else ""

    def neighbourhood(self, url: str, ark: Ark) -> Neighbourhood:
        """Return the neighbourhood that a control for *ark*, requested at *url*, is valid for."""
        return Neighbourhood(place_of(url), ark.naan, self.shoulder_of(ark))


def place_of(url: str) -> str:
    """Return the resolver in a request URL; without a label, scheme and host.

    >>> place_of("https://n2t.net/r/ark:/12148/btv1b84"), place_of("https://example.org/brunner/06l?v=1")
    ('https://n2t.net/r/', 'https://example.org/')
    """
    if LABEL.search(url):
        return resolver_of(url)
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/"


def control_ark(ark: Ark, resolver: str, *, other: bool = False) -> Ark:
    """Return a name under the NAAN and shoulder of *ark* that can't exist at *resolver*.

    It has the shape of the real one: another digit for each digit and another letter for each letter, in the same
    alphabet, so that it never begins with the real one. If the rule for its check character is known, that is wrong.
    The result is the same for the same arguments; *other* gives a second name.

    >>> real = Ark.parse("ark:12148/btv1b8449691v")
    >>> control = control_ark(real, "https://n2t.net/")
    >>> control == control_ark(real, "https://n2t.net/"), control.shoulder, len(control.name) == len(real.name)
    (True, 'btv1', True)
    """
    prefix = _PREFIX.match(ark.name)
    kept = (ark.shoulder or (prefix[0] if prefix else "")) if ark.shoulder != ark.name else ""
    is_checked = KNOWN.check(ark) in (CheckCharacter.PASSES, CheckCharacter.FAILS)
    least = _INVENTED_CHECKED if is_checked else _INVENTED
    shape = _extend(ark.name[len(kept) :], least)
    seed = hashlib.sha256(f"{resolver} {ark.naan} {kept} {len(shape)}{_OTHER * other}".encode()).digest()
    letters = _HEXADECIMAL_LETTERS if _HEXADECIMAL.match(ark.name) else _CONSONANTS
    name = kept + _stand_in(shape, letters, _octets(seed))
    invented = Ark(ark.naan, name)
    if KNOWN.check(invented) is CheckCharacter.PASSES:
        return Ark(ark.naan, name[:-1] + ("b" if name[-1] != "b" else "c"))
    return invented


def _octets(seed: bytes) -> Iterator[int]:
    while True:
        yield from seed
        seed = hashlib.sha256(seed).digest()


def _extend(shape: str, least: int) -> str:
    """Return *shape* extended by its last letter or digit to at least *least* of them; without any, only these."""
    last = shape[-1:] if shape[-1:].isalnum() else "x"
    own = sum(map(str.isalnum, shape))
    return (shape if own else "") + last * max(0, least - own)


def _stand_in(shape: str, letters: str, octets: Iterator[int]) -> str:
    """Return other characters of the same kinds; characters that are neither letters nor digits stay."""
    made = ""
    for character, octet in zip(shape, octets, strict=False):
        alphabet = (digits if character.isdigit() else letters).replace(character.lower(), "")
        other = alphabet[octet % len(alphabet)] if character.isalnum() else character
        made += other.upper() if character.isupper() else other
    return made


def control_url(url: str, ark: Ark, registry: Registry, *, other: bool = False) -> str | None:
    """Return the URL of a control at the place of *url*, or of an *other* control; None if no such URL is possible.

    >>> control_url("https://n2t.net/ark:/12148/btv1b8449691v", Ark.parse("ark:12148/btv1b8449691v"),
    ...             Registry.builtin()).startswith("https://n2t.net/ark:/12148/btv1")
    True
    """
    invented = control_ark(ark, place_of(url), other=other)
    label = LABEL.search(url)
    if label is not None:
        slash = "/" if url.endswith("/") else ""  # some resolvers reject any name without it
        return f"{url[: label.end()]}{invented.naan}/{invented.name}{slash}"
    return registry.target(invented) if url == registry.target(ark) else None


def landing_pattern(url: str, *, every: bool = False) -> str:
    """Return the URL of a control for *url*, with ``*`` for each part that identifies one thing.

    >>> landing_pattern("https://library.example/item/20391/view"), landing_pattern("https://library.example/")
    ('https://library.example/item/*/*', 'https://library.example/*')
    >>> landing_pattern("https://library.example/show.php?id=7")
    'https://library.example/show.php?id=*'
    >>> landing_pattern("https://library.example/blue-vase?lang=en")
    'https://library.example/*?lang=en'

    With *every*, these are all parts that are no words of routes.

    >>> landing_pattern("https://library.example/item/7/page/n1?langue=fr", every=True)
    'https://library.example/item/*/page/*?langue=*'
    """
    return _with_names(url, lambda name: "*", every=every)


def landing_control(url: str, *, other: bool = False, every: bool = False) -> str:
    """Return the URL of a thing that can't exist at the host where redirects have led, or of an *other* one.

    The last segment of the path is changed, or the values of the query, and all segments that are numbers. Many sites
    find a thing by its number and ignore the title after it. Others ignore what is changed, such as a page or a
    language: then *every* part may identify the thing.

    >>> landing_control("https://library.example/item/7.html").startswith("https://library.example/item/")
    True
    """
    octets = _octets(hashlib.sha256(f"{landing_pattern(url, every=every)}{_OTHER * other}".encode()).digest())

    def invent(name: str) -> str:
        head, slash, last = unquote(name).rpartition("/")
        extension = _EXTENSION.search(last)
        stem = last[: extension.start()] if extension else last
        letters = _HEXADECIMAL_LETTERS if _HEXADECIMAL.match(stem) else _CONSONANTS
        made = _stand_in(_extend(stem, _INVENTED), letters, octets)
        return quote(head + slash + made + (extension[0] if extension else ""), safe="/:@,;+~")

    return _with_names(url, invent, every=every)


def _with_names(url: str, change: Callable[[str], str], *, every: bool) -> str:
    """Return *url* with *change* applied to each part that may identify one thing."""
    label = LABEL.search(url)
    if label is not None:
        naan, slash, name = url[label.end() :].partition("?")[0].rstrip("/").partition("/")
        parts_of_name = name.split("/") if every else [name]
        return f"{url[: label.end()]}{naan}/{'/'.join(map(change, parts_of_name))}"
    parts = urlsplit(url)
    segments = (parts.path.rstrip("/") or "/").split("/")
    fields = [field.rpartition("=") for field in parts.query.split("&") if field]
    naming = [
        at
        for at, field in enumerate(fields)
        if not (PRESENTATION_NAME.fullmatch(field[0]) or CAMPAIGN_PARAMETER.fullmatch("".join(field)))
    ]
    named = {at for at in naming if every or any(map(str.isdigit, fields[at][2]))} or set(naming[-1:])
    last = len(segments) - 1
    is_numbered = any(map(str.isdigit, unquote(parts.path)))
    path = [
        change(segment)
        if _NUMBERED.match(segment)
        or (at == last and not naming)
        or (every and _may_name(segment, is_first=at == 1 and is_numbered))
        else segment
        for at, segment in enumerate(segments)
    ]

    def change_value(value: str) -> str:
        # An address within the query is that of a manifest or a file.
        return _with_names(unquote(value), change, every=True) if every and "/" in unquote(value) else change(value)

    query = [
        f"{key}{sign}{change_value(value) if at in named else value}" for at, (key, sign, value) in enumerate(fields)
    ]
    slash = "/" if parts.path.endswith("/") and len(parts.path) > 1 else ""
    return urlunsplit((parts.scheme, parts.netloc, "/".join(path) + slash, "&".join(query), ""))


def _may_name(segment: str, *, is_first: bool) -> bool:
    """Return True if a segment may identify a thing: no language, no program, no word of routes. The first word is one."""
    is_word = segment.isalpha() and (is_first or len(segment) <= 2 or segment.lower() in quirks().route.word)
    return bool(segment) and not is_word and _PROGRAM.search(segment) is None


# -- equal spellings: the URLs of the test, and the findings from their answers


#: The number of shoulders tested for each resolver.
SHOULDERS_A_RESOLVER = 4
#: The length of name and qualifier in bytes that a resolver must accept (2023, 3.1).
LONGEST = 255
#: A component that no object has.
_UNKNOWN = "zzqqxx"


class SpellingTreatment(StrEnum):
    """The treatment of another form of an ARK, compared with the form as found."""

    SAME = "same"
    """The same answer: the resolver takes both forms as one ARK."""
    OTHER = "other"
    """Another success than for the form as found."""
    REFUSED = "refused"
    """Refused, as not found or as a bad request."""
    UNDETERMINED = "undetermined"
    """No answer, or no answer that can be compared."""


#: Forms that mean another ARK; all others are equal, and a resolver must treat them alike (2023, 3.2).
NOT_EQUAL = frozenset({Question.UNKNOWN_QUALIFIER, Question.QUALIFIED_INFO, Question.LONG_NAME})
_REFUSALS = frozenset({400, 404, 405, 406, 410, 414, 422, 501})


@dataclass(frozen=True, slots=True)
class SpellingAnswer:
    """The fields of an answer that are compared."""

    asked_url: str
    end: ChainEnd
    status: int | None
    final_url: str
    media_type: str | None = None
    title: str | None = None
    body_bytes: int | None = None

    @classmethod
    def from_observation(cls, observation: Observation) -> SpellingAnswer:
        """Return the fields of *observation*."""
        return cls(**{column.name: getattr(observation, column.name) for column in fields(cls)})

    @property
    def succeeds(self) -> bool:
        """True if the chain ends with a success (2020, 7.1.3)."""
        return self.end is ChainEnd.NON_WEB or (self.end is ChainEnd.ANSWERED and self.status in SUCCESSES)

    @property
    def was_redirected(self) -> bool:
        """True if the final URL differs from the requested one."""
        return self.final_url != self.asked_url


@dataclass(frozen=True, slots=True)
class SpellingFinding:
    """The finding about one form: its treatment, the conformance, and the reason."""

    treatment: SpellingTreatment
    conforms: bool | None
    """True if it conforms to the specifications; None if they leave it open, or if no comparison was possible."""
    reason: str


def forms(url: str, ark: Ark) -> Iterator[tuple[Question, str]]:
    """Yield the questions about the resolver of *url* that *ark* is suitable for, each with its URL.

    >>> dict(forms("https://n2t.net/ark:/12148/btv1b84", Ark.parse("ark:12148/btv1b84")))[Question.UPPER_LABEL]
    'https://n2t.net/ARK:/12148/btv1b84'
    """
    for question in CONFORMANCE:
        asked = form_url(url, ark, question)
        if asked is not None and asked != url:
            yield question, asked


def form_url(url: str, ark: Ark, question: Question) -> str | None:
    """Return the URL that requests *ark* in another form than *url*; None if that form makes no sense.

    >>> form_url("https://n2t.net/ark:/12148/btv1b84", Ark.parse("ark:12148/btv1b84"), Question.EXTRA_HYPHEN)
    'https://n2t.net/ark:/12148/btv1-b84'
    """
    label = LABEL.search(url)
    if label is None or "?" in url:
        return None
    match question:
        case Question.OTHER_LABEL:
            return with_other_label(url)
        case Question.UPPER_LABEL:
            return url[: label.start()] + label[0].upper() + url[label.end() :]
        case Question.HYPHENS:
            return asked_url(url, question)
        case Question.EXTRA_HYPHEN:
            name_at = url.find("/" + ark.name, len(resolver_of(url))) + 1
            middle = name_at + (len(ark.name) + 1) // 2
            if name_at <= 0 or len(ark.name) < 2 or "%" in url[middle - 2 : middle]:  # no hyphen inside an escape
                return None
            return f"{url[:middle]}-{url[middle:]}"
        case Question.DOUBLED_SLASH:
            naan_ends = url.find("/", label.end())
            return None if naan_ends < 0 else f"{url[:naan_ends]}/{url[naan_ends:]}"
        case Question.TRAILING_SLASH:
            return url.rstrip("/") + "/"
        case Question.TRAILING_DOT:
            return url.rstrip(".") + "."
        case Question.UNKNOWN_QUALIFIER:
            return f"{url}/{_UNKNOWN}"
        case Question.QUALIFIED_INFO:
            return f"{url}/{_UNKNOWN}{INFLECTIONS[Question.INFO]}"
        case Question.LONG_NAME:
            # A component that makes name and qualifier as long as a resolver must accept.
            name = url[label.end() :].lstrip("/").partition("/")[2]
            missing = LONGEST - len(name) - 1
            return f"{url}/{'z' * missing}" if missing > 0 else None
    return None


def judge_form(question: Question, reply: SpellingAnswer, plain: SpellingAnswer) -> SpellingFinding:
    """Return the finding about the form of *question*, compared with the *plain* form, which resolves."""
    if not plain.succeeds:
        return _unknown("the ARK as found does not resolve, so nothing can be compared")
    if reply.end is not ChainEnd.ANSWERED and not reply.succeeds:
        if question is Question.LONG_NAME and reply.end is ChainEnd.RESET:
            return _refusal("the host broke off the connection; only 414 would be acceptable", conforms=False)
        return _unknown(f"no answer: {reply.end.value}")
    if question is Question.LONG_NAME:
        if reply.status in (400, 414, 431) or (reply.status or 0) >= 500:
            return _refusal(f"answered {reply.status} for a length that must be accepted", conforms=False)
        words = f"accepted: answered {reply.status or 'with a redirect out of the web'}"
        return SpellingFinding(SpellingTreatment.SAME, True, words)
    if reply.succeeds:
        is_equal = question not in NOT_EQUAL
        if _is_same(reply, plain):
            same = "for the ARK as found" if is_equal else "without the qualifier"
            return SpellingFinding(SpellingTreatment.SAME, True if is_equal else None, f"the same answer as {same}")
        words = f"passed on to {reply.final_url}" if reply.was_redirected else "an answer of its own"
        if is_equal:
            words = f"a success, but another one: {reply.final_url}"
        return SpellingFinding(SpellingTreatment.OTHER, None, words)
    if reply.status not in _REFUSALS:
        return _unknown(f"answered {reply.status}, which says nothing about the form")
    if question not in NOT_EQUAL:
        return _refusal(f"answered {reply.status}, though it means the same ARK", conforms=False)
    return _refusal(f"answered {reply.status}: unknown qualifiers are not passed on", conforms=None)


def _unknown(reason: str) -> SpellingFinding:
    return SpellingFinding(SpellingTreatment.UNDETERMINED, None, reason)


def _refusal(reason: str, *, conforms: bool | None) -> SpellingFinding:
    return SpellingFinding(SpellingTreatment.REFUSED, conforms, reason)


def _is_same(reply: SpellingAnswer, plain: SpellingAnswer) -> bool:
    """Return True if two successes are the same by their final URLs, or else by their titles or sizes."""
    if plain.was_redirected and reply.was_redirected:
        return reply.final_url.partition("?")[0] == plain.final_url.partition("?")[0]
    if (reply.status, reply.media_type) != (plain.status, plain.media_type):
        return False
    if plain.title or reply.title:
        return reply.title == plain.title
    return reply.body_bytes is not None and reply.body_bytes == plain.body_bytes


#: Descriptions of the forms, for readers of a table.
FORMS: Mapping[Question, str] = {
    Question.OTHER_LABEL: "the other label form (ark: for ark:/, or the other way round)",
    Question.UPPER_LABEL: "the label in capitals",
    Question.HYPHENS: "the hyphens left out",
    Question.EXTRA_HYPHEN: "a hyphen in the name",
    Question.DOUBLED_SLASH: "a doubled slash after the NAAN",
    Question.TRAILING_SLASH: "a slash at the end",
    Question.TRAILING_DOT: "a full stop at the end",
    Question.UNKNOWN_QUALIFIER: "a qualifier that it can't know",
    Question.QUALIFIED_INFO: "?info after such a qualifier",
    Question.LONG_NAME: "255 characters",
}
