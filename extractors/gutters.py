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
#: On a printed page one blank parts them from the text; PDFium leaves out the line break behind a hyphen (U+FFFE).
_PRINTED_LEFT = re.compile(r"(?:^|\uFFFE)(?P<number>[0-9]{1,5})(?=[ ]|\r?$)", re.MULTILINE)
_PRINTED_RIGHT = re.compile(r"(?:^|(?<=[ ]))(?P<number>[0-9]{1,5})(?=\r?$)", re.MULTILINE)
_OWN_LINE = re.compile(r"(?<![ \uFFFE])[0-9]+\r?$", re.MULTILINE)
_LINE_ENDS = re.compile(r"[\n\uFFFE]")
_FEWEST_OF_ALL = 4  # numbers where every line has one
_FEWEST_ROUND = 3  # that count by five or ten


def counts_on(numbers: Sequence[int]) -> bool:
    """Return whether *numbers*, in their order, are those of lines: each one more than the last, or five, or ten.

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
    if len(text) < _SAMPLE_CHARS and text.count("\n") < FEWEST - 1:  # one number a line
        return text
    for pattern in (_LEFT, _RIGHT):
        if not all(_is_dense(pattern, text, start) for start in (0, max(0, len(text) // 2 - _SAMPLE_CHARS // 2))):
            continue
        found = list(pattern.finditer(text))
        if len(found) >= FEWEST and counts_on([int(number["number"]) for number in found]):
            text = _blanked(text, found)
    return text


def without_numbers(page: str) -> str:
    r"""Return the text of a printed *page* with blanks for the numbers that stand beside its lines.

    They stand at the beginnings of lines, or at their ends, and count on; other numbers there don't.

    >>> page = "\r\n".join(f"{number} of ark:/12148/x" for number in range(41, 47))
    >>> without_numbers(page).splitlines()[1]
    '   of ark:/12148/x'
    """
    lines = len(_LINE_ENDS.findall(page)) + 1
    for pattern in (_PRINTED_LEFT, _PRINTED_RIGHT):
        found = list(pattern.finditer(page))
        counted = _longest_count([int(number["number"]) for number in found])
        own_lines = [found[index] for index in counted if _OWN_LINE.match(page, found[index].start("number"))]
        if 2 * len(own_lines) > len(counted):  # they are taken out by geometry
            continue
        if _is_gutter([int(found[index]["number"]) for index in counted], len(found), lines):
            page = _blanked(page, [found[index] for index in counted])
            for number in own_lines:  # with the line break before it, or it would part paragraphs
                start = number.start("number")
                before = page[max(0, start - 2) : start]
                page = page[: start - len(before)] + " " * len(before) + page[start:]
    return page


def _longest_count(numbers: Sequence[int]) -> list[int]:
    """Return the indexes of the longest run among *numbers*, others left out, that counts by one, five or ten.

    >>> _longest_count([1, 2, 1850, 3, 77, 4])
    [0, 1, 3, 5]
    """
    best: list[int] = []
    for step in _STEPS:
        run_to: dict[int, tuple[int, int]] = {}  # number: how long the run is, where it stands
        before: list[int] = []
        for index, number in enumerate(numbers):
            length, last = run_to.get(number - step, (0, -1))
            before.append(last)
            if length + 1 > run_to.get(number, (0, 0))[0]:
                run_to[number] = length + 1, index
        length, index = max(run_to.values(), default=(0, -1))
        if length > len(best):
            best = []
            while index >= 0:
                best.append(index)
                index = before[index]
            best.reverse()
    return best


def _is_gutter(counted: Sequence[int], candidates: int, lines: int) -> bool:
    """Return whether numbers that count on are those of *lines*, given how many stand where they do."""
    if len(counted) < 2 or 2 * len(counted) < candidates:
        return False
    step = counted[1] - counted[0]
    if step > 1 and not any(number % step for number in counted):
        return len(counted) >= _FEWEST_ROUND
    return len(counted) >= (_FEWEST_OF_ALL if len(counted) >= _MOST * lines else FEWEST)


def _is_dense(pattern: re.Pattern[str], text: str, start: int) -> bool:
    """Return whether a sample of *text* holds as many numbers as a gutter has: to look at all of it takes its time."""
    sample = text[start : start + _SAMPLE_CHARS]
    return sum(1 for _ in pattern.finditer(sample)) * _FEWEST_LINES >= sample.count("\n")


def _blanked(text: str, found: Iterable[re.Match[str]]) -> str:
    pieces, done = [], 0
    for number in found:
        start, end = number.start("number"), number.end()
        pieces += [text[done:start], " " * (end - start)]
        done = end
    return "".join((*pieces, text[done:]))
