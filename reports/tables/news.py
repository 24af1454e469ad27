"""The news of a run: the changes that its report lists, ARKs that gave no answer for the first time, and old problems."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from crawler.history.ark_status import EventKind
from crawler.model.observations import Family
from reports.languages import ENGLISH, Language
from reports.store.frames import Frames
from reports.tables.ark_statuses import citation_counts
from reports.tables.definitions import PAIR, in_order, records_of
from reports.tables.known import (
    FAILING,
    changes,
    known_measures,
    known_sentence,
    new_failures,
    newly,
    of_family,
    without_known,
)


@dataclass(frozen=True, slots=True)
class NewsItem:
    """A change of an ARK at one URL."""

    kind: str
    """An event of the table of changes, or `Family.UNREACHABLE` for an ARK without an answer, which is no failure."""
    ark: str
    request_url: str
    detail: str
    citations: int
    """Number of its citations at that URL in the documents of this run."""


@dataclass(frozen=True, slots=True)
class News:
    """The changes that a run found."""

    run_id: int
    at: str
    items: tuple[NewsItem, ...]
    """In the order of the ARKs' names."""
    known_problems: int
    """ARKs that fail, and were reported before this run."""
    suspect: str
    """The reason why this run confirms no failure; empty if it may."""
    triaged: str = ""
    """A sentence on the ARKs with an acknowledged or ignored problem; they are in none of the above."""
    is_first: bool = False
    """True if there is no earlier run to compare with."""


def news_of(frames: Frames, language: Language = ENGLISH) -> News:
    """Return the news of the one run that *frames* hold. Its numbers are those of the report."""
    run = next(records_of(frames.run))
    unanswered = newly(frames, Family.UNREACHABLE).assign(event=Family.UNREACHABLE.value)
    is_first = frames.previous is None
    tables = [
        changes(frames),
        *([new_failures(frames)] if is_first else []),
        *([] if run["is_suspect"] else [unanswered]),
    ]
    rows = pd.concat([table[["event", *PAIR, "ark", "detail"]] for table in tables], ignore_index=True)
    counts = citation_counts(frames.mentions, PAIR)[[*PAIR, "citations"]]
    items = [
        NewsItem(row["event"], row["ark"], row["request_url"], row["detail"] or "", int(row["citations"] or 0))
        for row in records_of(in_order(rows.merge(counts, on=PAIR, how="left"), "ark", "request_url", "event"))
    ]
    fresh = rows.loc[rows["event"].isin([EventKind.CONFIRMED, FAILING]), "ark_id"]
    failing = without_known(frames, of_family(frames, Family.FAILS))["ark_id"]
    return News(
        run["run_id"],
        f"{run['started_at']:%Y-%m-%dT%H:%M:%S}",
        tuple(items),
        failing[~failing.isin(fresh)].nunique(),
        (run["suspicion"] or "") if run["is_suspect"] else "",
        known_sentence(pd.DataFrame(known_measures(frames), columns=["measure", "value", "note"]), language),
        is_first=is_first,
    )
