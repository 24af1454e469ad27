"""Words that are near to a mistyped one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def question_for_nearest(word: str, known: Iterable[str]) -> str:
    """Return the question for the *known* words nearest to *word*, as the end of a message; empty if none is near.

    >>> question_for_nearest("dealy", ["delay", "timeout"]), question_for_nearest("brokn", ["broken", "broke", "gone"])
    ("; did you mean 'delay'?", "; did you mean 'broken' or 'broke'?")
    >>> question_for_nearest("x", ["delay"])
    ''
    """
    near = get_close_matches(word.lower(), list(known), n=3, cutoff=0.7)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
