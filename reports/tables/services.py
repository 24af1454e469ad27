"""The table about the three services, the answers to inflections, and commitments."""

from __future__ import annotations

import pandas as pd

from crawler.model.observations import DESCRIBED, CommitmentOutcome, Question
from reports.languages import N_
from reports.store.frames import Frames
from reports.store.run_queries import WORKING
from reports.tables.ark_statuses import ark_statuses, last_answers, level, share
from reports.tables.definitions import (
    ARKS_COLUMN,
    GUARANTOR_COLUMN,
    NAAN_COLUMN,
    PAIR,
    TableDefinition,
    first_commitment_field,
    hosts_of,
    in_order,
    share_column,
    tally,
    text_column,
    token_column,
    truth_column,
    url_column,
)
from reports.tables.wording import COMMITMENT_MEANINGS, METADATA_MEANINGS, OBJECT_MEANINGS

#: The grouping of rows about all ARKs.
ALL = "all"
#: The meaning of each level; "unknown" if the object could not be checked today.
LEVELS = {
    3: N_("The object, its metadata, and a stated commitment."),
    2: N_("The object, and either its metadata or a stated commitment."),
    1: N_("The object only."),
    0: N_("No service."),
    "unknown": N_("Unknown: no answer today, access refused to programs, or not asked."),
}


def services(frames: Frames) -> pd.DataFrame:
    """Return one row per answer of a service and per level, then per resolver and answer, then per commitment."""
    parts = [_answers(frames), _levels(frames), _info_answers(frames), _promises(frames)]
    table = pd.concat([part.astype({"outcome": "str"}) for part in parts], ignore_index=True)
    return table.reindex(columns=[column.name for column in SERVICES.columns])


def _answers(frames: Frames) -> pd.DataFrame:
    """Return one row per service and answer that occurs; ordered object, metadata, commitment, then as in the enum."""
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
    """Return one row per level, from 3 to 0 and then unknown; always all five."""
    levels = level(ark_statuses(frames)).astype("str").fillna("unknown")
    table = pd.DataFrame({"outcome": map(str, LEVELS), "meaning": LEVELS.values()})
    table = table.assign(grouping=ALL, service="level", arks=[int(levels.eq(name).sum()) for name in table["outcome"]])
    return table.assign(share=share(table["arks"], pd.Series(len(levels), index=table.index)))


def _info_answers(frames: Frames) -> pd.DataFrame:
    """Return one row per resolver, question and outcome; ordered by resolver, then as in the vocabularies.

    A verdict has the best outcome of all inflections; each inflection counts here with that outcome.
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
        statuses=tally(rows, by, "answered"),
        media_types=tally(rows, by, "media"),
        answered_by=tally(rows, by, "by", most=3),
    )
    table = in_order(table.reset_index(), *by).rename(columns={"metadata": "outcome"})
    return table.assign(grouping="resolver", service="metadata", given=table["outcome"].isin(DESCRIBED))


def _promises(frames: Frames) -> pd.DataFrame:
    """Return one row per NAAN, guarantor and level of a commitment or placeholder; the most frequent first."""
    is_made = frames.verdicts["commitment"].isin([CommitmentOutcome.STATED, CommitmentOutcome.PLACEHOLDER])
    rows = frames.verdicts.loc[is_made, ["ark_id", "naan", "commitment", "commitment_parsed"]]
    promises = rows["commitment_parsed"]
    rows = rows.assign(
        outcome=rows["commitment"].astype("str"),
        guarantor=first_commitment_field(promises, "who", "guarantor"),
        level=first_commitment_field(promises, "level"),
        words=first_commitment_field(promises, "permanence", "what"),
        since=first_commitment_field(promises, "since", "when"),
    )
    by = ["naan", "outcome", "guarantor", "level", "words"]
    rows = rows.fillna(dict.fromkeys(by, ""))
    table = rows.groupby(by).agg(arks=("ark_id", "nunique"))
    table = table.assign(since=tally(rows, by, "since", most=3)).reset_index()
    table = in_order(table.replace("", None).fillna({"since": ""}), "-arks", *by)
    return table.assign(grouping="promise", service="commitment", given=table["outcome"].eq(CommitmentOutcome.STATED))


SERVICES = TableDefinition(
    "services",
    "The three services",
    "An ARK gives access to its object, its metadata and a statement of commitment. For all ARKs: one row "
    "per answer, each ARK with its best answer, and one per level, the number of services provided. For each "
    "resolver: one row per inflection and answer. For commitments: one row per NAAN, guarantor and "
    "statement, as claimed; an unfilled template is a placeholder and claims nothing.",
    services,
    (
        token_column("grouping", "kind of group: all, resolver or promise"),
        token_column("service", "object, metadata, commitment, or level for all three"),
        token_column("outcome", "outcome of that service; for a level, the number of services provided, or unknown"),
        truth_column("given", "true if this outcome means that the service is provided"),
        ARKS_COLUMN,
        share_column("share", "for a level: these ARKs / all ARKs; empty without ARKs"),
        text_column("meaning", "the outcome in words", is_ours=True),
        text_column("resolver", "host that was asked"),
        token_column("question", "inflection that was sent: ?info, ?? or ?"),
        text_column("statuses", "HTTP statuses, or failures, by number of URLs, the most frequent first"),
        text_column("media_types", "media types of the answers, by number of URLs, the most frequent first"),
        text_column("answered_by", "hosts that gave the last answer, by number of URLs; at most three"),
        url_column("example", "one of the URLs that were asked"),
        NAAN_COLUMN,
        GUARANTOR_COLUMN,
        text_column("level", "level of permanence that the words name (draft-kunze-ark-38, 5.1.1)"),
        text_column("words", "permanence in the commitment, in the provider's words"),
        text_column("since", "dates of the commitment, by number of URLs; three at most"),
    ),
)
