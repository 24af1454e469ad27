"""The status of an audit in a few values: its verdict, the shares of its last runs, and its last changes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import NAMESPACE_URL, uuid5

import pandas as pd
from sqlalchemy import Connection, func, select

from crawler.history.ark_status import EventKind
from crawler.model.schema import ark, event, run
from reports.languages import N_
from reports.store.selections import EVENTS, load
from reports.store.store_reading import read_store
from reports.tables.changes import FAILING, SEVERITY, events_to_report
from reports.tables.definitions import in_order, records_of
from reports.tables.news import UNREAD, could_read_nothing
from reports.tables.persistence import runs
from reports.tables.report_tables import Report
from reports.tables.summary import Summary

if TYPE_CHECKING:
    from pydantic import TypeAdapter

#: Number of runs in a trend, and of changes in a feed.
MOST_RUNS, MOST_CHANGES = 24, 100
#: Events that are read to find these changes: some of them are not reported.
_MOST_EVENTS = 1_000
#: Reasons why a verdict has little weight.
CAVEATS = {
    "unfinished": N_("This run did not finish."),
    "unread": UNREAD,
    "suspect": N_("Most hosts failed in this run, so its failures prove nothing."),
}


@dataclass(frozen=True, slots=True)
class RunStatus:
    """The ARKs at a URL that were known after a run, by their last conclusive check."""

    run_id: int
    started_at: datetime
    working: int
    failing: int
    confirmed_broken: int

    @property
    def share(self) -> float:
        """The share of working ARKs among those that work or fail, from 0 to 1."""
        return self.working / (self.working + self.failing + self.confirmed_broken)


@dataclass(frozen=True, slots=True)
class ArkChange:
    """A change of an ARK in a run, as the table of changes has it."""

    id: str
    """A URN that never changes: of the run, the ARK and the kind of change."""
    event: str
    ark: str
    url: str
    """The first URL at which it changed."""
    detail: str
    """The change in words, at all URLs."""
    at: datetime


@dataclass(frozen=True, slots=True)
class AuditStatus:
    """The current state of an audit."""

    id: str
    """A URN of the audit, from the key of its first run."""
    run_id: int
    checked_at: datetime
    """The start of the last run whose checks count."""
    summary: Summary
    caveats: tuple[str, ...]
    """Keys of `CAVEATS`."""
    trend: tuple[RunStatus, ...]
    """The last runs with a conclusive check, in order."""
    changes: tuple[ArkChange, ...]
    """The last changes; those of the newest run first, and the most serious of a run first."""

    @property
    def is_suspect(self) -> bool:
        """True if the failures of the run prove nothing."""
        return "suspect" in self.caveats

    def dump(self) -> bytes:
        """Return the status as JSON."""
        return _adapter().dump_json(self)

    @staticmethod
    def parse(data: bytes) -> AuditStatus:
        """Return the status in JSON. Raises ValueError."""
        return _adapter().validate_json(data, strict=True)


@cache
def _adapter() -> TypeAdapter[AuditStatus]:
    # Imported here to keep `--help` fast.
    from pydantic import TypeAdapter

    return TypeAdapter(AuditStatus)


def status_of(report: Report, store: Path) -> AuditStatus | None:
    """Return the status of the audit in *store*, which *report* is about; None for a store without runs.

    Raises `StoreUnopenable` and `crawler.store.StoreDamaged`.
    """
    frames, tables = report.frames, report.tables
    this = next(records_of(frames.run), None)
    if this is None:
        return None
    keys, events = read_store(store, _recent_events)
    changes = tables["changes"]
    failing = changes[changes["event"].eq(FAILING)].assign(run_id=this["run_id"])
    changes = pd.concat([events_to_report(frames, events).astype({"event": "str"}), failing], ignore_index=True)
    order = list(keys)
    changes = changes.assign(age=changes["run_id"].map(order.index), rank=changes["event"].map(SEVERITY.index))
    checked = runs(frames.timeline)
    judged = checked[checked["share_working"].notna()].tail(MOST_RUNS)
    holds = {
        "unfinished": this["state"] != "finished",
        "unread": could_read_nothing(frames),
        "suspect": bool(this["is_suspect"]),
    }
    return AuditStatus(
        uuid5(NAMESPACE_URL, keys[min(keys)]).urn,
        this["run_id"],
        max([this["started_at"], *frames.later["started_at"]]).to_pydatetime(),
        replace(report.summary, scope={}),
        tuple(name for name, is_true in holds.items() if is_true),
        tuple(
            RunStatus(
                row["run_id"],
                row["started_at"].to_pydatetime(),
                *(row[name] for name in ("working", "failing", "confirmed_broken")),
            )
            for row in records_of(judged)
        ),
        tuple(
            ArkChange(
                uuid5(NAMESPACE_URL, " ".join([keys[row["run_id"]], row["event"], row["ark"]])).urn,
                row["event"],
                row["ark"],
                row["request_url"],
                row["detail"] or "",
                (row["at"] or this["started_at"]).to_pydatetime(),
            )
            for row in records_of(_by_ark(changes).head(MOST_CHANGES))
        ),
    )


def _by_ark(changes: pd.DataFrame) -> pd.DataFrame:
    """Return *changes* with one row per run, kind of change and ARK, whose details at all URLs are joined."""
    rows = in_order(changes, "age", "rank", "ark", "request_url", "at")
    groups = rows.groupby(["run_id", "event", "ark"], sort=False, as_index=False)
    return groups.agg(
        request_url=("request_url", "first"),
        at=("at", "first"),
        detail=("detail", lambda texts: "; ".join(texts.dropna().unique())),
    )


def _recent_events(connection: Connection) -> tuple[dict[int, str], pd.DataFrame]:
    """Return the keys of all runs by number, the newest first, and the last events.

    The first run has nothing to compare with, so its ARKs are not newly cited.
    """
    is_new = event.c.event == EventKind.NEW.value
    newest = (run.c.started_at.desc(), run.c.run_id.desc())
    keys = connection.execute(select(run.c.run_id, run.c.uuid).order_by(*newest))
    first = select(func.min(run.c.run_id)).scalar_subquery()
    is_meant = ~(is_new & (event.c.run_id == first))
    order = (*newest, is_new, event.c.event_id)
    events = load(connection, EVENTS, is_meant, of=event.join(ark).join(run), order=order, most=_MOST_EVENTS)
    return {row.run_id: row.uuid for row in keys}, events


@dataclass(frozen=True, slots=True)
class AuditRow:
    """A row of the overview: an audit, with its status or the reason why there is none."""

    name: str
    status: AuditStatus | None = None
    """None if it has no result."""
    fault: str = ""
    """Why its store can't be read; empty if it can, or does not exist."""
    is_running: bool = False
    late_after: datetime | None = None
    """The time after which the last check is too old for the schedule; None without a schedule."""
    report: str | None = None
    """The address of the report, relative to the overview; None without one."""
