"""Draft the letter to those who can repair a cause, in plain words: the problem, its date, and a request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from crawler.model.observations import ObjectOutcome
from extractors.model.urls import authority_of
from reports.languages import ENGLISH, Language
from reports.languages.templates import macros
from reports.remediation.causes import CAUSE_NAMES, FAULT_OF, Cause, Fault
from reports.store.run_queries import WORKING
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
        reached={outcome for outcome in WORKING if outcome != ObjectOutcome.WORKS_ELSEWHERE},
        meanings=OBJECT_MEANINGS,
        authority_of=authority_of,
    )
    return Letter(words.subject(), words.body())
