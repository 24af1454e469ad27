"""The geometry of a PDF page: its lines, how full they are, and which text lies under a rectangle."""

from __future__ import annotations

import ctypes
import re
import struct
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Self, overload

import pypdfium2.raw as pdfium
from pypdfium2 import PdfTextPage

#: PDFium's mark for a hyphen at the end of a line; the line break is gone.
ZERO_WIDTH_SPACE = "\N{ZERO WIDTH SPACE}"
LINE_END_HYPHEN = "\ufffe"  # a noncharacter: Unicode has no name for it

_LINE = re.compile(
    rf"""
    [^\s{LINE_END_HYPHEN}] (?: [^\r\n{LINE_END_HYPHEN}]* [^\s{LINE_END_HYPHEN}] )?   # without blanks around it
    (?P<hyphen> {LINE_END_HYPHEN} )?
    """,
    re.VERBOSE,
)
_SLACK = 1.0  # points: links and the text under them are drawn by different rules
_NO_SPACE = 0.16  # of the height of the font: a gap that parts no words
_FEWEST_LINES = 3  # of a column, for its right edge to be known
_ENOUGH_LINES = 8  # of a stretch of text, not to look for others of its column
_UPRIGHT = 0.1  # the least width of an average character, in heights of its font
_WIDEST_LEADING = 2.2  # line heights between two lines of one column
_RECTANGLE = struct.Struct("4f")  # FS_RECTF: left, top, right, bottom


def called_fast(function: Any, result_type: Any, *argument_types: Any) -> Callable[..., Any]:
    """A function of PDFium without the checks of its bindings: there are thousands of characters on a page.

    Handles and buffers are addresses. It keeps the global interpreter lock: it takes less time than to give that away.
    """
    address = ctypes.cast(function, ctypes.c_void_p).value
    return ctypes.PYFUNCTYPE(result_type, *argument_types)(address or 0)


_PAGE, _INDEX, _RECTANGLE_ADDRESS = ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p
_char_box = called_fast(pdfium.FPDFText_GetLooseCharBox, ctypes.c_int, _PAGE, _INDEX, _RECTANGLE_ADDRESS)
_is_generated = called_fast(pdfium.FPDFText_IsGenerated, ctypes.c_int, _PAGE, _INDEX)
_ink_box = called_fast(pdfium.FPDFText_GetCharBox, ctypes.c_int, _PAGE, _INDEX, *[ctypes.c_void_p] * 4)
_font_size = called_fast(pdfium.FPDFText_GetFontSize, ctypes.c_double, _PAGE, _INDEX)


class Box(NamedTuple):
    """A rectangle on a page in points; the origin is its lower left corner."""

    left: float
    bottom: float
    right: float
    top: float


class Line(NamedTuple):
    """A line of a page's text and where it is; offsets are code points in the text."""

    start: int
    end: int
    """Where its line break begins; blanks before that have no place in the box."""
    left: float
    bottom: float
    right: float
    top: float
    """As `bottom`, of the font in which the line begins."""

    @property
    def height(self) -> float:
        """The height of its font."""
        return self.top - self.bottom

    @property
    def middle(self) -> float:
        """The height on the page at which it is."""
        return (self.bottom + self.top) / 2


class Lines(Sequence[Line]):
    """The lines of a page; kept by column, for there are many pages."""

    def __init__(self, columns: Sequence[Sequence[Any]]) -> None:
        self.starts, self.ends, self.lefts, self.bottoms, self.rights, self.tops = columns

    def __len__(self) -> int:
        return len(self.starts)

    @overload
    def __getitem__(self, index: int) -> Line: ...
    @overload
    def __getitem__(self, index: slice) -> list[Line]: ...
    def __getitem__(self, index: int | slice) -> Line | list[Line]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        return Line(
            self.starts[index],
            self.ends[index],
            self.lefts[index],
            self.bottoms[index],
            self.rights[index],
            self.tops[index],
        )

    def moved(self, moved: Callable[[int], int]) -> Lines:
        """The same lines after their text was changed."""
        starts, ends = list(map(moved, self.starts)), list(map(moved, self.ends))
        return Lines((starts, ends, self.lefts, self.bottoms, self.rights, self.tops))


NO_LINES = Lines(((),) * 6)


