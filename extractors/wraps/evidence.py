"""Evidence about ARKs before a text is read: names that stand whole, and what they have in common.

Typesetters break no link target, and most names in a text touch no line's end. Those of a document, or of a whole
audit, are the best evidence for the ones that are broken.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

from extractors.ark import Ark
from extractors.checkchar import KNOWN, Zones
from extractors.wraps.qualifiers import qualifier_words
from extractors.wraps.shapes import Shapes


@dataclass(frozen=True, slots=True)
class Evidence:
    """Evidence about ARKs before a text is read."""

    whole: Sequence[str] = ()
    """Normal forms, sorted, of ARKs that stand where no typesetter has broken them."""
    shapes: Shapes = field(default_factory=Shapes)
    """What names of each kind look like."""
    qualifiers: frozenset[str] = frozenset()
    """The words that their qualifiers are made of."""
    zones: Zones = KNOWN
    """Where their check characters stand."""

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
        """Return whether *form* is the beginning of an ARK that stands whole elsewhere.

        >>> Evidence.of([Ark.parse("ark:12148/bpt6k107371t")]).begins_one("ark:12148/bpt6k10")
        True
        """
        at = bisect_left(self.whole, form)
        return at < len(self.whole) and self.whole[at].startswith(form)

    def holds(self, form: str) -> bool:
        """Return whether *form* itself stands whole elsewhere."""
        at = bisect_left(self.whole, form)
        return at < len(self.whole) and self.whole[at] == form
