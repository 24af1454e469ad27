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


_MOST_ROWS = 4  # of a running head or foot
_SAME_HEIGHT = 2.5  # points
_SET_APART_RUNNING_HEADS = 1.6  # times the leading of the page
_NUMBER = re.compile(r"[\W_]*(?:[0-9]{1,5}|[ivxlc]{1,8})[\W_]*", re.IGNORECASE)
_DIGITS = re.compile(r"([0-9]+)")

Row = list[int]


def running_lines(page: PdfPage, *neighbours: PdfPage | None) -> frozenset[int]:
    """Return the indexes of the lines in the running head or foot of *page*, by comparison with its *neighbours*.

    Each row, from the edge of the page inwards, must be at the same height on a neighbour and equal except for numbers
    that count pages, or be set apart on both pages; a page number may be set apart on this page alone.
    """
    rows = _rows(page.lines)
    steps = [above.middle - below.middle for above, below in pairwise(page.lines)]
    leading = median([step for step in steps if step > _SAME_HEIGHT] or [0.0])
    with_lines = [neighbour for neighbour in neighbours if neighbour is not None and neighbour.lines]
    running: set[int] = set()
    for order in (rows, rows[::-1]):
        for outer, inner in islice(pairwise(order), _MOST_ROWS):
            if not _is_running(page, outer, inner, leading, with_lines):
                break
            running.update(outer)
    return frozenset(running)


def _rows(lines: Lines) -> list[Row]:
    """Return the indexes of lines by rows, from the top."""
    rows: list[Row] = []
    for index in sorted(range(len(lines)), key=lambda index: -lines[index].middle):
        if rows and lines[rows[-1][0]].middle - lines[index].middle < _SAME_HEIGHT:
            rows[-1].append(index)
        else:
            rows.append([index])
    return rows


def _is_running(page: PdfPage, outer: Row, inner: Row, leading: float, neighbours: Sequence[PdfPage]) -> bool:
    lines = page.lines
    if any(_has_counterpart(page, index, neighbour) for neighbour in neighbours for index in outer):
        return True
    if not leading or abs(lines[outer[0]].middle - lines[inner[0]].middle) < _SET_APART_RUNNING_HEADS * leading:
        return False
    if all(_NUMBER.fullmatch(page.text, lines[index].start, lines[index].end) for index in outer):
        return True
    return any(_is_set_apart_on(neighbour, lines[outer[0]].middle, leading) for neighbour in neighbours)


def _has_counterpart(page: PdfPage, index: int, neighbour: PdfPage) -> bool:
    """Return True if *neighbour* has an equal line at the same height, except for numbers that count pages.

    Bullets are no evidence: those of slides are at the same heights.
    """
    line = page.lines[index]
    text = page.text[line.start : line.end]
    return any(map(str.isalnum, text)) and any(
        _is_same_head(text, neighbour.text[twin.start : twin.end], neighbour.number - page.number)
        for twin in neighbour.lines
        if abs(twin.bottom - line.bottom) < _SAME_HEIGHT and abs(twin.top - line.top) < _SAME_HEIGHT
    )


def _is_same_head(text: str, later_text: str, pages_apart: int) -> bool:
    """Return True if two lines are the same running head, *pages_apart* pages apart.

    >>> _is_same_head("Annual report 12", "Annual report 13", 1), _is_same_head("ark:/12345/x5", "ark:/12345/x9", 1)
    (True, False)
    """
    pieces, later_pieces = _DIGITS.split(text.strip()), _DIGITS.split(later_text.strip())
    if len(pieces) != len(later_pieces) or pieces[::2] != later_pieces[::2]:
        return False
    counted = zip(pieces[1::2], later_pieces[1::2], strict=True)
    return all(number == later or int(later) - int(number) == pages_apart for number, later in counted)


def _is_set_apart_on(page: PdfPage, middle: float, leading: float) -> bool:
    """Return True if the outermost line of *page* at this height is set apart, too."""
    rows = [page.lines[row[0]].middle for row in _rows(page.lines)]
    edges = [(rows[0], rows[1]), (rows[-1], rows[-2])] if len(rows) > 1 else []
    return any(
        abs(outer - middle) < _SAME_HEIGHT and abs(outer - inner) >= _SET_APART_RUNNING_HEADS * leading
        for outer, inner in edges
    )


