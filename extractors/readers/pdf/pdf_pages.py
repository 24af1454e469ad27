"""One page of a PDF as PDFium sees it: its text, the links over it, and comments; geometry only where it matters."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple, TypeVar

import pypdfium2.raw as pdfium
import regex
from pypdfium2 import PdfDocument, PdfTextPage
from pypdfium2 import PdfPage as PdfiumPage

from extractors.mentions.label_spellings import may_hold_ark
from extractors.readers.pdf.annotations import Link, comments_of, links_of
from extractors.readers.pdf.geometry import (
    NO_LINES,
    ZERO_WIDTH_SPACE,
    Glyphs,
    Line,
    Lines,
    Rows,
    lines_of,
    rooms_of,
    without_false_breaks,
)
from extractors.readers.pdf.open_ends import open_lines
from extractors.readers.pdf.right_to_left import is_right_to_left, ordered
from extractors.readers.pdf.spacing import corrections

# The cells of tables on a PDF page: after the last line of one, another begins, and no name goes on there.


_SLACK = 1.0  # points
_WIDE_GAP = 1.2  # heights of the font: no blank in a line is as wide, not even in narrow justified columns
_MARK_GAP = 0.5  # heights of the font: a raised mark is nearer
_CHAR_WIDTH = 0.5  # of the height of the font, at least: lines of narrow letters end before a wide one
_FEWEST_RETURNS = 2
_FEWEST_LINES = 3  # that begin at one left, for their right edge to be known


class _LineCell(NamedTuple):
    """The part of a line that is in one cell."""

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
    """Return where the lines of a column of cells end at most, one that reaches into the next cell apart."""
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
        near = sorted(
            {near_index for index in self._wanted for near_index in (index, index + 1) if near_index < len(lines)}
        )
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
        """Return whether one line is next to the other rather than beneath it."""
        cell, other = self._cells[index][-1], self._cells[following][0]
        if other.right <= cell.left + _SLACK:
            return True
        height = self._lines[index].height
        is_beside = abs(self._lines[index].middle - self._lines[following].middle) < height
        return other.left >= cell.right - _SLACK and not (is_beside and other.left - cell.right < _MARK_GAP * height)

    def _cells_of(self, line: Line) -> list[_LineCell]:
        """Return the parts of *line*: between them is more space than a blank takes."""
        blanks = [at for at in range(line.start + 1, line.end - 1) if self._text[at] == " "]
        lefts, _, _, _ = self._glyphs.all_corners([at + 1 for at in blanks])
        _, _, rights, _ = self._glyphs.all_corners([at - 1 for at in blanks])
        cells, start, left = [], line.start, line.left
        for at, right, next_left in zip(blanks, rights, lefts, strict=True):
            if next_left - right > _WIDE_GAP * line.height:
                cells.append(_LineCell(start, at, left, right))
                start, left = at + 1, next_left
        return [*cells, _LineCell(start, line.end, left, line.right)]


Part = TypeVar("Part")

#: Where a label may end: its k, and a colon in one of its spellings.
_LABEL = regex.compile(r"[kK\uFF2B\uFF4B](?=[^\p{L}\p{N}]{0,8}?(?:[:\uFF1A]|%3[aA]))")
_WORD_END = regex.compile(r"(?<=[^\s\uFFFE]) +(?=\S)")  # in a line, not next to its end
_SET_APART = 1.4  # times the height of a line
_LINES_BEFORE_LABEL = 2  # of a resolver
_LINES_FROM_LABEL = 8
_LABEL_CHARS = 8  # blanks within so many don't end a word
_MOST_LABELS = 2_000

_FIRST_OBJECTS = 100
MOST_OBJECTS = 300_000
MOST_CHARS = 2_000_000


class TooMuch(Exception):
    """A page that would cost more than any page is worth."""


@dataclass(frozen=True, slots=True)
class PdfPage:
    """The content of a page; offsets are code points in its text."""

    number: int
    text: str
    links: tuple[Link, ...] = ()
    comments: tuple[tuple[str, str], ...] = ()
    """Kind and text of other annotations."""
    lines: Lines = NO_LINES
    """Only where they may matter: around labels, and after a page that may go on."""
    line_slack: tuple[tuple[int, float], ...] = ()
    has_cells: bool = False
    """True if the text continues in another cell of a table somewhere near a label."""
    seams: tuple[int, ...] = ()
    """Where spaces were put right, or are doubtful."""
    font_sizes: tuple[float, ...] = ()
    """Of each line, where this page or the page before it may go on on the next."""
    may_go_on: bool = False
    is_recognized: bool = False
    """True if its text lies unseen over a picture, as programs put it there that recognize text (OCR)."""
    is_picture: bool = False
    """True if something is drawn on it, and none of it is text."""
    faults: tuple[str, ...] = ()
    """Which parts of it could not be read, and why."""


def plain(page: PdfPage) -> PdfPage:
    """Return *page* as if nothing were known of where its text is."""
    return PdfPage(page.number, page.text, tuple(link._replace(ranges=()) for link in page.links), page.comments)


class _Parts:
    """Reads the parts of a page, each on its own: what is wrong with one must not take the others with it."""

    def __init__(self) -> None:
        self.faults: list[str] = []

    def read(self, name: str, work: Callable[[], Part], without: Part) -> Part:
        """Return what *work* gives, or *without* where it fails, for whatever reason.

        Raises `TooMuch` and MemoryError.
        """
        try:
            return work()
        except (MemoryError, TooMuch):
            raise
        except Exception as error:
            self.faults.append(f"{name}: {type(error).__name__}")
            return without


def read_page(document: PdfDocument, number: int, *, continues: bool) -> PdfPage:
    """The page with this *number*, counted from 1; *continues* is whether the page before it may go on on it.

    Raises what PDFium and its bindings raise over a page that can't be opened, and `TooMuch`.
    """
    parts = _Parts()
    with closing(document[number - 1]) as page:
        if pdfium.FPDFPage_CountObjects(page) > MOST_OBJECTS:
            raise TooMuch(f"more than {MOST_OBJECTS} objects")
        nothing: list[Link] = []
        annotations = parts.read("links", lambda: list(links_of(document, page)), nothing)
        none: list[tuple[str, str]] = []
        comments = parts.read("comments", lambda: list(comments_of(page, len(annotations))), none)
        links = tuple(link for link in annotations if link.uri.strip())
        read = PdfPage(number, "", links, tuple(comments))
        read = parts.read("text", lambda: _with_text(page, read, parts, continues=continues), read)
    return replace(read, faults=tuple(parts.faults))


def _with_text(page: PdfiumPage, read: PdfPage, parts: _Parts, *, continues: bool) -> PdfPage:
    """*read* with its text, and with geometry where that may matter and can be had."""
    with closing(page.get_textpage()) as text_page:
        text = _text(text_page)
        is_picture = not text.strip() and _has_drawing(page)
        read = replace(read, text=text, is_picture=is_picture)
        if is_right_to_left(text):
            return parts.read("geometry", lambda: _from_right_to_left(read, text_page), read)
        open_ends = open_lines(text)
        labels = [label.start() for label in _LABEL.finditer(text)][:_MOST_LABELS]
        ark_links = {link.uri for link in read.links if may_hold_ark(link.uri)}
        if not (labels or ark_links or continues or open_ends):
            return read
        read = replace(read, is_recognized=_is_unseen(page))

        def with_geometry() -> PdfPage:
            glyphs = Glyphs.of(text_page, text)
            if glyphs is None:
                return read
            shown, lines = text, lines_of(text, glyphs)
            if ZERO_WIDTH_SPACE in text:
                shown = without_false_breaks(text, lines)
                lines = lines_of(shown, glyphs)
            may_go_on = any(_may_end(lines, after) for after in open_ends)
            sizes = tuple(map(glyphs.font_size, lines.starts)) if continues or may_go_on else ()
            placed = replace(read, text=shown, lines=lines, font_sizes=sizes, may_go_on=may_go_on)
            return _with_geometry(placed, labels, ark_links, glyphs)

        return parts.read("geometry", with_geometry, read)


def _from_right_to_left(read: PdfPage, text_page: PdfTextPage) -> PdfPage:
    """*read* with its text in the order in which it is read, from right to left."""
    glyphs = Glyphs.of(text_page, read.text)
    if glyphs is None:
        return read
    in_order = ordered(read.text, lines_of(read.text, glyphs), glyphs)
    links = (link._replace(ranges=in_order.under(link.box)) if link.box else link for link in read.links)
    return replace(read, text=in_order.text, line_slack=in_order.line_slack, links=tuple(links))


def _has_drawing(page: PdfiumPage) -> bool:
    """Return whether anything but text is among the first objects of a page."""
    count = min(pdfium.FPDFPage_CountObjects(page), _FIRST_OBJECTS)
    types = (pdfium.FPDFPageObj_GetType(pdfium.FPDFPage_GetObject(page, index)) for index in range(count))
    return any(type_ != pdfium.FPDF_PAGEOBJ_TEXT for type_ in types)


def _is_unseen(page: PdfiumPage) -> bool:
    """Return whether the first text of a page is drawn in no way."""
    count = min(pdfium.FPDFPage_CountObjects(page), _FIRST_OBJECTS)
    objects = (pdfium.FPDFPage_GetObject(page, index) for index in range(count))
    texts = (
        page_object for page_object in objects if pdfium.FPDFPageObj_GetType(page_object) == pdfium.FPDF_PAGEOBJ_TEXT
    )
    first = next(texts, None)
    return first is not None and pdfium.FPDFTextObj_GetTextRenderMode(first) == pdfium.FPDF_TEXTRENDERMODE_INVISIBLE


def _may_end(lines: Lines, after: int) -> bool:
    """Return whether the text of a page may end *after* lines before its last: what follows is not simply the next
    line.
    """
    if not 0 < after < len(lines):
        return after == 0
    line, following = lines[-after - 1], lines[-after]
    return not 0 < line.bottom - following.bottom < _SET_APART * line.height


def _with_geometry(page: PdfPage, labels: Sequence[int], ark_links: set[str], glyphs: Glyphs) -> PdfPage:
    """*page* with the slack in its lines and the text under its links, and with its spaces put right."""
    text, lines, links = page.text, page.lines, page.links
    if ark_links:
        rows = Rows(text, lines, glyphs)
        links = tuple(
            link._replace(ranges=tuple(rows.under(link.box))) if link.box and link.uri in ark_links else link
            for link in links
        )
    if not labels:
        return replace(page, links=links)
    wrong = corrections(text, labels, lines, glyphs)
    table = CellTable(text, lines, glyphs, _near(text, labels, lines)) if is_table_like(lines) else None
    if wrong:
        moved = wrong.moved
        text, lines, labels = wrong.applied(text), lines.moved(moved), [moved(label) for label in labels]
        links = tuple(link._replace(ranges=tuple((moved(a), moved(b)) for a, b in link.ranges)) for link in links)
    placed = replace(page, text=text, links=links, lines=lines, seams=wrong.seams)
    if table is None:
        return replace(placed, line_slack=rooms_of(lines, _near(text, labels, lines)))
    line_slack = tuple((wrong.moved(end), slack) for end, slack in table.line_slack())
    return replace(placed, line_slack=line_slack, has_cells=table.has_cells_beside())


def _near(text: str, labels: Iterable[int], lines: Lines) -> list[bool]:
    """Return which lines end in a word with a label, or in one that leads up to it."""
    near = [False] * len(lines)
    for label in labels:
        at = bisect_right(lines.starts, label) - 1
        space = _WORD_END.search(text, label + _LABEL_CHARS)
        stop = bisect_right(lines.starts, space.start()) - 1 if space else len(lines)
        for index in range(max(0, at - _LINES_BEFORE_LABEL), min(stop, at + _LINES_FROM_LABEL)):
            near[index] = True
    return near


def _text(text_page: PdfTextPage) -> str:
    """All text, up to what a page can hold."""
    return str(text_page.get_text_range(0, min(text_page.count_chars(), MOST_CHARS)))
