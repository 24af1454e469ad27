"""False spaces of PDFium in wide-set words, drawn underscores, and missing spaces before raised footnote marks.

Only words around a label are checked, by gaps and base lines alone, whatever an ARK looks like.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from math import inf
from operator import attrgetter
from statistics import median

from extractors.readers.pdf.geometry import Box, Glyphs, Lines, line_at

#: Gaps in heights of the font. The narrowest space of a book face is a quarter of the height.
_NO_SPACE = 0.16
_SURE_SPACE = 0.26
#: Minimum ratio of the line's spaces to the letter spacing, for gaps between the two limits.
_CONTRAST = 2.2

#: A gap is checked only if it is narrower than this share of the usual gap on the page.
_UNUSUAL = 0.75
_PROBES = 9  # of a page, to find the usual gap
_MOST_LINES = 8
_MOST_SPACES = 100  # of a line

#: Letterspacing, in heights of the font: the minimum gap that PDFium takes for a space, the share that kerning may
#: remove, and the minimum by which a space between words is wider.
_WIDE = 0.08
_KERNED = 0.3
_WORD_SPACE = 0.12
_FEW = 4
_LAST, _SHORT = 12, 8
_NEAR = 6  # characters from a label to the gaps around it
_PRINTED = re.compile("[^ \N{ZERO WIDTH SPACE}]\N{ZERO WIDTH SPACE}*")

_BETWEEN_WORDS = re.compile(r"(?<=\S) (?=\S)")
_RAISED = 0.15  # of the height of the font
_SMALLER = 0.9
#: Characters on the base line in every face; some digits are not, in old style.
_STANDING = frozenset("abcdefhiklmnorstuvwxzABCDEFGHIKLMNOPRSTUVWXYZ01268")
_MARKS = frozenset("*\N{DAGGER}\N{DOUBLE DAGGER}\N{SECTION SIGN}\N{PILCROW SIGN}")
_HANGING = frozenset("gjpqyJQ,;()[]{}/@_")


def with_drawn_underscores(
    text: str, labels: Iterable[int], lines: Lines, glyphs: Glyphs, strokes: Sequence[Box]
) -> str:
    """Return *text* with underscores for spaces above *strokes*, sorted from the lowest, in lines near *labels*.

    TeX draws the underscores that its old fonts don't have.
    """
    chars = list(text)
    near = {index for label in labels for index in range(max(0, line_at(lines, label)), len(lines))[:_FEW]}
    for line in (lines[index] for index in near):
        low = bisect_left(strokes, line.bottom, key=attrgetter("bottom"))
        for stroke in strokes[low : bisect_left(strokes, line.middle, key=attrgetter("bottom"))]:
            middle = (stroke.left + stroke.right) / 2
            if line.left < middle < line.right:
                after = bisect_left(range(line.end), middle, lo=line.start, key=glyphs.center)
                [foot] = glyphs.letter_bottoms([after])
                if text[after - 1] == " " and abs(stroke.bottom - foot) < _RAISED * line.height:
                    chars[after - 1] = "_"
    return "".join(chars)


@dataclass(frozen=True, slots=True)
class Corrections:
    """The wrong spaces in a page's text; offsets are code points in PDFium's text."""

    removed: tuple[int, ...] = ()
    """Offsets of false spaces, in order."""
    inserted: tuple[int, ...] = ()
    """Offsets of characters that need a space before them, in order."""
    doubtful: tuple[int, ...] = ()
    """Offsets of doubtful spaces, in order."""

    def __bool__(self) -> bool:
        return bool(self.removed or self.inserted)

    def apply(self, text: str) -> str:
        """Return *text* with the corrections applied.

        >>> Corrections(removed=(2,), inserted=(7,)).apply("ar k:/x1")
        'ark:/x 1'
        """
        pieces, done = [], 0
        for offset, skipped, written in sorted(
            [(at, 1, "") for at in self.removed] + [(at, 0, " ") for at in self.inserted]
        ):
            pieces += [text[done:offset], written]
            done = offset + skipped
        return "".join((*pieces, text[done:]))

    def new_offset(self, offset: int) -> int:
        """Return the new offset of the character at *offset*, or of the space inserted before it."""
        return offset - bisect_left(self.removed, offset) + bisect_left(self.inserted, offset)

    @property
    def seams(self) -> tuple[int, ...]:
        """The new offsets of removed and doubtful spaces, and of letters after an inserted space.

        >>> Corrections(removed=(2,), inserted=(7,)).seams
        (2, 7)
        """
        blanks = set(map(self.new_offset, self.inserted))
        others = set(map(self.new_offset, (*self.removed, *self.doubtful))) - blanks
        return tuple(sorted(others.union(blank + 1 for blank in blanks)))


class Spacing:
    """The spaces of one page around *labels* (offsets, in order)."""

    def __init__(self, text: str, labels: Sequence[int], lines: Lines, glyphs: Glyphs) -> None:
        self._text = text
        self._labels = labels
        self._lines = lines
        self._glyphs = glyphs
        self._gaps_of_line: dict[int, list[float]] = {}
        self._usual = self._usual_gap()
        self._real = self._real_spaces() if self._usual else frozenset[int]()
        self._spread: set[int] = set()

    def corrections(self) -> Corrections:
        """Return the corrections for the words around all labels, over all their lines."""
        removed: set[int] = set()
        inserted: set[int] = set()
        doubtful: set[int] = set()
        done = 0
        for label in self._labels:
            at = line_at(self._lines, label)
            if at < 0 or label < done:
                continue
            self._spread.update(self._letterspaced_gaps(label, at))
            if self._usual:
                removed.update(self._false_before(label, at))
            base: float | None
            [base] = self._glyphs.letter_bottoms([label])
            height = self._glyphs.box(label).height
            for start, done, false in self._pieces_after(label, at):
                removed.update(false)
                mark = self._raised_mark(start, done, base, height)
                if mark is not None:
                    inserted.add(mark)
                    break
                base = None
            if self._is_doubtful(done):
                doubtful.add(done)
        removed |= self._spread
        return Corrections(*(tuple(sorted(places)) for places in (removed, inserted, doubtful)))

    def _usual_gap(self) -> float:
        """Return the usual gap at a space of this page; 0.0 if spaces are characters, as most programs write them."""
        text = self._text
        probes = {text.find(" ", probe * len(text) // _PROBES) for probe in range(_PROBES)} - {-1, 0, len(text) - 1}
        generated = list(filter(self._glyphs.is_generated, probes))
        return median(self._gaps_at(generated)) if generated else 0.0

    def _real_spaces(self) -> frozenset[int]:
        """Return the spaces next to a label, on both sides, that are as wide as spaces of this page."""
        text, labels = self._text, self._labels
        spaces = {text.find(" ", label) for label in labels} | {text.rfind(" ", 0, label) for label in labels}
        spaces -= {-1, 0, len(text) - 1}
        narrow = min(_SURE_SPACE, _UNUSUAL * self._usual)
        return frozenset(space for space, gap in zip(spaces, self._gaps_at(spaces), strict=True) if gap >= narrow)

    def _gaps_at(self, spaces: Collection[int]) -> list[float]:
        """Return the gaps at *spaces*, in heights of the font: of the larger one, next to a raised mark."""
        before = self._glyphs.boxes(space - 1 for space in spaces)
        after = self._glyphs.boxes(space + 1 for space in spaces)
        return [
            (right.left - left.right) / max(left.height, right.height) if left.height > 0 else _SURE_SPACE
            for left, right in zip(before, after, strict=True)
        ]

    # -- letterspaced words

    def _letterspaced_gaps(self, label: int, at: int) -> Iterator[int]:
        """Yield the false spaces in letterspaced words around *label*, over the lines around line *at*."""
        start, end = self._lines[at].start, self._lines[at].end
        before = self._text.rfind(" ", max(start, label - _NEAR), label)
        if before < 0 or label in self._spread or self._text.find(" ", label, min(end, label + _NEAR)) < 0:
            return
        letters, gaps = self._letters(start, end)
        middle = bisect_left(letters, label)
        usual = median(gaps[max(0, middle - _NEAR) : middle + _NEAR] or [0.0])
        if usual < _WIDE:
            return
        first = self._spread_from(middle, letters, gaps, usual, -1)
        last = self._spread_from(middle, letters, gaps, usual, 1)
        between = range(letters[first], letters[last])
        yield from (at for at in between if self._text[at] == " ")
        if first == 0:
            yield from self._spread_lines(range(at - 1, max(-1, at - _MOST_LINES), -1), usual)
        if last == len(letters) - 1:
            yield from self._spread_lines(range(at + 1, min(len(self._lines), at + _MOST_LINES)), usual)

    def _spread_lines(self, indexes: range, usual: float) -> Iterator[int]:
        """Yield the false spaces in the lines of *indexes*, as far as one letterspaced word continues over them."""
        for index in indexes:
            letters, gaps = self._letters(self._lines[index].start, self._lines[index].end)
            edge = 0 if indexes.step > 0 else len(letters) - 1
            reached = self._spread_from(edge, letters, gaps, usual, indexes.step)
            between = range(letters[min(edge, reached)], letters[max(edge, reached)])
            yield from (at for at in between if self._text[at] == " ")
            if reached not in (0, len(letters) - 1) or reached == edge:
                return

    def _letters(self, start: int, end: int) -> tuple[list[int], list[float]]:
        """Return the offsets of printed characters between two offsets, and the gap after each in font heights."""
        printed = list(_PRINTED.finditer(self._text, start, end))
        letters = [letter.start() for letter in printed]
        boxes = self._glyphs.boxes(letters)
        ends = self._glyphs.boxes(letter.end() - 1 for letter in printed)
        rights = [max(box.right, end.right) for box, end in zip(boxes, ends, strict=True)]
        height = max(box.height for box in boxes) or 1.0
        gaps = [(box.left - right) / height for box, right in zip(boxes[1:], rights, strict=False)]
        return letters, gaps

    def _spread_from(self, index: int, letters: list[int], gaps: list[float], usual: float, step: int) -> int:
        """Return the index of the last letter, from *index* by *step*, with the *usual* gap before it.

        If two letters are close together, the first of them already belongs to a word that isn't letterspaced.
        """
        while 0 <= index + step < len(letters):
            gap = gaps[min(index, index + step)]
            if gap < _KERNED * usual:
                before = index - step
                is_first = not 0 <= before < len(letters)
                if not is_first:  # or no space of PDFium is between the two
                    start, end = sorted((letters[index], letters[before]))
                    is_first = " " not in self._text[start:end]
                # A bracket after a last letter doesn't begin a word.
                is_word = self._text[letters[index + step]].isalnum()
                return index if is_first or not is_word else before
            between = range(*sorted((letters[index], letters[index + step])))
            real = (at for at in between if self._text[at] == " " and not self._glyphs.is_generated(at))
            if gap > usual + _WORD_SPACE or next(real, None) is not None:
                return index
            index += step
        return index

    # -- false spaces in words that are set a little wide

    def _false_before(self, label: int, at: int) -> Iterator[int]:
        """Yield the false spaces of the word before *label* from line *at* backwards, such as a resolver."""
        for index in range(at, max(-1, at - _MOST_LINES), -1):
            line = self._lines[index]
            space = min(label, line.end)
            while (space := self._text.rfind(" ", line.start + 1, space)) != -1:
                if not self._is_false(space, index):
                    return
                yield space

    def _pieces_after(self, label: int, at: int) -> Iterator[tuple[int, int, list[int]]]:
        """Yield start, end and false spaces of the word from *label* in line *at*, line by line."""
        start = label
        for index in range(at, min(len(self._lines), at + _MOST_LINES)):
            line = self._lines[index]
            start = space = max(start, line.start)
            false: list[int] = []
            while (space := self._text.find(" ", space + 1, line.end - 1)) != -1:
                if not self._is_false(space, index):
                    yield start, space, false
                    return
                false.append(space)
            yield start, line.end, false

    def _is_false(self, space: int, index: int) -> bool:
        """Return True if the space at *space*, in the line with this *index*, is only wide letter spacing."""
        if space in self._spread:
            return True
        if not self._usual or space in self._real or not self._glyphs.is_generated(space):
            return False
        [gap] = self._gaps_at([space])
        if gap >= _SURE_SPACE or gap >= _UNUSUAL * self._usual:
            return False
        if gap < _NO_SPACE:
            return True
        wider = [line_gap for line_gap in self._gaps(index) if line_gap > 1.3 * gap]
        if wider and wider[0] > _CONTRAST * gap:
            return True
        # The gap between the letters before the space is wide in a justified line.
        offsets = range(max(self._text.rfind(" ", 0, space), space - _NEAR) + 1, space)
        boxes = self._glyphs.boxes(offsets)
        between = [following.left - box.right for box, following in pairwise(boxes)]
        return len(between) > 1 and gap < _CONTRAST * median(between) / (boxes[0].height or 1.0)

    def _is_doubtful(self, space: int) -> bool:
        """Return True if the space at *space* is so narrow that it may be false."""
        if self._text[space : space + 1] != " " or not self._glyphs.is_generated(space):
            return False
        [gap] = self._gaps_at([space])
        if not 0 < gap < _SURE_SPACE:
            return False
        before, after = self._glyphs.boxes((space - 1, space + 1))
        if abs(before.bottom - after.bottom) > _RAISED * before.height:  # on another line, or raised
            return False
        others = self._gaps(line_at(self._lines, space))
        usual = median(others) if len(others) > _FEW else self._usual
        return not usual or gap < _UNUSUAL * usual

    def _gaps(self, index: int) -> list[float]:
        """Return the gaps at PDFium's inserted spaces of a line, sorted by size."""
        if index not in self._gaps_of_line:
            line = self._text[self._lines[index].start : self._lines[index].end]
            start = self._lines[index].start
            spaces = (start + blank.start() for blank in _BETWEEN_WORDS.finditer(line))
            generated = list(islice(filter(self._glyphs.is_generated, spaces), _MOST_SPACES))
            self._gaps_of_line[index] = sorted(self._gaps_at(generated))
        return self._gaps_of_line[index]

    # -- footnote marks

    def _raised_mark(self, start: int, end: int, base: float | None, height: float) -> int | None:
        """Return the offset of a footnote mark in a word, or None; *base* is the base line of its line, if known.

        Its font is smaller and raised, or its letters are higher, because some faces have raised digits.
        """
        text = self._text
        first = max(start, end - _LAST)  # the maximum length of a mark and the characters after it
        offsets = [offset for offset in range(first, end) if text[offset] != " "]
        boxes = self._glyphs.boxes(offsets)
        is_one_font = len({box.bottom for box in boxes}) == 1
        if base is not None and is_one_font:  # only the face's own raised digits are possible
            offsets, boxes = offsets[-_SHORT:], boxes[-_SHORT:]
        feet = self._glyphs.letter_bottoms(offsets)
        letters = [text[offset] for offset in offsets]
        if base is None:
            on_line = zip(letters, feet, strict=True)
            base = min((foot for char, foot in on_line if char in _STANDING), default=inf)
        not_hanging = (box.bottom for char, box in zip(letters, boxes, strict=True) if char not in _HANGING)
        floor = min(not_hanging, default=inf)
        rise = _RAISED * height
        for offset, char, foot, box in zip(offsets, letters, feet, boxes, strict=True):
            # Otherwise it is half of a ligature.
            is_smaller = box.height <= _SMALLER * height and box.bottom < foot
            may_be_mark = char in _MARKS or (is_smaller and (char.isalnum() or char in "[("))
            if box.bottom > floor + rise and may_be_mark:
                return offset
            if foot > base + rise and char.isalnum():
                return offset
        return None
