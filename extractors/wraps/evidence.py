"""Evidence about ARKs before a text is read: names that are whole, and what they have in common.

Typesetters break no link target, and most names in a text touch no line's end. Those of a document, or of a whole
audit, are the best evidence for the ones that are broken.
"""

from __future__ import annotations

import mimetypes
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

import regex

from extractors.model.ark import Ark
from extractors.model.check_characters import KNOWN, Zones
from extractors.wraps.shapes import Shapes

# The words that qualifiers are made of: components and variants that many resolvers share, and those of the audit.


#: After a period these end a name: what Python's own table knows as file suffixes, and a few of libraries.
FILE_SUFFIXES = frozenset(
    suffix.removeprefix(".")
    for by_suffix in mimetypes.MimeTypes(filenames=()).types_map
    for suffix in by_suffix
) | {"djvu", "jp2", "jpx", "jsonld", "md", "mets", "mods", "ocr", "rdf", "rst", "tei", "ttl", "yml"}  # fmt: skip

#: The viewers of Gallica (BnF, "Syntaxe des URLs"), IIIF's image and presentation interfaces, UNT's and Merritt's.
WORDS = frozenset(
    """
    item image images planchecontact texteImage texteBrut texte thumbnail highres medres lowres zoom vocal double
    date liste manifest info canvas sequence range annotation full max default native color gray bitonal square pct
    high med low res small large print citation opengraph producer system README metadata content download
    """.split()  # noqa: SIM905 (as a list, forty lines)
)

_DELIMITERS = "/._=~:"
_PART = regex.compile(rf"[^{_DELIMITERS}]+")
_LAST_PART = regex.compile(rf"[^{_DELIMITERS}]*\Z")
_FIRST_PART = regex.compile(rf"[^{_DELIMITERS}]*")
_TWO_LETTERS = regex.compile(r"\p{L}.*\p{L}")


def qualifier_words(arks: Iterable[Ark]) -> frozenset[str]:
    """The words in the qualifiers of *arks*, all of them seen whole; numbers and single letters are none.

    >>> sorted(qualifier_words([Ark.parse("ark:12148/bpt6k1/f42.image.r=Dumas")]))
    ['Dumas', 'image']
    """
    return frozenset(
        part for ark in arks if ark.qualifier for part in _PART.findall(ark.qualifier) if _TWO_LETTERS.search(part)
    )


def completes_word(qualifier: str, following: str, learned: frozenset[str]) -> bool | None:
    """Return whether *following* completes the last word of a *qualifier* as written; False where that is complete
    already.

    None where neither is a known word. *qualifier* begins at its first delimiter.

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
    """Evidence about ARKs before a text is read."""

    whole: Sequence[str] = ()
    """Normal forms, sorted, of ARKs that are where no typesetter has broken them."""
    shapes: Shapes = field(default_factory=Shapes)
    """What names of each kind look like."""
    qualifiers: frozenset[str] = frozenset()
    """The words that their qualifiers are made of."""
    zones: Zones = KNOWN
    """Where their check characters are."""

    @classmethod
    def of(cls, arks: Iterable[Ark]) -> Evidence:
        """The evidence that *arks*, seen whole, give for those that may be broken; their order changes nothing.

        >>> Evidence.of([Ark.parse("ark:12148/btv1b84/f1.item"), Ark.parse("ark:12148/btv1b84")]).whole
        ('ark:12148/btv1b84', 'ark:12148/btv1b84/f1.item')
        """
        distinct = sorted(set(arks), key=attrgetter("naan", "name", "qualifier"))  # their order, without comparing ARKs
        whole = tuple(sorted(map(str, distinct)))
        return cls(whole, Shapes.learned(distinct), qualifier_words(distinct), zones=Zones.of(distinct))

    def begins_one(self, form: str) -> bool:
        """Return whether *form* is the beginning of an ARK that is whole elsewhere.

        >>> Evidence.of([Ark.parse("ark:12148/bpt6k107371t")]).begins_one("ark:12148/bpt6k10")
        True
        """
        at = bisect_left(self.whole, form)
        return at < len(self.whole) and self.whole[at].startswith(form)

    def holds(self, form: str) -> bool:
        """Return whether *form* itself is whole elsewhere."""
        at = bisect_left(self.whole, form)
        return at < len(self.whole) and self.whole[at] == form
