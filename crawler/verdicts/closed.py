"""Pure: collections that are meant to be closed: being refused there is what their keepers intend."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from crawler.answers.facts import AnswerFacts, status_outcome
from crawler.model.observations import ObjectOutcome, ServiceVerdict
from crawler.verdicts.rules import RuleGroup, RuleTable, VerdictRule, always
from extractors.model.ark import Ark
from extractors.model.naan import naan_and_name


@dataclass(frozen=True, slots=True)
class ClosedCollection:
    """The ARKs of one NAAN whose names begin alike, and why no one is let in."""

    naan: str
    beginning: str = ""
    reason: str = ""

    @classmethod
    def of(cls, arks: str, reason: str = "") -> ClosedCollection:
        """The collection of the ARKs that begin as *arks*: a NAAN, or a NAAN and the beginning of names.

        Raises `extractors.model.normalize.NotAnArk`.

        >>> ClosedCollection.of("ark:/98765/k3-", "reading room only").holds(Ark.parse("ark:98765/k3x7"))
        True
        """
        return cls(*naan_and_name(arks), reason)

    def holds(self, ark: Ark) -> bool:
        """Return whether *ark* belongs to it."""
        return ark.naan == self.naan and (ark.name + ark.qualifier).startswith(self.beginning)


def closed_for(ark: Ark, collections: Iterable[ClosedCollection]) -> ClosedCollection | None:
    """The collection that *ark* belongs to; of several the one with the longest beginning."""
    holding = [collection for collection in collections if collection.holds(ark)]
    return max(holding, key=lambda collection: len(collection.beginning), default=None)


@dataclass(frozen=True, slots=True)
class ClosedFacts:
    """The facts of a refusal by a collection that is meant to be closed."""

    refusal: ServiceVerdict[ObjectOutcome]
    closed: ClosedCollection
    control: AnswerFacts | None

    @property
    def control_status(self) -> int | None:
        """The status of the answer for a name that can't exist."""
        return self.control.seen.status if self.control is not None else None

    @property
    def evidence(self) -> tuple[str, ...]:
        """Return why it is refused, and why that is no wonder."""
        reason = f": {self.closed.reason}" if self.closed.reason else ""
        return (*self.refusal.evidence, f"it belongs to a collection that is meant to be closed{reason}")


#: A refusal shows that an object is there where a name that can't exist is not found.
CLOSED_RULES: RuleTable[ClosedFacts, ObjectOutcome] = RuleTable(
    "A refusal by a collection that is meant to be closed",
    (
        RuleGroup(
            "always",
            always,
            (
                VerdictRule(
                    "there is no answer for a name that can't exist",
                    lambda facts: facts.control_status is None,
                    ObjectOutcome.BLOCKED,
                    lambda facts: facts.evidence,
                ),
                VerdictRule(
                    "a name that can't exist is not found",
                    lambda facts: status_outcome(facts.control_status or 0) is ObjectOutcome.BROKEN,
                    ObjectOutcome.EXPLAINED,
                    lambda facts: [*facts.evidence, f"a name that can't exist is answered {facts.control_status}"],
                    basis="2023, 5.1",
                ),
                VerdictRule(
                    "a name that can't exist gets another answer",
                    always,
                    ObjectOutcome.BLOCKED,
                    lambda facts: [*facts.evidence, _shows_nothing(facts)],
                ),
            ),
        ),
    ),
)


def _shows_nothing(facts: ClosedFacts) -> str:
    status = facts.control_status
    return f"a name that can't exist is answered {status}, so that nothing shows that the object is there"


def as_expected(facts: ClosedFacts) -> ServiceVerdict[ObjectOutcome]:
    """The verdict on a refusal by a collection that is meant to be closed."""
    return replace(CLOSED_RULES.judge(facts), parsed=facts.refusal.parsed)
