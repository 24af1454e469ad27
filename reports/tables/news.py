"""The news of a run: the changes that its report lists, ARKs that gave no answer for the first time, and old problems."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from crawler.history.ark_status import ArkState, EventKind
from crawler.model.observations import Family
from crawler.model.outcomes import READABLE
from reports.languages import N_
from reports.store.frames import Frames
from reports.tables.ark_statuses import families
from reports.tables.changes import FAILING, PROBLEMS, changes, new_failures, newly, of_family
from reports.tables.definitions import PAIR, in_order, records_of
from reports.tables.known import without_known

UNREAD = N_("This run could read no document.")


@dataclass(frozen=True, slots=True)
class NewsItem:
    """A change of an ARK at one URL."""

    kind: str
    """An event of the table of changes, or `Family.UNREACHABLE` for an ARK without an answer, which is no failure."""
    ark: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class News:
    """The changes that a run found."""

    run_id: int
    at: str
    items: tuple[NewsItem, ...] = ()
    """In the order of the ARKs' names."""
    known_problems: int = 0
    """ARKs that fail, and were reported before this run."""
    suspect: str = ""
    """The reason why this run confirms no failure; empty if it may."""
    compared_run: int | None = None
    """The run that this one is compared with."""
    opens_month: bool = False
    """True if the run compared with began in an earlier month, or does not exist."""
    unchecked: int = 0
    """ARKs that failed at their last check, are still cited as far as known, and were not checked in this run."""
    is_unread: bool = False
    """True if this run could read no document."""
    is_clear: bool = False
    """True if ARKs work, and none fails, gives no answer, or is unchecked after a failure."""


def could_read_nothing(frames: Frames) -> bool:
    """Return True if the run had documents and could read none of them."""
    return len(frames.documents) > 0 and not frames.documents["outcome"].isin(READABLE).any()


def news_of(frames: Frames) -> News:
    """Return the news of the one run that *frames* hold. Its numbers are those of the report."""
    run = next(records_of(frames.run))
    compared = frames.since or frames.previous
    earlier = None if compared is None else next(records_of(compared.run))
    unanswered = newly(frames, Family.UNREACHABLE).assign(event=Family.UNREACHABLE.value)
    failures = [new_failures(frames)] if compared is None else []
    tables = [changes(frames), *failures, *([] if run["is_suspect"] else [unanswered])]
    rows = pd.concat([table[["event", *PAIR, "ark", "detail"]] for table in tables], ignore_index=True)
    fresh = rows.loc[rows["event"].isin([EventKind.CONFIRMED, FAILING]), "ark_id"]
    failing = without_known(frames, of_family(frames, Family.FAILS))["ark_id"]
    problems = without_known(frames, frames.verdicts[families(frames.verdicts["object"]).isin(PROBLEMS)])
    standings = frames.timeline.standings
    has_failed = standings["state"].isin([ArkState.FAILING, ArkState.CONFIRMED_BROKEN]) & standings["gone_at"].isna()
    unchecked = standings.loc[has_failed & ~standings["ark_id"].isin(frames.verdicts["ark_id"]), "ark_id"].nunique()
    is_clear = not (unchecked or len(problems) or run["is_suspect"]) and len(of_family(frames, Family.WORKS)) > 0
    return News(
        run["run_id"],
        f"{run['started_at']:%Y-%m-%dT%H:%M:%S}",
        tuple(
            NewsItem(row["event"], row["ark"], row["detail"] or "")
            for row in records_of(in_order(rows, "ark", "request_url", "event"))
        ),
        failing[~failing.isin(fresh)].nunique(),
        (run["suspicion"] or "") if run["is_suspect"] else "",
        compared_run=None if earlier is None else earlier["run_id"],
        opens_month=earlier is None or f"{earlier['started_at']:%Y-%m}" < f"{run['started_at']:%Y-%m}",
        unchecked=unchecked,
        is_unread=could_read_nothing(frames),
        is_clear=is_clear,
    )
