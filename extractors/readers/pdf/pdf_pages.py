"""One page of a PDF: its text, links and comments by PDFium, with geometry only where it matters."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, pairwise
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

import pypdfium2.raw as pdfium
import regex
from pypdfium2 import PdfDocument, PdfTextPage
from pypdfium2 import PdfPage as PdfiumPage

from extractors.mentions.open_ends import open_lines
from extractors.mentions.possible_labels import may_hold_ark
from extractors.model.decoding import decode
from extractors.readers.pdf.geometry import (
    ZERO_WIDTH_SPACE,
    Box,
    Glyphs,
    Line,
    Lines,
    Rows,
    is_right_to_left,
    line_at,
    line_slack_of,
    lines_of,
    order_text,
    without_false_breaks,
)
from extractors.readers.pdf.reading_order import in_reading_order
from extractors.readers.pdf.spacing import Spacing, with_drawn_underscores

# The annotations of a page: links with their rectangles, comments, and values of form fields.

_MOST_LINKS = 10_000
_MOST_COMMENTS = 1_000
_COMMENT_KEYS = {b"Contents": "comment", b"V": "field"}


class Link(NamedTuple):
    """A link annotation: a link over several lines has one for each, each with the whole URI."""

    uri: str
    box: Box | None
    ranges: tuple[tuple[int, int], ...]
    """The text under it, if known."""

    @property
    def place(self) -> str:
        return "rect:" + ",".join(f"{corner:z.0f}" for corner in self.box) if self.box else ""


def links_of(document: PdfDocument, page: PdfiumPage) -> Iterator[Link]:
    """Yield the link annotations of a page; a link inside the document has an empty URI."""
    position, link, corners = ctypes.c_int(0), pdfium.FPDF_LINK(), pdfium.FS_RECTF()
    for _ in range(_MOST_LINKS):
        if not pdfium.FPDFLink_Enumerate(page, position, link):
            return
        action = pdfium.FPDFLink_GetAction(link)
        uri, box = "", None
        if action and pdfium.FPDFAction_GetType(action) == pdfium.PDFACTION_URI:
            size = pdfium.FPDFAction_GetURIPath(document, action, None, 0)
            buffer = ctypes.create_string_buffer(size)
            pdfium.FPDFAction_GetURIPath(document, action, buffer, size)
            written: bytes = buffer.raw[: size - 1]
            # ASCII by the standard; UTF-8, UTF-16 or windows-1252 in practice.
            uri = written.decode("ascii") if written.isascii() and b"\0" not in written else decode(written).text
            if pdfium.FPDFLink_GetAnnotRect(link, corners):
                box = Box(corners.left, corners.bottom, corners.right, corners.top)
        yield Link(uri, box, ())


def comments_of(page: PdfiumPage, links: int) -> Iterator[tuple[str, str]]:
    """Yield kind and text of annotations other than the page's *links* (their number): comments and form values.

    A form value may be that of the field's parent (ISO 32000-2, 12.7.4), which PDFium finds with a form environment.
    """
    count = pdfium.FPDFPage_GetAnnotCount(page)
    if count <= links:
        return
    for index in range(min(count, _MOST_COMMENTS)):
        annotation = pdfium.FPDFPage_GetAnnot(page, index)
        if not annotation:
            continue
        try:
            for key, kind in _COMMENT_KEYS.items():
                text = _string(partial(pdfium.FPDFAnnot_GetStringValue, annotation, key))
                if not text and kind == "field" and page.formenv is not None:
                    text = _string(partial(pdfium.FPDFAnnot_GetFormFieldValue, page.formenv, annotation))
                if text:
                    yield kind, text
        finally:
            pdfium.FPDFPage_CloseAnnot(annotation)


def _string(get: Callable[[Any, int], int]) -> str:
    """Return the text that PDFium writes into a buffer of a size, both given to *get*."""
    size = get(None, 0)
    buffer = (ctypes.c_ushort * (size // 2 + 1))()
    get(buffer, size)
    return bytes(buffer)[: max(0, size - 2)].decode("utf-16-le", "ignore").strip()


# The cells of tables on a PDF page: the line after a cell's last line is in another cell, where no name continues.


_SLACK = 1.0  # points
_WIDE_GAP = 1.2  # heights of the font: wider than any blank in a line, even in narrow justified columns
_MARK_GAP = 0.5  # heights of the font: the maximum distance of a raised mark
_CHAR_WIDTH = 0.5  # of the height of the font, at least, because lines of narrow letters end before a wide one
_FEWEST_RETURNS = 2
_FEWEST_LINES = 3  # with one left edge, for their right edge to be known


class _LineCell(NamedTuple):
    """The part of a line in one cell."""

    start: int
    end: int
    left: float
    right: float


def is_table_like(lines: Lines) -> bool:
    """Return True if the text repeatedly returns to the left and down, from the end of a row to the next.

    Columns of running text don't do this.
    """
    returns = (
        line.right <= last.left + _SLACK and line.bottom < last.bottom - _SLACK for last, line in pairwise(lines)
    )
    return sum(returns) >= _FEWEST_RETURNS


class CellTable:
    """The cells of a page with a table, around the *wanted* lines."""

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
        """Return True if the text after one of the wanted lines is in another cell."""
        return any(index + 1 in self._cells and self._is_elsewhere(index, index + 1) for index in self._wanted)

    def line_slack(self) -> tuple[tuple[int, float], ...]:
        """Return, for the wanted lines, the offset of the end and how many more characters fit in the cell."""
        rights: dict[int, list[float]] = {}
        for cells in self._cells.values():
            for cell in cells:
                rights.setdefault(round(cell.left), []).append(cell.right)
        line_slack = []
        for index in self._wanted:
            cell = self._cells[index][-1]
            alike = [right for left in (-1, 0, 1) for right in rights.get(round(cell.left) + left, ())]
            if len(alike) >= _FEWEST_LINES and cell.right > cell.left:
                width = max((cell.right - cell.left) / (cell.end - cell.start), _CHAR_WIDTH * self._lines[index].height)
                # The right edge of the column, ignoring a line that reaches into the next cell.
                ordered = sorted(alike, reverse=True)
                near = (right for right, third in zip(ordered, ordered[2:], strict=False) if right - third < 2 * width)
                line_slack.append((cell.end, round((next(near, ordered[0]) - cell.right) / width, 2)))
        return tuple(line_slack)

    def _is_elsewhere(self, index: int, following: int) -> bool:
        """Return True if line *following* is next to line *index*, not below it."""
        cell, after = self._cells[index][-1], self._cells[following][0]
        if after.right <= cell.left + _SLACK:
            return True
        height = self._lines[index].height
        is_beside = abs(self._lines[index].middle - self._lines[following].middle) < height
        return after.left >= cell.right - _SLACK and not (is_beside and after.left - cell.right < _MARK_GAP * height)

    def _cells_of(self, line: Line) -> list[_LineCell]:
        """Return the parts of *line*, separated by more space than a blank."""
        blanks = [at for at in range(line.start + 1, line.end - 1) if self._text[at] == " "]
        rights = self._glyphs.boxes(at - 1 for at in blanks)
        lefts = self._glyphs.boxes(at + 1 for at in blanks)
        cells, start, left = [], line.start, line.left
        for at, before, after in zip(blanks, rights, lefts, strict=True):
            if after.left - before.right > _WIDE_GAP * line.height:
                cells.append(_LineCell(start, at, left, before.right))
                start, left = at + 1, after.left
        return [*cells, _LineCell(start, line.end, left, line.right)]


Part = TypeVar("Part")

#: The possible end of a label: its k, before a colon in any spelling.
_LABEL = regex.compile(r"[kK\uFF2B\uFF4B](?=[^\p{L}\p{N}]{0,8}?(?:[:\uFF1A]|%3[aA]))")
_WORD_END = regex.compile(r"(?<=[^\s\uFFFE]) +(?=\S)")  # in a line, not next to its end
_SET_APART = 1.4  # times the height of a line
_LINES_BEFORE_LABEL = 2  # of a resolver
_LINES_FROM_LABEL = 8
_LABEL_CHARS = 8  # blanks within this distance don't end a word
_MOST_LABELS = 2_000

#: Common words in the languages of most documents that cite ARKs.
_COMMON_WORD = re.compile(r"\b(?:and|d[aei]|de[nrst]|e[lnt]|i[nst]|l[aei]|l[eo]s|o[fn]|que|the|to|und)\b")
_COMMON_SHARE = 0.03
_SAMPLE = 200  # characters

_FIRST_OBJECTS = 100
_MOST_STROKES = 500
#: Points: a drawn underscore.
_THIN, _SHORT = 1.5, 8
MOST_OBJECTS = 300_000
MOST_CHARS = 2_000_000


class PageTooLarge(Exception):
    """Raised for a page over the limits of objects."""


@dataclass(frozen=True, slots=True)
class PdfPage:
    """The content of a page; offsets are code points in its text."""

    number: int
    text: str
    links: tuple[Link, ...] = ()
    comments: tuple[tuple[str, str], ...] = ()
    """Kind and text of other annotations."""
    lines: Lines = ()
    """Only where they matter: around labels, and after a page that may continue."""
    line_slack: tuple[tuple[int, float], ...] = ()
    has_cells: bool = False
    """True if the text near a label continues in another cell of a table."""
    seams: tuple[int, ...] = ()
    """Offsets of corrected or doubtful spaces."""
    font_sizes: tuple[float, ...] = ()
    """For each line, if this page or the page before it may continue on the next."""
    may_go_on: bool = False
    is_recognized: bool = False
    """True if its text is invisible over a picture, as text recognition (OCR) puts it there."""
    is_picture: bool = False
    """True if something is drawn on it, but no text."""
    is_garbled: bool = False
    """True if its fonts don't map their glyphs to characters, so that its text is useless."""
    faults: tuple[str, ...] = ()
    """The parts of it that could not be read, with reasons."""


