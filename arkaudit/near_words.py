"""Words that are near to a mistyped one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return the question for the *known* words nearest to *word*, as the end of a message; empty if none is near.

    >>> did_you_mean("dealy", ["delay", "timeout"]), did_you_mean("brokn", ["broken", "broke", "gone"])
    ("; did you mean 'delay'?", "; did you mean 'broken' or 'broke'?")
    >>> did_you_mean("x", ["delay"])
    ''
    """
    near = get_close_matches(word.lower(), list(known), n=3, cutoff=0.7)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
