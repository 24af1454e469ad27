"""ARK identifiers: in normal form, as written, and remarks about their spelling."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Self
from urllib.parse import unquote

from extractors.model.normalize import (
    CLEAN_ARK,
    LABEL,
    normalize,
    with_clean_structure,
    with_suffixes_last,
    without_hyphens,
    without_resolver,
)

BETANUMERIC = "0123456789bcdfghjkmnpqrstvwxz"

#: NAANs that the specification reserves for examples and tests: recorded, never requested
#: (draft-kunze-ark-38, table 2: "link checkers need not be concerned").
SKIPPED_NAANS = frozenset({"12345", "99999"})

_SHOULDER = re.compile(r"[bcdfghjkmnpqrstvwxz]*[0-9]")
_INERT_IN_NAAN = re.compile(r"[^0-9a-z]")


def shoulder_of(name: str) -> str | None:
    """Return the primordinal shoulder of a base name (draft-kunze-ark-38, 2.4.1): consonants up to the first digit.

    None if other characters come before the first digit, or there is no digit.

    >>> shoulder_of("x6np1wh8k"), shoulder_of("metadc107835")
    ('x6', None)
    """
    shoulder = _SHOULDER.match(name)
    return shoulder[0] if shoulder else None


@dataclass(frozen=True, slots=True, order=True)
class Ark:
    """One ARK in normal form. Equal ARKs name the same object (draft-kunze-ark-38, 2 and 3.2).

    >>> Ark.parse("https://n2t.net/ark:/12148/btv1-b8449691v/f29.item")
    Ark(naan='12148', name='btv1b8449691v', qualifier='/f29.item')
    >>> str(Ark.parse("ARK:/12148/btv1b84-"))
    'ark:12148/btv1b84'
    """

    naan: str
    name: str
    """The base name, up to the first ``/`` or ``.``."""
    qualifier: str = ""
    """Components, then variants, with their delimiters: ``/c3/s5.v7.xsl``."""

    @classmethod
    def parse(cls, text: str) -> Ark:
        """Return the ARK of *text* in any spelling, with or without a resolver, query or fragment.

        Raises `extractors.model.normalize.NotAnArk` (or its subclass `NamespaceOnly`) if *text* is not an ARK.
        """
        clean = CLEAN_ARK.fullmatch(text)
        if clean is not None:
            return cls(*clean.groups())
        return cls.of_normal_form(normalize(text))

    @classmethod
    def of_normal_form(cls, form: str) -> Ark:
        """Return the ARK with the normal form *form*, which is not checked.

        >>> Ark.of_normal_form("ark:12148/btv1b84/f1.item")
        Ark(naan='12148', name='btv1b84', qualifier='/f1.item')
        """
        naan, _, name_and_qualifier = form.removeprefix("ark:").partition("/")
        name = name_and_qualifier.partition("/")[0].partition(".")[0]
        return cls(naan, name, name_and_qualifier[len(name) :])

    def __str__(self) -> str:
        return f"ark:{self.naan}/{self.name}{self.qualifier}"

    @property
    def base(self) -> Ark:
        """The ARK without its qualifier, of the whole object."""
        return Ark(self.naan, self.name)

    @property
    def shoulder(self) -> str | None:
        """The primordinal shoulder of the name (draft-kunze-ark-38, 2.4.1), by `shoulder_of`; None without one.

        >>> Ark.parse("ark:12345/x6np1wh8k").shoulder
        'x6'
        """
        return shoulder_of(self.name)

    @property
    def implied_arks(self) -> Iterator[Ark]:
        """The ARKs that its form implies (draft-kunze-ark-38, 2.5), generated lazily: without the last suffix, and
        so on, then without the last component, down to the base name.

        >>> [str(ark) for ark in Ark.parse("ark:12345/a/b.c.d").implied_arks]
        ['ark:12345/a/b.c', 'ark:12345/a/b', 'ark:12345/a']
        """
        qualifier = self.qualifier
        for delimiter in "./":
            while (end := qualifier.rfind(delimiter)) >= 0:
                qualifier = qualifier[:end]
                yield Ark(self.naan, self.name, qualifier)

    @property
    def is_skipped(self) -> bool:
        """True if the NAAN is one of examples or tests, which are recorded but never requested.

        Escapes in the NAAN are decoded, and characters other than letters and digits ignored.

        >>> Ark.parse("ark:/%31234%2D5/x5").is_skipped
        True
        """
        if self.naan.isalnum():
            return self.naan in SKIPPED_NAANS
        decoded_naan = unicodedata.normalize("NFKC", unquote(self.naan)).lower()
        return _INERT_IN_NAAN.sub("", decoded_naan) in SKIPPED_NAANS


# The parts of an ARK as written, before normalization.

#: Queries for information about an object; an inflection is the whole query (2020 scheme, 3.4).
_INFLECTIONS = frozenset({"", "?", "info"})


_BEGINNING = re.compile(r"(?:ark:/?)?(?P<naan>[0-9a-z]{5,})(?:/(?P<name>.*))?", re.IGNORECASE | re.DOTALL)


def normal_prefix(prefix: str) -> str:
    """Return the beginning of the normal forms of ARKs with this *prefix*, as a user wrote it; a NAAN may be alone.

    Raises ValueError if no ARK can begin with *prefix*.

    >>> normal_prefix("ark:/12148/bpt6-k"), normal_prefix("12148/"), normal_prefix("12148")
    ('ark:12148/bpt6k', 'ark:12148/', 'ark:12148/')
    """
    prefix_parts = _BEGINNING.fullmatch(prefix.strip())
    if prefix_parts is None:
        raise ValueError(f"no ARK begins with {prefix!r}: write ark:NAAN/ and the common beginning of the names")
    return f"ark:{prefix_parts['naan'].lower()}/{(prefix_parts['name'] or '').replace('-', '')}"


@dataclass(frozen=True, slots=True)
class WrittenArk:
    """The parts of an ARK exactly as written; joined, they give the text again (draft-kunze-ark-38, 2).

    >>> WrittenArk.parse("https://n2t.net/ark:/12148/btv1-b84?info#top")
    WrittenArk(resolver='https://n2t.net/', label='ark:/', body='12148/btv1-b84', query='info', fragment='top')
    """

    resolver: str
    """The text before the first label, with its final slash; empty for a compact ARK."""
    label: str
    """``ark:`` or ``ark:/``, in any case."""
    body: str
    """NAAN, name and qualifier."""
    query: str | None
    """The text after the first question mark; an empty string for a bare ``?``, None without one."""
    fragment: str | None
    """The text after the first ``#``; kept, never requested."""

    @classmethod
    def parse(cls, text: str) -> WrittenArk | None:
        """Return the parts of *text*; None if no label is at its beginning or after a slash.

        >>> WrittenArk.parse("bulwark:/12345/x5") is None
        True
        """
        text_from_label = without_resolver(text)
        label = LABEL.match(text_from_label)
        if label is None:
            return None
        text_after_label, hash_sign, fragment = text_from_label[label.end() :].partition("#")
        body, question_mark, query = text_after_label.partition("?")
        return cls(
            resolver=text[: len(text) - len(text_from_label)],
            label=label[0],
            body=body,
            query=query if question_mark else None,
            fragment=fragment if hash_sign else None,
        )

    @property
    def inflection(self) -> str:
        """The query with its question mark if it asks for metadata: ``?info``, ``??`` or ``?``; else empty.

        Source: draft-kunze-ark-38, 1.2.

        >>> [WrittenArk.parse(f"ark:12345/x{query}").inflection for query in ("?info", "??", "?", "?INFO", "?info&a=b")]
        ['?info', '??', '?', '', '']
        """
        return f"?{self.query}" if self.query in _INFLECTIONS else ""

    def __str__(self) -> str:
        query = "" if self.query is None else f"?{self.query}"
        fragment = "" if self.fragment is None else f"#{self.fragment}"
        return f"{self.resolver}{self.label}{self.body}{query}{fragment}"


