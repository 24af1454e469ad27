"""The tables that hold a run against an institution's own inventory of ARKs, and those by collection."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

import pandas as pd

from crawler.history.ark_status import ArkState
from crawler.model.observations import Family, ObjectOutcome
from extractors.ark import Ark
from reports.ark_statuses import ark_states, ark_statuses, citation_counts
from reports.definitions import (
    ARK,
    ARKS_COLUMN,
    COUNT,
    MOMENT,
    NAAN_COLUMN,
    TEXT,
    TOKEN,
    TRUTH,
    URL,
    Column,
    TableDefinition,
    records_of,
)
from reports.distinct import mapped
from reports.frames import Frames
from reports.languages import ENGLISH, N_, Language
from reports.places import section
from reports.remediation.expectations import ExpectedAccess, Landing, Presence, access, landing, presence
from reports.services import level

#: What is amiss with an ARK of the inventory, what matters most first; nothing is last.
FINDINGS: Final = (
    Landing.ELSEWHERE.value,
    ExpectedAccess.WRONGLY_OPEN.value,
    ExpectedAccess.WRONGLY_CLOSED.value,
    Presence.NEVER_SEEN.value,
    Presence.NEVER_CHECKED.value,
    Presence.NEVER_CITED.value,
)
_LASTING: Final = [str(ArkState.CONFIRMED_BROKEN)]
_FAILING: Final = [str(ArkState.FAILING), str(ArkState.FLAPPING)]
_NO_COLLECTION: Final = "(none)"


@lru_cache(maxsize=2)
def inventory(frames: Frames) -> pd.DataFrame:
    """One row per ARK of the inventory and URL; ordered by the gravest finding, those without one last, then by ARK."""
    listed = frames.inventory[frames.inventory["is_chosen"]]
    rows = listed.merge(frames.stock, on="ark", how="left")
    cited = frames.mentions.groupby("ark", as_index=False).agg(citations=("citation_id", "nunique"))
    rows = rows.merge(cited, on="ark", how="left")
    judged = [_judged(row) for row in records_of(rows)]
    kept = pd.DataFrame(judged, columns=["presence", "landing", "access", "findings"], index=rows.index).astype("str")
    rows = rows.assign(**{name: kept[name] for name in kept.columns}, citations=rows["citations"].fillna(0))
    ordered = rows.assign(order=[_rank(each) for each in kept["findings"]]).sort_values(
        ["order", "ark", "request_url"], ignore_index=True
    )
    return INVENTORY.shaped(ordered)


def _rank(findings: object) -> int:
    """Return how much what is amiss matters; what matters most is 0, nothing the greatest."""
    return FINDINGS.index(findings.partition(", ")[0]) if isinstance(findings, str) else len(FINDINGS)


def _judged(row: dict[str, Any]) -> tuple[str, str, str, str | None]:
    outcome = ObjectOutcome(row["object"]) if row["object"] else None
    met = presence(is_cited=bool(row["is_cited"]), is_checked=outcome is not None)
    lands = landing(row["expected_url"], outcome, row["final_url"], row["passed"] or ())
    lets = access(row["closed"], outcome, row["status"], asks_password=bool(row["asks_password"]))
    findings = [each for each in FINDINGS if each in (met.value, lands.value, lets.value)]
    return met.value, lands.value, lets.value, ", ".join(findings) or None


@lru_cache(maxsize=2)
def extra(frames: Frames) -> pd.DataFrame:
    """One row per ARK; ordered by citations, the most first, then by ARK. A part of what is listed is not extra."""
    listed = set(frames.inventory["ark"])
    standings = ark_statuses(frames)
    ours = standings[standings["naan"].isin(set(frames.inventory["naan"]))]
    is_extra = [not _is_listed(name, listed) for name in ours["ark"]]
    rows = ours[pd.Series(is_extra, index=ours.index, dtype="bool")]
    rows = rows.merge(citation_counts(frames, "ark_id"), on="ark_id", how="left")
    cited = frames.mentions[["ark_id", "document", "ordinal"]]
    first = cited.sort_values(["document", "ordinal"]).drop_duplicates("ark_id")
    named = first[["ark_id", "document"]].rename(columns={"document": "first_document"})
    rows = rows.merge(named, on="ark_id", how="left").merge(ark_states(frames), on="ark_id", how="left")
    rows = rows.assign(**{name: rows[name].fillna(0) for name in ("citations", "documents")})
    return EXTRA.shaped(rows.sort_values(["citations", "ark"], ascending=[False, True], ignore_index=True))


def _is_listed(name: str, listed: set[str]) -> bool:
    return name in listed or any(str(whole) in listed for whole in Ark.parse(name).implied)


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


def inventory_measures(frames: Frames) -> Iterator[tuple[str, int, str]]:
    """Return what the inventory shows, counted by ARKs; nothing without one."""
    if frames.inventory.empty:
        return
    table = inventory(frames)
    yield "inventory", table["ark"].nunique(), "ARKs of the inventory that the report was held against."
    for finding, note in _NOTES.items():
        has = [isinstance(each, str) and finding in each.split(", ") for each in table["findings"]]
        yield f"inventory: {finding}", table.loc[has, "ark"].nunique(), note
    yield "inventory: extra", len(extra(frames)), "ARKs under its NAANs that are seen, and not in it."


def inventory_sentence(count: Mapping[str, int], language: Language = ENGLISH) -> str:
    """Return what the inventory shows, by the measures of a summary; empty without one."""
    if "inventory" not in count:
        return ""
    amiss = [
        f"{language.number(count[f'inventory: {each}'])} {each}"
        for each in (*FINDINGS, "extra")
        if count[f"inventory: {each}"]
    ]
    return language.ngettext(
        "Of {number} ARK of the inventory: {amiss}.",
        "Of {number} ARKs of the inventory: {amiss}.",
        count["inventory"],
        amiss=", ".join(amiss) or language.pgettext("the inventory", "all as expected"),
    )


_NOTES: Final = {
    Landing.ELSEWHERE.value: "They land at another object than the inventory says.",
    ExpectedAccess.WRONGLY_OPEN.value: "They are meant to be closed, and the object is given.",
    ExpectedAccess.WRONGLY_CLOSED.value: "They are not meant to be closed, and the object is refused.",
    Presence.NEVER_SEEN.value: "No document cites them, and nobody has checked them.",
    Presence.NEVER_CHECKED.value: "Cited, and never checked.",
    Presence.NEVER_CITED.value: "Checked, and cited by no document.",
}
_COLLECTION: Final = Column("collection", TEXT, "collection, as the inventory says")
_AT_LEVELS: Final = (
    N_("ARKs at level 0: Not even the object."),
    N_("ARKs at level 1: The object, and nothing else."),
    N_("ARKs at level 2: The object, and either a description of it or a stated commitment."),
    N_("ARKs at level 3: The object, a description of it, and a stated commitment."),
)
_LEVEL_COLUMNS: Final = tuple(
    Column(f"level_{number}", COUNT, meaning, "ARKs") for number, meaning in enumerate(_AT_LEVELS)
)

INVENTORY: Final = TableDefinition(
    "inventory",
    "The inventory",
    "One row per ARK of the inventory and URL at which it was asked for; one that never was has a single row. Known is "
    "what this run or an earlier one has seen. What could not be judged is undetermined, and never wrong.",
    inventory,
    (
        Column("findings", TEXT, "what is wrong, the most serious first; empty for nothing"),
        Column("ark", ARK, "ARK in normal form"),
        NAAN_COLUMN,
        Column("title", TEXT, "title, as the inventory says"),
        _COLLECTION,
        Column("presence", TOKEN, "seen, never-cited, never-checked, or never-seen, which is neither"),
        Column("citations", COUNT, "citations of this ARK in documents of this run", "citations"),
        Column("request_url", URL, "URL that was asked for the object; empty when none was"),
        Column("object", TOKEN, "outcome of the object service there, when it was checked last"),
        Column("judged_at", MOMENT, "beginning of the run whose verdict this is", "UTC", varies=True),
        Column("expected_url", URL, "URL at which it should land, as the inventory says"),
        Column("final_url", URL, "URL at which it landed"),
        Column(
            "landing",
            TOKEN,
            "expected, elsewhere, undetermined or not-stated; scheme, www., default port, final slash, fragment, "
            "order of the query parameters, session names, escapes of plain characters and the form of an ARK in "
            "the path mean nothing, and a page on the way suffices",
        ),
        Column("closed", TRUTH, "whether it is closed on purpose, as the inventory says; empty where it doesn't"),
        Column("access", TOKEN, "as-meant, wrongly-open, wrongly-closed, undetermined or not-stated"),
        Column("line", COUNT, "line of the inventory", "number from 1"),
    ),
    is_listing=True,
)

EXTRA: Final = TableDefinition(
    "inventory_extra",
    "Not in the inventory",
    "One row per ARK of this run under a NAAN of the inventory that the inventory lacks; those with most citations "
    "come first. A part or variant of something that is listed is not extra.",
    extra,
    (
        Column("ark", ARK, "ARK in normal form"),
        NAAN_COLUMN,
        Column("object", TOKEN, "best outcome of the object service; empty when it was not asked"),
        Column("state", TOKEN, "best status after all checks; empty when it is not known"),
        Column("citations", COUNT, "citations of this ARK", "citations"),
        Column("documents", COUNT, "documents with such a citation", "documents"),
        Column("first_document", URL, "document with the first such citation"),
    ),
    is_listing=True,
)

COLLECTIONS: Final = TableDefinition(
    "collections",
    "By collection",
    "One row per collection of the inventory; ARKs that it lacks count at each section of a site, or folder, of which "
    "a document cites them. Each ARK counts with its best outcome. alive + failing + broken + undetermined = arks.",
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
    ),
)
