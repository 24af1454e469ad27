"""The geometry of a PDF page: its lines, the free space in them, and the text under a rectangle."""

from __future__ import annotations

import ctypes
import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from operator import attrgetter
from typing import NamedTuple, Self
from unicodedata import bidirectional

import pypdfium2.raw as pdfium
import regex
from pypdfium2 import PdfTextPage

from extractors.model.offset_map import LINE_END_HYPHEN

ZERO_WIDTH_SPACE = "\N{ZERO WIDTH SPACE}"

_LINE = re.compile(
    rf"""
    [^\s{LINE_END_HYPHEN}] (?: [^\r\n{LINE_END_HYPHEN}]* [^\s{LINE_END_HYPHEN}] )?   # without blanks around it
    (?P<hyphen> {LINE_END_HYPHEN} )?
    """,
    re.VERBOSE,
)
SLACK = 1.0  # points: links and the text under them are drawn by different rules
_NO_SPACE = 0.16  # of the height of the font: a gap that doesn't separate words
_FEWEST_LINES = 3  # of a column, for its right edge to be known
_ENOUGH_LINES = 8  # of a stretch of text, to use it without the rest of its column
_UPRIGHT = 0.1  # the minimum width of an average character, in heights of its font
WIDEST_LEADING = 2.2  # line heights between two lines of one column


class Box(NamedTuple):
    """A rectangle on a page in points, from its lower left corner."""

    left: float
    bottom: float
    right: float
    top: float

    @property
    def height(self) -> float:
        """The height; for a character's box, that of its font."""
        return self.top - self.bottom

    def turn(self, quarters: int) -> Box:
        """Return the box after the page is turned so that text drawn *quarters* quarter turns clockwise is upright."""
        box = self
        for _ in range(quarters):
            box = Box(-box.top, box.left, -box.bottom, box.right)
        return box


class Line(NamedTuple):
    """A line of a page's text with its position; offsets are code points in the text."""

    start: int
    end: int
    """The offset of its line break; blanks before that are outside of the box."""
    left: float
    bottom: float
    right: float
    top: float
    """As `bottom`, for the font at the beginning of the line."""

    @property
    def height(self) -> float:
        """The height of its font."""
        return self.top - self.bottom

    @property
    def middle(self) -> float:
        """The vertical centre of the line on the page."""
        return (self.bottom + self.top) / 2


Lines = Sequence[Line]


def line_at(lines: Lines, offset: int) -> int:
    """Return the index of the last line that begins at or before *offset*; -1 if there is none."""
    return bisect_right(lines, offset, key=attrgetter("start")) - 1


