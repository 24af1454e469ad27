"""The identifier itself: parsed once at the edge, then trusted."""

from __future__ import annotations

import re
from dataclasses import dataclass

from extractors.normalize import normalize

BETANUMERIC = "0123456789bcdfghjkmnpqrstvwxz"

#: NAANs that the specification reserves for examples and tests: recorded, never requested
#: (draft-kunze-ark-38, table 2: "link checkers need not be concerned").
SKIPPED_NAANS = frozenset({"12345", "99999"})

_SHOULDER = re.compile(r"[bcdfghjkmnpqrstvwxz]*[0-9]")
_BASE = re.compile(r"[^/.]*")


@dataclass(frozen=True, slots=True, order=True)
class Ark:
    """One ARK in normal form. Equal ARKs name the same thing (draft-kunze-ark-38, 2 and 3.2).

    >>> Ark.parse("https://n2t.net/ark:/12148/btv1-b8449691v/f29.item")
    Ark(naan='12148', name='btv1b8449691v', qualifier='/f29.item')
    >>> str(Ark.parse("ARK:/12148/btv1b84-"))
    'ark:12148/btv1b84'
    """

    naan: str
    name: str
    """The base name: what the name assigning authority assigned, up to the first ``/`` or ``.``."""
    qualifier: str = ""
    """Components, then variants, each with its delimiter: ``/c3/s5.v7.xsl``."""

    @classmethod
    def parse(cls, text: str) -> Ark:
        """The ARK that *text* is, in any spelling, with or without a resolver, query or fragment.

        Raises `extractors.normalize.NotAnArk` (or its subclass `NamespaceOnly`) when it is none.
        """
        naan, _, rest = normalize(text).removeprefix("ark:").partition("/")
        base = _BASE.match(rest)
        assert base is not None
        return cls(naan, base[0], rest[base.end() :])

    def __str__(self) -> str:
        return f"ark:{self.naan}/{self.name}{self.qualifier}"

    @property
    def base(self) -> Ark:
        """The ARK without its qualifier: the container of all its parts."""
        return Ark(self.naan, self.name)

    @property
    def components(self) -> tuple[str, ...]:
        """The parts of the object, outermost first: ``('c3', 's5')``."""
        return tuple(part for part in self.qualifier.partition(".")[0].split("/") if part)

    @property
    def variants(self) -> tuple[str, ...]:
        """The forms of the object: ``('v7', 'xsl')``."""
        return tuple(part for part in self.qualifier.partition(".")[2].split(".") if part)

    @property
    def shoulder(self) -> str | None:
        """The primordinal shoulder: consonants up to and with the first digit, or none (2.4.1).

        >>> Ark.parse("ark:12345/x6np1wh8k").shoulder
        'x6'
        """
        found = _SHOULDER.match(self.name)
        return found[0] if found else None

    @property
    def is_skipped(self) -> bool:
        """Whether the ARK is one of the examples and tests that are recorded but never requested.

        Decided on the most liberal reading: an escaped digit in the NAAN counts as that digit.

        >>> Ark.parse("ark:/%31234-5/x5").is_skipped
        True
        """
        naan = re.sub(r"%3([0-9])", r"\1", self.naan)
        return naan in SKIPPED_NAANS
