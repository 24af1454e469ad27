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
from extractors.readers.pdf.geometry import SLACK, WIDEST_LEADING, Glyphs, Line, Lines, line_index_at, lines_of
from extractors.wraps.rules import NEW_IDENTIFIER

#: Widths in heights of the font: of a gap that may separate columns, and of a gutter in one line, and in two.
_WIDE_GAP = 0.5
_GUTTER_WIDTHS = (3, 0.8)
_SURE_LINES = 3
_CLEAR_RATIO = 2.5  # times the other blanks of its line: in a justified line all blanks are wide
_EQUAL_RATIO = 1.1  # times the narrowest blank of a justified line: the widest
_FAR_HEIGHTS = 3  # heights of the font between two lines of one column, more than in a manuscript with double spacing

_RESOLVER = re.compile(r"https?://")

Span = tuple[int, int]
_LINE_BREAK = (-1, -1)


class _Cell(NamedTuple):
    """A part of a line without a wide gap: offsets in the text, edges and font height in points."""

    start: int
    end: int
    left: float
    right: float
    height: float


class _Gutter(NamedTuple):
    """A vertical strip without text, between two edges in points, through the lines from index *first* to *last*."""

    left: float
    right: float
    first: int
    last: int


def in_reading_order(text: str, labels: Iterable[int], glyphs: Glyphs) -> tuple[str, Glyphs]:
    """Return *text* with the lines around *labels* (offsets, in order) in reading order, and its glyphs.

    If the order is right, both are unchanged.
    """
    page = _Page(text, lines_of(text, glyphs), glyphs)
    reordered_spans = [*page.reordered_spans(labels)]
    if not reordered_spans:
        return text, glyphs
    pieces: list[str] = []
    origins: list[int] = []
    copied_to = 0
    for (start, end), ordered_spans in reordered_spans:
        for span in ((copied_to, start), *ordered_spans):
            pieces.append("\n" if span == _LINE_BREAK else text[slice(*span)])
            origins += [-1] if span == _LINE_BREAK else range(*span)
        copied_to = end
    origins += range(copied_to, len(text))
    return "".join((*pieces, text[copied_to:])), glyphs.reordered(origins)


