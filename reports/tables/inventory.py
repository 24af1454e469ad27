"""Compare a run with an institution's inventory of ARKs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import pandas as pd

from extractors.model.ark import Ark
from reports.store.frames import Frames
from reports.tables.ark_statuses import ark_states, ark_statuses, citation_counts, with_counts

#: The finding for an ARK under a NAAN of the inventory that the inventory does not list.
EXTRA = "extra"
#: The findings, the most serious first. An ARK has at most one.
FINDINGS = ("never-seen", "never-checked", "never-cited", EXTRA)


@lru_cache(maxsize=2)
def inventory(frames: Frames) -> pd.DataFrame:
    """Return one row per ARK of the inventory and URL; the most serious findings first, ARKs without findings last."""
    citations_by_ark = frames.mentions.groupby("ark", as_index=False).agg(citations=("citation_id", "nunique"))
    rows = frames.inventory[frames.inventory["is_chosen"]].merge(citations_by_ark, on="ark", how="left")
    rows = with_counts(rows, ["citations"])
    is_cited, is_checked = rows["is_cited"], rows["object"].notna()
    finding = pd.Series("never-seen", index=rows.index, dtype="str").mask(is_cited, "never-checked")
    finding = finding.mask(is_checked, "never-cited").mask(is_cited & is_checked)
    rows = pd.concat([rows.assign(finding=finding), _extra_arks(frames).assign(finding=EXTRA)], ignore_index=True)
    return rows.assign(rank=pd.Categorical(rows["finding"], FINDINGS, ordered=True))


def _extra_arks(frames: Frames) -> pd.DataFrame:
    """Return one row per ARK of this run under a NAAN of the inventory, unless it lists the ARK or its whole object."""
    listed_arks = set(frames.inventory["ark"])
    statuses = ark_statuses(frames)
    own_statuses = statuses[statuses["naan"].isin(frames.inventory["naan"])]
    is_listed = [bool(listed_arks & {ark, *map(str, Ark.parse(ark).implied_arks)}) for ark in own_statuses["ark"]]
    rows = own_statuses[~pd.Series(is_listed, index=own_statuses.index, dtype="bool")]
    rows = rows.merge(citation_counts(frames.mentions, "ark_id"), on="ark_id", how="left")
    rows = with_counts(rows.merge(ark_states(frames), on="ark_id", how="left"), ["citations", "documents"])
    return rows[["ark", "naan", "object", "state", "citations", "documents", "first_document"]]


def inventory_measures(frames: Frames) -> Iterator[tuple[str, int]]:
    """Yield (name, number of ARKs) for the inventory and each of its `FINDINGS`; nothing without an inventory."""
    if frames.inventory.empty:
        return
    table = inventory(frames)
    yield "inventory", table.loc[table["finding"].ne(EXTRA), "ark"].nunique()
    for finding in FINDINGS:
        yield f"inventory: {finding}", table.loc[table["finding"].eq(finding), "ark"].nunique()
