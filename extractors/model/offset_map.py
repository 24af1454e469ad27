"""Repair the characters that typesetting changes, with a map from each offset back to the source.

In the *repaired text* of an `OffsetMap`, look-alikes of hyphens are hyphens, invisible characters and escapes are
removed, and each line wrap is one character. `extractors.wraps` decides whether an ARK continues over a wrap.
"""

from __future__ import annotations

import html
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

import regex

#: In repaired text: one line wrap, including the blanks around it.
WRAP = "\n"
#: In repaired text: several line wraps, or a page break; an ARK never continues over it.
PARAGRAPH = "\f"
#: In repaired text: a blank other than a plain space, which may be typography inside a word.
ODD_BLANK = "\N{NO-BREAK SPACE}"

#: PDFium's character for a hyphen at a line end: a noncharacter, for which Unicode has no name.
LINE_END_HYPHEN = "\ufffe"

#: A pattern for the letters of scripts without blanks between words.
UNSPACED = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"

#: Scripts written from right to left, where a page may show the parts of an ARK in another order.
RIGHT_TO_LEFT = regex.compile(r"[\p{Hebrew}\p{Arabic}\p{Syriac}\p{Thaana}]")

_BREAK = r"(?: \r\n | [\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029] )"
_BLANKS = r"[^\S\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]*+"  # possessive, so that long runs of blanks are read once
_SPECIAL_TEXT = regex.compile(
    rf"""
      (?P<soft_end>  \N{{SOFT HYPHEN}}++ (?= {_BLANKS} {_BREAK} ) )   # a soft hyphen that was used
    | (?P<soft_gap>  \N{{SOFT HYPHEN}}++ \ {{1,3}} (?=\S) )        # the same, and a blank for the line's end
    | (?P<removed>   \x1b\[ [0-9;]{{0,20}} [mK]              # a colour of a terminal
                   | (?: [\\¬] | \ ?[⏎↩↵←] ) (?= {_BLANKS} {_BREAK} ) )   # Rust, TOML, YAML; prints, editors, LaTeX
    | (?P<wrap>      (?<![^\S\n\r]) (?: {_BLANKS} {_BREAK} )++ {_BLANKS} )
    | (?P<pdf_end>   [\x02{LINE_END_HYPHEN}] (?: {_BLANKS} {_BREAK} )? {_BLANKS} )   # PDFium: a hyphen ended this line
    | (?P<dash>      [\p{{Dash}}\N{{HYPHEN BULLET}}--\-] )
    | (?P<invisible> \p{{Default_Ignorable_Code_Point}}+ )
    | (?P<wide>      [\uFF01-\uFF5E] )                    # full-width forms of ASCII
    | (?P<ligature>  [\uFB00-\uFB06] )                    # ff, fi, fl, ffi, ffl, st
    | (?P<blank>     [^\S\ ]+ )
    | (?P<escape>    %(?:25)?+ (?: 0[AaDd9] | 20 | [C-Fc-f][0-9A-Fa-f] (?: %(?:25)?+ [89ABab][0-9A-Fa-f] ){{1,3}}+ ) )
    | (?P<json>      \\u (?: 00[2-7][0-9A-Fa-f] | 00[Aa][0Dd] | 20[0-6][0-9A-Fa-f] | 2212 | [Ff][Bb]0[0-6] | [Ff][Ee][Ff][Ff] ) )
    | (?P<backslash> \\ (?= [!-/:-@\[-`{{-~] ) )          # Markdown and JSON escape ASCII punctuation so
    | (?P<entity>    & (?: \#[0-9]{{2,5}} | \#[xX][0-9A-Fa-f]{{2,4}} | colon | sol | shy | nbsp | hyphen | dash
                           | lowbar | period | equals | amp
                           | ndash | mdash | minus | zwnj | zwj | ZeroWidthSpace ) ; )
    """,
    regex.VERBOSE | regex.VERSION1,
)
#: A blank, or a sign before a line end.
_AFTER_BLANKS = re.compile(r"[\s⏎↩↵←]")
_SINGLE_BREAK = regex.compile(_BREAK, regex.VERBOSE)
#: Characters at which `_SPECIAL_TEXT` may match, other than letters, digits, spaces and plain punctuation.
#: Blanks before a line break are added later. The listed letters are full-width, ligatures or invisible.
_ODD_CHAR = re.compile(r"[^\w !-$'-/:-@\[\]^`{-~]|[%\\&]|[\uFF01-\uFF5E\uFB00-\uFB06\u115F\u1160\u3164\uFFA0]")
#: A line break without blanks or marks next to it, which repairing doesn't change.
_SEVERAL_LINES = re.compile(r"\f|\n[^\n]*\n")
_PLAIN_WRAP = re.compile(r"[^\s\xad]\n[^\s>#|*;%/!'\":.@CRNrd↪⤷↳,֒-]")
#: The mark of e-mail and program text before a line.
LINE_MARK = re.compile(
    r"""[ \t]*(?:\#'|[>#|*;%]|//[/!]?|[/(]\*|(?:-{2,4}|!>?|'|"|::|\.\\"|@c|NB\.|C|R(?:EM|em)|rem|dnl)(?=[ \t]))[>#|*;% \t]*"""
)
_COMMENT_BEGINS = re.compile(r"[/(]\*")
#: The arrow of fvextra and listings (LaTeX) before a line that they broke; in old fonts a comma and an arrow.
_CONTINUATION = re.compile(r"[ \t]*(?:[↪⤷↳]→?|[,֒]→)[ \t]*")
_LONGEST_LINE = 1000
_NO_INTERRUPTIONS: Mapping[int, int] = {}


