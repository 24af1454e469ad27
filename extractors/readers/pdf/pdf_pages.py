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

from extractors.mentions.open_ends import lines_after_open_ends
from extractors.mentions.possible_labels import may_hold_ark
from extractors.model.decoding import decode
from extractors.readers.pdf.geometry import (
    SLACK,
    ZERO_WIDTH_SPACE,
    Box,
    Glyphs,
    Line,
    Lines,
    Rows,
    is_right_to_left,
    line_index_at,
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
    """A link annotation; a link over several lines has an annotation with the whole URI for each line."""

    uri: str
    box: Box | None
    ranges: tuple[tuple[int, int], ...]
    """The ranges of the page's text under it; empty if not determined."""

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
            raw_uri: bytes = buffer.raw[: size - 1]
            # ASCII by the standard; UTF-8, UTF-16 or windows-1252 in practice.
            uri = raw_uri.decode("ascii") if raw_uri.isascii() and b"\0" not in raw_uri else decode(raw_uri).text
            if pdfium.FPDFLink_GetAnnotRect(link, corners):
                box = Box(corners.left, corners.bottom, corners.right, corners.top)
        yield Link(uri, box, ())


def comments_of(page: PdfiumPage, link_count: int) -> Iterator[tuple[str, str]]:
    """Yield kind (``comment``, ``field``) and text of annotations other than the *link_count* links of *page*.

    A form value may be that of the field's parent (ISO 32000-2, 12.7.4), which PDFium finds with a form environment.
    """
    count = pdfium.FPDFPage_GetAnnotCount(page)
    if count <= link_count:
        return
    for index in range(min(count, _MOST_COMMENTS)):
        annotation = pdfium.FPDFPage_GetAnnot(page, index)
        if not annotation:
            continue
        try:
            for key, kind in _COMMENT_KEYS.items():
                text = _read_string(partial(pdfium.FPDFAnnot_GetStringValue, annotation, key))
                if not text and kind == "field" and page.formenv is not None:
                    text = _read_string(partial(pdfium.FPDFAnnot_GetFormFieldValue, page.formenv, annotation))
                if text:
                    yield kind, text
        finally:
            pdfium.FPDFPage_CloseAnnot(annotation)


def _read_string(fill_buffer: Callable[[Any, int], int]) -> str:
    """Return the text that *fill_buffer*, given a buffer and its size, writes there; it returns the size needed."""
    size = fill_buffer(None, 0)
    buffer = (ctypes.c_ushort * (size // 2 + 1))()
    fill_buffer(buffer, size)
    return bytes(buffer)[: max(0, size - 2)].decode("utf-16-le", "ignore").strip()


# The cells of tables on a PDF page: the line after a cell's last line is in another cell, where no name continues.


_WIDE_GAP = 1.2  # heights of the font: wider than any blank in a line, even in narrow justified columns
_MARK_GAP = 0.5  # heights of the font: the maximum distance of a raised mark
_CHAR_WIDTH = 0.5  # of the height of the font, at least, because lines of narrow letters end before a wide one
_FEWEST_RETURNS = 2
_FEWEST_LINES = 3  # with one left edge, for their right edge to be known


class _LineCell(NamedTuple):
    """The part of a line in one cell, with offsets in the text, and edges in points."""

    start: int
    end: int
    left: float
    right: float


def is_table_like(lines: Lines) -> bool:
    """Return True if *lines* repeatedly go on lower and wholly at the left, as after the last cell of a table's row.

    Columns of running text do so too rarely to count.
    """
    line_returns = (
        line.right <= previous_line.left + SLACK and line.bottom < previous_line.bottom - SLACK
        for previous_line, line in pairwise(lines)
    )
    return sum(line_returns) >= _FEWEST_RETURNS


class CellTable:
    """The cells of a page with a table, in and after the lines whose *is_wanted* is True."""

    def __init__(self, text: str, lines: Lines, glyphs: Glyphs, is_wanted: Sequence[bool]) -> None:
        self._text = text
        self._lines = lines
        self._glyphs = glyphs
        self._wanted_indexes = [index for index, flag in enumerate(is_wanted) if flag]
        near_indexes = sorted(
            {
                near_index
                for index in self._wanted_indexes
                for near_index in (index, index + 1)
                if near_index < len(lines)
            }
        )
        self._cells = {index: self._cells_of(lines[index]) for index in near_indexes}

    def has_cells_beside(self) -> bool:
        """Return True if the text after one of the wanted lines is in another cell."""
        return any(
            index + 1 in self._cells and self._is_in_other_cell(index, index + 1) for index in self._wanted_indexes
        )

    def line_slack(self) -> tuple[tuple[int, float], ...]:
        """Return the end offset of each wanted line, and how many further characters fit in its last cell.

        Lines without enough similar cells are left out.
        """
        right_edges: dict[int, list[float]] = {}
        for cells in self._cells.values():
            for cell in cells:
                right_edges.setdefault(round(cell.left), []).append(cell.right)
        line_slack = []
        for index in self._wanted_indexes:
            cell = self._cells[index][-1]
            similar_edges = [edge for left in (-1, 0, 1) for edge in right_edges.get(round(cell.left) + left, ())]
            if len(similar_edges) >= _FEWEST_LINES and cell.right > cell.left:
                width = max((cell.right - cell.left) / (cell.end - cell.start), _CHAR_WIDTH * self._lines[index].height)
                # The right edge of the column, ignoring a line that reaches into the next cell.
                sorted_edges = sorted(similar_edges, reverse=True)
                near_edges = (
                    edge
                    for edge, third_edge in zip(sorted_edges, sorted_edges[2:], strict=False)
                    if edge - third_edge < 2 * width
                )
                line_slack.append((cell.end, round((next(near_edges, sorted_edges[0]) - cell.right) / width, 2)))
        return tuple(line_slack)

    def _is_in_other_cell(self, index: int, next_index: int) -> bool:
        """Return True if line *next_index* is at the side of the last cell of line *index*, not below it."""
        cell, next_cell = self._cells[index][-1], self._cells[next_index][0]
        if next_cell.right <= cell.left + SLACK:
            return True
        height = self._lines[index].height
        is_beside = abs(self._lines[index].middle - self._lines[next_index].middle) < height
        return next_cell.left >= cell.right - SLACK and not (
            is_beside and next_cell.left - cell.right < _MARK_GAP * height
        )

    def _cells_of(self, line: Line) -> list[_LineCell]:
        """Return the parts of *line* between gaps that are wider than any blank."""
        blanks = [blank for blank in range(line.start + 1, line.end - 1) if self._text[blank] == " "]
        previous_boxes = self._glyphs.boxes(blank - 1 for blank in blanks)
        next_boxes = self._glyphs.boxes(blank + 1 for blank in blanks)
        cells, start, left = [], line.start, line.left
        for blank, previous_box, next_box in zip(blanks, previous_boxes, next_boxes, strict=True):
            if next_box.left - previous_box.right > _WIDE_GAP * line.height:
                cells.append(_LineCell(start, blank, left, previous_box.right))
                start, left = blank + 1, next_box.left
        return [*cells, _LineCell(start, line.end, left, line.right)]


Result = TypeVar("Result")

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
_SAMPLE_CHARS = 200

_FIRST_OBJECTS = 100
_MOST_STROKES = 500
#: Points: a drawn underscore.
_MOST_STROKE_HEIGHT, _MOST_STROKE_WIDTH = 1.5, 8
MOST_OBJECTS = 300_000
MOST_CHARS = 2_000_000


class PageTooLarge(Exception):
    """Raised for a page with more than `MOST_OBJECTS` objects."""


@dataclass(frozen=True, slots=True)
class PdfPage:
    """The content of a page; offsets are code points in its text."""

    number: int
    text: str
    links: tuple[Link, ...] = ()
    comments: tuple[tuple[str, str], ...] = ()
    """Kind and text of other annotations."""
    lines: Lines = ()
    """The lines, if the page has a label or may continue, or follows a page that may continue; else empty."""
    line_slack: tuple[tuple[int, float], ...] = ()
    """As `Block.line_slack`."""
    has_cells: bool = False
    """True if the text near a label continues in another cell of a table."""
    seams: tuple[int, ...] = ()
    """Offsets of corrected or doubtful spaces."""
    font_sizes: tuple[float, ...] = ()
    """For each line, if this page or the page before it may continue on the next."""
    may_continue: bool = False
    """True if an ARK at its end may continue on the next page."""
    is_recognized: bool = False
    """True if its text is invisible over a picture, as text recognition (OCR) puts it there."""
    is_picture: bool = False
    """True if something is drawn on it, but no text."""
    is_garbled: bool = False
    """True if its fonts don't map their glyphs to characters, so that its text is useless."""
    faults: tuple[str, ...] = ()
    """The parts of it that could not be read, with reasons."""


def without_geometry(page: PdfPage) -> PdfPage:
    """Return *page* with its text, link targets and comments only."""
    return PdfPage(page.number, page.text, tuple(link._replace(ranges=()) for link in page.links), page.comments)


def attempt(faults: list[str], name: str, work: Callable[[], Result], fallback: Result) -> Result:
    """Return the result of *work*; if it fails, add a message with its *name* to *faults* and return *fallback*.

    A fault in one part of a document must not affect the others. Raises `PageTooLarge` and MemoryError.
    """
    try:
        return work()
    except (MemoryError, PageTooLarge):
        raise
    except Exception as error:
        faults.append(f"{name}: {type(error).__name__}")
        return fallback


def read_page(document: PdfDocument, number: int, *, is_continuation: bool) -> PdfPage:
    """Return the page with this *number*, from 1; *is_continuation* is True if the previous page may continue there.

    Raises errors of PDFium and its bindings for a page that can't be opened, and `PageTooLarge`.
    """
    faults: list[str] = []
    with closing(document[number - 1]) as page:
        if pdfium.FPDFPage_CountObjects(page) > MOST_OBJECTS:
            raise PageTooLarge(f"more than {MOST_OBJECTS} objects")
        annotations = attempt(faults, "links", lambda: list(links_of(document, page)), list[Link]())
        comments = attempt(
            faults, "comments", lambda: list(comments_of(page, len(annotations))), list[tuple[str, str]]()
        )
        links = tuple(link for link in annotations if link.uri.strip())
        pdf_page = PdfPage(number, "", links, tuple(comments))
        pdf_page = attempt(
            faults, "text", lambda: _with_text(page, pdf_page, faults, is_continuation=is_continuation), pdf_page
        )
    return replace(pdf_page, faults=tuple(faults))


def _with_text(page: PdfiumPage, pdf_page: PdfPage, faults: list[str], *, is_continuation: bool) -> PdfPage:
    """Return *pdf_page* with its text; with geometry, too, if it has a label or an ARK link, or may span pages.

    *is_continuation* is that of `read_page`. Failures are added to *faults*.
    """
    with closing(page.get_textpage()) as text_page:
        text = _all_text(text_page)
        is_picture = not text.strip() and not all(is_text for _, is_text in _first_objects(page))
        pdf_page = replace(pdf_page, text=text, is_picture=is_picture, is_garbled=_is_garbled(text, text_page))
        if is_right_to_left(text):
            return attempt(faults, "geometry", lambda: _right_to_left_page(pdf_page, text_page), pdf_page)
        open_ends = lines_after_open_ends(text)
        labels = _labels_in(text)
        ark_links = {link.uri for link in pdf_page.links if may_hold_ark(link.uri)}
        if not (labels or ark_links or is_continuation or open_ends):
            return pdf_page
        pdf_page = replace(pdf_page, is_recognized=_is_invisible(page))

        def with_geometry() -> PdfPage:
            """Return the page with its text in reading order, and the positions of lines, labels and links."""
            glyphs = Glyphs.from_page(text_page, text)
            if glyphs is None:
                return pdf_page
            glyphs.find_turns(labels)
            ordered_text, glyphs = in_reading_order(text, labels, glyphs)
            lines = lines_of(ordered_text, glyphs)
            if ZERO_WIDTH_SPACE in text:
                ordered_text = without_false_breaks(ordered_text, lines)
                lines = lines_of(ordered_text, glyphs)
            ordered_labels = labels if ordered_text is text else _labels_in(ordered_text)
            if ordered_labels:
                ordered_text = with_drawn_underscores(ordered_text, ordered_labels, lines, glyphs, _short_strokes(page))
            may_continue = any(_may_text_end(lines, line_count) for line_count in open_ends)
            sizes = tuple(glyphs.font_size(line.start) for line in lines) if is_continuation or may_continue else ()
            page_with_lines = replace(
                pdf_page, text=ordered_text, lines=lines, font_sizes=sizes, may_continue=may_continue
            )
            return _with_geometry(page_with_lines, ordered_labels, ark_links, glyphs)

        return attempt(faults, "geometry", with_geometry, pdf_page)


def _labels_in(text: str) -> list[int]:
    return [label.start() for label in islice(_LABEL.finditer(text), _MOST_LABELS)]


def _is_garbled(text: str, text_page: PdfTextPage) -> bool:
    """Return True if PDFium has no characters for most glyphs, and few words of *text* are common words.

    A text with a label is never garbled. The fonts of old TeX have no mapping either, but number most letters as in
    ASCII, so that common words remain.
    """
    if len(_COMMON_WORD.findall(text)) > _COMMON_SHARE * len(text.split()) or _LABEL.search(text):
        return False
    sample = range(0, text_page.count_chars(), 1 + text_page.count_chars() // _SAMPLE_CHARS)
    unmapped_count = sum(pdfium.FPDFText_HasUnicodeMapError(text_page, index) == 1 for index in sample)
    return bool(2 * unmapped_count > len(sample))


def _right_to_left_page(pdf_page: PdfPage, text_page: PdfTextPage) -> PdfPage:
    """Return *pdf_page* with its text in reading order, from right to left."""
    glyphs = Glyphs.from_page(text_page, pdf_page.text)
    if glyphs is None:
        return pdf_page
    ordered_text = order_text(pdf_page.text, lines_of(pdf_page.text, glyphs), glyphs)
    links = (link._replace(ranges=ordered_text.ranges_under(link.box)) if link.box else link for link in pdf_page.links)
    return replace(pdf_page, text=ordered_text.text, line_slack=ordered_text.line_slack, links=tuple(links))


def _first_objects(page: PdfiumPage) -> Iterator[tuple[Any, bool]]:
    """Yield the first objects of a page, each with True if it is text."""
    for index in range(min(pdfium.FPDFPage_CountObjects(page), _FIRST_OBJECTS)):
        page_object = pdfium.FPDFPage_GetObject(page, index)
        yield page_object, pdfium.FPDFPageObj_GetType(page_object) == pdfium.FPDF_PAGEOBJ_TEXT


def _short_strokes(page: PdfiumPage) -> list[Box]:
    """Return the boxes of thin drawn lines of the length of a letter, from the lowest, up to a limit."""
    strokes: list[Box] = []
    edges = tuple(ctypes.c_float() for _ in range(4))
    for index in range(pdfium.FPDFPage_CountObjects(page)):
        page_object = pdfium.FPDFPage_GetObject(page, index)
        if pdfium.FPDFPageObj_GetType(page_object) == pdfium.FPDF_PAGEOBJ_PATH:
            pdfium.FPDFPageObj_GetBounds(page_object, *edges)
            box = Box(*(edge.value for edge in edges))
            if box.height < _MOST_STROKE_HEIGHT and box.right - box.left < _MOST_STROKE_WIDTH:
                strokes.append(box)
        if len(strokes) == _MOST_STROKES:
            break
    return sorted(strokes, key=attrgetter("bottom"))


def _is_invisible(page: PdfiumPage) -> bool:
    """Return True if the first text object of *page* is invisible."""
    first_text = next((page_object for page_object, is_text in _first_objects(page) if is_text), None)
    invisible = pdfium.FPDF_TEXTRENDERMODE_INVISIBLE
    return first_text is not None and bool(pdfium.FPDFTextObj_GetTextRenderMode(first_text) == invisible)


def _may_text_end(lines: Lines, line_count: int) -> bool:
    """Return True if the space above the last *line_count* lines is large enough for a foot below the text of a page."""
    if not 0 < line_count < len(lines):
        return line_count == 0
    line, next_line = lines[-line_count - 1], lines[-line_count]
    return not 0 < line.bottom - next_line.bottom < _SET_APART * line.height


def _with_geometry(page: PdfPage, labels: Sequence[int], ark_links: set[str], glyphs: Glyphs) -> PdfPage:
    """Return *page* with corrected spaces and free line space around *labels* (offsets), and text ranges for *ark_links*.

    *ark_links* are the URIs of links that may hold an ARK.
    """
    text, lines, links = page.text, page.lines, page.links
    if ark_links:
        rows = Rows(text, lines, glyphs)
        links = tuple(
            link._replace(
                ranges=tuple(span for turn in glyphs.turns for span in rows.ranges_under(link.box.turn(turn)))
            )
            if link.box and link.uri in ark_links
            else link
            for link in links
        )
    if not labels:
        return replace(page, links=links)
    corrections = Spacing(text, labels, lines, glyphs).corrections()
    table = CellTable(text, lines, glyphs, _flags_near_labels(text, labels, lines)) if is_table_like(lines) else None
    if corrections:
        new_offset = corrections.new_offset
        text, labels = corrections.apply(text), [new_offset(label) for label in labels]
        lines = [line._replace(start=new_offset(line.start), end=new_offset(line.end)) for line in lines]
        links = tuple(
            link._replace(ranges=tuple((new_offset(start), new_offset(end)) for start, end in link.ranges))
            for link in links
        )
    corrected_page = replace(page, text=text, links=links, lines=lines, seams=corrections.seams)
    if table is None:
        return replace(corrected_page, line_slack=line_slack_of(lines, _flags_near_labels(text, labels, lines)))
    line_slack = tuple((corrections.new_offset(end), chars) for end, chars in table.line_slack())
    return replace(corrected_page, line_slack=line_slack, has_cells=table.has_cells_beside())


def _flags_near_labels(text: str, labels: Iterable[int], lines: Lines) -> list[bool]:
    """Return a flag for each of *lines*: True for lines near one of *labels* (offsets), from its resolver to its word's end."""
    flags = [False] * len(lines)
    for label in labels:
        label_line = line_index_at(lines, label)
        word_end = _WORD_END.search(text, label + _LABEL_CHARS)
        stop = line_index_at(lines, word_end.start()) if word_end else len(lines)
        for index in range(max(0, label_line - _LINES_BEFORE_LABEL), min(stop, label_line + _LINES_FROM_LABEL)):
            flags[index] = True
    return flags


def _all_text(text_page: PdfTextPage) -> str:
    """Return all text, up to the limit for a page."""
    return str(text_page.get_text_range(0, min(text_page.count_chars(), MOST_CHARS)))
