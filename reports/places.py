"""The tables that group ARKs by where they are: shoulder, landing host, section of a site."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

import pandas as pd

from crawler.model.observations import CommitmentOutcome
from reports.ark_statuses import FAMILY_COLUMNS, SERVICES, ark_statuses, best, family_counts
from reports.definitions import (
    ARKS_COLUMN,
    CITATIONS_COLUMN,
    COUNT,
    DOCUMENTS_COLUMN,
    FAMILY_COUNT_COLUMNS,
    NAAN_COLUMN,
    NUMBER,
    ORGANIZATION_COLUMN,
    SHARE_COLUMN,
    TEXT,
    TRUTH,
    Column,
    TableDefinition,
)
from reports.distinct import host, hosts_of, mapped, tallied
from reports.frames import Frames
from reports.overviews import organizations, share, with_counts

_FAMILIES = list(FAMILY_COLUMNS.values())
_MOST = 3


def shoulders(frames: Frames) -> pd.DataFrame:
    """One row per NAAN and shoulder; ordered by the number of ARKs, the greatest first, then by NAAN and shoulder."""
    ark_states = ark_statuses(frames)
    ark_states = ark_states.assign(shoulder=ark_states["shoulder"].fillna(""))
    by = ["naan", "shoulder"]
    counts = family_counts(ark_states, by)
    committed = ark_states["commitment"].eq(CommitmentOutcome.STATED)
    promised = ark_states.assign(committed=committed).groupby(by)["committed"].sum().astype("Int64").reset_index()
    named = frames.arks[["ark_id", "shoulder"]].assign(shoulder=frames.arks["shoulder"].fillna(""))
    cited = frames.mentions[["ark_id", "naan", "citation_id", "document_id"]].merge(named, on="ark_id").groupby(by)
    citations = cited.agg(citations=("citation_id", "nunique"), documents=("document_id", "nunique")).reset_index()
    rows = counts.merge(promised, on=by).merge(citations, on=by, how="left")
    known = frames.registered[frames.registered["shoulder"].ne("")]
    rows = rows.merge(known[[*by, "organization"]], on=by, how="left")
    rows = with_counts(rows, ["citations", "documents", "committed"]).assign(
        organization=rows["organization"].fillna(organizations(frames, rows["naan"])).astype("str"),
        registered=rows[by].apply(tuple, axis=1).isin(list(known[by].itertuples(index=False, name=None)))
        if len(rows)
        else pd.array([], dtype="boolean"),
        share_works=share(rows["works"], rows["works"] + rows["fails"]),
    )
    rows = rows.astype({"registered": "boolean"})
    ordered = rows.sort_values(["arks", *by], ascending=[False, True, True], ignore_index=True)
    return SHOULDERS.shaped(ordered)


def landing_hosts(frames: Frames) -> pd.DataFrame:
    """One row per host where the object's chain ended with an answer; ordered by ARKs, the greatest first, then host.

    An ARK counts once per host, with its best outcome there; one that ends at two hosts counts at each.
    """
    verdicts = frames.verdicts[["ark_id", "naan", "request_url", "final_url", "hop_count", *SERVICES]]
    landed = verdicts[verdicts["final_url"].notna()]
    landed = landed.assign(host=hosts_of(landed["final_url"]), resolver=hosts_of(landed["request_url"]))
    texts = pd.DataFrame({of: tallied(landed, ["host"], of[:-1], most=_MOST) for of in ("resolvers", "naans")})
    texts = texts.rename_axis("host").reset_index()
    means = landed.assign(mean_redirects=landed["hop_count"].astype("Float64")).groupby("host")["mean_redirects"]
    rows = family_counts(best(landed, ["host", "ark_id"]), "host").merge(texts, on="host")
    rows = rows.merge(means.mean().round(2).reset_index(), on="host")
    rows = rows.assign(share_works=share(rows["works"], rows["works"] + rows["fails"]))
    rows = rows.astype({"resolvers": "str", "naans": "str"})
    ordered = rows.sort_values(["arks", "host"], ascending=[False, True], ignore_index=True)
    return LANDING_HOSTS.shaped(ordered)


def sections(frames: Frames) -> pd.DataFrame:
    """One row per section; ordered by the number of ARKs that fail, the greatest first, then by section.

    An ARK counts once per section, with the best outcome of the URLs that are cited there.
    """
    documents = frames.documents.assign(section=mapped(frames.documents["url"], section))
    cited = frames.mentions[["document_id", "citation_id", "ark_id", "request_url"]]
    cited = cited.merge(documents[["document_id", "section"]], on="document_id")
    outcomes = frames.verdicts[["ark_id", "request_url", *SERVICES]]
    judged = cited.merge(outcomes, on=["ark_id", "request_url"], how="left")
    read = documents.groupby("section").agg(documents=("document_id", "size")).astype("Int64").reset_index()
    citing = cited.groupby("section").agg(
        citations=("citation_id", "nunique"), citing_documents=("document_id", "nunique")
    )
    rows = read.merge(citing.reset_index(), on="section", how="left")
    rows = rows.merge(family_counts(best(judged, ["section", "ark_id"]), "section"), on="section", how="left")
    rows = with_counts(rows, ["citations", "citing_documents", "arks", *_FAMILIES])
    rows = rows.assign(share_works=share(rows["works"], rows["works"] + rows["fails"]))
    ordered = rows.sort_values(["fails", "section"], ascending=[False, True], ignore_index=True)
    return SECTIONS.shaped(ordered)


def section(document: str) -> str:
    """The part of a site, or the folder, that a document stands in: its host and the first step of its path.

    >>> section("https://library.example/maps/vaux/1.html"), section("https://library.example/guide.html")
    ('library.example/maps/', 'library.example/')
    >>> section("papers/thesis.pdf"), section("https://[broken/x")
    ('papers/', 'https://[broken/')
    """
    try:
        parts = urlsplit(document)
    except ValueError:
        return document.rpartition("/")[0] + "/"
    if parts.scheme not in ("http", "https"):
        return document.rpartition("/")[0] + "/"
    first, slash, _ = parts.path.lstrip("/").partition("/")
    return f"{host(document)}/{first}/" if slash else f"{host(document)}/"


SHOULDERS: Final = TableDefinition(
    "shoulders",
    "By shoulder",
    "One row per NAAN and shoulder: the first characters of a name, up to and with its first digit, by which "
    "collections are counted apart. Each ARK counts once, with its best outcome.",
    shoulders,
    (
        NAAN_COLUMN,
        Column("shoulder", TEXT, "shoulder; empty for names that have none"),
        ORGANIZATION_COLUMN,
        Column("registered", TRUTH, "whether the copy of the NAAN registry has this very shoulder"),
        ARKS_COLUMN,
        CITATIONS_COLUMN,
        DOCUMENTS_COLUMN,
        *FAMILY_COUNT_COLUMNS,
        Column("committed", COUNT, "ARKs for which a commitment is stated", "ARKs"),
        SHARE_COLUMN,
    ),
)

LANDING_HOSTS: Final = TableDefinition(
    "landing_hosts",
    "By landing host",
    "One row per host where ARKs finally land. An ARK counts once per host, with its best outcome there; one that "
    "ends at several hosts counts at each.",
    landing_hosts,
    (
        Column("host", TEXT, "host that gave the last answer, with its port unless it is the default one"),
        ARKS_COLUMN,
        *FAMILY_COUNT_COLUMNS,
        SHARE_COLUMN,
        Column("resolvers", TEXT, "the three hosts that led here most often, with their number of URLs"),
        Column("naans", TEXT, "the three NAANs that land here most often, with their number of URLs"),
        Column("mean_redirects", NUMBER, "mean number of redirects on the way here", "redirects"),
    ),
)

SECTIONS: Final = TableDefinition(
    "sections",
    "By site section",
    "One row per section: a host and the first step of the path, or the folder of a file. Each ARK counts once "
    "per section, with the best outcome of the URLs that are cited there.",
    sections,
    (
        Column("section", TEXT, "host and first step of the path, or folder"),
        Column("documents", COUNT, "documents of the section that were asked for", "documents"),
        Column("citing_documents", COUNT, "documents of the section that cite an ARK", "documents"),
        CITATIONS_COLUMN,
        ARKS_COLUMN,
        *FAMILY_COUNT_COLUMNS,
        SHARE_COLUMN,
    ),
)
