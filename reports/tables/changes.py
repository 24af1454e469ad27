"""Changes of ARKs since an earlier run, without known problems."""

from __future__ import annotations

import pandas as pd

from crawler.history.ark_status import ArkState, EventKind
from crawler.model.observations import Family
from reports.store.frames import Frames
from reports.tables.ark_statuses import ark_statuses, families, is_among
from reports.tables.definitions import PAIR
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
    """Return *events*, by default those of *frames*, without some confirmed failures.

    Left out are those that are known problems, and those at one URL of an ARK that works, or was not judged, at
    another URL.
    """
    events = frames.events if events is None else events
    fails = families(frames.verdicts["object"]).isin(PROBLEMS)
    is_of_working_ark = ~frames.verdicts["ark_id"].isin(of_family(frames, *PROBLEMS)["ark_id"])
    may_work_elsewhere = is_among(events, frames.verdicts.loc[fails & is_of_working_ark, PAIR])
    return events[
        ~(events["event"].eq(EventKind.CONFIRMED) & (may_work_elsewhere | is_among(events, known_pairs(frames))))
    ]


def changes(frames: Frames) -> pd.DataFrame:
    """Return one row per event and per new failure of an ARK at a URL, with the cause of the failure.

    For a recovered ARK, `failed_with` is its last failing outcome. Without a run to compare with, new failures are
    unknown and there are rows of events only.
    """
    events = events_to_report(frames).merge(frames.verdicts[[*PAIR, "object"]], on=PAIR, how="left")
    failures = [new_failures(frames, frames.compared_run)] if frames.compared_run else []
    rows = pd.concat([events.astype({"event": "str"}), *failures], ignore_index=True)
    rows = rows.merge(diagnosed_failures(frames)[[*PAIR, "cause"]], on=PAIR, how="left")
    is_recovered = rows["event"].eq(EventKind.RECOVERED)
    checks = frames.history[frames.history["ark_id"].isin(rows.loc[is_recovered, "ark_id"])]
    failed_checks = checks[families(checks["object"]).isin(PROBLEMS)]
    last_failures = failed_checks.drop_duplicates("ark_id", keep="last").set_index("ark_id")["object"].astype("str")
    failed_with = rows["ark_id"].map(last_failures).where(is_recovered)
    return rows.assign(failed_with=failed_with, rank=rows["event"].map(SEVERITY.index).astype("Int64"))


def new_failures(frames: Frames, compared: Frames) -> pd.DataFrame:
    """Return one row per failing URL of each ARK that fails and did not fail in the run *compared*.

    An ARK that has no verdict in *compared* is compared with its last verdict before. Confirmed failures and known
    problems are left out.
    """
    earlier_verdicts = frames.history[frames.history["started_at"].le(compared.run["started_at"].max())]
    earlier_verdicts = earlier_verdicts[~earlier_verdicts["ark_id"].isin(compared.verdicts["ark_id"])]
    last_verdicts = earlier_verdicts[
        earlier_verdicts["run_id"].eq(earlier_verdicts.groupby("ark_id")["run_id"].transform("max"))
    ]
    failed_before = last_verdicts.loc[families(last_verdicts["object"]).eq(Family.FAILS), "ark_id"]
    events = events_to_report(frames)
    confirmed_ark_ids = events.loc[events["event"].eq(EventKind.CONFIRMED), "ark_id"]
    rows = of_family(frames, Family.FAILS)
    excluded_ark_ids = pd.concat([of_family(compared, Family.FAILS)["ark_id"], failed_before, confirmed_ark_ids])
    rows = rows[families(rows["object"]).eq(Family.FAILS) & ~rows["ark_id"].isin(excluded_ark_ids)]
    rows = without_known(frames, rows).merge(frames.latest[[*PAIR, "state", "since", "reason"]], on=PAIR, how="left")
    rows = rows[rows["state"].ne(ArkState.CONFIRMED_BROKEN)].assign(event=FAILING)
    return rows.rename(columns={"since": "at", "reason": "detail"})


def of_family(frames: Frames, *wanted_families: Family) -> pd.DataFrame:
    """Return the verdicts about the ARKs whose best outcome belongs to one of *wanted_families*."""
    statuses = ark_statuses(frames)
    ark_ids = statuses.loc[statuses["family"].isin(wanted_families), "ark_id"]
    return frames.verdicts.loc[frames.verdicts["ark_id"].isin(ark_ids), [*PAIR, "ark", "naan", "object"]]
