"""The table about the three services: the answers about all ARKs, and the number of services provided."""

from __future__ import annotations

import pandas as pd

from crawler.model.observations import DESCRIBED, CommitmentOutcome, Family
from reports.languages import VOCABULARY
from reports.store.frames import Frames
from reports.store.run_queries import WORKING
from reports.tables.ark_statuses import ark_statuses, share
from reports.tables.wording import COMMITMENT_MEANINGS, METADATA_MEANINGS, OBJECT_MEANINGS

#: The meaning of each level; "unknown" if the object could not be checked today.
LEVELS = VOCABULARY["level"]


def services(frames: Frames) -> pd.DataFrame:
    """Return one row per service and answer, then one row per number of provided services."""
    return pd.concat([_answers(frames), _levels(frames)], ignore_index=True)


def _answers(frames: Frames) -> pd.DataFrame:
    """Return one row per service and answer that occurs; ordered object, metadata, commitment, then as in the enum."""
    statuses = ark_statuses(frames).dropna(subset="object")
    rows = [
        (service, str(outcome), outcome in provided_outcomes, int(statuses[service].eq(outcome).sum()), meaning)
        for service, provided_outcomes, meanings in (
            ("object", WORKING, OBJECT_MEANINGS),
            ("metadata", DESCRIBED, METADATA_MEANINGS),
            ("commitment", {CommitmentOutcome.STATED}, COMMITMENT_MEANINGS),
        )
        for outcome, meaning in meanings.items()
    ]
    table = pd.DataFrame(rows, columns=["service", "outcome", "given", "arks", "meaning"])
    return table[table["arks"] > 0]


def _levels(frames: Frames) -> pd.DataFrame:
    """Return one row per level: the number of provided services, from 3 to 0, then ``unknown`` for objects not judged."""
    statuses = ark_statuses(frames)
    works = statuses["family"].eq(Family.WORKS)
    service_counts = works.astype("Int64") + (works & statuses["described"]) + (works & statuses["committed"])
    levels = service_counts.where(works | statuses["family"].eq(Family.FAILS)).astype("str").fillna("unknown")
    table = pd.DataFrame(LEVELS.items(), columns=["outcome", "meaning"])
    table = table.assign(service="level", arks=[int(levels.eq(name).sum()) for name in table["outcome"]])
    return table.assign(share=share(table["arks"], pd.Series(len(levels), index=table.index)))
