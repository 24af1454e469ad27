"""Ordered rules: the condition over the facts under which a service has an outcome, and the passage that it rests on.

The first rule of a table whose condition holds decides. The tables are printed in ``docs/verdicts.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from crawler.model.observations import OutcomeT, ServiceVerdict

Facts = TypeVar("Facts")


#: A sentence, or several; None for one that can't be said.
Evidence: TypeAlias = str | Iterable[str | None] | None


def sentences(evidence: Evidence) -> Iterator[str]:
    """The sentences that *evidence* is."""
    several = [evidence] if evidence is None or isinstance(evidence, str) else evidence
    return filter(None, several)


def always(facts: Any) -> bool:
    """The condition that always holds."""
    return True


@dataclass(frozen=True, slots=True)
class VerdictRule(Generic[Facts, OutcomeT]):
    """One line of a table."""

    when: str
    """The condition in words; unique in its table."""
    holds: Callable[[Facts], bool]
    outcome: OutcomeT
    evidence: Callable[[Facts], Evidence]
    """The sentences that support the outcome."""
    parsed: Callable[[Facts], Mapping[str, Any]] = lambda facts: {}
    """The values that were read from the answer."""
    basis: str = ""
    """The passage of a specification on which it rests, where one says it."""


@dataclass(frozen=True, slots=True)
class RuleGroup(Generic[Facts, OutcomeT]):
    """Rules of a table under one condition."""

    when: str
    holds: Callable[[Facts], bool]
    rules: tuple[VerdictRule[Facts, OutcomeT], ...]


@dataclass(frozen=True, slots=True)
class RuleTable(Generic[Facts, OutcomeT]):
    """The rules about one matter, in their order; the last one of the last group always holds."""

    title: str
    groups: tuple[RuleGroup[Facts, OutcomeT], ...]

    @classmethod
    def of(cls, title: str, *rules: VerdictRule[Facts, OutcomeT]) -> RuleTable[Facts, OutcomeT]:
        """A table of rules under no further condition."""
        return cls(title, (RuleGroup("always", always, rules),))

    @property
    def rules(self) -> tuple[VerdictRule[Facts, OutcomeT], ...]:
        """All its rules."""
        return tuple(rule for group in self.groups for rule in group.rules)

    def first(self, facts: Facts) -> VerdictRule[Facts, OutcomeT]:
        """The first rule that holds."""
        for group in self.groups:
            if group.holds(facts):
                for rule in group.rules:
                    if rule.holds(facts):
                        return rule
        raise LookupError(f"no rule of {self.title} holds")  # the last one always does

    def judge(self, facts: Facts) -> ServiceVerdict[OutcomeT]:
        """The verdict of the first rule that holds."""
        rule = self.first(facts)
        evidence = tuple(dict.fromkeys(sentences(rule.evidence(facts))))
        return ServiceVerdict(rule.outcome, evidence, rule.parsed(facts))
