"""Ordered rules: the condition over the facts, the outcome of a service, and the passage of a specification.

The first rule of a table whose condition holds decides. The tables are printed in ``docs/verdicts.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from crawler.model.observations import OutcomeT, ServiceVerdict

Facts = TypeVar("Facts")


#: One sentence or several. None is a sentence that does not apply.
Evidence: TypeAlias = str | Iterable[str | None] | None


def sentences(evidence: Evidence) -> Iterator[str]:
    """Return the sentences of *evidence*, without those that do not apply (None or empty)."""
    parts = [evidence] if evidence is None or isinstance(evidence, str) else evidence
    return filter(None, parts)


def always(facts: Any) -> bool:
    """Return True for any *facts*. It is the condition of rules that always apply."""
    return True


@dataclass(frozen=True, slots=True)
class VerdictRule(Generic[Facts, OutcomeT]):
    """One rule of a `RuleTable`: its condition, outcome and evidence."""

    when: str
    """The condition in words; unique in its table."""
    holds: Callable[[Facts], bool]
    outcome: OutcomeT
    evidence: Callable[[Facts], Evidence]
    """The sentences that support the outcome."""
    parsed: Callable[[Facts], Mapping[str, Any]] = lambda facts: {}
    """The values that were read from the answer."""
    basis: str = ""
    """The passage of a specification that supports the rule, if there is one."""


@dataclass(frozen=True, slots=True)
class RuleGroup(Generic[Facts, OutcomeT]):
    """Rules of a table with a common condition."""

    when: str
    holds: Callable[[Facts], bool]
    rules: tuple[VerdictRule[Facts, OutcomeT], ...]


@dataclass(frozen=True, slots=True)
class RuleTable(Generic[Facts, OutcomeT]):
    """The ordered rules about one subject; the last rule of the last group always holds."""

    title: str
    groups: tuple[RuleGroup[Facts, OutcomeT], ...]

    @property
    def rules(self) -> tuple[VerdictRule[Facts, OutcomeT], ...]:
        """The rules of all groups, in order."""
        return tuple(rule for group in self.groups for rule in group.rules)

    def first_rule(self, facts: Facts) -> VerdictRule[Facts, OutcomeT]:
        """Return the first rule whose condition and group's condition hold for *facts*."""
        for group in self.groups:
            if group.holds(facts):
                for rule in group.rules:
                    if rule.holds(facts):
                        return rule
        # Unreachable: the last rule always holds.
        raise LookupError(f"no rule of {self.title} holds")

    def judge(self, facts: Facts) -> ServiceVerdict[OutcomeT]:
        """Return the verdict of the first rule that holds for *facts*: outcome, distinct sentences of evidence, parsed values."""
        rule = self.first_rule(facts)
        evidence = tuple(dict.fromkeys(sentences(rule.evidence(facts))))
        return ServiceVerdict(rule.outcome, evidence, rule.parsed(facts))
