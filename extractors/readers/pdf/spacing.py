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

from extractors.readers.pdf.geometry import WIDEST_LETTER_GAP, Box, Glyphs, Lines, line_index_at

#: Gaps in heights of the font. The narrowest space of a book face is a quarter of the height.
_SURE_SPACE = 0.26
#: Minimum ratio of the line's spaces to the letter spacing, for gaps between the two limits.
_LEAST_CONTRAST = 2.2

#: A gap is checked only if it is narrower than this share of the usual gap on the page.
_UNUSUAL_SHARE = 0.75
_PROBES = 9  # of a page, to find the usual gap
_MOST_LINES = 8
_MOST_SPACES = 100  # of a line

#: Letterspacing, in heights of the font: the minimum gap that PDFium takes for a space, the share that kerning may
#: remove, and the minimum by which a space between words is wider.
_LETTERSPACED_GAP = 0.08
_KERNED_SHARE = 0.3
_WORD_SPACE = 0.12
_MOST_NEAR_LINES = 4
_MARK_CHARS, _SHORT_MARK_CHARS = 12, 8
_NEAR_CHARS = 6  # characters from a label to the gaps around it
_PRINTED_CHAR = re.compile("[^ \N{ZERO WIDTH SPACE}]\N{ZERO WIDTH SPACE}*")

_BETWEEN_WORDS = re.compile(r"(?<=\S) (?=\S)")
_RAISED_SHARE = 0.15  # of the height of the font
_SMALLER_SHARE = 0.9
#: Characters on the base line in every face; some digits are not, in old style.
_STANDING_CHARS = frozenset("abcdefhiklmnorstuvwxzABCDEFGHIKLMNOPRSTUVWXYZ01268")
_MARK_CHARACTERS = frozenset("*\N{DAGGER}\N{DOUBLE DAGGER}\N{SECTION SIGN}\N{PILCROW SIGN}")
_HANGING_CHARS = frozenset("gjpqyJQ,;()[]{}/@_")


def with_drawn_underscores(
    text: str, labels: Iterable[int], lines: Lines, glyphs: Glyphs, strokes: Sequence[Box]
) -> str:
    """Return *text* with an underscore in place of each space with a drawn line on the base line, in lines near *labels*.

    TeX draws the underscores that its old fonts don't have. *labels* are offsets. *strokes* are thin drawn lines, the
    lowest first.
    """
    chars = list(text)
    near_indexes = {
        index for label in labels for index in range(max(0, line_index_at(lines, label)), len(lines))[:_MOST_NEAR_LINES]
    }
    for line in (lines[index] for index in near_indexes):
        low = bisect_left(strokes, line.bottom, key=attrgetter("bottom"))
        for stroke in strokes[low : bisect_left(strokes, line.middle, key=attrgetter("bottom"))]:
            middle = (stroke.left + stroke.right) / 2
            if line.left < middle < line.right:
                next_offset = bisect_left(range(line.end), middle, lo=line.start, key=glyphs.center)
                [bottom] = glyphs.letter_bottoms([next_offset])
                if text[next_offset - 1] == " " and abs(stroke.bottom - bottom) < _RAISED_SHARE * line.height:
                    chars[next_offset - 1] = "_"
    return "".join(chars)


@dataclass(frozen=True, slots=True)
class Corrections:
    """The wrong and missing spaces in a page's text; offsets are code points in PDFium's text."""

    removed: tuple[int, ...] = ()
    """Offsets of false spaces, in order."""
    inserted: tuple[int, ...] = ()
    """Offsets of characters that need a space before them, in order."""
    doubtful: tuple[int, ...] = ()
    """Offsets of spaces that stay, but may be false, in order."""

    def __bool__(self) -> bool:
        return bool(self.removed or self.inserted)

    def apply(self, text: str) -> str:
        """Return *text* with the corrections applied.

        >>> Corrections(removed=(2,), inserted=(7,)).apply("ar k:/x1")
        'ark:/x 1'
        """
        pieces, copied_to = [], 0
        for offset, removed_chars, inserted_text in sorted(
            [(position, 1, "") for position in self.removed] + [(position, 0, " ") for position in self.inserted]
        ):
            pieces += [text[copied_to:offset], inserted_text]
            copied_to = offset + removed_chars
        return "".join((*pieces, text[copied_to:]))

    def new_offset(self, offset: int) -> int:
        """Return the offset after corrections of the character at *offset*, or of a space that is inserted before it."""
        return offset - bisect_left(self.removed, offset) + bisect_left(self.inserted, offset)

    @property
    def seams(self) -> tuple[int, ...]:
        """The new offsets of removed and doubtful spaces, and of letters after an inserted space.

        >>> Corrections(removed=(2,), inserted=(7,)).seams
        (2, 7)
        """
        inserted_offsets = set(map(self.new_offset, self.inserted))
        other_offsets = set(map(self.new_offset, (*self.removed, *self.doubtful))) - inserted_offsets
        return tuple(sorted(other_offsets.union(inserted_offset + 1 for inserted_offset in inserted_offsets)))


