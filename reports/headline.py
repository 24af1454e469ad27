"""The verdict of a report in one sentence: how many ARKs fail, what is to be done, and what has changed since."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Final

import pandas as pd

from crawler.history.ark_status import EventKind
from crawler.model.observations import Family
from reports.comparing import FAILING
from reports.frames import Frames
from reports.languages import ENGLISH, N_, Language


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
    failing: int = 0
    """ARKs that fail now and did not then, which nothing has confirmed yet."""

    @property
    def arks(self) -> int:
        """Return how many ARKs there are."""
        return self.works + self.fails + self.unreachable + self.not_judged

    @property
    def judged(self) -> int:
        """Return how many ARKs are the denominator of a share that works: an outage is not link rot."""
        return self.works + self.fails


#: The tables that the verdict rests on.
VERDICT_TABLES: Final = ("summary", "changes", "causes")


def counts_of(frames: Frames, tables: Mapping[str, pd.DataFrame]) -> Counts:
    """The numbers of a report, from its tables, of which `VERDICT_TABLES` are enough."""
    summary = tables["summary"]
    measures = dict(zip(summary["measure"], summary["value"], strict=True))
    works, fails, unreachable, not_judged = (int(measures[f"ARKs: {family}"]) for family in Family)
    compared = frames.since or frames.previous
    changes = tables["changes"]
    broke, recovered, failing = (
        int(changes.loc[changes["event"].eq(kind), "ark"].nunique())
        for kind in (EventKind.BROKE, EventKind.RECOVERED, FAILING)
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
        failing=failing,
    )


def _day(frames: Frames) -> date | None:
    return None if frames.run.empty else frames.run["started_at"].iloc[0].date()


def headline(counts: Counts, language: Language = ENGLISH) -> str:
    """The verdict in one sentence.

    >>> print(headline(Counts(48, 7, causes=7, day=date(2026, 11, 23), since=date(2026, 11, 1), broke=2, recovered=1)))
    7 of 55 judged ARKs fail; 7 causes to act on; since 1 November, 2 broke and 1 recovered.
    """
    between = language.pgettext("between the parts of the verdict", "; ")
    return f"{between.join(_clauses(counts, language))}."


def _clauses(counts: Counts, language: Language) -> Iterator[str]:
    """The parts of the verdict, each of which is a whole one that is translated by itself."""
    if not counts.arks:
        yield language.gettext("No ARK was found")
        return
    yield _judged_words(counts, language)
    if counts.unreachable:
        yield language.ngettext("{number} gave no answer today", "{number} gave no answer today", counts.unreachable)
    yield (
        language.ngettext("{number} cause to act on", "{number} causes to act on", counts.causes)
        if counts.causes
        else language.gettext("nothing to act on")
    )
    yield _since_words(counts, language)


def _judged_words(counts: Counts, language: Language) -> str:
    """Return how the judged ARKs stand.

    >>> _judged_words(Counts(fails=1), ENGLISH), _judged_words(Counts(works=2), ENGLISH)
    ('The only judged ARK fails', 'Both judged ARKs work')
    """
    fails, judged = counts.fails, counts.judged
    match (judged, fails):
        case (0, _):
            return language.ngettext("The only ARK was not judged", "None of {number} ARKs was judged", counts.arks)
        case (1, 0):
            return language.gettext("The only judged ARK works")
        case (1, 1):
            return language.gettext("The only judged ARK fails")
        case (2, 0):
            return language.gettext("Both judged ARKs work")
        case (2, 2):
            return language.gettext("Both judged ARKs fail")
        case (_, 0):
            return language.gettext("All {judged} judged ARKs work", judged=judged)
    if fails == judged:
        return language.gettext("All {judged} judged ARKs fail", judged=judged)
    return language.ngettext(
        "{number} of {judged} judged ARKs fails", "{number} of {judged} judged ARKs fail", fails, judged=judged
    )


def _since_words(counts: Counts, language: Language) -> str:
    if counts.since is None:
        return language.gettext("nothing to compare with yet")
    broke = (
        language.ngettext("{number} broke", "{number} broke", counts.broke)
        if counts.broke
        else language.gettext("none broke")
    )
    recovered = (
        language.ngettext("{number} recovered", "{number} recovered", counts.recovered)
        if counts.recovered
        else language.gettext("none recovered")
    )
    failing = language.ngettext(
        "{number} more fails, not yet confirmed", "{number} more fail, not yet confirmed", counts.failing
    )
    if not counts.failing:
        changes = language.gettext("{broke} and {recovered}", broke=broke, recovered=recovered)
    elif not counts.broke:
        changes = language.gettext("{failing}, and {recovered}", failing=failing, recovered=recovered)
    else:
        words = N_("{failing}, {broke} and {recovered}")
        changes = language.gettext(words, failing=failing, broke=broke, recovered=recovered)
    if counts.since == counts.day:
        return language.gettext("since the audit of the same day, {changes}", changes=changes)
    day = language.day(counts.since, beside=counts.day)
    return language.gettext("since {day}, {changes}", day=day, changes=changes)