_SAME_FONT = 0.07
_SET_APART = 1.2  # times the leading of a page
_LAST_DIGITS = re.compile(r"[0-9]{1,12}[,;)]|[0-9]{5}")  # not the mark of a note
_REST_CHARS = 80
_BETWEEN_FRAGMENTS = re.compile(rf"[\s{LINE_END_HYPHEN}-]*")


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the text of a page, in order."""

    page: PdfPage
    spans: tuple[tuple[int, int], ...]

    @property
    def text(self) -> str:
        return "".join(self.page.text[start:end] for start, end in self.spans)

    def offset_in_part(self, offset: int) -> int | None:
        """Return the offset in this text of an offset in the page's text; None if it is outside."""
        done = 0
        for start, end in self.spans:
            if start <= offset <= end:
                return done + offset - start
            done += end - start
        return None

    @property
    def sizes(self) -> list[float]:
        """The font sizes of its lines, as far as they are known."""
        sizes = zip(self.page.lines, self.page.font_sizes, strict=False)
        return [size for line, size in sizes if self.offset_in_part(line.start) is not None]


def blocks_of(pages: Sequence[PdfPage]) -> Iterator[Block]:
    """Yield the blocks of all *pages*, in order: text, separated heads and notes, comments, and links."""
    numbers = count(1)
    run: list[Part] = []
    aside: list[Part] = []
    neighbours = zip([None, *pages], pages, [*pages[1:], None], strict=False)
    for before, page, after in neighbours:
        body, others = _whole(page), []
        if run or page.may_go_on:
            # A row of a table is not a running head.
            running = running_lines(page, before, after) if not page.has_cells else frozenset()
            others = [_part(page, [index]) for index in sorted(running)]
            body = _part(page, [at for at in range(len(page.lines)) if at not in running])
        note = _continued_note(run[-1], body) if run else None
        if note is not None:
            end = note.spans[0][0]
            rest = ((first, min(last, end)) for first, last in body.spans if first < end)
            others.append(Part(page, tuple(rest)))
            body = note
        if run and not _may_continue(run[-1], body):
            yield from _blocks(run, aside, numbers)
            run, aside = [], []
        opens = page.may_go_on and is_open(body.text)
        if not (run or opens):
            yield from _blocks([_whole(page)], [], numbers)
            continue
        run.append(body)
        aside += others
        if not opens:
            yield from _blocks(run, aside, numbers)
            run, aside = [], []
    if run:
        yield from _blocks(run, aside, numbers)


def _whole(page: PdfPage) -> Part:
    return Part(page, ((0, len(page.text)),))


def _part(page: PdfPage, indexes: Sequence[int]) -> Part:
    """Return the lines with these *indexes* (in order), with the line breaks between consecutive ones."""
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
    return Part(page, tuple(spans))


def _continued_note(part: Part, body: Part) -> Part | None:
    """Return the end of *body*, from a note that continues from the page before; None if there is none.

    Notes are set apart from the text of a page; this one begins with the possible rest of the name in *part*.
    """
    lines, text = body.page.lines, body.page.text
    indexes = [index for index, line in enumerate(lines) if body.offset_in_part(line.start) is not None]
    if not indexes or not is_open(part.text) or _may_begin_with_rest(text, lines[indexes[0]].start):
        return None
    steps = [above - below for above, below in pairwise(lines[index].bottom for index in indexes)]
    leading = median([step for step in steps if step > 0] or [0.0])
    for at in range(len(steps), 0, -1):
        if steps[at - 1] > _SET_APART * leading > 0 and _may_begin_with_rest(text, lines[indexes[at]].start):
            return _part(body.page, indexes[at:])
    return None


def _may_begin_with_rest(text: str, start: int) -> bool:
    line = text[start : start + _REST_CHARS].split("\n")[0]
    return _LAST_DIGITS.match(line) is not None or may_be_rest(line)


