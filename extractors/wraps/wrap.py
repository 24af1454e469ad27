"""One place where a line ends within or behind an ARK, and what was decided about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache

import regex

from extractors.ark import Ark
from extractors.normalize import NotAnArk
from extractors.wraps.layout import UNKNOWN_LINE_END, LineEnd

_LEAD = regex.compile(r"[\p{L}\p{Nd}/.=_~%+@$*:-]*")
_SENTENCE_END = regex.compile(r"[.,;:!?'\"]+\Z")
_DELIMITED = regex.compile(r"[/.=:?&][\p{L}\p{Nd}]")
#: Behind these a URL is broken where a name is not.
_BREAK_BEHIND = "/.=_:~+@%&?-"


class Confidence(IntEnum):
    """The confidence in a mention; the least sure of its decisions counts."""

    AMBIGUOUS = 1
    LIKELY = 2
    CERTAIN = 3

    @property
    def token(self) -> str:
        """The string in the store and in JSON."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Wrap:
    """One place where an ARK may go on."""

    left: str
    """What was read so far, from the label on: ``ark:/12148/bpt6k10``; without a hyphen at the wrap."""
    right: str
    """The next token, up to a blank or a character that no ARK has."""
    hyphen: bool
    """Whether a hyphen, of any kind, stands directly before the wrap."""
    line: LineEnd = UNKNOWN_LINE_END
    """How the line ends."""
    linked: Ark | None = None
    """The ARK in the target of the link whose visible text this is."""
    beyond: str = ""
    """What stands behind the next token."""
    around: str = ""
    """The text around: it tells the language."""
    fills_line: bool = False
    """Whether nothing stands before it in its line."""
    in_column: bool = False
    """Whether it stands in a column of plain text, whose width is known."""
    in_table: bool = False
    """Whether it stands in a table of a page: the width of its cell, and what follows there, are less sure."""
    in_another_cell: bool = False
    """Whether what follows stands in another cell of a table."""
    is_paged: bool = False
    """Whether it stands on a page, where what follows in the text need not be what follows for the eye."""

    @property
    def next_part(self) -> str:
        """Return what follows, without the punctuation that would end a sentence.

        >>> Wrap("ark:/12148/bpt6k10", "7371t).", hyphen=False).next_part
        '7371t'
        """
        return str(_SENTENCE_END.sub("", _LEAD.match(self.right)[0]))

    @property
    def ark(self) -> Ark | None:
        """The ARK, if it ends here."""
        return _ark_of(self.left)

    @property
    def joined(self) -> Ark | None:
        """The ARK, if it goes on."""
        return _ark_of(self.left + self.next_part)

    @property
    def is_beyond_name(self) -> bool:
        """True if the ARK has its whole name either way."""
        left, joined = self.ark, self.joined
        return left is not None and joined is not None and left.name == joined.name

    @property
    def is_wrapped_again(self) -> bool:
        """True if what follows ends with its line, too, so that the name may go on behind that."""
        return self.right.endswith("-") or self.beyond.startswith("\n")

    @property
    def is_full(self) -> bool:
        """True if the line had no room left."""
        return self.line.line_slack is not None and self.line.line_slack <= 1

    @property
    def is_at_delimiter(self) -> bool:
        """True if the wrap is where URLs are broken: behind or before a delimiter."""
        return self.left[-1:] in _BREAK_BEHIND or _DELIMITED.match(self.right) is not None


@dataclass(frozen=True, slots=True)
class WrapDecision:
    """The decision whether the ARK goes on, by which rule, and how surely."""

    join: bool
    rule: str
    confidence: Confidence = Confidence.CERTAIN


@lru_cache(maxsize=256)
def _ark_of(text: str) -> Ark | None:
    try:
        return Ark.parse(text)
    except NotAnArk:
        return None
