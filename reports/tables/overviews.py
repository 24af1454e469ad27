"""The tables that group ARKs: by NAAN, by resolver, by document. An ARK counts once a group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

import pandas as pd

from crawler.model.observations import DESCRIBED, ChainEnd, CommitmentOutcome, DocumentOutcome, Question
from extractors.model.naan import SHARED_NAANS
from reports.store.frames import Frames
from reports.store.typed_columns import JOINT
from reports.tables.ark_statuses import FAMILY_COLUMNS, SERVICES, ark_statuses, best, citation_counts, family_counts
from reports.tables.definitions import (
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
    TOKEN,
    TRUTH,
    URL,
    Column,
    TableDefinition,
)
from reports.tables.distinct import host, hosts_of, tallied, values_of
from reports.tables.wording import naan_policy_words

_FAMILIES = list(FAMILY_COLUMNS.values())
#: Hosts and NAANs that a row names.
_MOST = 3


def naans(frames: Frames) -> pd.DataFrame:
    """One row per NAAN; ordered by the number of ARKs, the greatest first, then by NAAN."""
    ark_states = ark_statuses(frames)
    ark_states = ark_states.assign(
        described=ark_states["metadata"].isin(DESCRIBED),
        committed=ark_states["commitment"].eq(CommitmentOutcome.STATED),
        outcome=ark_states["object"].astype("str").fillna("not asked"),
    )
    services = ark_states.groupby("naan")[["described", "committed"]].sum().reset_index()
    rows = (
        family_counts(ark_states, "naan")
        .merge(services, on="naan")
        .merge(citation_counts(frames, "naan"), on="naan", how="left")
    )
    rows = with_counts(rows, ["citations", "documents", "described", "committed"])
    rows = (
        with_purposes(rows)
        .assign(
            organization=organizations(frames, rows["naan"]),
            outcomes=rows["naan"].map(tallied(ark_states, ["naan"], "outcome")),
            policy=rows["naan"].map(_policies(frames)).astype("str"),
            share_works=share(rows["works"], rows["works"] + rows["fails"]),
        )
        .sort_values(["arks", "naan"], ascending=[False, True], ignore_index=True)
    )
    return NAANS.shaped(rows)


def with_purposes(rows: pd.DataFrame) -> pd.DataFrame:
    """*rows* with what each shared NAAN is for; nothing for any other NAAN."""
    named = ["purpose", "expected_to_resolve", "long_term_reference"]
    shared = pd.DataFrame(
        {naan: [getattr(shared, name) for name in named] for naan, shared in SHARED_NAANS.items()}, index=named
    ).T
    return rows.merge(shared, left_on="naan", right_index=True, how="left")


def resolvers(frames: Frames) -> pd.DataFrame:
    """One row per host that was asked first, then per host where chains ended; ordered by ARKs, most first, then host.

    An ARK counts once per host, with its best outcome there; one that was asked or ends at two hosts counts at each.
    """
    verdicts = frames.verdicts[["ark_id", "naan", "request_url", "final_url", "hop_count", *SERVICES]]
    verdicts = verdicts.assign(
        asked=hosts_of(verdicts["request_url"]),
        landed=hosts_of(verdicts["final_url"]),
        answer=verdicts["metadata"].astype("str"),
        redirects=verdicts["hop_count"].astype("Float64"),
    )
    asked = _by_host(verdicts, "asked", info_answers=("answer", None), landing_hosts=("landed", _MOST))
    asked = asked.merge(_schemes(frames), on="host", how="left").merge(_certificates(frames), on="host", how="left")
    asked = asked.merge(_mean_redirects(frames), on="host", how="left")
    landed = _by_host(
        verdicts[verdicts["final_url"].notna()], "landed", resolvers=("asked", _MOST), naans=("naan", _MOST)
    )
    means = verdicts.groupby("landed")["redirects"].mean().round(2).rename("mean_redirects").rename_axis("host")
    landed = landed.merge(means.reset_index(), on="host", how="left")
    rows = pd.concat([asked.assign(role="resolver"), landed.assign(role="landing")], ignore_index=True)
    rows = rows.assign(share_works=share(rows["works"], rows["works"] + rows["fails"]))
    return RESOLVERS.shaped(
        rows.sort_values(["role", "arks", "host"], ascending=[False, False, True], ignore_index=True)
    )


def _by_host(verdicts: pd.DataFrame, column: str, **tallies: tuple[str, int | None]) -> pd.DataFrame:
    """The ARKs of each host that *column* names, by family, with how often the values of other columns occur there."""
    rows = verdicts.rename(columns={column: "host"})
    texts = {}
    for name, (of, most) in tallies.items():
        values = rows[rows[of].fillna("").ne("")]
        texts[name] = tallied(values, ["host"], of, most=most)
    counts = family_counts(best(rows[["host", "ark_id", *SERVICES]], ["host", "ark_id"]), "host")
    return counts.merge(pd.DataFrame(texts).rename_axis("host").reset_index(), on="host", how="left")


def documents(frames: Frames) -> pd.DataFrame:
    """One row per document; ordered by the number of ARKs that fail, the greatest first, then by document.

    An ARK is judged by the URLs that this document cites.
    """
    cited = frames.mentions[["document_id", "ark_id", "request_url"]]
    outcomes = frames.verdicts[["ark_id", "request_url", *SERVICES]]
    judged = cited.merge(outcomes, on=["ark_id", "request_url"], how="left")
    repaired = frames.mentions.assign(repaired=frames.mentions["repairs"].fillna("").ne(""))
    counts = (
        repaired.groupby("document_id").agg(citations=("citation_id", "nunique"), repaired=("repaired", "sum")),
        family_counts(best(judged, ["document_id", "ark_id"]), "document_id").set_index("document_id"),
        frames.findings.groupby("document_id").agg(findings=("finding_id", "size")),
    )
    rows = frames.documents.rename(columns={"url": "document"})
    rows["led_to"] = rows["final_url"].where(rows["outcome"].eq(DocumentOutcome.REDIRECTED))
    for columns in counts:
        rows = rows.merge(columns, left_on="document_id", right_index=True, how="left")
    rows = with_counts(rows, ["citations", "arks", *_FAMILIES, "repaired", "findings"])
    rows = rows.sort_values(["fails", "document"], ascending=[False, True], ignore_index=True)
    named = ["document", "title", "found_on", "outcome", "led_to", "media_type", "citations", "arks"]
    return rows[[*named, *_FAMILIES, "repaired", "findings"]]


def organizations(frames: Frames, naans: pd.Series) -> pd.Series:
    """Whom the registry names for each of *naans*; a shared NAAN has no owner."""
    return organizations_of(frames.registered, naans)


def organizations_of(registered: pd.DataFrame, naans: pd.Series) -> pd.Series:
    """The same by what the registry says (`reports.store.frames.registered_names`)."""
    names = registered[registered["shoulder"].eq("")].set_index("naan")["organization"]
    return naans.map(names).where(~naans.isin(list(SHARED_NAANS))).astype("str")


def sent_hops(frames: Frames, columns: list[str]) -> pd.DataFrame:
    """The hops that went out in this run: all but those that robots.txt, our own guard or a dead host held back."""
    hops = frames.hops
    held_back = hops["chain_end"].isin([ChainEnd.ROBOTS, ChainEnd.REFUSED_ADDRESS])
    is_unsent = (held_back & hops["status"].isna()) | ~hops["sent"].fillna(True).astype(bool)
    return hops.loc[is_own(frames, hops) & ~is_unsent, columns]


def own(frames: Frames, rows: pd.DataFrame) -> pd.DataFrame:
    """Of *rows* those that this run made itself, without those on which verdicts of earlier runs rest."""
    return rows[is_own(frames, rows)]


def is_own(frames: Frames, rows: pd.DataFrame) -> pd.Series:
    """Whether this run made each of *rows* itself."""
    return rows["run_id"].isin(frames.run["run_id"])


def tally(values: Iterable[str], *, most: int | None = None) -> str:
    """Return how often each value occurs, the most frequent first, equals in alphabetical order.

    >>> tally(["query-ignored", "erc", "erc"])
    '2 erc, 1 query-ignored'
    """
    counts = sorted(Counter(values).items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{count} {value}" for value, count in counts[:most])


def _schemes(frames: Frames) -> pd.DataFrame:
    """One row per host that was spoken to: whether never over HTTPS."""
    urls = sent_hops(frames, ["url"])["url"]
    spoken = pd.DataFrame(
        {
            "host": hosts_of(urls),
            "http_only": ~urls.str.match("https:", case=False).astype("boolean"),
        }
    )
    return spoken.groupby("host")["http_only"].all().reset_index()


def _certificates(frames: Frames) -> pd.DataFrame:
    """One row per host whose certificate was looked at: what was seen."""
    probed = zip(frames.tls["host"], frames.tls["port"], strict=True)
    hosts = [host(f"https://{name}:{port}") for name, port in probed]
    return pd.DataFrame({"host": pd.Series(hosts, dtype="str"), "tls": frames.tls["reason"]})


def _mean_redirects(frames: Frames) -> pd.DataFrame:
    """One row per host that was asked for an object: how many redirects followed, on average."""
    asked = frames.observations.loc[frames.observations["question"].eq(Question.OBJECT), ["request_url", "hop_count"]]
    redirects = asked["hop_count"].astype("Float64")
    by_host = asked.assign(host=hosts_of(asked["request_url"]), mean_redirects=redirects)
    return by_host.groupby("host")["mean_redirects"].mean().round(2).reset_index()


def _policies(frames: Frames) -> dict[str, str]:
    """Return what the NAAN registry says of the policy under each NAAN; of its shoulders, where it says it of them."""
    policies = zip(values_of(frames.verdicts["naan"]), frames.verdicts["naan_policy"].to_list(), strict=True)
    words: dict[str, set[str]] = {}
    for naan, policy in policies:
        if policy:
            words.setdefault(naan, set()).add(naan_policy_words(policy))
    return {naan: JOINT.join(sorted(policies)) for naan, policies in words.items()}


def share(part: pd.Series, whole: pd.Series) -> pd.Series:
    """Return what share *part* is of *whole*; nothing where there is no whole."""
    return (part.astype("Float64") / whole.where(whole > 0).astype("Float64")).round(4)


def with_counts(rows: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """The rows with counts for which a join found nothing set to 0."""
    return rows.assign(**{column: rows[column].astype("Int64").fillna(0) for column in columns})


NAANS: Final = TableDefinition(
    "naans",
    "By organization",
    "One row per NAAN. Each ARK counts once, with the best outcome of all URLs that it was asked at. The share "
    "that works is works / (works + fails): ARKs that gave no answer today, and ARKs that were not judged, "
    "are not in the denominator; the share is empty when nothing is. Under a shared NAAN anybody may assign names; "
    "12345 and 99999 are for examples and tests: they are counted but never requested.",
    naans,
    (
        NAAN_COLUMN,
        ORGANIZATION_COLUMN,
        ARKS_COLUMN,
        CITATIONS_COLUMN,
        DOCUMENTS_COLUMN,
        *FAMILY_COUNT_COLUMNS,
        Column("described", COUNT, "ARKs that were described when asked: outcome erc, structured or html", "ARKs"),
        Column("committed", COUNT, "ARKs for which a commitment is stated", "ARKs"),
        Column("policy", TEXT, "what the NAAN registry says about the policy of the organization that assigns there"),
        SHARE_COLUMN,
        Column("outcomes", TEXT, "how often each outcome was the best of an ARK, the most frequent first"),
        Column("purpose", TEXT, "what the NAAN is for (draft-kunze-ark-38, table 2)"),
        Column("expected_to_resolve", TEXT, "whether its ARKs are expected to resolve: yes or maybe"),
        Column("long_term_reference", TRUTH, "whether its ARKs are fit for long-term reference"),
    ),
)

RESOLVERS: Final = TableDefinition(
    "resolvers",
    "By resolver and landing host",
    "One row per host that was asked first, and one per host where ARKs finally land. An ARK counts once per row, with "
    "its best outcome at that host; one that was asked or ends at several hosts counts at each.",
    resolvers,
    (
        Column("role", TOKEN, "resolver (asked first) or landing (gave the last answer)"),
        Column("host", TEXT, "host, with its port unless it is the default one"),
        ARKS_COLUMN,
        *FAMILY_COUNT_COLUMNS,
        SHARE_COLUMN,
        Column("info_answers", TEXT, "URLs by metadata outcome: how ?info is answered, the most frequent first"),
        Column(
            "http_only",
            TRUTH,
            "whether the host was reached, but never over HTTPS; empty when it was not reached",
        ),
        Column(
            "tls", TEXT, "whether its certificate is valid: ok, or the reason why not; empty when it was not examined"
        ),
        Column(
            "mean_redirects", NUMBER, "mean number of redirects: after the first request, or on the way", "redirects"
        ),
        Column("landing_hosts", TEXT, "the three hosts where most chains ended, with their number of URLs"),
        Column("resolvers", TEXT, "the three hosts that led here most often, with their number of URLs"),
        Column("naans", TEXT, "the three NAANs that land here most often, with their number of URLs"),
    ),
)

DOCUMENTS: Final = TableDefinition(
    "documents",
    "By document",
    "One row per document, those with failing ARKs first. An ARK is judged by the URLs cited there.",
    documents,
    (
        Column("document", URL, "URL or path of the document"),
        Column("title", TEXT, "title that the document gives itself"),
        Column("found_on", URL, "document that led here; empty for a starting point"),
        Column("outcome", TOKEN, "what became of the request for the document"),
        Column("led_to", URL, "where it is redirected to; that document has a row of its own. Else empty"),
        Column("media_type", TEXT, "media type of the document"),
        Column("citations", COUNT, "citations of ARKs in the document", "citations"),
        ARKS_COLUMN,
        *FAMILY_COUNT_COLUMNS,
        Column("repaired", COUNT, "citations that typesetting or markup had broken", "citations"),
        Column("findings", COUNT, "remarks about the document", "findings"),
    ),
)
