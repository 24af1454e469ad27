"""Footnotes that stand, in the order of the text, between the foot of a column and the head of the next."""

from __future__ import annotations

import re
from collections.abc import Iterator

from extractors.readers.pdf.geometry import Glyphs, Lines
from extractors.readers.pdf.open_ends import is_open

_SMALLER = 0.93  # times the size of the font
_SET_APART = 1.15  # times the height of the line
_TAIL_CHARS = 300
_SIGNS = "*\N{DAGGER}\N{DOUBLE DAGGER}\N{SECTION SIGN}\N{PILCROW SIGN}"
_MARK = re.compile(rf"(?:[0-9]{{1,3}}|[{_SIGNS}]{{1,3}}) ?[^\W\d_]{{2}}")
_MARK_BEGINS = frozenset("0123456789" + _SIGNS)


def notes_in_the_way(text: str, lines: Lines, glyphs: Glyphs) -> Iterator[range]:
    """The lines (by index) of footnotes that part a line that is open at its end from the one that it goes on on.

    They are smaller than that line, stand below it, and begin with a mark; they end where its size comes back, which
    is in another column, or with the page.
    """
    done = 0
    for index, start in enumerate(lines.starts):
        if text[start] not in _MARK_BEGINS or index <= done or not _MARK.match(text, start):
            continue
        line, note = lines[index - 1], lines[index]
        if line.bottom - note.bottom < _SET_APART * line.height:
            continue
        size = _SMALLER * glyphs.font_size(line.start)
        if glyphs.font_size(note.end - 1) >= size or not is_open(text[max(0, line.end - _TAIL_CHARS) : line.end]):
            continue
        done = index
        while done < len(lines) and glyphs.font_size(lines.ends[done] - 1) < size:
            done += 1
        if done == len(lines) or lines.bottoms[done] > note.bottom:
            yield range(index, done)
