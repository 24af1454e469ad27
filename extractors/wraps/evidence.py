"""Evidence from the whole ARKs of a document or an audit, for ARKs that a line end may break.

An ARK is whole if nothing about its end was doubtful: no typesetter breaks a link target, and most names in a text
touch no line end.
"""

from __future__ import annotations

import mimetypes
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import Enum
from operator import attrgetter

import regex

from extractors.model.ark import Ark
from extractors.model.check_characters import (
    KNOWN_ZONES,
    NOTHING_DECLARED,
    CheckCharacter,
    Declared,
    Zones,
    learn_zones,
)

# The shapes of names, learned from whole ARKs: evidence for broken names.

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#: Minimum number of distinct names of one kind that show its lengths.
_FEWEST_NAMES = 3
#: Minimum number of distinct names that show the lengths of a whole NAAN, or more than one length of a kind.
_MANY_NAMES = 8
#: A kind of names with more lengths has no shape.
_MOST_LENGTHS = 3

NameKind = tuple[str, str]
"""NAAN and initial letters of a name."""


class Fit(Enum):
    """The length of a name, compared with the names of its kind."""

    TOO_SHORT = "too short"
    FITS = "fits"
    TOO_LONG = "too long"
    """Longer than the shortest name, and of a length that no known name has."""


def name_kind(ark: Ark) -> NameKind:
    """Return the NAAN and the initial letters of the name of *ark*: names that share both mostly come from one program.

    >>> name_kind(Ark.parse("ark:12148/btv1b8449691v"))
    ('12148', 'btv')
    """
    return ark.naan, ark.name[: len(ark.name) - len(ark.name.lstrip(_LETTERS))]


@dataclass(frozen=True, slots=True)
class Shapes:
    """The shapes of base names: their lengths in characters, by kind and by NAAN."""

    lengths_by_kind: Mapping[NameKind, frozenset[int]] = field(default_factory=dict)
    lengths_by_naan: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """For names of a kind that is not in `lengths_by_kind`."""

    @classmethod
    def learn(cls, base_arks: Iterable[Ark], zones: Zones = KNOWN_ZONES) -> Shapes:
        """Return the shapes of the names of *base_arks*, distinct whole ARKs without qualifiers, in any order.

        Names whose check character fails by the rules of *zones* are ignored.

        >>> arks = [Ark.parse(f"ark:13960/{name}") for name in ("t1pg22p71", "t78s5b569", "t58d0dn7n")]
        >>> Shapes.learn(arks).lengths_by_kind
        {('13960', 't'): frozenset({9})}
        """
        kind_counts: dict[NameKind, Counter[int]] = defaultdict(Counter)
        naan_counts: dict[str, Counter[int]] = defaultdict(Counter)
        for base_ark in base_arks:
            if zones.check(base_ark) is not CheckCharacter.FAILS:
                kind_counts[name_kind(base_ark)][len(base_ark.name)] += 1
                naan_counts[base_ark.naan][len(base_ark.name)] += 1
        return cls(
            {
                kind: frozenset(counts)
                for kind, counts in sorted(kind_counts.items())
                if _is_shape(counts, _FEWEST_NAMES)
            },
            {naan: frozenset(counts) for naan, counts in sorted(naan_counts.items()) if _is_shape(counts, _MANY_NAMES)},
        )

    def fit(self, ark: Ark, *, kind: NameKind | None = None) -> Fit | None:
        """Return the length of the name of *ark* compared with names of *kind*, by default its own; None if unknown."""
        lengths = self.lengths_by_kind.get(kind or name_kind(ark)) or self.lengths_by_naan.get(ark.naan)
        if lengths is None:
            return None
        if len(ark.name) in lengths:
            return Fit.FITS
        return Fit.TOO_SHORT if len(ark.name) < min(lengths) else Fit.TOO_LONG

    def allows(self, ark: Ark) -> bool:
        """Return True if the name of *ark* is as long as other names of its kind, or no such name is known."""
        return self.fit(ark) in (None, Fit.FITS)


def _is_shape(length_counts: Counter[int], fewest_names: int) -> bool:
    """Return True if *length_counts* (names by length) show a shape: at least *fewest_names* names, of few lengths."""
    name_count = length_counts.total()
    if name_count < fewest_names or len(length_counts) > _MOST_LENGTHS:
        return False
    return len(length_counts) == 1 or (name_count >= _MANY_NAMES and min(length_counts.values()) > 1)


# The words in qualifiers: components and variants of many resolvers, and those in whole ARKs.


#: Suffixes that end a name after a period: the file suffixes of Python's own table, and some used by libraries.
FILE_SUFFIXES = frozenset(
    suffix.removeprefix(".") for by_suffix in mimetypes.MimeTypes(filenames=()).types_map for suffix in by_suffix
) | frozenset("djvu jp2 jpx jsonld md mets mods ocr rdf rst tei ttl yml".split())  # noqa: SIM905

#: The viewers of Gallica (BnF, "Syntaxe des URLs"), IIIF's image and presentation interfaces, UNT's, Merritt's, those of
#: the Online Archive of California (hi-res, dsc), ISTEX (record.json), and of French archives (daogrp, an EAD element).
QUALIFIER_WORDS = frozenset(
    """
    item image images planchecontact texteImage texteBrut texte thumbnail highres medres lowres zoom vocal double
    date liste manifest info canvas sequence range annotation full max default native color gray bitonal square pct
    langEN langFR high med low res small large print citation opengraph producer system README metadata content
    download fulltext recto verso dsc hires record daogrp
    """.split()  # noqa: SIM905 (as a list, forty lines)
)

