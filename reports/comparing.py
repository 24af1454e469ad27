"""The changes of ARKs, by the words of their life over time."""

from __future__ import annotations

from typing import Final

import pandas as pd

from reports.definitions import ARK, MOMENT, NAAN_COLUMN, OBJECT_COLUMN, TEXT, TOKEN, URL, Column, TableDefinition
from reports.frames import Frames
from reports.gravity import EVENT_GRAVITY
from reports.remediation.known import raised_events


def changes(frames: Frames) -> pd.DataFrame:
    """One row an event; ordered by gravity, ARK, URL and moment."""
    outcomes = frames.verdicts[["ark_id", "request_url", "object"]]
    rows = raised_events(frames).merge(outcomes, on=["ark_id", "request_url"], how="left")
    rows = rows.assign(rank=rows["event"].astype("str").map(EVENT_GRAVITY.index).astype("Int64"))
    ordered = rows.sort_values(["rank", "ark", "request_url", "at", "event_id"], ignore_index=True)
    return CHANGES.shaped(ordered)


CHANGES: Final = TableDefinition(
    "changes",
    "What has changed",
    "One row an event: what has happened to an ARK in this run, or since the run that was chosen to compare with; "
    "the gravest first. A single failure breaks nothing: an outage is not link rot. "
    "What is known or ignored is left out.",
    changes,
    (
        Column("event", TOKEN, "broke, gone (from the documents), moved, changed, recovered or new"),
        Column("ark", ARK, "ARK in normal form"),
        NAAN_COLUMN,
        Column("request_url", URL, "URL that was asked for the object"),
        OBJECT_COLUMN,
        Column("detail", TEXT, "the event in words"),
        Column("at", MOMENT, "moment of the check that showed it", "UTC", varies=True),
    ),
    is_listing=True,
)
