"""The scan for places where a label may be, in any spelling: it costs next to nothing where there is none.

Every spelling of the label holds a sign that is rare in prose, mostly the colon. The scan leaps from sign to sign, at
the speed of `memchr`, and looks at the one or two characters next to it; whether a label is there indeed is decided
on the repaired text (`extractors.find`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from heapq import merge
from html import unescape

import regex

from extractors.model.offset_map import UNSPACED

# The spellings of the label. Every pattern that looks for one is made of these.

#: An escaped percent sign is escaped again by each program that an address passes through.
PERCENT = "%(?:25)*+"
#: The letters of the word: the full-width form, and the hexadecimal number of either case.
_LETTERS = {"a": ("\uff41", "[46]1"), "r": ("\uff52", "[57]2"), "k": ("\uff4b", "[46][bB]")}
#: The letters of the word in repaired text, where only percent escapes are left.
A, R, K = (f"(?:{letter}|{letter.upper()}|{PERCENT}{number})" for letter, (_, number) in _LETTERS.items())
#: The text before a label in repaired text: no letter or digit, unless a script parts no words or something ends there.
BEFORE_LABEL = rf"""
    (?: (?<! [\p{{L}}\p{{N}}--{UNSPACED}] )
      | (?<= {PERCENT} [0-9a-f]{{2}} )
      | (?<= \\ (?: u[0-9a-f]{{4}} | x[0-9a-f]{{2}} | [abefnrt] ) )   # "\tark:", "\Nark:" of subtitles
      | (?<= \\ f (?: [a-z1-9] | \([a-z]{{2}} ) )       # "\fIark:" of troff
      | (?<= [0-9]{{5}} / [^\s/]{{3,100}} ) (?= ark:/?[0-9]{{5}}/ )   # an ARK glued to the one before
      | (?<= (?<! [^\s\f] ) [0-9]{{1,3}} )     # "12ark:", the mark of a footnote
      | (?<= [$‡ǂ|][0-9a-z] )                    # "$aark:", the code of a subfield
      | (?<= (?<! \p{{L}} ) ark )                # "ARKark:", a heading glued to its value
    )
    """

#: Before the colon of a label is a k, the end of its escape (``%6b``), or something that is neither letter nor digit
#: (``ark :``, ``k&shy;:``); an o in ``info:ark/``.
_NOT_BEFORE = frozenset("ACDEFGHIJLMNPQRSTUVWXYZacdefghijlmnpqrstuvwxyz0123456789")
_COLON = re.compile(r":(?<=[^AC-JL-NP-Zac-jl-np-z0-9]:)")

#: A colon in the URLs that URL Defense (version 2) wraps: ``ark-3A_12148``.
_DEFENDED_COLON = "-3A_"
#: The other signs, each with the pattern that must match where it is.
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
#: From so many colons in a sample, `re` is faster than a loop over `str.find`.
_DENSE = 150


def label_signs(text: str) -> Iterator[int]:
    """Offsets in *text*, in order, of the signs that every label holds; most of them, in prose, are none.

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
    """The offsets of *sign* in a stretch of *text*."""
    at = text.find(sign, start, end)
    while at >= 0:
        yield at
        at = text.find(sign, at + 1, end)


# Attributes and values of markup in which an ARK may be: wider than what will be found there.

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)

_FLAGS = regex.VERBOSE | regex.IGNORECASE | regex.VERSION1
#: The letters of the label in a source, plain or escaped; `regex` folds the full-width ones with the rest.
_A, _R, _K = (
    rf"(?: [{letter}{wide}] | {PERCENT} {number} | \\(?:u00|x){number} )" for letter, (wide, number) in _LETTERS.items()
)
#: The text before a label in a source: "dark:text-white" is a class name, but the last letter of an escape is none.
_BEGINNING = rf"(?: (?<! \p{{L}} ) | {BEFORE_LABEL} )"
_SIGN = rf"(?: /?\+ | [:\uFF1A_] | {PERCENT} 3 | \\ [ux] | & (?:\#|colon;) | {_DEFENDED_COLON} )"
"""After the k: the colon, what its escapes begin with, and what represents it in the names of files."""


