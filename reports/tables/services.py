"""The table about the three services: answers, levels, who answers ``?info`` and how, what is promised and by whom."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import pandas as pd

from crawler.model.observations import DESCRIBED, CommitmentOutcome, Family, Question
from reports.languages import N_
from reports.store.frames import Frames
from reports.store.typed_columns import joined
from reports.tables.ark_statuses import WORKING, ark_statuses, last_answers, share
from reports.tables.definitions import (
    ARKS_COLUMN,
    GUARANTOR_COLUMN,
    NAAN_COLUMN,
    PAIR,
    SHARE,
    TEXT,
    TOKEN,
    TRUTH,
    URL,
    Column,
    TableDefinition,
    in_order,
)
from reports.tables.distinct import by_identity, hosts_of, tallied
from reports.tables.overviews import tally
from reports.tables.wording import COMMITMENT_MEANINGS, METADATA_MEANINGS, OBJECT_MEANINGS

#: The grouping of rows about all ARKs.
ALL = "all"
#: What each level means; it is unknown where it can't be said today whether the object is there.
LEVELS = {
    3: N_("The object, a description of it, and a stated commitment."),
    2: N_("The object, and either a description of it or a stated commitment."),
    1: N_("The object, and nothing else."),
    0: N_("Not even the object."),
    "unknown": N_("Unknown: no answer today, access refused to programs, or not asked."),
}


def services(frames: Frames) -> pd.DataFrame:
    """One row per answer of a service and level of service, then per resolver and answer, then per promise."""
    parts = [_answers(frames), _levels(frames), _info_answers(frames), _promises(frames)]
    table = pd.concat([part.astype({"outcome": "str"}) for part in parts], ignore_index=True)
    return table.reindex(columns=[column.name for column in SERVICES.columns])


def _answers(frames: Frames) -> pd.DataFrame:
    """One row per service and answer that occurs; ordered object, metadata, commitment, then as in the enum."""
    asked = ark_statuses(frames).dropna(subset="object")
    rows = [
        (ALL, service, str(outcome), outcome in given, int(asked[service].eq(outcome).sum()), meaning)
        for service, given, meanings in (
            ("object", WORKING, OBJECT_MEANINGS),
            ("metadata", DESCRIBED, METADATA_MEANINGS),
            ("commitment", {CommitmentOutcome.STATED}, COMMITMENT_MEANINGS),
        )
        for outcome, meaning in meanings.items()
    ]
    table = pd.DataFrame(rows, columns=["grouping", "service", "outcome", "given", "arks", "meaning"])
    return table[table["arks"] > 0]


def _levels(frames: Frames) -> pd.DataFrame:
    """One row per level, from 3 down to 0 and then unknown, all five always."""
    levels = level(ark_statuses(frames)).astype("str").fillna("unknown")
    table = pd.DataFrame({"outcome": map(str, LEVELS), "meaning": LEVELS.values()})
    table = table.assign(grouping=ALL, service="level", arks=[int(levels.eq(name).sum()) for name in table["outcome"]])
    return table.assign(share=share(table["arks"], pd.Series(len(levels), index=table.index)))


def level(statuses: pd.DataFrame) -> pd.Series:
    """Return how many of the three services each ARK gives; nothing where the object could not be judged."""
    works = statuses["family"].eq(Family.WORKS)
    described = works & statuses["metadata"].isin(DESCRIBED)
    committed = works & statuses["commitment"].eq(CommitmentOutcome.STATED)
    given = works.astype("Int64") + described.astype("Int64") + committed.astype("Int64")
    return given.where(works | statuses["family"].eq(Family.FAILS))


def _info_answers(frames: Frames) -> pd.DataFrame:
    """One row per resolver, question and outcome; ordered by resolver, then as in the vocabularies.

    A verdict holds the best of what the inflections gave: each of them counts here with that outcome.
    """
    asked = last_answers(frames, [Question.INFO, Question.DOUBLE, Question.SINGLE])
    rows = asked.merge(frames.verdicts[[*PAIR, "metadata"]], on=PAIR)
    rows = rows.assign(
        resolver=hosts_of(rows["asked_url"]),
        answered=rows["status"].astype("str").fillna(rows["chain_end"].astype("str")),
        media=rows["media_type"].fillna("none"),
        by=hosts_of(rows["final_url"]),
    )
    by = ["resolver", "question", "metadata"]
    groups = in_order(rows, "ark", "asked_url").groupby(by, observed=True)
    table = groups.agg(arks=("ark_id", "nunique"), example=("asked_url", "first")).assign(
        statuses=tallied(rows, by, "answered"),
        media_types=tallied(rows, by, "media"),
        answered_by=tallied(rows, by, "by", most=3),
    )
    table = in_order(table.reset_index(), *by).rename(columns={"metadata": "outcome"})
    return table.assign(grouping="resolver", service="metadata", given=table["outcome"].isin(DESCRIBED))


def _promises(frames: Frames) -> pd.DataFrame:
    """One row per NAAN, guarantor and level that was stated, or placeholder; the greatest first, then in order."""
    is_made = frames.verdicts["commitment"].isin([CommitmentOutcome.STATED, CommitmentOutcome.PLACEHOLDER])
    rows = frames.verdicts.loc[is_made, ["ark_id", "naan", "commitment", "commitment_parsed"]]
    fields = {
        "guarantor": ("who", "guarantor"),
        "level": ("level",),
        "words": ("permanence", "what"),
        "since": ("since", "when"),
    }
    said = {name: by_identity(rows["commitment_parsed"], partial(_said, names)) for name, names in fields.items()}
    rows = rows.assign(outcome=rows["commitment"].astype("str"), **said)
    by = ["naan", "outcome", "guarantor", "level", "words"]
    table = rows.groupby(by, dropna=False).agg(
        arks=("ark_id", "nunique"), since=("since", lambda moments: tally(moments.dropna(), most=3))
    )
    table = in_order(table.reset_index(), "-arks", *by).assign(grouping="promise", service="commitment")
    return table.assign(given=table["outcome"].eq(CommitmentOutcome.STATED))


def _said(names: Iterable[str], promise: Mapping[str, Any]) -> str | None:
    return next((joined(promise[name]) for name in names if promise.get(name)), None)


SERVICES = TableDefinition(
    "services",
    "The three services",
    "An ARK gives access to its object, to a description of the object, and to a statement of commitment. Of all ARKs "
    "one row per answer that occurred, each with its best answer, and one per level: how many of the three it gives. "
    "Of each resolver one row per inflection and answer: who describes objects, and how. Of the promises one row per "
    "NAAN, guarantor and statement, as it is claimed; a statement that a template left is a placeholder, and claims "
    "nothing.",
    services,
    (
        Column("grouping", TOKEN, "what the rows are grouped by: all, resolver or promise"),
        Column("service", TOKEN, "object, metadata, commitment, or level for all three"),
        Column("outcome", TOKEN, "outcome of that service; of a level how many are given, or unknown"),
        Column("given", TRUTH, "whether this outcome means that the service is given"),
        ARKS_COLUMN,
        Column("share", SHARE, "of a level: these ARKs / all ARKs; empty when there is none", "1"),
        Column("meaning", TEXT, "the outcome in words", is_ours=True),
        Column("resolver", TEXT, "host that was asked"),
        Column("question", TOKEN, "inflection that was sent: ?info, ?? or ?"),
        Column("statuses", TEXT, "HTTP statuses, or failures, by number of URLs, the most frequent first"),
        Column("media_types", TEXT, "media types of the answers, likewise"),
        Column("answered_by", TEXT, "hosts that gave the last answer, likewise; three at most"),
        Column("example", URL, "one of the URLs that were asked"),
        NAAN_COLUMN,
        GUARANTOR_COLUMN,
        Column("level", TEXT, "level of permanence that the words name (draft-kunze-ark-38, 5.1.1)"),
        Column("words", TEXT, "what is said of permanence, in the provider's words"),
        Column("since", TEXT, "dates of the commitment, by number of URLs; three at most"),
    ),
)