class Glyphs:
    """The boxes of the characters of a text page, by offset in its text, while the page is open."""

    def __init__(self, text_page: PdfTextPage, char_index: Callable[[int], int] | None = None) -> None:
        self._page = text_page
        self._char_index = char_index
        self.turns = frozenset({0})
        """The quarter turns of text on the page, as in a table on its side, a margin or a rotated page."""

    def look_for_turns(self, offsets: Iterable[int]) -> None:
        """Find the turns of the text at *offsets*; from now on each box is turned with its character."""
        self.turns = frozenset(map(self.turn, offsets)) | {0}

    def in_order(self, origins: Sequence[int]) -> Self:
        """Return the glyphs of a text with the characters of this one in another order, given their old offsets."""
        ordered = type(self)(self._page, lambda offset: self._index(origins[offset]))
        ordered.turns = self.turns
        return ordered

    def turn(self, offset: int) -> int:
        """Return the quarter turns of a character."""
        angle = float(pdfium.FPDFText_GetCharAngle(self._page, self._index(offset)))
        return round(angle / (math.pi / 2)) % 4

    @classmethod
    def from_page(cls, text_page: PdfTextPage, text: str) -> Self | None:
        """Return the glyphs of *text*, the whole text of the page; None if its offsets don't match PDFium's."""
        count = text_page.count_chars()
        if count == len(text):
            return cls(text_page)
        units = pdfium.FPDFText_GetTextIndexFromCharIndex(text_page, count - 1) + 1 if count else 0
        if units != len(text):  # beyond the Basic Multilingual Plane
            return None
        return cls(text_page, lambda offset: int(pdfium.FPDFText_GetCharIndexFromTextIndex(text_page, offset)))

    def box(self, offset: int) -> Box:
        """Return the rectangle of the character's advance width and font height, not of its ink."""
        box = pdfium.FS_RECTF()
        pdfium.FPDFText_GetLooseCharBox(self._page, self._index(offset), box)
        return self._upright(offset, Box(box.left, box.bottom, box.right, box.top))

    def _upright(self, offset: int, box: Box) -> Box:
        return box if len(self.turns) == 1 else box.turn(self.turn(offset))

    def boxes(self, offsets: Iterable[int]) -> list[Box]:
        """Return the rectangles of several characters."""
        return list(map(self.box, offsets))

    def letter_bottoms(self, offsets: Iterable[int]) -> list[float]:
        """Return the lowest points of the letters at *offsets*, mostly on the base line."""
        left, right, bottom, top = edges = tuple(ctypes.c_double() for _ in range(4))
        feet = []
        for offset in offsets:
            pdfium.FPDFText_GetCharBox(self._page, self._index(offset), *edges)
            box = Box(left.value, bottom.value, right.value, top.value)
            feet.append(self._upright(offset, box).bottom)
        return feet

    def center(self, offset: int) -> float:
        """Return the horizontal centre of a character."""
        box = self.box(offset)
        return (box.left + box.right) / 2

    def is_generated(self, offset: int) -> bool:
        """Return True if PDFium inserted a space here because of a gap."""
        return bool(pdfium.FPDFText_IsGenerated(self._page, self._index(offset)) == 1)

    def font_size(self, offset: int) -> float:
        """Return the font size set by the page, without scaling, which is mostly the same all over a page."""
        return float(pdfium.FPDFText_GetFontSize(self._page, self._index(offset)))

    def _index(self, offset: int) -> int:
        return offset if self._char_index is None else self._char_index(offset)


def lines_of(text: str, glyphs: Glyphs) -> Lines:
    """Return the lines of a page in text order."""
    lines = []
    for line in _LINE.finditer(text):
        start, last = line.start(), line.end() - 1
        first, end = glyphs.box(start), last if text[last] == LINE_END_HYPHEN else last + 1
        right = glyphs.box(last).right
        lines.append(Line(start, end, first.left, first.bottom, right, first.top))
    return lines


def without_false_breaks(text: str, lines: Lines) -> str:
    """Return *text* without the line breaks that PDFium puts at zero-width spaces; *lines* are those of *text*.

    Each character of such a break becomes a zero-width space. PDFium gives only the ink box of some characters, so the
    font height is that of neighbours.
    """
    pieces, done = [], 0
    for index, (line, following) in enumerate(pairwise(lines)):
        gap = following.left - line.right
        height = max(near.height for near in lines[max(0, index - 2) : min(len(lines), index + 4)])
        if _is_level(line, following) and -SLACK < gap < _NO_SPACE * height and text[line.end] != LINE_END_HYPHEN:
            between = following.start - line.end
            pieces += [text[done : line.end], ZERO_WIDTH_SPACE * between]
            done = following.start
    return "".join((*pieces, text[done:]))


def _is_level(line: Line, following: Line) -> bool:
    """Return True if *following* is on the base line of *line*, not a raised mark.

    The ink of a letter lies within the height of the font, or hangs below it (g).
    """
    line_within = line.bottom > following.bottom - SLACK and line.top < following.top + SLACK
    within_line = following.bottom > line.bottom - SLACK and following.top < line.top + SLACK
    overlap = min(line.top, following.top) - max(line.bottom, following.bottom)
    hangs = following.bottom < line.bottom + SLACK and 2 * overlap > min(line.height, following.height)
    return line_within or within_line or hangs


