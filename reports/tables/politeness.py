"""The table of requests by host."""

from __future__ import annotations

import pandas as pd

from crawler.model.observations import Family, ObjectOutcome, Question
from crawler.model.resolving import REFUSING_STATUSES
from reports.store.frames import Frames
from reports.tables.ark_statuses import ark_statuses
from reports.tables.definitions import (
    PAIR,
    TableDefinition,
    count_column,
    hosts_of,
    moment_column,
    number_column,
    tally,
    text_column,
)
from reports.tables.overviews import HELD_BACK, sent_hops

#: The purpose of a question; all other questions test resolvers.
_PURPOSES = {
    Question.OBJECT.value: "objects",
    **dict.fromkeys((Question.INFO.value, Question.DOUBLE.value, Question.SINGLE.value), "descriptions"),
}


def hosts(frames: Frames) -> pd.DataFrame:
    """Return one row per host that was contacted."""
    columns = ["url", "status", "retry_after", "at", "elapsed_s"]
    hops, fetches = sent_hops(frames, ["question", *columns]), frames.fetches
    held_back = fetches["outcome"].isin(HELD_BACK) & fetches["status"].isna()
    fetches = fetches.loc[fetches["url"].notna() & ~held_back, columns]
    purposes = hops["question"].astype("str").map(_PURPOSES).fillna("controls")
    sent = pd.concat([hops[columns].assign(purpose=purposes), fetches.assign(purpose="documents")], ignore_index=True)
    status = sent["status"].fillna(0)
    counted = {
        **{name: sent["purpose"].eq(name) for name in ("documents", "objects", "descriptions", "controls")},
        "refused": status.isin(REFUSING_STATUSES),
        "server_errors": status.between(500, 599),
        "no_answer": sent["status"].isna(),
        "pauses_asked": sent["retry_after"].notna(),
    }
    rows = (
        sent.assign(host=hosts_of(sent["url"]), **counted)
        .groupby("host", as_index=False)
        .agg(
            requests=("url", "size"),
            **{name: (name, "sum") for name in counted},
            first_at=("at", "min"),
            last_at=("at", "max"),
            mean_s=("elapsed_s", "mean"),
        )
    )
    # A host contacted only for its robots.txt or its certificate counts as well.
    was_asked = frames.traffic["requests"].fillna(0).gt(0) | frames.traffic["given_up"].notna()
    traffic = frames.traffic[was_asked]
    treatment = traffic.groupby(hosts_of(traffic["host"])).agg(
        all_requests=("requests", "sum"),
        interval_s=("interval_s", "max"),
        crawl_delay_s=("crawl_delay_s", "max"),
        given_up=("given_up", "first"),
    )
    kept = frames.pauses[frames.pauses["is_kept"].fillna(False)]
    pauses = kept.groupby(hosts_of(kept["host"])).agg(pauses_kept=("asked_s", "size"), paused_s=("asked_s", "sum"))
    rows = rows.merge(treatment.reset_index(), on="host", how="outer")
    rows = rows.merge(pauses.reset_index(), on="host", how="left")
    rows = rows.merge(_blocked_arks(frames), on="host", how="outer")
    zeros = ["requests", *counted, "pauses_kept", "paused_s", "arks_not_judged"]
    rows = rows.fillna(dict.fromkeys(zeros, 0))
    # Stores from before 0.1 lack the total count, and a killed process loses the counts of its last moments.
    all_requests = rows[["all_requests", "requests"]].astype("Int64").max(axis="columns")
    return rows.assign(all_requests=all_requests, mean_s=rows["mean_s"].astype("Float64").round(3))


def _blocked_arks(frames: Frames) -> pd.DataFrame:
    """Return one row per host that refuses programs: number of ARKs that could not be judged, and its answers."""
    statuses = ark_statuses(frames)
    is_judged = statuses["family"].isin([Family.WORKS, Family.FAILS])
    rows = frames.verdicts[frames.verdicts["object"].eq(ObjectOutcome.BLOCKED)]
    rows = rows[~rows["ark_id"].isin(statuses.loc[is_judged, "ark_id"])]
    rows = rows.assign(host=hosts_of(rows["final_url"].fillna(rows["request_url"])))
    asked = frames.observations[frames.observations["question"].eq(Question.OBJECT)]
    tries = rows[["run_id", *PAIR, "host", "object_evidence"]].merge(
        asked[["run_id", *PAIR, "status", "chain_end"]], on=["run_id", *PAIR]
    )
    check = tries["object_evidence"].str.extract(_CHECK, expand=False)
    status = ("answered " + tries["status"].astype("str")).where(tries["status"].notna())
    tries = tries.assign(how=check.fillna(status).fillna(tries["chain_end"].astype("str")))
    counts = rows.groupby("host").agg(arks_not_judged=("ark_id", "nunique"))
    return counts.assign(tried=tally(tries, ["host"], "how")).reset_index()


#: The part of a verdict's evidence that names a challenge page.
_CHECK = r"(a robot check: [^;]+)"


HOSTS = TableDefinition(
    "hosts",
    "Requests by host",
    "One row per contacted host: number and purpose of the requests, including redirects, the throttling, "
    "and the answers.",
    hosts,
    (
        text_column("host", "host that was asked, with its port unless it is the default one"),
        count_column(
            "requests",
            "requests that went out to it, without robots.txt and certificate probes",
            "requests",
            varies=True,
        ),
        count_column("documents", "of these, for documents", "requests"),
        count_column("objects", "of these, for the objects of ARKs as cited", "requests", varies=True),
        count_column("descriptions", "of these, with ?info, ?? or ?", "requests", varies=True),
        count_column(
            "controls",
            "of these, for names that can't exist, and for other ways and spellings",
            "requests",
            varies=True,
        ),
        count_column("refused", "answers with a status that refuses access", "requests", varies=True),
        count_column("server_errors", "answers from 500 to 599", "requests", varies=True),
        count_column("no_answer", "requests without an answer", "requests", varies=True),
        count_column("pauses_asked", "answers with Retry-After", "requests", varies=True),
        count_column("pauses_kept", "pauses of the requested length before further requests", "pauses", varies=True),
        number_column("paused_s", "total requested length of these pauses", "seconds", varies=True),
        count_column(
            "all_requests",
            "all requests, including those for robots.txt and certificates, and those of a killed process",
            "requests",
            varies=True,
        ),
        number_column("interval_s", "shortest interval between two requests, without back-off", "seconds"),
        number_column("crawl_delay_s", "interval in its robots.txt; empty without one", "seconds"),
        count_column(
            "arks_not_judged",
            "ARKs that could not be checked because the host refuses programs (outcome blocked)",
            "ARKs",
        ),
        text_column("tried", "its answers to requests for these ARKs, the most frequent first", varies=True),
        text_column("given_up", "why requests to it were stopped; empty if they were not", varies=True),
        moment_column("first_at", "moment of its first answer or failure", varies=True),
        moment_column("last_at", "moment of its last one", varies=True),
        number_column("mean_s", "mean time from a request to its answer", "seconds", varies=True),
    ),
    order=("-requests", "host"),
)
