"""The characters of a file, and the occurrences of a citation in them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html.entities import codepoint2name

from arkaudit.features.fix.corrections import Correction, Edit, edits_between
from extractors.find import find_arks
from extractors.model.decoding import decode
from extractors.model.errors import ArkauditError
from extractors.wraps.evidence import Evidence


class Unfixable(ArkauditError):
    """Raised if a file or an occurrence can't be corrected, with the reason as message."""


_DECLARED = re.compile(rb"(?:charset|encoding)\s*=\s*[\"']?([\w.:-]{2,40})", re.IGNORECASE)
_NUMBER = re.compile("[0-9][0-9A-Za-z]*+")
#: Characters around a number that may belong to the same ARK; and around an ARK, to read it again.
_AROUND, _CONTEXT = 1_000, 300
_PIECE = re.compile(r"\s+|.")
_LONGEST_TAG = 2**16


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A written text where it occurs in a source."""

    source: str
    spans: Sequence[tuple[int, int]]
    """Start and end in the source of each character of the written text."""

    @property
    def start(self) -> int:
        """The offset of its beginning in the source."""
        return self.spans[0][0]

    @property
    def end(self) -> int:
        """The offset of its end in the source."""
        return self.spans[-1][1]

    @property
    def tag(self) -> str:
        """The tag around it, from ``<`` to this occurrence; empty outside of tags."""
        opened = self.source.rfind("<", max(0, self.start - _LONGEST_TAG), self.start)
        is_in_tag = opened >= 0 and self.source.find(">", opened, self.start) < 0
        return self.source[opened : self.start] if is_in_tag else ""

    def edits(self, written: str, correct: str) -> Iterator[Edit]:
        """Yield the edits of the source that make *correct* of *written*."""
        for edit in edits_between(written, correct):
            start = self.spans[edit.start][0] if edit.start < len(self.spans) else self.end
            yield Edit(start, self.spans[edit.end - 1][1] if edit.start < edit.end else start, edit.new)


class Source:
    """The characters of a file. Raises `Unfixable` if its bytes can't be made of them again."""

    def __init__(self, data: bytes) -> None:
        declared = _DECLARED.search(data[:1024])
        self.charset = decode(data, declared[1].decode() if declared else None).charset
        try:
            self.text = data.decode(self.charset, "surrogateescape")
            is_kept = self.bytes_of(self.text) == data
        except UnicodeError:
            is_kept = False
        if not is_kept:
            raise Unfixable(f"its encoding ({self.charset}) can't be kept")
        self._numbers: dict[str, dict[str, list[int]]] = {}

    def bytes_of(self, text: str) -> bytes:
        """Return *text* in the charset of the file."""
        return text.encode(self.charset, "surrogateescape")

    def occurrences(self, written: str) -> Iterator[Occurrence]:
        """Yield the occurrences of *written* in order; escapes, and other white space in its gaps, make no difference.

        >>> source = Source("ark:/1-2 ark:/1&ndash;2".encode())
        >>> [occurrence.start for occurrence in source.occurrences("ark:/1\\N{EN DASH}2")]
        [9]
        """
        pieces = _PIECE.findall(written)
        pattern = re.compile("".join(map(_pattern_of, pieces)))
        for start, end in _ranges(self._rarest(written), len(self.text)):
            for match in pattern.finditer(self.text, start, end):
                spans = zip(pieces, map(match.span, range(1, len(pieces) + 1)), strict=True)
                yield Occurrence(self.text, [span for piece, span in spans for _ in piece])

    def _rarest(self, written: str) -> Sequence[int]:
        """Return the offsets of the rarest number of *written*, near its NAAN."""
        numbers = _NUMBER.findall(written)
        # In the whole text, numbers would take most of the time.
        near = self._numbers_around(max(filter(str.isdecimal, numbers), key=len, default=""))
        return min((near[number] for number in numbers if number in near), key=len, default=())

    def _numbers_around(self, naan: str) -> Mapping[str, Sequence[int]]:
        """Return the offsets of each number that is near a NAAN."""
        if naan not in self._numbers:
            starts = self._numbers[naan] = defaultdict[str, list[int]](list)
            for around in _ranges(_offsets_of(naan, self.text), len(self.text)):
                for number in _NUMBER.finditer(self.text, *around):
                    starts[number[0]].append(number.start())
        return self._numbers[naan]


def _offsets_of(part: str, text: str) -> Iterator[int]:
    """Yield the offsets of *part* in *text*; none if it is empty."""
    at = text.find(part) if part else -1
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def is_proved(occurrence: Occurrence, correction: Correction, evidence: Evidence) -> bool:
    """Return True if the text around an occurrence cites the same ARKs after the *correction*.

    The corrected ARK is read as it is written now, and each other mention as before.
    """
    first = max(0, occurrence.start - _CONTEXT)
    before, written = occurrence.source[first : occurrence.start], occurrence.source[occurrence.start : occurrence.end]
    following = occurrence.source[occurrence.end : occurrence.end + _CONTEXT]
    at, shift = len(before), len(correction.correct) - len(written)
    readings = _readings(f"{before}{written}{following}", evidence)
    return (at, written, correction.ark) in readings and _readings(
        f"{before}{correction.correct}{following}", evidence
    ) == [
        (start, correction.correct, ark) if start == at else (start + shift * (start > at), text, ark)
        for start, text, ark in readings
    ]


def _readings(text: str, evidence: Evidence) -> list[tuple[int, str, str]]:
    """Return offset, text and ARK of each mention in *text*."""
    return [(mention.start, mention.as_written, str(mention.ark)) for mention in find_arks(text, evidence=evidence)]


def _pattern_of(piece: str) -> str:
    r"""Return the pattern of a character or of white space in a source, with a group.

    >>> _pattern_of("_"), _pattern_of("\N{EN DASH}")
    ('(\\\\?_)', '(–|&(?:#8211|#[xX](?i:2013)|ndash);)')
    """
    if piece.isspace():
        return r"(\s++)"
    code = ord(piece[0])
    if code < 128:
        return rf"(\\?{piece})" if piece == "_" else f"({re.escape(piece)})"
    return f"({piece}|&(?:#{code}|#[xX](?i:{code:x})|{codepoint2name.get(code, '#')});)"


def _ranges(offsets: Iterable[int], length: int) -> Iterator[tuple[int, int]]:
    """Yield start and end of the ranges around *offsets*, which are sorted, in a text of *length*; overlaps are merged.

    >>> list(_ranges([5, 900, 9_000], 9_500))
    [(0, 1900), (8000, 9500)]
    """
    start = end = -1
    for offset in offsets:
        if end < 0 or offset - _AROUND > end:
            if end >= 0:
                yield start, end
            start = max(0, offset - _AROUND)
        end = min(length, offset + _AROUND)
    if end >= 0:
        yield start, end
