"""Compare a run with an institution's inventory of ARKs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import pandas as pd

from crawler.model.observations import ObjectOutcome
from extractors.model.ark import Ark
from reports.languages import Language
from reports.remediation.expectations import (
    AccessMatch,
    LandingMatch,
    Presence,
    classify_presence,
    compare_access,
    compare_landing,
)
from reports.store.frames import Frames
from reports.tables.ark_statuses import ark_states, ark_statuses, citation_counts, with_counts
from reports.tables.definitions import (
    ARK_COLUMN,
    CITED_COLUMNS,
    JUDGED_AT_COLUMN,
    NAAN_COLUMN,
    REQUEST_URL_COLUMN,
    TableDefinition,
    count_column,
    map_distinct,
    records_of,
    text_column,
    token_column,
    truth_column,
    url_column,
)

#: The finding for an ARK under a NAAN of the inventory that the inventory does not list.
EXTRA = "extra"
#: The findings about an ARK of the inventory, the most serious first, with an explanation of each.
FINDINGS = {
    LandingMatch.ELSEWHERE.value: "They lead to another object than the inventory expects.",
    AccessMatch.WRONGLY_OPEN.value: "They should be closed, but the object is accessible.",
    AccessMatch.WRONGLY_CLOSED.value: "They should be open, but the object is refused.",
    Presence.NEVER_SEEN.value: "Neither cited nor checked.",
    Presence.NEVER_CHECKED.value: "Cited, but never checked.",
    Presence.NEVER_CITED.value: "Checked, but not cited by any document.",
    EXTRA: "ARKs under its NAANs that were found, but are not in your list.",
}


@lru_cache(maxsize=2)
def inventory(frames: Frames) -> pd.DataFrame:
    """Return one row per ARK of the inventory and URL; the most serious findings first, ARKs without findings last."""
    cited = frames.mentions.groupby("ark", as_index=False).agg(citations=("citation_id", "nunique"))
    rows = frames.inventory[frames.inventory["is_chosen"]].merge(frames.stock, on="ark", how="left")
    rows = with_counts(rows.merge(cited, on="ark", how="left"), ["citations"])
    judged = [_compare_line(row) for row in records_of(rows)]
    columns = pd.DataFrame(judged, columns=["presence", "landing", "access", "findings"], index=rows.index)
    rows = pd.concat([rows.join(columns.astype("str")), _extra(frames).assign(findings=EXTRA)], ignore_index=True)
    gravest = map_distinct(rows["findings"], lambda findings: findings.partition(", ")[0])
    return rows.assign(rank=pd.Categorical(gravest, [*FINDINGS], ordered=True))


def _compare_line(row: dict[str, Any]) -> tuple[str, str, str, str | None]:
    outcome = ObjectOutcome(row["object"]) if row["object"] else None
    met = classify_presence(is_cited=bool(row["is_cited"]), is_checked=outcome is not None)
    lands = compare_landing(row["expected_url"], outcome, row["final_url"], row["passed"] or ())
    lets = compare_access(row["closed"], outcome, row["status"], asks_password=bool(row["asks_password"]))
    findings = [finding for finding in FINDINGS if finding in (met.value, lands.value, lets.value)]
    return met.value, lands.value, lets.value, ", ".join(findings) or None


def _extra(frames: Frames) -> pd.DataFrame:
    """Return one row per ARK of this run under the inventory's NAANs that it does not list, not even as a whole."""
    listed = set(frames.inventory["ark"])
    statuses = ark_statuses(frames)
    own = statuses[statuses["naan"].isin(frames.inventory["naan"])]
    is_listed = [bool(listed & {ark, *map(str, Ark.parse(ark).implied_arks)}) for ark in own["ark"]]
    rows = own[~pd.Series(is_listed, index=own.index, dtype="bool")]
    rows = rows.merge(citation_counts(frames.mentions, "ark_id"), on="ark_id", how="left")
    rows = with_counts(rows.merge(ark_states(frames), on="ark_id", how="left"), ["citations", "documents"])
    return rows[["ark", "naan", "object", "state", "citations", "documents", "first_document"]]


def inventory_measures(frames: Frames) -> Iterator[tuple[str, int, str]]:
    """Yield the measures of the inventory, counted by ARKs; nothing without an inventory."""
    if frames.inventory.empty:
        return
    table = inventory(frames)
    listed = table.loc[table["findings"].ne(EXTRA), "ark"]
    yield "inventory", listed.nunique(), "ARKs of the inventory that the run was compared with."
    for finding, note in FINDINGS.items():
        has = [isinstance(text, str) and finding in text.split(", ") for text in table["findings"]]
        yield f"inventory: {finding}", table.loc[has, "ark"].nunique(), note


def inventory_sentence(count: Mapping[str, int], language: Language) -> str:
    """Return the results of the inventory in one sentence; empty without an inventory."""
    if "inventory" not in count:
        return ""
    findings = [
        f"{language.number(count[f'inventory: {finding}'])} {finding}"
        for finding in FINDINGS
        if count[f"inventory: {finding}"]
    ]
    return language.ngettext(
        "Of {number} ARK of the inventory: {findings}.",
        "Of {number} ARKs of the inventory: {findings}.",
        count["inventory"],
        findings=", ".join(findings) or language.pgettext("the inventory", "all as expected"),
    )


INVENTORY = TableDefinition(
    "inventory",
    "The inventory",
    "One row per ARK of the inventory and requested URL; an ARK that was never requested has one row. The "
    "data comes from this run and earlier ones. Results that could not be judged are undetermined, never "
    "wrong. ARKs of this run under the inventory's NAANs that it does not list are extra, unless they are "
    "parts or variants of a listed ARK.",
    inventory,
    (
        text_column(
            "findings", "findings, the most serious first; extra: not in your list; empty if all is as expected"
        ),
        ARK_COLUMN,
        NAAN_COLUMN,
        text_column("title", "title in the inventory"),
        text_column("collection", "collection in the inventory"),
        token_column("presence", "seen, never-cited, never-checked, or never-seen, which is neither"),
        count_column("citations", "citations of this ARK in documents of this run", "citations"),
        REQUEST_URL_COLUMN,
        token_column("object", "outcome of the object service there, when it was checked last"),
        JUDGED_AT_COLUMN,
        url_column("expected_url", "expected URL in the inventory"),
        url_column("final_url", "final URL"),
        token_column(
            "landing",
            "expected, elsewhere, undetermined or not-stated; scheme, www., default port, final slash, fragment, "
            "order of the query parameters, session names, escapes of plain characters and the form of an ARK in "
            "the path mean nothing, and a page on the way suffices",
        ),
        truth_column("closed", "true if closed on purpose according to the inventory; empty if not stated"),
        token_column("access", "as-meant, wrongly-open, wrongly-closed, undetermined or not-stated"),
        count_column("line", "line of the inventory", "number from 1"),
        token_column("state", "best status after all checks; empty when it is not known"),
        *CITED_COLUMNS,
    ),
    order=("rank", "ark", "request_url"),
    is_listing=True,
)
