"""The tables that group ARKs by NAAN, resolver and document. An ARK counts once per group."""

from __future__ import annotations

import pandas as pd

from crawler.model.observations import DESCRIBED, ChainEnd, CommitmentOutcome, DocumentOutcome, Question
from extractors.model.naan import SHARED_NAANS
from extractors.model.urls import authority_of
from reports.store.frames import Frames
from reports.store.typed_columns import JOINT
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
from reports.tables.definitions import hosts_of, map_parsed, published, tally
from reports.tables.wording import naan_policy_words

#: Ends of chains whose last request was not sent.
HELD_BACK = [ChainEnd.ROBOTS, ChainEnd.REFUSED_ADDRESS]
#: Number of hosts and NAANs named in a row, and of shoulders.
_MOST, _MOST_SHOULDERS = 3, 10


def naans(frames: Frames) -> pd.DataFrame:
    """Return one row per NAAN."""
    statuses = ark_statuses(frames)
    statuses = statuses.assign(
        outcome=statuses["object"].astype("str").fillna("not asked"),
        described=statuses["metadata"].isin(DESCRIBED),
        committed=statuses["commitment"].eq(CommitmentOutcome.STATED),
    )
    services = statuses.groupby("naan")[["described", "committed"]].sum()
    rows = family_counts(statuses, "naan").merge(services, on="naan")
    rows = rows.merge(citation_counts(frames.mentions, "naan"), on="naan", how="left")
    rows = with_purposes(with_counts(rows, ["citations", "documents"]))
    # Those of shoulders, too.
    words = map_parsed(frames.verdicts["naan_policy"], naan_policy_words)
    policies = frames.verdicts[["naan"]].assign(policy=words).dropna().drop_duplicates().sort_values("policy")
    return rows.assign(
        organization=organizations_of(frames.registered, rows["naan"]),
        shoulders=rows["naan"].map(tally(statuses, ["naan"], "shoulder", most=_MOST_SHOULDERS)),
        outcomes=rows["naan"].map(tally(statuses, ["naan"], "outcome")),
        remarks=findings_about(frames, "NAAN " + rows["naan"]),
        policy=rows["naan"].map(policies.groupby("naan")["policy"].agg(JOINT.join)).astype("str"),
    )


def with_purposes(rows: pd.DataFrame) -> pd.DataFrame:
    """Return *rows* with the purpose of each shared NAAN; missing for other NAANs."""
    purposes = [
        (naan, shared.purpose, shared.expected_to_resolve, shared.long_term_reference)
        for naan, shared in SHARED_NAANS.items()
    ]
    columns = ["naan", "purpose", "expected_to_resolve", "long_term_reference"]
    return rows.merge(pd.DataFrame(purposes, columns=columns), on="naan", how="left")


def resolvers(frames: Frames) -> pd.DataFrame:
    """Return one row per host that was requested first, then one per host where chains ended.

    An ARK counts once per host, with its best outcome there; an ARK at two hosts counts at each.
    """
    verdicts = frames.verdicts.assign(
        asked=hosts_of(frames.verdicts["request_url"]),
        landed=hosts_of(frames.verdicts["final_url"]),
        answer=frames.verdicts["metadata"].astype("str"),
    )
    asked = _by_host(verdicts, "asked", info_answers=("answer", None), landing_hosts=("landed", _MOST))
    asks = frames.observations[frames.observations["question"].eq(Question.OBJECT)]
    urls = sent_hops(frames, ["url"])["url"]
    is_plain = ~urls.str.match("https:", case=False).astype("boolean")
    http_only = is_plain.groupby(hosts_of(urls)).all()
    addresses = zip(frames.tls["host"], frames.tls["port"], strict=True)
    probed = [authority_of(f"https://{name}:{port}") for name, port in addresses]
    certificates = pd.DataFrame({"host": pd.Series(probed, dtype="str"), "tls": frames.tls["reason"]})
    asked = asked.assign(
        role="resolver",
        mean_redirects=_mean_redirects(asked, asks, asks["request_url"]),
        http_only=asked["host"].map(http_only).astype("boolean"),
    )
    asked = asked.merge(certificates, on="host", how="left")
    ended = verdicts[verdicts["final_url"].notna()]
    landed = _by_host(ended, "landed", resolvers=("asked", _MOST), naans=("naan", _MOST))
    landed = landed.assign(role="landing", mean_redirects=_mean_redirects(landed, ended, ended["final_url"]))
    return pd.concat([asked, landed], ignore_index=True)


def _by_host(verdicts: pd.DataFrame, column: str, **tallies: tuple[str, int | None]) -> pd.DataFrame:
    """Return the ARKs of each host in *column* by family, with tallies of other columns."""
    rows = verdicts.rename(columns={column: "host"})
    counts = family_counts(best(rows, ["host", "ark_id"]), "host")
    for name, (of, most) in tallies.items():
        texts = tally(rows[rows[of].fillna("").ne("")], ["host"], of, most=most)
        counts = counts.assign(**{name: counts["host"].map(texts)})
    return counts


def documents(frames: Frames) -> pd.DataFrame:
    """Return one row per document. An ARK is judged by the URLs that this document cites."""
    mentions = judged_mentions(frames, *SERVICES)
    counts = (
        _cited_in(mentions, "document_id"),
        mentions["repairs"].fillna("").ne("").groupby(mentions["document_id"]).sum().rename("repaired"),
    )
    rows = frames.documents.rename(columns={"url": "document"})
    rows["led_to"] = rows["final_url"].where(rows["outcome"].eq(DocumentOutcome.REDIRECTED))
    for columns in counts:
        rows = rows.merge(columns, on="document_id", how="left")
    return with_counts(rows, ["citations", "arks", *FAMILY_COLUMNS.values(), "repaired"]).assign(
        findings=findings_about(frames, rows["document"])
    )


def _cited_in(mentions: pd.DataFrame, by: str) -> pd.DataFrame:
    """Return the citations in each group of judged mentions, and ARKs by their best outcome there."""
    arks = family_counts(best(mentions, [by, "ark_id"]), by)
    return citation_counts(mentions, by).merge(arks, on=by)


def organizations_of(registered: pd.DataFrame, naans: pd.Series) -> pd.Series:
    """Return the registry's organization for each of *naans*; missing for shared NAANs."""
    names = registered.set_index("naan")["organization"]
    return naans.map(names).where(~naans.isin(list(SHARED_NAANS))).astype("str")


def sent_hops(frames: Frames, columns: list[str]) -> pd.DataFrame:
    """Return the hops that were sent in this run: not those held back by robots.txt, a private address or a dead host."""
    hops = frames.hops
    held_back = hops["chain_end"].isin(HELD_BACK) & hops["status"].isna()
    is_own = hops["run_id"].isin(frames.run["run_id"])
    return hops.loc[is_own & ~held_back & hops["sent"].fillna(True).astype(bool), columns]


def own(frames: Frames, rows: pd.DataFrame) -> pd.DataFrame:
    """Return those of *rows* that belong to this run, without those of earlier runs."""
    return rows[rows["run_id"].isin(frames.run["run_id"])]


def _mean_redirects(counts: pd.DataFrame, rows: pd.DataFrame, urls: pd.Series) -> pd.Series:
    """Return the mean number of redirects in *rows* for the host of each of *counts*."""
    means = rows["hop_count"].astype("Float64").groupby(hosts_of(urls)).mean()
    return counts["host"].map(means.round(2))


NAANS = published("naans", naans)

RESOLVERS = published("resolvers", resolvers)

DOCUMENTS = published("documents", documents)
