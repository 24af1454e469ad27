"""The targets that a resolver's table should have instead, of the ARKs of a report."""

from __future__ import annotations

from crawler.model.observations import ObjectOutcome, Question
from reports.remediation.targets import PERMANENT, TargetMove, target_moves
from reports.store.frames import Frames
from reports.tables.ark_statuses import last_answers
from reports.tables.definitions import PAIR, rows_of


def moved_targets(frames: Frames) -> list[TargetMove]:
    """Return the moved targets of ARKs that work as cited; each redirects permanently to its proposed replacement."""
    # A page that explains why an object is withdrawn is not its new place.
    resolved = frames.verdicts.loc[frames.verdicts["object"].eq(ObjectOutcome.RESOLVED), PAIR]
    answers = last_answers(frames, [Question.OBJECT]).merge(resolved, on=PAIR)[["observation_id", "ark"]]
    permanent_redirects = frames.hops.loc[frames.hops["status"].isin(PERMANENT), "observation_id"]
    hops = frames.hops.merge(answers[answers["observation_id"].isin(permanent_redirects)], on="observation_id")
    chains = hops.groupby("observation_id")[["ark", "url", "status"]]
    return target_moves((chain["ark"].iloc[0], [*rows_of(chain[["url", "status"]])]) for _, chain in chains)
