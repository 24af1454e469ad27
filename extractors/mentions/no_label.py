"""Texts that surely hold no label: told at the speed at which `re` leaps from k to k.

Of most texts nothing else need be asked. What is looked for is wider than any label (`extractors.find`): an a, r and k,
with whatever repairing may take away between them, before anything that may be a sign. Only "surely none" is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

#: Behind the k, nothing that ends the word at once; before it an r, or what parts it from one; before an r, no letter
#: but an a ("work").
_NEIGHBOURS = r"""(?![0-9A-Za-z,;=?!@()\[\]{}"<>|#])(?<![A-QS-Za-qs-z013-9,:!?=@()\[\]{}"<].)(?<![B-Zb-z][rR].)"""
_LAST_LETTERS = (
    *((letter, re.compile(letter + _NEIGHBOURS)) for letter in "kK\N{KELVIN SIGN}\uff2b\uff4b"),
    ("%", re.compile("%(?:25)*+[46][bB]")),
)
#: What repairing takes away wherever it stands, and what `_ESCAPES` may be written with: they are never long.
_UNSEEN = (
    "\xad\u034f\u061c\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff0-\ufff8"
)
_UNSEEN += "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
#: Repairing takes it away before the letter, or makes a letter of it; and escapes that are escaped, full-width
#: or parted.
_ESCAPES = (
    (
        "%",
        re.compile(
            r"%(?:(?:25)*+(?:[46]1|[0-9A-Fa-f]{2}[rRkK\uff32\uff52\uff2b\uff4b\N{KELVIN SIGN}]"
            rf"|[0-9A-Fa-f]?[{_UNSEEN}\uff10-\uff19\uff21-\uff26\uff41-\uff46%&\\])"
            r"|(?:25)?[eE][fF]%(?:25)?[bB][cCdD])"
        ),
    ),
    ("\\u", re.compile(r"\\u(?:0025|00[3-7]|[0-9A-Fa-f]{4}[rRkK\uff32\uff52\uff2b\uff4b\N{KELVIN SIGN}])")),
    (
        "&#",
        re.compile(
            r"&#(?:0*(?:37|4[89]|5[0-7]|6[5-9]|[7-9][0-9]|1[01][0-9]|12[0-2])\b|[xX]0*(?:25|[3-7][0-9A-Fa-f])\b"
            r"|0*65[23]|[xX]0*[fF]{2})"
        ),
    ),
    ("\N{FULLWIDTH PERCENT SIGN}", re.compile(rf"\uff05[0-9A-Fa-f{_UNSEEN}\uff10-\uff19%&\\]")),
)
#: Of columns of text each is read alone, if such a word stands in one.
_WORDS_OF_COLUMNS = ("ark:", "ARK:", "Ark:")
_LONGEST_LINE = 400
#: Behind a page break stands the head of the page. The others are letters, and invisible.
_PARTING = "\f\u115f\u1160\u3164\uffa0"

_END_OF_ESCAPE = re.compile(r"(?:%[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4})\Z")

_BEHIND = re.compile(r"[\W_]*")
_BEFORE = re.compile(r"[\W_]*\Z")
_MOST_CHARS = 200
_MAY_BE_SIGN = re.compile(r"[:+_%\\&/\uff05\uff0b\uff0f\uff1a\uff3f]")
_A = frozenset("aA\uff21\uff41")
_R = frozenset("rR\uff32\uff52")
_K = frozenset("kK\uff2b\uff4b\N{KELVIN SIGN}")
#: Near a word, what may hide that it is the beginning of one: an escape, or an ARK to which it is glued.
_HIDING = re.compile(
    r"[$‡ǂ|][0-9a-z]\Z|[%\\&;\uff05][^\s%\\&;]{0,120}\Z|[0-9\uff10-\uff19]\W*[/\uff0f][^\s/]*\Z|\S{300}\Z"
)
_LONGEST_NAME = 300


def holds_no_label(text: str) -> bool:
    r"""Return whether surely no label stands in *text*, whatever was done to it.

    >>> holds_no_label("The Ark of Noah, a mark: dark:blue, a work: 3, Park/Lane")
    True
    >>> texts = ["an ark:/12148/x5", "ar-\n  k:/12148/x5", "ar%6B%3A", "ar&shy;k :", "ark\n12 :/x5", "mark%20ark:"]
    >>> any(map(holds_no_label, texts))
    False
    """
    if any(char in text for char in _PARTING):
        return False
    if any(sign[0] in text and sign in text and escape.search(text) for sign, escape in _ESCAPES):
        return False
    words: set[str] = set()  # each ends with a k that is among the ends
    for end in _ends(text):
        if _may_be_sign_behind(text, end) and _may_be_word(text, end):
            return False
        words.add(text[max(0, end - 3) : end + 1])
    return "\n" not in text or not any(word in words and _may_have_columns(text, word) for word in _WORDS_OF_COLUMNS)


def _may_have_columns(text: str, word: str) -> bool:
    """Return whether *word* stands in a line that may have columns, as `extractors.columns` looks for them."""
    at = text.find(word)
    while at >= 0:
        near = text[max(0, at - _LONGEST_LINE) : at + _LONGEST_LINE]
        if "  " in near or "|" in near:
            return True
        last = text.rfind(word, at + 1, at + _LONGEST_LINE)  # what is near those in between was looked at, too
        at = last if last >= 0 else text.find(word, at + 1)
    return False


def _ends(text: str) -> Iterator[int]:
    """Offsets behind what may be the last letter of a label's word."""
    for letter, pattern in _LAST_LETTERS:
        if letter in text:
            yield from (found.end() for found in pattern.finditer(text))


def _may_be_sign_behind(text: str, end: int) -> bool:
    """Return whether a sign may follow, behind nothing but marks; numbers of lines may be taken away, too."""
    found = _BEHIND.match(text, end, end + _MOST_CHARS)
    behind = found[0] if found is not None else ""
    following = text[end + len(behind) : end + len(behind) + 1]
    is_before_number = following.isdecimal() and behind != ""
    return len(behind) == _MOST_CHARS or is_before_number or _MAY_BE_SIGN.search(behind) is not None


def _may_be_word(text: str, end: int) -> bool:
    """Return whether the letter before *end*, a k in some spelling, may follow an a and an r, as a word begins."""
    at = end - 1
    before = text[at - 1 : at]
    if text[at] not in _K:
        return True
    if before not in _R:
        return _may_follow(text, at, _R)
    if text[at - 2 : at - 1] not in _A:
        return _may_follow(text, at - 1, _A)
    first = at - 2
    is_within_word = first > 0 and text[first - 1].isascii() and text[first - 1].isalpha() and text[first - 1] not in _K
    return not is_within_word or _HIDING.search(text, max(0, first - _LONGEST_NAME), first) is not None


def _may_follow(text: str, at: int, letters: frozenset[str]) -> bool:
    """Return whether one of *letters* may be the last before *at*, but for what repairing takes away."""
    if not at:
        return False
    start = max(0, at - _MOST_CHARS)
    found = _BEFORE.search(text, start, at)
    between = found[0] if found is not None else ""
    first = at - len(between)
    last = text[first - 1 : first] if first else ""
    if not between:
        return last in letters
    if len(between) == _MOST_CHARS or ";" in between or last in letters or last.isdecimal():
        return True
    return _END_OF_ESCAPE.search(text, max(0, first - len(r"\u00ad")), first) is not None
