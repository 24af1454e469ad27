"""Draft letters to those who can repair a cause, in plain words: the problem, its date, and a request."""

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
    cause: Cause,
    fault: Fault,
    host: str,
    failures: Sequence[ArkProblem],
    count: int,
    language: Language = ENGLISH,
    *,
    sender: str = "",
) -> Letter:
    """Return the letter about a *cause* to the party of *fault*.

    It goes to the operator of *host*, or to the editors of the documents. *failures* has the first of *count* ARKs.
    *sender* is the address for replies. Invisible characters from the web are spelled out, and the letter contains no
    markup.

    >>> one = ArkProblem("ark:12148/btv1b84", "https://n.example/ark:/12148/btv1b84", ObjectOutcome.LOOP)
    >>> letter(Cause.LOOP, Fault.RESOLVER, "n.example", [one], 1).subject
    'An ARK does not lead to its object at n.example'
    """
    is_landing = fault in (Fault.LANDING_HOST, Fault.NOBODY) and any(map(_is_led_on, failures))
    at_host = Fault.LANDING_HOST if is_landing else Fault.RESOLVER
    words = _FIRST_WORDS[Fault.CITATION if fault is Fault.CITATION else at_host]
    where = escape_invisible(host) or language.pgettext("at", "its address")
    found = _MAY_PASS if FAULT_OF[cause] is Fault.NOBODY else _FOUND
    asked = language.ngettext(_REQUEST.one, _REQUEST.many, count)
    request = f"{language.gettext(found, cause=language.gettext(CAUSE_NAMES[cause]))} {asked}"
    salutation = _DEAR_EDITORS if fault is Fault.CITATION else _DEAR_COLLEAGUES
    return _compose(words, where, salutation, failures, count, request, language, sender, cause)


def letter_to_let_in(
    host: str,
    blocked: Sequence[ArkProblem],
    count: int,
    language: Language = ENGLISH,
    *,
    user_agent: str,
    signed_by: str = "",
    sender: str = "",
) -> Letter:
    """Return the letter to the operator of a *host* that refuses programs, with ways to admit arkaudit.

    >>> letter_to_let_in("n.example", [], 2, user_agent="arkaudit/1").subject
    'Programs cannot check 2 ARKs at n.example'
    """
    ways = [
        _LET_IN,
        N_("- the signature of our requests (Web Bot Auth), by the key {key};") if signed_by else "",
        N_("- our address, as recorded in your log with the User-Agent {agent};"),
        N_("- the paths of ARKs, which begin with /ark:, and the pages that they lead to."),
        _PATIENCE,
    ]
    words = {"key": escape_invisible(signed_by), "agent": escape_invisible(user_agent)}
    request = "\n".join(language.gettext(way, **words) for way in ways if way)
    return _compose(_TO_LET_IN, escape_invisible(host), _DEAR_COLLEAGUES, blocked, count, request, language, sender)


_DEAR_EDITORS, _DEAR_COLLEAGUES = N_("Dear editors,"), N_("Dear colleagues,")
_LET_IN = N_("Could you admit it? Allowing one of these is enough:")
_PATIENCE = N_(
    "It sends at most one request per second, obeys robots.txt, and never tries to bypass a filter against robots."
)


def _compose(
    words: tuple[Forms, Forms],
    where: str,
    salutation: str,
    arks_seen: Sequence[ArkProblem],
    count: int,
    request: str,
    language: Language,
    sender: str,
    cause: Cause | None = None,
) -> Letter:
    """Return a letter: subject and opening from *words*, a paragraph per ARK, and the request."""
    subject, opening = (language.ngettext(forms.one, forms.many, count, host=where) for forms in words)
    arks = list(dict.fromkeys(one.ark for one in arks_seen))[:MOST_NAMED]
    more = count - len(arks)
    parts = [language.gettext(salutation), f"{opening} {language.gettext(_MEANING)}"]
    for ark in arks:
        lines = [line for one in arks_seen if one.ark == ark for line in _lines(one, cause, language)]
        parts.append("\n  ".join([escape_invisible(ark), *lines]))
    if more > 0:
        parts.append(
            language.ngettext(
                "And {number} more ARK: we will gladly send the list.",
                "And {number} more ARKs: we will gladly send the list.",
                more,
            )
        )
    parts += [
        request,
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
    return Letter(subject, "\n\n".join(parts) + "\n")


_MEANING = N_("An ARK is a persistent identifier: it should lead to its object, or to an explanation of its absence.")


#: The subject and the first sentence of a letter, to editors or to a host.
_FIRST_WORDS = {
    Fault.CITATION: (
        Forms("A cited ARK needs a correction", "{number} cited ARKs need a correction"),
        Forms(
            "An ARK that your documents cite did not lead to its object, and the citation seems to be the cause.",
            "{number} ARKs that your documents cite did not lead to their objects, and the citations seem to be "
            "the cause.",
        ),
    ),
    Fault.LANDING_HOST: (
        Forms(
            "An ARK leads to {host}, but not to its object", "{number} ARKs lead to {host}, but not to their objects"
        ),
        Forms(
            "We asked a resolver for an ARK, and it led to {host}, but not to the object.",
            "We asked resolvers for {number} ARKs, and they led to {host}, but not to the objects.",
        ),
    ),
    Fault.RESOLVER: (
        Forms("An ARK does not lead to its object at {host}", "{number} ARKs do not lead to their objects at {host}"),
        Forms(
            "An ARK did not lead to its object when we asked for it at {host}.",
            "{number} ARKs did not lead to their objects when we asked for them at {host}.",
        ),
    ),
}
_TO_LET_IN = (
    Forms("Programs cannot check an ARK at {host}", "Programs cannot check {number} ARKs at {host}"),
    Forms(
        "Your server {host} refuses our program, so we cannot check whether an ARK that leads there still works.",
        "Your server {host} refuses our program, so we cannot check whether {number} ARKs that lead there still work.",
    ),
)


_NOT_AS_CITED = N_("The ARK works, but not as it is cited: only in another form or at another address.")
_GONE = N_("The server answered that the page is gone.")
_PAGE_MISSING = N_("The server answered that it does not have this page.")


def _is_led_on(failure: ArkProblem) -> bool:
    return authority_of(failure.ended_at or failure.url) != authority_of(failure.url)


def _meaning(failure: ArkProblem, cause: Cause | None) -> str:
    """Return the meaning of an outcome, in words that agree with the rest of the letter about a *cause*."""
    if failure.outcome.family is Family.WORKS and failure.outcome is not ObjectOutcome.WORKS_ELSEWHERE:
        return _NOT_AS_CITED
    if failure.outcome is ObjectOutcome.BROKEN and cause is Cause.WITHDRAWN:
        return _GONE
    if failure.outcome is ObjectOutcome.BROKEN and _is_led_on(failure):
        return _PAGE_MISSING
    return OBJECT_MEANINGS[failure.outcome]


def _lines(failure: ArkProblem, cause: Cause | None, language: Language) -> Iterator[str]:
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
