"""The tables of requests by host, and of everything that an audit left out on purpose."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from crawler.model.observations import ChainEnd, Family, ObjectOutcome, Question
from crawler.model.resolving import REFUSING_STATUSES
from crawler.sources.links import WORDS, Rule, parse_refusal
from extractors.model.urls import authority_of
from reports.store.frames import Frames
from reports.tables.ark_statuses import ark_statuses
from reports.tables.definitions import (
    PAIR,
    TableDefinition,
    count_column,
    hosts_of,
    moment_column,
    number_column,
    rows_of,
    tally,
    text_column,
    token_column,
)
from reports.tables.overviews import HELD_BACK, own, sent_hops

#: Findings about documents that were not read completely, and about crawls that ended early.
LIMITS = (
    "cut-off",
    "time-limit",
    "page-limit",
    "source-limit",
    "log-limit",
    "incomplete",
    "undecodable",
    "not-fetched",
    "nofollow-page",
    "max-pages",
    "max-time",
)
_NOT_ASKED = "its host seemed dead, or asked for a longer pause than the maximum; see requests.csv"
#: The purpose of a question; all other questions test resolvers.
_PURPOSES = {
    Question.OBJECT.value: "objects",
    **dict.fromkeys((Question.INFO.value, Question.DOUBLE.value, Question.SINGLE.value), "descriptions"),
}
_HELD_BACK = {
    ObjectOutcome.SKIPPED: "examples and tests are recorded and never requested",
    ObjectOutcome.ROBOTS: "its robots.txt asks programs not to",
    ObjectOutcome.REFUSED_ADDRESS: "the address lies in a private network",
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


def left_out(frames: Frames) -> pd.DataFrame:
    """Return one row per reason and place; ordered by reason, then by number, the largest first, then by place."""
    # Links that the crawl did not follow (traps, nofollow), by the host of their page.
    refused = [
        (kind, "link", authority_of(subject), link_words[1], WORDS[Rule(kind)], link_words[0])
        for kind, subject, detail in rows_of(frames.findings[["kind", "subject", "detail"]])
        if (link_words := parse_refusal(kind, detail))
    ]
    texts = ["reason", "what", "place", "example", "note"]
    links = pd.DataFrame(refused, columns=[*texts, "count"])
    links = links.astype({**dict.fromkeys(texts, "str"), "count": "int64"})
    parts = pd.concat([*_items_not_requested(frames), *_cut_short(frames), links], ignore_index=True)
    return parts.groupby(["reason", "what", "place", "note"], as_index=False).agg(
        number=("count", "sum"), example=("example", "min")
    )


def _rows(examples: pd.Series, what: str, reason: Any, note: Any, place: pd.Series | None = None) -> pd.DataFrame:
    """Return one row per item left out; its place is the host of the example by default."""
    places = hosts_of(examples) if place is None else place
    columns = {"reason": reason, "what": what, "place": places, "example": examples, "note": note}
    return pd.DataFrame(columns, index=examples.index).astype("str").assign(count=1)


def _items_not_requested(frames: Frames) -> Iterator[pd.DataFrame]:
    """Yield items that were not requested: ARKs, by NAAN for examples, else by host; and documents."""
    notes = {str(outcome): note for outcome, note in _HELD_BACK.items()}
    arks = own(frames, frames.verdicts)
    arks = arks[arks["object"].isin(list(notes))]
    naans = "NAAN " + arks["naan"]
    places = naans.where(arks["object"].eq(ObjectOutcome.SKIPPED), hosts_of(arks["request_url"]))
    reasons = arks["object"].astype("str")
    yield _rows(arks["request_url"], "ARK", reasons, reasons.map(notes), places)
    documents = frames.documents[frames.documents["outcome"].isin(list(notes))]
    reasons = documents["outcome"].astype("str")
    yield _rows(documents["url"], "document", reasons, reasons.map(notes))


def _cut_short(frames: Frames) -> Iterator[pd.DataFrame]:
    """Yield documents and answers read in part, chains given up, and questions not sent."""
    findings = frames.findings[frames.findings["kind"].isin(LIMITS)]
    yield _rows(findings["subject"], "document", findings["kind"], "see findings.csv")
    of_answer = ["run_id", "chain_end", "status", "body_complete", "asked_url", "final_url"]
    asked = own(frames, frames.observations[of_answer])
    cut = asked[~asked["body_complete"] & asked["status"].notna()]
    given_up = asked[asked["chain_end"].eq(ChainEnd.TOO_MANY_REDIRECTS)]
    for rows, reason, note in (
        (cut, "body-limit", "the answer was read only in part"),
        (given_up, "redirect-limit", "more redirects than would be followed"),
    ):
        yield _rows(rows["asked_url"], "answer", reason, note, hosts_of(rows["final_url"]))
    hops = own(frames, frames.hops[["run_id", "sent", "url"]])
    unsent = hops.loc[~hops["sent"].fillna(True).astype(bool), "url"]
    yield _rows(unsent, "question", "not-asked", _NOT_ASKED)


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

LEFT_OUT = TableDefinition(
    "left_out",
    "Left out, with reasons",
    "One row per reason and place: items not requested, not followed, read only in part, or given up.",
    left_out,
    (
        token_column("reason", "why: an object outcome, the limit that was hit, or the rule that refused a link"),
        token_column("what", "ARK, document, answer, question or link"),
        text_column("place", "NAAN or host; of a link, the host of its page"),
        count_column("number", "number counted", "ARKs, documents, answers, questions or links"),
        text_column("example", "one of them"),
        text_column("note", "the reason in words"),
    ),
    order=("reason", "what", "-number", "place"),
)
