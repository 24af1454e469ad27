"""The tables that group ARKs by NAAN, resolver and document, and requests by host. An ARK counts once per group."""

from __future__ import annotations

from dataclasses import asdict

import pandas as pd

from crawler.model.observations import ChainEnd, DocumentOutcome, Family, ObjectOutcome, Question
from crawler.model.resolving import REFUSING_STATUSES
from extractors.model.naan import SHARED_NAANS
from reports.store.frames import Frames
from reports.store.typed_columns import JOINT
from reports.tables.actions import failures
from reports.tables.ark_statuses import (
    FAMILY_COLUMNS,
    SERVICES,
    ark_statuses,
    best,
    citation_counts,
    family_counts,
    findings_about,
    judged_mentions,
    with_counts,
)
from reports.tables.definitions import PAIR, hosts_of, map_parsed, tally
from reports.tables.wording import naan_policy_words

#: Ends of chains whose last request was not sent.
HELD_BACK = [ChainEnd.ROBOTS, ChainEnd.REFUSED_ADDRESS]
#: Number of hosts and NAANs named in a row, and of shoulders.
_MOST, _MOST_SHOULDERS = 3, 10


def naans(frames: Frames) -> pd.DataFrame:
    """Return one row per NAAN of cited or judged ARKs: numbers of ARKs by family, services, organization and policy."""
    statuses = ark_statuses(frames)
    statuses = statuses.assign(outcome=statuses["object"].astype("str").fillna("not asked"))
    service_counts = statuses.groupby("naan")[["described", "committed"]].sum()
    rows = family_counts(statuses, "naan").merge(service_counts, on="naan")
    rows = rows.merge(citation_counts(frames.mentions, "naan"), on="naan", how="left")
    rows = with_counts(rows, ["citations", "documents"])
    rows = rows.merge(pd.DataFrame(map(asdict, SHARED_NAANS.values())), on="naan", how="left")
    organizations = rows["naan"].map(frames.registered.set_index("naan")["organization"])
    # Those of shoulders, too.
    policy_texts = map_parsed(frames.verdicts["naan_policy"], naan_policy_words)
    policies = frames.verdicts[["naan"]].assign(policy=policy_texts).dropna().drop_duplicates().sort_values("policy")
    return rows.assign(
        organization=organizations.where(~rows["naan"].isin(list(SHARED_NAANS))).astype("str"),
        shoulders=rows["naan"].map(tally(statuses, ["naan"], "shoulder", most=_MOST_SHOULDERS)),
        outcomes=rows["naan"].map(tally(statuses, ["naan"], "outcome")),
        remarks=findings_about(frames, "NAAN " + rows["naan"]),
        policy=rows["naan"].map(policies.groupby("naan")["policy"].agg(JOINT.join)).astype("str"),
    )


def resolvers(frames: Frames) -> pd.DataFrame:
    """Return one row per host that was requested first, then one per host where chains ended.

    An ARK counts once per host, with its best outcome there; an ARK at two hosts counts at each.
    """
    verdicts = frames.verdicts.assign(
        asked=hosts_of(frames.verdicts["request_url"]),
        landed=hosts_of(frames.verdicts["final_url"]),
        answer=frames.verdicts["metadata"].astype("str"),
    )
    first_hosts = _by_host(verdicts, "asked", info_answers=("answer", None), landing_hosts=("landed", _MOST))
    object_requests = frames.observations[frames.observations["question"].eq(Question.OBJECT)]
    urls = sent_hops(frames, ["url"])["url"]
    is_http = ~urls.str.match("https:", case=False).astype("boolean")
    http_only = is_http.groupby(hosts_of(urls)).all()
    first_hosts = first_hosts.assign(
        role="resolver",
        mean_redirects=_mean_redirects(first_hosts, object_requests, object_requests["request_url"]),
        http_only=first_hosts["host"].map(http_only).astype("boolean"),
    )
    answered_verdicts = verdicts[verdicts["final_url"].notna()]
    landing_hosts = _by_host(answered_verdicts, "landed", resolvers=("asked", _MOST), naans=("naan", _MOST))
    landing_hosts = landing_hosts.assign(
        role="landing", mean_redirects=_mean_redirects(landing_hosts, answered_verdicts, answered_verdicts["final_url"])
    )
    return pd.concat([first_hosts, landing_hosts], ignore_index=True)


def _by_host(verdicts: pd.DataFrame, column: str, **tallies: tuple[str, int | None]) -> pd.DataFrame:
    """Return one row per host in *column*: numbers of ARKs by family, and *tallies*.

    *tallies* has, by name of the result, the column to tally and the largest number of values, or None for all.
    """
    rows = verdicts.rename(columns={column: "host"})
    counts = family_counts(best(rows, ["host", "ark_id"]), "host")
    for name, (tallied_column, most) in tallies.items():
        texts = tally(rows[rows[tallied_column].fillna("").ne("")], ["host"], tallied_column, most=most)
        counts = counts.assign(**{name: counts["host"].map(texts)})
    return counts


def documents(frames: Frames) -> pd.DataFrame:
    """Return one row per document: numbers of citations, ARKs by family at the URLs that the document cites, repairs."""
    mentions = judged_mentions(frames, *SERVICES)
    ark_counts = family_counts(best(mentions, ["document_id", "ark_id"]), "document_id")
    repaired_counts = mentions["repairs"].fillna("").ne("").groupby(mentions["document_id"]).sum().rename("repaired")
    to_fix = failures(frames).groupby("document_id").size().rename("to_fix")
    rows = frames.documents.rename(columns={"url": "document"})
    for counts in (citation_counts(mentions, "document_id"), ark_counts, repaired_counts, to_fix):
        rows = rows.merge(counts, on="document_id", how="left")
    return with_counts(rows, ["citations", "arks", *FAMILY_COLUMNS.values(), "repaired", "to_fix"]).assign(
        led_to=rows["final_url"].where(rows["outcome"].eq(DocumentOutcome.REDIRECTED)),
        findings=findings_about(frames, rows["document"]),
    )