# Deviations of an ARK's spelling from the specifications; such an ARK is kept, with remarks.


class Remark(StrEnum):
    """A deviation of an ARK's spelling from the specifications; the values are stored and published.

    Sections are those of draft-kunze-ark-38 unless another text is named.
    """

    explanation: str
    """One sentence for a reader of the report, with its section in the specification; "it" is the ARK."""

    def __new__(cls, token: str, explanation: str = "") -> Self:
        """Return the remark with the stored value *token* and an *explanation*."""
        remark = str.__new__(cls, token)
        remark._value_, remark.explanation = token, explanation
        return remark

    PLAIN_HTTP = "plain-http", "The citation uses http, though https is preferred (ARK FAQ)."
    CLASSIC_LABEL = "classic-label", "The label is the older `ark:/`, equal to `ark:` forever (3.2)."
    CASE_LOST = (
        "case-lost",
        "All letters are capitals, though names are case-sensitive: the case may be lost (3.2, ARK FAQ).",
    )
    UPPER_CASE_NAAN = "upper-case-naan", "The NAAN has capitals, and is read in lower case (3.2)."
    VOWEL_IN_NAAN = "vowel-in-naan", "The NAAN has a vowel, which NAANs avoid so that they spell no words (2.3)."
    NAAN_OUTSIDE_BETANUMERIC = (
        "naan-outside-betanumeric",
        "The NAAN has a character other than digits and consonants without l and y (2.3).",
    )
    NAAN_LENGTH = "naan-length", "The NAAN hasn't five characters, unlike all those assigned since 2001 (2.3)."
    UNFIT_FOR_REFERENCE = (
        "unfit-for-reference",
        "The NAAN is for examples or tests, unfit for long-term reference (table 2).",
    )
    TEST_SHOULDER = (
        "test-shoulder",
        "Names that begin with fk and a digit are for fakes: probably a test identifier (4.6).",
    )
    SLASH_AFTER_SHOULDER = (
        "slash-after-shoulder",
        "A slash after the shoulder declares the shoulder to be an object (2.4.1).",
    )
    OUTSIDE_REPERTOIRE = "outside-repertoire", "Name or qualifier has a character that should be percent-encoded (3.1)."
    RAW_NON_ASCII = "raw-non-ascii", "Characters outside ASCII are not encoded, and count as their UTF-8 escapes (3.1)."
    CONTROL_CHARACTER = (
        "control-character",
        "Blanks, controls and bidirectional formatting are never allowed (2020 scheme, 8.1).",
    )
    MALFORMED_ESCAPE = "malformed-escape", "A percent sign is not followed by two hexadecimal digits (3.1)."
    NEEDLESS_ESCAPE = (
        "needless-escape",
        "A character is percent-encoded without need, and no longer counts as itself (3.2).",
    )
    HYPHEN = "hyphen", "It has hyphens, which comparison ignores, though some resolvers need them (3.1)."
    HYPHEN_LOOK_ALIKE = "hyphen-look-alike", "It has characters that look like hyphens and come from typesetting (3.1)."
    EXTRA_DELIMITER = "extra-delimiter", "A slash or period is first, last or doubled, and has no meaning there (3.2)."
    MISPLACED_SUFFIX = "misplaced-suffix", "A .suffix is left of a /component, and counts as if at the end (3.2)."
    RESERVED_EXTENSION = (
        "reserved-extension",
        "A part of the qualifier begins with a digit or underscore, which is reserved (4.7).",
    )
    OVER_LONG = "over-long", "It is longer than every implementation must support (3.1)."
    URL_GOES_ON = "url-goes-on", "It is escaped in a longer URL; the escaped part is the ARK (IIIF Image API, 9)."


