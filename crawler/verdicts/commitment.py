"""Pure: judge what a provider promises about an object and its identifier, as its genuine answers state it.

A commitment is a rating by someone, since some day; ``Not Guaranteed`` is one too (draft-kunze-ark-38, 5.1.1).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from crawler.answers.claims import (
    Level,
    is_placeholder,
    level_of,
    points_somewhere,
    policy_link,
    tells_too_little,
    template_in,
)
from crawler.answers.erc import ON_PURPOSE, missing_code, parse_dates
from crawler.answers.facts import AnswerFacts, AnswersByQuestion
from crawler.model.observations import DESCRIBED, ChainEnd, CommitmentOutcome, MetadataOutcome, Question, ServiceVerdict
from crawler.model.resolving import INFLECTIONS
from crawler.verdicts.rules import RuleTable, VerdictRule, always

#: The inflections whose answers can show that there is no commitment: an answer to ``?`` can't (2023, 5.1.1).
_SHOWING = (Question.INFO, Question.DOUBLE)


@dataclass(frozen=True, eq=False)
class StatementFacts:
    """The facts of a statement of commitment, no matter who states it."""

    statement: Mapping[str, str]
    asked: str = ""
    """The inflection whose answer has it."""
    at: str = ""
    """The URL that gave it: who lives at an example host may say so."""

    @cached_property
    def what(self) -> str:
        """Return what is stated."""
        return self.statement.get("what", "").strip().rstrip(":").strip()

    @cached_property
    def template(self) -> str | None:
        """The guarantor, or the place, that only a template names."""
        return template_in(self.statement, self.at)

    @property
    def is_placeholder(self) -> bool:
        """True if nothing is stated, or what a template, a program or an empty form leaves."""
        return missing_code(self.what) is not None or is_placeholder(self.what)

    @property
    def level(self) -> Level | None:
        """The level of permanence that it names."""
        return level_of(self.what)


@dataclass(frozen=True, eq=False)
class CommitmentFacts:
    """The facts of all answers to inflections about one object, as far as they bear on a commitment.

    What is promised for the whole is not shown for a part, and what is promised for another ARK not for this one:
    separate commitments are owed (2023, 2.5).
    """

    answers: AnswersByQuestion
    metadata: ServiceVerdict[MetadataOutcome]
    """The verdict on the best of them."""
    described_by: Collection[Question] | None = None
    """The questions whose answers describe the object, where that is known of each."""

    @cached_property
    def asked(self) -> tuple[Question, ...]:
        """The inflections that were asked."""
        return tuple(question for question in (*_SHOWING, Question.SINGLE) if question in self.answers)

    @cached_property
    def genuine(self) -> tuple[Question, ...]:
        """Those that were answered with a description, or with a statement of commitment alone."""
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
    def stating(self) -> Question | None:
        """The first of them whose answer states a commitment."""
        statements = ((question, self.answers[question].statement) for question in self.genuine)
        return next((question for question, stated in statements if stated is not None), None)

    @cached_property
    def statement(self) -> StatementFacts:
        """Return what it states."""
        answer = self.answers[self.stating or Question.INFO]
        return StatementFacts(answer.statement or {}, INFLECTIONS[answer.seen.question], at=answer.final_url)

    @cached_property
    def statement_rule(self) -> VerdictRule[StatementFacts, CommitmentOutcome]:
        """The rule that decides what that amounts to."""
        return STATEMENT_RULES.first(self.statement)

    @cached_property
    def showing(self) -> tuple[Question, ...]:
        """The genuine ones that can show that there is no commitment."""
        return tuple(question for question in self.genuine if question in _SHOWING)

    @cached_property
    def foreign(self) -> str | None:
        """Return why what is stated or left out is not this ARK's own, if the record says whose it is."""
        question = self.stating or (self.showing[-1] if self.showing else None)
        if question is None:
            return None
        answer = self.answers[question]
        if answer.subject.names_other:
            other = answer.subject.names_other
            return f"the record is about another ARK, and so is what it states or leaves out: {other}"
        if answer.subject.names_base:
            return f"what is stated is stated for {answer.ark.base}, not for this part of it"
        return None


def _read(facts: StatementFacts) -> Mapping[str, Any]:
    level = {"level": facts.level.value} if facts.level else {}
    dates = parse_dates(facts.statement.get("when", ""))
    since = {"since": dates} if dates else {}
    return {**facts.statement, **level, **since}


def _as_given(facts: StatementFacts) -> Mapping[str, Any]:
    return dict(facts.statement)


def _stated(facts: StatementFacts) -> str:
    who, when = facts.statement.get("who", ""), facts.statement.get("when", "")
    by = f", by {who}" if who and not missing_code(who) else ""
    since = f", since {when}" if when and not missing_code(when) else ""
    return f"{facts.asked} states {facts.level.value if facts.level else 'a commitment'}{by}{since}: {facts.what}"


