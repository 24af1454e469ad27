"""The tables about the three services: levels, who answers ``?info`` and how, what is promised and by whom."""

from __future__ import annotations

from typing import Any, Final

import pandas as pd

from crawler.model.observations import DESCRIBED, CommitmentOutcome, Family, Question
from reports.ark_statuses import ark_statuses
from reports.definitions import (
    ARKS_COLUMN,
    COUNT,
    NAAN_COLUMN,
    SHARE,
    TEXT,
    TOKEN,
    TRUTH,
    URL,
    Column,
    TableDefinition,
)
from reports.distinct import by_identity, hosts_of, tallied
from reports.frames import Frames
from reports.languages import N_
from reports.overviews import share, tally
from reports.typed_columns import joined

#: What each level means; without one where nobody can say today whether the object is there.
LEVELS: Final = {
    3: N_("The object, a description of it, and a stated commitment."),
    2: N_("The object, and either a description of it or a stated commitment."),
    1: N_("The object, and nothing else."),
    0: N_("Not even the object."),
    None: N_("Unknown: no answer today, access refused to programs, or not asked."),
}


def levels(frames: Frames) -> pd.DataFrame:
    """One row per level, from 3 down to 0 and then unknown, all five always."""
    found = level(ark_statuses(frames))
    counts = [int((found.isna() if number is None else found.eq(number)).sum()) for number in LEVELS]
    table = pd.DataFrame({"level": list(LEVELS), "arks": counts, "meaning": list(LEVELS.values())})
    return LEVEL_TABLE.shaped(table.assign(share=share(table["arks"], pd.Series(sum(counts), index=table.index))))


_OF_ANSWER: Final = [
    *("ark_id", "ark", "request_url", "question", "attempt", "asked_url", "status", "chain_end", "media_type"),
    "final_url",
]


def level(ark_states: pd.DataFrame) -> pd.Series:
    """Return how many of the three services each ARK gives; nothing where the object could not be judged."""
    works = ark_states["family"].eq(Family.WORKS)
    judged = works | ark_states["family"].eq(Family.FAILS)
    described = ark_states["metadata"].isin(DESCRIBED)
    committed = ark_states["commitment"].eq(CommitmentOutcome.STATED)
    given = works.astype("Int64") + (works & described).astype("Int64") + (works & committed).astype("Int64")
    return given.where(judged)


def info_answers(frames: Frames) -> pd.DataFrame:
    """One row per resolver, question and outcome; ordered by resolver, then as in the vocabularies.

    A verdict holds the best of what the inflections gave: each of them counts here with that outcome.
    """
    is_asked = frames.observations["question"].isin([Question.INFO, Question.DOUBLE, Question.SINGLE])
    asked = frames.observations.loc[is_asked, _OF_ANSWER]
    asked = asked.sort_values("attempt", kind="stable").drop_duplicates(
        ["ark_id", "request_url", "question"], keep="last"
    )
    rows = asked.merge(frames.verdicts[["ark_id", "request_url", "metadata"]], on=["ark_id", "request_url"])
    rows = rows.assign(
        resolver=hosts_of(rows["asked_url"]),
        answered=rows["status"].astype("str").fillna(rows["chain_end"].astype("str")),
        media=rows["media_type"].fillna("none"),
        by=hosts_of(rows["final_url"]),
    )
    by = ["resolver", "question", "metadata"]
    groups = rows.sort_values(["ark", "asked_url"]).groupby(by, observed=True)
    table = groups.agg(arks=("ark_id", "nunique"), example=("asked_url", "first"))
    table = table.assign(
        statuses=tallied(rows, by, "answered"),
        media_types=tallied(rows, by, "media"),
        answered_by=tallied(rows, by, "by", most=3),
    ).reset_index()
    table = table.assign(given=table["metadata"].isin(DESCRIBED))
    ordered = table.sort_values(by, ignore_index=True)
    return INFO_ANSWERS.shaped(ordered)


def permanence(frames: Frames) -> pd.DataFrame:
    """One row per NAAN, guarantor and level that was stated, or placeholder; the greatest first, then in order."""
    stated = frames.verdicts[
        frames.verdicts["commitment"].isin([CommitmentOutcome.STATED, CommitmentOutcome.PLACEHOLDER])
    ]
    statements = stated["commitment_parsed"]
    rows = pd.DataFrame(
        {
            "naan": stated["naan"],
            "outcome": stated["commitment"].astype("str"),
            "guarantor": by_identity(statements, lambda promise: _field(promise, "who", "guarantor")),
            "level": by_identity(statements, lambda promise: _field(promise, "level")),
            "words": by_identity(statements, lambda promise: _field(promise, "permanence", "what")),
            "since": by_identity(statements, lambda promise: _field(promise, "since", "when")),
            "ark_id": stated["ark_id"],
        }
    )
    by = ["naan", "outcome", "guarantor", "level", "words"]
    table = rows.groupby(by, dropna=False).agg(
        arks=("ark_id", "nunique"), since=("since", lambda moments: tally(moments.dropna(), most=3))
    )
    ordered = table.reset_index().sort_values(["arks", *by], ascending=[False, *(True for _ in by)], ignore_index=True)
    return PERMANENCE.shaped(ordered)


def _field(promise: Any, *names: str) -> str | None:
    if not isinstance(promise, dict):
        return None
    return next((joined(promise[name]) for name in names if promise.get(name)), None)


LEVEL_TABLE: Final = TableDefinition(
    "levels",
    "Levels of service",
    "One row per level: how many of the three services (the object, a description of it, a commitment to it) an "
    "ARK gives, by its best answers. An ARK without its object is at level 0.",
    levels,
    (
        Column("level", COUNT, "how many of the three services are given; empty where that is unknown", "services"),
        ARKS_COLUMN,
        Column("share", SHARE, "these ARKs / all ARKs; empty when there is none", "1"),
        Column("meaning", TEXT, "the level in words", is_ours=True),
    ),
)

INFO_ANSWERS: Final = TableDefinition(
    "info_answers",
    "Who answers ?info",
    "One row per resolver, inflection and outcome: which resolvers answer when they are asked to describe an "
    "object, and how. The outcome is that of the metadata service as a whole, which the best answer decides.",
    info_answers,
    (
        Column("resolver", TEXT, "host that was asked"),
        Column("question", TOKEN, "inflection that was sent: ?info, ?? or ?"),
        Column("metadata", TOKEN, "outcome of the metadata service"),
        Column("given", TRUTH, "whether this outcome means that the object is described"),
        ARKS_COLUMN,
        Column("statuses", TEXT, "HTTP statuses, or failures, by number of URLs, the most frequent first"),
        Column("media_types", TEXT, "media types of the answers, likewise"),
        Column("answered_by", TEXT, "hosts that gave the last answer, likewise; three at most"),
        Column("example", URL, "one of the URLs that were asked"),
    ),
)

PERMANENCE: Final = TableDefinition(
    "permanence",
    "Permanence that is claimed",
    "One row per NAAN, guarantor and statement. What is claimed is shown as it is claimed; a statement that a "
    "template left is a placeholder, and claims nothing.",
    permanence,
    (
        NAAN_COLUMN,
        Column("outcome", TOKEN, "outcome of the commitment service: stated or placeholder"),
        Column("guarantor", TEXT, "who makes the commitment, in the provider's words"),
        Column("level", TEXT, "level of permanence that the words name (draft-kunze-ark-38, 5.1.1)"),
        Column("words", TEXT, "what is said of permanence, in the provider's words"),
        ARKS_COLUMN,
        Column("since", TEXT, "dates of the commitment, by number of URLs; three at most"),
    ),
)
