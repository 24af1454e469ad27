"""Evidence about ARKs that is known before a text is read: whole names, and their common properties.

No typesetter breaks a link target, and most names in a text touch no line end. The whole names of a document, or of an
audit, are the best evidence for the broken ones.
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
from extractors.model.check_characters import KNOWN, NOTHING_DECLARED, CheckCharacter, Declared, Zones, learn_zones

# The shapes of one authority's names, learned from whole ones: evidence for broken names.

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#: Minimum number of distinct names of one kind and length that show the length of that kind.
_ENOUGH = 3
#: Minimum number of distinct names for the absence of a length to count.
_MANY = 8
#: A kind with more lengths has no shape.
_MOST_LENGTHS = 3

Kind = tuple[str, str]


class Fit(Enum):
    """The fit of a name to the shape of its kind."""

    TOO_SHORT = "too short"
    FITS = "fits"
    TOO_LONG = "too long"
    """Also for a length between known ones."""


def kind_of(ark: Ark) -> Kind:
    """Return NAAN and initial letters of a base name: names with both in common mostly come from one program.

    >>> kind_of(Ark.parse("ark:12148/btv1b8449691v"))
    ('12148', 'btv')
    """
    return ark.naan, ark.name[: len(ark.name) - len(ark.name.lstrip(_LETTERS))]


@dataclass(frozen=True, slots=True)
class Shapes:
    """The shapes of names, which are their lengths, by kind and for all names of a NAAN."""

    by_kind: Mapping[Kind, frozenset[int]] = field(default_factory=dict)
    by_naan: Mapping[str, frozenset[int]] = field(default_factory=dict)

    @classmethod
    def learn(cls, bases: Iterable[Ark], zones: Zones = KNOWN) -> Shapes:
        """Return the shapes of *bases*, distinct whole ARKs without qualifiers, in any order.

        Names whose check character fails in *zones* are ignored.

        >>> arks = [Ark.parse(f"ark:13960/{name}") for name in ("t1pg22p71", "t78s5b569", "t58d0dn7n")]
        >>> Shapes.learn(arks).by_kind
        {('13960', 't'): frozenset({9})}
        """
        kinds: dict[Kind, Counter[int]] = defaultdict(Counter)
        naans: dict[str, Counter[int]] = defaultdict(Counter)
        for base in bases:
            if zones.check(base) is not CheckCharacter.FAILS:
                kinds[kind_of(base)][len(base.name)] += 1
                naans[base.naan][len(base.name)] += 1
        return cls(
            {kind: frozenset(lengths) for kind, lengths in sorted(kinds.items()) if _is_shape(lengths, _ENOUGH)},
            {naan: frozenset(lengths) for naan, lengths in sorted(naans.items()) if _is_shape(lengths, _MANY)},
        )

    def fit(self, ark: Ark, *, kind: Kind | None = None) -> Fit | None:
        """Return the fit of the base name of *ark* to its kind, or to *kind* for a piece of a name; None if unknown."""
        lengths = self.by_kind.get(kind or kind_of(ark)) or self.by_naan.get(ark.naan)
        if lengths is None:
            return None
        if len(ark.name) in lengths:
            return Fit.FITS
        return Fit.TOO_SHORT if len(ark.name) < min(lengths) else Fit.TOO_LONG

    def allows(self, ark: Ark) -> bool:
        """Return True if the base name of *ark* fits its kind, or its kind is unknown."""
        return self.fit(ark) in (None, Fit.FITS)


def _is_shape(lengths: Counter[int], enough: int) -> bool:
    """Return True if the *lengths* of names are those of at least *enough* names, and agree."""
    number = lengths.total()
    if number < enough or len(lengths) > _MOST_LENGTHS:
        return False
    return len(lengths) == 1 or (number >= _MANY and min(lengths.values()) > 1)


# The words in qualifiers: components and variants of many resolvers, and those of the audit.


#: Suffixes that end a name after a period: the file suffixes of Python's own table, and some used by libraries.
FILE_SUFFIXES = frozenset(
    suffix.removeprefix(".") for by_suffix in mimetypes.MimeTypes(filenames=()).types_map for suffix in by_suffix
) | frozenset("djvu jp2 jpx jsonld md mets mods ocr rdf rst tei ttl yml".split())  # noqa: SIM905

#: The viewers of Gallica (BnF, "Syntaxe des URLs"), IIIF's image and presentation interfaces, UNT's and Merritt's.
WORDS = frozenset(
    """
    item image images planchecontact texteImage texteBrut texte thumbnail highres medres lowres zoom vocal double
    date liste manifest info canvas sequence range annotation full max default native color gray bitonal square pct
    langEN langFR high med low res small large print citation opengraph producer system README metadata content
    download fulltext recto verso
    """.split()  # noqa: SIM905 (as a list, forty lines)
)

_DELIMITERS = "/._=~:"
_PART = regex.compile(rf"[^{_DELIMITERS}]+")
_LAST_PART = regex.compile(rf"[^{_DELIMITERS}]*\Z")
_FIRST_PART = regex.compile(rf"[^{_DELIMITERS}]*")
_TWO_LETTERS = regex.compile(r"\p{L}.*\p{L}")


def qualifier_words(arks: Iterable[Ark]) -> frozenset[str]:
    """Return the words in the qualifiers of whole *arks*, without numbers and single letters.

    >>> sorted(qualifier_words([Ark.parse("ark:12148/bpt6k1/f42.image.r=Dumas")]))
    ['Dumas', 'image']
    """
    qualifiers = (ark.qualifier for ark in arks if ark.qualifier)
    return frozenset(part for qualifier in qualifiers for part in _PART.findall(qualifier) if _TWO_LETTERS.search(part))


def completes_word(qualifier: str, following: str, learned: frozenset[str]) -> bool | None:
    """Return True if *following* completes the last word of a *qualifier*; False if that word is already complete.

    None if neither gives a known word. *qualifier* begins at its first delimiter.

    >>> completes_word("/f42.plan", "checontact", frozenset()), completes_word("/f42.item", "300dpi", frozenset())
    (True, False)
    >>> completes_word("/c3.", "part", frozenset()) is None
    True
    """
    last, first = _LAST_PART.search(qualifier)[0], _FIRST_PART.match(following)[0]
    delimiter = qualifier[-len(last) - 1 : len(qualifier) - len(last)]

    def is_known(word: str) -> bool:
        if word in WORDS or word in learned:
            return True
        return delimiter == "." and len(word) > 1 and (word in FILE_SUFFIXES or word.swapcase() in FILE_SUFFIXES)

    if first and is_known(last + first):
        return True
    if last and first and len(last) > 1 and is_known(last):
        return False
    return None


@dataclass(frozen=True, slots=True)
class Evidence:
    """Evidence about ARKs that is known before a text is read."""

    whole: Sequence[str] = ()
    """Normal forms of whole ARKs, sorted."""
    shapes: Shapes = field(default_factory=Shapes)
    """The shapes of names of each kind."""
    qualifiers: frozenset[str] = frozenset()
    """The words in their qualifiers."""
    zones: Zones = KNOWN
    """The zones of their check characters."""
    supported: Container[Ark] = frozenset()
    """ARKs with independent support that makes them certain: complete link targets, or intact in two documents."""
    resolvers: Container[str] = frozenset()
    """Addresses of resolvers that stand whole in the document."""

    @classmethod
    def from_arks(
        cls,
        arks: Iterable[Ark],
        supported: frozenset[Ark] = frozenset(),
        resolvers: frozenset[str] = frozenset(),
        *,
        declared: Declared = NOTHING_DECLARED,
    ) -> Evidence:
        """Return the evidence that whole *arks* and *declared* check characters give about broken ones, in any order.

        >>> Evidence.from_arks([Ark.parse("ark:12148/btv1b84/f1.item"), Ark.parse("ark:12148/btv1b84")]).whole
        ('ark:12148/btv1b84', 'ark:12148/btv1b84/f1.item')
        """
        distinct = sorted(set(arks), key=attrgetter("naan", "name", "qualifier"))  # faster than comparing ARKs
        whole = tuple(sorted(map(str, distinct)))
        bases = dict.fromkeys(ark.base for ark in distinct)
        zones = Zones(learn_zones(bases), declared)
        return cls(whole, Shapes.learn(bases, zones), qualifier_words(distinct), zones, supported, resolvers)

    def begins_whole_ark(self, form: str) -> bool:
        """Return True if *form* is the beginning of an ARK that is whole elsewhere.

        >>> Evidence.from_arks([Ark.parse("ark:12148/bpt6k107371t")]).begins_whole_ark("ark:12148/bpt6k10")
        True
        """
        at = bisect_left(self.whole, form)
        return at < len(self.whole) and self.whole[at].startswith(form)

    def holds(self, form: str) -> bool:
        """Return True if exactly the ARK *form* is whole elsewhere, and its check character doesn't fail."""
        at = bisect_left(self.whole, form)
        is_whole = at < len(self.whole) and self.whole[at] == form
        return is_whole and self.zones.check(Ark.of_normal_form(form)) is not CheckCharacter.FAILS

    def supports(self, ark: Ark) -> bool:
        """Return True if *ark*, whole elsewhere, has independent support, such as a check character."""
        return self.zones.check(ark) is CheckCharacter.PASSES or ark in self.supported


_in_use: ContextVar[Evidence | None] = ContextVar("evidence", default=None)


@contextmanager
def use_evidence(evidence: Evidence) -> Iterator[None]:
    """Make *evidence* that of the suggestions in the block."""
    token = _in_use.set(evidence)
    try:
        yield
    finally:
        _in_use.reset(token)


def evidence_in_use() -> Evidence:
    """Return the evidence of `use_evidence`; none outside of its blocks."""
    return _in_use.get() or Evidence()
