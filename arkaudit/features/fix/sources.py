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
_NUMBER_RANGE, _CONTEXT = 1_000, 300
_PIECE = re.compile(r"\s+|.")
_LONGEST_TAG = 2**16


@dataclass(frozen=True, slots=True)
class Occurrence:
    """An occurrence of a written text in a source."""

    source: str
    spans: Sequence[tuple[int, int]]
    """Start and end in the source of each character of the written text."""

    @property
    def start(self) -> int:
        """The offset of the first character in the source."""
        return self.spans[0][0]

    @property
    def end(self) -> int:
        """The offset after the last character in the source."""
        return self.spans[-1][1]

    @property
    def tag(self) -> str:
        """The tag around the occurrence, from ``<`` to the first character; empty outside of tags."""
        tag_start = self.source.rfind("<", max(0, self.start - _LONGEST_TAG), self.start)
        is_in_tag = tag_start >= 0 and self.source.find(">", tag_start, self.start) < 0
        return self.source[tag_start : self.start] if is_in_tag else ""

    def edits(self, as_written: str, correct: str) -> Iterator[Edit]:
        """Yield the edits of the source that replace *as_written*, the text of the occurrence, by *correct*."""
        for edit in edits_between(as_written, correct):
            start = self.spans[edit.start][0] if edit.start < len(self.spans) else self.end
            yield Edit(start, self.spans[edit.end - 1][1] if edit.start < edit.end else start, edit.replacement)


class Source:
    """The characters of a file. Raises `Unfixable` if encoding them would not give its bytes."""

    def __init__(self, data: bytes) -> None:
        declaration = _DECLARED.search(data[:1024])
        self.charset = decode(data, declaration[1].decode() if declaration else None).charset
        try:
            self.text = data.decode(self.charset, "surrogateescape")
            is_reversible = self.bytes_of(self.text) == data
        except UnicodeError:
            is_reversible = False
        if not is_reversible:
            raise Unfixable(f"its encoding ({self.charset}) can't be kept")
        self._numbers: dict[str, dict[str, list[int]]] = {}

    def bytes_of(self, text: str) -> bytes:
        """Return *text* in the charset of the file."""
        return text.encode(self.charset, "surrogateescape")

    def occurrences(self, as_written: str) -> Iterator[Occurrence]:
        """Yield the occurrences of *as_written* in order, also with escaped characters or other white space.

        >>> source = Source("ark:/1-2 ark:/1&ndash;2".encode())
        >>> [occurrence.start for occurrence in source.occurrences("ark:/1\\N{EN DASH}2")]
        [9]
        """
        pieces = _PIECE.findall(as_written)
        pattern = re.compile("".join(map(_pattern_of, pieces)))
        for start, end in _merged_ranges(self._rarest(as_written), len(self.text)):
            for match in pattern.finditer(self.text, start, end):
                spans = zip(pieces, map(match.span, range(1, len(pieces) + 1)), strict=True)
                yield Occurrence(self.text, [span for piece, span in spans for _ in piece])

    def _rarest(self, as_written: str) -> Sequence[int]:
        """Return the offsets of the rarest of the numbers in *as_written*, as far as they are near its NAAN."""
        numbers = _NUMBER.findall(as_written)
        # In the whole text, numbers would take most of the time.
        offsets = self._numbers_around(max(filter(str.isdecimal, numbers), key=len, default=""))
        return min((offsets[number] for number in numbers if number in offsets), key=len, default=())

    def _numbers_around(self, naan: str) -> Mapping[str, Sequence[int]]:
        """Return the offsets of numbers within `_NUMBER_RANGE` characters of *naan*, by number."""
        if naan not in self._numbers:
            offsets_by_number = self._numbers[naan] = defaultdict[str, list[int]](list)
            for text_range in _merged_ranges(_offsets_of(naan, self.text), len(self.text)):
                for number in _NUMBER.finditer(self.text, *text_range):
                    offsets_by_number[number[0]].append(number.start())
        return self._numbers[naan]


def _offsets_of(part: str, text: str) -> Iterator[int]:
    """Yield the offsets of *part* in *text*; none if it is empty."""
    offset = text.find(part) if part else -1
    while offset >= 0:
        yield offset
        offset = text.find(part, offset + 1)


def is_confirmed(occurrence: Occurrence, correction: Correction, evidence: Evidence) -> bool:
    """Return True if the text around an occurrence cites the same ARKs before and after the *correction*.

    The corrected citation must be read as corrected, and all other mentions as before; *evidence* is that of the file.
    """
    source, start, end = occurrence.source, occurrence.start, occurrence.end
    text_before, as_written = source[max(0, start - _CONTEXT) : start], source[start:end]
    text_after = source[end : end + _CONTEXT]
    start_in_context, length_change = len(text_before), len(correction.correct) - len(as_written)
    readings = _mentions_in(f"{text_before}{as_written}{text_after}", evidence)
    return (start_in_context, as_written, correction.ark) in readings and _mentions_in(
        f"{text_before}{correction.correct}{text_after}", evidence
    ) == [
        (start, correction.correct, ark)
        if start == start_in_context
        else (start + length_change * (start > start_in_context), text, ark)
        for start, text, ark in readings
    ]


def _mentions_in(text: str, evidence: Evidence) -> list[tuple[int, str, str]]:
    """Return the offset, the text as written and the ARK of all mentions in *text*."""
    return [(mention.start, mention.as_written, str(mention.ark)) for mention in find_arks(text, evidence=evidence)]


def _pattern_of(piece: str) -> str:
    r"""Return a pattern, with one group, for *piece*: a character, also as an escape, or any white space.

    >>> _pattern_of("_"), _pattern_of("\N{EN DASH}")
    ('(\\\\?_)', '(–|&(?:#8211|#[xX](?i:2013)|ndash);)')
    """
    if piece.isspace():
        return r"(\s++)"
    code = ord(piece[0])
    if code < 128:
        return rf"(\\?{piece})" if piece == "_" else f"({re.escape(piece)})"
    return f"({piece}|&(?:#{code}|#[xX](?i:{code:x})|{codepoint2name.get(code, '#')});)"


def _merged_ranges(offsets: Iterable[int], length: int) -> Iterator[tuple[int, int]]:
    """Yield start and end of ranges around sorted *offsets* in a text of *length* characters; overlaps are merged.

    >>> list(_merged_ranges([5, 900, 9_000], 9_500))
    [(0, 1900), (8000, 9500)]
    """
    start = end = -1
    for offset in offsets:
        if end < 0 or offset - _NUMBER_RANGE > end:
            if end >= 0:
                yield start, end
            start = max(0, offset - _NUMBER_RANGE)
        end = min(length, offset + _NUMBER_RANGE)
    if end >= 0:
        yield start, end