class _Page:
    """The lines of a page with their cells."""

    def __init__(self, text: str, lines: Lines, glyphs: Glyphs) -> None:
        self._text = text
        self._lines = lines
        self._glyphs = glyphs
        self._cells_of_line: dict[int, list[_Cell]] = {}
        self._blanks_of_line: dict[int, list[float]] = {}

    def reordered_spans(self, labels: Iterable[int]) -> Iterator[tuple[Span, list[Span]]]:
        """Yield each span around *labels* (offsets) that PDFium has in a wrong order, with its parts in reading order."""
        turned_ranges = dict(self._turned_ranges())
        for first, last in turned_ranges.items():
            line_spans = [[self._line_span(index)] for index in range(last, first - 1, -1)]
            yield self._span(first, last), self._spans_with_breaks(line_spans)
        if turned_ranges:  # text on its side has no margin or column at its side
            return
        last_read = -1
        for label in labels:
            index = line_index_at(self._lines, label)
            if index > last_read and (gutters := self._gutters_around(label, index)):
                first, last_read = max(gutter.first for gutter in gutters), min(gutter.last for gutter in gutters)
                yield self._span(first, last_read), [*self._spans_by_column(first, last_read, gutters)]

    # -- text on its side

    def _turned_ranges(self) -> Iterator[tuple[int, int]]:
        """Yield the indexes of the first and last line of each series of lines on their side, each above the line before."""
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
        previous_line, line = self._lines[index - 1], self._lines[index]
        turn = self._glyphs.turn(line.start)
        is_near = SLACK < line.bottom - previous_line.bottom < WIDEST_LEADING * max(line.height, previous_line.height)
        is_in_column = line.left < previous_line.right and previous_line.left < line.right
        return turn != 0 and turn == self._glyphs.turn(previous_line.start) and is_near and is_in_column

    # -- columns

    def _gutters_around(self, label: int, index: int) -> list[_Gutter]:
        """Return the gutters at the left and right of the word at the offset *label* in line *index*, as far as there are any.

        Empty if the word neither continues in the line below nor begins in the line above, within its column.
        """
        cells = self._cells(index)
        cell = next(cell for cell in cells if cell.start <= label < cell.end)
        is_first = " " not in self._text[cell.start : label]
        is_last = " " not in self._text[label : cell.end]
        gaps = [*_gaps(cells)]
        if is_first and index:
            gaps += _gaps(self._cells(index - 1))
        if is_last and index + 1 < len(self._lines):
            gaps += _gaps(self._cells(index + 1))
        if not gaps or not (is_first or is_last):
            return []
        gutters = dict.fromkeys(gutter for gap in gaps if (gutter := self._gutter(gap, index)) is not None)
        left = max((gutter for gutter in gutters if gutter.left < cell.left), default=None)
        right = min((gutter for gutter in gutters if gutter.left >= cell.left), default=None)
        is_continued = is_last and not (right is not None and self._is_row(index, right))
        is_from_above = is_first and any(map(self._ends_with_resolver, self._cells(max(0, index - 1))))
        return [gutter for gutter in (left, right) if gutter is not None] if is_continued or is_from_above else []

    def _ends_with_resolver(self, cell: _Cell) -> bool:
        """Return True if the last word of *cell* is a URL without an ARK."""
        last_word = self._text[cell.start : cell.end].rpartition(" ")[2]
        return _RESOLVER.search(last_word, max(0, last_word.rfind("ark:"))) is not None

    def _is_row(self, index: int, gutter: _Gutter) -> bool:
        """Return True if the word at the left of *gutter* doesn't continue below line *index*.

        There is no text in its column, or another identifier.
        """
        below = [cell for cell in self._cells(index + 1) if cell.right <= gutter.right] if index < gutter.last else []
        return not below or NEW_IDENTIFIER.match(self._text, below[-1].start) is not None

    def _gutter(self, gap: tuple[float, float], line_index: int) -> _Gutter | None:
        """Return the gutter that *gap* (left and right edge, in points) is part of, from line *line_index* up and down.

        None if the gap is only a wide blank.
        """
        left, right = gap
        ends, shared_count, is_justified, height = {}, 0, False, inf
        for step in (-1, 1):
            index = line_index if step < 0 else line_index + 1
            previous_line = self._lines[line_index]
            while 0 <= index < len(self._lines):
                cells, line = self._cells(index), self._lines[index]
                least_width = _WIDE_GAP * min(cell.height for cell in cells)
                edges = [(-inf, cells[0].left), *_gaps(cells), (cells[-1].right, inf)]
                shared_gap = next(
                    (edge for edge in edges if min(right, edge[1]) - max(left, edge[0]) >= least_width), None
                )
                if shared_gap is None or _is_far(line, previous_line, max(cell.height for cell in cells)):
                    break
                left, right = max(left, shared_gap[0]), min(right, shared_gap[1])
                if inf not in map(abs, shared_gap):
                    if self._is_clear(index, shared_gap[1] - shared_gap[0]):
                        shared_count += 1
                        height = min(height, least_width / _WIDE_GAP)
                    else:
                        is_justified |= max(blanks := self._blanks_of_line[index]) < _EQUAL_RATIO * min(blanks)
                previous_line = line
                index += step
            ends[step] = index - step
        is_wide = 0 < shared_count < _SURE_LINES and right - left >= _GUTTER_WIDTHS[shared_count - 1] * height
        is_gutter = shared_count >= _SURE_LINES or (is_wide and not is_justified)
        return _Gutter(left, right, ends[-1], ends[1]) if is_gutter and ends[-1] <= line_index <= ends[1] else None

    def _is_clear(self, index: int, width: float) -> bool:
        """Return True if a gap of this *width* is much wider than the other blanks of line *index*."""
        other_blanks = self._blanks_of_line[index].copy()
        other_blanks.remove(width)
        return width >= _CLEAR_RATIO * median(other_blanks or [0.0])

    def _spans_by_column(self, first: int, last: int, gutters: Sequence[_Gutter]) -> Iterator[Span]:
        """Yield the parts of the lines from index *first* to *last*, column by column."""
        columns: list[list[list[Span]]] = [[] for _ in range(len(gutters) + 1)]
        last_lines: list[Line | None] = [None] * len(columns)
        for index in range(first, last + 1):
            line = self._lines[index]
            parts: list[list[Span]] = [[] for _ in columns]
            for cell in self._cells(index):
                spans = parts[sum(cell.left >= gutter.right - SLACK for gutter in gutters)]
                if spans and spans[-1][0] < cell.start and self._text[spans[-1][1] : cell.start].isspace():
                    spans[-1] = spans[-1][0], cell.end
                else:
                    spans.append((cell.start, cell.end))
            for column, part in enumerate(parts):
                if not part:
                    continue
                previous_line = last_lines[column]
                if previous_line is not None and _is_far(
                    line, previous_line, max(cell.height for cell in self._cells(index))
                ):
                    columns[column].append([])
                columns[column].append(part)
                last_lines[column] = line
        for column, lines in enumerate(columns):
            if column:
                yield from (_LINE_BREAK, _LINE_BREAK)
            yield from self._spans_with_breaks(lines)

    def _spans_with_breaks(self, line_spans: Sequence[Sequence[Span]]) -> list[Span]:
        """Return the spans of all lines in *line_spans*, with a line break between lines.

        PDFium's hyphen at a line end (U+FFFE) includes the line break, so that none is added after it.
        """
        spans: list[Span] = []
        for part in line_spans:
            if spans and (spans[-1] == _LINE_BREAK or self._text[spans[-1][1] - 1] != LINE_END_HYPHEN):
                spans.append(_LINE_BREAK)
            spans += part
        return spans

    # -- lines

    def _cells(self, index: int) -> list[_Cell]:
        """Return the cells of line *index*, from left to right."""
        if index not in self._cells_of_line:
            cells = sorted(self._cells_of(index), key=lambda cell: cell.left)
            self._cells_of_line[index] = cells
            self._blanks_of_line[index] += [right - left for left, right in _gaps(cells)]
        return self._cells_of_line[index]

    def _cells_of(self, index: int) -> Iterator[_Cell]:
        """Yield the parts of line *index* between wide gaps; add the widths of its other blanks to `_blanks_of_line`."""
        start, end = self._line_span(index)
        offsets = [offset for offset in range(start, end) if not self._text[offset].isspace()]
        cell: _Cell | None = None
        blanks = self._blanks_of_line[index] = []
        for offset, box in zip(offsets, self._glyphs.boxes(offsets), strict=True):
            if (
                cell is not None
                and self._text[offset - 1].isspace()
                and box.left - cell.right <= _WIDE_GAP * cell.height
            ):
                blanks.append(box.left - cell.right)
            if cell is not None and (box.left - cell.right > _WIDE_GAP * cell.height or box.right < cell.left):
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


def _is_far(line: Line, previous_line: Line, height: float) -> bool:
    return abs(line.middle - previous_line.middle) > _FAR_HEIGHTS * height


def _gaps(cells: Sequence[_Cell]) -> Iterator[tuple[float, float]]:
    return ((cell.right, next_cell.left) for cell, next_cell in pairwise(cells) if next_cell.left > cell.right)
