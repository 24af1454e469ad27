"""The running heads and feet of PDF pages: lines that say the same from page to page, or count on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice, pairwise
from statistics import median

from extractors.readers.pdf.geometry import Lines
from extractors.readers.pdf.pdf_pages import PdfPage

_MOST_ROWS = 4  # of a running head or foot
_SAME_HEIGHT = 2.5  # points
_SET_APART = 1.6  # times the leading of the page
_NUMBER = re.compile(r"[\W_]*(?:[0-9]{1,5}|[ivxlc]{1,8})[\W_]*", re.IGNORECASE)
_DIGITS = re.compile(r"([0-9]+)")

Row = list[int]


def running_lines(page: PdfPage, *neighbours: PdfPage | None) -> frozenset[int]:
    """The indexes of the lines that are the running head or foot of *page*, as its *neighbours* show.

    From the edge of the page inwards, each row must stand at the same height on a neighbour and say the same, or
    count on, or be set apart on both; a page number may be set apart on this page alone.
    """
    rows = _rows(page.lines)
    leading = _leading(page.lines)
    known = [other for other in neighbours if other is not None and other.lines]
    found: set[int] = set()
    for order in (rows, rows[::-1]):
        for outer, inner in islice(pairwise(order), _MOST_ROWS):
            if not _is_running(page, outer, inner, leading, known):
                break
            found.update(outer)
    return frozenset(found)


def _rows(lines: Lines) -> list[Row]:
    """The indexes of lines by rows, from the top."""
    middles = _middles(lines)
    rows: list[Row] = []
    for index in sorted(range(len(middles)), key=middles.__getitem__, reverse=True):
        if rows and middles[rows[-1][0]] - middles[index] < _SAME_HEIGHT:
            rows[-1].append(index)
        else:
            rows.append([index])
    return rows


def _middles(lines: Lines) -> list[float]:
    return [(bottom + top) / 2 for bottom, top in zip(lines.bottoms, lines.tops, strict=True)]


def _leading(lines: Lines) -> float:
    """Return how far apart the lines of a page usually are."""
    steps = [above - below for above, below in pairwise(_middles(lines))]
    return median([step for step in steps if step > _SAME_HEIGHT] or [0.0])


def _is_running(page: PdfPage, outer: Row, inner: Row, leading: float, neighbours: Sequence[PdfPage]) -> bool:
    lines = page.lines
    if any(_runs_on(page, index, other) for other in neighbours for index in outer):
        return True
    if not leading or abs(lines[outer[0]].middle - lines[inner[0]].middle) < _SET_APART * leading:
        return False
    if all(_NUMBER.fullmatch(page.text, lines[index].start, lines[index].end) for index in outer):
        return True
    return any(_is_set_apart_on(other, lines[outer[0]].middle, leading) for other in neighbours)


def _runs_on(page: PdfPage, index: int, other: PdfPage) -> bool:
    """Return whether *other* has a line at the height of this one that says the same, or counts on."""
    start, end, _, bottom, _, top = page.lines[index]
    text = page.text[start:end]
    twins = zip(other.lines.starts, other.lines.ends, other.lines.bottoms, other.lines.tops, strict=True)
    return any(
        _same(text, other.text[twin_start:twin_end], other.number - page.number)
        for twin_start, twin_end, twin_bottom, twin_top in twins
        if -_SAME_HEIGHT < twin_bottom - bottom < _SAME_HEIGHT and abs(twin_top - top) < _SAME_HEIGHT
    )


def _same(text: str, other: str, pages_apart: int) -> bool:
    """Return whether two lines are the same running head on pages so far apart.

    >>> _same("Annual report 12", "Annual report 13", 1), _same("ark:/12345/x5", "ark:/12345/x9", 1)
    (True, False)
    """
    pieces, others = _DIGITS.split(text.strip()), _DIGITS.split(other.strip())
    if len(pieces) != len(others) or pieces[::2] != others[::2]:
        return False
    counted = zip(pieces[1::2], others[1::2], strict=True)
    return all(mine == theirs or int(theirs) - int(mine) == pages_apart for mine, theirs in counted)


def _is_set_apart_on(page: PdfPage, middle: float, leading: float) -> bool:
    """Return whether the outermost line of *page* at this height is set apart there as well."""
    rows = [page.lines[row[0]].middle for row in _rows(page.lines)]
    edges = [(rows[0], rows[1]), (rows[-1], rows[-2])] if len(rows) > 1 else []
    return any(
        abs(outer - middle) < _SAME_HEIGHT and abs(outer - inner) >= _SET_APART * leading for outer, inner in edges
    )
