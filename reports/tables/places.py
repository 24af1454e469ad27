"""The tables that group ARKs by where they are: shoulder, collection of the inventory, section of a site."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

import pandas as pd

from crawler.history.ark_status import ArkState
from crawler.model.observations import CommitmentOutcome, Family
from reports.languages import N_
from reports.store.frames import Frames
from reports.tables.ark_statuses import FAMILY_COLUMNS, SERVICES, ark_states, ark_statuses, best, family_counts
from reports.tables.definitions import (
    ARKS_COLUMN,
    CITATIONS_COLUMN,
    COUNT,
    DOCUMENTS_COLUMN,
    FAMILY_COUNT_COLUMNS,
    NAAN_COLUMN,
    ORGANIZATION_COLUMN,
    SHARE_COLUMN,
    TEXT,
    TOKEN,
    TRUTH,
    Column,
    TableDefinition,
)
from reports.tables.distinct import host, mapped
from reports.tables.overviews import organizations, share, with_counts
from reports.tables.services import level

_FAMILIES = list(FAMILY_COLUMNS.values())
_LASTING: Final = [str(ArkState.CONFIRMED_BROKEN)]
_FAILING: Final = [str(ArkState.FAILING), str(ArkState.FLAPPING)]
_NO_COLLECTION: Final = "(none)"


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
    names = frames.registered[frames.registered["shoulder"].ne("")]
    rows = rows.merge(names[[*by, "organization"]], on=by, how="left")
    rows = with_counts(rows, ["citations", "documents", "committed"]).assign(
        organization=rows["organization"].fillna(organizations(frames, rows["naan"])).astype("str"),
        registered=rows[by].apply(tuple, axis=1).isin(list(names[by].itertuples(index=False, name=None)))
        if len(rows)
        else pd.array([], dtype="boolean"),
        share_works=share(rows["works"], rows["works"] + rows["fails"]),
    )
    rows = rows.astype({"registered": "boolean"})
    ordered = rows.sort_values(["arks", *by], ascending=[False, True, True], ignore_index=True)
    return SHOULDERS.shaped(ordered)


def _sections(frames: Frames) -> pd.DataFrame:
    """One row per section of the documents that were asked for: what was read there, and what is cited.

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
    return rows.rename(columns={"section": "collection", "arks": "cited_arks"}).assign(source="section")


def collections(frames: Frames) -> pd.DataFrame:
    """One row per collection; ordered by source, then by ARKs broken or failing, the most first, then by name."""
    standings = ark_statuses(frames)
    standings = standings.assign(level=level(standings)).merge(ark_states(frames), on="ark_id", how="left")
    standings = standings.assign(standing=_status(standings))
    rows = _placed(frames).merge(standings, on="ark", how="left")
    rows = rows[rows["ark_id"].notna() | rows["is_listed"]]
    columns = {name: rows["standing"].eq(name) for name in ("alive", "failing", "broken", "undetermined")}
    columns |= {f"level_{number}": rows["level"].eq(number).fillna(False) for number in (0, 1, 2, 3)}
    columns["arks"] = rows["ark_id"].notna()
    columns["listed"] = rows["is_listed"]
    columns["not_met"] = rows["is_listed"] & rows["ark_id"].isna()
    counted = rows.assign(**{name: values.astype("Int64") for name, values in columns.items()})
    table = counted.groupby(["source", "collection"], as_index=False)[[*columns]].sum()
    keyed = [rows.set_index(["source", "collection"]) for rows in (table, _sections(frames))]
    table = pd.concat(keyed, axis="columns").reset_index()
    table = with_counts(table, [*columns])
    table = table.assign(worst=table["broken"] + table["failing"])
    ordered = table.sort_values(["source", "worst", "collection"], ascending=[True, False, True], ignore_index=True)
    return COLLECTIONS.shaped(ordered)


