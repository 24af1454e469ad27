"""The subject of a report, in words: which audit, of what, when, and which checks count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from reports.definitions import MOMENT, rows_of
from reports.frames import Frames
from reports.languages import ENGLISH, N_, Language

#: Seeds that are named one by one; the JSON has them all.
MOST_SEEDS: Final = 3
#: The settings of a crawl that say what it left out, by their names in a plan, in words.
_SCOPE: Final[Mapping[str, str]] = {
    "crawl.scope": N_("links within the {limit} of a seed"),
    "crawl.depth": N_("{limit} links deep"),
    "crawl.max_pages": N_("at most {limit} documents"),
    "crawl.max_time": N_("at most {limit} of time"),
    "crawl.include": N_("only what fits {limit}"),
    "crawl.exclude": N_("nothing that fits {limit}"),
    "crawl.content_hosts": N_("documents from {limit} too"),
    "crawl.oai.set": N_("the set {limit}"),
    "crawl.oai.from": N_("records since {limit}"),
    "crawl.oai.until": N_("records until {limit}"),
}


@dataclass(frozen=True, slots=True)
class Audited:
    """The subject of a report."""

    title: str
    """One line: what was audited, and when."""
    sentences: tuple[str, ...]
    """The same in full: which run of which store, its scope, and what later checks have added."""
    facts: Mapping[str, Any]
    """The same for programs: plain values that JSON can hold."""


def audited(frames: Frames, language: Language = ENGLISH) -> Audited:
    """Say what *frames* are about; of an empty store, that there is nothing yet. The facts are in no language."""
    run = next((dict(zip(frames.run.columns, row, strict=True)) for row in rows_of(frames.run)), None)
    if run is None:
        sentence = language.gettext("The store {store} holds no run yet.", store=frames.store)
        return Audited(language.gettext("nothing yet"), (sentence,), {"store": frames.store})
    seeds = _seeds(run)
    again = _checked_again(frames)
    facts = {
        "store": frames.store,
        "run": int(run["run_id"]),
        "command": run["command"],
        "state": run["state"],
        "seeds": seeds,
        "scope": list(_scope(run, ENGLISH)),
        "began": ENGLISH.shown(run["started_at"], MOMENT),
        "ended": ENGLISH.shown(run["ended_at"], MOMENT) or None,
        "is_alone": frames.is_alone,
        "later_runs": [int(each) for each in frames.later["run_id"]],
        "checked_again": again,
    }
    what = _what(seeds, language, is_all=frames.is_all)
    sentences = (
        _audit_sentence(run, what, frames.store, language),
        *_standing(frames, again, language),
        *_passed_over(frames, language),
    )
    return Audited(f"{what}, {language.numeric_day(run['started_at'])}", sentences, facts)


def _audit_sentence(run: Mapping[str, Any], what: str, store: str, language: Language) -> str:
    """Return which run of which store it was, when, and how far it went."""
    began, ended = (language.shown(run[name], MOMENT) for name in ("started_at", "ended_at"))
    lasted = (
        language.gettext("{began} to {ended}", began=began, ended=ended)
        if ended
        else language.gettext("since {began}, {state}", began=began, state=run["state"])
    )
    limits = "; ".join(_scope(run, language))
    return language.gettext(
        "Audit of {what}: run {run} ({command}) of the store {store}, {lasted}.",
        what=what,
        run=str(run["run_id"]),
        command=run["command"],
        store=store,
        lasted=f"{lasted}; {limits}" if limits else lasted,
    )


def _seeds(run: Mapping[str, Any]) -> list[str]:
    """The seeds as they were named, or else what they stood for; of a check, the dataset that it has taken."""
    named = (run["plan"] or {}).get("seeds") if isinstance(run["plan"], dict) else None
    begun_with = run["seed_list"] or ()
    return [str(seed) for seed in (begun_with if run["command"] == "check" else named or begun_with)]


def _what(seeds: Sequence[str], language: Language, *, is_all: bool) -> str:
    """Return what was audited, in a few words.

    >>> _what(["https://a.example/", "b.pdf", "c.pdf", "d.pdf"], ENGLISH, is_all=False)
    'https://a.example/, b.pdf, c.pdf and 1 more'
    """
    if is_all:
        return language.pgettext("audit of", "all ARKs that were ever given")
    if not seeds:
        return language.pgettext("audit of", "ARKs that were given")
    named = ", ".join(seeds[:MOST_SEEDS])
    more = len(seeds) - MOST_SEEDS
    if more <= 0:
        return named
    return language.ngettext("{seeds} and {number} more", "{seeds} and {number} more", more, seeds=named)


def _scope(run: Mapping[str, Any], language: Language) -> Iterator[str]:
    """Return what the plan of a run says of its limits, in words; nothing for a check, which follows no link."""
    plan = run["plan"] if isinstance(run["plan"], dict) else {}
    if not any("://" in seed for seed in _seeds(run)):
        return
    settings = plan.get("settings") or {}
    for name, words in _SCOPE.items():
        value = settings.get(name)
        if value is None and name.startswith("crawl.oai."):
            value = (settings.get("crawl.oai") or {}).get(name.rpartition(".")[2])
        if value not in (None, "", [], ()):
            limit = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            yield language.gettext(words, limit=limit)


def _checked_again(frames: Frames) -> int:
    """Return how many ARKs at a URL have a verdict of a later run."""
    return int(frames.verdicts["run_id"].isin(frames.later["run_id"]).sum())


def _standing(frames: Frames, again: int, language: Language) -> Iterator[str]:
    """Return which checks count besides those of the run itself."""
    if frames.is_alone:
        yield language.gettext("This run alone: what later checks have found is left out.")
    elif again:
        yield language.ngettext(
            "Current state: {number} ARK of {all} checked again since, until {last} ({runs}); the last check of "
            "each counts.",
            "Current state: {number} ARKs of {all} checked again since, until {last} ({runs}); the last check of "
            "each counts.",
            again,
            all=len(frames.verdicts),
            last=language.shown(frames.later["started_at"].max(), MOMENT),
            runs=_numbers(frames.later["run_id"], language),
        )
    elif frames.is_all:
        yield language.gettext("Current state: the last check of each ARK counts.")


def _passed_over(frames: Frames, language: Language) -> Iterator[str]:
    """Return which runs began later to read documents, and are not reported."""
    for number, started, state in rows_of(frames.passed_over[["run_id", "started_at", "state"]]):
        words = _READ_NOTHING if state == "finished" else _UNFINISHED
        began = language.shown(started, MOMENT)
        yield language.gettext(words, run=str(number), began=began, state=state)


_READ_NOTHING: Final = N_(
    "Run {run} of {began} could read no document, and is not reported here (--run {run} shows it)."
)
_UNFINISHED: Final = N_(
    "Run {run} of {began} did not finish ({state}), and is not reported here (--run {run} shows it)."
)


def _numbers(run_ids: pd.Series, language: Language) -> str:
    """The numbers of runs in words.

    >>> [_numbers(pd.Series(each), ENGLISH) for each in ([3], [3, 5], [3, 4, 5, 8])]
    ['run 3', 'runs 3 and 5', '4 runs, 3 to 8']
    """
    numbers = [str(each) for each in sorted(int(each) for each in run_ids)]
    match numbers:
        case [one]:
            return language.gettext("run {run}", run=one)
        case [one, other]:
            return language.gettext("runs {run} and {other}", run=one, other=other)
    return language.ngettext(
        "{number} run, {first} to {last}",
        "{number} runs, {first} to {last}",
        len(numbers),
        first=numbers[0],
        last=numbers[-1],
    )
