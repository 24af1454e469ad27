"""Judge the provider's promise about an object and its identifier, by its genuine answers.

A commitment is a rating by someone, since some day; ``Not Guaranteed`` is one too (draft-kunze-ark-38, 5.1.1).
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
    policy_link,
    template_in,
)
from crawler.answers.erc import ON_PURPOSE, missing_code, parse_dates
from crawler.answers.facts import AnswerFacts, AnswersByQuestion
from crawler.model.observations import ChainEnd, CommitmentOutcome, Question
from crawler.model.resolving import INFLECTIONS
from crawler.verdicts.rules import RuleGroup, RuleTable, VerdictRule, always

#: The inflections whose answers can show that there is no commitment; an answer to ``?`` can't (2023, 5.1.1).
_CONCLUSIVE = (Question.INFO, Question.DOUBLE)


@dataclass(frozen=True, eq=False)
class CommitmentFacts:
    """The facts of all answers to inflections about one object that concern a commitment.

    A promise for the whole does not hold for a part, and a promise for another ARK does not hold for this one: each
    needs its own commitment (2023, 2.5).
    """

    answers: AnswersByQuestion
    described_by: Collection[Question]
    """The inflections whose answers describe the object."""

    @cached_property
    def asked(self) -> tuple[Question, ...]:
        """The inflections that were requested."""
        return tuple(question for question in (*_CONCLUSIVE, Question.SINGLE) if question in self.answers)

    @cached_property
    def genuine(self) -> tuple[Question, ...]:
        """The inflections whose answer is a description, or a statement of commitment alone."""
        return tuple(one for one in self.asked if one in self.described_by or self.answers[one].states_alone)

    @cached_property
    def stating_inflection(self) -> Question | None:
        """The first genuine inflection whose answer states a commitment."""
        statements = ((question, self.answers[question].statement) for question in self.genuine)
        return next((question for question, stated in statements if stated is not None), None)

    @cached_property
    def statement(self) -> Mapping[str, str]:
        """The statement in the answer to `stating_inflection`, or an empty one."""
        return (self.stating_inflection and self.answers[self.stating_inflection].statement) or {}

    @property
    def asked_by(self) -> str:
        """The inflection whose answer contains the statement."""
        return INFLECTIONS[self.stating_inflection or Question.INFO]

    @cached_property
    def what(self) -> str:
        """The text of the statement."""
        return self.statement.get("what", "").strip().rstrip(":").strip()

    @property
    def template(self) -> str | None:
        """The guarantor or address of the commitment that is a placeholder of a template, or None."""
        # A real site at an example host may use its own name.
        return template_in(self.statement, self.answers[self.stating_inflection or Question.INFO].final_url)

    @cached_property
    def conclusive_inflections(self) -> tuple[Question, ...]:
        """The genuine inflections that can show that there is no commitment."""
        return tuple(question for question in self.genuine if question in _CONCLUSIVE)

    @cached_property
    def foreign(self) -> str | None:
        """The reason why the record, with its commitment or without one, is not about this ARK, or None."""
        question = self.stating_inflection or (self.conclusive_inflections[-1] if self.conclusive_inflections else None)
        if question is None:
            return None
        answer = self.answers[question]
        if answer.subject.names_other:
            other = answer.subject.names_other
            return f"the record, and any commitment in it, is about another ARK: {other}"
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
    by = f", by {who}" if who and not missing_code(who) else ""
    since = f", since {when}" if when and not missing_code(when) else ""
    return f"{facts.asked_by} states {level.value if level else 'a commitment'}{by}{since}: {facts.what}"


#: The rules for the provider's promise, by its genuine answers.
COMMITMENT_RULES: RuleTable[CommitmentFacts, CommitmentOutcome] = RuleTable(
    "The commitment",
    (
        RuleGroup(
            "answers that neither describe the object nor state a commitment",
            lambda facts: not facts.genuine,
            (
                VerdictRule(
                    "no inflection was requested",
                    lambda facts: not facts.asked,
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
                    lambda facts: facts.foreign is not None,
                    CommitmentOutcome.UNDETERMINED,
                    lambda facts: facts.foreign,
                    basis="2023, 2.5",
                ),
                VerdictRule(
                    "it declares by a code such as (:unap) that there is none",
                    lambda facts: missing_code(facts.what) in ON_PURPOSE,
                    CommitmentOutcome.STATED,
                    lambda facts: f"{facts.asked_by} declares that there is none: {facts.what}",
                    _as_given,
                    "2023, 5.1.1",
                ),
                VerdictRule(
                    "its guarantor or its place is the default of a template",
                    lambda facts: facts.template is not None,
                    CommitmentOutcome.PLACEHOLDER,
                    lambda facts: f"{facts.asked_by} returned the statement of a template: {facts.template!r}",
                    _as_given,
                ),
                VerdictRule(
                    "it names no level, but the guarantor and the address of the full statement",
                    lambda facts: not facts.what and has_address_and_guarantor(facts.statement),
                    CommitmentOutcome.STATED,
                    lambda facts: (
                        f"{facts.asked_by} names no level, but the address of the commitment: {facts.statement['where']}"
                    ),
                    _as_given,
                    "2023, 5.1.1",
                ),
                VerdictRule(
                    "it is empty, the default text of a template, a program or an empty form, or the report of a fault",
                    lambda facts: is_placeholder(facts.what),
                    CommitmentOutcome.PLACEHOLDER,
                    lambda facts: f"{facts.asked_by} returned a statement without content: {facts.what!r}",
                    _as_given,
                ),
                VerdictRule(
                    "it has few words, without one about permanence, and no address of the full statement",
                    lambda facts: is_uninformative(facts.what) and policy_link(facts.statement) is None,
                    CommitmentOutcome.UNDETERMINED,
                    lambda facts: f"{facts.asked_by} returned a statement that is too short to judge: {facts.what!r}",
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
                    lambda facts: all(facts.answers[one].record is None for one in facts.conclusive_inflections),
                    CommitmentOutcome.UNDETERMINED,
                    lambda facts: "the answer is a page, not a record, and no commitment could be read in it",
                ),
                VerdictRule(
                    "the record is about another ARK or about the whole of this part",
                    lambda facts: facts.foreign is not None,
                    CommitmentOutcome.UNDETERMINED,
                    lambda facts: facts.foreign,
                    basis="2023, 2.5",
                ),
                VerdictRule(
                    "the record is about the object",
                    always,
                    CommitmentOutcome.ABSENT,
                    lambda facts: (
                        f"the record at {' and '.join(INFLECTIONS[one] for one in facts.conclusive_inflections)}"
                        " contains no commitment"
                    ),
                    basis="2023, 5.1.1",
                ),
            ),
        ),
    ),
)


def about_policy(page: AnswerFacts) -> str:
    """Return the answer for the page with the full statement, in words."""
    is_answered = page.end is ChainEnd.ANSWERED
    words = f"answers {page.status}" if is_answered else f"gives no answer ({page.end.value})"
    return f"the full statement at {page.asked_url} {words}"
