"""The confidence in a mention: the decisions about it, and the evidence that makes it certain."""

from __future__ import annotations

from dataclasses import dataclass, field

from extractors.mentions.mention import is_cut_from
from extractors.model.ark import Ark
from extractors.model.check_characters import CheckCharacter
from extractors.model.documents import Block
from extractors.model.normalize import with_hyphens
from extractors.wraps.evidence import Evidence
from extractors.wraps.reasons import Reason
from extractors.wraps.rules import Confidence, WrapDecision, ark_of


@dataclass(slots=True)
class Notes:
    """The decisions, repairs and alternatives of one mention, collected while its ARK is read."""

    decisions: list[WrapDecision] = field(default_factory=list)
    repairs: list[str] = field(default_factory=list)
    alternatives: dict[Ark, str] = field(default_factory=dict)
    """The ARKs that other decisions would give, with their normal forms that keep hyphens (`with_hyphens`)."""
    is_beyond_name: bool = False
    """True if a check character can't settle the doubt.

    The doubt is about the qualifier, or a check character has already decided where the name ends.
    """
    has_other_doubt: bool = False
    """True if more than the end of the ARK is doubtful, such as its form."""

    def note_decision(self, decision: WrapDecision, *, other_form: str) -> None:
        """Add a *decision*. Unless it is certain, also add *other_form*, the ARK by the opposite decision, as an alternative."""
        self.decisions.append(decision)
        if decision.confidence is not Confidence.CERTAIN:
            self.note_alternative(other_form)

    def mark_likely(self, reason: Reason, *, has_other_doubt: bool = True) -> None:
        """Add a decision that is only likely, with its *reason*. *has_other_doubt* is False for a doubt about the ARK's end."""
        self.decisions.append(WrapDecision(True, reason, Confidence.LIKELY))
        self.has_other_doubt |= has_other_doubt

    def note_repair(self, repair: str) -> None:
        """Add the name of a repair, once."""
        if repair not in self.repairs:
            self.repairs.append(repair)

    def note_alternative(self, text: str) -> None:
        """Add the ARK *text* to the alternatives; a text that is not an ARK is ignored."""
        form = text.rstrip(".,;:!?)-")
        if ark := ark_of(form):
            self.alternatives.setdefault(ark, with_hyphens(form))

    @property
    def confidence(self) -> Confidence:
        """The confidence of the least certain decision."""
        return min((decision.confidence for decision in self.decisions), default=Confidence.CERTAIN)

    @property
    def reason(self) -> Reason:
        """The reason of the least certain decision."""
        least_certain = min(self.decisions, key=lambda decision: decision.confidence, default=None)
        return least_certain.reason if least_certain else Reason.COMPLETE


def confidence_in(
    ark: Ark, notes: Notes, evidence: Evidence, block: Block, target_ark: Ark | None
) -> tuple[Confidence, Reason]:
    """Return the confidence in *ark*, read in *block*, and its reason; *target_ark* is in the target of its link.

    The ARK is certain if no decision about it was doubtful. If only its end was doubtful, and no decision ambiguous,
    it is also certain in each of these cases:

    1. It is the target of its link, unless the link is on a page and may end with its line.
    2. It is whole elsewhere, and a check character, a link target or a second document supports it. No alternative is
       whole elsewhere, and the text is not recognized (OCR).
    3. Its check character passes and covers the doubt, its name is long enough, and no alternative passes.

    Otherwise it has the confidence and reason of its least certain decision.
    """
    if notes.has_other_doubt or notes.confidence is not Confidence.LIKELY:
        return notes.confidence, notes.reason
    other_arks = [alternative for alternative in notes.alternatives if alternative != ark]
    continuations = [
        str(alternative).removeprefix(str(ark)) for alternative in other_arks if is_cut_from(ark, alternative)
    ]
    is_link_cut = block.page is not None and any(not continuation.isalpha() for continuation in continuations)
    if target_ark == ark and not is_link_cut:
        return Confidence.CERTAIN, Reason.LINK_TARGET
    is_supported = not block.is_recognized and evidence.has_whole_ark(str(ark)) and evidence.is_supported(ark)
    if is_supported and not (
        target_ark == ark or any(evidence.has_whole_ark(str(alternative)) for alternative in other_arks)
    ):
        return Confidence.CERTAIN, Reason.COMPLETE_ELSEWHERE
    # An alternative that equals *ark* continues with unread text.
    has_other_passing = any(
        evidence.zones.check(alternative) is CheckCharacter.PASSES for alternative in notes.alternatives
    )
    if not notes.is_beyond_name and evidence.zones.confirms(ark) and not has_other_passing:
        return Confidence.CERTAIN, Reason.CHECK_CHARACTER
    return notes.confidence, notes.reason
