"""Decide what a citation should be."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from enum import StrEnum

import regex

from extractors.mentions.mention import Mention
from extractors.wraps.rules import Confidence


class Kind(StrEnum):
    """The kinds of corrections."""

    SPELLING = "spelling"
    """Line ends, hyphens that only look alike, invisible characters, ligatures, and blanks in the label."""
    MOVED = "moved"
    """The cited resolver fails, and another one resolves the ARK."""
    HTTPS = "https"
    """The resolver redirects http to https."""
    MISTYPED = "mistyped"
    """The ARK is not found, and one that differs in a character works."""
    ARCHIVED = "archived"
    """The ARK fails, and a web archive has a copy."""


#: Kinds that may be written. A later one is made on top of an earlier one.
WRITTEN = (Kind.SPELLING, Kind.MOVED, Kind.HTTPS)

UNCERTAIN = "its reading is not certain"
EXAMPLE = "its NAAN is for examples or tests"
ONLY_LISTED = "it is only listed"

#: Repairs of a reading in words, if the repair has another name.
_WORDS = {
    "look-alike hyphen": "a character that only looks like a hyphen",
    "invisible character": "an invisible character",
    "full-width character": "a full-width character",
    "ligature": "a ligature",
    "soft hyphen": "a soft hyphen",
    "line wrap": "a line break",
    "hyphen at line wrap": "a hyphen at a line break",
    "blank in the label": "a blank in the label",
}
#: Repairs of text that may be right as it is: an address in the query of another one, an example of code.
_NO_FAULTS = frozenset({"percent-encoding", "entity", "JSON escape", "backslash escape"})
#: The characters that a correction of the spelling may remove.
_REMOVABLE = regex.compile(
    r"(?:[\s\p{Dash}\p{Default_Ignorable_Code_Point}\uFB00-\uFB06\uFF01-\uFF5E]|%(?:25)?[0-9A-Fa-f]{2})*+"
)
#: What it may insert: characters that no format escapes.
_PLAIN = regex.compile(r"[0-9A-Za-z:/.=+@-]*+")


@dataclass(frozen=True, slots=True)
class Edit:
    """A replacement in a text."""

    start: int
    end: int
    replacement: str


@dataclass(frozen=True, slots=True)
class Correction:
    """A citation as written and as it should be, with its location in a file."""

    as_written: str
    correct: str
    ark: str
    """The ARK in normal form, before and after the correction."""
    kinds: tuple[Kind, ...]
    reason: str
    location: str = ""
    """Line, page, or part of the document."""
    refusal: str = ""
    """The reason why the correction is not written to the file; empty if it is."""
    edits: tuple[Edit, ...] = ()
    """Edits of the characters of the file."""


def spelling_correction(mention: Mention) -> Correction | None:
    r"""Return the correction of the spelling of a mention, or None without a fault; the ARK stays the same.

    >>> from extractors.find import find_arks
    >>> [mention] = find_arks("see ark:/12148/bpt6k10\n7371t.")
    >>> spelling_correction(mention).correct, spelling_correction(mention).reason
    ('ark:/12148/bpt6k107371t', 'it has a line break')
    """
    as_written, correct = mention.as_written, mention.repaired
    faults = [_WORDS.get(repair, repair) for repair in mention.repairs if repair not in _NO_FAULTS]
    if correct.startswith(as_written) or not faults:
        return None
    if mention.ark.is_skipped:
        refusal = EXAMPLE
    elif mention.confidence is not Confidence.CERTAIN:
        refusal = UNCERTAIN
    elif not all(_REMOVABLE.fullmatch(as_written, edit.start, edit.end) for edit in edits_between(as_written, correct)):
        refusal = "other text or an escape is inside it"
    else:
        refusal = escape_refusal(as_written, correct)
    reason = f"it has {', '.join(dict.fromkeys(faults))}"
    return Correction(as_written, correct, str(mention.ark), (Kind.SPELLING,), reason, location_of(mention), refusal)


def location_of(mention: Mention) -> str:
    """Return the page of a mention in words, or without pages its line or part of the document."""
    return mention.place if mention.page is None else f"p. {mention.page}"


def escape_refusal(as_written: str, correct: str) -> str:
    """Return the reason why *correct* can't replace *as_written* in every format; empty if it can."""
    is_plain = all(_PLAIN.fullmatch(edit.replacement) for edit in edits_between(as_written, correct))
    return "" if is_plain else "its new characters may need an escape"


def combine(first: Correction | None, second: Correction) -> Correction:
    """Return two corrections of a citation as one; *second* corrects the result of *first*."""
    if first is None:
        return second
    reason = f"{first.reason}; {second.reason}"
    return replace(second, as_written=first.as_written, kinds=(*first.kinds, *second.kinds), reason=reason)


def edits_between(as_written: str, correct: str) -> list[Edit]:
    """Return the edits that turn *as_written* into *correct*, in order.

    >>> edits_between("http://old.example/ark:/1", "https://new.example/ark:/1")
    [Edit(start=4, end=4, replacement='s'), Edit(start=7, end=10, replacement='new')]
    """
    operations = SequenceMatcher(None, as_written, correct, autojunk=False).get_opcodes()
    return [
        Edit(start, end, correct[correct_start:correct_end])
        for operation, start, end, correct_start, correct_end in operations
        if operation != "equal"
    ]


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Return *text* after *edits*, which are in order and don't overlap."""
    pieces: list[str] = []
    copied_end = 0
    for edit in edits:
        pieces += (text[copied_end : edit.start], edit.replacement)
        copied_end = edit.end
    return "".join((*pieces, text[copied_end:]))