class Spacing:
    """The spaces of the *text* of a page around *labels* (offsets, in order)."""

    def __init__(self, text: str, labels: Sequence[int], lines: Lines, glyphs: Glyphs) -> None:
        self._text = text
        self._labels = labels
        self._lines = lines
        self._glyphs = glyphs
        self._gaps_of_line: dict[int, list[float]] = {}
        self._usual_space = self._find_usual_space()
        self._wide_spaces = self._find_wide_spaces() if self._usual_space else frozenset[int]()
        self._letterspacing: set[int] = set()

    def corrections(self) -> Corrections:
        """Return the corrections for the words with labels, in all lines that such a word is on."""
        removed_offsets: set[int] = set()
        inserted_offsets: set[int] = set()
        doubtful_offsets: set[int] = set()
        word_end = 0
        for label in self._labels:
            index = line_index_at(self._lines, label)
            if index < 0 or label < word_end:
                continue
            self._letterspacing.update(self._letterspacing_around(label, index))
            if self._usual_space:
                removed_offsets.update(self._false_spaces_before(label, index))
            base_line: float | None
            [base_line] = self._glyphs.letter_bottoms([label])
            height = self._glyphs.box(label).height
            for start, word_end, false_spaces in self._pieces_after(label, index):
                removed_offsets.update(false_spaces)
                mark_offset = self._raised_mark(start, word_end, base_line, height)
                if mark_offset is not None:
                    inserted_offsets.add(mark_offset)
                    break
                base_line = None
            if self._is_doubtful(word_end):
                doubtful_offsets.add(word_end)
        removed_offsets |= self._letterspacing
        return Corrections(
            *(tuple(sorted(offsets)) for offsets in (removed_offsets, inserted_offsets, doubtful_offsets))
        )

    def _find_usual_space(self) -> float:
        """Return the usual width of a space on this page, in font heights; 0.0 if PDFium inserted none of the spaces."""
        text = self._text
        probes = {text.find(" ", probe * len(text) // _PROBES) for probe in range(_PROBES)} - {-1, 0, len(text) - 1}
        generated_spaces = list(filter(self._glyphs.is_generated, probes))
        return median(self._gaps_at(generated_spaces)) if generated_spaces else 0.0

    def _find_wide_spaces(self) -> frozenset[int]:
        """Return the offsets of the spaces before and after labels that are as wide as is usual on this page."""
        text, labels = self._text, self._labels
        spaces = {text.find(" ", label) for label in labels} | {text.rfind(" ", 0, label) for label in labels}
        spaces -= {-1, 0, len(text) - 1}
        least_gap = min(_SURE_SPACE, _UNUSUAL_SHARE * self._usual_space)
        return frozenset(space for space, gap in zip(spaces, self._gaps_at(spaces), strict=True) if gap >= least_gap)

    def _gaps_at(self, spaces: Collection[int]) -> list[float]:
        """Return the widths of *spaces* (offsets), in heights of the larger of the fonts on both sides."""
        previous_boxes = self._glyphs.boxes(space - 1 for space in spaces)
        next_boxes = self._glyphs.boxes(space + 1 for space in spaces)
        return [
            (right.left - left.right) / max(left.height, right.height) if left.height > 0 else _SURE_SPACE
            for left, right in zip(previous_boxes, next_boxes, strict=True)
        ]

    # -- letterspaced words

    def _letterspacing_around(self, label: int, index: int) -> Iterator[int]:
        """Yield the offsets of false spaces in the letterspaced word around *label*, an offset in line *index*.

        The word may continue in lines above and below. Nothing is yielded for a word that isn't letterspaced.
        """
        start, end = self._lines[index].start, self._lines[index].end
        space = self._text.rfind(" ", max(start, label - _NEAR_CHARS), label)
        if space < 0 or label in self._letterspacing or self._text.find(" ", label, min(end, label + _NEAR_CHARS)) < 0:
            return
        letters, gaps = self._letters(start, end)
        label_index = bisect_left(letters, label)
        usual_gap = median(gaps[max(0, label_index - _NEAR_CHARS) : label_index + _NEAR_CHARS] or [0.0])
        if usual_gap < _LETTERSPACED_GAP:
            return
        first_index = self._last_letterspaced(label_index, letters, gaps, usual_gap, -1)
        last_index = self._last_letterspaced(label_index, letters, gaps, usual_gap, 1)
        offsets = range(letters[first_index], letters[last_index])
        yield from (offset for offset in offsets if self._text[offset] == " ")
        if first_index == 0:
            yield from self._letterspacing_in_lines(range(index - 1, max(-1, index - _MOST_LINES), -1), usual_gap)
        if last_index == len(letters) - 1:
            yield from self._letterspacing_in_lines(
                range(index + 1, min(len(self._lines), index + _MOST_LINES)), usual_gap
            )

    def _letterspacing_in_lines(self, indexes: range, usual_gap: float) -> Iterator[int]:
        """Yield the offsets of false spaces in the lines *indexes*, while one letterspaced word continues there.

        *usual_gap* is the distance of its letters in font heights.
        """
        for index in indexes:
            letters, gaps = self._letters(self._lines[index].start, self._lines[index].end)
            edge_index = 0 if indexes.step > 0 else len(letters) - 1
            last_index = self._last_letterspaced(edge_index, letters, gaps, usual_gap, indexes.step)
            offsets = range(letters[min(edge_index, last_index)], letters[max(edge_index, last_index)])
            yield from (offset for offset in offsets if self._text[offset] == " ")
            if last_index not in (0, len(letters) - 1) or last_index == edge_index:
                return

    def _letters(self, start: int, end: int) -> tuple[list[int], list[float]]:
        """Return the offsets of printed characters from *start* to *end*, and the gaps between them in font heights."""
        matches = list(_PRINTED_CHAR.finditer(self._text, start, end))
        letters = [letter.start() for letter in matches]
        boxes = self._glyphs.boxes(letters)
        last_boxes = self._glyphs.boxes(letter.end() - 1 for letter in matches)
        rights = [max(box.right, last_box.right) for box, last_box in zip(boxes, last_boxes, strict=True)]
        height = max(box.height for box in boxes) or 1.0
        gaps = [(box.left - right) / height for box, right in zip(boxes[1:], rights, strict=False)]
        return letters, gaps

    def _last_letterspaced(self, index: int, letters: list[int], gaps: list[float], usual_gap: float, step: int) -> int:
        """Return the index in *letters* of the last letter of a letterspaced word, from *index* in direction *step*.

        *gaps* are those between *letters*, and *usual_gap* is that of the word. If two
        letters are close, a word that isn't letterspaced begins with the first of them.
        """
        while 0 <= index + step < len(letters):
            gap = gaps[min(index, index + step)]
            if gap < _KERNED_SHARE * usual_gap:
                previous_index = index - step
                is_first = not 0 <= previous_index < len(letters)
                if not is_first:  # or no space of PDFium is between the two
                    start, end = sorted((letters[index], letters[previous_index]))
                    is_first = " " not in self._text[start:end]
                # A bracket after a last letter doesn't begin a word.
                is_word = self._text[letters[index + step]].isalnum()
                return index if is_first or not is_word else previous_index
            offsets = range(*sorted((letters[index], letters[index + step])))
            real_spaces = (
                offset for offset in offsets if self._text[offset] == " " and not self._glyphs.is_generated(offset)
            )
            if gap > usual_gap + _WORD_SPACE or next(real_spaces, None) is not None:
                return index
            index += step
        return index

    # -- false spaces in words that are set a little wide

    def _false_spaces_before(self, label: int, line_index: int) -> Iterator[int]:
        """Yield the offsets of false spaces in the word before *label*, from line *line_index* backwards."""
        for index in range(line_index, max(-1, line_index - _MOST_LINES), -1):
            line = self._lines[index]
            space = min(label, line.end)
            while (space := self._text.rfind(" ", line.start + 1, space)) != -1:
                if not self._is_false(space, index):
                    return
                yield space

    def _pieces_after(self, label: int, line_index: int) -> Iterator[tuple[int, int, list[int]]]:
        """Yield start, end and false spaces of the word at *label* in line *line_index*, a tuple for each line it is on."""
        start = label
        for index in range(line_index, min(len(self._lines), line_index + _MOST_LINES)):
            line = self._lines[index]
            start = space = max(start, line.start)
            false_spaces: list[int] = []
            while (space := self._text.find(" ", space + 1, line.end - 1)) != -1:
                if not self._is_false(space, index):
                    yield start, space, false_spaces
                    return
                false_spaces.append(space)
            yield start, line.end, false_spaces

    def _is_false(self, space: int, index: int) -> bool:
        """Return True if the space at *space*, in the line with this *index*, is only wide letter spacing."""
        if space in self._letterspacing:
            return True
        if not self._usual_space or space in self._wide_spaces or not self._glyphs.is_generated(space):
            return False
        [gap] = self._gaps_at([space])
        if gap >= _SURE_SPACE or gap >= _UNUSUAL_SHARE * self._usual_space:
            return False
        if gap < WIDEST_LETTER_GAP:
            return True
        wider_gaps = [line_gap for line_gap in self._gaps(index) if line_gap > 1.3 * gap]
        if wider_gaps and wider_gaps[0] > _LEAST_CONTRAST * gap:
            return True
        # The gap between the letters before the space is wide in a justified line.
        offsets = range(max(self._text.rfind(" ", 0, space), space - _NEAR_CHARS) + 1, space)
        boxes = self._glyphs.boxes(offsets)
        letter_gaps = [next_box.left - box.right for box, next_box in pairwise(boxes)]
        return len(letter_gaps) > 1 and gap < _LEAST_CONTRAST * median(letter_gaps) / (boxes[0].height or 1.0)

    def _is_doubtful(self, space: int) -> bool:
        """Return True if the space at *space* is so narrow that it may be false."""
        if self._text[space : space + 1] != " " or not self._glyphs.is_generated(space):
            return False
        [gap] = self._gaps_at([space])
        if not 0 < gap < _SURE_SPACE:
            return False
        previous_box, next_box = self._glyphs.boxes((space - 1, space + 1))
        # On another line, or raised.
        if abs(previous_box.bottom - next_box.bottom) > _RAISED_SHARE * previous_box.height:
            return False
        other_gaps = self._gaps(line_index_at(self._lines, space))
        usual_space = median(other_gaps) if len(other_gaps) > _MOST_NEAR_LINES else self._usual_space
        return not usual_space or gap < _UNUSUAL_SHARE * usual_space

    def _gaps(self, index: int) -> list[float]:
        """Return the widths of the spaces that PDFium inserted in line *index*, sorted, in font heights."""
        if index not in self._gaps_of_line:
            line = self._text[self._lines[index].start : self._lines[index].end]
            start = self._lines[index].start
            spaces = (start + blank.start() for blank in _BETWEEN_WORDS.finditer(line))
            generated_spaces = list(islice(filter(self._glyphs.is_generated, spaces), _MOST_SPACES))
            self._gaps_of_line[index] = sorted(self._gaps_at(generated_spaces))
        return self._gaps_of_line[index]

    # -- footnote marks

    def _raised_mark(self, start: int, end: int, base_line: float | None, height: float) -> int | None:
        """Return the offset of a footnote mark in the word from *start* to *end*, or None.

        The mark is in a smaller, raised font, or its characters are higher because the font has raised digits. *base_line* is
        the position of the word's base line, None if unknown, and *height* the height of its font, both in points.
        """
        text = self._text
        first_offset = max(start, end - _MARK_CHARS)  # the maximum length of a mark and the characters after it
        offsets = [offset for offset in range(first_offset, end) if text[offset] != " "]
        boxes = self._glyphs.boxes(offsets)
        is_one_font = len({box.bottom for box in boxes}) == 1
        if base_line is not None and is_one_font:  # only the face's own raised digits are possible
            offsets, boxes = offsets[-_SHORT_MARK_CHARS:], boxes[-_SHORT_MARK_CHARS:]
        bottoms = self._glyphs.letter_bottoms(offsets)
        letters = [text[offset] for offset in offsets]
        if base_line is None:
            chars_with_bottoms = zip(letters, bottoms, strict=True)
            base_line = min((bottom for char, bottom in chars_with_bottoms if char in _STANDING_CHARS), default=inf)
        standing_bottoms = (box.bottom for char, box in zip(letters, boxes, strict=True) if char not in _HANGING_CHARS)
        lowest_bottom = min(standing_bottoms, default=inf)
        rise = _RAISED_SHARE * height
        for offset, char, bottom, box in zip(offsets, letters, bottoms, boxes, strict=True):
            # Otherwise it is half of a ligature.
            is_smaller = box.height <= _SMALLER_SHARE * height and box.bottom < bottom
            may_be_mark = char in _MARK_CHARACTERS or (is_smaller and (char.isalnum() or char in "[("))
            if box.bottom > lowest_bottom + rise and may_be_mark:
                return offset
            if bottom > base_line + rise and char.isalnum():
                return offset
        return None
