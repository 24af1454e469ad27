"""What has changed since an earlier run: one event an ARK, by the words of the design for its life over time."""

from __future__ import annotations

from typing import Final

import pandas as pd

from crawler.observations import Family
from reports.definitions import ARK, NAAN_COLUMN, TOKEN, URL, Column, TableDefinition, rows_of
from reports.frames import OBJECT, Frames
from reports.standing import BEST_FIRST, families

#: The events, gravest first.
EVENTS: Final = ("broke", "gone", "moved", "changed", "recovered", "new")
_LIFE: Final = ["ark", "naan", "object", "family", "metadata", "commitment", "final_url"]


def changes(frames: Frames) -> pd.DataFrame:
    """One row an ARK and event; ordered by gravity, then by ARK. Compared with the chosen run, or the one before.

    An ARK that gives no answer today has not broken, and one that was not judged has not recovered.
    """
    earlier = frames.since or frames.previous
    names = [column.name for column in CHANGES.columns]
    if earlier is None:
        return pd.DataFrame({name: pd.Series(dtype="str") for name in names})
    both = _lives(earlier).merge(_lives(frames), on=["ark", "naan"], how="outer", suffixes=("_before", ""))
    events = [event(*row) for row in rows_of(both[_COMPARED])]
    rows = both.assign(event=pd.Series(events, dtype="str", index=both.index))
    rows = rows[rows["event"].notna()]
    rank = rows["event"].map(EVENTS.index).astype("Int64")
    ordered = rows.assign(rank=rank).sort_values(["rank", "ark"], ignore_index=True)
    ordered = ordered.rename(
        columns={"object_before": "before", "object": "now", "final_url_before": "led_to", "final_url": "leads_to"}
    )
    return ordered[names].astype("str")


_COMPARED: Final = [
    *("family_before", "family", "final_url_before", "final_url"),
    *("metadata_before", "metadata", "commitment_before", "commitment"),
]


def event(
    before: str | None,
    now: str | None,
    led_to: str | None,
    leads_to: str | None,
    metadata_before: str | None,
    metadata: str | None,
    commitment_before: str | None,
    commitment: str | None,
) -> str | None:
    """What happened to an ARK between two runs; the gravest, or none. A missing family means that it wasn't there.

    >>> event("works", "fails", None, None, None, None, None, None)
    'broke'
    >>> event("works", "unreachable", None, None, None, None, None, None) is None
    True
    """
    if before is None or now is None:
        return "new" if before is None else "gone"
    if before == Family.WORKS and now == Family.FAILS:
        return "broke"
    if before in (Family.FAILS, Family.UNREACHABLE) and now == Family.WORKS:
        return "recovered"
    if before == now == Family.WORKS:
        if led_to != leads_to:
            return "moved"
        if (metadata_before, commitment_before) != (metadata, commitment):
            return "changed"
    return None


def _lives(frames: Frames) -> pd.DataFrame:
    """One row an ARK that is cited or judged: its best verdict, whole; ordered by ARK."""
    ranked = frames.verdicts["object"].cat.reorder_categories([str(outcome) for outcome in BEST_FIRST], ordered=True)
    judged = frames.verdicts.assign(rank=ranked).sort_values(["ark", "rank", "request_url"]).drop_duplicates("ark")
    cited = frames.arks[frames.arks["ark_id"].isin(frames.mentions["ark_id"])]
    known = pd.concat([cited[["ark", "naan"]], judged[["ark", "naan"]]]).drop_duplicates("ark")
    rows = known.merge(judged.drop(columns="naan"), on="ark", how="left")
    rows = rows.assign(object=rows["object"].astype(OBJECT), family=families(rows["object"]))
    return rows[_LIFE].astype("str").sort_values("ark", ignore_index=True)


CHANGES: Final = TableDefinition(
    "changes",
    "What has changed",
    "One row an ARK to which something happened since the run that was chosen, or else since the run before that "
    "did the same; the gravest first. No answer today is no event: an outage is not link rot.",
    changes,
    (
        Column("event", TOKEN, "broke, gone (from the documents), moved, changed, recovered or new"),
        Column("ark", ARK, "ARK in normal form"),
        NAAN_COLUMN,
        Column("before", TOKEN, "best object outcome then; empty when it was not there, or not asked"),
        Column("now", TOKEN, "best object outcome now; likewise"),
        Column("led_to", URL, "URL at which the object's chain ended then"),
        Column("leads_to", URL, "URL at which it ends now"),
    ),
)
