"""Scan a text for the offsets at which a label may be, in any spelling; a text without labels takes almost no time.

Every spelling of the label contains a sign that is rare in prose, mostly the colon. The scan skips from sign to sign
at the speed of `memchr` and checks the neighbouring characters. The repaired text decides whether a label is there
(`extractors.find`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from heapq import merge

# The spellings of the label. Every pattern for a label is built from these.

#: An escaped percent sign; each program that passes a URL on may escape it again, a few times at most.
PERCENT = "%(?:25){0,9}+"
#: For each letter of the word: the full-width form, and the hexadecimal code of both cases.
LETTERS = {"a": ("\uff41", "[46]1"), "r": ("\uff52", "[57]2"), "k": ("\uff4b", "[46][bB]")}
#: The letters of the word in repaired text, which contains only percent escapes.
A, R, K = (f"(?:{letter}|{letter.upper()}|{PERCENT}{number})" for letter, (_, number) in LETTERS.items())
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
_NOT_BEFORE_COLON = frozenset("ACDEFGHIJLMNPQRSTUVWXYZacdefghijlmnpqrstuvwxyz0123456789")
_COLON = re.compile(r":(?<=[^AC-JL-NP-Zac-jl-np-z0-9]:)")

#: A colon in the URLs that URL Defense (version 2) wraps: ``ark-3A_12148``.
DEFENDED_COLON = "-3A_"
#: The other signs, with a pattern that must match at the offset of the sign.
_RARE_SIGNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("\N{FULLWIDTH COLON}", re.compile("")),
    ("%", re.compile(r"%(?:25)*3[aA]")),
    ("&", re.compile(r"&(?:#0*58|#[xX]0*3[aA]|colon);")),
    ("\\", re.compile(r"\\u003[aA]")),
    ("+", re.compile(r"(?:(?<=[aA][rR][kK])|(?<=[aA][rR][kK]/))\+=?[0-9a-z]")),  # ark+=12148=btv1b8, of pairtrees
    ("_", re.compile(r"(?<=[aA][rR][kK])_[0-9]{5}[_-][0-9A-Za-z]")),  # ark_12148_btv1b8, of file names
    (DEFENDED_COLON, re.compile("(?<=[aA][rR][kK])")),
)
_SAMPLE_CHARS = 2**16
#: Number of colons in a sample above which `re` is faster than a loop over `str.find`.
_MANY_COLONS = 150


def label_signs(text: str) -> Iterator[int]:
    """Yield the offsets in *text*, in order, of the signs that every label contains; in prose, most are not labels.

    >>> list(label_signs("Note: at 12:30 the ark:/12148/btv1b8 and ark%3A/12148/btv1b9"))
    [22, 44]
    """
    rare_signs = [
        filter(partial(pattern.match, text), sign_offsets(text, sign)) for sign, pattern in _RARE_SIGNS if sign in text
    ]
    return merge(_colon_offsets(text), *rare_signs) if rare_signs else _colon_offsets(text)


def _colon_offsets(text: str) -> Iterator[int]:
    if text.count(":", 0, _SAMPLE_CHARS) > _MANY_COLONS:
        return (colon.start() for colon in _COLON.finditer(text) if _may_end_label(text, colon.start()))
    return (
        colon
        for colon in sign_offsets(text, ":", 1)
        if text[colon - 1] not in _NOT_BEFORE_COLON and _may_end_label(text, colon)
    )


def _may_end_label(text: str, colon: int) -> bool:
    return text[colon - 1] not in "oO" or text[colon + 1 : colon + 5].lower() == "ark/"


def sign_offsets(text: str, sign: str, start: int = 0, end: int | None = None) -> Iterator[int]:
    """Yield the offsets of *sign* in *text* from *start* to *end*, by default to the end."""
    offset = text.find(sign, start, end)
    while offset >= 0:
        yield offset
        offset = text.find(sign, offset + 1, end)