def _may_continue(part: Part, following: Part) -> bool:
    """Return True if the end of *part* may continue in *following*, on the next page."""
    if following.page.number != part.page.number + 1:
        return False
    size, next_size = (part.sizes or [0.0])[-1], (following.sizes or [0.0])[0]
    return abs(size - next_size) <= _SAME_FONT * size and may_continue(part.text, following.text)


def _citations(page: PdfPage) -> list[Link]:
    """Return the links of a page, with annotations of one URI over continuous text merged.

    Links that can't hold an ARK are merged by their URI alone.
    """
    citations: list[Link] = []
    last_of_uri: dict[str, int] = {}
    for link in page.links:
        at = last_of_uri.get(link.uri)
        if at is None or not _is_continuous(page.text, citations[at].ranges, link.ranges):
            last_of_uri[link.uri] = len(citations)
            citations.append(link)
        else:
            citations[at] = citations[at]._replace(ranges=citations[at].ranges + link.ranges)
    return citations


def _is_continuous(text: str, ranges: Sequence[tuple[int, int]], more: Sequence[tuple[int, int]]) -> bool:
    """Return True if the text under one annotation continues under another, or if either has no text."""
    if not ranges or not more:
        return True
    return ranges[-1][1] <= more[0][0] and bool(_BETWEEN_FRAGMENTS.fullmatch(text, ranges[-1][1], more[0][0]))


def _blocks(run: Sequence[Part], aside: Sequence[Part], numbers: Iterator[int]) -> Iterator[Block]:
    """Yield one block for the text of the *run*, one for each part *aside*, then comments and links."""
    texts = [_Text(run), *(_Text([part]) for part in aside)]
    targets: list[Block] = []
    for page in (part.page for part in run):
        targets += [Block(text, page=page.number, place=kind) for kind, text in page.comments]
        for cited in _citations(page):
            link, is_new = None, True
            for text in texts if cited.ranges else ():
                ranges = text.ranges(page, cited)
                if ranges:
                    link, is_new = text.add_link(cited.uri, ranges, numbers)
                    break
            if is_new:
                targets.append(Block(cited.uri, Role.LINK_ANNOTATION, page.number, cited.place, link=link))
    yield from (text.block() for text in texts if text.text.strip())
    yield from targets


class _Text:
    """A text block under construction, from the parts of one page or of several joined pages."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts: dict[int, tuple[Part, int]] = {}
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

    def ranges(self, page: PdfPage, cited: Link) -> list[tuple[int, int]]:
        """Return the ranges in this text of a link on *page*; empty if the link is elsewhere."""
        if page.number not in self._parts:
            return []
        part, base = self._parts[page.number]
        moved = ((part.offset_in_part(start), part.offset_in_part(end)) for start, end in cited.ranges)
        return [(base + start, base + end) for start, end in moved if start is not None and end is not None]

    def add_link(self, uri: str, ranges: Sequence[tuple[int, int]], numbers: Iterator[int]) -> tuple[int, bool]:
        """Add a link over *ranges* of this text; return its number, and False if it continues from the page before."""
        last = self._last_of_uri.get(uri)
        goes_on = last is not None and _is_continuous(self.text, [(last.start, last.end)], ranges)
        number = last.link if last is not None and goes_on else next(numbers)
        self._anchors += [Anchor(start, end, number) for start, end in ranges]
        self._last_of_uri[uri] = self._anchors[-1]
        return number, not goes_on

    def block(self) -> Block:
        """Return the text as a block, with its geometry."""
        line_slack: list[tuple[int, float]] = []
        seams: list[int] = []
        for part, start in self._parts.values():
            seams += [start + at for at in map(part.offset_in_part, part.page.seams) if at is not None]
            moved = ((part.offset_in_part(offset), chars) for offset, chars in part.page.line_slack)
            line_slack += [(start + offset, chars) for offset, chars in moved if offset is not None]
        first, *further = self._parts.items()
        return Block(
            self.text,
            page=first[0],
            anchors=tuple(sorted(self._anchors, key=lambda anchor: anchor.start)),
            line_slack=tuple(line_slack),
            seams=tuple(seams),
            page_breaks=tuple(start for _, (_, start) in further),
            is_recognized=any(part.page.is_recognized for part, _ in self._parts.values()),
        )
