"""Decide the corrected text of a citation, if it is certain enough to propose."""

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
    """The reason for a correction; the strongest first."""

    DID_YOU_MEAN = "did-you-mean"
    """The ARK is not found, but one that differs in a character and has a valid check character works."""
    OTHER_FORM = "other-form"
    """The resolver accepts only the other form of the label, or the name without hyphens."""
    OTHER_RESOLVER = "other-resolver"
    """The cited resolver fails, and another one works."""
    REPAIRED = "repaired"
    """The citation works after repair, but not as written."""
    ARCHIVED_COPY = "archived-copy"
    """The ARK fails and no correction is known, but an archive has a copy, which may be cited in addition."""


@dataclass(frozen=True, slots=True)
class Place:
    """A place that cites an ARK, with the result of its check."""

    as_written: str
    repaired: str
    role: Role
    repairs: tuple[str, ...] = ()
    is_ambiguous: bool = False
    has_resolver: bool = True
    """True if the citation names a resolver; else arkaudit chose it."""
    family: Family = Family.NOT_JUDGED
    """The family of the object outcome at the URL requested for this place."""
    cause: Cause | None = None
    """The cause of the failure, if the ARK was not reached as cited."""
    works_at: str | None = None
    """The URL at which the ARK works, if reached in another way."""
    meant_ark: str | None = None
    """The ARK that was meant, if checks have confirmed it."""
    meant_url: str | None = None
    archived_copy: str | None = None
    """The URL of a capture of the object."""


@dataclass(frozen=True, slots=True)
class Correction:
    """The corrected text of a citation, and the reason."""

    correct: str | None
    """The text to write; None if only an archived copy can be offered."""
    why: Why
    because: str


#: Repairs of errors that stop any reader who copies or clicks the text. Percent-encoding is not among them, because it
#: is correct in the query of another URL.
_WRONG = {
    "look-alike hyphen": "a character that only looks like a hyphen",
    "invisible character": "an invisible character",
    "full-width character": "a full-width character",
    "ligature": "a ligature",
    "blank in the label": "a blank in the label",
    "blank before a colon": "a blank before the colon",
    "no-break space": "a no-break space",
}
#: Repairs of normal typesetting, which is an error only in machine-readable places.
_LAYOUT = {
    "line wrap": "a line break",
    "hyphen at line wrap": "a line break with a hyphen",
    "page break": "a page break",
    "soft hyphen": "a soft hyphen",
}
#: The sentences for a place with one fault, which are translated; several faults are listed in English.
ONE_FAULT = (
    N_("it has a character that only looks like a hyphen, and works without it"),
    N_("it has an invisible character, and works without it"),
    N_("it has a full-width character, and works without it"),
    N_("it has a ligature, and works without it"),
    N_("it has a blank in the label, and works without it"),
    N_("it has a blank before the colon, and works without it"),
    N_("it has a no-break space, and works without it"),
    N_("it has a line break, and works without it"),
    N_("it has a line break with a hyphen, and works without it"),
    N_("it has a page break, and works without it"),
    N_("it has a soft hyphen, and works without it"),
)
_WAYS = {
    Cause.LABEL_FORM: Why.OTHER_FORM,
    Cause.HYPHENS: Why.OTHER_FORM,
    Cause.MOVED_RESOLVER: Why.OTHER_RESOLVER,
    Cause.REFUSED_HERE: Why.OTHER_RESOLVER,
}
_BECAUSE = {
    Cause.LABEL_FORM: N_("the resolver accepts only the other form of the label; the ARK works in that form"),
    Cause.HYPHENS: N_("the resolver treats hyphens as part of the name; the ARK works without them"),
    Cause.MOVED_RESOLVER: N_("the cited resolver fails; the ARK works at this one"),
    Cause.REFUSED_HERE: N_("it fails as written; the same ARK is cited at this address and works"),
}


def correction(citation: Place) -> Correction | None:
    """Return the correction of *citation*, or None if it is right or no correction is certain.

    >>> found = correction(Place("ark:/12148/btv1b84\\N{EN DASH}49691v", "ark:/12148/btv1b84-49691v", Role.TEXT,
    ...                          ("look-alike hyphen",), family=Family.WORKS))
    >>> found.correct, found.because
    ('ark:/12148/btv1b84-49691v', 'it has a character that only looks like a hyphen, and works without it')
    """
    if citation.is_ambiguous:
        return None
    if citation.meant_ark:
        correct = citation.meant_url if citation.has_resolver and citation.meant_url else citation.meant_ark
        return Correction(
            correct, Why.DID_YOU_MEAN, f"it is not found; {citation.meant_ark} differs in a character and works"
        )
    better = _better(citation)
    if better or citation.archived_copy is None or citation.family is Family.WORKS:
        return better
    return Correction(None, Why.ARCHIVED_COPY, N_("it fails; a web archive has a copy of the object"))


def _better(citation: Place) -> Correction | None:
    if citation.cause in _WAYS:
        better = citation.works_at
        # Without a resolver in the text, only hyphens can be corrected.
        if better and not citation.has_resolver:
            is_plain = citation.cause is Cause.HYPHENS
            better = citation.repaired.replace("-", "") if is_plain else None
        if better and better != citation.as_written:
            return Correction(better, _WAYS[citation.cause], _BECAUSE[citation.cause])
        return None
    fault_words = _WRONG if citation.role is Role.TEXT else {**_WRONG, **_LAYOUT}
    is_hyphenation = citation.role is Role.TEXT and not has_look_alike(citation.as_written)
    faults = [
        fault_words[repair]
        for repair in citation.repairs
        if repair in fault_words and not (repair == "look-alike hyphen" and is_hyphenation)
    ]
    if (
        faults
        and citation.cause is None
        and citation.family is Family.WORKS
        and citation.repaired != citation.as_written
    ):
        return Correction(
            citation.repaired,
            Why.REPAIRED,
            f"it has {', '.join(faults)}, and works without {'it' if len(faults) == 1 else 'them'}",
        )
    return None


def has_look_alike(text: str) -> bool:
    """Return True if a line contains a dash other than hyphen-minus; at the end of a line it comes from typesetting.

    >>> has_look_alike("ark:/12148/btv1b84\\N{EN DASH}49691v"), has_look_alike("ark:/12148/btv1b84\\N{HYPHEN}\\n49691v")
    (True, False)
    """
    inside = re.sub(r"\S[ \t]*[\r\n]", "", text)
    return any((unicodedata.category(char) == "Pd" and char != "-") or char == "\N{MINUS SIGN}" for char in inside)
