"""The changes of ARKs, by the words of their life over time."""

from __future__ import annotations

from typing import Final

import pandas as pd

from crawler.history.ark_status import ArkState, EventKind
from crawler.model.observations import Family
from reports.store.frames import Frames
from reports.tables.ark_statuses import ark_statuses, families
from reports.tables.definitions import (
    ARK,
    MOMENT,
    NAAN_COLUMN,
    OBJECT_COLUMN,
    TEXT,
    TOKEN,
    URL,
    Column,
    TableDefinition,
)
from reports.tables.known import raised_events, without_known
from reports.tables.severity import EVENT_SEVERITY

_PAIR: Final = ["ark_id", "request_url"]
#: The word for a failure that no further check has confirmed yet.
FAILING: Final = str(ArkState.FAILING)
_SEVERITY: Final = (str(EventKind.BROKE), FAILING, *map(str, EVENT_SEVERITY[1:]))


def changes(frames: Frames) -> pd.DataFrame:
    """One row per event, or a first failure; ordered by severity, ARK, URL and moment."""
    outcomes = frames.verdicts[[*_PAIR, "object"]]
    events = raised_events(frames).merge(outcomes, on=_PAIR, how="left").astype({"event": "str"})
    rows = pd.concat([events, _first_failures(frames)], ignore_index=True)
    rows = rows.assign(rank=rows["event"].map(_SEVERITY.index).astype("Int64"))
    ordered = rows.sort_values(["rank", "ark", "request_url", "at", "event_id"], ignore_index=True)
    return CHANGES.shaped(ordered)


def _first_failures(frames: Frames) -> pd.DataFrame:
    """One row per ARK and URL that fails, where the ARK did not fail in the run that this one is compared with.

    What several checks over days have confirmed is left out: that it broke is an event.
    """
    compared = frames.since or frames.previous
    columns = [*_PAIR, "ark", "naan", "object"]
    failing = frames.verdicts.loc[families(frames.verdicts["object"]).eq(Family.FAILS), columns]
    if compared is None:
        return failing.iloc[:0].assign(event=FAILING)
    now, before = _failing_arks(frames), _failing_arks(compared)
    fail = now[~now.isin(before)]
    rows = without_known(frames, failing[failing["ark_id"].isin(fail)])
    rows = rows.merge(frames.latest[[*_PAIR, "state", "since", "reason"]], on=_PAIR, how="left")
    rows = rows[rows["state"].ne(ArkState.CONFIRMED_BROKEN)]
    return rows.rename(columns={"since": "at", "reason": "detail"}).assign(event=FAILING).drop(columns="state")


def _failing_arks(frames: Frames) -> pd.Series:
    """The numbers of the ARKs that fail at every URL."""
    statuses = ark_statuses(frames)
    return statuses.loc[statuses["family"].eq(Family.FAILS), "ark_id"]


CHANGES: Final = TableDefinition(
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
        Column("ark", ARK, "ARK in normal form"),
        NAAN_COLUMN,
        Column("request_url", URL, "URL that was asked for the object"),
        OBJECT_COLUMN,
        Column("detail", TEXT, "the event in words"),
        Column("at", MOMENT, "moment of the check that showed it", "UTC", varies=True),
    ),
    is_listing=True,
)
