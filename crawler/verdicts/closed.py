"""Pure: collections that are meant to be closed: being refused there is what their keepers intend."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from crawler.answers.notices import asks_to_log_in, challenge_of
from crawler.observations import ChainEnd, ObjectOutcome, Observation, ServiceVerdict
from crawler.verdicts.access import status_outcome
from extractors.ark import Ark
from extractors.naan import naan_and_name

#: Statuses by which a host asks for a right; 429 and 999 ask programs to stay away.
_REFUSALS = frozenset({401, 403, 407, 451})


@dataclass(frozen=True, slots=True)
class ClosedCollection:
    """The ARKs of one NAAN whose names begin alike, and why nobody is let in."""

    naan: str
    beginning: str = ""
    reason: str = ""

    @classmethod
    def of(cls, arks: str, reason: str = "") -> ClosedCollection:
        """The collection of the ARKs that begin as *arks*: a NAAN, or a NAAN and the beginning of names.

        Raises `extractors.normalize.NotAnArk`.

        >>> ClosedCollection.of("ark:/98765/k3-", "reading room only").holds(Ark.parse("ark:98765/k3x7"))
        True
        """
        return cls(*naan_and_name(arks), reason)

    def holds(self, ark: Ark) -> bool:
        """Whether *ark* belongs to it."""
        return ark.naan == self.naan and (ark.name + ark.qualifier).startswith(self.beginning)


def closed_for(ark: Ark, collections: Iterable[ClosedCollection]) -> ClosedCollection | None:
    """The collection that *ark* belongs to; of several the one with the longest beginning."""
    holding = [each for each in collections if each.holds(ark)]
    return max(holding, key=lambda each: len(each.beginning), default=None)


def asks_for_a_right(answer: Observation) -> bool:
    """Whether a refusal asks for a right that few have, rather than for fewer programs or fewer requests."""
    is_refusal = answer.status in _REFUSALS or asks_to_log_in(answer)
    return answer.end is ChainEnd.ANSWERED and is_refusal and challenge_of(answer) is None


def as_expected(
    verdict: ServiceVerdict[ObjectOutcome], closed: ClosedCollection, control: Observation | None
) -> ServiceVerdict[ObjectOutcome]:
    """The *verdict* on a refusal by a collection that is meant to be closed.

    Where a name that can't exist is not found, the refusal shows that the object is there, and counts as explained.
    """
    expected = "it belongs to a collection that is meant to be closed" + (f": {closed.reason}" if closed.reason else "")
    told = (*verdict.evidence, expected)
    if control is None or control.status is None:
        return replace(verdict, evidence=told)
    if status_outcome(control.status) is not ObjectOutcome.BROKEN:
        words = f"a name that can't exist is answered {control.status}, so that nothing shows that the object is there"
        return replace(verdict, evidence=(*told, words))
    words = f"a name that can't exist is answered {control.status}"
    return replace(verdict, outcome=ObjectOutcome.EXPLAINED, evidence=(*told, words))
