"""Spaces that PDFium sees where letters are set wide, and those that it misses before a raised footnote mark.

Only words around a label are looked at, and only gaps decide: nothing here knows what an ARK looks like.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import median

from extractors.readers.pdf.geometry import Glyphs, Lines

#: Gaps as parts of the height of the font. The space of a book face is a quarter of it at its narrowest.
_NO_SPACE = 0.16
_SURE_SPACE = 0.26
#: How many times wider than letter spacing the spaces of the same line must be, where the gap alone can't tell.
_CONTRAST = 2.2

#: How much narrower than usual on the page a gap must be to be looked at.
_UNUSUAL = 0.75
_PROBES = 9  # of a page, for what is usual
_MOST_LINES = 8
_MOST_SPACES = 100  # of a line
_RAISED = 0.15  # of the height of the font
_SMALLER = 0.9


@dataclass(frozen=True, slots=True)
class Corrections:
    """What is wrong with the spaces of a page's text; offsets are code points in the text as PDFium gave it."""

    removed: tuple[int, ...] = ()
    """The places of spaces that are none, in order."""
    inserted: tuple[int, ...] = ()
    """Before which characters a space is missing, in order."""

    def __bool__(self) -> bool:
        return bool(self.removed or self.inserted)

    def applied(self, text: str) -> str:
        """*text* with its spaces put right.

        >>> Corrections(removed=(2,), inserted=(7,)).applied("ar k:/x1")
        'ark:/x 1'
        """
        pieces, done = [], 0
        for offset, skipped, written in sorted(
            [(at, 1, "") for at in self.removed] + [(at, 0, " ") for at in self.inserted]
        ):
            pieces += [text[done:offset], written]
            done = offset + skipped
        return "".join((*pieces, text[done:]))

    def moved(self, offset: int) -> int:
        """Where the character at *offset* stands afterwards."""
        return offset - bisect_left(self.removed, offset) + bisect_left(self.inserted, offset)


def corrections(text: str, labels: Sequence[int], lines: Lines, glyphs: Glyphs) -> Corrections:
    """What is wrong with the words around *labels* (offsets, in order), as far as they go over *lines*."""
    return _Spacing(text, labels, lines, glyphs).corrections()


class _Spacing:
    """The spaces of one page."""

    def __init__(self, text: str, labels: Sequence[int], lines: Lines, glyphs: Glyphs) -> None:
        self._text = text
        self._labels = labels
        self._lines = lines
        self._glyphs = glyphs
        self._gaps_of_line: dict[int, list[float]] = {}
        self._usual = self._usual_gap()
        self._real = self._real_spaces() if self._usual else frozenset[int]()

    def corrections(self) -> Corrections:
        """What is wrong around all labels."""
        removed: set[int] = set()
        inserted: set[int] = set()
        done = 0
        for label in self._labels:
            at = bisect_right(self._lines.starts, label) - 1
            if at < 0 or label < done:
                continue
            if self._usual:
                removed.update(self._false_before(label, at))
            for start, done, false in self._pieces_after(label, at):
                removed.update(false)
                if self._text[done - 1].isdecimal():
                    inserted.update(self._raised_mark(start, done))
        return Corrections(tuple(sorted(removed)), tuple(sorted(inserted)))

    def _usual_gap(self) -> float:
        """The gap at a space of this page; 0 if spaces are characters here, as most programs write them."""
        text = self._text
        probes = {text.find(" ", probe * len(text) // _PROBES) for probe in range(_PROBES)} - {-1, 0, len(text) - 1}
        generated = list(filter(self._glyphs.is_generated, probes))
        return median(self._gaps_at(generated)) if generated else 0.0

    def _real_spaces(self) -> frozenset[int]:
        """Of the spaces next to a label on both sides, those that are as wide as spaces of this page are."""
        text, labels = self._text, self._labels
        spaces = {text.find(" ", label) for label in labels} | {text.rfind(" ", 0, label) for label in labels}
        spaces -= {-1, 0, len(text) - 1}
        narrow = min(_SURE_SPACE, _UNUSUAL * self._usual)
        return frozenset(space for space, gap in zip(spaces, self._gaps_at(spaces), strict=True) if gap >= narrow)

    def _gaps_at(self, spaces: Collection[int]) -> list[float]:
        """The gaps at *spaces* in heights of the font."""
        _, tops, rights, bottoms = self._glyphs.all_corners([space - 1 for space in spaces])
        lefts, _, _, _ = self._glyphs.all_corners([space + 1 for space in spaces])
        corners = zip(lefts, tops, rights, bottoms, strict=True)
        return [
            (left - right) / (top - bottom) if top > bottom else _SURE_SPACE for left, top, right, bottom in corners
        ]

    def _false_before(self, label: int, at: int) -> Iterator[int]:
        """The false spaces of the word that leads up to *label* in the line *at*, such as a resolver."""
        text, starts, ends = self._text, self._lines.starts, self._lines.ends
        for index in range(at, max(-1, at - _MOST_LINES), -1):
            space = min(label, ends[index])
            while (space := text.rfind(" ", starts[index] + 1, space)) != -1:
                if not self._is_false(space, index):
                    return
                yield space

    def _pieces_after(self, label: int, at: int) -> Iterator[tuple[int, int, list[int]]]:
        """The word that goes on from *label* in the line *at*: line by line its start, its end, its false spaces."""
        text, starts, ends = self._text, self._lines.starts, self._lines.ends
        start = label
        for index in range(at, min(len(starts), at + _MOST_LINES)):
            start = space = max(start, starts[index])
            false: list[int] = []
            while (space := text.find(" ", space + 1, ends[index] - 1)) != -1:
                if not self._is_false(space, index):
                    yield start, space, false
                    return
                false.append(space)
            yield start, ends[index], false

    def _is_false(self, space: int, index: int) -> bool:
        """Whether no space stands at *space*, in the line with this *index*, but only wide letter spacing."""
        if not self._usual or space in self._real or not self._glyphs.is_generated(space):
            return False
        [gap] = self._gaps_at([space])
        if gap >= _SURE_SPACE or gap >= _UNUSUAL * self._usual:
            return False
        if gap < _NO_SPACE:
            return True
        wider = [other for other in self._gaps(index) if other > 1.3 * gap]
        return bool(wider) and wider[0] > _CONTRAST * gap

    def _gaps(self, index: int) -> list[float]:
        """The gaps at the spaces of a line that PDFium made, in order of size."""
        if index not in self._gaps_of_line:
            start, end = self._lines.starts[index], self._lines.ends[index]
            spaces = (start + match.start() for match in re.finditer(r"(?<=\S) (?=\S)", self._text[start:end]))
            generated = list(islice(filter(self._glyphs.is_generated, spaces), _MOST_SPACES))
            self._gaps_of_line[index] = sorted(self._gaps_at(generated))
        return self._gaps_of_line[index]

    def _raised_mark(self, start: int, end: int) -> Iterator[int]:
        """Where in the word from *start* to *end* a footnote mark begins: it stands higher, and is smaller."""
        _, top, _, bottom = self._glyphs.corners(start)
        raised = bottom + _RAISED * (top - bottom)
        _, mark_top, _, mark_bottom = self._glyphs.corners(end - 1)
        if mark_bottom < raised or mark_top - mark_bottom > _SMALLER * (top - bottom):
            return
        at = end - 1
        while at - 1 > start and self._text[at - 1].isdecimal() and self._glyphs.corners(at - 1)[3] >= raised:
            at -= 1
        yield at
