"""Texts that end inside a URL or an ARK, and the page breaks after which they may continue."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from itertools import islice

import regex

from extractors.mentions.labels import label_signs
from extractors.model.documents import Block, Role
from extractors.model.offset_map import LINE_END_HYPHEN
from extractors.wraps.rules import LINE_NUMBER, is_numbered, may_be_rest

_LINE_BREAK = re.compile(rf"[\r\n]+|{LINE_END_HYPHEN}")
_INVISIBLE = re.compile("[\N{ZERO WIDTH SPACE}\N{WORD JOINER}\N{ZERO WIDTH NON-JOINER}]+")
_HYPHENS = "-\N{HYPHEN}\N{SOFT HYPHEN}"
_LABEL_OR_SCHEME = re.compile(r"https?:|ark:", re.IGNORECASE)
_BEGUN_LABEL_OR_SCHEME = re.compile(r"https?:|ark:|\A:/", re.IGNORECASE)  # French: a space before the colon
_BEGINNING_OF_LABEL = re.compile(r"(?:\A|[\W_])(a|ar|ark|h|ht|htt|http|https)\Z", re.IGNORECASE)
_COLON_OR_BEGIN = re.compile(
    rf":|(?<![^\W_])(?:a|ar|ark|h|ht|htt|https?)-?\s*(?:[\r\n{LINE_END_HYPHEN}]|\Z)", re.IGNORECASE
)
_TAIL_CHARS = 300
_HEAD_CHARS = 12
_LAST_LINES = 5  # of a page: its text may end before a running foot of several lines


def is_open(text: str) -> bool:
    r"""Return True if *text* ends inside a URL or an ARK, or with a possible beginning of a label or scheme.

    >>> is_open("see https:"), is_open("see ark:/12345/\r\nx5"), is_open("see ark:/12345/x5 and")
    (True, True, False)
    """
    return _is_open(_last_word(_last_lines(text)))


def lines_after_open_ends(page_text: str) -> list[int]:
    r"""Return all numbers ``n`` for which *page_text* without its last ``n`` lines ends inside a URL or an ARK (`is_open`).

    These last lines are then a running foot.

    >>> lines_after_open_ends("see ark:/12345/\r\n12\r\nin press")
    [1, 2]
    """
    if not _COLON_OR_BEGIN.search(page_text, max(0, len(page_text) - _TAIL_CHARS)):
        return []
    lines = _last_lines(page_text)
    line_counts = range(min(_LAST_LINES, len(lines)))
    return [line_count for line_count in line_counts if _is_open(_last_word(lines[: len(lines) - line_count]))]


def may_continue(text: str, following_text: str) -> bool:
    """Return True if *following_text* may continue the open end of *text*.

    Any text may continue a URL or an ARK. The beginning of a label or scheme must be completed by it.

    >>> may_continue("see ar", "k:/12345/x5"), may_continue("is a", "word"), may_continue("ark:/12345/x", "word")
    (True, False, True)
    """
    word = _last_word(_last_lines(text))
    beginning = _BEGINNING_OF_LABEL.search(word)
    if beginning is None or _BEGUN_LABEL_OR_SCHEME.search(word):
        return bool(following_text)
    return _LABEL_OR_SCHEME.match(beginning[1] + "".join(_last_lines(following_text[:_HEAD_CHARS]))) is not None


def _is_open(word: str) -> bool:
    return _BEGUN_LABEL_OR_SCHEME.search(word) is not None or _BEGINNING_OF_LABEL.search(word) is not None


def _last_lines(text: str) -> list[str]:
    """Return the lines in the last characters of *text*, without invisible characters and hyphens at line ends."""
    visible = _INVISIBLE.sub("", text[-_TAIL_CHARS:])
    return [line.rstrip().rstrip(_HYPHENS) for line in _LINE_BREAK.split(visible.rstrip())]


def _last_word(lines: list[str]) -> str:
    """Return the last word of *lines*; if it fills its line, the word at the end of the line before is part of it, and so on."""
    pieces = []
    for line in reversed(lines):
        pieces.append(line[line.rfind(" ") + 1 :])
        if " " in line:
            break
    return "".join(reversed(pieces))


# Page breaks in a text without pages: rules, page numbers, running heads and feet, and form feeds.

#: The rest of a word that ends its line.
_REST_OF_LINE = re.compile(r"(?P<word>\S*+)[ \t]*+[\r\n\f]\s*+")
#: Characters of a number before a line.
GUTTER_CHARS = 8
#: The end of a line in a URL without a label, or in a label.
_OPEN_WORD = re.compile(
    r"(?:https?:(?:(?!ark:)\S)*+|(?<![^\W_])(?:ark?:?/?|a|https?))(?=[ \t]*+[\r\n\f])", re.IGNORECASE
)
#: In a list of ARKs, one per line.
_ARK_ABOVE = re.compile(r"ark:\S*+[ \t]*+\r?\n\Z")
_BLANKS = re.compile(r"[ \t]*+")
_MOST_LINES_OF_NAME = 4
_NEXT_LINE = re.compile(r"(?P<breaks>[\r\n\f]\s*+)(?P<line>[^\r\n\f]{0,200}+)")
_EMPTY_LINE = re.compile(r"[ \t]*+(?:(?:\r?\n[ \t]*+){2}|(?:\r?\n)?\f)")
_MOST_LINES = 8
_LONGEST_HEAD = 80
#: Lines from the first of a running foot to the text after a running head.
_MOST_HEADS = 3
_PAGE = r"(?: pp? | pag(?:e|ina)? | pág(?:ina)? | s(?:eite|ida|ide|lide)? | fol(?:io|ie)? | bl(?:att)? | leaf | стр ) \.? \s*"
_OF_PAGES = r"\s? (?: / | of | von | van | sur | de | di | da | av | из ) \s? [0-9]{1,5}"
_BESIDE_NUMBER = r"(?: \s{2,} | \s? [|·•–—] \s? )"
#: Between two pages: a rule, ``- 12 -``, ``Page 9 of 40``, ``9/40``, ``Annals of Printing    12``, ``12 | Annals``, and
#: ``Kunze    [Page 12]`` in an RFC.
_PAGE_LINE = regex.compile(
    rf"""
      ([-*_=~·•–—]) (?: [ \t]* \1 ){{2,}}+ | [⁂❦§]
    | [^\w\s]++ \s* [0-9]{{1,5}} \s* [^\w\s]++
    | \W{{0,6}} (?: {_PAGE} [0-9]{{1,5}} (?: {_OF_PAGES} )? | [0-9]{{1,5}} {_OF_PAGES} ) \W{{0,6}}
    | [0-9]{{1,5}} {_BESIDE_NUMBER} \p{{L}} .{{2,60}} | \p{{L}} .{{2,60}}? {_BESIDE_NUMBER} \[? (?: {_PAGE} )? [0-9]{{1,5}} \]?
    """,
    regex.VERBOSE | regex.IGNORECASE,
)
_PAGE_NUMBER = re.compile(r"[0-9]{1,5}|[ivxlc]{1,8}", re.IGNORECASE)
_DIGITS = re.compile(r"[0-9]+")
_LABEL = re.compile(r"(?:ark|\Ar?k|\A):", re.IGNORECASE)  # or the end of one, in the second line
_NAAN_AT_END = re.compile(r"ark:/?([0-9]*)\Z", re.IGNORECASE)
_REST_OF_NAAN = re.compile(r"/?([0-9]*)/")
_NAAN_CHARS = 5
_NUMBER = re.compile(r"[0-9]+(?![\w,])")
_SEVERAL_LETTERS = regex.compile(r"(?:\P{L}*\p{L}){4}")


def interruptions_of(block: Block) -> Mapping[int, int]:
    """Return the end of each interruption (`interruptions_in`) of *block* by its start; empty for the text of a page."""
    if block.interruptions is not None:
        return dict(block.interruptions)
    return interruptions_in(block.text) if block.role is Role.TEXT and block.page is None else {}


@lru_cache(maxsize=2)
def interruptions_in(text: str) -> Mapping[int, int]:
    r"""Return the end by the start of each stretch of *text* between two lines over which an ARK may continue.

    A stretch is a page break: a form feed, or lines that end or begin a page. Or it is the number of a line, or an empty
    line after a hyphen.

    >>> text = "see ark:/12148/bpt6k10\n\n- 12 -\n\n7371t"
    >>> [text[start:end] for start, end in interruptions_in(text).items()]
    ['\n\n- 12 -\n\n']
    """
    interruptions: dict[int, int] = {}
    read_end = 0
    for sign in label_signs(text):
        if sign < read_end:
            continue
        earliest = max(0, sign - _TAIL_CHARS)
        line_start = max(text.rfind("\n", earliest, sign), text.rfind("\f", earliest, sign)) + 1
        is_first_word = text.find(" ", line_start + GUTTER_CHARS, sign) < 0
        if is_first_word and not _ARK_ABOVE.search(text, max(0, line_start - _TAIL_CHARS), line_start):
            text_before = text[max(0, line_start - _TAIL_CHARS) : line_start]
            for open_word in _OPEN_WORD.finditer(text_before):
                interruptions |= _interruption_after(text, line_start - len(text_before) + open_word.end())
        rest_of_line = _REST_OF_LINE.match(text, sign)
        for _ in range(_MOST_LINES_OF_NAME):
            if rest_of_line is None or _LABEL_OR_SCHEME.match(text, rest_of_line.end()):
                break
            read_end = rest_of_line.end("word")
            interruption = _interruption_after(text, read_end)
            interruptions |= interruption
            rest_of_line = _REST_OF_LINE.match(text, next(iter(interruption.values()), rest_of_line.end()))
    return interruptions


def may_go_on_below(text: str, ark_end: int) -> bool:
    r"""Return True if an ARK that ends at *ark_end*, with its paragraph, may continue in one of the next two paragraphs.

    >>> may_go_on_below("ark:/67531/metadc107\n\n835b maps", 20), may_go_on_below("ark:/67531/metadc107\n\nMaps", 20)
    (True, False)
    >>> may_go_on_below("ark:/67531/metadc107\n\nA running head\n\n835b maps", 20)
    True
    """
    if not _EMPTY_LINE.match(text, ark_end):
        return False
    lines = islice(_NEXT_LINE.finditer(text, ark_end), 2)
    next_line = next(lines)
    is_alone = _EMPTY_LINE.match(text, next_line.end()) and len(next_line["line"]) <= _LONGEST_HEAD
    return may_be_rest(next_line["line"]) or (bool(is_alone) and any(may_be_rest(line["line"]) for line in lines))


def _interruption_after(text: str, line_end: int) -> dict[int, int]:
    """Return the end by the start of the interruption at *line_end*; empty without one, or if no name continues after it."""
    is_page_break = text[line_end - 1 : line_end] in _HYPHENS and _EMPTY_LINE.match(text, line_end) is not None
    is_below_foot = False
    for line in islice(_NEXT_LINE.finditer(text, line_end), _MOST_LINES):
        is_page_break |= "\f" in line["breaks"]
        if _is_page_line(text, line_end, line, is_below_foot=is_below_foot):
            is_page_break = is_below_foot = True
            continue
        rest_start = line.start("line")
        number = LINE_NUMBER.match(text, rest_start)
        if number and is_numbered(text, line.start("breaks")):
            rest_start = number.end()
        elif not is_page_break:
            break
        may_go_on = _may_go_on(text, line_end, text[rest_start : rest_start + _TAIL_CHARS], is_page_break=is_page_break)
        return {_BLANKS.match(text, line_end).end(): rest_start} if may_go_on else {}  # type: ignore[union-attr]
    return {}


def _is_page_line(text: str, line_end: int, line: re.Match[str], *, is_below_foot: bool) -> bool:
    """Return True if *line*, below the line end *line_end*, is a rule, a page number, or a running head or foot.

    *is_below_foot* is True if the line above is such a line. A short line before an empty line is then a head.
    """
    line_text = line["line"].strip()
    if _PAGE_LINE.fullmatch(line_text):
        return True
    if _PAGE_NUMBER.fullmatch(line_text):
        return bool(_EMPTY_LINE.match(text, line.start()) or _EMPTY_LINE.match(text, line.end()))
    is_head = 0 < len(line_text) <= _LONGEST_HEAD and not _LABEL_OR_SCHEME.search(line_text)
    if not is_head or _may_go_on(text, line_end, line_text):
        return False
    if "\f" in line["breaks"] or (is_below_foot and _EMPTY_LINE.match(text, line.end())):
        return True
    lines_below = islice(_NEXT_LINE.finditer(text, line.end()), _MOST_HEADS)
    form = _form_of_line(line_text)
    if not _SEVERAL_LETTERS.match(form) or not any(
        _may_go_on(text, line_end, lower_line["line"]) for lower_line in lines_below
    ):
        return False
    return _line_forms(text)[form] > 1


@lru_cache(maxsize=2)
def _line_forms(text: str) -> Counter[str]:
    """Return the number of lines of *text* by their form (`_form_of_line`), without long lines."""
    return Counter(_form_of_line(line) for line in text.splitlines() if len(line) <= 2 * _LONGEST_HEAD)


def _form_of_line(line: str) -> str:
    return _DIGITS.sub("#", line.strip())


def _may_go_on(text: str, line_end: int, following_text: str, *, is_page_break: bool = True) -> bool:
    """Return True if *following_text* may be the rest of the URL or ARK before *line_end*."""
    text_before = text[max(0, line_end - _TAIL_CHARS) : line_end]
    word = _last_word(_last_lines(text_before))
    if naan_match := _NAAN_AT_END.search(word):
        rest_of_naan = _REST_OF_NAAN.match(following_text)
        return rest_of_naan is not None and len(naan_match[1] + rest_of_naan[1]) == _NAAN_CHARS
    if _LABEL.search(word):
        return may_be_rest(following_text) or (is_page_break and _NUMBER.match(following_text) is not None)
    return _is_open(word) and may_continue(text_before, following_text) and ":" in following_text.split(" ", 1)[0]
