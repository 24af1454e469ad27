"""The pieces of an ARK read so far, each with its place in the offset map."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from extractors.model.offset_map import OffsetMap

#: Escapes of what would end an ARK in prose: blanks, quotation marks, closing brackets, punctuation.
_ESCAPED_TAIL = re.compile(r"%(?:25)*(?:20|2[12779CEce]|3[AaBbEe]|5[Dd]|7[Dd])")

#: ARKs in the forms that file systems take. Pairtree (draft-kunze-pairtree-01, 3) writes ``=`` for a slash, ``+`` for a
#: colon and ``,`` for a period: ``ark+=12148=btv1b8``; in file names it is ``ark_12148_btv1b8``.
_WORD = re.compile(r"[0-9A-Za-z]{1,255}")
_PAIRTREE_NAME = re.compile(r"[0-9A-Za-z=+,~*@_$-]{1,255}")
_PAIRTREE = str.maketrans("=+,", "/:.")

Piece = tuple[str, int, int]


@dataclass(slots=True)
class ArkBuilder:
    """Characters of an ARK and the stretches of the repaired text that they are in, in order."""

    offsets: OffsetMap
    found: list[Piece] = field(default_factory=list)

    def add(self, chars: str, start: int, end: int) -> None:
        """*chars* are at *start* of the repaired text; one character for each of its own, or an escape as a whole."""
        self.found.append((chars, start, end))

    @property
    def chars(self) -> str:
        """All characters, from the NAAN on."""
        return "".join([piece[0] for piece in self.found])

    @property
    def name(self) -> str:
        """Name and qualifier, as far as they were read."""
        return self.chars.partition("/")[2]

    def has_slashes(self, count: int) -> bool:
        """Return whether so many slashes were read: one ends the NAAN, the next begins a qualifier."""
        return self.chars.count("/") >= count

    @property
    def end(self) -> int:
        """Return where in the repaired text the last character ends."""
        return self.found[-1][2]

    @property
    def last(self) -> str:
        """The last character, or nothing."""
        return self.found[-1][0][-1:] if self.found else ""

    def ends_with(self, char: str) -> bool:
        """Return whether *char* is the last character."""
        return bool(self.found) and self.found[-1][0].endswith(char)

    def cut(self, count: int) -> None:
        """Give back the last *count* characters, of as many pieces as have them."""
        while count > 0:
            last, start, end = self.found.pop()
            if len(last) > count:
                self.found.append((last[:-count], start, end - count))
            count -= len(last)

    def strip(self, tail: str) -> None:
        """Give back final characters of *tail*, and blanks that were written as escapes."""
        while self.found:
            last = self.found[-1][0]
            kept = "" if _ESCAPED_TAIL.fullmatch(last) else last.rstrip(tail)
            if kept == last:
                return
            self.cut(len(last) - len(kept))

    def spans(self, start: int, label_end: int) -> tuple[tuple[int, int], ...]:
        """The source ranges of resolver and label, and of every character; adjacent ones joined."""
        stretches = [(start, label_end), *(piece[1:] for piece in self.found)]
        spans: list[tuple[int, int]] = []
        for first, last in (span for stretch in stretches for span in self.offsets.source_spans(*stretch)):
            if first == last:  # what was taken out stood there, and nothing else
                continue
            if spans and first <= spans[-1][1]:
                spans[-1] = (spans[-1][0], max(last, spans[-1][1]))
            else:
                spans.append((first, last))
        return tuple(spans)


def mapped_ark(text: str, start: int, *, is_file_name: bool) -> list[Piece]:
    """NAAN, slash and name of the mapped ARK whose NAAN begins at *start*; nothing where none does.

    >>> [chars for chars, _, _ in mapped_ark("ark+=13030=xt12t3,pdf", 5, is_file_name=False)]
    ['13030', '/', 'xt12t3.pdf']
    """
    separator, names = ("_", _WORD) if is_file_name else ("=", _PAIRTREE_NAME)
    naan = _WORD.match(text, start)
    if not naan or not text.startswith(separator, naan.end()):
        return []
    name = names.match(text, naan.end() + 1)
    if not name:
        return []
    chars: str = name[0] if is_file_name else name[0].translate(_PAIRTREE)
    return [(naan[0], *naan.span()), ("/", naan.end(), naan.end() + 1), (chars, *name.span())]
