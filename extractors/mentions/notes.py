"""Notes taken while one mention is read: decisions, repairs, and other readings."""

from __future__ import annotations

from dataclasses import dataclass, field

from extractors.ark import Ark
from extractors.mentions.mention import STANDS_WHOLE
from extractors.normalize import NotAnArk
from extractors.wraps.wrap import Confidence, WrapDecision


@dataclass(slots=True)
class Notes:
    """The notes about one mention."""

    decisions: list[WrapDecision] = field(default_factory=list)
    repairs: list[str] = field(default_factory=list)
    alternatives: list[str] = field(default_factory=list)
    is_beyond_name: bool = False
    """Whether it was doubtful what belongs to the qualifier: no check character covers that."""
    is_odd: bool = False
    """Whether something else is doubtful than where it ends, such as its form."""

    def decided(self, decision: WrapDecision, *, otherwise: str) -> None:
        """Something was decided; had it gone the other way, the mention would read *otherwise*."""
        self.decisions.append(decision)
        if decision.confidence is not Confidence.CERTAIN:
            self.may_be(otherwise)

    def mark_likely(self, rule: str) -> None:
        """Return what is read is likely only, by *rule*, however sure it is where it ends."""
        self.decisions.append(WrapDecision(True, rule, Confidence.LIKELY))
        self.is_odd = True

    def repaired(self, repair: str) -> None:
        """*repair* was made, here or already elsewhere in the mention."""
        if repair not in self.repairs:
            self.repairs.append(repair)

    def may_be(self, form: str) -> None:
        """It might also be *form*; nothing is noted where that is no ARK."""
        try:
            other = str(Ark.parse(form.rstrip(".,;:!?)")))
        except NotAnArk:
            return
        if other not in self.alternatives:
            self.alternatives.append(other)

    @property
    def confidence(self) -> Confidence:
        """That of the least sure decision."""
        return min((decision.confidence for decision in self.decisions), default=Confidence.CERTAIN)

    @property
    def reason(self) -> str:
        """The rule of the least sure decision."""
        weakest = min(self.decisions, key=lambda decision: decision.confidence, default=None)
        return weakest.rule if weakest else STANDS_WHOLE
