"""Draft the letter to those who can repair a cause, in plain words: the problem, its date, and a request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial

from crawler.model.observations import Family, ObjectOutcome
from extractors.model.urls import authority_of
from reports.languages import ENGLISH, N_, Language
from reports.languages.templates import macros
from reports.remediation.causes import CAUSE_NAMES, FAULT_OF, Cause, Fault
from reports.tables.wording import OBJECT_MEANINGS

#: Number of ARKs listed in a letter; it states how many more there are.
MOST_NAMED = 12


@dataclass(frozen=True, slots=True)
class ArkProblem:
    """One ARK that was not reached as cited."""

    ark: str
    """The ARK in normal form."""
    url: str
    """The URL that was requested."""
    outcome: str
    """The outcome of the object service there."""
    ended_at: str | None = None
    """The URL of the last request, if redirects led to another one."""
    day: date | None = None
    """The day of the request."""
    documents: tuple[str, ...] = ()
    """The documents that cite it."""
    should_be: str | None = None
    """The corrected citation, if known."""
    archived_copy: str | None = None
    """The URL of an archived copy of the object."""
    archived_on: date | None = None
    """The day of that copy."""


@dataclass(frozen=True, slots=True)
class Letter:
    """A letter to copy."""

    subject: str
    body: str


def letter(
    cause: Cause, failures: Sequence[ArkProblem], count: int, language: Language = ENGLISH, *, sender: str = ""
) -> Letter:
    """Return the letter about a *cause* to those who can repair it: operators of a host, or editors of documents.

    *failures* has the first of *count* ARKs. *sender* is the address for replies. Invisible characters from the web are
    spelled out, and the letter contains no markup.

    >>> failure = ArkProblem("ark:12148/btv1b84", "https://n.example/ark:/12148/btv1b84", ObjectOutcome.LOOP)
    >>> letter(Cause.LOOP, [failure], 1).subject
    'An ARK does not lead to its object'
    """
    words = macros(
        "letter.txt.j2",
        "reports.page",
        language,
        cause=cause,
        failures=failures,
        arks=list(dict.fromkeys(failure.ark for failure in failures))[:MOST_NAMED],
        count=count,
        sender=sender,
        is_passing=FAULT_OF[cause] is Fault.NOBODY,
        cause_names=CAUSE_NAMES,
        meaning_of=partial(_meaning, cause=cause),
    )
    return Letter(words.subject(), words.body())


_NOT_AS_CITED = N_("The ARK works, but not as it is cited: only in another form or at another address.")
_GONE = N_("The server answered that the page is gone.")
_PAGE_MISSING = N_("The server answered that it does not have this page.")


def _meaning(failure: ArkProblem, cause: Cause) -> str:
    """Return the meaning of an outcome, in words that agree with the rest of the letter about a *cause*."""
    outcome = ObjectOutcome(failure.outcome)
    if outcome.family is Family.WORKS and outcome is not ObjectOutcome.WORKS_ELSEWHERE:
        return _NOT_AS_CITED
    if outcome is ObjectOutcome.BROKEN and cause is Cause.WITHDRAWN:
        return _GONE
    if outcome is ObjectOutcome.BROKEN and authority_of(failure.ended_at or failure.url) != authority_of(failure.url):
        return _PAGE_MISSING
    return OBJECT_MEANINGS[outcome]
