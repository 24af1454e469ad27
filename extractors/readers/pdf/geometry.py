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
WIDEST_LETTER_GAP = 0.16  # of the height of the font: a gap that doesn't separate words
_FEWEST_LINES = 3  # of a column, for its right edge to be known
_ENOUGH_LINES = 8  # of a stretch of text, to use it without the rest of its column
_LEAST_CHAR_WIDTH = 0.1  # the minimum width of an average character, in heights of its font
WIDEST_LEADING = 2.2  # line heights between two lines of one column


class Box(NamedTuple):
    """A rectangle on a page, in points from the lower left corner of the page."""

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
    """A line of a page's text with its position in points; offsets are code points in the text."""

    start: int
    end: int
    """The offset of its line break; blanks before that are outside of the box."""
    left: float
    bottom: float
    right: float
    top: float
    """The top of the font at the beginning of the line; `bottom` is that of the same font."""

    @property
    def height(self) -> float:
        """The height of its font."""
        return self.top - self.bottom

    @property
    def middle(self) -> float:
        """The vertical centre of the line on the page."""
        return (self.bottom + self.top) / 2


Lines = Sequence[Line]


def line_index_at(lines: Lines, offset: int) -> int:
    """Return the index of the last line that begins at or before *offset*; -1 if there is none."""
    return bisect_right(lines, offset, key=attrgetter("start")) - 1


class Glyphs:
    """The boxes of the characters of a text page, by offset in its text, while the page is open."""

    def __init__(self, text_page: PdfTextPage, char_index: Callable[[int], int] | None = None) -> None:
        self._text_page = text_page
        self._char_index = char_index
        self.turns = frozenset({0})
        """The quarter turns of text on the page, as in a table on its side, a margin or a rotated page."""

    def find_turns(self, offsets: Iterable[int]) -> None:
        """Set `turns` to the rotations of the characters at *offsets*, so that `box` returns upright boxes from now on."""
        self.turns = frozenset(map(self.turn, offsets)) | {0}

    def reordered(self, origins: Sequence[int]) -> Self:
        """Return the glyphs of a reordered text; *origins* are the offsets of its characters in this text."""
        reordered_glyphs = type(self)(self._text_page, lambda offset: self._index(origins[offset]))
        reordered_glyphs.turns = self.turns
        return reordered_glyphs

    def turn(self, offset: int) -> int:
        """Return by how many quarter turns (0 to 3) the character at *offset* is rotated."""
        angle = float(pdfium.FPDFText_GetCharAngle(self._text_page, self._index(offset)))
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
        """Return the box of the character at *offset*, of its advance width and font height, not of its ink."""
        box = pdfium.FS_RECTF()
        pdfium.FPDFText_GetLooseCharBox(self._text_page, self._index(offset), box)
        return self._upright(offset, Box(box.left, box.bottom, box.right, box.top))

    def _upright(self, offset: int, box: Box) -> Box:
        return box if len(self.turns) == 1 else box.turn(self.turn(offset))

    def boxes(self, offsets: Iterable[int]) -> list[Box]:
        """Return the boxes (as `box`) of the characters at *offsets*."""
        return list(map(self.box, offsets))

    def letter_bottoms(self, offsets: Iterable[int]) -> list[float]:
        """Return the bottoms of the ink of the characters at *offsets*, in points, mostly on the base line."""
        left, right, bottom, top = edges = tuple(ctypes.c_double() for _ in range(4))
        bottoms = []
        for offset in offsets:
            pdfium.FPDFText_GetCharBox(self._text_page, self._index(offset), *edges)
            box = Box(left.value, bottom.value, right.value, top.value)
            bottoms.append(self._upright(offset, box).bottom)
        return bottoms

    def center(self, offset: int) -> float:
        """Return the horizontal centre of the character at *offset*, in points."""
        box = self.box(offset)
        return (box.left + box.right) / 2

    def is_generated(self, offset: int) -> bool:
        """Return True if the character at *offset* is a space that PDFium inserted for white space."""
        return bool(pdfium.FPDFText_IsGenerated(self._text_page, self._index(offset)) == 1)

    def font_size(self, offset: int) -> float:
        """Return the font size at *offset* without the scaling of the page, mostly the same all over a page."""
        return float(pdfium.FPDFText_GetFontSize(self._text_page, self._index(offset)))

    def _index(self, offset: int) -> int:
        return offset if self._char_index is None else self._char_index(offset)