#: The characters other than letters and digits that need no escape (3.1).
_SYMBOLS = "=~*+@_$"
_OUTSIDE_REPERTOIRE = re.compile(rf"(?=[!-~])[^0-9A-Za-z%\-./{re.escape(_SYMBOLS)}]")
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
_EXTRA_DELIMITER = re.compile(r"\A[/.]|[/.]{2}|[/.]\Z")
_TEST_SHOULDER = re.compile(r"fk[0-9]")
_RESERVED_PART = re.compile(r"[/.][0-9_]")
_CAPITAL = re.compile(r"[A-Z]")
_VOWEL = re.compile(r"[aeiou]")
_OUTSIDE_BETANUMERIC = re.compile(rf"[^{BETANUMERIC}aeiou]")
_NAAN_CHARS = 5
_MOST_OCTETS = 255


def remarks(written_ark: str, ark: Ark, *, url_goes_on: bool = False) -> tuple[Remark, ...]:
    """Return the remarks about the spelling *written_ark* of *ark*, in the order of `RULES`.

    *written_ark* is the repaired ARK with resolver and hyphens. *url_goes_on* adds `URL_GOES_ON`: the URL continues
    after the ARK.

    >>> written = "http://www.familysearch.org/ark:/61903/1:1:C4H8-2DW2"
    >>> [remark.value for remark in remarks(written, Ark.parse(written))]
    ['plain-http', 'classic-label', 'outside-repertoire', 'hyphen']
    """
    parts = WrittenArk.parse(written_ark) or WrittenArk.parse(str(ark))
    assert parts is not None, "an ARK in normal form begins with its label"
    is_plain = not ark.qualifier and parts.body == f"{ark.naan}/{ark.name}" and _PLAIN_BODY.fullmatch(parts.body)
    rules = _RULES_OF_PLAIN if is_plain else RULES
    applying_remarks = [remark for remark, applies in rules.items() if applies(parts, ark)]
    return (*applying_remarks, Remark.URL_GOES_ON) if url_goes_on else tuple(applying_remarks)