STATEMENT_RULES: RuleTable[StatementFacts, CommitmentOutcome] = RuleTable.of(
    "A statement of commitment",
    VerdictRule(
        "it says on purpose that there is none, by a code such as (:unap)",
        lambda facts: missing_code(facts.what) in ON_PURPOSE,
        CommitmentOutcome.STATED,
        lambda facts: f"{facts.asked} states on purpose that there is none: {facts.what}",
        _as_given,
        "2023, 5.1.1",
    ),
    VerdictRule(
        "its guarantor or its place is one that only a template names",
        lambda facts: facts.template is not None,
        CommitmentOutcome.PLACEHOLDER,
        lambda facts: f"{facts.asked} gave a statement as a template has it: {facts.template!r}",
        _as_given,
    ),
    VerdictRule(
        "it names no level, but whose commitment it is and where that is stated",
        lambda facts: not facts.what and points_somewhere(facts.statement),
        CommitmentOutcome.STATED,
        lambda facts: f"{facts.asked} names no level, but where the commitment is stated: {facts.statement['where']}",
        _as_given,
        "2023, 5.1.1",
    ),
    VerdictRule(
        "it is empty, or what a template, a program or an empty form leaves",
        lambda facts: facts.is_placeholder,
        CommitmentOutcome.PLACEHOLDER,
        lambda facts: f"{facts.asked} gave a statement that says nothing: {facts.what!r}",
        _as_given,
    ),
    VerdictRule(
        "it is of a few words, none of which speaks of permanence, and names no place where it stands",
        lambda facts: tells_too_little(facts.what) and policy_link(facts.statement) is None,
        CommitmentOutcome.UNDETERMINED,
        lambda facts: f"{facts.asked} gave a statement that tells too little: {facts.what!r}",
        _as_given,
    ),
    VerdictRule("it says something", always, CommitmentOutcome.STATED, _stated, _read, "2023, 5.1.1"),
)


def _of_statement(
    rule: VerdictRule[StatementFacts, CommitmentOutcome],
) -> VerdictRule[CommitmentFacts, CommitmentOutcome]:
    """The rule about an object whose commitment is stated, by the *rule* about its statement."""
    return VerdictRule(
        f"a commitment is stated: {rule.when}",
        lambda facts: facts.stating is not None and facts.statement_rule is rule,
        rule.outcome,
        lambda facts: rule.evidence(facts.statement),
        lambda facts: rule.parsed(facts.statement),
        rule.basis,
    )


#: What the provider promises, as its genuine answers state it.
COMMITMENT_RULES: RuleTable[CommitmentFacts, CommitmentOutcome] = RuleTable.of(
    "The commitment",
    VerdictRule(
        "no inflection was asked", lambda facts: not facts.asked, CommitmentOutcome.NOT_ASKED, lambda facts: ()
    ),
    VerdictRule(
        "no answer describes the object, and none is a statement of commitment alone",
        lambda facts: not facts.genuine,
        CommitmentOutcome.UNDETERMINED,
        lambda facts: "no genuine metadata answer, so nothing could be read",
    ),
    VerdictRule(
        "a commitment is stated, in a record about another ARK or about the whole of this part",
        lambda facts: facts.stating is not None and facts.foreign is not None,
        CommitmentOutcome.UNDETERMINED,
        lambda facts: facts.foreign,
        basis="2023, 2.5",
    ),
    *map(_of_statement, STATEMENT_RULES.rules),
    VerdictRule(
        "none is stated, and only ? was answered with a description",
        lambda facts: not facts.showing,
        CommitmentOutcome.UNDETERMINED,
        lambda facts: "only an answer to ? could be read, which can't show that there is no commitment",
        basis="2023, 5.1.1",
    ),
    VerdictRule(
        "none is stated, and pages describe the object, no record",
        lambda facts: all(facts.answers[question].record is None for question in facts.showing),
        CommitmentOutcome.UNDETERMINED,
        lambda facts: "a page was answered, not a record, and no commitment could be read in it",
    ),
    VerdictRule(
        "none is stated, in a record about another ARK or about the whole of this part",
        lambda facts: facts.foreign is not None,
        CommitmentOutcome.UNDETERMINED,
        lambda facts: facts.foreign,
        basis="2023, 2.5",
    ),
    VerdictRule(
        "none is stated in a record about the object",
        always,
        CommitmentOutcome.ABSENT,
        lambda facts: (
            f"the record behind {' and '.join(INFLECTIONS[question] for question in facts.showing)}"
            " says nothing of a commitment"
        ),
        basis="2023, 5.1.1",
    ),
)


def about_policy(page: AnswerFacts) -> str:
    """The answer of a policy's own page, in words."""
    observation = page.seen
    words = (
        f"answered {observation.status}"
        if observation.end is ChainEnd.ANSWERED
        else f"gave no answer ({observation.end.value})"
    )
    return f"the fuller statement at {observation.asked_url} {words}"
