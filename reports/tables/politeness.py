"""The table of requests by host."""

from __future__ import annotations

import pandas as pd

from crawler.model.observations import Family, ObjectOutcome, Question
from crawler.model.resolving import REFUSING_STATUSES
from reports.store.frames import Frames
from reports.tables.ark_statuses import ark_statuses
from reports.tables.definitions import PAIR, hosts_of, published, tally
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


HOSTS = published("hosts", hosts)
