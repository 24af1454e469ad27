"""A line's end within or after an ARK, and the decision about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache

import regex

from extractors.model.ark import Ark
from extractors.model.normalize import NotAnArk
from extractors.model.offset_map import UNSPACED

_LEAD = regex.compile(rf"[[\p{{L}}\p{{Nd}}/.=_~%+@$*:-]--{UNSPACED}]*", regex.VERSION1)
_SENTENCE_END = regex.compile(r"[.,;:!?'\"]+\Z")
_DELIMITED = regex.compile(r"[/.=:?&][\p{L}\p{Nd}]")
#: After these a URL is broken where a name is not.
_BREAK_AFTER = "/.=_:~+@%&?-"
#: No line further away is evidence.
NEAR_CHARS = 2500
_NEAR_LINES = 12
_FEWEST_LINES = 4


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
    """A line's end at which an ARK may end or continue."""

    left: str
    """The ARK as it was read so far, from the label on, without a hyphen at the wrap: ``ark:/12148/bpt6k10``."""
    right: str
    """The next token, up to a blank or a character that no ARK has."""
    hyphen: bool
    """Whether a hyphen, of any kind, is directly before the wrap."""
    line_slack: float | None = None
    """How many more characters would have fitted in the line; None if unknown."""
    beyond: str = ""
    """The text after the next token."""
    is_paged: bool = False
    """Whether it is on a page, where what follows in the text need not be what follows for the eye."""

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
        """The ARK, if it continues."""
        return _ark_of(self.left + self.next_part)

    @property
    def is_beyond_name(self) -> bool:
        """True if the ARK has its whole name either way."""
        left, joined = self.ark, self.joined
        return left is not None and joined is not None and left.name == joined.name

    @property
    def is_wrapped_again(self) -> bool:
        """True if what follows ends with its line, too, so that the name may continue in a third."""
        return self.right.endswith("-") or self.beyond.startswith("\n")

    @property
    def is_full(self) -> bool:
        """True if the line had no space left."""
        return self.line_slack is not None and self.line_slack <= 1

    @property
    def is_at_delimiter(self) -> bool:
        """True if the wrap is where URLs are broken: after or before a delimiter."""
        return self.left[-1:] in _BREAK_AFTER or _DELIMITED.match(self.right) is not None


@dataclass(frozen=True, slots=True)
class WrapDecision:
    """The decision whether the ARK continues, by which rule, and how surely."""

    join: bool
    rule: str
    confidence: Confidence = Confidence.CERTAIN


def slack_in_text(text: str, at: int) -> float | None:
    """Return how many characters the line whose break is at *at* is shorter than the longest near it.

    None where there are too few lines, or all are as long, as the items of a list may be. A line without a blank is no
    evidence: it may be a word that no tool breaks.

    >>> slack_in_text("The quick brown fox\\njumps over\\nthe lazy dog and the\\nfoxes that are\\n", 30)
    10
    """
    before = text[max(0, at - NEAR_CHARS) : at].split("\n")
    after = text[at : at + NEAR_CHARS].split("\n")
    current = (before[-1] + after[0]).rstrip()
    near = (*before[-_NEAR_LINES - 1 : -1], current, *after[1 : _NEAR_LINES + 1])
    lengths = [len(line.rstrip()) for line in near if " " in line.strip()]
    if len(lengths) < _FEWEST_LINES or len(set(lengths)) == 1:
        return None
    return max(lengths) - len(current)


@lru_cache(maxsize=256)
def _ark_of(text: str) -> Ark | None:
    try:
        return Ark.parse(text)
    except NotAnArk:
        return None
