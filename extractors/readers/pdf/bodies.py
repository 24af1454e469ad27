"""Convert the pages of a PDF to blocks; join pages where an ARK may continue, and connect links with their text.

Most pages are a block each. If the text of a page ends with the possible beginning of an ARK, its running foot, the
running head of the next page, and footnotes are separated, and the bodies of both pages become one block.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice, pairwise
from statistics import median

from extractors.mentions.open_ends import is_open, may_continue
from extractors.model.documents import Anchor, Block, Role
from extractors.model.offset_map import LINE_END_HYPHEN
from extractors.readers.pdf.geometry import Lines
from extractors.readers.pdf.pdf_pages import Link, PdfPage
from extractors.wraps.rules import may_be_rest

# The running heads and feet of PDF pages: lines that are equal from page to page, except for page numbers.


_MOST_HEAD_ROWS = 4  # of a running head or foot
_HEIGHT_TOLERANCE = 2.5  # points
_LEAST_HEAD_DISTANCE = 1.6  # times the leading of the page
_NUMBER = re.compile(r"[\W_]*(?:[0-9]{1,5}|[ivxlc]{1,8})[\W_]*", re.IGNORECASE)
_DIGITS = re.compile(r"([0-9]+)")

Row = list[int]


def running_lines(page: PdfPage, *neighbours: PdfPage | None) -> frozenset[int]:
    """Return the indexes of the lines in the running head or foot of *page*, by comparison with its *neighbours*.

    Such a row is at the same height on a neighbour, and has the same text except for page numbers. Or white space
    separates a row at this height from the text on both pages. For a page number, white space on *page* is enough.
    """
    rows = _rows(page.lines)
    line_distances = [above.middle - below.middle for above, below in pairwise(page.lines)]
    leading = median([distance for distance in line_distances if distance > _HEIGHT_TOLERANCE] or [0.0])
    neighbours_with_lines = [neighbour for neighbour in neighbours if neighbour is not None and neighbour.lines]
    running_indexes: set[int] = set()
    for ordered_rows in (rows, rows[::-1]):
        for outer, inner in islice(pairwise(ordered_rows), _MOST_HEAD_ROWS):
            if not _is_running(page, outer, inner, leading, neighbours_with_lines):
                break
            running_indexes.update(outer)
    return frozenset(running_indexes)


def _rows(lines: Lines) -> list[Row]:
    """Return the rows of a page, from the top: the indexes of *lines* at one height."""
    rows: list[Row] = []
    for index in sorted(range(len(lines)), key=lambda index: -lines[index].middle):
        if rows and lines[rows[-1][0]].middle - lines[index].middle < _HEIGHT_TOLERANCE:
            rows[-1].append(index)
        else:
            rows.append([index])
    return rows


def _is_running(page: PdfPage, outer: Row, inner: Row, leading: float, neighbours: Sequence[PdfPage]) -> bool:
    """Return True if the row *outer* of *page* is in a running head or foot; *inner* is the next row towards the text.

    A neighbour has the same row, or a row at the same height that white space separates, or *outer* is a page number.
    *leading* is the usual distance of lines in points.
    """
    lines = page.lines
    if any(_has_counterpart(page, index, neighbour) for neighbour in neighbours for index in outer):
        return True
    if not leading or abs(lines[outer[0]].middle - lines[inner[0]].middle) < _LEAST_HEAD_DISTANCE * leading:
        return False
    if all(_NUMBER.fullmatch(page.text, lines[index].start, lines[index].end) for index in outer):
        return True
    return any(_is_set_apart_on(neighbour, lines[outer[0]].middle, leading) for neighbour in neighbours)


def _has_counterpart(page: PdfPage, index: int, neighbour: PdfPage) -> bool:
    """Return True if *neighbour* has the text of line *index* of *page* at the same height; page numbers may differ.

    A line without letters and digits, such as a bullet, gives False: bullets of slides are often at the same height.
    """
    line = page.lines[index]
    text = page.text[line.start : line.end]
    return any(map(str.isalnum, text)) and any(
        _is_same_head(text, neighbour.text[neighbour_line.start : neighbour_line.end], neighbour.number - page.number)
        for neighbour_line in neighbour.lines
        if abs(neighbour_line.bottom - line.bottom) < _HEIGHT_TOLERANCE
        and abs(neighbour_line.top - line.top) < _HEIGHT_TOLERANCE
    )


def _is_same_head(text: str, later_text: str, pages_apart: int) -> bool:
    """Return True if *text* and *later_text* are the same running head, *pages_apart* pages apart.

    >>> _is_same_head("Annual report 12", "Annual report 13", 1), _is_same_head("ark:/12345/x5", "ark:/12345/x9", 1)
    (True, False)
    """
    pieces, later_pieces = _DIGITS.split(text.strip()), _DIGITS.split(later_text.strip())
    if len(pieces) != len(later_pieces) or pieces[::2] != later_pieces[::2]:
        return False
    number_pairs = zip(pieces[1::2], later_pieces[1::2], strict=True)
    return all(number == later or int(later) - int(number) == pages_apart for number, later in number_pairs)


def _is_set_apart_on(page: PdfPage, middle: float, leading: float) -> bool:
    """Return True if the first or last row of *page* has its centre at the height *middle*, and is far from the next row.

    *leading* is the usual distance of lines. Both are in points.
    """
    rows = [page.lines[row[0]].middle for row in _rows(page.lines)]
    edges = [(rows[0], rows[1]), (rows[-1], rows[-2])] if len(rows) > 1 else []
    return any(
        abs(outer - middle) < _HEIGHT_TOLERANCE and abs(outer - inner) >= _LEAST_HEAD_DISTANCE * leading
        for outer, inner in edges
    )


_FONT_TOLERANCE = 0.07
_LEAST_NOTE_DISTANCE = 1.2  # times the leading of a page
_LAST_DIGITS = re.compile(r"[0-9]{1,12}[,;)]|[0-9]{5}")  # not the mark of a note
_REST_CHARS = 80
_BETWEEN_FRAGMENTS = re.compile(rf"[\s{LINE_END_HYPHEN}-]*")


@dataclass(frozen=True, slots=True)
class PagePart:
    """A part of the text of *page*: the text in *spans*, ranges of offsets in order."""

    page: PdfPage
    spans: tuple[tuple[int, int], ...]

    @property
    def text(self) -> str:
        return "".join(self.page.text[start:end] for start, end in self.spans)

    def offset_in_part(self, offset: int) -> int | None:
        """Return the offset in this part of *offset* in the text of the page; None if outside."""
        length = 0
        for start, end in self.spans:
            if start <= offset <= end:
                return length + offset - start
            length += end - start
        return None

    @property
    def font_sizes(self) -> list[float]:
        """The font sizes of its lines; empty if the page has none."""
        lines_with_sizes = zip(self.page.lines, self.page.font_sizes, strict=False)
        return [size for line, size in lines_with_sizes if self.offset_in_part(line.start) is not None]


def blocks_of(pages: Sequence[PdfPage]) -> Iterator[Block]:
    """Yield the blocks of all *pages*, in order: text, separated heads and notes, comments, and links."""
    link_numbers = count(1)
    joined_parts: list[PagePart] = []
    separate_parts: list[PagePart] = []
    neighbours = zip([None, *pages], pages, [*pages[1:], None], strict=False)
    for previous_page, page, next_page in neighbours:
        body, other_parts = _whole_part(page), []
        if joined_parts or page.may_continue:
            # A row of a table is not a running head.
            running_indexes = running_lines(page, previous_page, next_page) if not page.has_cells else frozenset()
            other_parts = [_part_of_lines(page, [index]) for index in sorted(running_indexes)]
            body = _part_of_lines(page, [index for index in range(len(page.lines)) if index not in running_indexes])
        note = _continued_note(joined_parts[-1], body) if joined_parts else None
        if note is not None:
            end = note.spans[0][0]
            spans_before_note = ((start, min(stop, end)) for start, stop in body.spans if start < end)
            other_parts.append(PagePart(page, tuple(spans_before_note)))
            body = note
        if joined_parts and not _may_continue(joined_parts[-1], body):
            yield from _blocks(joined_parts, separate_parts, link_numbers)
            joined_parts, separate_parts = [], []
        is_open_at_end = page.may_continue and is_open(body.text)
        if not (joined_parts or is_open_at_end):
            yield from _blocks([_whole_part(page)], [], link_numbers)
            continue
        joined_parts.append(body)
        separate_parts += other_parts
        if not is_open_at_end:
            yield from _blocks(joined_parts, separate_parts, link_numbers)
            joined_parts, separate_parts = [], []
    if joined_parts:
        yield from _blocks(joined_parts, separate_parts, link_numbers)


def _whole_part(page: PdfPage) -> PagePart:
    return PagePart(page, ((0, len(page.text)),))


def _part_of_lines(page: PdfPage, indexes: Sequence[int]) -> PagePart:
    """Return the part of *page* with the lines of *indexes* (in order) and the breaks between consecutive lines."""
    spans: list[tuple[int, int]] = []
    starts = [*(line.start for line in page.lines), len(page.text)]
    for index in indexes:
        start, end = starts[index], starts[index + 1]
        if spans and spans[-1][1] == start:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    if spans:
        start, end = spans[-1]
        spans[-1] = (start, start + len(page.text[start:end].rstrip()))
    return PagePart(page, tuple(spans))


def _continued_note(part: PagePart, body: PagePart) -> PagePart | None:
    """Return the end of *body* from the footnote on that continues *part*, a part of the page before; None without one.

    White space separates the footnote from the text above, and it begins with the possible rest of an ARK.
    """
    lines, text = body.page.lines, body.page.text
    indexes = [index for index, line in enumerate(lines) if body.offset_in_part(line.start) is not None]
    if not indexes or not is_open(part.text) or _may_begin_with_rest(text, lines[indexes[0]].start):
        return None
    line_distances = [above - below for above, below in pairwise(lines[index].bottom for index in indexes)]
    leading = median([distance for distance in line_distances if distance > 0] or [0.0])
    for position in range(len(line_distances), 0, -1):
        start = lines[indexes[position]].start
        if line_distances[position - 1] > _LEAST_NOTE_DISTANCE * leading > 0 and _may_begin_with_rest(text, start):
            return _part_of_lines(body.page, indexes[position:])
    return None


def _may_begin_with_rest(text: str, start: int) -> bool:
    line = text[start : start + _REST_CHARS].split("\n")[0]
    return _LAST_DIGITS.match(line) is not None or may_be_rest(line)


def _may_continue(part: PagePart, next_part: PagePart) -> bool:
    """Return True if the end of *part* may continue in *next_part*, on the next page."""
    if next_part.page.number != part.page.number + 1:
        return False
    size, next_size = (part.font_sizes or [0.0])[-1], (next_part.font_sizes or [0.0])[0]
    return abs(size - next_size) <= _FONT_TOLERANCE * size and may_continue(part.text, next_part.text)


def _merged_links(page: PdfPage) -> list[Link]:
    """Return the links of *page*, with annotations of one URI as one link if the text under them is continuous or unknown."""
    links: list[Link] = []
    last_index_of_uri: dict[str, int] = {}
    for link in page.links:
        index = last_index_of_uri.get(link.uri)
        if index is None or not _is_continuous(page.text, links[index].ranges, link.ranges):
            last_index_of_uri[link.uri] = len(links)
            links.append(link)
        else:
            links[index] = links[index]._replace(ranges=links[index].ranges + link.ranges)
    return links


def _is_continuous(text: str, ranges: Sequence[tuple[int, int]], next_ranges: Sequence[tuple[int, int]]) -> bool:
    """Return True if only blanks or hyphens of *text* are between *ranges* and *next_ranges*, or if either is empty."""
    if not ranges or not next_ranges:
        return True
    return ranges[-1][1] <= next_ranges[0][0] and bool(
        _BETWEEN_FRAGMENTS.fullmatch(text, ranges[-1][1], next_ranges[0][0])
    )


def _blocks(
    joined_parts: Sequence[PagePart], separate_parts: Sequence[PagePart], link_numbers: Iterator[int]
) -> Iterator[Block]:
    """Yield one block for all *joined_parts*, one for each of *separate_parts*, then comments and links of their pages.

    *link_numbers* gives the next unused numbers of links.
    """
    texts = [_Text(joined_parts), *(_Text([part]) for part in separate_parts)]
    targets: list[Block] = []
    for page in (part.page for part in joined_parts):
        targets += [Block(text, page=page.number, place=kind) for kind, text in page.comments]
        for link in _merged_links(page):
            number, is_new = None, True
            for text in texts if link.ranges else ():
                ranges = text.ranges_of(page, link)
                if ranges:
                    number, is_new = text.add_link(link.uri, ranges, link_numbers)
                    break
            if is_new:
                targets.append(Block(link.uri, Role.LINK_ANNOTATION, page.number, link.place, link=number))
    yield from (text.block() for text in texts if text.text.strip())
    yield from targets


class _Text:
    """A text block under construction, from the parts of one page or of several joined pages."""

    def __init__(self, parts: Sequence[PagePart]) -> None:
        self._parts: dict[int, tuple[PagePart, int]] = {}
        self._anchors: list[Anchor] = []
        self._last_of_uri: dict[str, Anchor] = {}
        pieces: list[str] = []
        length = 0
        for part in parts:
            if pieces and not pieces[-1].endswith(LINE_END_HYPHEN):
                pieces.append("\n")
                length += 1
            self._parts[part.page.number] = part, length
            pieces.append(part.text)
            length += len(pieces[-1])
        self.text = "".join(pieces)

    def ranges_of(self, page: PdfPage, link: Link) -> list[tuple[int, int]]:
        """Return the ranges of offsets in this text that *link*, on *page*, covers; empty if it covers none of this text."""
        if page.number not in self._parts:
            return []
        part, part_start = self._parts[page.number]
        part_ranges = ((part.offset_in_part(start), part.offset_in_part(end)) for start, end in link.ranges)
        return [
            (part_start + start, part_start + end)
            for start, end in part_ranges
            if start is not None and end is not None
        ]

    def add_link(self, uri: str, ranges: Sequence[tuple[int, int]], link_numbers: Iterator[int]) -> tuple[int, bool]:
        """Add a link over *ranges* of this text; return its number, and False if it continues an earlier link."""
        anchor = self._last_of_uri.get(uri)
        is_continued = anchor is not None and _is_continuous(self.text, [(anchor.start, anchor.end)], ranges)
        number = anchor.link if anchor is not None and is_continued else next(link_numbers)
        self._anchors += [Anchor(start, end, number) for start, end in ranges]
        self._last_of_uri[uri] = self._anchors[-1]
        return number, not is_continued

    def block(self) -> Block:
        """Return the text as a block, with its geometry."""
        line_slack: list[tuple[int, float]] = []
        seams: list[int] = []
        for part, part_start in self._parts.values():
            seams += [part_start + offset for offset in map(part.offset_in_part, part.page.seams) if offset is not None]
            part_slack = ((part.offset_in_part(offset), chars) for offset, chars in part.page.line_slack)
            line_slack += [(part_start + offset, chars) for offset, chars in part_slack if offset is not None]
        first_part, *further_parts = self._parts.items()
        return Block(
            self.text,
            page=first_part[0],
            anchors=tuple(sorted(self._anchors, key=lambda anchor: anchor.start)),
            line_slack=tuple(line_slack),
            seams=tuple(seams),
            page_breaks=tuple(part_start for _, (_, part_start) in further_parts),
            is_recognized=any(part.page.is_recognized for part, _ in self._parts.values()),
        )
