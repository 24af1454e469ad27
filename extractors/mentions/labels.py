"""The scan for places where a label may stand, in any spelling: it costs next to nothing where there is none.

Every spelling of the label holds a sign that is rare in prose, mostly the colon. The scan leaps from sign to sign, at
the speed of `memchr`, and looks at the one or two characters beside it; whether a label stands there indeed is decided
on the repaired text (`extractors.find`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from heapq import merge

#: Before the colon of a label stands a k, or something that is neither letter nor digit (``ark :``, ``k&shy;:``); an o
#: in ``info:ark/``.
_NOT_BEFORE = frozenset("ABCDEFGHIJLMNPQRSTUVWXYZabcdefghijlmnpqrstuvwxyz0123456789")
_COLON = re.compile(r":(?<=[^A-JL-NP-Za-jl-np-z0-9]:)")

#: The other signs, each with the pattern that must match where it stands.
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


def label_signs(text: str) -> Iterator[int]:
    """Offsets in *text*, in order, of the signs that every label holds; most of them, in prose, are none.

    >>> list(label_signs("Note: at 12:30 the ark:/12148/btv1b8 and ark%3A/12148/btv1b9"))
    [22, 44]
    """
    found = [
        signs for signs in (label_colons(text), *(_signs(text, *sign) for sign in _RARE_SIGNS)) if signs is not None
    ]
    return found[0] if len(found) == 1 else merge(*found)


def label_colons(text: str) -> Iterator[int]:
    """Offsets in *text*, in order, of those of its `label_signs` that are colons."""
    is_dense = text.count(":", 0, _SAMPLE_CHARS) > _DENSE
    places = (found.start() for found in _COLON.finditer(text)) if is_dense else _sparse_colons(text)
    return (at for at in places if text[at - 1] not in "oO" or text[at + 1 : at + 5].lower() == "ark/")


def _sparse_colons(text: str) -> Iterator[int]:
    at = text.find(":", 1)
    while at >= 0:
        if text[at - 1] not in _NOT_BEFORE:
            yield at
        at = text.find(":", at + 1)


def _signs(text: str, sign: str, pattern: re.Pattern[str]) -> Iterator[int] | None:
    """Offsets of a rare sign where its pattern matches; None where the sign doesn't occur at all."""
    first = text.find(sign)
    return _found(text, sign, pattern, first) if first >= 0 else None


def _found(text: str, sign: str, pattern: re.Pattern[str], at: int) -> Iterator[int]:
    while at >= 0:
        if pattern.match(text, at):
            yield at
        at = text.find(sign, at + 1)
