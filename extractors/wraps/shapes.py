"""The shapes of one authority's names, learned from those that are whole: evidence where a line breaks one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache

from extractors.model.ark import Ark

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#: Distinct names of one kind, all of one length, from which that length counts as theirs.
_ENOUGH = 3
#: Distinct names from which it says something that a length, or a sort of character, is not among them.
_MANY = 8
#: Kinds with more lengths than this have none.
_MOST_LENGTHS = 3

Kind = tuple[str, str]


class Fit(Enum):
    """The fit of a name to the shape that its kind has."""

    TOO_SHORT = "too short"
    FITS = "fits"
    TOO_LONG = "too long"
    STRANGE = "strange"
    """It has the length, or an allowed one, but characters that no name of its kind has."""


def kind_of(ark: Ark) -> Kind:
    """NAAN and the letters that a base name begins with: names alike in these were mostly made by one program.

    >>> kind_of(Ark.parse("ark:12148/btv1b8449691v"))
    ('12148', 'btv')
    """
    return ark.naan, ark.name[: len(ark.name) - len(ark.name.lstrip(_LETTERS))]


_VOWELS = frozenset("aeiouAEIOU")


def _sorts(name: str) -> frozenset[str]:
    """The sorts of characters after the letters that a name begins with.

    >>> sorted(_sorts("metapth304825")), sorted(_sorts("cl0b1E"))
    (['digit'], ['consonant', 'digit', 'vowel'])
    """
    return frozenset(map(_sort_of, set(name.lstrip(_LETTERS))))


@lru_cache(maxsize=1024)
def _sort_of(char: str) -> str:
    if char.isdigit():
        return "digit"
    if char in _VOWELS:
        return "vowel"
    return "consonant" if char.isalpha() else char


@dataclass(frozen=True, slots=True)
class Shape:
    """The lengths of the base names of one kind, and the sorts of their characters."""

    lengths: frozenset[int]
    sorts: frozenset[str]
    names: int
    """How many distinct names this was learned from."""

    def fit(self, name: str) -> Fit:
        """Return the fit of *name* to this shape."""
        if len(name) in self.lengths:
            return Fit.FITS if self.names < _MANY or _sorts(name) <= self.sorts else Fit.STRANGE
        if len(name) < min(self.lengths):
            return Fit.TOO_SHORT
        return Fit.TOO_LONG if len(name) > max(self.lengths) else Fit.STRANGE


@dataclass(frozen=True, slots=True)
class Shapes:
    """The shapes of names by kind, and of all names of a NAAN (with no letters for its kind)."""

    by_kind: Mapping[Kind, Shape] = field(default_factory=dict)
    by_naan: Mapping[str, Shape] = field(default_factory=dict)

    @classmethod
    def learned(cls, arks: Iterable[Ark]) -> Shapes:
        """The shapes that *arks*, all of them seen whole, agree on; the order of them changes nothing.

        >>> arks = [Ark.parse(f"ark:13960/{name}") for name in ("t1pg22p71", "t78s5b569", "t58d0dn7n")]
        >>> sorted(Shapes.learned(arks).by_kind[("13960", "t")].lengths)
        [9]
        """
        kinds: dict[Kind, set[str]] = defaultdict(set)
        naans: dict[str, set[str]] = defaultdict(set)
        for ark in arks:
            kinds[kind_of(ark)].add(ark.name)
            naans[ark.naan].add(ark.name)
        return cls(
            {kind: shape for kind, names in sorted(kinds.items()) if (shape := _shape(names, _ENOUGH))},
            {naan: shape for naan, names in sorted(naans.items()) if (shape := _shape(names, _MANY))},
        )

    @classmethod
    def of_distinct(cls, bases: Iterable[Ark]) -> Shapes:
        """The same of distinct ARKs without qualifiers, in memory that grows with the kinds of names only.

        >>> arks = [Ark("13960", name) for name in ("t1pg22p71", "t78s5b569", "t58d0dn7n")]
        >>> Shapes.of_distinct(arks) == Shapes.learned(arks)
        True
        """
        kinds: dict[Kind, _Common] = defaultdict(_Common)
        naans: dict[str, _Common] = defaultdict(_Common)
        for base in bases:
            sorts = _sorts(base.name)
            kinds[kind_of(base)].add(base.name, sorts)
            naans[base.naan].add(base.name, sorts)
        return cls(
            {kind: shape for kind, common in sorted(kinds.items()) if (shape := common.shape(_ENOUGH))},
            {naan: shape for naan, common in sorted(naans.items()) if (shape := common.shape(_MANY))},
        )

    def fit(self, ark: Ark, *, kind: Kind | None = None) -> Fit | None:
        """Return the fit of the base name of *ark* to its kind, or to *kind* for a piece of a name; None if unknown."""
        shape = self.by_kind.get(kind or kind_of(ark)) or self.by_naan.get(ark.naan)
        return shape.fit(ark.name) if shape else None

    def allows(self, ark: Ark) -> bool:
        """Return whether nothing that was learned speaks against the base name of *ark*."""
        return self.fit(ark) in (None, Fit.FITS)


@dataclass(slots=True)
class _Common:
    """What distinct names have in common, name by name."""

    lengths: Counter[int] = field(default_factory=Counter)
    sorts: set[str] = field(default_factory=set)

    def add(self, name: str, sorts: frozenset[str]) -> None:
        self.lengths[len(name)] += 1
        self.sorts |= sorts

    def shape(self, enough: int) -> Shape | None:
        return _agreed(self.lengths, enough, lambda: frozenset(self.sorts))


def _shape(names: set[str], enough: int) -> Shape | None:
    """Return what *names* have in common; None when they are too few, or too different."""
    return _agreed(Counter(map(len, names)), enough, lambda: frozenset().union(*map(_sorts, names)))


def _agreed(lengths: Counter[int], enough: int, sorts: Callable[[], frozenset[str]]) -> Shape | None:
    number = lengths.total()
    if number < enough or len(lengths) > _MOST_LENGTHS or (len(lengths) > 1 and number < _MANY):
        return None
    if len(lengths) > 1 and min(lengths.values()) < 2:
        return None
    return Shape(frozenset(lengths), sorts(), number)