def lines_of(text: str, glyphs: Glyphs) -> Lines:
    """Return the lines of *text*, in its order."""
    lines = []
    for line in _LINE.finditer(text):
        start, last_offset = line.start(), line.end() - 1
        first_box, end = glyphs.box(start), last_offset if text[last_offset] == LINE_END_HYPHEN else last_offset + 1
        right = glyphs.box(last_offset).right
        lines.append(Line(start, end, first_box.left, first_box.bottom, right, first_box.top))
    return lines


def without_false_breaks(text: str, lines: Lines) -> str:
    """Return *text* without the line breaks that PDFium puts at zero-width spaces; *lines* are those of *text*.

    Each character of such a break becomes a zero-width space. PDFium gives only the ink box of some characters, so the
    font height is that of neighbours.
    """
    pieces, copied_to = [], 0
    for index, (line, next_line) in enumerate(pairwise(lines)):
        gap = next_line.left - line.right
        height = max(near_line.height for near_line in lines[max(0, index - 2) : min(len(lines), index + 4)])
        if (
            _is_level(line, next_line)
            and -SLACK < gap < WIDEST_LETTER_GAP * height
            and text[line.end] != LINE_END_HYPHEN
        ):
            break_chars = next_line.start - line.end
            pieces += [text[copied_to : line.end], ZERO_WIDTH_SPACE * break_chars]
            copied_to = next_line.start
    return "".join((*pieces, text[copied_to:]))


def _is_level(line: Line, next_line: Line) -> bool:
    """Return True if *next_line* continues *line* at the same height, and is no raised mark.

    One of the boxes is within the height of the other, or *next_line* hangs below, as the ink of a "g" does.
    """
    is_line_within = line.bottom > next_line.bottom - SLACK and line.top < next_line.top + SLACK
    is_following_within = next_line.bottom > line.bottom - SLACK and next_line.top < line.top + SLACK
    overlap = min(line.top, next_line.top) - max(line.bottom, next_line.bottom)
    is_hanging = next_line.bottom < line.bottom + SLACK and 2 * overlap > min(line.height, next_line.height)
    return is_line_within or is_following_within or is_hanging


def line_slack_of(lines: Lines, is_wanted: Sequence[bool]) -> tuple[tuple[int, float], ...]:
    """Return the end offset of each line whose *is_wanted* is True, and how many further characters fit in the line.

    Lines whose free space is unknown are left out.
    """
    line_slack = []
    stretches, continued_indexes = _stretches(lines)
    for start_index, stop_index in stretches:
        if True not in is_wanted[start_index:stop_index]:
            continue
        column: Sequence[int] = range(start_index, stop_index)
        if stop_index - start_index < _ENOUGH_LINES:
            # The lines of all stretches with the same left edge.
            line = lines[start_index]
            tolerance = 2 * (line.right - line.left) / (line.end - line.start)
            similar_stretches = (
                range(*stretch) for stretch in stretches if abs(lines[stretch[0]].left - line.left) < tolerance
            )
            column = [index for stretch in similar_stretches for index in stretch]
        right_edge = _right_edge(lines, column)
        if right_edge is None:
            continue
        for index in range(start_index, stop_index):
            if is_wanted[index] and index not in continued_indexes:
                start, end, left, bottom, right, top = lines[index]
                char_width = (right - left) / (end - start)
                if char_width > _LEAST_CHAR_WIDTH * (top - bottom):
                    line_slack.append((end, round((right_edge - right) / char_width, 2)))
    return tuple(line_slack)


