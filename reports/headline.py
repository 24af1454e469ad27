"""The verdict of a report in one sentence: how many ARKs fail, what is to be done, and what has changed since."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Final

import pandas as pd

from crawler.history.ark_status import EventKind
from crawler.observations import Family
from reports.frames import Frames


@dataclass(frozen=True, slots=True)
class Counts:
    """The numbers behind the verdict; each ARK counts once, with the best outcome of its URLs."""

    works: int = 0
    fails: int = 0
    unreachable: int = 0
    not_judged: int = 0
    causes: int = 0
    """Causes of failures that somebody should act on."""
    day: date | None = None
    """The day on which the audit began; none for an empty store."""
    since: date | None = None
    """The day of the run that it is compared with; none where there is none."""
    broke: int = 0
    """ARKs that broke since."""
    recovered: int = 0

    @property
    def arks(self) -> int:
        """Return how many ARKs there are."""
        return self.works + self.fails + self.unreachable + self.not_judged

    @property
    def judged(self) -> int:
        """Return how many ARKs are the denominator of a share that works: an outage is not link rot."""
        return self.works + self.fails


def counts_of(frames: Frames, tables: Mapping[str, pd.DataFrame]) -> Counts:
    """The numbers of a report, from its tables."""
    summary = tables["summary"]
    measures = dict(zip(summary["measure"], summary["value"], strict=True))
    works, fails, unreachable, not_judged = (int(measures[f"ARKs: {family}"]) for family in Family)
    compared = frames.since or frames.previous
    changes = tables["changes"]
    broke, recovered = (
        int(changes.loc[changes["event"].eq(kind), "ark"].nunique()) for kind in (EventKind.BROKE, EventKind.RECOVERED)
    )
    return Counts(
        works,
        fails,
        unreachable,
        not_judged,
        causes=len(tables["causes"]),
        day=_day(frames),
        since=_day(compared) if compared else None,
        broke=broke,
        recovered=recovered,
    )


def _day(frames: Frames) -> date | None:
    return None if frames.run.empty else frames.run["started_at"].iloc[0].date()


def headline(counts: Counts) -> str:
    """The verdict in one sentence.

    >>> print(headline(Counts(48, 7, causes=7, day=date(2026, 11, 23), since=date(2026, 11, 1), broke=2, recovered=1)))
    7 of 55 judged ARKs fail; 7 causes to act on; since 1 November, 2 broke and 1 recovered.
    """
    return f"{'; '.join(_clauses(counts))}."


def _clauses(counts: Counts) -> Iterator[str]:
    """The parts of the verdict, each of which is a whole one that can be translated by itself."""
    if not counts.arks:
        yield "No ARK was found"
        return
    yield _judged_words(counts)
    if counts.unreachable:
        yield f"{counts.unreachable:,} gave no answer today"
    yield _causes_words(counts.causes)
    yield _since_words(counts)


def _judged_words(counts: Counts) -> str:
    """Return how the judged ARKs stand.

    >>> _judged_words(Counts(fails=1)), _judged_words(Counts(works=2)), _judged_words(Counts(not_judged=3))
    ('The only judged ARK fails', 'Both judged ARKs work', 'None of 3 ARKs was judged')
    """
    fails, judged = counts.fails, counts.judged
    match (judged, fails):
        case (0, _):
            return "The only ARK was not judged" if counts.arks == 1 else f"None of {counts.arks:,} ARKs was judged"
        case (1, 0):
            return "The only judged ARK works"
        case (1, 1):
            return "The only judged ARK fails"
        case (2, 0):
            return "Both judged ARKs work"
        case (2, 2):
            return "Both judged ARKs fail"
        case (_, 0):
            return f"All {judged:,} judged ARKs work"
        case (_, 1):
            return f"1 of {judged:,} judged ARKs fails"
    return f"All {judged:,} judged ARKs fail" if fails == judged else f"{fails:,} of {judged:,} judged ARKs fail"


def _causes_words(causes: int) -> str:
    match causes:
        case 0:
            return "nothing to act on"
        case 1:
            return "1 cause to act on"
    return f"{causes:,} causes to act on"


def _since_words(counts: Counts) -> str:
    if counts.since is None:
        return "nothing to compare with yet"
    day = "the audit of the same day" if counts.since == counts.day else day_words(counts.since, beside=counts.day)
    match (counts.broke, counts.recovered):
        case (0, 0):
            return f"since {day}, none broke and none recovered"
        case (broke, 0):
            return f"since {day}, {broke:,} broke and none recovered"
        case (0, recovered):
            return f"since {day}, none broke and {recovered:,} recovered"
    return f"since {day}, {counts.broke:,} broke and {counts.recovered:,} recovered"


def day_words(day: date, *, beside: date | None = None) -> str:
    """A day in words, without its year where that is the year of *beside*.

    >>> day_words(date(2026, 11, 1)), day_words(date(2026, 11, 1), beside=date(2026, 11, 23))
    ('1 November 2026', '1 November')
    """
    words = f"{day.day} {_MONTHS[day.month - 1]}"
    return words if beside is not None and day.year == beside.year else f"{words} {day.year}"


_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
