"""Attributes and values of markup in which an ARK may be: wider than what will be found there."""

from __future__ import annotations

import re

import regex

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)

#: The letters of the label, plain or escaped; `regex` folds the full-width ones with the rest.
_A = r"(?: [a\uFF41] | % (?:25)*+ [46]1 | \\(?:u00|x)[46]1 )"
_R = r"(?: [r\uFF52] | % (?:25)*+ [57]2 | \\(?:u00|x)[57]2 )"
_K = r"(?: [k\uFF4B] | % (?:25)*+ [46]b | \\(?:u00|x)[46]b )"
#: No letter before the label ("dark:text-white" is a class name), but the last of an escape is none: "%253Aark".
_BEGINNING = r"""
    (?: (?<! \p{L} ) | (?<= ark )              # "ARKark:": a heading glued to its value
      | (?<= [0-9]{5} / [^\s/]{3,100} ) (?= ark:/?[0-9]{5}/ )   # an ARK glued to the one before
      | (?<= % (?:25)* [0-9a-f]{2} ) | (?<= \\(?:u[0-9a-f]{2}|x) [0-9a-f]{2} ) | (?<= \\ [bfnrt] ) )
    """
_SIGN = r"(?: /?\+ | [:\uFF1A_] | % (?:25)*+ 3 | \\ [ux] | & (?:\#|colon;) )"
"""After the k: the colon, what its escapes begin with, and what stands for it in the names of files."""


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
    regex.VERBOSE | regex.IGNORECASE,
)

_MARKUP_GAP = rf"(?: <[^<>]*+> | {_BETWEEN} | &\#[0-9]++; ){{0,40}}"
_BEFORE_SIGN = regex.compile(rf"(?<= {_word(_MARKUP_GAP)} /? )", regex.VERBOSE | regex.IGNORECASE)
_AFTER_SIGN = regex.compile(
    rf": {_MARKUP_GAP} {_A} {_MARKUP_GAP} {_R} {_MARKUP_GAP} {_K} {_MARKUP_GAP} /",
    regex.VERBOSE | regex.IGNORECASE,
)
#: Neither a k, nor the last of an escaped one, nor what may be between; at the end of an element, too.
_NOT_K = r"[0-9AC-JL-Zac-jl-z:,!?/|=@#()\[\]{}\"]"
_NO_K = "".join(
    rf"(?<!{_NOT_K}{end}:)" for end in ("", *(f"</{tag}>" for tag in ("a", "b", "em", "i", "span", "strong")))
)
#: No word that ends as the label does (link, work, park); "dark" may be the last of an escape.
_NO_WORD = "(?<![A-QS-Za-qs-z][Kk]:)(?<![B-Zb-z][Rr][Kk]:)(?<![G-JLMO-QSU-Zg-jlmo-qsu-z][Aa][Rr][Kk]:)"
#: Each sign of `_SIGN` where its neighbours don't rule it out at once; `re` leaps from one to the next (`memchr`).
_SIGNS = tuple(
    (sign, re.compile(pattern))
    for sign, pattern in (
        (":", rf":(?:{_NO_K}{_NO_WORD}|(?<=[oO]:)(?=[aA<%&\\\uFF21\uFF41]))"),
        ("%", r"%(?=(?:25)*+(?:3|2?<))"),
        ("\\", r"\\(?=[ux<])"),
        ("+", r"\+(?<=[^0-9A-JL-Za-jl-z]\+)"),
        ("_", r"_(?<=[^0-9A-JL-Za-jl-z]_)"),
        ("&amp;#", r"&amp;(?=#)"),
        ("&amp;colon;", r"&amp;(?=colon;)"),
        ("\N{FULLWIDTH COLON}", "\N{FULLWIDTH COLON}"),
    )
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
    places = [
        found.start()
        for sign, pattern in _SIGNS
        if sign in markup
        for found in pattern.finditer(markup)
        if _BEFORE_SIGN.match(markup, found.start()) or (sign == ":" and _AFTER_SIGN.match(markup, found.start()))
    ]
    return sorted(places)