def _stretches(lines: Lines) -> tuple[list[tuple[int, int]], set[int]]:
    """Return the index ranges of successive *lines* in a column, and the indexes of lines that the next one continues.

    The next line is then at the same height: PDFium breaks lines at raised footnote marks.
    """
    ranges: list[tuple[int, int]] = []
    continued_indexes: set[int] = set()
    start_index = 0
    for index, (previous_line, line) in enumerate(pairwise(lines), start=1):
        leading, height = previous_line.bottom - line.bottom, max(line.height, previous_line.height)
        is_below = SLACK < leading < WIDEST_LEADING * height
        if is_below and line.left < previous_line.right and previous_line.left < line.right:
            continue
        overlaps = line.bottom < previous_line.top and previous_line.bottom < line.top and abs(leading) < 0.6 * height
        if overlaps and line.left >= previous_line.right - SLACK:
            continued_indexes.add(index - 1)  # visually one line: PDFium breaks lines at raised footnote marks
            continue
        ranges.append((start_index, index))
        start_index = index
    if lines:
        ranges.append((start_index, len(lines)))
    return ranges, continued_indexes


def _right_edge(lines: Lines, column: Sequence[int]) -> float | None:
    """Return the right edge, in points, of the *column* with these line indexes; None for few lines.

    Many lines end at this edge, or else the longest line that isn't overfull does.
    """
    if len(column) < _FEWEST_LINES:
        return None
    in_column = [lines[index] for index in column]
    right_ends = [line.right for line in in_column]
    chars = sum(line.end - line.start for line in in_column)
    width = (sum(right_ends) - sum(line.left for line in in_column)) / chars
    if not width > 0:  # mirrored text, or text without width, has no edge
        return None
    right_ends.sort()
    low = most_ends = 0
    right_edge = right_ends[-1]
    for high, right in enumerate(right_ends):
        while right_ends[low] < right - width / 2:
            low += 1
        if high - low >= most_ends:
            most_ends, right_edge = high - low, right
    usual_end = right_ends[3 * len(right_ends) // 4]
    # Short lines may end alike, too, such as page numbers below each other.
    if most_ends + 1 < max(_FEWEST_LINES, len(right_ends) / 4) or right_edge < usual_end - 3 * width:
        right_edge = right_ends[bisect_right(right_ends, usual_end + 3 * width) - 1]
    return right_edge


class Rows:
    """The lines of a page by height, for finding those under a rectangle."""

    def __init__(self, text: str, lines: Lines, glyphs: Glyphs) -> None:
        self._text = text
        self._rows = sorted(lines, key=attrgetter("middle"))
        self._glyphs = glyphs

    def ranges_under(self, rectangle: Box) -> list[tuple[int, int]]:
        """Return the ranges of text in *rectangle*, in order, without the blanks around them."""
        low = bisect_left(self._rows, rectangle.bottom - SLACK, key=attrgetter("middle"))
        high = bisect_right(self._rows, rectangle.top + SLACK, key=attrgetter("middle"))
        ranges = (self._range_under(line, rectangle) for line in self._rows[low:high])
        return sorted(span for span in ranges if span is not None)

    def _range_under(self, line: Line, rectangle: Box) -> tuple[int, int] | None:
        """Return start and end of the characters of *line* in a link's *rectangle*, without outer blanks; None without any."""
        if line.right < rectangle.left or rectangle.right < line.left:
            return None
        start, end = line.start, line.end
        if line.left < rectangle.left - SLACK:
            start = bisect_left(range(end), rectangle.left - SLACK / 2, lo=start, key=self._glyphs.center)
        if rectangle.right + SLACK < line.right:
            end = bisect_left(range(end), rectangle.right + SLACK / 2, lo=start, key=self._glyphs.center)
        covered_text = self._text[start:end]
        start += len(covered_text) - len(covered_text.lstrip())
        end -= len(covered_text) - len(covered_text.rstrip())
        return (start, end) if start < end else None


# Pages of Hebrew, Arabic and other scripts written from right to left, in reading order. PDFium guesses that order, and
# scrambles URLs and ARKs in such lines. Here the glyphs of each line are ordered by their position: runs from right to
# left, and glyphs of other scripts within a run from left to right.

_RIGHT_TO_LEFT = frozenset({"R", "AL"})
_LETTER = regex.compile(r"\p{L}")
_LETTERS = regex.compile(r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
#: In a run as drawn, from left to right: characters that begin no URL, and digits after a delimiter at the end.
_LEADING_DELIMITERS = regex.compile(r"[/:.=?&-]+(?=[\p{L}\p{N}])")
#: In a run as drawn: punctuation of the text around it, which follows it at its left, and precedes it at its right.
_LEADING_PUNCTUATION = re.compile(r"(?:[^\w ]* )?(?:[,;.!?)\]\u060c]+(?=[\w/:]))?")
_TRAILING_PUNCTUATION = re.compile(r" [^\w]*\Z")
_TRAILING_DIGITS = regex.compile(r"(?<=\p{L}[\p{L}\p{N}]*)[/:](?=\p{N}+\Z)")
_RIGHT_TO_LEFT_SHARE = 0.2  # of the letters of a page, above which its lines run from right to left
_MOST_ROW_DISTANCE = 5  # that PDFium gives in another order
_WORD_GAP = 0.12  # of the height of the font


class OrderedText(NamedTuple):
    """The text of a page in reading order."""

    text: str
    line_slack: tuple[tuple[int, float], ...]
    """As `Block.line_slack`: the free space at the left of each line."""
    glyph_centers: tuple[tuple[float, float], ...]
    """For each character, the centre of its glyph."""

    def ranges_under(self, box: Box) -> tuple[tuple[int, int], ...]:
        """Return the ranges of text whose glyphs have their centre in *box*."""
        is_within = [box.left <= x <= box.right and box.bottom <= y <= box.top for x, y in self.glyph_centers]
        edges = [
            offset
            for offset, (was_within, is_inside) in enumerate(pairwise([False, *is_within, False]))
            if was_within != is_inside
        ]
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
    """Return True if the lines of a page with this *text* run from right to left.

    >>> is_right_to_left("ראו ark:/12148/btv1b84"), is_right_to_left("see ark:/12148/btv1b84")
    (True, False)
    """
    count = sum(1 for _ in _LETTERS.finditer(text))
    return count > 0 and count > _RIGHT_TO_LEFT_SHARE * sum(1 for _ in _LETTER.finditer(text))


def order_text(text: str, lines: Lines, glyphs: Glyphs) -> OrderedText:
    """Return the *text* of a page written from right to left, with the characters of each line in reading order."""
    glyph_rows: list[tuple[list[_Glyph], float]] = []
    for line in lines:
        end = line.end + text.startswith(LINE_END_HYPHEN, line.end)
        for row in _rows(text, range(line.start, end), glyphs):
            _insert_row(glyph_rows, row, line.height)
    rows = [_runs(row, height) for row, height in glyph_rows]
    is_by_line = any(len(runs) > 1 and runs[-1][0].char in "/:" for runs in rows if runs)
    chars: list[str] = []
    doubled_centers: list[tuple[float, float]] = []
    line_ends: list[tuple[int, float, float, float]] = []
    for runs in rows:
        ordered_glyphs = [glyph for run in (_runs_by_line(runs) if is_by_line else runs) for glyph in run]
        if not ordered_glyphs:
            continue
        chars += [*(["\n"] if chars else []), *(glyph.char for glyph in ordered_glyphs)]
        doubled_centers += [
            *([(-1.0, -1.0)] if doubled_centers else []),
            *((glyph.left + glyph.right, glyph.middle) for glyph in ordered_glyphs),
        ]
        left, right = min(glyph.left for glyph in ordered_glyphs), max(glyph.right for glyph in ordered_glyphs)
        line_ends.append((len(chars), left, right, (right - left) / len(ordered_glyphs)))
    line_slack = tuple(
        (end, round((left - min(line[1] for line in line_ends if abs(line[2] - right) < 2 * width)) / width, 2))
        for end, left, right, width in line_ends
        if width > 0
    )
    return OrderedText(
        "".join(chars), line_slack, tuple((doubled_x / 2, middle) for doubled_x, middle in doubled_centers)
    )


def _rows(text: str, offsets: range, glyphs: Glyphs) -> Iterator[list[_Glyph]]:
    """Yield the glyphs at the *offsets* of a line, without blanks, as one or more rows, each from left to right."""
    visible_offsets = [offset for offset in offsets if not text[offset].isspace()]
    boxes = glyphs.boxes(visible_offsets)
    row_glyphs = [
        _Glyph(box.left, box.right, (box.top + box.bottom) / 2, text[offset].replace(LINE_END_HYPHEN, "-"))
        for offset, box in zip(visible_offsets, boxes, strict=True)
    ]
    sorted_glyphs = sorted(row_glyphs, key=lambda glyph: -glyph.middle)
    height = max((box.height for box in boxes), default=0.0)
    row: list[_Glyph] = []
    for glyph in sorted_glyphs:
        if row and row[-1].middle - glyph.middle > height / 2:
            yield sorted(row)
            row = []
        row.append(glyph)
    yield sorted(row)


def _insert_row(rows: list[tuple[list[_Glyph], float]], row: list[_Glyph], height: float) -> None:
    """Insert *row* and its font *height* (points) into *rows*, which are from top to bottom.

    A row that continues another at the same height is merged with it.
    """
    position = len(rows)
    for index in range(position - 1, max(-1, position - _MOST_ROW_DISTANCE), -1):
        other_row = rows[index][0]
        rise = row[0].middle - other_row[0].middle
        if (
            abs(rise) < height / 4
            and min(abs(row[0].left - other_row[-1].right), abs(other_row[0].left - row[-1].right)) < SLACK
        ):
            rows[index] = sorted([*other_row, *row]), max(height, rows[index][1])
            return
        if not height / 2 < rise < WIDEST_LEADING * height:
            break
        if row[0].left < other_row[-1].right and other_row[0].left < row[-1].right:
            position = index
    rows.insert(position, (row, height))


def _runs(line: Sequence[_Glyph], height: float) -> list[list[_Glyph]]:
    """Return the glyphs of *line* (from left to right) in runs of one direction, in reading order.

    Wide gaps become blanks; *height* is that of the font in points.
    """
    spaced_glyphs: list[_Glyph] = []
    for glyph in line:
        is_apart = (
            spaced_glyphs and spaced_glyphs[-1].is_right_to_left != glyph.is_right_to_left and glyph.char.isalnum()
        )
        if spaced_glyphs and (is_apart or glyph.left - spaced_glyphs[-1].right > _WORD_GAP * height):
            spaced_glyphs.append(_Glyph(spaced_glyphs[-1].right, glyph.left, glyph.middle, " "))
        spaced_glyphs.append(glyph)
    runs = [list(run) for _, run in groupby(spaced_glyphs, key=lambda glyph: glyph.is_right_to_left)]
    ordered_runs: list[list[_Glyph]] = []
    for run in reversed(runs):
        if run[0].is_right_to_left:
            ordered_runs.append(run[::-1])
            continue
        run_text = "".join(glyph.char for glyph in run)
        start = _LEADING_PUNCTUATION.match(run_text).end()  # type: ignore[union-attr]
        trailing_match = _TRAILING_PUNCTUATION.search(run_text)
        end = max(start, trailing_match.start()) if trailing_match else len(run)
        ordered_runs += filter(None, (run[end:][::-1], run[start:end], run[:start][::-1]))
    return ordered_runs


def _runs_by_line(runs: list[list[_Glyph]]) -> Iterator[list[_Glyph]]:
    """Yield the *runs* of a line with the characters of wrapped URLs in reading order.

    Programs such as Pango order each line of a wrapped URL separately. They draw the delimiters that end a line at its
    left (``//:https``), and digits that begin a line at its right (``cl010066723/53355``).
    """
    for index, run in enumerate(runs):
        text = "".join(glyph.char for glyph in run)
        leading_match = _LEADING_DELIMITERS.match(text) if index or len(runs) == 1 else None
        start = leading_match.end() if leading_match else 0
        digits_match = _TRAILING_DIGITS.search(text, start) if index == 0 else None
        cut = digits_match.start() if digits_match else len(run)
        leading_glyphs = [*run[cut + 1 :], run[cut]] if digits_match else []
        yield [*leading_glyphs, *run[start:cut], *reversed(run[:start])]
