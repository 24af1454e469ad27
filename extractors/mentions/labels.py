"""The scan for places where a label may be, in any spelling: it costs next to nothing where there is none.

Every spelling of the label holds a sign that is rare in prose, mostly the colon. The scan leaps from sign to sign, at
the speed of `memchr`, and looks at the one or two characters next to it; whether a label is there indeed is decided
on the repaired text (`extractors.find`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from heapq import merge
from itertools import islice

#: Before the colon of a label is a k, or something that is neither letter nor digit (``ark :``, ``k&shy;:``); an o
#: in ``info:ark/``.
_NOT_BEFORE = frozenset("ABCDEFGHIJLMNPQRSTUVWXYZabcdefghijlmnpqrstuvwxyz0123456789")
_COLON = re.compile(r":(?<=[^A-JL-NP-Za-jl-np-z0-9]:)")

#: The other signs, each with the pattern that must match where it is.
_RARE_SIGNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("\N{FULLWIDTH COLON}", re.compile("")),
    ("%", re.compile(r"%(?:25)*3[aA]")),
    ("&", re.compile(r"&(?:#0*58|#[xX]0*3[aA]|colon);")),
    ("\\", re.compile(r"\\u003[aA]")),
    ("+", re.compile(r"(?:(?<=[aA][rR][kK])|(?<=[aA][rR][kK]/))\+=?[0-9a-z]")),  # ark+=12148=btv1b8, of pairtrees
    ("_", re.compile(r"(?<=[aA][rR][kK])_[0-9]{5}[_-][0-9A-Za-z]")),  # ark_12148_btv1b8, of file names
)
_SAMPLE_CHARS = 2**16
#: From so many colons in a sample, `re` is faster than a loop over `str.find`.
_DENSE = 150
_MOST_KEPT = 2**18


def label_signs(text: str) -> Iterator[int]:
    """Offsets in *text*, in order, of the signs that every label holds; most of them, in prose, are none.

    >>> list(label_signs("Note: at 12:30 the ark:/12148/btv1b8 and ark%3A/12148/btv1b9"))
    [22, 44]
    """
    rare = [_found(text, sign, pattern) for sign, pattern in _RARE_SIGNS if sign in text]
    return merge(_colons(text), *rare) if rare else _colons(text)


class LabelSigns:
    """The `label_signs` of a text, to be gone through again: kept, unless they are very many.

    >>> signs = LabelSigns("Note: at 12:30 the ark:/12148/btv1b8")
    >>> list(signs), list(signs)
    ([22], [22])
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._kept = list(islice(label_signs(text), _MOST_KEPT))

    def __iter__(self) -> Iterator[int]:
        return iter(self._kept) if len(self._kept) < _MOST_KEPT else label_signs(self._text)


def _colons(text: str) -> Iterator[int]:
    if text.count(":", 0, _SAMPLE_CHARS) > _DENSE:
        return (colon.start() for colon in _COLON.finditer(text) if _may_end_label(text, colon.start()))
    return _sparse_colons(text)


def _may_end_label(text: str, at: int) -> bool:
    return text[at - 1] not in "oO" or text[at + 1 : at + 5].lower() == "ark/"


def _sparse_colons(text: str) -> Iterator[int]:
    at = text.find(":", 1)
    while at >= 0:
        if text[at - 1] not in _NOT_BEFORE and _may_end_label(text, at):
            yield at
        at = text.find(":", at + 1)


def _found(text: str, sign: str, pattern: re.Pattern[str]) -> Iterator[int]:
    """Offsets of a rare sign where its pattern matches."""
    at = text.find(sign)
    while at >= 0:
        if pattern.match(text, at):
            yield at
        at = text.find(sign, at + 1)
