"""The targets that a resolver's table should have instead, of the ARKs of a report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pandas as pd

from crawler.model.observations import ObjectOutcome, Question
from reports.remediation.causes import Cause
from reports.remediation.rewriting import RewriteRule, rewrite_rules
from reports.remediation.targets import TargetMove, present_target, single_targets, target_moves
from reports.store.frames import Frames
from reports.tables.ark_statuses import last_answers
from reports.tables.definitions import PAIR, rows_of
from reports.tables.failing import diagnosed_failures
from reports.tables.known import without_known


def proposed_rules(frames: Frames, moves: Iterable[TargetMove]) -> list[tuple[RewriteRule, str]]:
    """Return a rewrite rule for each site that has changed its paths, as far as *moves* explain the change."""
    known = ((one.present_target, one.proposed_target) for one in moves)
    return [*rewrite_rules(known, _lost_pages(frames)["last_url"].dropna())]


def moved_targets(frames: Frames) -> list[TargetMove]:
    """Return the moved targets of ARKs that work as cited; each redirects permanently to its proposed replacement."""
    # A page that explains why an object is withdrawn is not its new place.
    return target_moves(_chains(frames, frames.verdicts[frames.verdicts["object"].eq(ObjectOutcome.RESOLVED)]))


def targets_by_rule(
    frames: Frames, moves: Iterable[TargetMove], rules: Sequence[tuple[RewriteRule, str]]
) -> list[TargetMove]:
    """Return the targets that *rules* propose for failing ARKs; those of *moves* are not proposed again."""
    proposals = {
        TargetMove(ark, target, proposed, f"by a rewrite rule that explains {support}")
        for ark, hops in (_chains(frames, _lost_pages(frames)) if rules else ())
        for rule, support in rules
        if (target := present_target(hops)) == hops[-1][0] and (proposed := rule.target(target))
    }
    return [move for move in single_targets([*moves, *proposals]) if move in proposals]


def _lost_pages(frames: Frames) -> pd.DataFrame:
    failures = diagnosed_failures(frames)
    return without_known(frames, failures[failures["cause"].isin([Cause.CHANGED_PATH, Cause.MISSING_PAGE])])


def _chains(frames: Frames, pairs: pd.DataFrame) -> Iterator[tuple[str, list[tuple[str, int | None]]]]:
    """Yield the ARK and the last chain of each of *pairs*."""
    answers = last_answers(frames, [Question.OBJECT]).merge(pairs[PAIR], on=PAIR)
    chains: dict[int, list[tuple[str, int | None]]] = {number: [] for number in answers["observation_id"]}
    hops = frames.hops[frames.hops["observation_id"].isin(chains.keys())]
    for number, url, status in rows_of(hops[["observation_id", "url", "status"]]):
        chains[number].append((url, status))
    for ark, number in rows_of(answers[["ark", "observation_id"]]):
        if chains[number]:
            yield ark, chains[number]
