"""Make probes of resolvers: names that can't exist. No I/O.

Answers for such names (controls) show how much a 200 means.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from string import digits
from urllib.parse import quote, unquote, urlunsplit

from crawler.answers.quirks import quirks
from crawler.model.crawl_requests import CAMPAIGN_PARAMETER, PRESENTATION_NAME
from crawler.model.resolving import resolver_of
from extractors.model.ark import BETANUMERIC, Ark, shoulder_of
from extractors.model.check_characters import KNOWN_ZONES, CheckCharacter
from extractors.model.naan import Registry
from extractors.model.normalize import LABEL
from extractors.model.urls import split_url

#: The number of names that make an unregistered shoulder; fewer with the same beginning may be chance.
ENOUGH_NAMES = 3
#: The number of invented characters that make it all but impossible that a name exists by chance,
_INVENTED_CHARS = 10
#: and the number if a wrong check character rules it out.
_INVENTED_CHARS_CHECKED = 4
#: The addition to a seed that gives other names.
_SECOND_SEED = " other"
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

    resolver: str
    """A URL up to the label; without a label, up to the path."""
    naan: str
    shoulder: str = ""


@dataclass(frozen=True, slots=True)
class Shoulders:
    """The shoulders of ARKs: those in the registry, and those shared by several of the given ARKs."""

    registry: Registry
    shared: frozenset[tuple[str, str]] = field(default_factory=frozenset)
    """NAAN and shoulder of the shoulders that several of the ARKs have."""

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
        return shoulder if (ark.naan, shoulder) in self.shared else ""

    def neighbourhood(self, url: str, ark: Ark) -> Neighbourhood:
        """Return the neighbourhood that a control for *ark*, requested at *url*, is valid for."""
        return Neighbourhood(resolver_or_host(url), ark.naan, self.shoulder_of(ark))


def resolver_or_host(url: str) -> str:
    """Return a request URL up to its label; if it has none, its scheme and host.

    >>> resolver_or_host("https://n2t.net/r/ark:/12148/btv1b84"), resolver_or_host("https://example.org/b/06l?v=1")
    ('https://n2t.net/r/', 'https://example.org/')
    """
    if LABEL.search(url):
        return resolver_of(url)
    parts = split_url(url)
    return f"{parts.scheme}://{parts.netloc}/"


def control_ark(ark: Ark, resolver: str, *, is_second: bool = False) -> Ark:
    """Return a name under the NAAN and shoulder of *ark* that can't exist at *resolver*.

    It has the shape of the real one: another digit for each digit and another letter for each letter, in the same
    alphabet, so that it never begins with the real one. If the rule for check characters of such names is known, its
    check character is wrong. The result is the same for the same arguments; *is_second* gives a second name.

    >>> real = Ark.parse("ark:12148/btv1b8449691v")
    >>> control = control_ark(real, "https://n2t.net/")
    >>> control == control_ark(real, "https://n2t.net/"), control.shoulder, len(control.name) == len(real.name)
    (True, 'btv1', True)
    """
    prefix = _PREFIX.match(ark.name)
    kept_prefix = (ark.shoulder or (prefix[0] if prefix else "")) if ark.shoulder != ark.name else ""
    is_checked = KNOWN_ZONES.check(ark) in (CheckCharacter.PASSES, CheckCharacter.FAILS)
    least_length = _INVENTED_CHARS_CHECKED if is_checked else _INVENTED_CHARS
    shape = _extend(ark.name[len(kept_prefix) :], least_length)
    seed = hashlib.sha256(
        f"{resolver} {ark.naan} {kept_prefix} {len(shape)}{_SECOND_SEED * is_second}".encode()
    ).digest()
    letters = _HEXADECIMAL_LETTERS if _HEXADECIMAL.match(ark.name) else _CONSONANTS
    name = kept_prefix + _with_other_characters(shape, letters, _octets_from(seed))
    invented = Ark(ark.naan, name)
    if KNOWN_ZONES.check(invented) is CheckCharacter.PASSES:
        return Ark(ark.naan, name[:-1] + ("b" if name[-1] != "b" else "c"))
    return invented


def _octets_from(seed: bytes) -> Iterator[int]:
    while True:
        yield from seed
        seed = hashlib.sha256(seed).digest()


def _extend(shape: str, least_length: int) -> str:
    """Return *shape* with its last character, or ``x``, repeated until it has *least_length* letters and digits.

    A shape without any letter or digit is dropped.
    """
    last_character = shape[-1:] if shape[-1:].isalnum() else "x"
    own_length = sum(map(str.isalnum, shape))
    return (shape if own_length else "") + last_character * max(0, least_length - own_length)


def _with_other_characters(shape: str, letters: str, octets: Iterator[int]) -> str:
    """Return *shape* with another digit for each digit and one of *letters* for each letter, chosen by *octets*."""
    replaced = ""
    for character, octet in zip(shape, octets, strict=False):
        alphabet = (digits if character.isdigit() else letters).replace(character.lower(), "")
        replacement = alphabet[octet % len(alphabet)] if character.isalnum() else character
        replaced += replacement.upper() if character.isupper() else replacement
    return replaced


def control_url(url: str, ark: Ark, registry: Registry, *, is_second: bool = False) -> str | None:
    """Return the URL of the control for *ark* at the resolver of *url*, or of the second control with *is_second*.

    None if *url* has neither a label nor a name to replace.

    >>> control_url("https://n2t.net/ark:/12148/btv1b8449691v", Ark.parse("ark:12148/btv1b8449691v"),
    ...             Registry.builtin()).startswith("https://n2t.net/ark:/12148/btv1")
    True
    """
    invented = control_ark(ark, resolver_or_host(url), is_second=is_second)
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
    return _with_changed_names(url, lambda name: "*", every=every)


def landing_control(url: str, *, is_second: bool = False, every: bool = False) -> str:
    """Return the URL of a thing that can't exist at the host of *url*; with *is_second* that of a second thing.

    The last segment of the path is changed, or the values of the query, and all segments that are numbers. Many sites
    find a thing by its number and ignore the title after it. Others ignore what is changed, such as a page or a
    language. For these, *every* changes all parts that may identify a thing.

    >>> landing_control("https://library.example/item/7.html").startswith("https://library.example/item/")
    True
    """
    octets = _octets_from(
        hashlib.sha256(f"{landing_pattern(url, every=every)}{_SECOND_SEED * is_second}".encode()).digest()
    )

    def invent(name: str) -> str:
        leading_part, slash, last_segment = unquote(name).rpartition("/")
        extension = _EXTENSION.search(last_segment)
        stem = last_segment[: extension.start()] if extension else last_segment
        letters = _HEXADECIMAL_LETTERS if _HEXADECIMAL.match(stem) else _CONSONANTS
        new_name = _with_other_characters(_extend(stem, _INVENTED_CHARS), letters, octets)
        return quote(leading_part + slash + new_name + (extension[0] if extension else ""), safe="/:@,;+~")

    return _with_changed_names(url, invent, every=every)


def _with_changed_names(url: str, change: Callable[[str], str], *, every: bool) -> str:
    """Return *url* with *change* applied to each part that may identify one thing."""
    label = LABEL.search(url)
    if label is not None:
        naan, slash, name = url[label.end() :].partition("?")[0].rstrip("/").partition("/")
        parts_of_name = name.split("/") if every else [name]
        return f"{url[: label.end()]}{naan}/{'/'.join(map(change, parts_of_name))}"
    parts = split_url(url)
    segments = (parts.path.rstrip("/") or "/").split("/")
    fields = [field.rpartition("=") for field in parts.query.split("&") if field]
    naming_indices = [
        index
        for index, field in enumerate(fields)
        if not (PRESENTATION_NAME.fullmatch(field[0]) or CAMPAIGN_PARAMETER.fullmatch("".join(field)))
    ]
    replaced = {index for index in naming_indices if every or any(map(str.isdigit, fields[index][2]))} or set(
        naming_indices[-1:]
    )
    last_index = len(segments) - 1
    is_numbered = any(map(str.isdigit, unquote(parts.path)))
    new_segments = [
        change(segment)
        if _NUMBERED.match(segment)
        or (index == last_index and not naming_indices)
        or (every and _may_identify(segment, is_first=index == 1 and is_numbered))
        else segment
        for index, segment in enumerate(segments)
    ]

    def change_value(value: str) -> str:
        # An address within the query is that of a manifest or a file.
        return (
            _with_changed_names(unquote(value), change, every=True)
            if every and "/" in unquote(value)
            else change(value)
        )

    new_fields = [
        f"{key}{sign}{change_value(value) if index in replaced else value}"
        for index, (key, sign, value) in enumerate(fields)
    ]
    slash = "/" if parts.path.endswith("/") and len(parts.path) > 1 else ""
    return urlunsplit((parts.scheme, parts.netloc, "/".join(new_segments) + slash, "&".join(new_fields), ""))


def _may_identify(segment: str, *, is_first: bool) -> bool:
    """Return True if a segment of a path may identify one thing.

    Languages, programs (``show.php``), words of routes and a first segment that is a word do not.
    """
    is_word = segment.isalpha() and (is_first or len(segment) <= 2 or segment.lower() in quirks().route.word)
    return bool(segment) and not is_word and _PROGRAM.search(segment) is None
