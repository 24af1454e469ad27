"""Judge the provider's promise about an object and its identifier, by its genuine answers.

A commitment is a rating by someone, since some day; ``Not Guaranteed`` is one too (draft-kunze-ark-38, 5.1.1).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from crawler.answers.claims import (
    Level,
    has_address_and_guarantor,
    is_placeholder,
    is_uninformative,
    level_of,
    policy_link,
    template_in,
)
from crawler.answers.erc import ON_PURPOSE, missing_code, parse_dates
from crawler.answers.facts import AnswerFacts, AnswersByQuestion
from crawler.model.observations import DESCRIBED, ChainEnd, CommitmentOutcome, MetadataOutcome, Question, ServiceVerdict
from crawler.model.resolving import INFLECTIONS
from crawler.verdicts.rules import RuleTable, VerdictRule, always

#: The inflections whose answers can show that there is no commitment; an answer to ``?`` can't (2023, 5.1.1).
_CONCLUSIVE = (Question.INFO, Question.DOUBLE)


@dataclass(frozen=True, eq=False)
class StatementFacts:
    """The facts of a statement of commitment, whoever states it."""

    statement: Mapping[str, str]
    asked: str = ""
    """The inflection whose answer contains it."""
    at: str = ""
    """The URL of the answer: a real site at an example host may use its own name."""

    @cached_property
    def what(self) -> str:
        """The text of the statement."""
        return self.statement.get("what", "").strip().rstrip(":").strip()

    @cached_property
    def template(self) -> str | None:
        """The guarantor or address of the commitment that is a placeholder of a template, or None."""
        return template_in(self.statement, self.at)

    @property
    def is_placeholder(self) -> bool:
        """True if it is empty, or the default text of a template, a program or an empty form."""
        return missing_code(self.what) is not None or is_placeholder(self.what)

    @property
    def level(self) -> Level | None:
        """The level of permanence that it names, or None."""
        return level_of(self.what)


@dataclass(frozen=True, eq=False)
class CommitmentFacts:
    """The facts of all answers to inflections about one object that concern a commitment.

    A promise for the whole does not hold for a part, and a promise for another ARK does not hold for this one: each
    needs its own commitment (2023, 2.5).
    """

    answers: AnswersByQuestion
    metadata: ServiceVerdict[MetadataOutcome]
    """The verdict on the best of the answers."""
    described_by: Collection[Question] | None = None
    """The questions whose answers describe the object, if this is known for each."""

    @cached_property
    def asked(self) -> tuple[Question, ...]:
        """The inflections that were requested."""
        return tuple(question for question in (*_CONCLUSIVE, Question.SINGLE) if question in self.answers)

    @cached_property
    def genuine(self) -> tuple[Question, ...]:
        """The inflections whose answer is a description, or a statement of commitment alone."""
        return tuple(filter(self._is_genuine, self.asked))

    def _is_genuine(self, question: Question) -> bool:
        answer, outcome = self.answers[question], self.metadata.outcome
        if answer.states_alone:
            return True
        if self.described_by is not None and question not in self.described_by:
            return False
        is_page = outcome is MetadataOutcome.HTML and bool(answer.text)
        is_success = answer.is_success and not answer.is_registry_entry
        return outcome in DESCRIBED and is_success and (answer.record is not None or is_page)

    @cached_property
    def stating_inflection(self) -> Question | None:
        """The first genuine inflection whose answer states a commitment."""
        statements = ((question, self.answers[question].statement) for question in self.genuine)
        return next((question for question, stated in statements if stated is not None), None)

    @cached_property
    def statement(self) -> StatementFacts:
        """The facts of the statement in the answer to `stating_inflection`; without one, to ?info."""
        answer = self.answers[self.stating_inflection or Question.INFO]
        return StatementFacts(answer.statement or {}, INFLECTIONS[answer.question], at=answer.final_url)

    @cached_property
    def statement_rule(self) -> VerdictRule[StatementFacts, CommitmentOutcome]:
        """The rule that decides the outcome of the statement."""
        return STATEMENT_RULES.first(self.statement)

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


def _parse_statement(facts: StatementFacts) -> Mapping[str, Any]:
    level = {"level": facts.level.value} if facts.level else {}
    dates = parse_dates(facts.statement.get("when", ""))
    since = {"since": dates} if dates else {}
    return {**facts.statement, **level, **since}


def _as_given(facts: StatementFacts) -> Mapping[str, Any]:
    return dict(facts.statement)


def _statement_evidence(facts: StatementFacts) -> str:
    who, when = facts.statement.get("who", ""), facts.statement.get("when", "")
    by = f", by {who}" if who and not missing_code(who) else ""
    since = f", since {when}" if when and not missing_code(when) else ""
    return f"{facts.asked} states {facts.level.value if facts.level else 'a commitment'}{by}{since}: {facts.what}"


STATEMENT_RULES: RuleTable[StatementFacts, CommitmentOutcome] = RuleTable.from_rules(
    "A statement of commitment",
    VerdictRule(
        "it declares by a code such as (:unap) that there is none",
        lambda facts: missing_code(facts.what) in ON_PURPOSE,
        CommitmentOutcome.STATED,
        lambda facts: f"{facts.asked} declares that there is none: {facts.what}",
        _as_given,
        "2023, 5.1.1",
    ),
    VerdictRule(
        "its guarantor or its place is the default of a template",
        lambda facts: facts.template is not None,
        CommitmentOutcome.PLACEHOLDER,
        lambda facts: f"{facts.asked} returned the statement of a template: {facts.template!r}",
        _as_given,
    ),
    VerdictRule(
        "it names no level, but the guarantor and the address of the full statement",
        lambda facts: not facts.what and has_address_and_guarantor(facts.statement),
        CommitmentOutcome.STATED,
        lambda facts: f"{facts.asked} names no level, but the address of the commitment: {facts.statement['where']}",
        _as_given,
        "2023, 5.1.1",
    ),
    VerdictRule(
        "it is empty, or the default text of a template, a program or an empty form",
        lambda facts: facts.is_placeholder,
        CommitmentOutcome.PLACEHOLDER,
        lambda facts: f"{facts.asked} returned a statement without content: {facts.what!r}",
        _as_given,
    ),
    VerdictRule(
        "it has few words, without one about permanence, and no address of the full statement",
        lambda facts: is_uninformative(facts.what) and policy_link(facts.statement) is None,
        CommitmentOutcome.UNDETERMINED,
        lambda facts: f"{facts.asked} returned a statement that is too short to judge: {facts.what!r}",
        _as_given,
    ),
    VerdictRule(
        "it has other text", always, CommitmentOutcome.STATED, _statement_evidence, _parse_statement, "2023, 5.1.1"
    ),
)


def _of_statement(
    rule: VerdictRule[StatementFacts, CommitmentOutcome],
) -> VerdictRule[CommitmentFacts, CommitmentOutcome]:
    """Return the rule for an object with a statement of commitment, by the *rule* for that statement."""
    return VerdictRule(
        f"a commitment is stated: {rule.when}",
        lambda facts: facts.stating_inflection is not None and facts.statement_rule is rule,
        rule.outcome,
        lambda facts: rule.evidence(facts.statement),
        lambda facts: rule.parsed(facts.statement),
        rule.basis,
    )


#: The rules for the provider's promise, by its genuine answers.
COMMITMENT_RULES: RuleTable[CommitmentFacts, CommitmentOutcome] = RuleTable.from_rules(
    "The commitment",
    VerdictRule(
        "no inflection was requested", lambda facts: not facts.asked, CommitmentOutcome.NOT_ASKED, lambda facts: ()
    ),
    VerdictRule(
        "no answer describes the object or is a statement of commitment alone",
        lambda facts: not facts.genuine,
        CommitmentOutcome.UNDETERMINED,
        lambda facts: "no answer describes the object, so no commitment could be read",
    ),
    VerdictRule(
        "a commitment is stated, but in a record about another ARK or about the whole of this part",
        lambda facts: facts.stating_inflection is not None and facts.foreign is not None,
        CommitmentOutcome.UNDETERMINED,
        lambda facts: facts.foreign,
        basis="2023, 2.5",
    ),
    *map(_of_statement, STATEMENT_RULES.rules),
    VerdictRule(
        "no commitment is stated, and only the answer to ? is a description",
        lambda facts: not facts.conclusive_inflections,
        CommitmentOutcome.UNDETERMINED,
        lambda facts: "only the answer to ? could be read, and it can't show that there is no commitment",
        basis="2023, 5.1.1",
    ),
    VerdictRule(
        "no commitment is stated, and only pages describe the object, no record",
        lambda facts: all(facts.answers[question].record is None for question in facts.conclusive_inflections),
        CommitmentOutcome.UNDETERMINED,
        lambda facts: "the answer is a page, not a record, and no commitment could be read in it",
    ),
    VerdictRule(
        "no commitment is stated, in a record about another ARK or about the whole of this part",
        lambda facts: facts.foreign is not None,
        CommitmentOutcome.UNDETERMINED,
        lambda facts: facts.foreign,
        basis="2023, 2.5",
    ),
    VerdictRule(
        "no commitment is stated in a record about the object",
        always,
        CommitmentOutcome.ABSENT,
        lambda facts: (
            f"the record at {' and '.join(INFLECTIONS[question] for question in facts.conclusive_inflections)}"
            " contains no commitment"
        ),
        basis="2023, 5.1.1",
    ),
)


def about_policy(page: AnswerFacts) -> str:
    """Return the answer for the page with the full statement, in words."""
    is_answered = page.end is ChainEnd.ANSWERED
    words = f"answers {page.status}" if is_answered else f"gives no answer ({page.end.value})"
    return f"the full statement at {page.asked_url} {words}"