def _naan_and_name(parts: WrittenArk) -> tuple[str, str]:
    """Return the NAAN, and the name with its qualifier, as written."""
    naan, _, name = parts.body.lstrip("/.-").partition("/")
    return naan, name


def _has_needless_escape(parts: WrittenArk, _: Ark) -> bool:
    decoded = (chr(int(escape[1:], 16)) for escape in _ESCAPE.findall(parts.body))
    return any(char.isascii() and (char.isalnum() or char in _SYMBOLS) for char in decoded)


def _has_misplaced_suffix(parts: WrittenArk, _: Ark) -> bool:
    clean = with_clean_structure(without_hyphens("ark:" + parts.body))
    return with_suffixes_last(clean) != clean


def _body_has(pattern: str) -> Callable[[WrittenArk, Ark], bool]:
    """Return a rule of `RULES` that applies if *pattern* matches anywhere in `WrittenArk.body`."""
    compiled_pattern = re.compile(pattern)
    return lambda parts, _: compiled_pattern.search(parts.body) is not None


#: The condition of each remark, in the order of remarks; `URL_GOES_ON` is decided by the reader.
RULES: Mapping[Remark, Callable[[WrittenArk, Ark], bool]] = {
    Remark.PLAIN_HTTP: lambda parts, _: parts.resolver.lower().startswith("http://"),
    Remark.CLASSIC_LABEL: lambda parts, _: parts.label.endswith("/"),
    Remark.CASE_LOST: lambda parts, ark: parts.label.isupper() and (ark.name + ark.qualifier).isupper(),
    Remark.UPPER_CASE_NAAN: lambda parts, _: _CAPITAL.search(_ESCAPE.sub("", _naan_and_name(parts)[0])) is not None,
    Remark.VOWEL_IN_NAAN: lambda _, ark: _VOWEL.search(ark.naan) is not None,
    Remark.NAAN_OUTSIDE_BETANUMERIC: lambda _, ark: _OUTSIDE_BETANUMERIC.search(ark.naan) is not None,
    Remark.NAAN_LENGTH: lambda _, ark: len(ark.naan) != _NAAN_CHARS,
    Remark.UNFIT_FOR_REFERENCE: lambda _, ark: ark.is_skipped,
    Remark.TEST_SHOULDER: lambda _, ark: _TEST_SHOULDER.match(ark.name) is not None and not ark.is_skipped,
    Remark.SLASH_AFTER_SHOULDER: lambda _, ark: ark.qualifier.startswith("/") and shoulder_of(ark.name) == ark.name,
    Remark.OUTSIDE_REPERTOIRE: lambda parts, _: _OUTSIDE_REPERTOIRE.search(_naan_and_name(parts)[1]) is not None,
    Remark.RAW_NON_ASCII: _body_has("[^\x00-\x7f\N{HYPHEN}-\N{HORIZONTAL BAR}]"),
    Remark.CONTROL_CHARACTER: _body_has("[\x00-\x20\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"),
    Remark.MALFORMED_ESCAPE: _body_has(r"%(?![0-9A-Fa-f]{2})"),
    Remark.NEEDLESS_ESCAPE: _has_needless_escape,
    Remark.HYPHEN: _body_has("-"),
    Remark.HYPHEN_LOOK_ALIKE: _body_has("[\N{HYPHEN}-\N{HORIZONTAL BAR}]"),
    Remark.EXTRA_DELIMITER: lambda parts, _: _EXTRA_DELIMITER.search(without_hyphens(parts.body)) is not None,
    Remark.MISPLACED_SUFFIX: _has_misplaced_suffix,
    Remark.RESERVED_EXTENSION: lambda _, ark: _RESERVED_PART.search(ark.qualifier) is not None,
    Remark.OVER_LONG: lambda _, ark: len(ark.name) + len(ark.qualifier) > _MOST_OCTETS,
}
#: NAAN and name of most ARKs: no rule applies to them but these.
_PLAIN_BODY = re.compile(rf"[{BETANUMERIC}]{{{_NAAN_CHARS}}}/[0-9A-Za-z{re.escape(_SYMBOLS)}]+")
_RULES_OF_PLAIN = {
    remark: RULES[remark]
    for remark in (
        Remark.PLAIN_HTTP, Remark.CLASSIC_LABEL, Remark.CASE_LOST, Remark.UNFIT_FOR_REFERENCE, Remark.TEST_SHOULDER,
        Remark.OVER_LONG,
    )
}  # fmt: skip
