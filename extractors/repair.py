"""Undoing what typesetting does to characters, one by one; every character left knows where it stood.

A `Tape` is a text whose look-alikes are folded, whose invisible characters are gone and whose line wraps are one
character each. What a wrap *means* (the ARK goes on, or ends here) is decided in `extractors.wraps`.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import regex

#: On a tape: one line wrap, with the blanks around it.
WRAP = "\n"
#: On a tape: more than one line wrap, or a page break; nothing is ever joined over it.
PARAGRAPH = "\f"
#: On a tape: a blank that is not the plain space, and so may be typography rather than the end of a word.
ODD_BLANK = "\N{NO-BREAK SPACE}"

_BREAK = r"(?: \r\n | [\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029] )"
_BLANKS = r"[^\S\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]*+"  # possessive: long runs of blanks cost one look
_SPECIAL = regex.compile(
    rf"""
      (?P<soft_end>  \N{{SOFT HYPHEN}}++ (?= {_BLANKS} {_BREAK} ) )   # a soft hyphen that was used
    | (?P<wrap>      (?<![^\S\n\r]) (?: {_BLANKS} {_BREAK} )++ {_BLANKS} )
    | (?P<pdf_end>   [\x02\uFFFE] )                       # PDFium: a hyphen stood at the end of this line
    | (?P<dash>      [\p{{Dash}}\N{{HYPHEN BULLET}}--\-] )
    | (?P<invisible> \p{{Default_Ignorable_Code_Point}}+ )
    | (?P<wide>      [\uFF01-\uFF5E] )                    # full-width forms of ASCII
    | (?P<blank>     [^\S\ ]+ )
    """,
    regex.VERBOSE | regex.VERSION1,
)
_ONE_BREAK = regex.compile(_BREAK, regex.VERBOSE)
_WIDE_OFFSET = 0xFF01 - 0x21


@dataclass(frozen=True, slots=True)
class Change:
    """A place on the tape where the source had something else, or nothing was left of it."""

    start: int
    """Offset on the tape; the change stands before this offset when `length` is 0."""
    length: int
    source_start: int
    source_end: int
    repair: str | None


@dataclass(frozen=True, slots=True)
class Tape:
    """*source* with its characters repaired; offsets on the tape map back to code points of the source."""

    source: str
    text: str
    changes: tuple[Change, ...]
    starts: tuple[int, ...]

    def source_offset(self, offset: int) -> int:
        """Where in the source the character at *offset* of the tape stands; characters before it are not included.

        >>> tape = tape_of("ar\\N{SOFT HYPHEN}k:/1")
        >>> tape.text, tape.source_offset(2)
        ('ark:/1', 3)
        """
        at = bisect_right(self.starts, offset) - 1
        if at < 0:
            return offset
        change = self.changes[at]
        if offset < change.start + change.length:
            return change.source_start
        return change.source_end + offset - change.start - change.length

    def source_end(self, offset: int) -> int:
        """Where in the source the character that ends at *offset* of the tape ends."""
        last = offset - 1
        at = bisect_right(self.starts, last) - 1
        while at >= 0 and self.changes[at].length == 0:
            at -= 1
        if at >= 0:
            change = self.changes[at]
            if last < change.start + change.length:
                return change.source_end
        return self.source_offset(last) + 1

    def repairs(self, start: int, end: int) -> list[str]:
        """The names of the repairs made strictly between two offsets of the tape, each once, in order."""
        first = bisect_right(self.starts, start - 1)
        names: list[str] = []
        for change in self.changes[first:]:
            if change.start >= end:
                break
            outside = change.length == 0 and change.start == start
            if change.repair and not outside and change.repair not in names:
                names.append(change.repair)
        return names


def tape_of(source: str) -> Tape:
    """The tape of *source*: hyphens folded to ``-``, invisible characters gone, wraps and odd blanks one each.

    >>> tape_of("btv1b84\\N{EN DASH}\\r\\n  49").text
    'btv1b84-\\n49'
    """
    pieces: list[str] = []
    changes: list[Change] = []
    done = length = 0
    for found in _SPECIAL.finditer(source):
        start, end = found.span()
        pieces.append(source[done:start])
        length += start - done
        text, repair = _replacement(found.lastgroup or "", found[0])
        pieces.append(text)
        changes.append(Change(length, len(text), start, end, repair))
        length += len(text)
        done = end
    pieces.append(source[done:])
    return Tape(source, "".join(pieces), tuple(changes), tuple(change.start for change in changes))


def _replacement(kind: str, written: str) -> tuple[str, str | None]:
    """What stands on the tape for *written*, and the repair's name if it is one wherever it stands."""
    match kind:
        case "soft_end":
            return "-", "soft hyphen"
        case "wrap":
            breaks = _ONE_BREAK.findall(written)
            return (WRAP if len(breaks) == 1 and breaks[0] != "\f" else PARAGRAPH), None
        case "pdf_end":
            return "-" + WRAP, None
        case "dash":
            return "-", "look-alike hyphen"
        case "invisible":
            return "", "soft hyphen" if "\N{SOFT HYPHEN}" in written else "invisible character"
        case "wide":
            return chr(ord(written) - _WIDE_OFFSET), "full-width character"
        case _:
            return ODD_BLANK, None
