"""Mentions: of ARKs, and of NAANs that are alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

from extractors.model.ark import Ark
from extractors.model.check_characters import CheckCharacter
from extractors.model.conformance import Remark
from extractors.model.documents import Role
from extractors.wraps.rules import Confidence

#: The reason of a mention about which nothing had to be decided.
STANDS_WHOLE = "stands whole"


@dataclass(frozen=True, slots=True)
class Mention:
    """An ARK found in a document; what was written, what we made of it, and how sure we are are side by side."""

    ark: Ark
    as_written: str
    spans: tuple[tuple[int, int], ...]
    """Code points in the reader's block; several where the ARK goes on after a gap."""
    repaired: str
    """Whole again, hyphens, label form and resolver as found: this is what is sent."""
    resolver: str | None
    """The URL before the label, with its final slash; none for a compact ARK."""
    inflection: str
    """``?info``, ``??``, ``?`` or nothing; belongs to the mention, not to identity."""
    role: Role
    page: int | None
    place: str
    context: str
    repairs: tuple[str, ...]
    confidence: Confidence
    reason: str
    """The rule of the least sure decision."""
    alternatives: tuple[str, ...]
    """Normal forms that the other decisions would have given."""
    fragment: str = ""
    """What was written after ``#``; never sent, no part of identity."""
    link: int | None = None
    """Which link of the document this is the target, or the visible text, of."""
    check: CheckCharacter = CheckCharacter.UNKNOWN
    """What its check character says, where names like this one have one: a failure means that it is mistyped."""
    suggestions: tuple[str, ...] = ()
    """Normal forms that may have been meant where the check character fails, the likeliest first."""
    remarks: tuple[Remark, ...] = ()
    """How its spelling departs from the specifications."""
    citation: int = 0
    """Mentions of one document with the same number are one citation: a link and its visible text."""

    @property
    def start(self) -> int:
        """Where it begins."""
        return self.spans[0][0]

    def moved(self, by: int) -> Mention:
        """Return the mention so many code points further on."""
        return replace(self, spans=tuple((start + by, end + by) for start, end in self.spans))

    def __repr__(self) -> str:
        """Return the ARK, how sure it is, and what was repaired.

        >>> from extractors.find import find_arks
        >>> find_arks("see ark:/12148/btv1b8449691v")
        [<Mention ark:12148/btv1b8449691v, certain>]
        """
        repaired = f": {', '.join(self.repairs)}" if self.repairs else ""
        return f"<Mention {self.ark}, {self.confidence.token}{repaired}>"


@dataclass(frozen=True, slots=True)
class NamespaceMention:
    """A NAAN alone (``ark:/12148/``): recorded, but no ARK, and never resolved."""

    as_written: str
    span: tuple[int, int]
    context: str

    @property
    def start(self) -> int:
        """Where it begins."""
        return self.span[0]

    def moved(self, by: int) -> NamespaceMention:
        """Return the mention so many code points further on."""
        return replace(self, span=(self.span[0] + by, self.span[1] + by))
