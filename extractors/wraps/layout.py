"""The ends of the lines around a place in plain text: evidence of whether a word could have been cut there.

Whoever wraps a text leaves traces. A tool that cuts at a column makes all lines equally long; one that keeps the blank
at which it broke lets its absence speak; and where the next word would still have fitted, nothing was wrapped at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import NamedTuple

import regex


class Habit(Enum):
    """The habit of line ends around a place."""

    UNKNOWN = "unknown"
    AUTHOR = "author"
    """Whoever wrote them: the lines are paragraphs, items or verses, and no tool wrapped them."""
    WORDS = "words"
    """A tool that fills lines; what it does with a word that is too long isn't known."""
    KEEPS_BLANKS = "keeps-blanks"
    """A tool that breaks behind a blank and keeps it (``fold -s``), or at the column where there is none."""
    COLUMN = "column"
    """A tool that cuts at one column, through words as well (``fold``)."""


@dataclass(frozen=True, slots=True)
class LineEnd:
    """One line's end as the lines around it explain it."""

    habit: Habit = Habit.UNKNOWN
    line_slack: float | None = None
    """How many more characters would have fitted; 0 on a full line, less on one that overflows; None if unknown."""
    blank: bool = False
    """Whether a blank stands beside the line break."""
    ends_comment: bool = False
    """Whether it is the last of a comment or a quotation: the next line lacks the mark that this one begins with."""


UNKNOWN_LINE_END = LineEnd()

_NEAR_LINES = 24
_MARKS = regex.compile(r"\A[ \t]*(?:[>#|*;%]|//|--(?=[ \t]))[>#|*;% \t]*")
_BULLETS = "*|"
#: No line further away is evidence.
NEAR_CHARS = 2500
#: Fewer wrapped lines than this say nothing about a habit.
_ENOUGH = 4
_MOST = 0.85
_OUTLIERS = 3


class _Line(NamedTuple):
    text: str
    following: str
    """The next line, which is not empty: this one was wrapped, or ended by its author."""


def line_end(text: str, offset: int) -> LineEnd:
    """Return how the line ends whose line break stands at *offset* of *text*, or behind blanks that stand there.

    >>> text = "The quick brown fox\\njumps over the lazy\\ndog and all the\\nfoxes that are ever\\nso quick and red\\n"
    >>> line_end(text, text.index("\\nfoxes")).line_slack
    4
    """
    before = (text[max(0, offset - NEAR_CHARS) : offset] + ".").splitlines()
    end_of_current, *after = (text[offset : offset + NEAR_CHARS] + ".").splitlines()
    if not after:
        return LineEnd()
    current = before[-1][:-1] + end_of_current
    following = after[0]
    if offset > NEAR_CHARS:
        before = before[1:]  # the first is only the end of a line
    around = [*before[:-1][-_NEAR_LINES:], current, *after[:-1][:_NEAR_LINES]]
    if mark := _MARKS.match(current):
        if following.strip() and not _MARKS.match(following) and mark[0].strip()[0] not in _BULLETS:
            return LineEnd(ends_comment=True)
        around = [_MARKS.sub("", line) if _MARKS.match(line) else "" for line in around]
        current, following = _MARKS.sub("", current), _MARKS.sub("", following)
    lines = [_Line(line, next_line) for line, next_line in pairwise(around) if line.strip() and next_line.strip()]
    usual = min((_indent(line.following) for line in lines), default=0)
    blank = current != current.rstrip() or _indent(following) > usual
    column = _column(lines)
    if column is not None:
        width, measure = column
        if any(_has_blank(line, usual) for line in lines):
            return LineEnd(Habit.COLUMN, width - measure(current), blank)
        return LineEnd()  # justified, or too few lines to tell
    alike = [line for line in lines if _indent(line.following) == _indent(following)]
    if len(alike) >= _ENOUGH:
        lines = alike
    else:  # the margins differ from paragraph to paragraph, and lines are filled from there
        lines = [_Line(line.text.lstrip(), line.following.lstrip()) for line in lines]
        current = current.lstrip()
    habit, full = _habit(lines)
    if full is None:
        return LineEnd(habit, None, blank)
    if habit is Habit.KEEPS_BLANKS:
        line_slack = min(
            max(map(measure, (line.text for line in lines))) - measure(current) for measure in (len, _octets)
        )
        return LineEnd(habit, line_slack, blank)
    return LineEnd(habit, full - len(current.rstrip()), blank)


def _has_blank(line: _Line, usual: int) -> bool:
    """Return whether a blank stands beside the break behind *line*, the *usual* indent apart."""
    return line.text != line.text.rstrip() or _indent(line.following) > usual


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _octets(text: str) -> int:
    """Bytes of UTF-8; a character that was cut in two has left one U+FFFD for each of its halves."""
    return len(text.encode("utf-8", "surrogatepass")) - 2 * text.count("\N{REPLACEMENT CHARACTER}")


def _column(lines: Sequence[_Line]) -> tuple[int, Callable[[str], int]] | None:
    """The column at which all lines were cut, and what it counts: characters, or bytes as `fold` does."""
    if len(lines) < _ENOUGH:
        return None
    for measure in (len, _octets):
        exact = Counter(measure(line.text) for line in lines)
        width, often = exact.most_common(1)[0]
        if often >= _MOST * len(lines) and width > 1:
            return width, measure
    return None


def _habit(lines: Sequence[_Line]) -> tuple[Habit, int | None]:
    """Return what ends these lines, and their full width."""
    full = _full_width(lines)
    if full is None:
        return Habit.UNKNOWN, None
    fitting = sum(_would_fit(line, full) for line in lines)
    if 3 * fitting > len(lines):
        return Habit.AUTHOR, None
    shorter = [line.text for line in lines if len(line.text.rstrip()) < full]
    keeping = sum(text != text.rstrip() for text in shorter)
    if len(shorter) >= _ENOUGH and keeping >= _MOST * len(shorter):
        return Habit.KEEPS_BLANKS, full
    return Habit.WORDS, full


def _full_width(lines: Sequence[_Line]) -> int | None:
    """The width that the lines fill; one that nothing but a word too long to break exceeds doesn't count."""
    widths = sorted(len(line.text.rstrip()) for line in lines if " " in line.text.strip())
    if len(widths) < _ENOUGH:
        return None
    for _ in range(_OUTLIERS):
        close = sum(width >= widths[-1] - 8 for width in widths)
        if 10 * close >= len(widths) and close > 1:
            break
        widths.pop()
    return widths[-1]


def _would_fit(line: _Line, full: int) -> bool:
    """Return whether the next line's first word had room on this one."""
    word = line.following.split(maxsplit=1)[0]
    return len(line.text.rstrip()) + 1 + len(word) <= full
