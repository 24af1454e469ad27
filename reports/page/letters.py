"""Draft the letter to those who can repair a cause, in plain words: the problem, its date, and a request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from crawler.model.observations import Family, ObjectOutcome
from extractors.model.urls import authority_of
from reports.languages import ENGLISH, N_, Forms, Language
from reports.languages.display import escape_invisible
from reports.remediation.causes import FAULT_OF, Cause, Fault
from reports.tables.wording import CAUSE_NAMES, OBJECT_MEANINGS

#: Number of ARKs listed in a letter; it states how many more there are.
MOST_NAMED = 12
#: Number of documents listed for each ARK.
_MOST_DOCUMENTS = 2


@dataclass(frozen=True, slots=True)
class ArkProblem:
    """One ARK that was not reached as cited."""

    ark: str
    """The ARK in normal form."""
    url: str
    """The URL that was requested."""
    outcome: ObjectOutcome
    ended_at: str = ""
    """The URL of the last request, if redirects led to another one."""
    day: date | None = None
    """The day of the request."""
    documents: tuple[str, ...] = ()
    """The documents that cite it."""
    should_be: str = ""
    """The corrected citation, if known."""
    archived_copy: str = ""
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
    arks = list(dict.fromkeys(failure.ark for failure in failures))[:MOST_NAMED]
    more = count - len(arks)
    opening = language.counted(_OPENING, count)
    parts = [language.gettext("Dear colleagues,"), f"{opening} {language.gettext(_MEANING)}"]
    for ark in arks:
        lines = [line for failure in failures if failure.ark == ark for line in _lines(failure, cause, language)]
        parts.append("\n  ".join([escape_invisible(ark), *lines]))
    if more > 0:
        parts.append(
            language.ngettext(
                "And {number} more ARK: we will gladly send the list.",
                "And {number} more ARKs: we will gladly send the list.",
                more,
            )
        )
    found = _MAY_PASS if FAULT_OF[cause] is Fault.NOBODY else _FOUND
    asked = language.counted(_REQUEST, count)
    parts += [
        f"{language.gettext(found, cause=language.gettext(CAUSE_NAMES[cause]))} {asked}",
        language.gettext("We will gladly send every request and answer. Thank you for your help."),
        "\n".join(
            filter(
                None,
                (
                    language.gettext("With kind regards,"),
                    language.gettext("[your name, your institution]"),
                    escape_invisible(sender),
                ),
            )
        ),
    ]
    return Letter(language.counted(_SUBJECT, count), "\n\n".join(parts) + "\n")


_SUBJECT = Forms("An ARK does not lead to its object", "{number} ARKs do not lead to their objects")
_OPENING = Forms(
    "An ARK did not lead to its object when we asked for it.",
    "{number} ARKs did not lead to their objects when we asked for them.",
)
_MEANING = N_("An ARK is a persistent identifier: it should lead to its object, or to an explanation of its absence.")


_NOT_AS_CITED = N_("The ARK works, but not as it is cited: only in another form or at another address.")
_GONE = N_("The server answered that the page is gone.")
_PAGE_MISSING = N_("The server answered that it does not have this page.")


def _is_led_on(failure: ArkProblem) -> bool:
    return authority_of(failure.ended_at or failure.url) != authority_of(failure.url)


def _meaning(failure: ArkProblem, cause: Cause) -> str:
    """Return the meaning of an outcome, in words that agree with the rest of the letter about a *cause*."""
    if failure.outcome.family is Family.WORKS and failure.outcome is not ObjectOutcome.WORKS_ELSEWHERE:
        return _NOT_AS_CITED
    if failure.outcome is ObjectOutcome.BROKEN and cause is Cause.WITHDRAWN:
        return _GONE
    if failure.outcome is ObjectOutcome.BROKEN and _is_led_on(failure):
        return _PAGE_MISSING
    return OBJECT_MEANINGS[failure.outcome]


def _lines(failure: ArkProblem, cause: Cause, language: Language) -> Iterator[str]:
    meaning = language.gettext(_meaning(failure, cause))
    yield language.gettext("requested at {url}", url=escape_invisible(failure.url))
    if failure.ended_at and failure.ended_at != failure.url:
        yield language.gettext("redirected to {url}", url=escape_invisible(failure.ended_at))
    if failure.day:
        yield language.gettext("on {day}: {meaning}", day=language.day(failure.day), meaning=meaning)
    else:
        yield meaning
    if failure.documents:
        yield _citation_line(failure.documents, language)
    if failure.should_be:
        yield language.gettext("it should probably be {better}", better=escape_invisible(failure.should_be))
    if failure.archived_copy and failure.archived_on:
        copy, day = escape_invisible(failure.archived_copy), language.day(failure.archived_on)
        yield language.gettext("a web archive has a copy of the object, from {day}: {copy}", day=day, copy=copy)


def _citation_line(documents: Sequence[str], language: Language) -> str:
    first, *others = map(escape_invisible, documents)
    if not others:
        return language.gettext("cited in {document}", document=first)
    if len(documents) <= _MOST_DOCUMENTS:
        return language.gettext("cited in {document} and {other}", document=first, other=others[0])
    return language.ngettext(
        "cited in {document} and {other}, and in {number} other document",
        "cited in {document} and {other}, and in {number} other documents",
        len(documents) - _MOST_DOCUMENTS,
        document=first,
        other=others[0],
    )


_FOUND, _MAY_PASS = N_("What we found: {cause}."), N_("It may have been an outage.")
#: The request of a letter about one ARK or several.
_REQUEST = Forms(
    "Could you look into it, so that what was cited keeps working, or tell us how to cite this ARK?",
    "Could you look into it, so that what was cited keeps working, or tell us how to cite these ARKs?",
)
