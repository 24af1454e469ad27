"""Judge the provider's promise about an object and its identifier, by the answers that describe the object or state one.

A commitment is a rating such as ``Not Guaranteed`` by a guarantor, from some day on (draft-kunze-ark-38, 5.1.1).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from crawler.answers.claims import (
    has_address_and_guarantor,
    is_placeholder,
    is_uninformative,
    level_of,
    placeholder_in,
    policy_link,
)
from crawler.answers.erc import CODES_OF_NO_VALUE, missing_code, parse_dates
from crawler.answers.facts import AnswerFacts, AnswersByQuestion
from crawler.model.observations import ChainEnd, CommitmentOutcome, Question
from crawler.model.resolving import INFLECTIONS
from crawler.verdicts.rules import RuleGroup, RuleTable, VerdictRule, always

#: The inflections whose answers can show that there is no commitment; an answer to ``?`` can't (2023, 5.1.1).
_CONCLUSIVE = (Question.INFO, Question.DOUBLE)


@dataclass(frozen=True, eq=False)
class CommitmentFacts:
    """The facts of all answers to inflections about one object that concern a commitment.

    A promise for the whole does not hold for a part, and a promise for another ARK does not hold for this one. Each
    ARK needs its own commitment (2023, 2.5).
    """

    answers: AnswersByQuestion
    describing_inflections: Collection[Question]
    """The inflections whose answers describe the object."""

    @cached_property
    def requested_inflections(self) -> tuple[Question, ...]:
        """The inflections with an answer, the conclusive ones first."""
        return tuple(question for question in (*_CONCLUSIVE, Question.SINGLE) if question in self.answers)

    @cached_property
    def genuine_inflections(self) -> tuple[Question, ...]:
        """The requested inflections whose answer describes the object or states only a commitment."""
        return tuple(
            question
            for question in self.requested_inflections
            if question in self.describing_inflections or self.answers[question].is_only_statement
        )

    @cached_property
    def stating_inflection(self) -> Question | None:
        """The first of `genuine_inflections` whose answer states a commitment, or None."""
        statements = ((question, self.answers[question].statement) for question in self.genuine_inflections)
        return next((question for question, statement in statements if statement is not None), None)

    @cached_property
    def statement(self) -> Mapping[str, str]:
        """The statement in the answer to `stating_inflection`, or an empty one."""
        return (self.stating_inflection and self.answers[self.stating_inflection].statement) or {}

    @property
    def inflection(self) -> str:
        """The inflection whose answer states the commitment, such as ``?info``; ``?info`` if none does."""
        return INFLECTIONS[self.stating_inflection or Question.INFO]

    @cached_property
    def what(self) -> str:
        """The text of the statement, without colons at its end; empty without a statement."""
        return self.statement.get("what", "").strip().rstrip(":").strip()

    @property
    def template(self) -> str | None:
        """The guarantor or address of the commitment that is a placeholder of a template, or None."""
        # A real site at an example host may use its own name.
        return placeholder_in(self.statement, self.answers[self.stating_inflection or Question.INFO].final_url)

    @cached_property
    def conclusive_inflections(self) -> tuple[Question, ...]:
        """Those of `genuine_inflections` whose answers can show that there is no commitment.

        ``?`` can't, because it requests only brief metadata.
        """
        return tuple(question for question in self.genuine_inflections if question in _CONCLUSIVE)

    @cached_property
    def foreign_reason(self) -> str | None:
        """A sentence that the record is about another ARK, or about the whole and not this part; or None."""
        question = self.stating_inflection or (self.conclusive_inflections[-1] if self.conclusive_inflections else None)
        if question is None:
            return None
        answer = self.answers[question]
        if answer.subject.other_ark:
            other_ark = answer.subject.other_ark
            return f"the record, and any commitment in it, is about another ARK: {other_ark}"
        if answer.subject.names_base:
            return f"the commitment is for {answer.ark.base}, not for this part of it"
        return None


def _parse_statement(facts: CommitmentFacts) -> Mapping[str, Any]:
    level, dates = level_of(facts.what), parse_dates(facts.statement.get("when", ""))
    return {**facts.statement, **({"level": level.value} if level else {}), **({"since": dates} if dates else {})}


def _as_given(facts: CommitmentFacts) -> Mapping[str, Any]:
    return facts.statement


def _statement_evidence(facts: CommitmentFacts) -> str:
    who, when, level = facts.statement.get("who", ""), facts.statement.get("when", ""), level_of(facts.what)
    guarantor = f", by {who}" if who and not missing_code(who) else ""
    start = f", since {when}" if when and not missing_code(when) else ""
    return f"{facts.inflection} states {level.value if level else 'a commitment'}{guarantor}{start}: {facts.what}"


#: The rules for the provider's promise, by its genuine answers.
COMMITMENT_RULES: RuleTable[CommitmentFacts, CommitmentOutcome] = RuleTable(
    "The commitment",
    (
        RuleGroup(
            "answers that neither describe the object nor state a commitment",
            lambda facts: not facts.genuine_inflections,
            (
                VerdictRule(
                    "no inflection was requested",
                    lambda facts: not facts.requested_inflections,
                    CommitmentOutcome.NOT_ASKED,
                    lambda facts: (),
                ),
                VerdictRule(
                    "no answer describes the object or is a statement of commitment alone",
                    always,
                    CommitmentOutcome.UNDETERMINED,
                    lambda facts: "no answer describes the object, so no commitment could be read",
                ),
            ),
        ),
        RuleGroup(
            "statements of commitment",
            lambda facts: facts.stating_inflection is not None,
            (
                VerdictRule(
                    "it is in a record about another ARK or about the whole of this part",
                    lambda facts: facts.foreign_reason is not None,
                    CommitmentOutcome.UNDETERMINED,
                    lambda facts: facts.foreign_reason,
                    basis="2023, 2.5",
                ),
                VerdictRule(
                    "it declares by a code such as (:unap) that there is none",
                    lambda facts: missing_code(facts.what) in CODES_OF_NO_VALUE,
                    CommitmentOutcome.STATED,
                    lambda facts: f"{facts.inflection} declares that there is none: {facts.what}",
                    _as_given,
                    "2023, 5.1.1",
                ),
                VerdictRule(
                    "its guarantor or its place is the default of a template",
                    lambda facts: facts.template is not None,
                    CommitmentOutcome.PLACEHOLDER,
                    lambda facts: f"{facts.inflection} returned the statement of a template: {facts.template!r}",
                    _as_given,
                ),
                VerdictRule(
                    "it names no level, but the guarantor and the address of the full statement",
                    lambda facts: not facts.what and has_address_and_guarantor(facts.statement),
                    CommitmentOutcome.STATED,
                    lambda facts: (
                        f"{facts.inflection} names no level, but the address of the commitment: {facts.statement['where']}"
                    ),
                    _as_given,
                    "2023, 5.1.1",
                ),
                VerdictRule(
                    "it is empty, the default text of a template, a program or an empty form, or the report of a fault",
                    lambda facts: is_placeholder(facts.what),
                    CommitmentOutcome.PLACEHOLDER,
                    lambda facts: f"{facts.inflection} returned a statement without content: {facts.what!r}",
                    _as_given,
                ),
                VerdictRule(
                    "it has few words, without one about permanence, and no address of the full statement",
                    lambda facts: is_uninformative(facts.what) and policy_link(facts.statement) is None,
                    CommitmentOutcome.UNDETERMINED,
                    lambda facts: f"{facts.inflection} returned a statement that is too short to judge: {facts.what!r}",
                    _as_given,
                ),
                VerdictRule(
                    "it has other text",
                    always,
                    CommitmentOutcome.STATED,
                    _statement_evidence,
                    _parse_statement,
                    "2023, 5.1.1",
                ),
            ),
        ),
        RuleGroup(
            "descriptions without a commitment",
            always,
            (
                VerdictRule(
                    "only the answer to ? is a description",
                    lambda facts: not facts.conclusive_inflections,
                    CommitmentOutcome.UNDETERMINED,
                    lambda facts: "only the answer to ? could be read, and it can't show that there is no commitment",
                    basis="2023, 5.1.1",
                ),
                VerdictRule(
                    "only pages describe the object, no record",
                    lambda facts: all(
                        facts.answers[question].record is None for question in facts.conclusive_inflections
                    ),
                    CommitmentOutcome.UNDETERMINED,
                    lambda facts: "the answer is a page, not a record, and no commitment could be read in it",
                ),
                VerdictRule(
                    "the record is about another ARK or about the whole of this part",
                    lambda facts: facts.foreign_reason is not None,
                    CommitmentOutcome.UNDETERMINED,
                    lambda facts: facts.foreign_reason,
                    basis="2023, 2.5",
                ),
                VerdictRule(
                    "the record is about the object",
                    always,
                    CommitmentOutcome.ABSENT,
                    lambda facts: (
                        f"the record at {' and '.join(INFLECTIONS[question] for question in facts.conclusive_inflections)}"
                        " contains no commitment"
                    ),
                    basis="2023, 5.1.1",
                ),
            ),
        ),
    ),
)


def policy_evidence(page: AnswerFacts) -> str:
    """Return a sentence: the address of the full statement of commitment, and its status or the end of its chain."""
    is_answered = page.end is ChainEnd.ANSWERED
    result = f"answers {page.status}" if is_answered else f"gives no answer ({page.end.value})"
    return f"the full statement at {page.asked_url} {result}"
