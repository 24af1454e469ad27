"""Pages that surely cite no ARK, recognized by their source alone: to parse them would be most of the work.

Of the pages of a web archive hardly one holds an ARK. What is looked for here is wider than any label: an a, r and k in
any spelling, with whatever tags, references and marks in between, before anything that may be a sign. Only "surely
none" is said; in any doubt the page is read.
"""

from __future__ import annotations

import re
from html import unescape
from itertools import islice

import regex

from extractors.mentions.labels import BETWEEN, WORD_BEFORE, ends_of_ark

_BEHIND = regex.compile(rf"(?: <[^<>]*+> | {BETWEEN} | / )*+ [:&<]?", regex.VERBOSE)
_BEFORE = regex.compile(rf"(?r)(?: <[^<>]*> | {BETWEEN} )*", regex.VERBOSE)
_MOST_BEFORE = 2000
_TAG = re.compile("<[^<>]*>")
_MAY_BE_SIGN = re.compile(r"[:+_%\\&/<\N{FULLWIDTH COLON}]")
#: Of the element of these, nothing is seen; or there is no element, and where it ends is another question.
_UNSURE_TAG = re.compile(
    r"<(?:[!?]|/?(?:script|style|iframe|noembed|template|textarea|title|xmp)\b)", re.IGNORECASE
)
_WORD = re.compile("(?<=[aA\uff21\uff41][rR\uff32\uff52].)", re.DOTALL)
#: With the last digits of their escapes.
_A = frozenset("aA\uff21\uff411")
_R = frozenset("rR\uff32\uff522")
_K = frozenset("kK\uff2b\uff4b\N{KELVIN SIGN}")
#: Near a word, what may hide that it is the beginning of one: escapes, and what a parser takes away.
_HIDING = frozenset("%\\<>&;")
_ESCAPE_CHARS = 12
_LONGEST_NAME = 300
#: The end of an ARK, to which another may be glued: ``12148/x5aark:/12148/x6``.
_GLUED = re.compile(r"[0-9]/[^\s/]*\Z")
#: The end of what a parser leaves out, which may hold blanks and tags; nothing after it parts words.
_HIDDEN = re.compile(r"""(?:--!?|[?\]"'])>(?:[^\s/<]|<[^<>]*>)*\Z""")
_OF_AN_ESCAPE = frozenset("bB")

#: libxml2 reads 2,048 open elements, some of which it adds itself.
_SURE_DEPTH = 2000
#: An element that holds nothing but text. (Where it is no element, as in a value, its tag is not one of those begun.)
_LEAF = re.compile(
    r"""<([a-zA-Z]++)(?:[ \t\n\r][^<>"']*+(?:"[^<>"]*+"[^<>"']*+|'[^<>']*+'[^<>"']*+)*+)?>[^<>]*+</\1>"""
)


def holds_no_label(source: str) -> bool:
    r"""Return whether surely nothing in the *source* of a page is a label, neither in its text nor in values.

    >>> holds_no_label("<p>A mark: the <a href='/work/12148/x5'>Ark</a> of old Noah, dark:blue, a work: k: v")
    True
    >>> pages = ["<b>ark</b>:", "a&#114;k:/1", "ark%3A/1", "a<wbr>rk <i>:", r'"\u0061\u0072\u006b:"', "a&shyrk:"]
    >>> any(map(holds_no_label, pages))
    False
    """
    if "\0" in source:
        return False
    if "&" in source:
        source = unescape(source)
    return not any(_may_be_label(source, end) for end in ends_of_ark(source))


def nests_little(source: str) -> bool:
    """Return whether the elements of a page surely don't nest so deeply that its parser gives up.

    >>> nests_little("<p>" * 3000), nests_little("<b>x</b>" * 3000)
    (False, True)
    """
    begun = source.count("<") - source.count("</")
    leaves = islice(_LEAF.finditer(source), max(0, begun - _SURE_DEPTH))  # so many are enough
    return begun - sum(1 for _ in leaves) <= _SURE_DEPTH


def _may_be_label(source: str, end: int) -> bool:
    """Return whether the letter before *end*, a k in some spelling, may be the last of a label's word."""
    after = _BEHIND.match(source, end)
    behind = after[0] if after is not None else ""
    if not _MAY_BE_SIGN.search(_TAG.sub("", behind)) and not _is_unsure(behind):
        return False
    if source[end - 1] in _OF_AN_ESCAPE or WORD_BEFORE.match(source, end):
        return True
    if _WORD.match(source, end):  # "dark:"
        first = end - 3
        near = source[max(0, first - _ESCAPE_CHARS) : first]
        return _is_glued(source, first) or near[-1:] in _K or not _HIDING.isdisjoint(near)
    return _may_follow_ar(source, end - 1)


def _is_glued(source: str, first: int) -> bool:
    """Return whether the word at *first* may be glued to an ARK, tags apart.

    >>> _is_glued("12148/x<i>5</i>dark:/", 15), _is_glued("12148/x5 dark:/", 10)
    (True, False)
    """
    near = source[max(0, first - _LONGEST_NAME) : first]
    hidden = _HIDDEN.search(near)
    return hidden is not None or _GLUED.search(_TAG.sub("", near)) is not None


def _may_follow_ar(source: str, at: int) -> bool:
    """Return whether the k at *at* may follow an a and an r of which tags or marks part it."""
    before = source[at - 1 : at]
    if before == "2":
        return source[at - 2 : at - 1] in ("5", "7")  # of an escaped r
    return _may_follow(source, at - 1, _A) if before in _R else _may_follow(source, at, _R)


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
    return "<" in between and source.rfind("<", start, first) > source.rfind(
        ">", start, first
    )  # within another tag


def _is_unsure(between: str) -> bool:
    """Return whether what looks like tags and text *between* letters may be something else to a parser."""
    if _UNSURE_TAG.search(between):
        return True
    return any(tag.count('"') % 2 or tag.count("'") % 2 for tag in _TAG.findall(between))
