"""The status of ARKs that were asked at several URLs: the best verdict counts, once an ARK."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import pandas as pd

from crawler.history.ark_status import ArkState
from crawler.model.observations import FAMILY_OF, Family, ObjectOutcome
from reports.store.frames import Frames
from reports.store.selections import OBJECT
from reports.store.typed_columns import vocabulary

FAMILY = vocabulary(Family)

#: Of several outcomes the first one here counts. Hope before certainty: a URL that gives no answer, or that
#: we may not ask, leaves open whether the ARK persists; an ARK fails only when every URL of it fails.
BEST_FIRST: Final[tuple[ObjectOutcome, ...]] = (
    ObjectOutcome.RESOLVED,
    ObjectOutcome.RELATED,
    ObjectOutcome.NON_WEB,
    ObjectOutcome.WORKS_ELSEWHERE,
    ObjectOutcome.EXPLAINED,
    ObjectOutcome.SERVER_ERROR,
    ObjectOutcome.TIMEOUT,
    ObjectOutcome.RESET,
    ObjectOutcome.TLS,
    ObjectOutcome.PROTOCOL_ERROR,
    ObjectOutcome.REFUSED,
    ObjectOutcome.DNS,
    ObjectOutcome.BLOCKED,
    ObjectOutcome.ROBOTS,
    ObjectOutcome.REFUSED_ADDRESS,
    ObjectOutcome.UNDETERMINED,
    ObjectOutcome.INVALID,
    ObjectOutcome.SKIPPED,
    ObjectOutcome.SOFT_404,
    ObjectOutcome.BAD_REDIRECT,
    ObjectOutcome.TOO_MANY_REDIRECTS,
    ObjectOutcome.LOOP,
    ObjectOutcome.BROKEN,
)

#: Object outcomes with which the ARK gives its first service.
WORKING: Final = frozenset(outcome for outcome, family in FAMILY_OF.items() if family is Family.WORKS)

#: The columns that count ARKs by family, in the order of the enum.
FAMILY_COLUMNS: Final = {family: family.value.replace("-", "_") for family in Family}

_FAMILY_OF = {str(outcome): str(family) for outcome, family in FAMILY_OF.items()}
_BEST_FIRST = [str(outcome) for outcome in BEST_FIRST]
SERVICES: Final = ["object", "metadata", "commitment"]


def families(outcomes: pd.Series) -> pd.Series:
    """The family of each object outcome; what has no outcome was not asked, and is not judged."""
    words = outcomes.astype("category")
    family_names = [*(_FAMILY_OF[str(word)] for word in words.cat.categories), str(Family.NOT_JUDGED)]
    codes = FAMILY.categories.get_indexer(pd.Index(family_names))[words.cat.codes]
    return pd.Series(pd.Categorical.from_codes(codes, dtype=FAMILY), index=outcomes.index)


def cited_urls(frames: Frames) -> pd.DataFrame:
    """One row per ARK and URL that was cited, asked or both, with its verdict if any; in no stated order."""
    pair = ["ark_id", "ark", "naan", "request_url"]
    cited = (
        frames.mentions[[*pair, "citation_id", "document_id", "document", "ordinal"]]
        .sort_values(["document", "ordinal"])
        .groupby(pair, dropna=False, as_index=False, sort=False)
        .agg(
            citations=("citation_id", "nunique"),
            documents=("document_id", "nunique"),
            first_document=("document", "first"),
        )
    )
    judged = cited.merge(frames.verdicts, on=pair, how="left")  # an outer one would sort all ARKs and URLs
    uncited = frames.verdicts[~frames.verdicts["verdict_id"].isin(judged["verdict_id"])]
    together = pd.concat([judged, uncited], ignore_index=True)
    counts = together[["citations", "documents"]].astype("Int64").fillna(0)
    return together.assign(**counts, family=families(together["object"]))


def best(judged: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """One row per group of *judged*: its best outcome of each service, and the family; ordered by *by*.

    For metadata and commitment the order of the enums is already best first.
    """
    ranked = judged.assign(object=judged["object"].cat.reorder_categories(_BEST_FIRST, ordered=True))
    rows = ranked.groupby(by, as_index=False)[SERVICES].min()
    outcomes = rows["object"].cat.reorder_categories(list(OBJECT.categories), ordered=True)
    return rows.assign(object=outcomes, family=families(outcomes))


@lru_cache(maxsize=2)
def ark_statuses(frames: Frames) -> pd.DataFrame:
    """One row per ARK that is cited or judged: naan, shoulder and its best outcomes; in the order of the store.

    A reading of a doubtful citation that was asked about and then rejected is no ARK of the run.
    """
    asked = best(frames.verdicts, ["ark_id"]).drop(columns="family")
    counts = frames.arks["ark_id"].isin(frames.mentions["ark_id"]) | frames.arks["ark_id"].isin(asked["ark_id"])
    rows = frames.arks.loc[counts, ["ark_id", "ark", "naan", "shoulder"]].merge(asked, on="ark_id", how="left")
    return rows.assign(family=families(rows["object"]))


#: Of several states of one ARK, by the URLs that it is asked at, the first one here counts.
BEST_STATE_FIRST: Final = (
    ArkState.HEALTHY,
    ArkState.FLAPPING,
    ArkState.FAILING,
    ArkState.UNDETERMINED,
    ArkState.BLOCKED,
    ArkState.SKIPPED,
    ArkState.CONFIRMED_BROKEN,
)


def ark_states(frames: Frames) -> pd.DataFrame:
    """One row per ARK whose status is known: the best of all URLs that it is asked at; ordered by ARK's number."""
    order = [str(state) for state in BEST_STATE_FIRST]
    ranked = frames.latest.assign(state=frames.latest["state"].cat.reorder_categories(order, ordered=True))
    return ranked.groupby("ark_id", as_index=False)[["state"]].min()


def family_counts(standings: pd.DataFrame, by: str | list[str]) -> pd.DataFrame:
    """One row per group of *standings* (one row per ARK): its ARKs, in all and by family; ordered by *by*."""
    counted = standings.assign(
        arks=1, **{column: standings["family"].eq(family) for family, column in FAMILY_COLUMNS.items()}
    )
    return counted.groupby(by)[["arks", *FAMILY_COLUMNS.values()]].sum().astype("Int64").reset_index()


def citation_counts(frames: Frames, by: str) -> pd.DataFrame:
    """One row per group of mentions: how many citations, in how many documents; ordered by *by*."""
    groups = frames.mentions.groupby(by)
    counts = groups.agg(citations=("citation_id", "nunique"), documents=("document_id", "nunique"))
    return counts.astype("Int64").reset_index()
