"""Pure: the other way to read a hyphen at the end of a line: as a part of the name, or as the typesetter's."""

from __future__ import annotations

import re

from extractors.normalize import LABEL
from extractors.repair import ODD_BLANK, WRAP, offset_map

_HYPHEN_AT_WRAP = re.compile(rf"-{WRAP}")
_NO_SIGN = re.compile(rf"[-{WRAP}{ODD_BLANK}]")


def other_hyphenation(as_written: str, repaired: str) -> str | None:
    """*repaired* with the hyphens at the line wraps of *as_written* kept where it drops them, and the other way round.

    The two are one ARK, but some resolvers take hyphens for part of the name. None where no line ends so within the
    name, or where more than hyphens and blanks was repaired; a soft hyphen is always the typesetter's.

    >>> other_hyphenation("r.example/ark:/12148/x5-\\n7w", "r.example/ark:/12148/x57w")
    'r.example/ark:/12148/x5-7w'
    >>> other_hyphenation("r.example/ark:/12148/x-5\\N{EN DASH}\\n7w", "r.example/ark:/12148/x-5-7w")
    'r.example/ark:/12148/x-57w'
    """
    offsets = offset_map(as_written)
    written, label = offsets.text, LABEL.search(repaired)
    if label is None or _NO_SIGN.sub("", written) != _NO_SIGN.sub("", repaired):
        return None
    other, changed = repaired, False
    typeset = offsets.places("soft hyphen", 0, len(written))
    for wrap in reversed(list(_HYPHEN_AT_WRAP.finditer(written))):
        at = _place(repaired, len(_NO_SIGN.sub("", written[: wrap.start()])))
        if "/" not in repaired[label.end() : at] or wrap.start() in typeset:
            continue
        changed = True
        other = other[:at] + (other[at + 1 :] if other[at : at + 1] == "-" else "-" + other[at:])
    return other if changed else None


def _place(text: str, signs: int) -> int:
    """Return where in *text* the first so many characters that are no hyphens end."""
    for at, char in enumerate(text):
        if signs == 0:
            return at
        signs -= char != "-"
    return len(text)
