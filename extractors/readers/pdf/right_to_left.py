"""Pages of Hebrew, Arabic and other scripts that run from right to left, in the order in which they are read.

PDFium guesses at that order, and takes the URLs and ARKs in such lines apart. Here the glyphs of each line are put in
order by where they are: runs from right to left, and within what is no such script from left to right.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from operator import sub
from typing import NamedTuple
from unicodedata import bidirectional

import regex

from extractors.readers.pdf.geometry import LINE_END_HYPHEN, Box, Glyphs, Lines

_RIGHT_TO_LEFT = frozenset({"R", "AL"})
_LETTER = regex.compile(r"\p{L}")
_LETTERS = regex.compile(r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
#: In a run as it is drawn, from left to right: what no URL begins with, and digits after a delimiter at the end.
_LEFT_OVER = regex.compile(r"[/:.=?&-]+(?=[\p{L}\p{N}])")
_DIGITS_LAST = regex.compile(r"(?<=\p{L}[\p{L}\p{N}]*)[/:](?=\p{N}+\Z)")
_SHARE = 0.2  # of the letters of a page, from which its lines run from right to left
_WORD_GAP = 0.12  # of the height of the font


class OrderedText(NamedTuple):
    """The text of a page in order."""

    text: str
    line_slack: tuple[tuple[int, float], ...]
    """As `Block.line_slack`: the space at the left of each line."""
    glyphs: tuple[tuple[float, float], ...]
    """For each character, where the middle of its glyph is."""

    def under(self, box: Box) -> tuple[tuple[int, int], ...]:
        """The ranges of the text that lie in *box*."""
        within = [box.left <= x <= box.right and box.bottom <= y <= box.top for x, y in self.glyphs]
        edges = [
            at for at, (one, two) in enumerate(pairwise([False, *within, False])) if one != two
        ]
        return tuple(zip(edges[::2], edges[1::2], strict=True))


class _Glyph(NamedTuple):
    """A character, and where it is."""

    left: float
    right: float
    middle: float
    char: str

    @property
    def is_right_to_left(self) -> bool:
        return bidirectional(self.char) in _RIGHT_TO_LEFT


def is_right_to_left(text: str) -> bool:
    """Return whether the lines of a page run from right to left.

    >>> is_right_to_left("ראו ark:/12148/btv1b84"), is_right_to_left("see ark:/12148/btv1b84")
    (True, False)
    """
    count = sum(1 for _ in _LETTERS.finditer(text))
    return count > 0 and count > _SHARE * sum(1 for _ in _LETTER.finditer(text))


def ordered(text: str, lines: Lines, glyphs: Glyphs) -> OrderedText:
    """Return the *text* of a page with the characters of each of its *lines* in the order in which they are read."""
    rows = [
        _runs(row, line.height)
        for line in lines
        for row in _rows(
            text, range(line.start, line.end + text.startswith(LINE_END_HYPHEN, line.end)), glyphs
        )
    ]
    is_by_line = any(len(runs) > 1 and runs[-1][0].char in "/:" for runs in rows if runs)
    chars: list[str] = []
    places: list[tuple[float, float]] = []
    ends: list[tuple[int, float, float]] = []
    for runs in rows:
        in_order = [glyph for run in (_by_line(runs) if is_by_line else runs) for glyph in run]
        if not in_order:
            continue
        chars += [*(["\n"] if chars else []), *(glyph.char for glyph in in_order)]
        places += [
            *([(-1.0, -1.0)] if places else []),
            *((glyph.left + glyph.right, glyph.middle) for glyph in in_order),
        ]
        left, right = min(glyph.left for glyph in in_order), max(glyph.right for glyph in in_order)
        ends.append((len(chars), left, (right - left) / len(in_order)))
    edge = min((left for _, left, _ in ends), default=0.0)
    slack = tuple((end, round((left - edge) / width, 2)) for end, left, width in ends if width > 0)
    return OrderedText("".join(chars), slack, tuple((both / 2, middle) for both, middle in places))


def _rows(text: str, offsets: range, glyphs: Glyphs) -> Iterator[list[_Glyph]]:
    """The glyphs of what PDFium takes for a line, without its blanks: mostly one row, each from left to right."""
    wanted = [offset for offset in offsets if not text[offset].isspace()]
    lefts, tops, rights, bottoms = glyphs.all_corners(wanted)
    written = (text[offset].replace(LINE_END_HYPHEN, "-") for offset in wanted)
    middles = ((top + bottom) / 2 for top, bottom in zip(tops, bottoms, strict=True))
    from_top = sorted(map(_Glyph, lefts, rights, middles, written), key=lambda glyph: -glyph.middle)
    height = max(map(sub, tops, bottoms), default=0.0)
    row: list[_Glyph] = []
    for glyph in from_top:
        if row and row[-1].middle - glyph.middle > height / 2:
            yield sorted(row)
            row = []
        row.append(glyph)
    yield sorted(row)


def _runs(line: Sequence[_Glyph], height: float) -> list[list[_Glyph]]:
    """The runs of a *line* (from left to right) as they are read, with a blank for each gap between words."""
    spaced: list[_Glyph] = []
    for glyph in line:
        is_apart = (
            spaced
            and spaced[-1].is_right_to_left != glyph.is_right_to_left
            and glyph.char.isalnum()
        )
        if spaced and (is_apart or glyph.left - spaced[-1].right > _WORD_GAP * height):
            spaced.append(_Glyph(spaced[-1].right, glyph.left, glyph.middle, " "))
        spaced.append(glyph)
    runs = [list(run) for _, run in groupby(spaced, key=lambda glyph: glyph.is_right_to_left)]
    read: list[list[_Glyph]] = []
    for run in reversed(runs):
        if run[0].is_right_to_left:
            read.append(run[::-1])
            continue
        words = [at for at, glyph in enumerate(run) if glyph.char != " "]
        start, end = (words[0], words[-1] + 1) if words else (0, 0)
        read += filter(None, (run[end:], run[start:end], run[:start]))
    return read


def _by_line(runs: list[list[_Glyph]]) -> Iterator[list[_Glyph]]:
    """*runs* as they are read where a program has ordered each line by itself, as Pango does.

    What ends a line of a URL then is at its left (``//:https``), and digits that begin one at its right
    (``cl010066723/53355``).
    """
    for index, run in enumerate(runs):
        text = "".join(glyph.char for glyph in run)
        ending = _LEFT_OVER.match(text) if index or len(runs) == 1 else None
        at = ending.end() if ending else 0
        digits = _DIGITS_LAST.search(text, at) if index == 0 else None
        cut = digits.start() if digits else len(run)
        first = [*run[cut + 1 :], run[cut]] if digits else []
        yield [*first, *run[at:cut], *reversed(run[:at])]
