"""Suggestions for mistyped words."""

from __future__ import annotations

from collections.abc import Iterable


def suggest_nearest(word: str, words: Iterable[str]) -> str:
    """Return the end of a message that suggests the *words* most like *word*; empty if all differ too much.

    >>> suggest_nearest("dealy", ["delay", "timeout"]), suggest_nearest("brokn", ["broken", "dns", "gone"])
    ("; did you mean 'delay'?", "; did you mean 'broken'?")
    >>> suggest_nearest("x", ["delay"])
    ''
    """
    from difflib import get_close_matches  # slow, and seldom needed

    nearest_words = get_close_matches(word.lower(), list(words), n=3, cutoff=0.7)
    return f"; did you mean {' or '.join(map(repr, nearest_words))}?" if nearest_words else ""
