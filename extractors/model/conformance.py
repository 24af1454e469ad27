"""Departures of an ARK's spelling from the specifications: remarks with it, never a reason to lose it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from extractors.model.ark import BETANUMERIC, SKIPPED_NAANS, Ark, Written, shoulder_of
from extractors.model.naan import SHARED_NAANS
from extractors.model.normalize import Profile, with_clean_structure, with_suffixes_last, without_hyphens


class KnowsNaans(Protocol):
    """A registry, as far as remarks need one."""

    def knows(self, naan: str, /) -> bool:
        """Return whether *naan* is assigned to anybody."""


class Remark(StrEnum):
    """A remark about the form of an ARK; the tokens are kept in the store and published."""

    PLAIN_HTTP = "plain-http"
    CLASSIC_LABEL = "classic-label"
    CASE_LOST = "case-lost"
    UPPER_CASE_NAAN = "upper-case-naan"
    VOWEL_IN_NAAN = "vowel-in-naan"
    NAAN_OUTSIDE_BETANUMERIC = "naan-outside-betanumeric"
    NAAN_LENGTH = "naan-length"
    UNREGISTERED_NAAN = "unregistered-naan"
    UNFIT_FOR_REFERENCE = "unfit-for-reference"
    TEST_SHOULDER = "test-shoulder"
    SLASH_AFTER_SHOULDER = "slash-after-shoulder"
    OUTSIDE_REPERTOIRE = "outside-repertoire"
    RAW_NON_ASCII = "raw-non-ascii"
    CONTROL_CHARACTER = "control-character"
    MALFORMED_ESCAPE = "malformed-escape"
    NEEDLESS_ESCAPE = "needless-escape"
    HYPHEN = "hyphen"
    HYPHEN_LOOK_ALIKE = "hyphen-look-alike"
    EXTRA_DELIMITER = "extra-delimiter"
    MISPLACED_SUFFIX = "misplaced-suffix"
    RESERVED_EXTENSION = "reserved-extension"
    OVER_LONG = "over-long"
    URL_GOES_ON = "url-goes-on"

    @property
    def explanation(self) -> str:
        """One sentence for a reader of the report, with the section it rests on."""
        return EXPLANATIONS[self]


#: Sections are those of draft-kunze-ark-38 where no other text is named.
EXPLANATIONS: Mapping[Remark, str] = {
    Remark.PLAIN_HTTP: "The citation goes over http, where https is preferred (ARK FAQ).",
    Remark.CLASSIC_LABEL: "The label is the older `ark:/`, equal to `ark:` forever (3.2).",
    Remark.CASE_LOST: "Everything is in capitals, though case counts in names: it may have been lost (3.2, ARK FAQ).",
    Remark.UPPER_CASE_NAAN: "The NAAN has capitals, and is read in lower case (3.2).",
    Remark.VOWEL_IN_NAAN: "The NAAN has a vowel, and NAANs have none, so that they spell no words (2.3).",
    Remark.NAAN_OUTSIDE_BETANUMERIC: "The NAAN has a character other than digits and consonants without l and y (2.3).",
    Remark.NAAN_LENGTH: "The NAAN hasn't five characters, as all have that were assigned since 2001 (2.3).",
    Remark.UNREGISTERED_NAAN: "The registry doesn't know the NAAN; using one that isn't assigned is misuse (FAQ).",
    Remark.UNFIT_FOR_REFERENCE: "The NAAN is for examples or tests, unfit for long-term reference (table 2).",
    Remark.TEST_SHOULDER: "Names that begin with fk and a digit mark fakes: probably a test identifier (4.6).",
    Remark.SLASH_AFTER_SHOULDER: "A slash behind the shoulder declares the shoulder to be an object (2.4.1).",
    Remark.OUTSIDE_REPERTOIRE: "Name or qualifier has a character that should have been percent-encoded (3.1).",
    Remark.RAW_NON_ASCII: "Characters outside ASCII stand unencoded, and count as their UTF-8 escapes (3.1).",
    Remark.CONTROL_CHARACTER: "Blanks, controls and bidirectional formatting are never legal (2020 scheme, 8.1).",
    Remark.MALFORMED_ESCAPE: "A percent sign is not followed by two hexadecimal digits (3.1).",
    Remark.NEEDLESS_ESCAPE: "A character is percent-encoded that needn't be, and no longer counts as itself (3.2).",
    Remark.HYPHEN: "It has hyphens, which count for nothing in comparison, though some resolvers need them (3.1).",
    Remark.HYPHEN_LOOK_ALIKE: "It has characters that look like hyphens and come from typesetting (3.1).",
    Remark.EXTRA_DELIMITER: "A slash or period stands first, last or doubled, and means nothing there (3.2).",
    Remark.MISPLACED_SUFFIX: "A .suffix stands left of a /component, and counts as standing at the end (3.2).",
    Remark.RESERVED_EXTENSION: "A part of the qualifier begins with a digit or underscore, which is reserved (4.7).",
    Remark.OVER_LONG: "It is longer than what every implementation must support (3.1; 2005: 2.6; 2020: 4, 7.1.1).",
    Remark.URL_GOES_ON: "It is escaped in a URL that goes on behind; what is escaped is the ARK (IIIF Image API, 9).",
}

#: The characters that need no escape apart from letters and digits, as they come unescaped (3.1; 2005: 2.6; 2020: 4).
_SYMBOLS = {Profile.DRAFT_2023: "=~*+@_$", Profile.DRAFT_2005: "=#*+@_$", Profile.SCHEME_2020: "=~*+@_$"}
_OUTSIDE_REPERTOIRE = {
    profile: re.compile(rf"(?=[!-~])[^0-9A-Za-z%\-./{re.escape(symbols)}]") for profile, symbols in _SYMBOLS.items()
}
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
_MALFORMED_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_HYPHEN_LOOK_ALIKE = re.compile("[\N{HYPHEN}-\N{HORIZONTAL BAR}]")
_NON_ASCII = re.compile("[^\x00-\x7f\N{HYPHEN}-\N{HORIZONTAL BAR}]")
_CONTROL = re.compile("[\x00-\x20\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_EXTRA_DELIMITER = re.compile(r"\A[/.]|[/.]{2}|[/.]\Z")
_TEST_SHOULDER = re.compile(r"fk[0-9]")
_RESERVED_PART = re.compile(r"[/.][0-9_]")
_CAPITAL = re.compile(r"[A-Z]")
_VOWEL = re.compile(r"[aeiou]")
_OUTSIDE_BETANUMERIC = re.compile(rf"[^{BETANUMERIC}aeiou]")
_NAAN_CHARS = 5
#: What is shorter is over-long by no specification.
_LONG = 128
_PART = "[0-9A-Za-z=+_]++"
#: Most ARKs: with nothing about them that most remarks speak of. A hyphen is between letters or digits.
_CLEAN = re.compile(
    rf"""
    (?: (?P<scheme> https? ) ://[0-9A-Za-z.-]++/ (?: [0-9A-Za-z.~_-]++/ )*+ )?
    ark: (?P<slash> /? )
    (?P<body> (?P<naan> [0-9]{{5}} ) / {_PART} (?: (?<=[0-9A-Za-z]) - (?=[0-9A-Za-z]) {_PART} )*+
        (?: / {_PART} )*+ (?: \. {_PART} )*+ )
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class _RemarkInput:
    """The values that a remark is decided on."""

    written: Written
    ark: Ark
    registry: KnowsNaans | None
    profile: Profile
    url_goes_on: bool = False

    @property
    def naan_and_name(self) -> tuple[str, str]:
        """The NAAN, and name with qualifier, as written; in 2005 a ``#`` is part of them."""
        body, fragment = self.written.body, self.written.fragment
        if self.profile is Profile.DRAFT_2005 and self.written.query is None and fragment is not None:
            body += "#" + fragment.partition("?")[0]
        naan, _, name = body.lstrip("/.-").partition("/")
        return naan, name


def remarks(
    written: str,
    ark: Ark,
    registry: KnowsNaans | None = None,
    *,
    profile: Profile = Profile.DRAFT_2023,
    url_goes_on: bool = False,
) -> tuple[Remark, ...]:
    """Return what is to be said about *ark* as it was *written* (whole again, with resolver and hyphens), in a fixed
    order.

    Whether the NAAN is registered is only said with a *registry*; that the URL around it goes on after it, only where
    its reader has seen that.

    >>> written = "http://www.familysearch.org/ark:/61903/1:1:C4H8-2DW2"
    >>> [remark.value for remark in remarks(written, Ark.parse(written))]
    ['plain-http', 'classic-label', 'outside-repertoire', 'hyphen']
    """
    is_short = len(written) < _LONG and len(ark.name) + len(ark.qualifier) < _LONG
    clean = _CLEAN.fullmatch(written) if is_short else None
    if clean is not None and clean["naan"] == ark.naan:
        return tuple(_on_clean(clean, ark, registry, url_goes_on=url_goes_on))
    parts = Written.of(written) or Written.of(str(ark))
    assert parts is not None, "an ARK in normal form begins with its label"
    case = _RemarkInput(parts, ark, registry, profile, url_goes_on)
    return tuple(remark for remark, applies in RULES.items() if applies(case))


def _has_lost_case(case: _RemarkInput) -> bool:
    return case.written.label.isupper() and (case.ark.name + case.ark.qualifier).isupper()


def _has_upper_case_naan(case: _RemarkInput) -> bool:
    return _CAPITAL.search(_ESCAPE.sub("", case.naan_and_name[0])) is not None


def _is_unregistered(case: _RemarkInput) -> bool:
    return case.registry is not None and case.ark.naan not in SHARED_NAANS and not case.registry.knows(case.ark.naan)


def _is_outside_repertoire(case: _RemarkInput) -> bool:
    return _OUTSIDE_REPERTOIRE[case.profile].search(case.naan_and_name[1]) is not None


def _has_needless_escape(case: _RemarkInput) -> bool:
    decoded = (chr(int(escape[1:], 16)) for escape in _ESCAPE.findall(case.written.body))
    return any(char.isascii() and (char.isalnum() or char in _SYMBOLS[case.profile]) for char in decoded)


def _has_misplaced_suffix(case: _RemarkInput) -> bool:
    clean = with_clean_structure(without_hyphens("ark:" + case.written.body))
    return with_suffixes_last(clean) != clean


def _is_over_long(case: _RemarkInput) -> bool:
    octets = len(case.ark.name) + len(case.ark.qualifier)
    match case.profile:
        case Profile.DRAFT_2023:
            return octets > 255
        case Profile.DRAFT_2005:
            return octets >= 128
        case Profile.SCHEME_2020:
            extended = len(str(case.written)) - len(case.written.resolver)
            basic = len(case.written.label + case.written.body)
            is_bare_or_inflected = case.written.query is None or case.written.inflection != ""
            return extended > 255 and not (basic <= 255 and is_bare_or_inflected)


#: When a remark is due: the whole table, in the order in which remarks are given.
RULES: Mapping[Remark, Callable[[_RemarkInput], bool]] = {
    Remark.PLAIN_HTTP: lambda case: case.written.resolver.lower().startswith("http://"),
    Remark.CLASSIC_LABEL: lambda case: case.written.label.endswith("/"),
    Remark.CASE_LOST: _has_lost_case,
    Remark.UPPER_CASE_NAAN: _has_upper_case_naan,
    Remark.VOWEL_IN_NAAN: lambda case: _VOWEL.search(case.ark.naan) is not None,
    Remark.NAAN_OUTSIDE_BETANUMERIC: lambda case: _OUTSIDE_BETANUMERIC.search(case.ark.naan) is not None,
    Remark.NAAN_LENGTH: lambda case: len(case.ark.naan) != _NAAN_CHARS,
    Remark.UNREGISTERED_NAAN: _is_unregistered,
    Remark.UNFIT_FOR_REFERENCE: lambda case: case.ark.is_skipped,
    Remark.TEST_SHOULDER: lambda case: _TEST_SHOULDER.match(case.ark.name) is not None and not case.ark.is_skipped,
    Remark.SLASH_AFTER_SHOULDER: lambda case: (
        case.ark.qualifier.startswith("/") and shoulder_of(case.ark.name) == case.ark.name
    ),
    Remark.OUTSIDE_REPERTOIRE: _is_outside_repertoire,
    Remark.RAW_NON_ASCII: lambda case: _NON_ASCII.search(case.written.body) is not None,
    Remark.CONTROL_CHARACTER: lambda case: _CONTROL.search(case.written.body) is not None,
    Remark.MALFORMED_ESCAPE: lambda case: _MALFORMED_ESCAPE.search(case.written.body) is not None,
    Remark.NEEDLESS_ESCAPE: _has_needless_escape,
    Remark.HYPHEN: lambda case: "-" in case.written.body,
    Remark.HYPHEN_LOOK_ALIKE: lambda case: _HYPHEN_LOOK_ALIKE.search(case.written.body) is not None,
    Remark.EXTRA_DELIMITER: lambda case: _EXTRA_DELIMITER.search(without_hyphens(case.written.body)) is not None,
    Remark.MISPLACED_SUFFIX: _has_misplaced_suffix,
    Remark.RESERVED_EXTENSION: lambda case: _RESERVED_PART.search(case.ark.qualifier) is not None,
    Remark.OVER_LONG: _is_over_long,
    Remark.URL_GOES_ON: lambda case: case.url_goes_on,
}


def _on_clean(clean: re.Match[str], ark: Ark, registry: KnowsNaans | None, *, url_goes_on: bool) -> Iterator[Remark]:
    """What `RULES` say of a `_CLEAN` form that is not long: only these remarks may be due."""
    if clean["scheme"] == "http":
        yield Remark.PLAIN_HTTP
    if clean["slash"]:
        yield Remark.CLASSIC_LABEL
    if registry is not None and ark.naan not in SHARED_NAANS and not registry.knows(ark.naan):
        yield Remark.UNREGISTERED_NAAN
    if ark.naan in SKIPPED_NAANS:
        yield Remark.UNFIT_FOR_REFERENCE
    elif _TEST_SHOULDER.match(ark.name):
        yield Remark.TEST_SHOULDER
    if ark.qualifier.startswith("/") and shoulder_of(ark.name) == ark.name:
        yield Remark.SLASH_AFTER_SHOULDER
    if "-" in clean["body"]:
        yield Remark.HYPHEN
    if ark.qualifier and _RESERVED_PART.search(ark.qualifier):
        yield Remark.RESERVED_EXTENSION
    if url_goes_on:
        yield Remark.URL_GOES_ON


@dataclass(frozen=True, slots=True)
class PossibleDuplicates:
    """ARKs that differ, and are one by the rules of *profile*: perhaps one object, cited in two spellings."""

    profile: Profile
    arks: tuple[Ark, ...]


def possible_duplicates(arks: Iterable[Ark]) -> tuple[PossibleDuplicates, ...]:
    """Those of *arks* that only the drafts of 2005 or 2020 take for one, by profile and then in order.

    >>> arks = [Ark.parse(text) for text in ("ark:12345/x.svg.en", "ark:12345/x.en.svg", "ark:12345/x.en")]
    >>> for found in possible_duplicates(arks):
    ...     print(found.profile.value, *found.arks)
    draft-2005 ark:12345/x.en.svg ark:12345/x.svg.en
    scheme-2020 ark:12345/x.en.svg ark:12345/x.svg.en
    """
    distinct = sorted(set(arks))
    duplicates: list[PossibleDuplicates] = []
    for profile in (Profile.DRAFT_2005, Profile.SCHEME_2020):
        alike: dict[str, list[Ark]] = defaultdict(list)
        for ark in distinct:
            form = ark.form_under(profile)
            if form is not None:
                alike[form].append(ark)
        duplicates += [PossibleDuplicates(profile, tuple(group)) for group in alike.values() if len(group) > 1]
    return tuple(duplicates)
