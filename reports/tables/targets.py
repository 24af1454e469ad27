"""The targets that a resolver's table should have instead, of the ARKs of a report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from crawler.model.observations import ObjectOutcome, Question
from reports.remediation.causes import Cause
from reports.remediation.rewriting import RewriteRule, rewrite_rules
from reports.remediation.targets import TargetMove, target_moves
from reports.store.frames import Frames
from reports.tables.ark_statuses import last_answers
from reports.tables.definitions import PAIR, rows_of
from reports.tables.failing import diagnosed_failures


def proposed_rules(frames: Frames, moves: Iterable[TargetMove]) -> Iterator[tuple[RewriteRule, str]]:
    """Yield a rewrite rule for each site that has changed its paths, as far as *moves* explain the change."""
    failures = diagnosed_failures(frames)
    failing = failures.loc[failures["cause"].isin([Cause.CHANGED_PATH, Cause.MISSING_PAGE]), "last_url"]
    return rewrite_rules(((one.present_target, one.proposed_target) for one in moves), failing.dropna())


def moved_targets(frames: Frames) -> list[TargetMove]:
    """Return the targets to replace, of the ARKs that work as cited."""
    # A page that explains why an object is withdrawn is not its new place.
    fine = frames.verdicts.loc[frames.verdicts["object"].eq(ObjectOutcome.RESOLVED), PAIR]
    answers = last_answers(frames, [Question.OBJECT]).merge(fine, on=PAIR)
    chains: dict[int, list[tuple[str, int | None]]] = {number: [] for number in answers["observation_id"]}
    hops = frames.hops[frames.hops["observation_id"].isin(chains.keys())]
    for number, url, status in rows_of(hops[["observation_id", "url", "status"]]):
        chains[number].append((url, status))
    named = rows_of(answers[["ark", "observation_id"]])
    return target_moves((ark, chains[number]) for ark, number in named if chains[number])
