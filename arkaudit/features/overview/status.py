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
    """Numbers of ARKs at a URL after a run, by their last conclusive check."""

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
    """A change of an ARK in a run: a row of the table of changes."""

    id: str
    """A URN that never changes: of the run, the ARK and the kind of change."""
    event: str
    ark: str
    url: str
    """The first URL at which the ARK changed."""
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
        """Return the status in *data*, made by `dump`. Raises ValueError."""
        return _adapter().validate_json(data, strict=True)


@cache
def _adapter() -> TypeAdapter[AuditStatus]:
    # Imported here to keep `--help` fast.
    from pydantic import TypeAdapter

    return TypeAdapter(AuditStatus)


def status_of(report: Report, store: Path) -> AuditStatus | None:
    """Return the status of the audit in *store* from its *report*; None for a store without runs.

    Raises `StoreUnopenable` and `crawler.store.StoreDamaged`.
    """
    frames, tables = report.frames, report.tables
    run_record = next(records_of(frames.run), None)
    if run_record is None:
        return None
    run_keys, events = read_store(store, _recent_events)
    changes = tables["changes"]
    failing_changes = changes[changes["event"].eq(FAILING)].assign(run_id=run_record["run_id"])
    changes = pd.concat([events_to_report(frames, events).astype({"event": "str"}), failing_changes], ignore_index=True)
    run_order = list(run_keys)
    changes = changes.assign(age=changes["run_id"].map(run_order.index), rank=changes["event"].map(SEVERITY.index))
    checked_runs = runs(frames.timeline)
    trend_runs = checked_runs[checked_runs["share_working"].notna()].tail(MOST_RUNS)
    caveat_conditions = {
        "unfinished": run_record["state"] != "finished",
        "unread": could_read_nothing(frames),
        "suspect": bool(run_record["is_suspect"]),
    }
    return AuditStatus(
        uuid5(NAMESPACE_URL, run_keys[min(run_keys)]).urn,
        run_record["run_id"],
        max([run_record["started_at"], *frames.later["started_at"]]).to_pydatetime(),
        replace(report.summary, scope={}),
        tuple(name for name, is_true in caveat_conditions.items() if is_true),
        tuple(
            RunStatus(
                row["run_id"],
                row["started_at"].to_pydatetime(),
                *(row[name] for name in ("working", "failing", "confirmed_broken")),
            )
            for row in records_of(trend_runs)
        ),
        tuple(
            ArkChange(
                uuid5(NAMESPACE_URL, " ".join([run_keys[row["run_id"]], row["event"], row["ark"]])).urn,
                row["event"],
                row["ark"],
                row["request_url"],
                row["detail"] or "",
                (row["at"] or run_record["started_at"]).to_pydatetime(),
            )
            for row in records_of(_one_row_per_ark(changes).head(MOST_CHANGES))
        ),
    )


def _one_row_per_ark(changes: pd.DataFrame) -> pd.DataFrame:
    """Return *changes* with one row per run, event and ARK, whose details at all URLs are joined by semicolons."""
    rows = in_order(changes, "age", "rank", "ark", "request_url", "at")
    groups = rows.groupby(["run_id", "event", "ark"], sort=False, as_index=False)
    return groups.agg(
        request_url=("request_url", "first"),
        at=("at", "first"),
        detail=("detail", lambda texts: "; ".join(texts.dropna().unique())),
    )


def _recent_events(connection: Connection) -> tuple[dict[int, str], pd.DataFrame]:
    """Return the UUIDs of all runs by number, the newest first, and the last events.

    Events of the first run about newly cited ARKs are left out, because nothing precedes this run.
    """
    is_new = event.c.event == EventKind.NEW.value
    newest_order = (run.c.started_at.desc(), run.c.run_id.desc())
    run_keys = connection.execute(select(run.c.run_id, run.c.uuid).order_by(*newest_order))
    first_run = select(func.min(run.c.run_id)).scalar_subquery()
    is_reportable = ~(is_new & (event.c.run_id == first_run))
    event_order = (*newest_order, is_new, event.c.event_id)
    events = load(connection, EVENTS, is_reportable, of=event.join(ark).join(run), order=event_order, most=_MOST_EVENTS)
    return {row.run_id: row.uuid for row in run_keys}, events


@dataclass(frozen=True, slots=True)
class AuditRow:
    """A row of the overview: an audit, with its status or the reason why its store can't be read."""

    name: str
    status: AuditStatus | None = None
    """None if the audit has no result."""
    fault: str = ""
    """The reason why the store can't be read; empty if it can, or does not exist."""
    is_running: bool = False
    late_after: datetime | None = None
    """The time after which the last check is too old for the schedule; None without a schedule."""
    report: str | None = None
    """The address of the report, relative to the overview; None without one."""
