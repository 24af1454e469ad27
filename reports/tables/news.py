"""The news of a run for a channel: ARKs that fail, recovered or changed since its last news, and old problems."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import pandas as pd

from crawler.history.ark_status import ArkState, EventKind
from crawler.model.observations import Family
from crawler.model.outcomes import READABLE
from reports.languages import N_
from reports.store.frames import Frames
from reports.tables.ark_statuses import ark_statuses, families
from reports.tables.changes import FAILING, PROBLEMS, events_to_report, of_family
from reports.tables.definitions import PAIR, in_order, records_of
from reports.tables.known import without_known

UNREAD = N_("This run could read no document.")
#: The kinds of news about ARKs that do not work, the most serious first.
PROBLEM_KINDS = (EventKind.CONFIRMED.value, FAILING, Family.UNREACHABLE.value)
#: The kinds of news that are events of the run.
_EVENT_KINDS = (EventKind.MOVED, EventKind.CHANGED, EventKind.GONE, EventKind.NEW)


@dataclass(frozen=True, slots=True)
class NewsItem:
    """A change of an ARK, with its kind."""

    kind: str
    """An event of the table of changes, or `Family.UNREACHABLE` for an ARK without an answer, which is no failure."""
    ark: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class News:
    """The changes from the last news of a channel up to a run."""

    run_id: int
    at: str
    """The start of the run in ISO 8601, UTC, to the second."""
    items: tuple[NewsItem, ...] = ()
    """At most one of each kind for an ARK, in the order of the ARKs' names."""
    known_problems: int = 0
    """Number of ARKs that fail as in earlier news of the channel."""
    suspect: str = ""
    """The reason why this run confirms no failure; empty if it may."""
    compared_run: int | None = None
    """The last run whose news the channel got; None for its first message."""
    opens_month: bool = False
    """True if the run compared with began in an earlier month, or does not exist."""
    unchecked: int = 0
    """Number of ARKs that failed at their last check, are still cited, and were not checked in this run."""
    is_unread: bool = False
    """True if this run could read no document."""
    is_clear: bool = False
    """True if at least one ARK works and none fails, gives no answer, or failed before without a check in this run."""


def could_read_nothing(frames: Frames) -> bool:
    """Return True if the run had documents and could read none of them."""
    return len(frames.documents) > 0 and not frames.documents["outcome"].isin(READABLE).any()


def news_of(frames: Frames, *, failures_sent: Mapping[str, str] | None = None, last_run: int | None = None) -> News:
    """Return the news of the run in *frames* for a channel.

    *failures_sent* has the kind of the last news that the channel got, by failing ARK. Such an ARK is news again only if
    it became worse; recovery is news of such ARKs only. *last_run* is the last run whose news the channel got, or None.
    """
    failures_sent = failures_sent or {}
    run = next(records_of(frames.run))
    compared_run = None if frames.compared_run is None else next(records_of(frames.compared_run.run))
    problems = _problems(frames, is_suspect=bool(run["is_suspect"]))
    ranks = {kind: rank for rank, kind in enumerate(PROBLEM_KINDS)}
    sent_ranks = problems["ark"].map({ark: ranks.get(kind) for ark, kind in failures_sent.items()})
    new_problems = problems[problems["rank"] < sent_ranks.astype("Int64").fillna(len(ranks))]
    events = events_to_report(frames)
    working_verdicts = of_family(frames, Family.WORKS)
    recovered = working_verdicts[working_verdicts["ark"].isin([*failures_sent])].assign(event=EventKind.RECOVERED.value)
    recovery_details = events.loc[events["event"].eq(EventKind.RECOVERED), [*PAIR, "detail"]].drop_duplicates(
        PAIR, keep="last"
    )
    other_events = events[events["event"].isin(_EVENT_KINDS)].astype({"event": "str"})
    columns = ["event", "ark", "request_url", "detail"]
    rows = pd.concat(
        [
            table[columns]
            for table in (new_problems, recovered.merge(recovery_details, on=PAIR, how="left"), other_events)
        ],
        ignore_index=True,
    )
    rows = in_order(rows, "ark", "event", "detail", "request_url").drop_duplicates(["event", "ark"])
    failing_arks = problems.loc[problems["family"].eq(Family.FAILS), "ark"]
    standings = frames.timeline.standings
    is_failing = standings["state"].isin([ArkState.FAILING, ArkState.CONFIRMED_BROKEN]) & standings["gone_at"].isna()
    unchecked = standings.loc[is_failing & ~standings["ark_id"].isin(frames.verdicts["ark_id"]), "ark_id"].nunique()
    not_working = without_known(frames, frames.verdicts[families(frames.verdicts["object"]).isin(PROBLEMS)])
    is_clear = not (unchecked or len(not_working) or run["is_suspect"]) and len(working_verdicts) > 0
    return News(
        run["run_id"],
        f"{run['started_at']:%Y-%m-%dT%H:%M:%S}",
        tuple(NewsItem(row["event"], row["ark"], row["detail"] or "") for row in records_of(rows)),
        int((~failing_arks.isin(new_problems["ark"])).sum()),
        (run["suspicion"] or "") if run["is_suspect"] else "",
        compared_run=last_run,
        opens_month=compared_run is None or f"{compared_run['started_at']:%Y-%m}" < f"{run['started_at']:%Y-%m}",
        unchecked=unchecked,
        is_unread=could_read_nothing(frames),
        is_clear=is_clear,
    )


def _problems(frames: Frames, *, is_suspect: bool) -> pd.DataFrame:
    """Return one row per ARK that does not work, without known problems, with `event` (the kind of news) and `detail`.

    If *is_suspect*, ARKs without an answer are left out.
    """
    rows = without_known(frames, of_family(frames, *PROBLEMS))
    rows = rows.merge(frames.latest[[*PAIR, "state", "reason"]], on=PAIR, how="left")
    rows = rows.merge(ark_statuses(frames)[["ark_id", "family"]], on="ark_id")
    kinds = rows["family"].astype("str").replace({Family.FAILS.value: FAILING})
    rows = rows.assign(event=kinds.mask(rows["state"].eq(ArkState.CONFIRMED_BROKEN), EventKind.CONFIRMED.value))
    if is_suspect:
        rows = rows[rows["event"].ne(Family.UNREACHABLE)]
    rows = rows.assign(rank=rows["event"].map(PROBLEM_KINDS.index).astype("Int64"), detail=rows["reason"])
    return in_order(rows, "rank", "request_url").drop_duplicates("ark")


def failures_after(failures_sent: Mapping[str, str], news: News, kinds: Collection[str]) -> dict[str, str]:
    """Return the kind of the last news by failing ARK for a channel that had *failures_sent* and got *news* of *kinds*.

    >>> items = (NewsItem("failing", "ark:12148/x1"), NewsItem("recovered", "ark:12148/x2"))
    >>> failures_after({"ark:12148/x2": "confirmed"}, News(7, "", items), {"failing"})
    {'ark:12148/x1': 'failing'}
    """
    recovered_arks = {item.ark for item in news.items if item.kind == EventKind.RECOVERED}
    new_failures = {item.ark: item.kind for item in news.items if item.kind in PROBLEM_KINDS and item.kind in kinds}
    return {ark: kind for ark, kind in failures_sent.items() if ark not in recovered_arks} | new_failures
