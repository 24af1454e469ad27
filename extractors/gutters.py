"""Numbers of lines in the margin, as editions and listings have them: they part what belongs together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

#: So many numbers that count on are a gutter; a list of so many items of one line each would be one, too.
FEWEST = 6
#: Of the numbers that stand where a gutter may be, so many must count on.
_MOST = 0.8
_STEPS = (1, 5, 10)
_SAMPLE_CHARS = 4000
_FEWEST_LINES = 25  # with blank lines, for each number of a gutter that counts by ten
_LEFT = re.compile(r"^[ \t]{0,8}(?P<number>[0-9]{1,5})(?=[ \t]+[^\s]|[ \t]*\|)(?:[ \t]*\|)?", re.MULTILINE)
_RIGHT = re.compile(r"(?<=\S)[ \t]{2,}(?P<number>[0-9]{1,5})[ \t]*\r?$", re.MULTILINE)


def counts_on(numbers: Sequence[int]) -> bool:
    """Whether *numbers*, in their order, are those of lines: each one more than the last, or five, or ten.

    >>> counts_on([1, 2, 3, 4, 5, 6, 7]), counts_on([5, 10, 15, 20, 25, 30]), counts_on([12, 7, 1850, 3, 4, 9])
    (True, True, False)
    """
    steps = [later - number for number, later in pairwise(numbers)]
    return len(numbers) >= FEWEST and any(steps.count(step) >= _MOST * len(steps) for step in _STEPS)


def masked(text: str) -> str:
    """*text* with blanks for the numbers of its lines, so that every offset stays what it was.

    >>> masked("".join(f"{number:3} ark:/{number}\\n" for number in range(1, 8)))[:19]
    '    ark:/1\\n    ark:'
    """
    for pattern in (_LEFT, _RIGHT):
        if not all(_is_dense(pattern, text, start) for start in (0, max(0, len(text) // 2 - _SAMPLE_CHARS // 2))):
            continue
        found = list(pattern.finditer(text))
        if len(found) >= FEWEST and counts_on([int(number["number"]) for number in found]):
            text = _blanked(text, found)
    return text


def _is_dense(pattern: re.Pattern[str], text: str, start: int) -> bool:
    """Whether a sample of *text* holds as many numbers as a gutter has: to look at all of it takes its time."""
    sample = text[start : start + _SAMPLE_CHARS]
    return sum(1 for _ in pattern.finditer(sample)) * _FEWEST_LINES >= sample.count("\n")


def _blanked(text: str, found: Iterable[re.Match[str]]) -> str:
    pieces, done = [], 0
    for number in found:
        start, end = number.start("number"), number.end()
        pieces += [text[done:start], " " * (end - start)]
        done = end
    return "".join((*pieces, text[done:]))