_DELIMITERS = "/._=~:"
_QUALIFIER_PART = regex.compile(rf"[^{_DELIMITERS}]+")
_LAST_PART = regex.compile(rf"[^{_DELIMITERS}]*\Z")
_FIRST_PART = regex.compile(rf"[^{_DELIMITERS}]*")
_TWO_LETTERS = regex.compile(r"\p{L}.*\p{L}")


def qualifier_words(arks: Iterable[Ark]) -> frozenset[str]:
    """Return the words in the qualifiers of *arks*, without numbers and single letters.

    >>> sorted(qualifier_words([Ark.parse("ark:12148/bpt6k1/f42.image.r=Dumas")]))
    ['Dumas', 'image']
    """
    qualifiers = (ark.qualifier for ark in arks if ark.qualifier)
    return frozenset(
        part for qualifier in qualifiers for part in _QUALIFIER_PART.findall(qualifier) if _TWO_LETTERS.search(part)
    )


def completes_word(qualifier: str, following_text: str, learned_words: frozenset[str]) -> bool | None:
    """Return True if *following_text* completes the last word of a *qualifier*; False if that word is already complete.

    None if both words are neither in *learned_words* nor in `QUALIFIER_WORDS`. *qualifier* begins with its delimiter.

    >>> completes_word("/f42.plan", "checontact", frozenset()), completes_word("/f42.item", "300dpi", frozenset())
    (True, False)
    >>> completes_word("/c3.", "part", frozenset()) is None
    True
    """
    last_part, first_part = _LAST_PART.search(qualifier)[0], _FIRST_PART.match(following_text)[0].replace("-", "")
    delimiter = qualifier[-len(last_part) - 1 : len(qualifier) - len(last_part)]

    def is_qualifier_word(word: str) -> bool:
        if word in QUALIFIER_WORDS or word in learned_words:
            return True
        return delimiter == "." and len(word) > 1 and (word in FILE_SUFFIXES or word.swapcase() in FILE_SUFFIXES)

    if first_part and is_qualifier_word(last_part + first_part):
        return True
    if last_part and first_part and len(last_part) > 1 and is_qualifier_word(last_part):
        return False
    return None


@dataclass(frozen=True, slots=True)
class Evidence:
    """Evidence from whole ARKs, for ARKs that a line end may break."""

    whole_forms: Sequence[str] = ()
    """Normal forms of the whole ARKs, sorted."""
    shapes: Shapes = field(default_factory=Shapes)
    """The lengths of their names."""
    qualifier_words: frozenset[str] = frozenset()
    """The words in their qualifiers."""
    zones: Zones = KNOWN_ZONES
    """The rules about their check characters."""
    supported_arks: Container[Ark] = frozenset()
    """Those of them that are link targets, or whole in two documents."""
    resolver_addresses: Container[str] = frozenset()
    """Host, and host with path, of the resolvers in the document that no line end breaks."""

    @classmethod
    def from_arks(
        cls,
        arks: Iterable[Ark],
        supported_arks: frozenset[Ark] = frozenset(),
        addresses: frozenset[str] = frozenset(),
        *,
        declared: Declared = NOTHING_DECLARED,
    ) -> Evidence:
        """Return the evidence that whole *arks*, in any order, and *declared* check characters give.

        *supported_arks* and *addresses* are the attributes `supported_arks` and `resolver_addresses`.

        >>> Evidence.from_arks([Ark.parse("ark:12148/btv1b84/f1.item"), Ark.parse("ark:12148/btv1b84")]).whole_forms
        ('ark:12148/btv1b84', 'ark:12148/btv1b84/f1.item')
        """
        distinct_arks = sorted(set(arks), key=attrgetter("naan", "name", "qualifier"))  # faster than comparing ARKs
        forms = tuple(sorted(map(str, distinct_arks)))
        base_arks = dict.fromkeys(ark.base for ark in distinct_arks)
        zones = Zones(learn_zones(base_arks), declared)
        return cls(
            forms, Shapes.learn(base_arks, zones), qualifier_words(distinct_arks), zones, supported_arks, addresses
        )

    def begins_whole_ark(self, beginning: str) -> bool:
        """Return True if the normal form of a whole ARK begins with *beginning*.

        >>> Evidence.from_arks([Ark.parse("ark:12148/bpt6k107371t")]).begins_whole_ark("ark:12148/bpt6k10")
        True
        """
        index = bisect_left(self.whole_forms, beginning)
        return index < len(self.whole_forms) and self.whole_forms[index].startswith(beginning)

    def has_whole_ark(self, form: str) -> bool:
        """Return True if *form* is the normal form of a whole ARK whose check character doesn't fail."""
        index = bisect_left(self.whole_forms, form)
        is_whole = index < len(self.whole_forms) and self.whole_forms[index] == form
        return is_whole and self.zones.check(Ark.of_normal_form(form)) is not CheckCharacter.FAILS

    def is_supported(self, ark: Ark) -> bool:
        """Return True if the check character of *ark* passes, or *ark* is in `supported_arks`."""
        return self.zones.check(ark) is CheckCharacter.PASSES or ark in self.supported_arks


_current_evidence: ContextVar[Evidence | None] = ContextVar("evidence", default=None)


@contextmanager
def use_evidence(evidence: Evidence) -> Iterator[None]:
    """Use *evidence* for `Mention.suggestions` in the block."""
    token = _current_evidence.set(evidence)
    try:
        yield
    finally:
        _current_evidence.reset(token)


def current_evidence() -> Evidence:
    """Return the evidence of the innermost `use_evidence` block; outside of all blocks, one without ARKs."""
    return _current_evidence.get() or Evidence()