def without_geometry(page: PdfPage) -> PdfPage:
    """Return *page* without geometry."""
    return PdfPage(page.number, page.text, tuple(link._replace(ranges=()) for link in page.links), page.comments)


def attempt(faults: list[str], name: str, work: Callable[[], Part], without: Part) -> Part:
    """Return the result of *work*; if it fails, add the failure to *faults* and return *without*.

    A fault in one part of a document must not affect the others. Raises `PageTooLarge` and MemoryError.
    """
    try:
        return work()
    except (MemoryError, PageTooLarge):
        raise
    except Exception as error:
        faults.append(f"{name}: {type(error).__name__}")
        return without


def read_page(document: PdfDocument, number: int, *, continues: bool) -> PdfPage:
    """Return the page with this *number*, from 1; *continues* is True if the page before it may continue on it.

    Raises errors of PDFium and its bindings for a page that can't be opened, and `PageTooLarge`.
    """
    faults: list[str] = []
    with closing(document[number - 1]) as page:
        if pdfium.FPDFPage_CountObjects(page) > MOST_OBJECTS:
            raise PageTooLarge(f"more than {MOST_OBJECTS} objects")
        nothing: list[Link] = []
        annotations = attempt(faults, "links", lambda: list(links_of(document, page)), nothing)
        none: list[tuple[str, str]] = []
        comments = attempt(faults, "comments", lambda: list(comments_of(page, len(annotations))), none)
        links = tuple(link for link in annotations if link.uri.strip())
        read = PdfPage(number, "", links, tuple(comments))
        read = attempt(faults, "text", lambda: _with_text(page, read, faults, continues=continues), read)
    return replace(read, faults=tuple(faults))