def _word(gap: str) -> str:
    return rf"{_BEGINNING} {_A} {gap} {_R} {gap} {_K} {gap}"


#: What typesetting and escapes leave between the letters: blanks, marks, hyphens, what isn't seen; never many.
_BETWEEN = r"[^\p{L}\p{N}<>&:;,!?/|=@\#()\[\]{}\"]"
_GAP = rf"{_BETWEEN}{{0,8}}?"
_NO_LETTERS = frozenset("/ :(\"'\n")
#: Without one there is no label, and `re` looks for them at several times the speed.
_ANY_SIGN = re.compile("[:+_%&\\\\\N{FULLWIDTH COLON}]")
_LABEL = regex.compile(
    rf"{_word(_GAP)} {_SIGN}  |  o : {_A} {_GAP} {_R} {_GAP} {_K} {_GAP} /",  # info:ark/…
    _FLAGS,
)

#: After the word, all of it side by side.
_WORD_BEFORE = regex.compile(rf"(?<= {_word('')} )", _FLAGS)
_MARKUP_GAP = rf"(?: <[^<>]*+> | {_BETWEEN} | &\#[0-9]++; ){{0,40}}"
_BEFORE_SIGN = regex.compile(rf"(?<= {_word(_MARKUP_GAP)} /? )", _FLAGS)
_AFTER_SIGN = regex.compile(rf": {_MARKUP_GAP} {_A} {_MARKUP_GAP} {_R} {_MARKUP_GAP} {_K} {_MARKUP_GAP} /", _FLAGS)
#: Each sign of `_SIGN`, with what its neighbours must be.
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
_AFTER_O = re.compile(r":(?<=[oO]:)(?=[aA<%&\\\uFF21\uFF41])")
#: What may be between the word and its sign, or more than that.
_RUN = regex.compile(rf"(?: <[^<>]*+> | {_BETWEEN} | &\#[0-9]++; | / )*+", regex.VERBOSE)
#: The k in each of its spellings, where its neighbours don't rule it out at once: what follows can't be in a label;
#: before it is neither an r nor what may be in between; before an r, no a ("work"); before "ar", a letter that ends
#: no escape ("mark"). `re` leaps from one to the next.
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
    """Return whether a link target, as written, may lead to a further document on the web.

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
    """Return whether a value is worth a closer look: it holds something like the label, in one of its spellings.

    >>> may_hold_ark("https://n2t.net/ark%3A/12148/btv1b8"), may_hold_ark("dark:text-white")
    (True, False)
    """
    plain = value.find("ark:")
    if plain == 0 or (plain > 0 and value[plain - 1] in _NO_LETTERS):
        return True
    return _ANY_SIGN.search(value) is not None and _LABEL.search(value) is not None


def label_places(markup: str) -> list[int]:
    """Offsets in well-formed *markup*, in order, where a value or a text may hold a label, however tags split it.

    >>> label_places('<p>bookmark: no; <b>ar<wbr/>k</b>: yes</p>')
    [33]
    """
    places = {found.start() for found in _AFTER_O.finditer(markup) if _AFTER_SIGN.match(markup, found.start())}
    for end in ends_of_ark(markup):
        places.update(at for at in _signs_behind(markup, end) if _BEFORE_SIGN.match(markup, at))
    return sorted(places)


def ends_of_ark(markup: str) -> Iterator[int]:
    """Offsets after each last letter of what may be the word of a label; by far most pages without an ARK have none.

    >>> list(ends_of_ark("a mark: dark, ARK (the k), {k: 1}, work/"))
    [17]
    """
    for letter, pattern in _LAST_LETTERS:
        if letter in markup:
            yield from (found.end() for found in pattern.finditer(markup))


def _signs_behind(markup: str, end: int) -> Iterator[int]:
    """Offsets of the signs that may belong to a word that ends at *end*: nothing but tags and marks is in between."""
    between = _RUN.match(markup, end)
    last = between.end() if between is not None else end
    for sign, pattern in _SIGNS:
        yield from filter(partial(pattern.match, markup), _places(markup, sign, end, last + len(sign)))


_NAAN_AND_NAME = re.compile(r"/?(?P<compact>[0-9a-z]{5,16}/[0-9A-Za-z]\S*)", re.ASCII)


def labelled(value: str) -> str | None:
    """*value* with the label that the field around it says in its stead, or None for what is no NAAN and name.

    >>> labelled("12148/btv1b8449691v"), labelled("https://n2t.net/ark:/12148/btv1b8449691v")
    ('ark:12148/btv1b8449691v', None)
    """
    compact = _NAAN_AND_NAME.fullmatch(value.strip())
    return f"ark:{compact['compact']}" if compact else None


# Pages that surely cite no ARK, recognized by their source alone: to parse them would be most of the work. Of the pages of
# a web archive hardly one holds an ARK. What is looked for here is wider than any label: an a, r and k in any spelling,
# with whatever tags, references and marks in between, before anything that may be a sign. Only "surely none" is said; in
# any doubt the page is read.

_BEHIND = regex.compile(rf"(?: <[^<>]*+> | {_BETWEEN} | / )*+ (?: [:&<] | 3A_ )?", regex.VERBOSE)
_BEFORE = regex.compile(rf"(?r)(?: <[^<>]*> | {_BETWEEN} )*", regex.VERBOSE)
_MOST_BEFORE = 2000
_ANY_TAG = re.compile("<[^<>]*>")
_MAY_BE_SIGN = re.compile(r"[:+_%\\&/<\N{FULLWIDTH COLON}]")
#: Of the element of these, nothing is seen; or there is no element, and where it ends is another question.
_UNSURE_TAG = re.compile(r"<(?:[!?]|/?(?:script|style|iframe|noembed|template|textarea|title|xmp)\b)", re.IGNORECASE)
_WORD_AR = re.compile("(?<=[aA\uff21\uff41][rR\uff32\uff52].)", re.DOTALL)
#: With the last digits of their escapes.
_LETTERS_A = frozenset("aA\uff21\uff411")
_LETTERS_R = frozenset("rR\uff32\uff522")
_LETTERS_K = frozenset("kK\uff2b\uff4b\N{KELVIN SIGN}")
#: Near a word, what may hide that it is the beginning of one: escapes, and what a parser takes away.
_HIDING = frozenset("%\\<>&;")
_ESCAPE_CHARS = 12
_LONGEST_NAME = 300
#: The end of an ARK, to which another may be glued: ``12148/x5aark:/12148/x6``.
_GLUED = re.compile(r"[0-9]/[^\s/]*\Z")
#: The end of what a parser leaves out, which may hold blanks and tags; nothing after it parts words.
_HIDDEN = re.compile(r"""(?:--!?|[?\]"'])>(?:[^\s/<]|<[^<>]*>)*\Z""")
_OF_AN_ESCAPE = frozenset("bB")