class Glyphs:
    """The boxes of the characters of a text page, by their offsets in its text, as long as the page is open."""

    def __init__(self, text_page: PdfTextPage, char_index: Callable[[int], int] | None = None) -> None:
        self._page = ctypes.cast(text_page.raw, ctypes.c_void_p).value
        self._char_index = char_index
        self._buffer = ctypes.create_string_buffer(_RECTANGLE.size)
        self._buffer_address = ctypes.addressof(self._buffer)
        self._ink = [ctypes.c_double() for _ in range(4)]  # left, right, bottom, top
        self._ink_addresses = [ctypes.addressof(corner) for corner in self._ink]

    @classmethod
    def of(cls, text_page: PdfTextPage, text: str) -> Self | None:
        """The glyphs of *text*, which is all that PDFium gave for the page; None if offsets in it mean nothing."""
        count = text_page.count_chars()
        if count == len(text):
            return cls(text_page)
        units = pdfium.FPDFText_GetTextIndexFromCharIndex(text_page, count - 1) + 1 if count else 0
        if units != len(text):  # beyond the Basic Multilingual Plane
            return None
        return cls(text_page, lambda offset: int(pdfium.FPDFText_GetCharIndexFromTextIndex(text_page, offset)))

    def corners(self, offset: int) -> tuple[float, float, float, float]:
        """Left, top, right and bottom: of the character's advance width, and of its font, not of its letter."""
        index = offset if self._char_index is None else self._char_index(offset)
        _char_box(self._page, index, self._buffer_address)
        return _RECTANGLE.unpack(self._buffer)

    def all_corners(self, offsets: Sequence[int]) -> tuple[list[float], list[float], list[float], list[float]]:
        """The corners of several characters: their lefts, tops, rights and bottoms."""
        indexes = offsets if self._char_index is None else list(map(self._char_index, offsets))
        values = (ctypes.c_float * (4 * len(indexes)))()
        page, address, size = self._page, ctypes.addressof(values), _RECTANGLE.size
        for index in indexes:
            _char_box(page, index, address)
            address += size
        corners = values[:]
        return corners[0::4], corners[1::4], corners[2::4], corners[3::4]

    def feet(self, offsets: Sequence[int]) -> list[float]:
        """The lowest points of the letters at *offsets*: most are on the base line of their line."""
        indexes = offsets if self._char_index is None else list(map(self._char_index, offsets))
        page, foot = self._page, self._ink[2]
        left, right, bottom, top = self._ink_addresses
        feet = []
        for index in indexes:
            _ink_box(page, index, left, right, bottom, top)
            feet.append(foot.value)
        return feet

    def center(self, offset: int) -> float:
        """Return where between left and right a character is."""
        left, _, right, _ = self.corners(offset)
        return (left + right) / 2

    def is_generated(self, offset: int) -> bool:
        """Return whether PDFium concluded from a gap that a space must be here."""
        index = offset if self._char_index is None else self._char_index(offset)
        return bool(_is_generated(self._page, index) == 1)

    def font_size(self, offset: int) -> float:
        """The size of the font as the page sets it; what scales it is mostly the same all over a page."""
        index = offset if self._char_index is None else self._char_index(offset)
        return float(_font_size(self._page, index))


def lines_of(text: str, glyphs: Glyphs) -> Lines:
    """The lines of a page in the order of its text."""
    spans = [line.span() for line in _LINE.finditer(text)]
    starts = [start for start, _ in spans]
    lasts = [stop - 1 for _, stop in spans]
    ends = [last if text[last] == LINE_END_HYPHEN else last + 1 for last in lasts]
    lefts, tops, _, bottoms = glyphs.all_corners(starts)
    _, _, rights, _ = glyphs.all_corners(lasts)
    return Lines((starts, ends, lefts, bottoms, rights, tops))


def without_false_breaks(text: str, lines: Lines) -> str:
    """Return *text* without the line breaks that are within a line, where programs write zero-width spaces.

    PDFium breaks lines at those, and knows of some characters there only their ink: the height of the font is that of
    others. Each character of such a break becomes another zero-width space.
    """
    pieces, done = [], 0
    for index, (line, following) in enumerate(pairwise(lines)):
        gap = following.left - line.right
        height = max(near.height for near in lines[max(0, index - 2) : min(len(lines), index + 4)])
        if _is_level(line, following) and -_SLACK < gap < _NO_SPACE * height and text[line.end] != LINE_END_HYPHEN:
            between = following.start - lines.ends[index]
            pieces += [text[done : line.end], ZERO_WIDTH_SPACE * between]
            done = following.start
    return "".join((*pieces, text[done:]))


def _is_level(line: Line, following: Line) -> bool:
    """Return whether *following* is on the base line of *line*, and is no raised mark.

    Where only the ink of a letter is known, it lies within the height of the others, or hangs below it (g).
    """
    line_within = line.bottom > following.bottom - _SLACK and line.top < following.top + _SLACK
    within_line = following.bottom > line.bottom - _SLACK and following.top < line.top + _SLACK
    overlap = min(line.top, following.top) - max(line.bottom, following.bottom)
    hangs = following.bottom < line.bottom + _SLACK and 2 * overlap > min(line.height, following.height)
    return line_within or within_line or hangs


