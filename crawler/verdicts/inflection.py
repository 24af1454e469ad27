"""Judge whether an answer to an inflection is metadata, the object again, a registry record, or a refusal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from crawler.answers.answer import is_textual
from crawler.answers.erc import parse_dates
from crawler.answers.facts import AnswerFacts, AnswersByQuestion
from crawler.answers.metadata_facts import MetadataFacts, redirect_target
from crawler.answers.object_facts import equal_control
from crawler.model.observations import (
    ACCESS,
    DESCRIBED,
    ChainEnd,
    MetadataOutcome,
    ObjectOutcome,
    Observation,
    Question,
    ServiceVerdict,
)
from crawler.model.resolving import INFLECTED, REFUSING_STATUSES, statuses_in_words
from crawler.verdicts.rules import RuleGroup, RuleTable, VerdictRule, always

#: Errors that refuse the inflection itself. 502, 503 and 504 are left out, because they are temporary.
_REFUSALS_OF_THE_QUESTION = frozenset({400, 404, 405, 406, 410, 414, 422, 500, 501})


# -- in words


def _status_evidence(facts: MetadataFacts) -> str:
    return f"{facts.inflection} was answered {facts.answer.status}"


def _namespace_note(facts: MetadataFacts) -> str:
    namespace = facts.answer.subject.namespace
    return f" ({namespace})" if namespace else ""


def _loss_evidence(facts: MetadataFacts) -> str:
    return f"{facts.inflection} was lost in the redirect from {facts.dropped_at}"


def _equal_control_evidence(facts: MetadataFacts) -> str:
    kind = "page" if facts.answer.record is None else "record"
    url = facts.control.asked_url if facts.control else ""
    return f"{facts.inflection} returned a {kind}, but a name that can't exist gets the same one ({url})"


def _too_little_evidence(facts: MetadataFacts) -> str:
    problem = "has too few elements for a description: " + ", ".join(facts.answered_questions)
    if not facts.informative_questions:
        problem = "has no who, what or when"
    return f"{facts.inflection} returned {_media_type(facts.answer)} that {problem}"


def _title_fault_evidence(facts: MetadataFacts) -> str:
    return (
        f"{facts.inflection} returned {_media_type(facts.answer)} with the title of an error: {facts.fault_in_title!r}"
    )


def _evidence_of_another(facts: MetadataFacts) -> Iterator[str]:
    """Yield sentences why an answer is not about the object."""
    yield f"{facts.inflection} returned {_media_type(facts.answer)} that is not about the object"
    if facts.answer.subject.other_ark:
        yield f"the record names another ARK: {facts.answer.subject.other_ark}"
        return
    if "where" in facts.answers:
        yield f"the record's where is {facts.answers['where']!r}"
    if facts.is_of_site:
        yield "this is the home page of a site"
    else:
        yield "the object's page contains no word of its what"


def _record_evidence(facts: MetadataFacts) -> Iterator[str]:
    yield f"{facts.inflection} returned {_media_type(facts.answer)} with {', '.join(facts.answered_questions)}"
    yield _subject_evidence(facts)
    if facts.unanswered_questions:
        yield f"it has no {', '.join(facts.unanswered_questions)}"


def _subject_evidence(facts: MetadataFacts) -> str:
    """Return a sentence: the ARK that the record is about, by its own words.

    A record without an ARK is accepted (draft-kunze-ark-38, 5.2).
    """
    subject = facts.answer.subject
    if subject.named_in:
        return f"the record names this ARK, by {subject.named_in}"
    if subject.other_ark:
        return f"the record names another ARK: {subject.other_ark}"
    if subject.names_base:
        return "the record names the ARK of the whole, not of this part"
    if facts.has_objects_title:
        return "the record has the title of the object's page"
    return "the record does not say which ARK it is about"


def _parse_answers(facts: MetadataFacts, parsed: Mapping[str, Any]) -> Mapping[str, Any]:
    dates = parse_dates(facts.answers.get("when", ""))
    return {**parsed, "dates": dates} if dates else parsed


def _media_type(answer: Observation) -> str:
    return answer.media_type or "an untyped body"


def _unread_evidence(facts: MetadataFacts) -> str:
    answer = facts.answer
    problem = "which was not read to the end" if answer.body_bytes else "whose body could not be read"
    if not is_textual(answer.media_type):
        problem = "which is not text"
    return f"{facts.inflection} returned {_media_type(answer)}, {problem}"


# -- the rules

#: The rules for the answer to ``?info``, ``??`` or ``?`` (draft-kunze-ark-38, 5.1.2).
METADATA_RULES: RuleTable[MetadataFacts, MetadataOutcome] = RuleTable(
    "The metadata",
    (
        RuleGroup(
            "chains without a last answer",
            lambda facts: not facts.answer.is_answered,
            (
                VerdictRule(
                    "robots.txt forbids the request",
                    lambda facts: facts.answer.end is ChainEnd.ROBOTS,
                    MetadataOutcome.BLOCKED,
                    lambda facts: f"robots.txt forbids {facts.inflection}",
                ),
                VerdictRule(
                    "it redirects out of the web, to the object's own address",
                    lambda facts: facts.leads_to_objects_address,
                    MetadataOutcome.QUERY_IGNORED,
                    lambda facts: (
                        f"{facts.inflection} redirects to the object's own address: {redirect_target(facts.answer)}"
                    ),
                ),
                VerdictRule(
                    "it has any other end",
                    always,
                    MetadataOutcome.UNDETERMINED,
                    lambda facts: f"{facts.inflection}: no answer ({facts.answer.detail or facts.answer.end.value})",
                ),
            ),
        ),
        RuleGroup(
            "all other answers",
            always,
            (
                VerdictRule(
                    "the answer is a robot check",
                    lambda facts: facts.answer.challenge is not None,
                    MetadataOutcome.BLOCKED,
                    lambda facts: f"{facts.inflection} got a robot check: {facts.answer.challenge}",
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
                    lambda facts: f"{_status_evidence(facts)}, but THUMP-Status {facts.answer.thump_fault}",
                    basis="2023, 5.2",
                ),
                VerdictRule(
                    "it is an error record",
                    lambda facts: facts.answer.is_error_record,
                    MetadataOutcome.UNSUPPORTED,
                    lambda facts: f"{_status_evidence(facts)}, but with an error record",
                ),
                VerdictRule(
                    "it is a log-in page",
                    lambda facts: facts.answer.asks_to_log_in,
                    MetadataOutcome.BLOCKED,
                    lambda facts: f"{facts.inflection} got a log-in page",
                ),
                VerdictRule(
                    "the control without an inflection, requested again, gets this page and did not before",
                    lambda facts: equal_control(facts.answer, facts.changed_controls) is not None,
                    MetadataOutcome.BLOCKED,
                    lambda facts: (
                        f"{facts.inflection} returned a page that a name that can't exist got too, when requested again"
                    ),
                ),
                VerdictRule(
                    "the page reports a temporary fault",
                    lambda facts: facts.answer.temporary_fault is not None,
                    MetadataOutcome.UNDETERMINED,
                    lambda facts: (
                        f"{facts.inflection} returned a page that reports a temporary fault: {facts.answer.temporary_fault!r}"
                    ),
                ),
            ),
        ),
        RuleGroup(
            "all other statuses",
            lambda facts: not facts.answer.is_success,
            (
                VerdictRule(
                    f"the last status is {statuses_in_words(REFUSING_STATUSES)}",
                    lambda facts: facts.answer.status in REFUSING_STATUSES,
                    MetadataOutcome.BLOCKED,
                    _status_evidence,
                ),
                VerdictRule(
                    f"the last status is {statuses_in_words(_REFUSALS_OF_THE_QUESTION)}, "
                    "while the object itself is reached",
                    lambda facts: facts.object.is_reached and facts.answer.status in _REFUSALS_OF_THE_QUESTION,
                    MetadataOutcome.UNSUPPORTED,
                    lambda facts: f"{_status_evidence(facts)}, while the object itself is reached",
                ),
                VerdictRule("the last status is any other", always, MetadataOutcome.UNDETERMINED, _status_evidence),
            ),
        ),
        RuleGroup(
            "other successes",
            always,
            (
                VerdictRule(
                    "the record is about the NAAN or shoulder",
                    lambda facts: facts.answer.is_registry_entry or facts.answer.subject.namespace is not None,
                    MetadataOutcome.REGISTRY_LEVEL,
                    lambda facts: (
                        f"{facts.inflection} returned a record about the NAAN or shoulder{_namespace_note(facts)}, not the object"
                    ),
                ),
                VerdictRule(
                    "the object is `blocked`, and the answer is the same page",
                    lambda facts: facts.outcome is ObjectOutcome.BLOCKED and facts.is_objects_again,
                    MetadataOutcome.BLOCKED,
                    lambda facts: f"{facts.inflection} returned the page again that keeps arkaudit from the object",
                ),
                VerdictRule(
                    "the answer is the same as without the inflection, which a redirect dropped",
                    lambda facts: facts.is_objects_again and facts.dropped_at is not None,
                    MetadataOutcome.QUERY_DROPPED,
                    _loss_evidence,
                ),
                VerdictRule(
                    "the answer is the same as without the inflection, whatever that is",
                    lambda facts: facts.is_objects_again,
                    MetadataOutcome.QUERY_IGNORED,
                    lambda facts: f"{facts.inflection} returned the object again",
                ),
                VerdictRule(
                    "the control with an inflection gets the same",
                    lambda facts: facts.equals_control,
                    MetadataOutcome.ANSWERS_ANYTHING,
                    _equal_control_evidence,
                ),
                VerdictRule(
                    "too little of this answer or of the object's arrived to compare them",
                    lambda facts: facts.may_be_objects_again,
                    MetadataOutcome.UNDETERMINED,
                    lambda facts: (
                        f"{facts.inflection} may have returned the object again: too little arrived to compare the answers"
                    ),
                ),
                VerdictRule(
                    "the control with an inflection gets a success too, but too little of it arrived to compare them",
                    lambda facts: facts.may_equal_control,
                    MetadataOutcome.UNDETERMINED,
                    lambda facts: (
                        f"too little of the answer to {facts.inflection} for a name that can't exist arrived to compare them"
                    ),
                ),
            ),
        ),
        RuleGroup(
            "records",
            lambda facts: facts.answer.record is not None,
            (
                VerdictRule(
                    "the record's title only reports that there is no description",
                    lambda facts: facts.fault_in_title is not None,
                    MetadataOutcome.UNDETERMINED,
                    _title_fault_evidence,
                ),
                VerdictRule(
                    "the record has too few elements: no who or what, only unknown values, or one element in a record without an "
                    "ARK that is not an ERC",
                    lambda facts: not facts.is_record_of_object,
                    MetadataOutcome.UNDETERMINED,
                    _too_little_evidence,
                ),
                VerdictRule(
                    "the record names another ARK, or its address and words differ from the object's",
                    lambda facts: facts.is_about_another,
                    MetadataOutcome.UNDETERMINED,
                    _evidence_of_another,
                    lambda facts: {"about": facts.answer.subject.other_ark} if facts.answer.subject.other_ark else {},
                    "2023, 2.5",
                ),
                VerdictRule(
                    "the record does not say which ARK it is about, and another object has it",
                    lambda facts: facts.is_repeated,
                    MetadataOutcome.UNDETERMINED,
                    lambda facts: (
                        f"{facts.inflection} returned {_media_type(facts.answer)} that does not say which ARK it is about; "
                        f"the host sends the same for other objects ({facts.copy_count})"
                    ),
                ),
                VerdictRule(
                    "the record is an ERC",
                    lambda facts: facts.is_erc,
                    MetadataOutcome.ERC,
                    _record_evidence,
                    lambda facts: _parse_answers(facts, facts.answers),
                    "2023, 5.1.2",
                ),
                VerdictRule(
                    "the record has another form: JSON, YAML, RDF, or elements embedded in a page",
                    always,
                    MetadataOutcome.STRUCTURED,
                    _record_evidence,
                    lambda facts: _parse_answers(facts, {**facts.structured_elements, **facts.answers}),
                    "2023, 5.1.2",
                ),
            ),
        ),
        RuleGroup(
            "pages, and bodies that are not text",
            always,
            (
                VerdictRule(
                    "the body is not text, or could not be read",
                    lambda facts: facts.answer.text is None,
                    MetadataOutcome.UNDETERMINED,
                    _unread_evidence,
                ),
                VerdictRule(
                    "the page has the object's title, and no more elements than the object's page",
                    lambda facts: facts.adds_nothing_to_object,
                    MetadataOutcome.QUERY_IGNORED,
                    lambda facts: f"{facts.inflection} returned a page with the same elements as the object's own page",
                ),
                VerdictRule(
                    "the labelled title of the page only reports that there is no description",
                    lambda facts: facts.fault_in_title is not None,
                    MetadataOutcome.UNDETERMINED,
                    _title_fault_evidence,
                ),
                VerdictRule(
                    "the page names this ARK, and labels three of who, what, when and where",
                    lambda facts: facts.is_page_of_object,
                    MetadataOutcome.HTML,
                    lambda facts: (
                        f"{facts.inflection} returned a page that labels {', '.join(sorted(facts.answer.labelled_questions))}"
                    ),
                    lambda facts: facts.labelled_answers,
                    "2023, 5.1.2",
                ),
                VerdictRule(
                    "a redirect dropped the inflection",
                    lambda facts: facts.dropped_at is not None,
                    MetadataOutcome.QUERY_DROPPED,
                    _loss_evidence,
                ),
                VerdictRule(
                    "the page is not the object's page, and describes nothing",
                    always,
                    MetadataOutcome.UNDETERMINED,
                    lambda facts: (
                        f"{facts.inflection} returned another page than the object, but no description could be read"
                    ),
                ),
            ),
        ),
    ),
)


def judge_inflections(
    answers: AnswersByQuestion,
    object_answer: AnswerFacts,
    control: AnswerFacts | None,
    changed_controls: Sequence[AnswerFacts] = (),
    *,
    outcome: ObjectOutcome = ObjectOutcome.RESOLVED,
    copies: Mapping[str, int] | None = None,
) -> tuple[ServiceVerdict[MetadataOutcome] | None, tuple[Question, ...]]:
    """Return the verdict on the inflections, and those inflections whose answers describe the object.

    The verdict is that on the first describing answer, or else on the first answer, with the evidence of all. It is None
    if no inflection was requested. *control* is the answer for an inflected name that can't exist, and
    *changed_controls* are answers to a repeated control that differ from its first. *object_answer* and *outcome* are the
    object's. An answer is compared with that at its own URL without the inflection, if any. *copies* are the numbers of
    other objects with the same answer, by page digest.
    """
    by_url = {answers[way].asked_url: answers[way] for way in ACCESS[::-1] if way in answers}
    verdicts = {}
    for question in INFLECTED:
        if question in answers:
            answer = answers[question]
            answer_at_base = by_url.get(answer.asked_url.partition("?")[0], object_answer)
            copy_count = (copies or {}).get(answer.page_digest or "", 0)
            verdicts[question] = METADATA_RULES.judge(
                MetadataFacts(answer, answer_at_base, control, changed_controls, outcome, copy_count)
            )
    if not verdicts:
        return None, ()
    describing_inflections = tuple(question for question, verdict in verdicts.items() if verdict.outcome in DESCRIBED)
    best_verdict = verdicts[describing_inflections[0]] if describing_inflections else next(iter(verdicts.values()))
    further_evidence = [verdict.evidence for verdict in verdicts.values() if verdict is not best_verdict]
    evidence = (*best_verdict.evidence, *chain.from_iterable(further_evidence))
    return replace(best_verdict, evidence=evidence), describing_inflections
