"""Find the labels that sources of pages, attributes and fields may contain, before they are read as text.

The patterns are wider than those of the reader.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from html import unescape

import regex

from extractors.mentions.labels import BEFORE_LABEL, DEFENDED_COLON, LETTERS, PERCENT, sign_offsets

_FLAGS = regex.VERBOSE | regex.IGNORECASE | regex.VERSION1
#: The letters of the label in a source, plain or escaped; `regex` folds the case of the full-width ones, too.
_A, _R, _K = (
    rf"(?: [{letter}{wide}] | {PERCENT} {number} | \\(?:u00|x){number} )" for letter, (wide, number) in LETTERS.items()
)
#: The text before a label in a source: "dark:text-white" is a class name, but a letter at the end of an escape may be
#: before a label.
_BEGINNING = rf"(?: (?<! \p{{L}} ) | {BEFORE_LABEL} )"
_SIGN = rf"(?: /?\+ | [:\uFF1A_] | {PERCENT} 3 | \\ [ux] | & (?:\#|colon;) | {DEFENDED_COLON} )"
"""The sign after the k: the colon, the first characters of its escapes, and its substitutes in file names."""


def _word(gap: str) -> str:
    return rf"{_BEGINNING} {_A} {gap} {_R} {gap} {_K} {gap}"


#: Typesetting and escapes between the letters: blanks, marks, hyphens, invisible characters; never many.
_BETWEEN = r"[^\p{L}\p{N}<>&:;,!?/|=@\#()\[\]{}\"]"
_GAP = rf"{_BETWEEN}{{0,8}}?"
_BEFORE_ARK = frozenset("/ :(\"'\n")
#: A quick test: without one of these there is no label, and `re` finds them several times faster.
_ANY_SIGN = re.compile("[:+_%&\\\\\N{FULLWIDTH COLON}]")
_LABEL = regex.compile(
    rf"{_word(_GAP)} {_SIGN}  |  o : {_A} {_GAP} {_R} {_GAP} {_K} {_GAP} /",  # info:ark/…
    _FLAGS,
)

#: The end of the whole word, without gaps.
_WORD_BEFORE = regex.compile(rf"(?<= {_word('')} )", _FLAGS)
_MARKUP_GAP = rf"(?: <[^<>]*+> | {_BETWEEN} | &\#[0-9]++; ){{0,40}}"
_BEFORE_SIGN = regex.compile(rf"(?<= {_word(_MARKUP_GAP)} /? )", _FLAGS)
_AFTER_SIGN = regex.compile(rf": {_MARKUP_GAP} {_A} {_MARKUP_GAP} {_R} {_MARKUP_GAP} {_K} {_MARKUP_GAP} /", _FLAGS)
#: Each sign of `_SIGN`, with a condition on its neighbours.
_SIGNS = tuple(
    (sign, re.compile(pattern))
    for sign, pattern in (
        (":", "(?<!/):"),
        ("%", "%(?=(?:25)*+(?:3|2?<))"),
        ("\\", r"\\(?=[ux<])"),
        ("+", r"(?<![0-9A-JL-Za-jl-z])\+"),
        ("_", "(?<![0-9A-JL-Za-jl-z])_"),
        (DEFENDED_COLON, DEFENDED_COLON),
        ("&amp;#", "&amp;(?=#)"),
        ("&amp;colon;", "&amp;(?=colon;)"),
        ("\N{FULLWIDTH COLON}", "\N{FULLWIDTH COLON}"),
    )
)
_ANY_SIGN_HERE = re.compile("|".join(pattern.pattern for _, pattern in _SIGNS))
_LONGEST_SIGN = max(len(sign) for sign, _ in _SIGNS)
_AFTER_O = re.compile(r":(?<=[oO]:)(?=[aA<%&\\\uFF21\uFF41])")
#: A superset of the text between the word and its sign.
_TEXT_BEFORE_SIGN = regex.compile(rf"(?: <[^<>]*+> | {_BETWEEN} | &\#[0-9]++; | / )*+", regex.VERBOSE)
#: The k in each of its spellings, unless its neighbours rule it out: the next character can't be in a label; the one
#: before is neither an r nor possible in a gap; there is no a before the r ("work"); a letter that ends no escape is
#: before "ar" ("mark"). `re` skips from one to the next.
_NO_NEIGHBOURS = (
    r"""(?![0-9A-Za-z,;=?!|@#()\[\]{}">])(?<![A-QS-Za-qs-z013-9,:!?/|=@#()\[\]{}"&<].)"""
    r"(?<![B-Zb-z][rR].)(?:(?<![G-JLMO-QSU-Zg-jlmo-qsu-z][Aa][Rr].)|(?<=\\f[A-Za-z][Aa][Rr].)|(?<=\\f\(..[Aa][Rr].))"
)
_LAST_LETTERS = (
    *((letter, re.compile(letter + _NO_NEIGHBOURS)) for letter in "kK\N{KELVIN SIGN}\uff2b\uff4b"),
    ("%", re.compile(r"%(?:25)*+[46][bB]")),
    ("\\", re.compile(r"\\(?:u00|x)[46][bB]")),
)


def may_hold_ark(value: str) -> bool:
    """Return True if *value* may contain a label, in any of its spellings.

    >>> may_hold_ark("https://n2t.net/ark%3A/12148/btv1b8"), may_hold_ark("dark:text-white")
    (True, False)
    """
    label_start = value.find("ark:")
    if label_start == 0 or (label_start > 0 and value[label_start - 1] in _BEFORE_ARK):
        return True
    return _ANY_SIGN.search(value) is not None and _LABEL.search(value) is not None


def label_sign_offsets(markup: str) -> list[int]:
    """Return the offsets of the signs of possible labels in well-formed *markup*, in order, also if tags split them.

    >>> label_sign_offsets('<p>bookmark: no; <b>ar<wbr/>k</b>: yes</p>')
    [33]
    """
    offsets = {colon.start() for colon in _AFTER_O.finditer(markup) if _AFTER_SIGN.match(markup, colon.start())}
    for end in word_ends(markup):
        offsets.update(offset for offset in _sign_offsets_after(markup, end) if _BEFORE_SIGN.match(markup, offset))
    return sorted(offsets)


def word_ends(markup: str) -> Iterator[int]:
    """Yield the offsets after letters in *markup* that may end the word of a label; most pages without ARKs have none.

    >>> list(word_ends("a mark: dark, ARK (the k), {k: 1}, work/"))
    [17]
    """
    for letter, pattern in _LAST_LETTERS:
        if letter in markup:
            yield from (letter_match.end() for letter_match in pattern.finditer(markup))


def _sign_offsets_after(markup: str, word_end: int) -> Iterator[int]:
    """Yield the offsets of the signs with only tags and marks between them and the word that ends at *word_end*."""
    gap = _TEXT_BEFORE_SIGN.match(markup, word_end)
    gap_end = gap.end() if gap is not None else word_end
    if gap_end == word_end:  # the usual case
        if _ANY_SIGN_HERE.match(markup, word_end):
            yield word_end
        return
    near_text = markup[word_end : gap_end + _LONGEST_SIGN]
    for sign, pattern in _SIGNS:
        if sign in near_text:
            yield from filter(partial(pattern.match, markup), sign_offsets(markup, sign, word_end, gap_end + len(sign)))


_NAAN_AND_NAME = re.compile(r"/?(?P<compact>[0-9a-z]{5,16}/[0-9A-Za-z]\S*)", re.ASCII)


def with_label(value: str) -> str | None:
    """Return the *value* of a field for ARKs as an ARK with a label if it is a NAAN and a name; None for other values.

    >>> with_label("12148/btv1b8449691v"), with_label("https://n2t.net/ark:/12148/btv1b8449691v")
    ('ark:12148/btv1b8449691v', None)
    """
    match = _NAAN_AND_NAME.fullmatch(value.strip())
    return f"ark:{match['compact']}" if match else None


# Pages that certainly cite no ARK, recognized without parsing, which would be most of the work: in a web archive, few
# pages hold an ARK. The test is wider than any label: an a, r and k in any spelling, with tags, references and marks in
# between, before a possible sign. In any doubt the page is read.

_TEXT_AFTER_WORD = regex.compile(rf"(?: <[^<>]*+> | {_BETWEEN} | / )*+ (?: [:&<] | 3A_ )?", regex.VERBOSE)
_TEXT_BETWEEN_LETTERS = regex.compile(rf"(?r)(?: <[^<>]*> | {_BETWEEN} )*", regex.VERBOSE)
_MOST_BETWEEN_LETTERS = 2000
_ANY_TAG = re.compile("<[^<>]*>")
_MAY_BE_SIGN = re.compile(r"[:+_%\\&/<\N{FULLWIDTH COLON}]")
#: Tags whose content is invisible, or which have no element, so that their end is uncertain.
_UNSURE_TAG = re.compile(r"<(?:[!?]|/?(?:script|style|iframe|noembed|template|textarea|title|xmp)\b)", re.IGNORECASE)
_WORD_AR = re.compile("(?<=[aA\uff21\uff41][rR\uff32\uff52].)", re.DOTALL)
#: The letters, with the last digits of their escapes.
_LETTERS_A = frozenset("aA\uff21\uff411")
_LETTERS_R = frozenset("rR\uff32\uff522")
_LETTERS_K = frozenset("kK\uff2b\uff4b\N{KELVIN SIGN}")
#: Characters near a word that may hide its beginning: escapes, and markup that a parser removes.
_HIDING_CHARS = frozenset("%\\<>&;")
_ESCAPE_CHARS = 12
_LONGEST_NAME = 300
#: The end of an ARK that another may be glued to: ``12148/x5aark:/12148/x6``.
_GLUED = re.compile(r"[0-9]/[^\s/]*\Z")
#: The end of markup that a parser removes, which may contain blanks and tags; the words on both sides may touch.
_HIDDEN = re.compile(r"""(?:--!?|[?\]"'])>(?:[^\s/<]|<[^<>]*>)*\Z""")
_LAST_OF_ESCAPE = frozenset("bB")


def holds_no_label_in_markup(source: str) -> bool:
    r"""Return True if the *source* of a page certainly contains no label, in its text or in values.

    >>> holds_no_label_in_markup("<p>A mark: the <a href='/park/12148/x5'>Ark</a> of old Noah, dark:blue, a work: k: v")
    True
    >>> pages = ["<b>ark</b>:", "a&#114;k:/1", "ark%3A/1", "a<wbr>rk <i>:", r'"\u0061\u0072\u006b:"', "a&shyrk:"]
    >>> any(map(holds_no_label_in_markup, pages))
    False
    """
    if "\0" in source:
        return False
    if "&" in source:
        source = unescape(source)
    return not any(_may_be_label(source, end) for end in word_ends(source))


def _may_be_label(source: str, word_end: int) -> bool:
    """Return True if the letter before *word_end*, a k in any spelling, may end the word of a label."""
    match = _TEXT_AFTER_WORD.match(source, word_end)
    text_after = match[0] if match is not None else ""
    if not _MAY_BE_SIGN.search(_ANY_TAG.sub("", text_after)) and not _is_unsure(text_after):
        return False
    if source[word_end - 1] in _LAST_OF_ESCAPE or _WORD_BEFORE.match(source, word_end):
        return True
    if _WORD_AR.match(source, word_end):  # "dark:"
        start = word_end - 3
        near_text = source[max(0, start - _ESCAPE_CHARS) : start]
        return _is_glued(source, start) or near_text[-1:] in _LETTERS_K or not _HIDING_CHARS.isdisjoint(near_text)
    return _may_follow_ar(source, word_end - 1)


def _is_glued(source: str, word_start: int) -> bool:
    """Return True if only tags may be between an ARK and the word at *word_start*.

    >>> _is_glued("12148/x<i>5</i>dark:/", 15), _is_glued("12148/x5 dark:/", 10)
    (True, False)
    """
    near_text = source[max(0, word_start - _LONGEST_NAME) : word_start]
    hidden_end = _HIDDEN.search(near_text)
    return hidden_end is not None or _GLUED.search(_ANY_TAG.sub("", near_text)) is not None


def _may_follow_ar(source: str, k_offset: int) -> bool:
    """Return True if the k at *k_offset* may follow an a and an r, with tags or marks in between."""
    previous_char = source[k_offset - 1 : k_offset]
    if previous_char == "2":
        return source[k_offset - 2 : k_offset - 1] in ("5", "7")  # the end of an escaped r
    if previous_char in _LETTERS_R:
        return _may_be_after(source, k_offset - 1, _LETTERS_A)
    return _may_be_after(source, k_offset, _LETTERS_R)


def _may_be_after(source: str, offset: int, letters: frozenset[str]) -> bool:
    """Return True if the last character before *offset*, ignoring tags and marks, may be one of *letters*."""
    if source[offset - 1 : offset].isalnum():
        return source[offset - 1] in letters
    start = max(0, offset - _MOST_BETWEEN_LETTERS)
    match = _TEXT_BETWEEN_LETTERS.match(source, start, offset)
    between = match[0] if match is not None else ""
    begin = offset - len(between)
    if _is_unsure(between) or begin == start > 0 or source[begin - 1 : begin] in (*letters, ">"):
        return True
    return "<" in between and source.rfind("<", start, begin) > source.rfind(">", start, begin)  # within another tag


def _is_unsure(between: str) -> bool:
    """Return True if a parser may see other tags in the markup *between* than a search for ``<`` and ``>`` does."""
    if _UNSURE_TAG.search(between):
        return True
    return any(tag.count('"') % 2 or tag.count("'") % 2 for tag in _ANY_TAG.findall(between))
