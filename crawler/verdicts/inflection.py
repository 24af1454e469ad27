"""Pure: judge whether an answer to an inflection is metadata, the object again, a registry record, or a refusal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from crawler.answers.answer import is_textual
from crawler.answers.erc import parse_dates
from crawler.answers.facts import AnswerFacts, AnswersByQuestion
from crawler.answers.metadata_facts import MetadataFacts, led_to
from crawler.answers.object_facts import wall_before
from crawler.model.observations import (
    ACCESS,
    DESCRIBED,
    ChainEnd,
    MetadataOutcome,
    Observation,
    Question,
    ServiceVerdict,
)
from crawler.model.resolving import INFLECTED, REFUSING_STATUSES, listed_statuses
from crawler.verdicts.rules import RuleGroup, RuleTable, VerdictRule, always

#: Errors for the question; 502, 503 and 504 speak of the moment.
_REFUSALS_OF_THE_QUESTION = frozenset({400, 404, 405, 406, 410, 414, 422, 500, 501})


# -- in words


def _answered(facts: MetadataFacts) -> str:
    return f"{facts.asked} was answered {facts.answer.status}"


def _namespace(facts: MetadataFacts) -> str:
    named = facts.answer.subject.names_namespace
    return f" ({named})" if named else ""


def _lost(facts: MetadataFacts) -> str:
    return f"{facts.asked} was lost in the redirect from {facts.lost_at}"


def _everybodys(facts: MetadataFacts) -> str:
    kind = "page" if facts.answer.record is None else "record"
    url = facts.control.asked_url if facts.control else ""
    return f"{facts.asked} gave a {kind}, but the same one for a name that can't exist ({url})"


def _too_little(facts: MetadataFacts) -> str:
    why = "tells too little to be a description: " + ", ".join(facts.answered)
    if not facts.telling:
        why = "answers none of who, what and when"
    return f"{facts.asked} gave {_kind(facts.answer.seen)} that {why}"


def _fault_in_title(facts: MetadataFacts) -> str:
    return f"{facts.asked} gave {_kind(facts.answer.seen)} whose title is no object's: {facts.fault_in_title!r}"


def _anothers(facts: MetadataFacts) -> Iterator[str]:
    yield f"{facts.asked} gave {_kind(facts.answer.seen)} about something else than the object"
    if facts.answer.subject.names_other:
        yield f"the record names another ARK: {facts.answer.subject.names_other}"
        return
    if "where" in facts.answers:
        yield f"the record's place is {facts.answers['where']!r}"
    yield "none of its words for who and what stands on the object's page"


def _about_record(facts: MetadataFacts) -> Iterator[str]:
    yield f"{facts.asked} gave {_kind(facts.answer.seen)} with {', '.join(facts.answered)}"
    yield _whose(facts)
    if facts.unanswered:
        yield f"it does not answer {', '.join(facts.unanswered)}"


def _whose(facts: MetadataFacts) -> str:
    """Return why the record is, or is not, about the ARK that was asked about; silence alone condemns none
    (2023, 5.2).
    """
    subject = facts.answer.subject
    if subject.names_this:
        return f"the record names this ARK, by {subject.names_this}"
    if subject.names_other:
        return f"the record names another ARK: {subject.names_other}"
    if subject.names_base:
        return "the record names the ARK of the whole, not that of the part that was asked about"
    if facts.has_objects_title:
        return "the record's title is that of the object's page"
    return "the record does not say which ARK it is about"


def _read(facts: MetadataFacts, parsed: Mapping[str, Any]) -> Mapping[str, Any]:
    dates = parse_dates(facts.answers.get("when", ""))
    return {**parsed, "dates": dates} if dates else parsed


def _kind(answer: Observation) -> str:
    return answer.media_type or "an untyped body"


def _unread(facts: MetadataFacts) -> str:
    seen = facts.answer.seen
    why = "which was not read to the end" if seen.body_bytes else "whose body could not be read"
    if not is_textual(seen.media_type):
        why = "which is no text"
    return f"{facts.asked} gave {_kind(seen)}, {why}"


# -- the rules

#: What the answer to ``?info``, ``??`` or ``?`` is (draft-kunze-ark-38, 5.1.2).
METADATA_RULES: RuleTable[MetadataFacts, MetadataOutcome] = RuleTable(
    "The metadata",
    (
        RuleGroup(
            "chains without a last answer",
            lambda facts: not facts.answer.is_answered,
            (
                VerdictRule(
                    "robots.txt forbids asking",
                    lambda facts: facts.answer.end is ChainEnd.ROBOTS,
                    MetadataOutcome.BLOCKED,
                    lambda facts: f"robots.txt forbids asking {facts.asked}",
                ),
                VerdictRule(
                    "it leads out of the web, to the object's own address",
                    lambda facts: facts.leads_to_objects_address,
                    MetadataOutcome.QUERY_IGNORED,
                    lambda facts: f"{facts.asked} led to the object's own address: {led_to(facts.answer.seen)}",
                ),
                VerdictRule(
                    "it has any other end",
                    always,
                    MetadataOutcome.UNDETERMINED,
                    lambda facts: f"{facts.asked}: no answer ({facts.answer.seen.detail or facts.answer.end.value})",
                ),
            ),
        ),
        RuleGroup(
            "all other answers",
            always,
            (
                VerdictRule(
                    "what came is a check for programs",
                    lambda facts: facts.answer.challenge is not None,
                    MetadataOutcome.BLOCKED,
                    lambda facts: f"{facts.asked} was answered with a check for programs by {facts.answer.challenge}",
                ),
            ),
        ),
        RuleGroup(
            "successes",
            lambda facts: facts.answer.is_success,
            (
                VerdictRule(
                    "its THUMP-Status is 400 or more",
                    lambda facts: facts.answer.thump_fault is not None,
                    MetadataOutcome.UNSUPPORTED,
                    lambda facts: f"{_answered(facts)}, but THUMP-Status {facts.answer.thump_fault}",
                    basis="2023, 5.2",
                ),
                VerdictRule(
                    "it is a record of an error",
                    lambda facts: facts.answer.is_error_record,
                    MetadataOutcome.UNSUPPORTED,
                    lambda facts: f"{_answered(facts)}, but with a record of an error",
                ),
                VerdictRule(
                    "it is a page to log in",
                    lambda facts: facts.answer.asks_to_log_in,
                    MetadataOutcome.BLOCKED,
                    lambda facts: f"{facts.asked} was answered with a page to log in",
                ),
                VerdictRule(
                    "the control, asked again without an inflection, gets this page and did not before",
                    lambda facts: wall_before(facts.answer, facts.changed_controls) is not None,
                    MetadataOutcome.BLOCKED,
                    lambda facts: f"{facts.asked} gave a page that a name that can't exist got as well, asked again",
                ),
                VerdictRule(
                    "the page speaks of a fault of the moment",
                    lambda facts: facts.answer.passing_fault is not None,
                    MetadataOutcome.UNDETERMINED,
                    lambda facts: (
                        f"{facts.asked} gave a page that speaks of a fault of the moment: {facts.answer.passing_fault!r}"
                    ),
                ),
            ),
        ),
        RuleGroup(
            "all other statuses",
            lambda facts: not facts.answer.is_success,
            (
                VerdictRule(
                    f"the last status is {listed_statuses(REFUSING_STATUSES)}",
                    lambda facts: facts.answer.status in REFUSING_STATUSES,
                    MetadataOutcome.BLOCKED,
                    _answered,
                ),
                VerdictRule(
                    f"the last status is {listed_statuses(_REFUSALS_OF_THE_QUESTION)}, while the object itself answers",
                    lambda facts: facts.object.is_reached and facts.answer.status in _REFUSALS_OF_THE_QUESTION,
                    MetadataOutcome.UNSUPPORTED,
                    lambda facts: f"{_answered(facts)}, while the object itself answers",
                ),
                VerdictRule("the last status is another one", always, MetadataOutcome.UNDETERMINED, _answered),
            ),
        ),
        RuleGroup(
            "other successes",
            always,
            (
                VerdictRule(
                    "the record is about the NAAN or shoulder",
                    lambda facts: facts.answer.is_registry_entry or facts.answer.subject.names_namespace is not None,
                    MetadataOutcome.REGISTRY_LEVEL,
                    lambda facts: (
                        f"{facts.asked} gave a record about the NAAN or shoulder{_namespace(facts)}, not the object"
                    ),
                ),
                VerdictRule(
                    "the answer is the object's own again, and a redirect on the way forgot the inflection",
                    lambda facts: facts.is_objects_again and facts.lost_at is not None,
                    MetadataOutcome.QUERY_DROPPED,
                    _lost,
                ),
                VerdictRule(
                    "the answer is the object's own again",
                    lambda facts: facts.is_objects_again,
                    MetadataOutcome.QUERY_IGNORED,
                    lambda facts: f"{facts.asked} gave the object's own answer again",
                ),
                VerdictRule(
                    "a name that can't exist gets the same",
                    lambda facts: facts.is_everybodys,
                    MetadataOutcome.ANSWERS_ANYTHING,
                    _everybodys,
                ),
                VerdictRule(
                    "too little came of the answer, or of the object's, to tell whether both are one",
                    lambda facts: facts.may_be_objects_again,
                    MetadataOutcome.UNDETERMINED,
                    lambda facts: (
                        f"{facts.asked} may have given the object's own answer again: too little came to compare the two"
                    ),
                ),
                VerdictRule(
                    "a name that can't exist gets a success too, of which too little came to tell whether it is the same",
                    lambda facts: facts.may_be_everybodys,
                    MetadataOutcome.UNDETERMINED,
                    lambda facts: (
                        f"too little came of what a name that can't exist gets for {facts.asked} to compare the two"
                    ),
                ),
            ),
        ),
        RuleGroup(
            "records",
            lambda facts: facts.answer.record is not None,
            (
                VerdictRule(
                    "the record's title says that there is no description to give, and nothing besides",
                    lambda facts: facts.fault_in_title is not None,
                    MetadataOutcome.UNDETERMINED,
                    _fault_in_title,
                ),
                VerdictRule(
                    "the record tells too little: neither who nor what, nothing that is known or, where it is no ERC, one thing "
                    "about nobody",
                    lambda facts: not facts.is_record_of_object,
                    MetadataOutcome.UNDETERMINED,
                    _too_little,
                ),
                VerdictRule(
                    "the record names another ARK, or another place and other words than the object's",
                    lambda facts: facts.is_anothers,
                    MetadataOutcome.UNDETERMINED,
                    _anothers,
                    lambda facts: (
                        {"about": facts.answer.subject.names_other} if facts.answer.subject.names_other else {}
                    ),
                    "2023, 2.5",
                ),
                VerdictRule(
                    "the record is an ERC",
                    lambda facts: facts.is_erc,
                    MetadataOutcome.ERC,
                    _about_record,
                    lambda facts: _read(facts, facts.answers),
                    "2023, 5.1.2",
                ),
                VerdictRule(
                    "the record has another form: JSON, YAML, RDF or what a page has embedded",
                    always,
                    MetadataOutcome.STRUCTURED,
                    _about_record,
                    lambda facts: _read(facts, {**facts.flat, **facts.answers}),
                    "2023, 5.1.2",
                ),
            ),
        ),
        RuleGroup(
            "pages, and what is no text",
            always,
            (
                VerdictRule(
                    "the body is no text, or could not be read",
                    lambda facts: facts.answer.text is None,
                    MetadataOutcome.UNDETERMINED,
                    _unread,
                ),
                VerdictRule(
                    "the page has the object's title, and tells no more than the object's page",
                    lambda facts: facts.tells_no_more,
                    MetadataOutcome.QUERY_IGNORED,
                    lambda facts: f"{facts.asked} gave a page that tells what the object's own page tells",
                ),
                VerdictRule(
                    "the title that it labels says that there is no description to give, and nothing besides",
                    lambda facts: facts.fault_in_title is not None,
                    MetadataOutcome.UNDETERMINED,
                    _fault_in_title,
                ),
                VerdictRule(
                    "the page names this ARK, and answers three of who, what, when and where under their labels",
                    lambda facts: facts.is_page_of_object,
                    MetadataOutcome.HTML,
                    lambda facts: f"{facts.asked} gave a page that tells {', '.join(sorted(facts.answer.labelled))}",
                    lambda facts: facts.labelled_answers,
                    "2023, 5.1.2",
                ),
                VerdictRule(
                    "a redirect on the way forgot the inflection",
                    lambda facts: facts.lost_at is not None,
                    MetadataOutcome.QUERY_DROPPED,
                    _lost,
                ),
                VerdictRule(
                    "the page is another one than the object's, and describes nothing",
                    always,
                    MetadataOutcome.UNDETERMINED,
                    lambda facts: f"{facts.asked} gave another page than the object, but no description could be read",
                ),
            ),
        ),
    ),
)


def judge_inflections(
    answers: AnswersByQuestion,
    living: AnswerFacts,
    control: AnswerFacts | None,
    changed_controls: Sequence[AnswerFacts] = (),
    *,
    is_object_shown: bool = True,
) -> tuple[ServiceVerdict[MetadataOutcome] | None, tuple[Question, ...]]:
    """Return the best of what the inflections gave, with the reasons of all, and which of them describe the object.

    Each is held against the object's answer at its own URL. None where none was asked.
    """
    by_url = {answers[way].asked_url: answers[way] for way in ACCESS[::-1] if way in answers}
    verdicts = {}
    for question in INFLECTED:
        if question in answers:
            answer = answers[question]
            at_base = by_url.get(answer.asked_url.partition("?")[0], living)
            verdicts[question] = METADATA_RULES.judge(
                MetadataFacts(answer, at_base, control, changed_controls, is_object_shown)
            )
    if not verdicts:
        return None, ()
    describing = tuple(one for one, verdict in verdicts.items() if verdict.outcome in DESCRIBED)
    best = verdicts[describing[0]] if describing else next(iter(verdicts.values()))
    others = [verdict.evidence for verdict in verdicts.values() if verdict is not best]
    evidence = (*best.evidence, *chain.from_iterable(others))
    return replace(best, evidence=evidence), describing
