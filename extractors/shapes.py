"""How long the names of one authority are, learned from those that stand whole: evidence where a line breaks one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

import regex

from extractors.ark import Ark

_BEGINNING = regex.compile(r"[A-Za-z]*")
#: Distinct names of one kind, all of one length, from which the length counts as learned.
_ENOUGH = 3

Kind = tuple[str, str]


class Fit(Enum):
    """How a name stands to the length that its kind has."""

    TOO_SHORT = "too short"
    FITS = "fits"
    TOO_LONG = "too long"


def kind_of(ark: Ark) -> Kind:
    """NAAN and the letters that a base name begins with: names alike in these were mostly made by one program.

    >>> kind_of(Ark.parse("ark:12148/btv1b8449691v"))
    ('12148', 'btv')
    """
    beginning = _BEGINNING.match(ark.name)
    return ark.naan, beginning[0] if beginning else ""


@dataclass(frozen=True, slots=True)
class Shapes:
    """The lengths of base names, by kind, where all names of a kind have the same."""

    lengths: Mapping[Kind, int] = field(default_factory=dict)

    @classmethod
    def learned(cls, arks: Iterable[Ark]) -> Shapes:
        """The shapes that *arks*, all of them seen whole, agree on.

        >>> arks = [Ark.parse(f"ark:13960/{name}") for name in ("t1pg22p71", "t78s5b569", "t58d0dn7n")]
        >>> Shapes.learned(arks).lengths
        {('13960', 't'): 9}
        """
        names: dict[Kind, set[str]] = defaultdict(set)
        for ark in arks:
            names[kind_of(ark)].add(ark.name)
        lengths = {kind: Counter(len(name) for name in alike) for kind, alike in names.items()}
        return cls(
            {
                kind: next(iter(counted))
                for kind, counted in sorted(lengths.items())
                if len(counted) == 1 and counted.total() >= _ENOUGH
            }
        )

    def fit(self, ark: Ark) -> Fit | None:
        """How the base name of *ark* stands to its kind; None where nothing was learned."""
        length = self.lengths.get(kind_of(ark))
        if length is None:
            return None
        difference = len(ark.name) - length
        return Fit.FITS if difference == 0 else Fit.TOO_SHORT if difference < 0 else Fit.TOO_LONG
