"""Scan for the places where a label may be, in any spelling; a text without labels costs almost nothing.

Every spelling of the label contains a sign that is rare in prose, mostly the colon. The scan skips from sign to sign
at the speed of `memchr` and checks the neighbouring characters. The repaired text decides whether a label is there
(`extractors.find`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from heapq import merge
from html import unescape

import regex

# The spellings of the label. Every pattern for a label is built from these.

#: An escaped percent sign; each program that passes a URL on may escape it again, a few times at most.
PERCENT = "%(?:25){0,9}+"
#: For each letter of the word: the full-width form, and the hexadecimal code of both cases.
_LETTERS = {"a": ("\uff41", "[46]1"), "r": ("\uff52", "[57]2"), "k": ("\uff4b", "[46][bB]")}
#: The letters of the word in repaired text, which contains only percent escapes.
A, R, K = (f"(?:{letter}|{letter.upper()}|{PERCENT}{number})" for letter, (_, number) in _LETTERS.items())
#: The text before a label in repaired text: no Latin letter or digit, except after an escape.
BEFORE_LABEL = rf"""
    (?: (?<! [\p{{Latin}}\p{{Nd}}] )
      | (?<= {PERCENT} [0-9a-f]{{2}} )
      | (?<= \\ (?: u[0-9a-f]{{4}} | x[0-9a-f]{{2}} | [abefnrt] ) )   # "\tark:", "\Nark:" of subtitles
      | (?<= \\ f (?: [a-z1-9] | \([a-z]{{2}} ) )       # "\fIark:" of troff
      | (?<= [0-9]{{5}} / [^\s/]{{3,100}} ) (?= ark:/?[0-9]{{5}}/ )   # an ARK glued to the one before
      | (?<= (?<! [^\s\f] ) [0-9]{{1,3}} )     # "12ark:", the mark of a footnote
      | (?<= [$‡ǂ|\x1f][0-9a-z] )                # "$aark:", the code of a subfield
      | (?<= (?<! \p{{L}} ) ark )                # "ARKark:", a heading glued to its value
    )
    """

#: Characters that rule a label out before its colon. Possible are a k, the end of its escape (``%6b``), a character
#: that is neither letter nor digit (``ark :``, ``k&shy;:``), and the o of ``info:ark/``.
_NOT_BEFORE = frozenset("ACDEFGHIJLMNPQRSTUVWXYZacdefghijlmnpqrstuvwxyz0123456789")
_COLON = re.compile(r":(?<=[^AC-JL-NP-Zac-jl-np-z0-9]:)")

#: A colon in the URLs that URL Defense (version 2) wraps: ``ark-3A_12148``.
_DEFENDED_COLON = "-3A_"
#: The other signs, each with a pattern that must match at its place.
_RARE_SIGNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("\N{FULLWIDTH COLON}", re.compile("")),
    ("%", re.compile(r"%(?:25)*3[aA]")),
    ("&", re.compile(r"&(?:#0*58|#[xX]0*3[aA]|colon);")),
    ("\\", re.compile(r"\\u003[aA]")),
    ("+", re.compile(r"(?:(?<=[aA][rR][kK])|(?<=[aA][rR][kK]/))\+=?[0-9a-z]")),  # ark+=12148=btv1b8, of pairtrees
    ("_", re.compile(r"(?<=[aA][rR][kK])_[0-9]{5}[_-][0-9A-Za-z]")),  # ark_12148_btv1b8, of file names
    (_DEFENDED_COLON, re.compile("(?<=[aA][rR][kK])")),
)
_SAMPLE_CHARS = 2**16
#: Number of colons in a sample above which `re` is faster than a loop over `str.find`.
_DENSE = 150


def label_signs(text: str) -> Iterator[int]:
    """Yield the offsets in *text*, in order, of the signs that every label contains; in prose, most are not labels.

    >>> list(label_signs("Note: at 12:30 the ark:/12148/btv1b8 and ark%3A/12148/btv1b9"))
    [22, 44]
    """
    rare = [filter(partial(pattern.match, text), _places(text, sign)) for sign, pattern in _RARE_SIGNS if sign in text]
    return merge(_colons(text), *rare) if rare else _colons(text)


def _colons(text: str) -> Iterator[int]:
    if text.count(":", 0, _SAMPLE_CHARS) > _DENSE:
        return (colon.start() for colon in _COLON.finditer(text) if _may_end_label(text, colon.start()))
    return (at for at in _places(text, ":", 1) if text[at - 1] not in _NOT_BEFORE and _may_end_label(text, at))


def _may_end_label(text: str, at: int) -> bool:
    return text[at - 1] not in "oO" or text[at + 1 : at + 5].lower() == "ark/"


def _places(text: str, sign: str, start: int = 0, end: int | None = None) -> Iterator[int]:
    """Yield the offsets of *sign* in a stretch of *text*."""
    at = text.find(sign, start, end)
    while at >= 0:
        yield at
        at = text.find(sign, at + 1, end)


# Attributes and values of markup that may contain an ARK: wider than the patterns of the reader.

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)

_FLAGS = regex.VERBOSE | regex.IGNORECASE | regex.VERSION1
#: The letters of the label in a source, plain or escaped; `regex` folds the case of the full-width ones, too.
_A, _R, _K = (
    rf"(?: [{letter}{wide}] | {PERCENT} {number} | \\(?:u00|x){number} )" for letter, (wide, number) in _LETTERS.items()
)
#: The text before a label in a source: "dark:text-white" is a class name, but a letter at the end of an escape may be
#: before a label.
_BEGINNING = rf"(?: (?<! \p{{L}} ) | {BEFORE_LABEL} )"
_SIGN = rf"(?: /?\+ | [:\uFF1A_] | {PERCENT} 3 | \\ [ux] | & (?:\#|colon;) | {_DEFENDED_COLON} )"
"""The sign after the k: the colon, the first characters of its escapes, and its substitutes in file names."""


def _word(gap: str) -> str:
    return rf"{_BEGINNING} {_A} {gap} {_R} {gap} {_K} {gap}"


#: Typesetting and escapes between the letters: blanks, marks, hyphens, invisible characters; never many.
_BETWEEN = r"[^\p{L}\p{N}<>&:;,!?/|=@\#()\[\]{}\"]"
_GAP = rf"{_BETWEEN}{{0,8}}?"
_NO_LETTERS = frozenset("/ :(\"'\n")
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
        (_DEFENDED_COLON, _DEFENDED_COLON),
        ("&amp;#", "&amp;(?=#)"),
        ("&amp;colon;", "&amp;(?=colon;)"),
        ("\N{FULLWIDTH COLON}", "\N{FULLWIDTH COLON}"),
    )
)
_ANY_SIGN_HERE = re.compile("|".join(pattern.pattern for _, pattern in _SIGNS))
_LONGEST_SIGN = max(len(sign) for sign, _ in _SIGNS)
_AFTER_O = re.compile(r":(?<=[oO]:)(?=[aA<%&\\\uFF21\uFF41])")
#: A superset of the text between the word and its sign.
_RUN = regex.compile(rf"(?: <[^<>]*+> | {_BETWEEN} | &\#[0-9]++; | / )*+", regex.VERBOSE)
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


def leads_to_document(target: str) -> bool:
    """Return True if a link target, as written, may lead to another document on the web.

    >>> list(filter(leads_to_document, ["/a.html", "#top", "mailto:a@b.org", "ark:/12148/btv1b8"]))
    ['/a.html']
    """
    if target.startswith(("https://", "http://", "/")):
        return True
    target = target.strip()
    if not target or target.startswith("#"):
        return False
    scheme = _SCHEME.match(target)
    return scheme is None or scheme[0].lower() in {"http:", "https:"}


def may_hold_ark(value: str) -> bool:
    """Return True if a value contains something like the label, in any of its spellings.

    >>> may_hold_ark("https://n2t.net/ark%3A/12148/btv1b8"), may_hold_ark("dark:text-white")
    (True, False)
    """
    plain = value.find("ark:")
    if plain == 0 or (plain > 0 and value[plain - 1] in _NO_LETTERS):
        return True
    return _ANY_SIGN.search(value) is not None and _LABEL.search(value) is not None


def label_places(markup: str) -> list[int]:
    """Return the offsets in well-formed *markup*, in order, of the signs of possible labels, however tags split them.

    >>> label_places('<p>bookmark: no; <b>ar<wbr/>k</b>: yes</p>')
    [33]
    """
    places = {found.start() for found in _AFTER_O.finditer(markup) if _AFTER_SIGN.match(markup, found.start())}
    for end in ends_of_ark(markup):
        places.update(at for at in _signs_behind(markup, end) if _BEFORE_SIGN.match(markup, at))
    return sorted(places)


def ends_of_ark(markup: str) -> Iterator[int]:
    """Yield the offset after each letter that may end the word of a label; most pages without an ARK have none.

    >>> list(ends_of_ark("a mark: dark, ARK (the k), {k: 1}, work/"))
    [17]
    """
    for letter, pattern in _LAST_LETTERS:
        if letter in markup:
            yield from (found.end() for found in pattern.finditer(markup))


def _signs_behind(markup: str, end: int) -> Iterator[int]:
    """Yield the offsets of the signs with only tags and marks between them and the word that ends at *end*."""
    between = _RUN.match(markup, end)
    last = between.end() if between is not None else end
    if last == end:  # the usual case
        if _ANY_SIGN_HERE.match(markup, end):
            yield end
        return
    near = markup[end : last + _LONGEST_SIGN]
    for sign, pattern in _SIGNS:
        if sign in near:
            yield from filter(partial(pattern.match, markup), _places(markup, sign, end, last + len(sign)))


_NAAN_AND_NAME = re.compile(r"/?(?P<compact>[0-9a-z]{5,16}/[0-9A-Za-z]\S*)", re.ASCII)


def with_label(value: str) -> str | None:
    """Return *value* with a label if it is a NAAN and name, as in a field named after ARKs; None otherwise.

    >>> with_label("12148/btv1b8449691v"), with_label("https://n2t.net/ark:/12148/btv1b8449691v")
    ('ark:12148/btv1b8449691v', None)
    """
    compact = _NAAN_AND_NAME.fullmatch(value.strip())
    return f"ark:{compact['compact']}" if compact else None


# Pages that certainly cite no ARK, recognized without parsing, which would be most of the work: in a web archive, few
# pages hold an ARK. The test is wider than any label: an a, r and k in any spelling, with tags, references and marks in
# between, before a possible sign. In any doubt the page is read.

_BEHIND = regex.compile(rf"(?: <[^<>]*+> | {_BETWEEN} | / )*+ (?: [:&<] | 3A_ )?", regex.VERBOSE)
_BEFORE = regex.compile(rf"(?r)(?: <[^<>]*> | {_BETWEEN} )*", regex.VERBOSE)
_MOST_BEFORE = 2000
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
_HIDING = frozenset("%\\<>&;")
_ESCAPE_CHARS = 12
_LONGEST_NAME = 300
#: The end of an ARK that another may be glued to: ``12148/x5aark:/12148/x6``.
_GLUED = re.compile(r"[0-9]/[^\s/]*\Z")
#: The end of markup that a parser removes, which may contain blanks and tags; the words on both sides may touch.
_HIDDEN = re.compile(r"""(?:--!?|[?\]"'])>(?:[^\s/<]|<[^<>]*>)*\Z""")
_OF_AN_ESCAPE = frozenset("bB")


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
    return not any(_may_be_label(source, end) for end in ends_of_ark(source))


def _may_be_label(source: str, end: int) -> bool:
    """Return True if the letter before *end*, a k in some spelling, may end the word of a label."""
    after = _BEHIND.match(source, end)
    behind = after[0] if after is not None else ""
    if not _MAY_BE_SIGN.search(_ANY_TAG.sub("", behind)) and not _is_unsure(behind):
        return False
    if source[end - 1] in _OF_AN_ESCAPE or _WORD_BEFORE.match(source, end):
        return True
    if _WORD_AR.match(source, end):  # "dark:"
        first = end - 3
        near = source[max(0, first - _ESCAPE_CHARS) : first]
        return _is_glued(source, first) or near[-1:] in _LETTERS_K or not _HIDING.isdisjoint(near)
    return _may_follow_ar(source, end - 1)


def _is_glued(source: str, first: int) -> bool:
    """Return True if the word at *first* may be glued to an ARK, ignoring tags.

    >>> _is_glued("12148/x<i>5</i>dark:/", 15), _is_glued("12148/x5 dark:/", 10)
    (True, False)
    """
    near = source[max(0, first - _LONGEST_NAME) : first]
    hidden = _HIDDEN.search(near)
    return hidden is not None or _GLUED.search(_ANY_TAG.sub("", near)) is not None


def _may_follow_ar(source: str, at: int) -> bool:
    """Return True if the k at *at* may follow an a and an r, with tags or marks in between."""
    before = source[at - 1 : at]
    if before == "2":
        return source[at - 2 : at - 1] in ("5", "7")  # the end of an escaped r
    return _may_follow(source, at - 1, _LETTERS_A) if before in _LETTERS_R else _may_follow(source, at, _LETTERS_R)


def _may_follow(source: str, at: int, letters: frozenset[str]) -> bool:
    """Return True if one of *letters* may be the last before *at*, ignoring tags and marks."""
    if source[at - 1 : at].isalnum():
        return source[at - 1] in letters
    start = max(0, at - _MOST_BEFORE)
    before = _BEFORE.match(source, start, at)
    between = before[0] if before is not None else ""
    first = at - len(between)
    if _is_unsure(between) or first == start > 0 or source[first - 1 : first] in (*letters, ">"):
        return True
    return "<" in between and source.rfind("<", start, first) > source.rfind(">", start, first)  # within another tag


def _is_unsure(between: str) -> bool:
    """Return True if a parser may not see *between* as tags and text."""
    if _UNSURE_TAG.search(between):
        return True
    return any(tag.count('"') % 2 or tag.count("'") % 2 for tag in _ANY_TAG.findall(between))