def sent_hops(frames: Frames, columns: list[str]) -> pd.DataFrame:
    """Return *columns* of the hops sent in this run, not of those that robots.txt or an unusable host held back."""
    hops = frames.hops
    is_held_back = hops["chain_end"].isin(HELD_BACK) & hops["status"].isna()
    is_own = hops["run_id"].isin(frames.run["run_id"])
    return hops.loc[is_own & ~is_held_back & hops["sent"].fillna(True).astype(bool), columns]


def _mean_redirects(host_rows: pd.DataFrame, rows: pd.DataFrame, urls: pd.Series) -> pd.Series:
    """Return the mean `hop_count` of *rows*, whose URLs are *urls*, for the host of each of *host_rows*."""
    means = rows["hop_count"].astype("Float64").groupby(hosts_of(urls)).mean()
    return host_rows["host"].map(means.round(2))


#: The purpose of a question; all other questions test resolvers.
_PURPOSES = {
    Question.OBJECT.value: "objects",
    **dict.fromkeys((Question.INFO.value, Question.DOUBLE.value, Question.SINGLE.value), "descriptions"),
}


def hosts(frames: Frames) -> pd.DataFrame:
    """Return one row per contacted host: requests by purpose and answer, their times, and pauses."""
    columns = ["url", "status", "retry_after", "at", "elapsed_s"]
    hops, fetches = sent_hops(frames, ["question", *columns]), frames.fetches
    is_held_back = fetches["outcome"].isin(HELD_BACK) & fetches["status"].isna()
    fetches = fetches.loc[fetches["url"].notna() & ~is_held_back, columns]
    purposes = hops["question"].astype("str").map(_PURPOSES).fillna("controls")
    requests = pd.concat(
        [hops[columns].assign(purpose=purposes), fetches.assign(purpose="documents")], ignore_index=True
    )
    statuses = requests["status"].fillna(0)
    request_classes = {
        **{name: requests["purpose"].eq(name) for name in ("documents", "objects", "descriptions", "controls")},
        "refused": statuses.isin(REFUSING_STATUSES),
        "server_errors": statuses.between(500, 599),
        "no_answer": requests["status"].isna(),
        "pauses_asked": requests["retry_after"].notna(),
    }
    rows = (
        requests.assign(host=hosts_of(requests["url"]), **request_classes)
        .groupby("host", as_index=False)
        .agg(
            requests=("url", "size"),
            **{name: (name, "sum") for name in request_classes},
            first_at=("at", "min"),
            last_at=("at", "max"),
            mean_s=("elapsed_s", "mean"),
        )
    )
    # A host contacted only for its robots.txt counts as well.
    was_asked = frames.traffic["requests"].fillna(0).gt(0) | frames.traffic["given_up"].notna()
    traffic = frames.traffic[was_asked]
    treatment = traffic.groupby(hosts_of(traffic["host"])).agg(
        all_requests=("requests", "sum"),
        interval_s=("interval_s", "max"),
        crawl_delay_s=("crawl_delay_s", "max"),
        given_up=("given_up", "first"),
    )
    kept_pauses = frames.pauses[frames.pauses["is_kept"].fillna(False)]
    pause_counts = kept_pauses.groupby(hosts_of(kept_pauses["host"])).agg(
        pauses_kept=("asked_s", "size"), paused_s=("asked_s", "sum")
    )
    rows = rows.merge(treatment.reset_index(), on="host", how="outer")
    rows = rows.merge(pause_counts.reset_index(), on="host", how="left")
    rows = rows.merge(_blocked_arks(frames), on="host", how="outer")
    zeros = ["requests", *request_classes, "pauses_kept", "paused_s", "arks_not_judged"]
    rows = rows.fillna(dict.fromkeys(zeros, 0))
    # A killed process loses the total counts of its last moments.
    all_requests = rows[["all_requests", "requests"]].astype("Int64").max(axis="columns")
    return rows.assign(all_requests=all_requests, mean_s=rows["mean_s"].astype("Float64").round(3))


def _blocked_arks(frames: Frames) -> pd.DataFrame:
    """Return one row per host that refuses programs: number of ARKs not judged, and a tally of its answers."""
    statuses = ark_statuses(frames)
    is_judged = statuses["family"].isin([Family.WORKS, Family.FAILS])
    rows = frames.verdicts[frames.verdicts["object"].eq(ObjectOutcome.BLOCKED)]
    rows = rows[~rows["ark_id"].isin(statuses.loc[is_judged, "ark_id"])]
    rows = rows.assign(host=hosts_of(rows["final_url"].fillna(rows["request_url"])))
    object_requests = frames.observations[frames.observations["question"].eq(Question.OBJECT)]
    attempts = rows[["run_id", *PAIR, "host", "object_evidence"]].merge(
        object_requests[["run_id", *PAIR, "status", "chain_end"]], on=["run_id", *PAIR]
    )
    robot_checks = attempts["object_evidence"].str.extract(_CHECK, expand=False)
    status_texts = ("answered " + attempts["status"].astype("str")).where(attempts["status"].notna())
    attempts = attempts.assign(how=robot_checks.fillna(status_texts).fillna(attempts["chain_end"].astype("str")))
    counts = rows.groupby("host").agg(arks_not_judged=("ark_id", "nunique"))
    return counts.assign(tried=tally(attempts, ["host"], "how")).reset_index()


#: The part of a verdict's evidence that names a challenge page.
_CHECK = r"(a robot check: [^;]+)"