def holds_no_label_in_markup(source: str) -> bool:
    r"""Return whether surely nothing in the *source* of a page is a label, neither in its text nor in values.

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
    """Return whether the letter before *end*, a k in some spelling, may be the last of a label's word."""
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
    """Return whether the word at *first* may be glued to an ARK, tags apart.

    >>> _is_glued("12148/x<i>5</i>dark:/", 15), _is_glued("12148/x5 dark:/", 10)
    (True, False)
    """
    near = source[max(0, first - _LONGEST_NAME) : first]
    hidden = _HIDDEN.search(near)
    return hidden is not None or _GLUED.search(_ANY_TAG.sub("", near)) is not None


def _may_follow_ar(source: str, at: int) -> bool:
    """Return whether the k at *at* may follow an a and an r of which tags or marks part it."""
    before = source[at - 1 : at]
    if before == "2":
        return source[at - 2 : at - 1] in ("5", "7")  # of an escaped r
    return _may_follow(source, at - 1, _LETTERS_A) if before in _LETTERS_R else _may_follow(source, at, _LETTERS_R)


def _may_follow(source: str, at: int, letters: frozenset[str]) -> bool:
    """Return whether one of *letters* may be the last before *at*, but for tags and marks."""
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
    """Return whether what looks like tags and text *between* letters may be something else to a parser."""
    if _UNSURE_TAG.search(between):
        return True
    return any(tag.count('"') % 2 or tag.count("'") % 2 for tag in _ANY_TAG.findall(between))
