"""Pure: what a document should say instead, wherever that is sure enough to be written down."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from enum import StrEnum

from crawler.model.observations import Family
from extractors.model.documents import Role
from reports.languages import N_
from reports.remediation.causes import Cause


class Why(StrEnum):
    """The reason to write something otherwise; the weightiest first."""

    DID_YOU_MEAN = "did-you-mean"
    """It is not found, and the one that differs in a character, and whose check character fits, is."""
    OTHER_FORM = "other-form"
    """The resolver knows only the other form of the label, or the name without hyphens."""
    OTHER_RESOLVER = "other-resolver"
    """The resolver that is written fails, and another works."""
    REPAIRED = "repaired"
    """It works once it is whole; as it is written no one gets there."""
    ARCHIVED_COPY = "archived-copy"
    """It fails, nothing better is known, and an archive has a copy: that may be cited in addition, not instead."""


@dataclass(frozen=True, slots=True)
class Place:
    """One place that cites an ARK, with what became of the question for it."""

    as_written: str
    repaired: str
    role: Role
    repairs: tuple[str, ...] = ()
    is_ambiguous: bool = False
    has_resolver: bool = True
    """Whether a resolver is written; if not, which one is asked is our affair."""
    family: Family = Family.NOT_JUDGED
    """Of the object, at the URL that is asked for this place."""
    cause: Cause | None = None
    """Why it was not reached as it is cited, where it wasn't."""
    works_at: str | None = None
    """The URL at which it works, where it does so in another way."""
    meant_ark: str | None = None
    """The ARK that was meant, where asking has shown which one lives."""
    meant_url: str | None = None
    archived_copy: str | None = None
    """The address of the last good capture of what it led to."""


@dataclass(frozen=True, slots=True)
class Correction:
    """The right spelling of a citation, and why."""

    correct: str | None
    """None where it is right, and an archived copy is all that can be offered."""
    why: Why
    because: str


#: Repairs of what is wrong anywhere: no one who copies or clicks it gets there. Escapes are not among them:
#: in the query of another URL they are right.
_WRONG = {
    "look-alike hyphen": "a character that only looks like a hyphen",
    "invisible character": "an invisible character",
    "full-width character": "a full-width character",
    "blank in the label": "a blank in the label",
    "blank before a colon": "a blank before the colon",
    "no-break space": "a no-break space",
}
#: Repairs of what is usual in set text, and wrong only in what programs follow.
_LAYOUT = {
    "line wrap": "a line break",
    "hyphen at line wrap": "a line break with a hyphen",
    "page break": "a page break",
    "soft hyphen": "a soft hyphen",
}
#: What is said of a place with one of these faults, in other languages, too; with more of them it is English.
ONE_FAULT = (
    N_("it has a character that only looks like a hyphen, and works without"),
    N_("it has an invisible character, and works without"),
    N_("it has a full-width character, and works without"),
    N_("it has a blank in the label, and works without"),
    N_("it has a blank before the colon, and works without"),
    N_("it has a no-break space, and works without"),
    N_("it has a line break, and works without"),
    N_("it has a line break with a hyphen, and works without"),
    N_("it has a page break, and works without"),
    N_("it has a soft hyphen, and works without"),
)
_WAYS = {
    Cause.LABEL_FORM: Why.OTHER_FORM,
    Cause.HYPHENS: Why.OTHER_FORM,
    Cause.MOVED_RESOLVER: Why.OTHER_RESOLVER,
    Cause.REFUSED_HERE: Why.OTHER_RESOLVER,
}
_BECAUSE = {
    Cause.LABEL_FORM: N_("the resolver knows only the other form of the label; it works in that form"),
    Cause.HYPHENS: N_("the resolver takes hyphens for part of the name; it works without them"),
    Cause.MOVED_RESOLVER: N_("the resolver that is written fails; it works there"),
    Cause.REFUSED_HERE: N_("it fails as it is written; the same ARK is cited there and works"),
}


def correction(citation: Place) -> Correction | None:
    """Return what should be written at *citation*; None where it is right, or where that is not sure.

    >>> found = correction(Place("ark:/12148/btv1b84\\N{EN DASH}49691v", "ark:/12148/btv1b84-49691v", Role.TEXT,
    ...                          ("look-alike hyphen",), family=Family.WORKS))
    >>> found.correct, found.because
    ('ark:/12148/btv1b84-49691v', 'it has a character that only looks like a hyphen, and works without')
    """
    if citation.is_ambiguous:
        return None
    if citation.meant_ark:
        correct = citation.meant_url if citation.has_resolver and citation.meant_url else citation.meant_ark
        return Correction(
            correct, Why.DID_YOU_MEAN, f"it is not found; {citation.meant_ark} differs in a character and lives"
        )
    better = _better(citation)
    if better or citation.archived_copy is None or citation.family is Family.WORKS:
        return better
    return Correction(None, Why.ARCHIVED_COPY, N_("it fails; an archive has a copy of what it led to"))


def _better(citation: Place) -> Correction | None:
    if citation.cause in _WAYS:
        better = citation.works_at
        if better and not citation.has_resolver:  # without one, only hyphens can be mended anywhere
            is_plain = citation.cause is Cause.HYPHENS
            better = citation.repaired.replace("-", "") if is_plain else None
        if better and better != citation.as_written:
            return Correction(better, _WAYS[citation.cause], _BECAUSE[citation.cause])
        return None
    faults = _faults(citation)
    if (
        faults
        and citation.cause is None
        and citation.family is Family.WORKS
        and citation.repaired != citation.as_written
    ):
        return Correction(citation.repaired, Why.REPAIRED, f"it has {', '.join(faults)}, and works without")
    return None


def _faults(citation: Place) -> list[str]:
    fault_words = _WRONG if citation.role is Role.TEXT else {**_WRONG, **_LAYOUT}
    is_hyphenation = citation.role is Role.TEXT and not has_look_alike(citation.as_written)
    return [
        fault_words[repair]
        for repair in citation.repairs
        if repair in fault_words and not (repair == "look-alike hyphen" and is_hyphenation)
    ]


def has_look_alike(text: str) -> bool:
    """Return whether a dash that is no hyphen-minus is inside a line; at its end a typesetter has put it there.

    >>> has_look_alike("ark:/12148/btv1b84\\N{EN DASH}49691v"), has_look_alike("ark:/12148/btv1b84\\N{HYPHEN}\\n49691v")
    (True, False)
    """
    inside = re.sub(r"\S[ \t]*[\r\n]", "", text)
    return any((unicodedata.category(char) == "Pd" and char != "-") or char == "\N{MINUS SIGN}" for char in inside)