def line_slack_of(lines: Lines, wanted: Sequence[bool]) -> tuple[tuple[int, float], ...]:
    """Return, for the *wanted* lines, the offset of the end and the number of further average characters that fit."""
    line_slack = []
    stretches, continued = _stretches(lines)
    for first, stop in stretches:
        if True not in wanted[first:stop]:
            continue
        column: Sequence[int] = range(first, stop)
        if stop - first < _ENOUGH_LINES:
            # The lines of all stretches with the same left edge.
            line = lines[first]
            near = 2 * (line.right - line.left) / (line.end - line.start)
            alike = (range(*stretch) for stretch in stretches if abs(lines[stretch[0]].left - line.left) < near)
            column = [index for stretch in alike for index in stretch]
        edge = _right_edge(lines, column)
        if edge is None:
            continue
        for index in range(first, stop):
            if wanted[index] and index not in continued:
                start, end, left, bottom, right, top = lines[index]
                char_width = (right - left) / (end - start)
                if char_width > _UPRIGHT * (top - bottom):
                    line_slack.append((end, round((edge - right) / char_width, 2)))
    return tuple(line_slack)


def _stretches(lines: Lines) -> tuple[list[tuple[int, int]], set[int]]:
    """Return the ranges of successive lines in a column, and the indexes of lines that continue in the same row."""
    ranges: list[tuple[int, int]] = []
    continued: set[int] = set()
    first = 0
    for index, (last, line) in enumerate(pairwise(lines), start=1):
        leading, height = last.bottom - line.bottom, max(line.height, last.height)
        is_below = SLACK < leading < WIDEST_LEADING * height
        if is_below and line.left < last.right and last.left < line.right:
            continue
        overlaps = line.bottom < last.top and last.bottom < line.top and abs(leading) < 0.6 * height
        if overlaps and line.left >= last.right - SLACK:
            continued.add(index - 1)  # visually one line: PDFium breaks lines at raised footnote marks
            continue
        ranges.append((first, index))
        first = index
    if lines:
        ranges.append((first, len(lines)))
    return ranges, continued


