"""The changes of ARKs, by the words of their life over time."""

from __future__ import annotations

import pandas as pd

from crawler.history.ark_status import ArkState, EventKind
from crawler.model.observations import Family
from reports.store.frames import Frames
from reports.tables.ark_statuses import ark_statuses, families
from reports.tables.definitions import (
    ARK_COLUMN,
    ASKED_URL_COLUMN,
    MOMENT,
    NAAN_COLUMN,
    OBJECT_COLUMN,
    PAIR,
    TEXT,
    TOKEN,
    Column,
    TableDefinition,
)
from reports.tables.known import raised_events, without_known
from reports.tables.severity import EVENT_SEVERITY

#: The word for a failure that no further check has confirmed yet.
FAILING = str(ArkState.FAILING)
_SEVERITY = (str(EventKind.BROKE), FAILING, *map(str, EVENT_SEVERITY[1:]))


def changes(frames: Frames) -> pd.DataFrame:
    """One row per event, or a first failure."""
    events = raised_events(frames).merge(frames.verdicts[[*PAIR, "object"]], on=PAIR, how="left")
    rows = pd.concat([events.astype({"event": "str"}), _first_failures(frames)], ignore_index=True)
    return rows.assign(rank=rows["event"].map(_SEVERITY.index).astype("Int64"))


def _first_failures(frames: Frames) -> pd.DataFrame:
    """One row per ARK and URL that fails, where the ARK did not fail in the run that this one is compared with.

    What several checks over days have confirmed is left out: that it broke is an event.
    """
    compared = frames.since or frames.previous
    is_new = _failing_arks(frames)
    is_new = is_new[~is_new.isin(_failing_arks(compared))] if compared else is_new.iloc[:0]
    is_meant = families(frames.verdicts["object"]).eq(Family.FAILS) & frames.verdicts["ark_id"].isin(is_new)
    rows = without_known(frames, frames.verdicts.loc[is_meant, [*PAIR, "ark", "naan", "object"]])
    rows = rows.merge(frames.latest[[*PAIR, "state", "since", "reason"]], on=PAIR, how="left")
    rows = rows[rows["state"].ne(ArkState.CONFIRMED_BROKEN)].rename(columns={"since": "at", "reason": "detail"})
    return rows.assign(event=FAILING)


def _failing_arks(frames: Frames) -> pd.Series:
    """The numbers of the ARKs that fail at every URL."""
    statuses = ark_statuses(frames)
    return statuses.loc[statuses["family"].eq(Family.FAILS), "ark_id"]


CHANGES = TableDefinition(
    "changes",
    "What has changed",
    "One row per event: what has happened to an ARK in this run, or since the run that was chosen to compare with; "
    "the most serious first. A single failure proves nothing, and is called failing until further checks confirm "
    "it; an outage is not link rot, and has no row. What is acknowledged or ignored is left out.",
    changes,
    (
        Column(
            "event",
            TOKEN,
            "broke, failing (not yet confirmed), gone (from the documents), moved, changed, recovered or new",
        ),
        ARK_COLUMN,
        NAAN_COLUMN,
        ASKED_URL_COLUMN,
        OBJECT_COLUMN,
        Column("detail", TEXT, "the event in words"),
        Column("at", MOMENT, "moment of the check that showed it", "UTC", varies=True),
    ),
    order=("rank", "ark", "request_url", "at", "event_id"),
    is_listing=True,
)