def _status(standings: pd.DataFrame) -> pd.Series:
    """Return what an ARK amounts to in one word. Silence counts as failing only once it is the ARK's own."""
    family, state = standings["family"].astype("str"), standings["state"].astype("str")
    amiss = family.isin([Family.FAILS, Family.UNREACHABLE])
    words = pd.Series("undetermined", index=standings.index, dtype="str")
    words = words.mask(family.eq(Family.FAILS) | (amiss & state.isin(_FAILING)), "failing")
    words = words.mask(amiss & state.isin(_LASTING), "broken")
    return words.mask(family.eq(Family.WORKS), "alive")


def _placed(frames: Frames) -> pd.DataFrame:
    """One row per ARK and collection: that of the inventory, or else the sections of the documents that cite it."""
    listed = frames.inventory[frames.inventory["is_chosen"]][["ark", "collection"]]
    listed = listed.assign(
        source="inventory", is_listed=True, collection=listed["collection"].fillna(_NO_COLLECTION).astype("str")
    )
    cited = frames.mentions[["ark_id", "ark"]].assign(collection=mapped(frames.mentions["document"], section))
    sections = pd.Series(pd.factorize(cited["collection"])[0], index=cited.index)
    is_first = ~cited[["ark_id"]].assign(section=sections).duplicated()
    alone = ark_statuses(frames)[["ark_id", "ark"]]
    alone = alone[~alone["ark_id"].isin(cited["ark_id"])].assign(collection=_NO_COLLECTION)
    others = pd.concat([cited[is_first], alone])[["ark", "collection"]]
    others = others[~others["ark"].isin(frames.inventory["ark"])].assign(source="section", is_listed=False)
    placed = pd.concat([listed, others], ignore_index=True)
    return placed.astype({"ark": "str", "collection": "str", "source": "str", "is_listed": "bool"})


def section(document: str) -> str:
    """The part of a site, or the folder, of a document: its host and the first step of its path.

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

_AT_LEVELS: Final = (
    N_("ARKs at level 0: Not even the object."),
    N_("ARKs at level 1: The object, and nothing else."),
    N_("ARKs at level 2: The object, and either a description of it or a stated commitment."),
    N_("ARKs at level 3: The object, a description of it, and a stated commitment."),
)
_LEVEL_COLUMNS: Final = tuple(
    Column(f"level_{number}", COUNT, meaning, "ARKs") for number, meaning in enumerate(_AT_LEVELS)
)

COLLECTIONS: Final = TableDefinition(
    "collections",
    "By collection",
    "One row per collection of the inventory, and one per section of the documents: a host and the first step of the "
    "path, or the folder of a file. An ARK of the inventory counts in its collection, any other at each section that "
    "cites it, with its best outcome: alive + failing + broken + undetermined = arks. Cited ARKs are all that a "
    "section cites, each with the best outcome of the URLs that are cited there.",
    collections,
    (
        Column("source", TOKEN, "inventory, or section (host and first step of the path, or folder)"),
        Column("collection", TEXT, "collection or section; (none) for ARKs without one"),
        ARKS_COLUMN,
        Column("alive", COUNT, "ARKs that lead to their object or to the provider's words about it", "ARKs"),
        Column("failing", COUNT, "ARKs that fail, or have long given no answer, not yet confirmed", "ARKs"),
        Column("broken", COUNT, "ARKs of which several checks over days have confirmed the failure", "ARKs"),
        Column("undetermined", COUNT, "ARKs that gave no answer today, were refused to programs, or not asked", "ARKs"),
        *_LEVEL_COLUMNS,
        Column("listed", COUNT, "ARKs of the collection in the inventory", "ARKs"),
        Column("not_met", COUNT, "of these, those that this run does not cite and has no verdict on", "ARKs"),
        Column("documents", COUNT, "documents of the section that were asked for", "documents"),
        Column("citing_documents", COUNT, "documents of the section that cite an ARK", "documents"),
        CITATIONS_COLUMN,
        Column("cited_arks", COUNT, "distinct ARKs that the section cites", "ARKs"),
        *FAMILY_COUNT_COLUMNS,
        SHARE_COLUMN,
    ),
)