def _with_text(page: PdfiumPage, read: PdfPage, faults: list[str], *, continues: bool) -> PdfPage:
    """Return *read* with its text, and with geometry if it may matter and is available."""
    with closing(page.get_textpage()) as text_page:
        text = _text(text_page)
        is_picture = not text.strip() and not all(is_text for _, is_text in _first_objects(page))
        read = replace(read, text=text, is_picture=is_picture, is_garbled=_is_garbled(text, text_page))
        if is_right_to_left(text):
            return attempt(faults, "geometry", lambda: _from_right_to_left(read, text_page), read)
        open_ends = open_lines(text)
        labels = _labels_in(text)
        ark_links = {link.uri for link in read.links if may_hold_ark(link.uri)}
        if not (labels or ark_links or continues or open_ends):
            return read
        read = replace(read, is_recognized=_is_invisible(page))

        def with_geometry() -> PdfPage:
            glyphs = Glyphs.from_page(text_page, text)
            if glyphs is None:
                return read
            glyphs.look_for_turns(labels)
            shown, glyphs = in_reading_order(text, labels, glyphs)
            lines = lines_of(shown, glyphs)
            if ZERO_WIDTH_SPACE in text:
                shown = without_false_breaks(shown, lines)
                lines = lines_of(shown, glyphs)
            labels_shown = labels if shown is text else _labels_in(shown)
            if labels_shown:
                shown = with_drawn_underscores(shown, labels_shown, lines, glyphs, _short_strokes(page))
            may_go_on = any(_may_end(lines, after) for after in open_ends)
            sizes = tuple(glyphs.font_size(line.start) for line in lines) if continues or may_go_on else ()
            placed = replace(read, text=shown, lines=lines, font_sizes=sizes, may_go_on=may_go_on)
            return _with_geometry(placed, labels_shown, ark_links, glyphs)

        return attempt(faults, "geometry", with_geometry, read)


def _labels_in(text: str) -> list[int]:
    return [label.start() for label in islice(_LABEL.finditer(text), _MOST_LABELS)]