@dataclass(frozen=True, slots=True)
class Change:
    """A place where the repaired text differs from the source, or where characters were removed."""

    start: int
    """Offset in the repaired text; if `length` is 0, characters were removed before this offset."""
    length: int
    """Number of characters in the repaired text."""
    source_start: int
    source_end: int
    repair: str | None
    """The name of the repair (``soft hyphen``); None for a change that doesn't count as a repair."""


@dataclass(frozen=True, slots=True)
class OffsetMap:
    """A piece of `source` with repaired characters; its offsets map back to code points of the source."""

    source: str
    text: str
    """The repaired text of the piece."""
    changes: tuple[Change, ...]
    change_starts: tuple[int, ...]
    """`Change.start` of all changes."""
    source_start: int = 0
    """The offset of the piece in the source."""

    def source_offset(self, offset: int) -> int:
        """Return the source offset of the character at *offset* of the repaired text, after any removed characters.

        >>> offsets = offset_map("ar\\N{SOFT HYPHEN}k:/1")
        >>> offsets.text, offsets.source_offset(2)
        ('ark:/1', 3)
        """
        change_index = bisect_right(self.change_starts, offset) - 1
        if change_index < 0:
            return self.source_start + offset
        change = self.changes[change_index]
        if offset < change.start + change.length:
            return change.source_start
        return change.source_end + offset - change.start - change.length

    def source_end(self, offset: int) -> int:
        """Return the source offset after the character that ends at *offset* of the repaired text."""
        last_offset = offset - 1
        change_index = bisect_right(self.change_starts, last_offset) - 1
        if change_index >= 0 and self.changes[change_index].length:
            change = self.changes[change_index]
            if last_offset < change.start + change.length:
                return change.source_end
        return self.source_offset(last_offset) + 1

    def source_spans(self, start: int, end: int) -> list[tuple[int, int]]:
        """Return start and end in the source of the repaired text from *start* to *end*: several if text was removed.

        >>> offset_map("ar\N{SOFT HYPHEN}k").source_spans(0, 3)
        [(0, 2), (3, 4)]
        """
        spans: list[tuple[int, int]] = []
        span_start = start
        for change_index in range(bisect_right(self.change_starts, start), len(self.changes)):
            change = self.changes[change_index]
            if change.start >= end:
                break
            if change.length == 0 and change.start > span_start:
                spans.append((self.source_offset(span_start), self.source_end(change.start)))
                span_start = change.start
        spans.append((self.source_offset(span_start), self.source_end(end)))
        return spans

    def repairs(self, start: int, end: int) -> list[str]:
        """Return the names of the repairs between two offsets of the repaired text, without duplicates, in order."""
        first_index = bisect_right(self.change_starts, start - 1)
        repair_names: list[str] = []
        for change_index in range(first_index, len(self.changes)):
            change = self.changes[change_index]
            if change.start >= end:
                break
            is_before_start = change.length == 0 and change.start == start
            if change.repair and not is_before_start and change.repair not in repair_names:
                repair_names.append(change.repair)
        return repair_names

    def repair_offsets(self, repair: str, start: int, end: int) -> list[int]:
        """Return the offsets from *start* to *end* of the repaired text at which the repair of this name was made."""
        first_index = bisect_right(self.change_starts, start - 1)
        last_index = bisect_right(self.change_starts, end - 1)
        return [change.start for change in self.changes[first_index:last_index] if change.repair == repair]

    def written_at(self, offset: int) -> str:
        """Return the source text of the character at *offset* of the repaired text."""
        return self.source[self.source_offset(offset) : self.source_end(offset + 1)]


