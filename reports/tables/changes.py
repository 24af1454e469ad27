"""Changes of ARKs since an earlier run, without known problems."""

from __future__ import annotations

import pandas as pd

from crawler.history.ark_status import ArkState, EventKind
from crawler.model.observations import Family
from reports.store.frames import Frames
from reports.tables.ark_statuses import ark_statuses, families, is_among
from reports.tables.definitions import PAIR, published
from reports.tables.failing import diagnosed_failures
from reports.tables.known import known_pairs, without_known
from reports.tables.wording import CHANGE_NAMES

#: The families of an ARK that failures can confirm as broken.
PROBLEMS = (Family.FAILS, Family.UNREACHABLE)
#: The word for a failure that no further check has confirmed yet.
FAILING = str(ArkState.FAILING)
#: The kinds of changes, the most serious first.
SEVERITY = tuple(CHANGE_NAMES)


def events_to_report(frames: Frames, events: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return *events*, by default those of *frames*, without confirmed failures that are known or do not count.

    A URL that fails is no failure of an ARK that works, or may work, at another one.
    """
    events = frames.events if events is None else events
    fails = families(frames.verdicts["object"]).isin(PROBLEMS)
    has_hope = ~frames.verdicts["ark_id"].isin(of_family(frames, *PROBLEMS)["ark_id"])
    is_elsewhere = is_among(events, frames.verdicts.loc[fails & has_hope, PAIR])
    return events[~(events["event"].eq(EventKind.CONFIRMED) & (is_elsewhere | is_among(events, known_pairs(frames))))]


def changes(frames: Frames) -> pd.DataFrame:
    """Return one row per event and per new failure: the one source of headline, news and all formats.

    A report without a run to compare with has events only.
    """
    events = events_to_report(frames).merge(frames.verdicts[[*PAIR, "object"]], on=PAIR, how="left")
    failures = [new_failures(frames, frames.compared_run)] if frames.compared_run else []
    rows = pd.concat([events.astype({"event": "str"}), *failures], ignore_index=True)
    known = diagnosed_failures(frames)[[*PAIR, "cause"]].assign(is_past=False)
    if frames.former_causes is not None:
        known = pd.concat([known, frames.former_causes.assign(is_past=True)])
    rows = rows.assign(is_past=rows["event"].eq(EventKind.RECOVERED)).merge(known, on=[*PAIR, "is_past"], how="left")
    return rows.assign(rank=rows["event"].map(SEVERITY.index).astype("Int64"))


def new_failures(frames: Frames, compared: Frames) -> pd.DataFrame:
    """Return one row per URL of each ARK that fails and did not in the run *compared*, unless its failure is confirmed.

    An ARK whose documents that run could not read is compared with its last verdict before. Known problems are left
    out.
    """
    before = frames.history[frames.history["started_at"].le(compared.run["started_at"].max())]
    before = before[~before["ark_id"].isin(compared.verdicts["ark_id"])]
    last = before[before["run_id"].eq(before.groupby("ark_id")["run_id"].transform("max"))]
    failed_before = last.loc[families(last["object"]).eq(Family.FAILS), "ark_id"]
    events = events_to_report(frames)
    confirmed = events.loc[events["event"].eq(EventKind.CONFIRMED), "ark_id"]
    rows = of_family(frames, Family.FAILS)
    others = pd.concat([of_family(compared, Family.FAILS)["ark_id"], failed_before, confirmed])
    rows = rows[families(rows["object"]).eq(Family.FAILS) & ~rows["ark_id"].isin(others)]
    rows = without_known(frames, rows).merge(frames.latest[[*PAIR, "state", "since", "reason"]], on=PAIR, how="left")
    rows = rows[rows["state"].ne(ArkState.CONFIRMED_BROKEN)].assign(event=FAILING)
    return rows.rename(columns={"since": "at", "reason": "detail"})


def of_family(frames: Frames, *of: Family) -> pd.DataFrame:
    """Return the verdicts about the ARKs whose best outcome is of a family."""
    statuses = ark_statuses(frames)
    chosen = statuses.loc[statuses["family"].isin(of), "ark_id"]
    return frames.verdicts.loc[frames.verdicts["ark_id"].isin(chosen), [*PAIR, "ark", "naan", "object"]]


CHANGES = published("changes", changes)