def _is_garbled(text: str, text_page: PdfTextPage) -> bool:
    """Return True if PDFium has no characters for most glyphs, and few words of *text* are common words.

    The fonts of old TeX have no mapping either, but number most letters as in ASCII.
    """
    if len(_COMMON_WORD.findall(text)) > _COMMON_SHARE * len(text.split()) or _LABEL.search(text):
        return False
    sample = range(0, text_page.count_chars(), 1 + text_page.count_chars() // _SAMPLE)
    unmapped = sum(pdfium.FPDFText_HasUnicodeMapError(text_page, index) == 1 for index in sample)
    return bool(2 * unmapped > len(sample))


def _from_right_to_left(read: PdfPage, text_page: PdfTextPage) -> PdfPage:
    """Return *read* with its text in reading order, from right to left."""
    glyphs = Glyphs.from_page(text_page, read.text)
    if glyphs is None:
        return read
    in_order = order_text(read.text, lines_of(read.text, glyphs), glyphs)
    links = (link._replace(ranges=in_order.under(link.box)) if link.box else link for link in read.links)
    return replace(read, text=in_order.text, line_slack=in_order.line_slack, links=tuple(links))


def _first_objects(page: PdfiumPage) -> Iterator[tuple[Any, bool]]:
    """Yield the first objects of a page, each with True if it is text."""
    for index in range(min(pdfium.FPDFPage_CountObjects(page), _FIRST_OBJECTS)):
        drawn = pdfium.FPDFPage_GetObject(page, index)
        yield drawn, pdfium.FPDFPageObj_GetType(drawn) == pdfium.FPDF_PAGEOBJ_TEXT


def _short_strokes(page: PdfiumPage) -> list[Box]:
    """Return the boxes of the first thin lines that are as short as a letter, from the lowest."""
    strokes: list[Box] = []
    edges = tuple(ctypes.c_float() for _ in range(4))
    for index in range(pdfium.FPDFPage_CountObjects(page)):
        drawn = pdfium.FPDFPage_GetObject(page, index)
        if pdfium.FPDFPageObj_GetType(drawn) == pdfium.FPDF_PAGEOBJ_PATH:
            pdfium.FPDFPageObj_GetBounds(drawn, *edges)
            box = Box(*(edge.value for edge in edges))
            if box.height < _THIN and box.right - box.left < _SHORT:
                strokes.append(box)
        if len(strokes) == _MOST_STROKES:
            break
    return sorted(strokes, key=attrgetter("bottom"))


def _is_invisible(page: PdfiumPage) -> bool:
    """Return True if the first text of a page is invisible."""
    first = next((drawn for drawn, is_text in _first_objects(page) if is_text), None)
    invisible = pdfium.FPDF_TEXTRENDERMODE_INVISIBLE
    return first is not None and bool(pdfium.FPDFTextObj_GetTextRenderMode(first) == invisible)


def _may_end(lines: Lines, after: int) -> bool:
    """Return True if the text of a page may end *after* lines before its last line: the next line is set apart."""
    if not 0 < after < len(lines):
        return after == 0
    line, following = lines[-after - 1], lines[-after]
    return not 0 < line.bottom - following.bottom < _SET_APART * line.height


def _with_geometry(page: PdfPage, labels: Sequence[int], ark_links: set[str], glyphs: Glyphs) -> PdfPage:
    """Return *page* with the slack in its lines, the text under its links, and corrected spaces."""
    text, lines, links = page.text, page.lines, page.links
    if ark_links:
        rows = Rows(text, lines, glyphs)
        links = tuple(
            link._replace(ranges=tuple(span for turn in glyphs.turns for span in rows.under(link.box.turn(turn))))
            if link.box and link.uri in ark_links
            else link
            for link in links
        )
    if not labels:
        return replace(page, links=links)
    wrong = Spacing(text, labels, lines, glyphs).corrections()
    table = CellTable(text, lines, glyphs, _near(text, labels, lines)) if is_table_like(lines) else None
    if wrong:
        moved = wrong.new_offset
        text, labels = wrong.apply(text), [moved(label) for label in labels]
        lines = [line._replace(start=moved(line.start), end=moved(line.end)) for line in lines]
        links = tuple(link._replace(ranges=tuple((moved(a), moved(b)) for a, b in link.ranges)) for link in links)
    placed = replace(page, text=text, links=links, lines=lines, seams=wrong.seams)
    if table is None:
        return replace(placed, line_slack=line_slack_of(lines, _near(text, labels, lines)))
    line_slack = tuple((wrong.new_offset(end), chars) for end, chars in table.line_slack())
    return replace(placed, line_slack=line_slack, has_cells=table.has_cells_beside())


def _near(text: str, labels: Iterable[int], lines: Lines) -> list[bool]:
    """Return, for each line, True if it ends in a word with a label, or leads up to one."""
    near = [False] * len(lines)
    for label in labels:
        at = line_at(lines, label)
        space = _WORD_END.search(text, label + _LABEL_CHARS)
        stop = line_at(lines, space.start()) if space else len(lines)
        for index in range(max(0, at - _LINES_BEFORE_LABEL), min(stop, at + _LINES_FROM_LABEL)):
            near[index] = True
    return near


def _text(text_page: PdfTextPage) -> str:
    """Return all text, up to the limit for a page."""
    return str(text_page.get_text_range(0, min(text_page.count_chars(), MOST_CHARS)))