def offset_map(
    source: str, start: int = 0, end: int | None = None, interruptions: Mapping[int, int] = _NO_INTERRUPTIONS
) -> OffsetMap:
    """Return the offset map of a piece of *source*: hyphens folded to ``-``, invisible characters and escapes of
    punctuation removed, wraps and odd blanks replaced by one character each.

    *start* and *end* limit the piece. *interruptions* maps the start to the end of stretches of *source* that count as
    one wrap, such as a page number between two lines.

    >>> offset_map("btv1b84\\N{EN DASH}\\r\\n  49").text
    'btv1b84-\\n49'
    >>> offset_map("ark%E2%80%8B:\\\\/12345\\\\/x5\\\\_1").text
    'ark:/12345/x5_1'
    """
    end = len(source) if end is None else end
    pieces: list[str] = []
    changes: list[Change] = []
    copied_end, text_length = start, 0
    for odd_char in _ODD_CHAR.finditer(source, start, end):
        odd_start = odd_char.start()
        odd_end = min(interruptions.get(odd_start, odd_start), end)
        if odd_start < copied_end or (odd_start == odd_end and odd_start and _PLAIN_WRAP.match(source, odd_start - 1)):
            continue
        while odd_start > copied_end and source[odd_start - 1] == " " and _AFTER_BLANKS.match(odd_char[0]):
            odd_start -= 1
        if odd_end > odd_char.start():
            new_text = WRAP
            repair = "page break" if _SEVERAL_LINES.search(source, odd_char.start(), odd_end) else None
        else:
            special = _SPECIAL_TEXT.match(source, odd_start, end) or _SPECIAL_TEXT.match(source, odd_char.start(), end)
            if special is None:
                continue
            new_text, repair = _replacement(special.lastgroup or "", special[0])
            odd_start, odd_end = special.span()
        if new_text == WRAP:
            odd_end = _skip_line_mark(source, odd_start, odd_end)
        if new_text == source[odd_start:odd_end]:
            continue
        pieces.append(source[copied_end:odd_start])
        text_length += odd_start - copied_end
        pieces.append(new_text)
        changes.append(Change(text_length, len(new_text), odd_start, odd_end, repair))
        text_length += len(new_text)
        copied_end = odd_end
    pieces.append(source[copied_end:end])
    return OffsetMap(source, "".join(pieces), tuple(changes), tuple([change.start for change in changes]), start)


def _skip_line_mark(source: str, line_end: int, next_start: int) -> int:
    """Return the offset of the text of the line at *next_start*, after a mark that belongs to both lines.

    The mark is one of a quotation or comment (``>``, ``#``) before both lines, or an arrow that continues a line of
    program text. *line_end* is the end of the line before.

    >>> _skip_line_mark("> ark:/12148/bpt6k10\\n> 7371t", 20, 21)
    23
    """
    if continuation := _CONTINUATION.match(source, next_start):
        return continuation.end()
    next_mark = LINE_MARK.match(source, next_start)
    if not next_mark or (
        source[line_end] in " \t" and next_mark[0][-1] not in " \t"
    ):  # "#a2be1430", after the blank of a line end
        return next_start
    line_start = source.rfind("\n", max(0, line_end - _LONGEST_LINE), line_end) + 1
    own_mark = LINE_MARK.match(source, line_start, line_end)
    sign = next_mark[0].strip()
    if own_mark:
        return next_mark.end() if _COMMENT_BEGINS.sub("*", own_mark[0].strip())[0] == sign[0] else next_start
    # Of a comment after program text, continued below it: x = 1  # ark:/12148/bpt6k10
    column = next_mark.start() + next_mark[0].index(sign) - source.rfind("\n", line_end, next_start) - 1
    is_below = column > 0 and source.startswith(f" {sign} ", line_start + column - 1, line_end)
    return next_mark.end() if is_below else next_start


def _replacement(group: str, written_text: str) -> tuple[str, str | None]:
    """Return the repaired text for *written_text*, and the name of the repair, or None for a change that is no repair.

    *group* is the group of `_SPECIAL_TEXT` that matched.
    """
    match group:
        case "wrap":
            breaks = _SINGLE_BREAK.findall(written_text)
            return (WRAP if len(breaks) == 1 and breaks[0] != "\f" else PARAGRAPH), None
        case "soft_end":
            return "-", "soft hyphen"
        case "soft_gap":
            return "-" + WRAP, "soft hyphen"
        case "removed":
            return "", None
        case "pdf_end":
            return "-" + WRAP, None
        case "dash":
            return "-", "look-alike hyphen"
        case "invisible":
            return "", "soft hyphen" if "\N{SOFT HYPHEN}" in written_text else "invisible character"
        case "wide":
            return unicodedata.normalize("NFKC", written_text), "full-width character"
        case "ligature":
            return unicodedata.normalize("NFKC", written_text), "ligature"
        case "blank":
            return ODD_BLANK, None
        case "json":
            return _repaired_escape(chr(int(written_text[2:], 16)), written_text, "JSON escape")
        case "backslash":
            return "", "backslash escape"
        case "entity":
            return _repaired_escape(html.unescape(written_text), written_text, "entity")
        case _:
            raw_bytes = unquote_to_bytes(written_text.replace("%25", "%"))
            return _repaired_escape(raw_bytes.decode("utf-8", "replace"), written_text, "percent-encoding")


def _repaired_escape(char: str, written_text: str, repair: str) -> tuple[str, str | None]:
    """Return the text in place of *written_text*, the escape of *char*, and the name of the repair; None for no repair.

    A character that `_SPECIAL_TEXT` matches is repaired as if raw. Another percent-escape stays as written.

    >>> _repaired_escape("\\N{EN DASH}", "%E2%80%93", "percent-encoding")
    ('-', 'look-alike hyphen')
    """
    if char == " ":
        return ODD_BLANK, None
    special = _SPECIAL_TEXT.fullmatch(char)
    if special:
        return _replacement(special.lastgroup or "", char)
    if repair != "percent-encoding" and "!" <= char <= "~":
        return char, repair
    return written_text, None
