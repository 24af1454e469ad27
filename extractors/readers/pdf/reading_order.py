"""The reading order of a PDF page: text on its side, and columns and margins that PDFium reads line by line.

PDFium sorts text at one height by its distance from the left. So it reads a margin note, the number of a line,
or the next column between two lines of one text. It reads text on its side from its last line to its first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import inf
from statistics import median
from typing import NamedTuple

from extractors.model.offset_map import LINE_END_HYPHEN
from extractors.readers.pdf.geometry import SLACK, WIDEST_LEADING, Glyphs, Line, Lines, line_at, lines_of
from extractors.wraps.rules import NEW_IDENTIFIER

#: Widths in heights of the font: of a gap that may separate columns, and of a gutter in one line, and in two.
_GAP = 0.5
_GUTTERS = (3, 0.8)
_SURE_LINES = 3
_CLEAR = 2.5  # times the other blanks of its line: in a justified line all blanks are wide
_EQUAL = 1.1  # times the narrowest blank of a justified line: the widest
_FAR = 3  # heights of the font between two lines of one column, more than in a manuscript with double spacing

_RESOLVER = re.compile(r"https?://")

Span = tuple[int, int]
_BREAK = (-1, -1)


class _Cell(NamedTuple):
    """A part of a line without a wide gap."""

    start: int
    end: int
    left: float
    right: float
    height: float


class _Gutter(NamedTuple):
    """A vertical strip without text through the lines from *first* to *last*."""

    left: float
    right: float
    first: int
    last: int


def in_reading_order(text: str, labels: Iterable[int], glyphs: Glyphs) -> tuple[str, Glyphs]:
    """Return *text* with the lines around *labels* (offsets, in order) in reading order, and its glyphs.

    A page whose order is right is returned as it is.
    """
    page = _Page(text, lines_of(text, glyphs), glyphs)
    spans = [*page.reordered(labels)]
    if not spans:
        return text, glyphs
    pieces: list[str] = []
    origins: list[int] = []
    done = 0
    for (start, end), ordered in spans:
        for span in ((done, start), *ordered):
            pieces.append("\n" if span == _BREAK else text[slice(*span)])
            origins += [-1] if span == _BREAK else range(*span)
        done = end
    origins += range(done, len(text))
    return "".join((*pieces, text[done:])), glyphs.in_order(origins)


class _Page:
    """The lines of a page with their cells."""

    def __init__(self, text: str, lines: Lines, glyphs: Glyphs) -> None:
        self._text = text
        self._lines = lines
        self._glyphs = glyphs
        self._cells_of_line: dict[int, list[_Cell]] = {}
        self._blanks_of_line: dict[int, list[float]] = {}

    def reordered(self, labels: Iterable[int]) -> Iterator[tuple[Span, list[Span]]]:
        """Yield the stretches that PDFium has in a wrong order, each with its parts in reading order.

        Only stretches around *labels* are examined: the positions of labels of ARKs in the text.
        """
        turned = dict(self._turned_lines())
        for first, last in turned.items():
            yield self._span(first, last), self._in_column([[self._line_span(at)] for at in range(last, first - 1, -1)])
        if turned:  # text on its side has no margin or column at its side
            return
        done = -1
        for label in labels:
            at = line_at(self._lines, label)
            if at > done and (gutters := self._gutters_around(label, at)):
                first, done = max(gutter.first for gutter in gutters), min(gutter.last for gutter in gutters)
                yield self._span(first, done), [*self._by_column(first, done, gutters)]

    # -- text on its side

    def _turned_lines(self) -> Iterator[tuple[int, int]]:
        """Yield first and last index of successive lines on their side, each above the one before it."""
        if len(self._glyphs.turns) == 1:
            return
        first = 0
        for index in range(1, len(self._lines) + 1):
            if index < len(self._lines) and self._is_above(index):
                continue
            if index - first > 1:
                yield first, index - 1
            first = index

    def _is_above(self, index: int) -> bool:
        last, line = self._lines[index - 1], self._lines[index]
        turn = self._glyphs.turn(line.start)
        is_near = SLACK < line.bottom - last.bottom < WIDEST_LEADING * max(line.height, last.height)
        is_in_column = line.left < last.right and last.left < line.right
        return turn != 0 and turn == self._glyphs.turn(last.start) and is_near and is_in_column

    # -- columns

    def _gutters_around(self, label: int, at: int) -> list[_Gutter]:
        """Return the gutters at the left and right of the word of *label* in line *at*.

        Empty if the word neither goes on below in its own column nor continues from the line above.
        """
        cells = self._cells(at)
        cell = next(cell for cell in cells if cell.start <= label < cell.end)
        is_first = " " not in self._text[cell.start : label]
        is_last = " " not in self._text[label : cell.end]
        gaps = [*_gaps(cells)]
        if is_first and at:
            gaps += _gaps(self._cells(at - 1))
        if is_last and at + 1 < len(self._lines):
            gaps += _gaps(self._cells(at + 1))
        if not gaps or not (is_first or is_last):
            return []
        gutters = dict.fromkeys(gutter for gap in gaps if (gutter := self._gutter(gap, at)) is not None)
        left = max((gutter for gutter in gutters if gutter.left < cell.left), default=None)
        right = min((gutter for gutter in gutters if gutter.left >= cell.left), default=None)
        goes_on = is_last and not (right is not None and self._is_row(at, right))
        is_from_above = is_first and any(map(self._ends_with_resolver, self._cells(max(0, at - 1))))
        return [gutter for gutter in (left, right) if gutter is not None] if goes_on or is_from_above else []

    def _ends_with_resolver(self, cell: _Cell) -> bool:
        """Return True if a URL without an ARK ends with *cell*."""
        last = self._text[cell.start : cell.end].rpartition(" ")[2]
        return _RESOLVER.search(last, max(0, last.rfind("ark:"))) is not None

    def _is_row(self, at: int, right: _Gutter) -> bool:
        """Return True if no text, or another identifier, follows below a cell of line *at* at the left of a gutter."""
        below = [cell for cell in self._cells(at + 1) if cell.right <= right.right] if at < right.last else []
        return not below or NEW_IDENTIFIER.match(self._text, below[-1].start) is not None

    def _gutter(self, gap: tuple[float, float], at: int) -> _Gutter | None:
        """Return the gutter that a *gap* (left, right) in line *at* or the next belongs to; None for a wide blank."""
        left, right = gap
        ends, shared, is_justified, height = {}, 0, False, inf
        for step in (-1, 1):
            index = at if step < 0 else at + 1
            last = self._lines[at]
            while 0 <= index < len(self._lines):
                cells, line = self._cells(index), self._lines[index]
                narrow = _GAP * min(cell.height for cell in cells)
                edges = [(-inf, cells[0].left), *_gaps(cells), (cells[-1].right, inf)]
                shared_gap = next((edge for edge in edges if min(right, edge[1]) - max(left, edge[0]) >= narrow), None)
                if shared_gap is None or _is_far(line, last, max(cell.height for cell in cells)):
                    break
                left, right = max(left, shared_gap[0]), min(right, shared_gap[1])
                if inf not in map(abs, shared_gap):
                    if self._is_clear(index, shared_gap[1] - shared_gap[0]):
                        shared += 1
                        height = min(height, narrow / _GAP)
                    else:
                        is_justified |= max(blanks := self._blanks_of_line[index]) < _EQUAL * min(blanks)
                last = line
                index += step
            ends[step] = index - step
        is_wide = 0 < shared < _SURE_LINES and right - left >= _GUTTERS[shared - 1] * height
        is_gutter = shared >= _SURE_LINES or (is_wide and not is_justified)
        return _Gutter(left, right, ends[-1], ends[1]) if is_gutter and ends[-1] <= at <= ends[1] else None

    def _is_clear(self, index: int, width: float) -> bool:
        """Return True if a gap of this *width* is much wider than the other blanks of a line."""
        others = self._blanks_of_line[index].copy()
        others.remove(width)
        return width >= _CLEAR * median(others or [0.0])

    def _by_column(self, first: int, last: int, gutters: Sequence[_Gutter]) -> Iterator[Span]:
        """Yield the parts of the lines from *first* to *last*, column by column."""
        columns: list[list[list[Span]]] = [[] for _ in range(len(gutters) + 1)]
        ends: list[Line | None] = [None] * len(columns)
        for index in range(first, last + 1):
            line = self._lines[index]
            parts: list[list[Span]] = [[] for _ in columns]
            for cell in self._cells(index):
                column = parts[sum(cell.left >= gutter.right - SLACK for gutter in gutters)]
                if column and column[-1][0] < cell.start and self._text[column[-1][1] : cell.start].isspace():
                    column[-1] = column[-1][0], cell.end
                else:
                    column.append((cell.start, cell.end))
            for number, part in enumerate(parts):
                if not part:
                    continue
                above = ends[number]
                if above is not None and _is_far(line, above, max(cell.height for cell in self._cells(index))):
                    columns[number].append([])
                columns[number].append(part)
                ends[number] = line
        for number, lines in enumerate(columns):
            if number:
                yield from (_BREAK, _BREAK)
            yield from self._in_column(lines)

    def _in_column(self, parts: Sequence[Sequence[Span]]) -> list[Span]:
        """Return the spans of *parts*, with line breaks between them, unless a hyphen includes one."""
        spans: list[Span] = []
        for part in parts:
            if spans and (spans[-1] == _BREAK or self._text[spans[-1][1] - 1] != LINE_END_HYPHEN):
                spans.append(_BREAK)
            spans += part
        return spans

    # -- lines

    def _cells(self, index: int) -> list[_Cell]:
        """Return the cells of a line, from left to right."""
        if index not in self._cells_of_line:
            cells = sorted(self._cells_of(index), key=lambda cell: cell.left)
            self._cells_of_line[index] = cells
            self._blanks_of_line[index] += [right - left for left, right in _gaps(cells)]
        return self._cells_of_line[index]

    def _cells_of(self, index: int) -> Iterator[_Cell]:
        start, end = self._line_span(index)
        offsets = [offset for offset in range(start, end) if not self._text[offset].isspace()]
        cell: _Cell | None = None
        blanks = self._blanks_of_line[index] = []
        for offset, box in zip(offsets, self._glyphs.boxes(offsets), strict=True):
            if cell is not None and self._text[offset - 1].isspace() and box.left - cell.right <= _GAP * cell.height:
                blanks.append(box.left - cell.right)
            if cell is not None and (box.left - cell.right > _GAP * cell.height or box.right < cell.left):
                yield cell
                cell = None
            if cell is None:
                cell = _Cell(offset, offset + 1, box.left, box.right, box.height or 1.0)
            else:
                cell = cell._replace(end=offset + 1, right=max(cell.right, box.right))
        if cell is not None:
            yield cell

    def _line_span(self, index: int) -> Span:
        line = self._lines[index]
        return line.start, line.end + self._text.startswith(LINE_END_HYPHEN, line.end)

    def _span(self, first: int, last: int) -> Span:
        return self._lines[first].start, self._line_span(last)[1]


def _is_far(line: Line, last: Line, height: float) -> bool:
    return abs(line.middle - last.middle) > _FAR * height


def _gaps(cells: Sequence[_Cell]) -> Iterator[tuple[float, float]]:
    return ((cell.right, following.left) for cell, following in pairwise(cells) if following.left > cell.right)
