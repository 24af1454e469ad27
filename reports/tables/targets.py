"""The targets that a resolver's table should have instead, of the ARKs of a report."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from crawler.model.observations import ObjectOutcome, Question
from reports.remediation.targets import TargetMove, target_moves
from reports.store.frames import Frames
from reports.tables.ark_statuses import last_answers
from reports.tables.definitions import PAIR, rows_of


def moved_targets(frames: Frames) -> list[TargetMove]:
    """Return the moved targets of ARKs that work as cited; each redirects permanently to its proposed replacement."""
    # A page that explains why an object is withdrawn is not its new place.
    return target_moves(_chains(frames, frames.verdicts[frames.verdicts["object"].eq(ObjectOutcome.RESOLVED)]))


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
