"""The tables that group ARKs by where they are: shoulder, collection of the inventory, section of a site."""

from __future__ import annotations

from urllib.parse import urlsplit

import pandas as pd

from crawler.history.ark_status import ArkState
from crawler.model.observations import CommitmentOutcome, Family
from reports.languages import N_
from reports.store.frames import Frames
from reports.tables.ark_statuses import (
    FAMILY_COLUMNS,
    SERVICES,
    ark_states,
    ark_statuses,
    best,
    citation_counts,
    family_counts,
    judged_mentions,
    with_counts,
)
from reports.tables.definitions import (
    ARKS_COLUMN,
    CITATIONS_COLUMN,
    COMMITTED_COLUMN,
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
    side_by_side,
)
from reports.tables.distinct import host, mapped
from reports.tables.overviews import organizations_of
from reports.tables.services import level

_NO_COLLECTION = "(none)"


def shoulders(frames: Frames) -> pd.DataFrame:
    """One row per NAAN and shoulder."""
    by = ["naan", "shoulder"]
    statuses = ark_statuses(frames).fillna({"shoulder": ""})
    committed = statuses["commitment"].eq(CommitmentOutcome.STATED)
    promised = statuses.assign(committed=committed).groupby(by)["committed"].sum().reset_index()
    cited = frames.mentions.merge(frames.arks[["ark_id", "shoulder"]].fillna({"shoulder": ""}), on="ark_id")
    names = frames.registered[frames.registered["shoulder"].ne("")]
    rows = family_counts(statuses, by).merge(promised, on=by)
    rows = rows.merge(citation_counts(cited, by), on=by, how="left")
    rows = rows.merge(names[[*by, "organization"]].assign(registered=True), on=by, how="left")
    named = rows["organization"].fillna(organizations_of(frames.registered, rows["naan"]))
    return with_counts(rows, ["citations", "documents"]).assign(
        organization=named.astype("str"), registered=rows["registered"].eq(True)
    )


def _sections(frames: Frames) -> pd.DataFrame:
    """One row per section of the documents that were asked for: what was read there, and what is cited.

    An ARK counts once per section, with the best outcome of the URLs that are cited there.
    """
    documents = frames.documents.assign(collection=mapped(frames.documents["url"], section))
    cited = judged_mentions(frames, *SERVICES).merge(documents[["document_id", "collection"]], on="document_id")
    rows = documents.groupby("collection").agg(documents=("document_id", "size")).reset_index()
    citing = citation_counts(cited, "collection").rename(columns={"documents": "citing_documents"})
    rows = rows.merge(citing, on="collection", how="left")
    families = family_counts(best(cited, ["collection", "ark_id"]), "collection")
    rows = rows.merge(families.rename(columns={"arks": "cited_arks"}), on="collection", how="left")
    rows = with_counts(rows, ["citations", "citing_documents", "cited_arks", *FAMILY_COLUMNS.values()])
    return rows.assign(source="section")


def collections(frames: Frames) -> pd.DataFrame:
    """One row per collection; within a source those with most ARKs broken or failing come first."""
    statuses = ark_statuses(frames)
    statuses = statuses.assign(level=level(statuses)).merge(ark_states(frames), on="ark_id", how="left")
    statuses = statuses.assign(standing=_standing(statuses))
    rows = _placed(frames).merge(statuses, on="ark", how="left")
    rows = rows[rows["ark_id"].notna() | rows["is_listed"]]
    columns = {name: rows["standing"].eq(name) for name in ("alive", "failing", "broken", "undetermined")}
    columns |= {f"level_{number}": rows["level"].eq(number).fillna(False) for number in (0, 1, 2, 3)}
    columns["arks"] = rows["ark_id"].notna()
    columns["listed"] = rows["is_listed"]
    columns["not_met"] = rows["is_listed"] & rows["ark_id"].isna()
    by = ["source", "collection"]
    table = rows[by].assign(**columns).astype(dict.fromkeys(columns, "Int64")).groupby(by, as_index=False).sum()
    table = with_counts(side_by_side(by, table, _sections(frames)), [*columns])
    return table.assign(worst=table["broken"] + table["failing"])


def _standing(statuses: pd.DataFrame) -> pd.Series:
    """Return what an ARK amounts to in one word. Silence counts as failing only once it is the ARK's own."""
    family, state = statuses["family"].astype("str"), statuses["state"].astype("str")
    is_amiss = family.isin([Family.FAILS, Family.UNREACHABLE])
    is_failing = family.eq(Family.FAILS) | (is_amiss & state.isin([ArkState.FAILING, ArkState.FLAPPING]))
    words = pd.Series("undetermined", index=statuses.index, dtype="str").mask(is_failing, "failing")
    words = words.mask(is_amiss & state.eq(ArkState.CONFIRMED_BROKEN), "broken")
    return words.mask(family.eq(Family.WORKS), "alive")


def _placed(frames: Frames) -> pd.DataFrame:
    """One row per ARK and collection: that of the inventory, or else the sections of the documents that cite it."""
    listed = frames.inventory.loc[frames.inventory["is_chosen"], ["ark", "collection"]]
    listed = listed.fillna({"collection": _NO_COLLECTION}).assign(source="inventory", is_listed=True)
    cited = frames.mentions[["ark_id", "ark"]].assign(collection=mapped(frames.mentions["document"], section))
    statuses = ark_statuses(frames)[["ark_id", "ark"]]
    alone = statuses[~statuses["ark_id"].isin(cited["ark_id"])].assign(collection=_NO_COLLECTION)
    others = pd.concat([cited.drop_duplicates(["ark_id", "collection"]), alone])[["ark", "collection"]]
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
        parts = None
    if parts is None or parts.scheme not in ("http", "https"):
        return document.rpartition("/")[0] + "/"
    first, slash, _ = parts.path.lstrip("/").partition("/")
    return f"{host(document)}/{first}/" if slash else f"{host(document)}/"


SHOULDERS = TableDefinition(
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
        COMMITTED_COLUMN,
        SHARE_COLUMN,
    ),
    order=("-arks", "naan", "shoulder"),
)

_AT_LEVELS = (
    N_("ARKs at level 0: Not even the object."),
    N_("ARKs at level 1: The object, and nothing else."),
    N_("ARKs at level 2: The object, and either a description of it or a stated commitment."),
    N_("ARKs at level 3: The object, a description of it, and a stated commitment."),
)
_LEVEL_COLUMNS = tuple(Column(f"level_{number}", COUNT, meaning, "ARKs") for number, meaning in enumerate(_AT_LEVELS))

COLLECTIONS = TableDefinition(
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
    order=("source", "-worst", "collection"),
)