def rooms_of(lines: Lines, wanted: Sequence[bool]) -> tuple[tuple[int, float], ...]:
    """For the *wanted* lines: where each ends, and how many of its average characters still fit into its column."""
    line_slack = []
    stretches, continued = _stretches(lines)
    for first, stop in stretches:
        if True not in wanted[first:stop]:
            continue
        column: Sequence[int] = range(first, stop)
        if stop - first < _ENOUGH_LINES:
            column = _column_of(lines, first, stretches)
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
    """The ranges of lines that follow one another down a column; and the lines that go on in their row."""
    ranges: list[tuple[int, int]] = []
    continued: set[int] = set()
    first = 0
    corners = zip(lines.lefts, lines.bottoms, lines.rights, lines.tops, strict=True)
    for index, (last, line) in enumerate(pairwise(corners), start=1):
        last_left, last_bottom, last_right, last_top = last
        left, bottom, right, top = line
        leading, height = last_bottom - bottom, max(top - bottom, last_top - last_bottom)
        if _SLACK < leading < _WIDEST_LEADING * height and left < last_right and last_left < right:
            continue
        if left >= last_right - _SLACK and bottom < last_top and last_bottom < top and abs(leading) < 0.6 * height:
            continued.add(index - 1)  # to the eye it is one line: PDFium breaks lines at raised footnote marks
            continue
        ranges.append((first, index))
        first = index
    if lines:
        ranges.append((first, len(lines)))
    return ranges, continued


def _column_of(lines: Lines, first: int, stretches: Iterable[tuple[int, int]]) -> list[int]:
    """The lines, by index, of all *stretches* that begin at the left where the one from *first* on does."""
    left = lines.lefts[first]
    near = 2 * (lines.rights[first] - left) / (lines.ends[first] - lines.starts[first])
    return [index for start, stop in stretches if abs(lines.lefts[start] - left) < near for index in range(start, stop)]


def _right_edge(lines: Lines, column: Sequence[int]) -> float | None:
    """Return where the lines of a column end at most: where many of them do, else the longest that isn't overfull."""
    if len(column) < _FEWEST_LINES:
        return None
    rights = [lines.rights[index] for index in column]
    chars = sum([lines.ends[index] - lines.starts[index] for index in column])
    width: float = (sum(rights) - sum([lines.lefts[index] for index in column])) / chars
    if not width > 0:  # mirrored text, or what has no width: there is no edge to speak of
        return None
    rights.sort()
    low = most = 0
    edge: float = rights[-1]
    for high, right in enumerate(rights):
        while rights[low] < right - width / 2:
            low += 1
        if high - low >= most:
            most, edge = high - low, right
    if most + 1 < max(_FEWEST_LINES, len(rights) / 4):
        usual = rights[3 * len(rights) // 4]
        edge = rights[bisect_right(rights, usual + 3 * width) - 1]
    return edge


class Rows:
    """The lines of a page by height, to find those under a rectangle."""

    def __init__(self, text: str, lines: Lines, glyphs: Glyphs) -> None:
        self._text = text
        self._lines = lines
        middles = [(bottom + top) / 2 for bottom, top in zip(lines.bottoms, lines.tops, strict=True)]
        self._order = sorted(range(len(middles)), key=middles.__getitem__)
        self._middles = sorted(middles)
        self._glyphs = glyphs

    def under(self, rectangle: Box) -> list[tuple[int, int]]:
        """The ranges of the text that lie in *rectangle*, in order, without blanks around them."""
        low = bisect_left(self._middles, rectangle.bottom - _SLACK)
        high = bisect_right(self._middles, rectangle.top + _SLACK)
        ranges = (self._part(self._lines[index], rectangle) for index in self._order[low:high])
        return sorted(span for span in ranges if span is not None)

    def _part(self, line: Line, rectangle: Box) -> tuple[int, int] | None:
        if line.right < rectangle.left or rectangle.right < line.left:
            return None
        start, end = line.start, line.end
        if line.left < rectangle.left - _SLACK:
            start = bisect_left(range(end), rectangle.left - _SLACK / 2, lo=start, key=self._glyphs.center)
        if rectangle.right + _SLACK < line.right:
            end = bisect_left(range(end), rectangle.right + _SLACK / 2, lo=start, key=self._glyphs.center)
        words = self._text[start:end]
        start, end = start + len(words) - len(words.lstrip()), end - len(words) + len(words.rstrip())
        return (start, end) if start < end else None
