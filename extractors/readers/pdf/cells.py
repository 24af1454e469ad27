"""The cells of tables on a PDF page: behind the last line of one, another begins, and no name goes on there.

PDFium gives a table cell by cell, as it was drawn; cells of one line that stand side by side come as one line.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from extractors.readers.pdf.geometry import Glyphs, Line, Lines

_SLACK = 1.0  # points
_WIDE_GAP = 1.2  # heights of the font: no blank in a line is as wide, not even in narrow justified columns
_MARK_GAP = 0.5  # heights of the font: a raised mark stands nearer
_CHAR_WIDTH = 0.5  # of the height of the font, at least: lines of narrow letters end before a wide one
_FEWEST_RETURNS = 2
_FEWEST_LINES = 3  # that begin at one left, for their right edge to be known


class _LineCell(NamedTuple):
    """The part of a line that stands in one cell."""

    start: int
    end: int
    left: float
    right: float


def is_table_like(lines: Lines) -> bool:
    """Return whether the text goes back to the left and down again and again: from the end of a row to the next.

    Columns of running text don't.
    """
    corners = zip(lines.lefts, lines.bottoms, lines.rights, strict=True)
    returns = (
        right <= last_left + _SLACK and bottom < last_bottom - _SLACK
        for (last_left, last_bottom, _), (_, bottom, right) in pairwise(corners)
    )
    return sum(map(bool, returns)) >= _FEWEST_RETURNS


def _edge(rights: list[float], width: float) -> float:
    """Return where the lines of a column of cells end at most, one that stands out into the next cell apart."""
    ordered = sorted(rights, reverse=True)
    near = (right for right, third in zip(ordered, ordered[2:], strict=False) if right - third < 2 * width)
    return next(near, ordered[0])


class CellTable:
    """The cells of a page that holds a table, as far as lines are *wanted*."""

    def __init__(self, text: str, lines: Lines, glyphs: Glyphs, wanted: Sequence[bool]) -> None:
        self._text = text
        self._lines = lines
        self._glyphs = glyphs
        self._wanted = [index for index, is_wanted in enumerate(wanted) if is_wanted]
        near = sorted({each for index in self._wanted for each in (index, index + 1) if each < len(lines)})
        self._cells = {index: self._cells_of(lines[index]) for index in near}

    def has_cells_beside(self) -> bool:
        """Return whether the text continues in another cell after one of the wanted lines."""
        return any(index + 1 in self._cells and self._is_elsewhere(index, index + 1) for index in self._wanted)

    def line_slack(self) -> tuple[tuple[int, float], ...]:
        """Return for the wanted lines where each ends, and how many of its characters still fit into its cell."""
        rights: dict[int, list[float]] = {}
        for cells in self._cells.values():
            for cell in cells:
                rights.setdefault(round(cell.left), []).append(cell.right)
        slack = []
        for index in self._wanted:
            cell = self._cells[index][-1]
            alike = [right for left in (-1, 0, 1) for right in rights.get(round(cell.left) + left, ())]
            if len(alike) >= _FEWEST_LINES and cell.right > cell.left:
                width = max((cell.right - cell.left) / (cell.end - cell.start), _CHAR_WIDTH * self._lines[index].height)
                slack.append((cell.end, round((_edge(alike, width) - cell.right) / width, 2)))
        return tuple(slack)

    def _is_elsewhere(self, index: int, following: int) -> bool:
        """Return whether one line stands beside the other rather than beneath it."""
        cell, other = self._cells[index][-1], self._cells[following][0]
        if other.right <= cell.left + _SLACK:
            return True
        height = self._lines[index].height
        is_beside = abs(self._lines[index].middle - self._lines[following].middle) < height
        return other.left >= cell.right - _SLACK and not (is_beside and other.left - cell.right < _MARK_GAP * height)

    def _cells_of(self, line: Line) -> list[_LineCell]:
        """Return the parts of *line*: between them is more room than a blank takes."""
        blanks = [at for at in range(line.start + 1, line.end - 1) if self._text[at] == " "]
        lefts, _, _, _ = self._glyphs.all_corners([at + 1 for at in blanks])
        _, _, rights, _ = self._glyphs.all_corners([at - 1 for at in blanks])
        cells, start, left = [], line.start, line.left
        for at, right, next_left in zip(blanks, rights, lefts, strict=True):
            if next_left - right > _WIDE_GAP * line.height:
                cells.append(_LineCell(start, at, left, right))
                start, left = at + 1, next_left
        return [*cells, _LineCell(start, line.end, left, line.right)]
