"""The result of a report in one sentence: how many ARKs fail, how many causes to fix, and changes since the last run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import pandas as pd

from crawler.history.ark_status import EventKind
from crawler.model.observations import DocumentOutcome, Family, ObjectOutcome
from reports.languages import ENGLISH, N_, Language
from reports.store.frames import Frames
from reports.tables.changes import FAILING
from reports.tables.definitions import MOMENT, records_of, rows_of
from reports.tables.known import KNOWN
from reports.tables.wording import FAMILY_COUNTS


@dataclass(frozen=True, slots=True)
class Counts:
    """The numbers of the headline; each ARK counts once, with the best outcome of its URLs."""

    works: int = 0
    fails: int = 0
    unreachable: int = 0
    not_judged: int = 0
    causes: int = 0
    """Causes of failures to act on."""
    day: date | None = None
    """The day on which the audit began; None for an empty store."""
    since: date | None = None
    """The day of the run compared with, or None."""
    confirmed: int = 0
    """ARKs confirmed broken since then."""
    recovered: int = 0
    failing: int = 0
    """ARKs that fail now and did not fail then, not yet confirmed."""
    known: int = 0
    """ARKs with a known problem."""

    @property
    def arks(self) -> int:
        """Number of all ARKs."""
        return self.works + self.fails + self.unreachable + self.not_judged

    @property
    def judged(self) -> int:
        """Number of ARKs that work or fail: the denominator of the share that works. Outages do not count."""
        return self.works + self.fails


#: The tables that the headline needs.
VERDICT_TABLES = ("summary", "changes", "causes")


def counts_of(frames: Frames, tables: Mapping[str, pd.DataFrame]) -> Counts:
    """Return the numbers of the headline from the tables `VERDICT_TABLES`."""
    summary, changes = tables["summary"], tables["changes"]
    measures = dict(zip(summary["measure"], summary["value"], strict=True))
    works, fails, unreachable, not_judged = (int(measures[f"ARKs: {family}"]) for family in Family)
    days = [
        run.run["started_at"].iloc[0].date() if run and len(run.run) else None
        for run in (frames, frames.since or frames.previous)
    ]
    changed = changes.groupby(changes["event"].astype("str"))["ark"].nunique()
    return Counts(
        works,
        fails,
        unreachable,
        not_judged,
        causes=len(tables["causes"]),
        day=days[0],
        since=days[1],
        confirmed=int(changed.get(EventKind.CONFIRMED, 0)),
        recovered=int(changed.get(EventKind.RECOVERED, 0)),
        failing=int(changed.get(FAILING, 0)),
        known=int(measures.get(KNOWN, 0)),
    )


def headline(counts: Counts, language: Language = ENGLISH) -> str:
    """Return the result in one sentence.

    >>> print(headline(Counts(48, 7, causes=7, day=date(2026, 11, 23), since=date(2026, 11, 1), confirmed=2, recovered=1)))
    7 of 55 judged ARKs fail; 7 causes to act on; 2 confirmed broken and 1 recovered since 1 November.
    """
    # Each is a complete clause that is translated by itself.
    if counts.arks:
        clauses = [_judged_words(counts, language)]
        if counts.unreachable:
            clauses.append(
                language.ngettext("{number} gave no answer today", "{number} gave no answer today", counts.unreachable)
            )
        if counts.judged and counts.not_judged:
            forms = FAMILY_COUNTS[Family.NOT_JUDGED]
            clauses.append(language.ngettext(forms.one, forms.many, counts.not_judged))
        clauses.append(
            language.ngettext("{number} cause to act on", "{number} causes to act on", counts.causes)
            if counts.causes
            else language.gettext("nothing to act on")
        )
        if counts.known:
            clauses.append(language.ngettext("{number} known problem", "{number} known problems", counts.known))
        clauses.append(_since_words(counts, language))
    else:
        clauses = [language.gettext("No ARK was found")]
    between = language.pgettext("between the parts of the verdict", "; ")
    return f"{between.join(clauses)}."


def _judged_words(counts: Counts, language: Language) -> str:
    """Return how many of the judged ARKs work or fail.

    >>> _judged_words(Counts(fails=1), ENGLISH), _judged_words(Counts(works=2), ENGLISH)
    ('The only judged ARK fails', 'Both judged ARKs work')
    """
    fails, judged = counts.fails, counts.judged
    match (judged, fails):
        case (0, _):
            return language.ngettext(
                "The only ARK could not be judged", "{number} ARKs found, but they could not be judged", counts.arks
            )
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
    confirmed = (
        language.ngettext("{number} confirmed broken", "{number} confirmed broken", counts.confirmed)
        if counts.confirmed
        else language.gettext("none confirmed broken")
    )
    recovered = (
        language.ngettext("{number} recovered", "{number} recovered", counts.recovered)
        if counts.recovered
        else language.gettext("none recovered")
    )
    failing = language.ngettext("{number} newly failing", "{number} newly failing", counts.failing)
    if not counts.failing:
        changes = language.gettext("{confirmed} and {recovered}", confirmed=confirmed, recovered=recovered)
    elif not counts.confirmed:
        changes = language.gettext("{failing}, and {recovered}", failing=failing, recovered=recovered)
    else:
        words = N_("{failing}, {confirmed} and {recovered}")
        changes = language.gettext(words, failing=failing, confirmed=confirmed, recovered=recovered)
    if counts.since == counts.day:
        return language.gettext("{changes} since the audit of the same day", changes=changes)
    day = language.day(counts.since, compared_with=counts.day)
    return language.gettext("{changes} since {day}", day=day, changes=changes)


# The subject of a report in words: the audited documents, the run, its date, and the checks that count.

#: Number of seeds named in the title; the JSON lists all.
MOST_SEEDS = 3
#: Number of documents named that were not read.
MOST_NAMED = 3
#: Outcomes of documents whose citations are all known. A document that does not exist has none.
_READ_WHOLE = (DocumentOutcome.READ, DocumentOutcome.REDIRECTED, DocumentOutcome.REFERER, ObjectOutcome.BROKEN)
#: The settings that limit a crawl, by their names in a plan, in words.
_SCOPE = {
    "crawl.scope": N_("links within the {limit} of a seed"),
    "crawl.depth": N_("up to {limit} links deep"),
    "crawl.max_pages": N_("at most {limit} documents"),
    "crawl.max_time": N_("at most {limit} long"),
    "crawl.include": N_("only URLs that match {limit}"),
    "crawl.exclude": N_("without URLs that match {limit}"),
    "crawl.content_hosts": N_("documents from {limit} too"),
    "crawl.oai.set": N_("the set {limit}"),
    "crawl.oai.from": N_("records since {limit}"),
    "crawl.oai.until": N_("records until {limit}"),
}


@dataclass(frozen=True, slots=True)
class AuditSubject:
    """The subject of a report."""

    title: str
    """Subject and date in one line."""
    sentences: tuple[str, ...]
    """The subject in full: run, store, scope, and later checks."""
    facts: Mapping[str, Any]
    """The subject for programs, as JSON values."""


def audit_subject(frames: Frames, language: Language = ENGLISH) -> AuditSubject:
    """Return the subject of *frames*; the facts are not translated."""
    run = next(records_of(frames.run), None)
    if run is None:
        sentence = language.gettext("The store {store} holds no run yet.", store=frames.store)
        return AuditSubject(language.gettext("nothing yet"), (sentence,), {"store": frames.store})
    run["plan"] = run["plan"] if isinstance(run["plan"], dict) else {}
    seeds = _seeds(run)
    again = int(frames.verdicts["run_id"].isin(frames.later["run_id"]).sum())
    facts = {
        "store": frames.store,
        "run": int(run["run_id"]),
        "command": run["command"],
        "state": run["state"],
        "seeds": seeds,
        "scope": list(_scope(run, ENGLISH)),
        "began": ENGLISH.format_cell(run["started_at"], MOMENT),
        "ended": ENGLISH.format_cell(run["ended_at"], MOMENT) or None,
        "is_alone": frames.is_alone,
        "later_runs": [int(run_id) for run_id in frames.later["run_id"]],
        "checked_again": again,
    }
    subject = _subject_words(seeds, language, is_all=frames.is_all)
    sentences = (
        _audit_sentence(run, subject, frames.store, language),
        *_unread_sentence(frames.documents, language),
        *_finding_sentences(frames),
        *_check_sentences(frames, again, language),
    )
    return AuditSubject(f"{subject}, {language.numeric_day(run['started_at'])}", sentences, facts)


def _audit_sentence(run: Mapping[str, Any], subject: str, store: str, language: Language) -> str:
    """Return the sentence on run, store, dates and scope."""
    began, ended = (language.format_cell(run[name], MOMENT) for name in ("started_at", "ended_at"))
    lasted = (
        language.gettext("{began} to {ended}", began=began, ended=ended)
        if ended
        else language.gettext("since {began}, {state}", began=began, state=run["state"])
    )
    limits = "; ".join(_scope(run, language))
    return language.gettext(
        "Audit of {subject}: run {run} ({command}) of the store {store}, {lasted}.",
        subject=subject,
        run=str(run["run_id"]),
        command=run["command"],
        store=store,
        lasted=f"{lasted}; {limits}" if limits else lasted,
    )


def _unread_sentence(documents: pd.DataFrame, language: Language) -> Iterator[str]:
    """Yield the sentence on documents that were not read, or not whole; nothing if there are none."""
    unread = documents[~documents["outcome"].isin(_READ_WHOLE)]
    named = [f"{url} ({outcome})" for url, outcome in rows_of(unread[["url", "outcome"]].head(MOST_NAMED))]
    more = len(unread) - len(named)
    if named:
        names = ", ".join(named)
        yield language.ngettext(
            "{number} document was not read, or not whole: {names}.",
            "{number} documents were not read, or not whole: {names}.",
            len(unread),
            names=language.ngettext("{seeds} and {number} more", "{seeds} and {number} more", more, seeds=names)
            if more
            else names,
        )


def _finding_sentences(frames: Frames) -> Iterator[str]:
    """Yield the findings about no document, ARK or NAAN: the crawl ended early, a folder is empty, answers were pruned."""
    findings = frames.findings
    subjects = findings["subject"]
    is_in_table = (
        subjects.isin(frames.documents["url"]) | subjects.isin(frames.arks["ark"]) | subjects.str.startswith("NAAN ")
    )
    for subject, detail in rows_of(findings.loc[~is_in_table, ["subject", "detail"]]):
        yield f"{subject}: {detail}."


def _seeds(run: Mapping[str, Any]) -> list[str]:
    """Return the seeds as the user named them, or else as stored; for a check, the dataset."""
    named = None if run["command"] == "check" else run["plan"].get("seeds")
    return [str(seed) for seed in named or run["seed_list"] or ()]


def _subject_words(seeds: Sequence[str], language: Language, *, is_all: bool) -> str:
    """Return the subject of the audit in a few words.

    >>> _subject_words(["https://a.example/", "b.pdf", "c.pdf", "d.pdf"], ENGLISH, is_all=False)
    'https://a.example/, b.pdf, c.pdf and 1 more'
    """
    if is_all:
        return language.pgettext("audit of", "all ARKs ever given")
    if not seeds:
        return language.pgettext("audit of", "the given ARKs")
    named = ", ".join(seeds[:MOST_SEEDS])
    more = len(seeds) - MOST_SEEDS
    if more <= 0:
        return named
    return language.ngettext("{seeds} and {number} more", "{seeds} and {number} more", more, seeds=named)


def _scope(run: Mapping[str, Any], language: Language) -> Iterator[str]:
    """Yield the limits of a crawl in words; nothing for a check, which follows no links."""
    if not any("://" in seed for seed in _seeds(run)):
        return
    settings = run["plan"].get("settings") or {}
    for name, words in _SCOPE.items():
        value = settings.get(name)
        if value is None and name.startswith("crawl.oai."):
            value = (settings.get("crawl.oai") or {}).get(name.rpartition(".")[2])
        if value not in (None, "", [], ()):
            limit = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            yield language.gettext(words, limit=limit)


def _check_sentences(frames: Frames, again: int, language: Language) -> Iterator[str]:
    """Yield sentences on the later checks that count, and on later runs that are not reported."""
    if frames.is_alone:
        yield language.gettext("This run alone: later checks are left out.")
    elif again:
        yield language.ngettext(
            "Current state: {number} ARK of {all} checked again since, until {last} ({runs}); the last check of "
            "each counts.",
            "Current state: {number} ARKs of {all} checked again since, until {last} ({runs}); the last check of "
            "each counts.",
            again,
            all=len(frames.verdicts),
            last=language.format_cell(frames.later["started_at"].max(), MOMENT),
            runs=_numbers(frames.later["run_id"], language),
        )
    elif frames.is_all:
        yield language.gettext("Current state: the last check of each ARK counts.")
    for number, started, state in rows_of(frames.passed_over[["run_id", "started_at", "state"]]):
        words = _READ_NOTHING if state == "finished" else _UNFINISHED
        yield language.gettext(words, run=str(number), began=language.format_cell(started, MOMENT), state=state)


_READ_NOTHING = N_("Run {run} of {began} could read no document, and is not reported here (--run {run} shows it).")
_UNFINISHED = N_("Run {run} of {began} did not finish ({state}), and is not reported here (--run {run} shows it).")


def _numbers(run_ids: pd.Series, language: Language) -> str:
    """Return the numbers of runs in words.

    >>> [_numbers(pd.Series(each), ENGLISH) for each in ([3], [3, 5], [3, 4, 5, 8])]
    ['run 3', 'runs 3 and 5', '4 runs, 3 to 8']
    """
    numbers = [str(run_id) for run_id in sorted(int(run_id) for run_id in run_ids)]
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