def _right_edge(lines: Lines, column: Sequence[int]) -> float | None:
    """Return the right edge of a column: where many lines end, else the end of the longest line that isn't overfull."""
    if len(column) < _FEWEST_LINES:
        return None
    in_column = [lines[index] for index in column]
    rights = [line.right for line in in_column]
    chars = sum(line.end - line.start for line in in_column)
    width = (sum(rights) - sum(line.left for line in in_column)) / chars
    if not width > 0:  # mirrored text, or text without width, has no edge
        return None
    rights.sort()
    low = most = 0
    edge = rights[-1]
    for high, right in enumerate(rights):
        while rights[low] < right - width / 2:
            low += 1
        if high - low >= most:
            most, edge = high - low, right
    usual = rights[3 * len(rights) // 4]
    # Short lines may end alike, too, such as page numbers below each other.
    if most + 1 < max(_FEWEST_LINES, len(rights) / 4) or edge < usual - 3 * width:
        edge = rights[bisect_right(rights, usual + 3 * width) - 1]
    return edge


class Rows:
    """The lines of a page by height, for finding those under a rectangle."""

    def __init__(self, text: str, lines: Lines, glyphs: Glyphs) -> None:
        self._text = text
        self._rows = sorted(lines, key=attrgetter("middle"))
        self._glyphs = glyphs

    def under(self, rectangle: Box) -> list[tuple[int, int]]:
        """Return the ranges of the text in *rectangle*, in order, without the blanks around them."""
        low = bisect_left(self._rows, rectangle.bottom - SLACK, key=attrgetter("middle"))
        high = bisect_right(self._rows, rectangle.top + SLACK, key=attrgetter("middle"))
        ranges = (self._part(line, rectangle) for line in self._rows[low:high])
        return sorted(span for span in ranges if span is not None)

    def _part(self, line: Line, rectangle: Box) -> tuple[int, int] | None:
        if line.right < rectangle.left or rectangle.right < line.left:
            return None
        start, end = line.start, line.end
        if line.left < rectangle.left - SLACK:
            start = bisect_left(range(end), rectangle.left - SLACK / 2, lo=start, key=self._glyphs.center)
        if rectangle.right + SLACK < line.right:
            end = bisect_left(range(end), rectangle.right + SLACK / 2, lo=start, key=self._glyphs.center)
        words = self._text[start:end]
        start, end = (start + len(words) - len(words.lstrip()), end - len(words) + len(words.rstrip()))
        return (start, end) if start < end else None


# Pages of Hebrew, Arabic and other scripts written from right to left, in reading order. PDFium guesses that order, and
# scrambles URLs and ARKs in such lines. Here the glyphs of each line are ordered by their position: runs from right to
# left, and glyphs of other scripts within a run from left to right.

_RIGHT_TO_LEFT = frozenset({"R", "AL"})
_LETTER = regex.compile(r"\p{L}")
_LETTERS = regex.compile(r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
#: In a run as drawn, from left to right: characters that begin no URL, and digits after a delimiter at the end.
_LEFT_OVER = regex.compile(r"[/:.=?&-]+(?=[\p{L}\p{N}])")
#: In a run as drawn: punctuation of the text around it, which follows it at its left, and precedes it at its right.
_AT_LEFT = re.compile(r"(?:[^\w ]* )?(?:[,;.!?)\]\u060c]+(?=[\w/:]))?")
_AT_RIGHT = re.compile(r" [^\w]*\Z")
_DIGITS_LAST = regex.compile(r"(?<=\p{L}[\p{L}\p{N}]*)[/:](?=\p{N}+\Z)")
_SHARE = 0.2  # of the letters of a page, above which its lines run from right to left
_NEAR_ROWS = 5  # that PDFium gives in another order
_WORD_GAP = 0.12  # of the height of the font


class OrderedText(NamedTuple):
    """The text of a page in reading order."""

    text: str
    line_slack: tuple[tuple[int, float], ...]
    """As `Block.line_slack`: the free space at the left of each line."""
    glyphs: tuple[tuple[float, float], ...]
    """For each character, the centre of its glyph."""

    def under(self, box: Box) -> tuple[tuple[int, int], ...]:
        """Return the ranges of the text in *box*."""
        within = [box.left <= x <= box.right and box.bottom <= y <= box.top for x, y in self.glyphs]
        edges = [at for at, (before, after) in enumerate(pairwise([False, *within, False])) if before != after]
        return tuple(zip(edges[::2], edges[1::2], strict=True))


class _Glyph(NamedTuple):
    """A character with its position."""

    left: float
    right: float
    middle: float
    char: str

    @property
    def is_right_to_left(self) -> bool:
        return bidirectional(self.char) in _RIGHT_TO_LEFT


def is_right_to_left(text: str) -> bool:
    """Return True if the lines of a page run from right to left.

    >>> is_right_to_left("ראו ark:/12148/btv1b84"), is_right_to_left("see ark:/12148/btv1b84")
    (True, False)
    """
    count = sum(1 for _ in _LETTERS.finditer(text))
    return count > 0 and count > _SHARE * sum(1 for _ in _LETTER.finditer(text))


def order_text(text: str, lines: Lines, glyphs: Glyphs) -> OrderedText:
    """Return the *text* of a page with the characters of each of its *lines* in reading order."""
    placed: list[tuple[list[_Glyph], float]] = []
    for line in lines:
        end = line.end + text.startswith(LINE_END_HYPHEN, line.end)
        for row in _rows(text, range(line.start, end), glyphs):
            _insert_row(placed, row, line.height)
    rows = [_runs(row, height) for row, height in placed]
    is_by_line = any(len(runs) > 1 and runs[-1][0].char in "/:" for runs in rows if runs)
    chars: list[str] = []
    places: list[tuple[float, float]] = []
    ends: list[tuple[int, float, float, float]] = []
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
        ends.append((len(chars), left, right, (right - left) / len(in_order)))
    line_slack = tuple(
        (end, round((left - min(line[1] for line in ends if abs(line[2] - right) < 2 * width)) / width, 2))
        for end, left, right, width in ends
        if width > 0
    )
    return OrderedText("".join(chars), line_slack, tuple((both / 2, middle) for both, middle in places))


def _rows(text: str, offsets: range, glyphs: Glyphs) -> Iterator[list[_Glyph]]:
    """Yield the rows of glyphs, from left to right, in a line of PDFium without blanks: mostly one row."""
    wanted = [offset for offset in offsets if not text[offset].isspace()]
    boxes = glyphs.boxes(wanted)
    written = [
        _Glyph(box.left, box.right, (box.top + box.bottom) / 2, text[offset].replace(LINE_END_HYPHEN, "-"))
        for offset, box in zip(wanted, boxes, strict=True)
    ]
    from_top = sorted(written, key=lambda glyph: -glyph.middle)
    height = max((box.height for box in boxes), default=0.0)
    row: list[_Glyph] = []
    for glyph in from_top:
        if row and row[-1].middle - glyph.middle > height / 2:
            yield sorted(row)
            row = []
        row.append(glyph)
    yield sorted(row)


def _insert_row(rows: list[tuple[list[_Glyph], float]], row: list[_Glyph], height: float) -> None:
    """Insert *row* into *rows*, which are from top to bottom, or merge it with the row that it continues."""
    at = len(rows)
    for index in range(at - 1, max(-1, at - _NEAR_ROWS), -1):
        placed = rows[index][0]
        rise = row[0].middle - placed[0].middle
        if (
            abs(rise) < height / 4
            and min(abs(row[0].left - placed[-1].right), abs(placed[0].left - row[-1].right)) < SLACK
        ):
            rows[index] = sorted([*placed, *row]), max(height, rows[index][1])
            return
        if not height / 2 < rise < WIDEST_LEADING * height:
            break
        if row[0].left < placed[-1].right and placed[0].left < row[-1].right:
            at = index
    rows.insert(at, (row, height))


def _runs(line: Sequence[_Glyph], height: float) -> list[list[_Glyph]]:
    """Return the runs of a *line* (from left to right) in reading order, with a blank for each gap between words."""
    spaced: list[_Glyph] = []
    for glyph in line:
        is_apart = spaced and spaced[-1].is_right_to_left != glyph.is_right_to_left and glyph.char.isalnum()
        if spaced and (is_apart or glyph.left - spaced[-1].right > _WORD_GAP * height):
            spaced.append(_Glyph(spaced[-1].right, glyph.left, glyph.middle, " "))
        spaced.append(glyph)
    runs = [list(run) for _, run in groupby(spaced, key=lambda glyph: glyph.is_right_to_left)]
    read: list[list[_Glyph]] = []
    for run in reversed(runs):
        if run[0].is_right_to_left:
            read.append(run[::-1])
            continue
        written = "".join(glyph.char for glyph in run)
        start, at_right = _AT_LEFT.match(written).end(), _AT_RIGHT.search(written)  # type: ignore[union-attr]
        end = max(start, at_right.start()) if at_right else len(run)
        read += filter(None, (run[end:][::-1], run[start:end], run[:start][::-1]))
    return read


def _by_line(runs: list[list[_Glyph]]) -> Iterator[list[_Glyph]]:
    """Yield *runs* in reading order on pages of a program that orders each line separately, as Pango does.

    Then the characters that end a line of a URL are at its left (``//:https``), and digits that begin a line at its
    right (``cl010066723/53355``).
    """
    for index, run in enumerate(runs):
        text = "".join(glyph.char for glyph in run)
        ending = _LEFT_OVER.match(text) if index or len(runs) == 1 else None
        at = ending.end() if ending else 0
        digits = _DIGITS_LAST.search(text, at) if index == 0 else None
        cut = digits.start() if digits else len(run)
        first = [*run[cut + 1 :], run[cut]] if digits else []
        yield [*first, *run[at:cut], *reversed(run[:at])]
