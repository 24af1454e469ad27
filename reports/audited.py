"""The subject of a report, in words: which audit, of what, when, and which checks count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from reports.definitions import MOMENT, rows_of
from reports.display import counted, shown
from reports.frames import Frames

#: Seeds that are named one by one; the JSON has them all.
MOST_SEEDS: Final = 3
#: The settings of a crawl that say what it left out, by their names in a plan, in words.
_SCOPE: Final[Mapping[str, str]] = {
    "crawl.scope": "links within the {} of a seed",
    "crawl.depth": "{} links deep",
    "crawl.max_pages": "at most {} documents",
    "crawl.max_time": "at most {} of time",
    "crawl.include": "only what fits {}",
    "crawl.exclude": "nothing that fits {}",
    "crawl.content_hosts": "documents from {} too",
    "crawl.oai.set": "the set {}",
    "crawl.oai.from": "records since {}",
    "crawl.oai.until": "records until {}",
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


def audited(frames: Frames) -> Audited:
    """Say what *frames* are about; of an empty store, that there is nothing yet."""
    run = next((dict(zip(frames.run.columns, row, strict=True)) for row in rows_of(frames.run)), None)
    if run is None:
        return Audited("nothing yet", (f"The store {frames.store} holds no run yet.",), {"store": frames.store})
    seeds = _seeds(run)
    what = _what(seeds, is_all=frames.is_all)
    began, ended = shown(run["started_at"], MOMENT), shown(run["ended_at"], MOMENT)
    again = _checked_again(frames)
    facts = {
        "store": frames.store,
        "run": int(run["run_id"]),
        "command": run["command"],
        "state": run["state"],
        "seeds": seeds,
        "scope": list(_scope(run)),
        "began": began,
        "ended": ended or None,
        "is_alone": frames.is_alone,
        "later_runs": [int(each) for each in frames.later["run_id"]],
        "checked_again": again,
    }
    lasted = f"{began} to {ended}" if ended else f"since {began}, {run['state']}"
    which = f"Run {facts['run']} ({run['command']}) of the store {frames.store}"
    scope = "; ".join(facts["scope"])
    sentences = [
        f"Audit of {what}: {which[0].lower()}{which[1:]}, {lasted}{f'; {scope}' if scope else ''}.",
        *_standing(frames, again),
        *_passed_over(frames),
    ]
    return Audited(f"{what}, {began[:10]}", tuple(sentences), facts)


def _seeds(run: Mapping[str, Any]) -> list[str]:
    """The seeds as they were named, or else what they stood for."""
    named = (run["plan"] or {}).get("seeds") if isinstance(run["plan"], dict) else None
    return [] if run["command"] == "check" else [str(seed) for seed in named or run["seed_list"] or ()]


def _what(seeds: Sequence[str], *, is_all: bool) -> str:
    """Return what was audited, in a few words.

    >>> _what(["https://a.example/", "b.pdf", "c.pdf", "d.pdf"], is_all=False)
    'https://a.example/, b.pdf, c.pdf and 1 more'
    """
    if is_all or not seeds:
        return "ARKs that were given" if not is_all else "all ARKs that were ever given"
    more = f" and {len(seeds) - MOST_SEEDS} more" if len(seeds) > MOST_SEEDS else ""
    return ", ".join(seeds[:MOST_SEEDS]) + more


def _scope(run: Mapping[str, Any]) -> Iterator[str]:
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
            yield words.format(", ".join(map(str, value)) if isinstance(value, list) else value)


def _checked_again(frames: Frames) -> int:
    """Return how many ARKs at a URL have a verdict of a later run."""
    return int(frames.verdicts["run_id"].isin(frames.later["run_id"]).sum())


def _standing(frames: Frames, again: int) -> Iterator[str]:
    """Return which checks count besides those of the run itself."""
    if frames.is_alone:
        yield "This run alone: what later checks have found is left out."
    elif again:
        last = shown(frames.later["started_at"].max(), MOMENT)
        numbers = _numbers(frames.later["run_id"])
        of = f"{counted(again, 'ARK')} of {len(frames.verdicts):,}"
        yield f"As it stands now: {of} checked again since, until {last} ({numbers}); the last check of each counts."
    elif frames.is_all:
        yield "As it stands now: the last check of each counts."


def _passed_over(frames: Frames) -> Iterator[str]:
    """Return which runs began later to read documents, and are not reported."""
    for number, started, state in rows_of(frames.passed_over[["run_id", "started_at", "state"]]):
        why = "could read no document" if state == "finished" else f"did not finish ({state})"
        yield f"Run {number} of {shown(started, MOMENT)} {why}, and is not reported here (--run {number} shows it)."


def _numbers(run_ids: pd.Series) -> str:
    """The numbers of runs in words.

    >>> _numbers(pd.Series([3])), _numbers(pd.Series([3, 5])), _numbers(pd.Series([3, 4, 5, 8]))
    ('run 3', 'runs 3 and 5', '4 runs, 3 to 8')
    """
    numbers = sorted(int(each) for each in run_ids)
    if len(numbers) <= 2:
        return f"run{'s' if len(numbers) > 1 else ''} {' and '.join(map(str, numbers))}"
    return f"{len(numbers)} runs, {numbers[0]} to {numbers[-1]}"
