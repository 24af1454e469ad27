"""The summary of a report: what was audited, how many ARKs work or fail, changes, causes, and what was not read.

The table of measures is published; `Summary` is made from it once. Every text, page and message takes its numbers and
sentences from there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, TypeAlias

import pandas as pd

from crawler.history.ark_status import EventKind
from crawler.history.latest import PRUNED
from crawler.model.observations import DocumentOutcome, Family, ObjectOutcome
from reports.languages import ENGLISH, Language
from reports.languages.templates import macros
from reports.remediation.causes import Grade
from reports.store.frames import Frames
from reports.tables.ark_statuses import ark_states, ark_statuses, families, judged_mentions
from reports.tables.changes import FAILING
from reports.tables.definitions import DECLARED, records_of, rows_of
from reports.tables.inventory import inventory_measures
from reports.tables.overviews import HELD_BACK
from reports.tables.wording import FAMILY_MEANINGS, OBJECT_MEANINGS, STATE_MEANINGS

Measure: TypeAlias = tuple[str, int]
"""The name of a measure, and its value."""

#: The measure that counts requests: two audits of the same web may differ in it.
REQUESTS_SENT = "requests sent"
#: The measure that counts known problems.
KNOWN = "known problems"
#: The explanations of measures by name.
_NOTES: Mapping[str, str] = DECLARED["measure"]
#: The vocabularies that a subject is counted by, with the meanings of their tokens, which explain the measures.
_MEANINGS: Mapping[str, Mapping[Any, str]] = {
    "citations": FAMILY_MEANINGS,
    "ARKs": FAMILY_MEANINGS,
    "URLs": OBJECT_MEANINGS,
    "ARKs by status": STATE_MEANINGS,
}
#: The measures of documents, by their outcome.
_DOCUMENTS = {
    DocumentOutcome.READ: "documents read",
    ObjectOutcome.BLOCKED: "documents blocked",
    DocumentOutcome.PAUSED: "documents paused",
    DocumentOutcome.INCOMPLETE: "documents incomplete",
    DocumentOutcome.UNREADABLE: "documents not readable",
    DocumentOutcome.REDIRECTED: "documents redirected",
}
#: The outcomes that are measured even if no document has them.
_USUAL = (DocumentOutcome.READ, DocumentOutcome.UNREADABLE, DocumentOutcome.REDIRECTED)


def summary(frames: Frames) -> pd.DataFrame:
    """Return one row per measure; ordered from documents over citations, ARKs and URLs to requests.

    Each row also has the value of the run compared with, and the change. A measure that only that run has is 0 here,
    and comes last. A run that was pruned has no number of questions to compare.
    """
    compared_run = frames.compared_run
    measures, compared_measures = dict(_measures(frames)), dict(_measures(compared_run)) if compared_run else {}
    names = list(measures | compared_measures)
    values, compared_values = (
        pd.array([values.get(name, 0) if values else None for name in names], dtype="Int64")
        for values in (measures, compared_measures)
    )
    table = pd.DataFrame({"measure": names, "value": values, "compared": compared_values, "note": map(_note, names)})
    if compared_run and compared_run.findings["kind"].eq(PRUNED).any():
        table.loc[table["measure"].isin(("findings", "questions asked", REQUESTS_SENT)), "compared"] = pd.NA
    return table.assign(change=table["value"] - table["compared"])


def _note(measure: str) -> str:
    """Return the explanation of a measure."""
    subject, _, token = measure.partition(": ")
    return _NOTES.get(measure) or _MEANINGS[subject][token]


def _measures(frames: Frames) -> Iterator[Measure]:
    """Yield the measures of one run."""
    yield from _document_measures(frames)
    yield from _citation_measures(frames)
    yield from _ark_measures(frames)
    yield "URLs", len(frames.verdicts)
    yield from _measures_by("URLs", frames.verdicts["object"])
    if known_count := frames.known["ark_id"].nunique():
        yield KNOWN, known_count
    yield from inventory_measures(frames)
    yield "findings", len(frames.findings)
    yield from _question_measures(frames)


def _document_measures(frames: Frames) -> Iterator[Measure]:
    """Yield the numbers of documents, by the result of reading them."""
    counts = Counter(frames.documents["outcome"])
    referer_count = counts[DocumentOutcome.REFERER]
    yield "documents", counts.total()
    for outcome, name in _DOCUMENTS.items():
        if counts[outcome] or outcome in _USUAL:
            yield name, counts[outcome]
    yield "documents not reached", counts.total() - referer_count - sum(counts[outcome] for outcome in _DOCUMENTS)
    if referer_count:
        yield "documents named in logs", referer_count


def _citation_measures(frames: Frames) -> Iterator[Measure]:
    """Yield the numbers of citations and places, by family, and those of requests in logs."""
    mentions = judged_mentions(frames, "object")
    citation_families = families(mentions.drop_duplicates("citation_id")["object"])
    yield "citations", len(citation_families)
    yield "places", len(mentions)
    yield from _measures_by("citations", citation_families)
    yield "citations repaired", mentions.loc[mentions["repairs"].fillna("").ne(""), "citation_id"].nunique()
    yield "citations ambiguous", mentions.loc[mentions["confidence"].eq("ambiguous"), "citation_id"].nunique()
    if mentions["asked"].isna().all():
        return
    fails = families(mentions["object"]).eq(Family.FAILS)
    yield "requests in logs", int(mentions["asked"].sum())
    yield f"requests in logs: {Family.FAILS}", int(mentions.loc[fails, "asked"].sum())


def _ark_measures(frames: Frames) -> Iterator[Measure]:
    """Yield the numbers of ARKs, by family, service and status."""
    standings = ark_statuses(frames)
    yield "ARKs", len(standings)
    yield from _measures_by("ARKs", standings["family"])
    yield "ARKs described", int(standings["described"].sum())
    yield "ARKs with a stated commitment", int(standings["committed"].sum())
    is_of_later_run = frames.verdicts["run_id"].isin(frames.later["run_id"])
    earlier_verdicts = frames.verdicts[~is_of_later_run & ~frames.verdicts["run_id"].isin(frames.run["run_id"])]
    yield "ARKs as found before", earlier_verdicts["ark_id"].nunique()
    if len(frames.later):
        yield "ARKs checked again since", frames.verdicts.loc[is_of_later_run, "ark_id"].nunique()
    yield from _measures_by("ARKs by status", ark_states(frames)["state"])


def _question_measures(frames: Frames) -> Iterator[Measure]:
    """Yield the numbers of ARKs asked about, of questions, and of requests that were sent."""
    yield "ARKs asked about", frames.verdicts.loc[frames.verdicts["request_count"].gt(0), "ark_id"].nunique()
    yield "questions asked", len(frames.observations)
    request_columns = ["run_id", "chain_end", "status", "request_count"]
    is_own = frames.observations["run_id"].isin(frames.run["run_id"])
    observations, documents = frames.observations.loc[is_own, request_columns], frames.documents
    # The last request of these was not sent, because of robots.txt or a private address.
    is_held_back = observations["chain_end"].isin(HELD_BACK) & observations["status"].isna()
    sent_count = (observations["request_count"] - is_held_back).clip(lower=0).sum()
    is_held_back = documents["outcome"].isin(HELD_BACK)
    sent_count += (documents["request_count"] - is_held_back).clip(lower=0).sum()
    yield REQUESTS_SENT, int(sent_count)


def _measures_by(subject: str, tokens: pd.Series) -> Iterator[Measure]:
    """Yield the number of *tokens* of *subject* for each family, or for each token of another vocabulary that occurs."""
    counts = Counter(tokens)
    for token in _MEANINGS[subject]:
        if counts[token] or token in FAMILY_MEANINGS:
            yield f"{subject}: {token}", counts[token]


@dataclass(frozen=True, slots=True)
class Summary:
    """The numbers at the beginning of a report; each ARK counts once, with the best outcome of its URLs."""

    works: int = 0
    fails: int = 0
    unreachable: int = 0
    not_judged: int = 0
    causes: int = 0
    """Number of causes of failures to act on."""
    day: date | None = None
    """The day on which the audit began; None for an empty store."""
    since: date | None = None
    """The day of the run compared with, or None."""
    confirmed: int = 0
    """Number of ARKs confirmed broken since that run."""
    recovered: int = 0
    """Number of ARKs that have recovered since that run."""
    failing: int = 0
    """Number of ARKs that fail and did not fail in that run, not yet confirmed broken."""
    measures: Mapping[str, int] = field(default_factory=dict)
    """The values of the table of measures, by measure."""
    scope: Mapping[str, Any] = field(default_factory=dict)
    """The subject of the report: the result of `scope_of`."""

    @property
    def arks(self) -> int:
        """Number of all ARKs."""
        return self.works + self.fails + self.unreachable + self.not_judged

    @property
    def judged(self) -> int:
        """Number of ARKs that work or fail: the denominator of the share that works. Outages do not count."""
        return self.works + self.fails

    @property
    def known(self) -> int:
        """Number of ARKs with a known problem."""
        return self.measures.get(KNOWN, 0)

    def headline(self, language: Language = ENGLISH) -> str:
        """Return the result in one sentence.

        >>> since = {"day": date(2026, 11, 23), "since": date(2026, 11, 1)}
        >>> print(Summary(48, 7, causes=7, confirmed=2, recovered=1, **since).headline())
        7 of 55 judged ARKs fail; 7 causes to act on; 2 confirmed broken and 1 recovered since 1 November.
        """
        return str(_summary_macros(language).headline(self))

    def title(self, language: Language = ENGLISH) -> str:
        """Return the subject and the date in one line."""
        return str(_summary_macros(language).title(self.scope))

    def scope_sentences(self, language: Language = ENGLISH) -> list[str]:
        """Return the subject in full: run, store, scope, what was not read, and later checks."""
        return str(_summary_macros(language).scope(self.scope)).split("\n")[:-1]

    def result_sentences(self, language: Language = ENGLISH) -> list[str]:
        """Return the results: citations, ARKs by family, services, checks, and the inventory."""
        return str(_summary_macros(language).results(self)).split("\n")[:-1]

    def facts(self) -> dict[str, Any]:
        """Return the subject for programs, as JSON values; not translated."""
        scope, limit = self.scope, _summary_macros(ENGLISH).limit
        if not scope["run"]:
            return {"store": scope["store"]}
        values = {
            **scope,
            "scope": [limit(*of_crawl) for of_crawl in scope["limits"]],
            "began": ENGLISH.moment(scope["began"]),
            "ended": scope["ended"] and ENGLISH.moment(scope["ended"]),
        }
        return {name: values[name] for name in DECLARED["audit"] if name in values}


def _summary_macros(language: Language) -> Any:
    return macros("summary.txt.j2", "reports.tables", language)


#: The tables that a summary needs.
SUMMARY_TABLES = ("summary", "changes", "causes")
#: Outcomes of documents whose citations are all known. A document that does not exist has none.
_READ_WHOLE = (DocumentOutcome.READ, DocumentOutcome.REDIRECTED, DocumentOutcome.REFERER, ObjectOutcome.BROKEN)
#: The settings that limit a crawl, by their names in a plan.
_LIMITS = tuple(
    f"crawl.{name}" for name in (
        "scope", "depth", "max_pages", "max_time", "include", "exclude", "content_hosts", "oai.set", "oai.since",
        "oai.until",
    )
)  # fmt: skip
#: Number of documents named that were not read.
_MOST_NAMED = 3


def summarize(frames: Frames, tables: Mapping[str, pd.DataFrame]) -> Summary:
    """Return the summary of a report from its `SUMMARY_TABLES`."""
    measures = {name: int(value) for name, value in rows_of(tables["summary"][["measure", "value"]])}
    works, fails, unreachable, not_judged = (measures[f"ARKs: {family}"] for family in Family)
    changes = tables["changes"]
    ark_counts = changes.groupby(changes["event"].astype("str"))["ark"].nunique()
    day, since = (
        run_frames.run["started_at"].iloc[0].date() if run_frames and len(run_frames.run) else None
        for run_frames in (frames, frames.compared_run)
    )
    return Summary(
        works,
        fails,
        unreachable,
        not_judged,
        causes=int(tables["causes"]["grade"].ne(Grade.WAIT).sum()),
        day=day,
        since=since,
        confirmed=int(ark_counts.get(EventKind.CONFIRMED, 0)),
        recovered=int(ark_counts.get(EventKind.RECOVERED, 0)),
        failing=int(ark_counts.get(FAILING, 0)),
        measures=measures,
        scope=scope_of(frames),
    )


def scope_of(frames: Frames) -> dict[str, Any]:
    """Return the subject of a report by name: the run, seeds, limits, unread documents, and later checks.

    An empty store has only `store` and `run`, which is 0.
    """
    run = next(records_of(frames.run), None)
    if run is None:
        return {"store": frames.store, "run": 0}
    plan = run["plan"] if isinstance(run["plan"], dict) else {}
    named_seeds = None if run["command"] == "check" else plan.get("seeds")
    # As the user named them, or else as stored; for a check, the dataset.
    seeds = [str(seed) for seed in named_seeds or run["seed_list"] or ()]
    documents, findings, later_runs = frames.documents, frames.findings, frames.later
    unread_documents = documents.loc[~documents["outcome"].isin(_READ_WHOLE), ["url", "outcome"]]
    subjects = findings["subject"]
    is_in_table = subjects.isin(documents["url"]) | subjects.isin(frames.arks["ark"]) | subjects.str.startswith("NAAN ")
    return {
        "store": frames.store,
        "run": run["run_id"],
        "command": run["command"],
        "state": run["state"],
        "seeds": seeds,
        # A check follows no links, so it has no limits.
        "limits": list(_limits(plan.get("settings") or {})) if any("://" in seed for seed in seeds) else [],
        "began": run["started_at"],
        "ended": run["ended_at"],
        "unread": [f"{url} ({outcome})" for url, outcome in rows_of(unread_documents.head(_MOST_NAMED))],
        "unread_count": len(unread_documents),
        "findings": [": ".join(row) for row in rows_of(findings.loc[~is_in_table, ["subject", "detail"]])],
        "is_alone": frames.is_alone,
        "is_all": frames.is_all,
        "later_runs": later_runs["run_id"].tolist(),
        "checks": len(frames.verdicts),
        "checked_again": int(frames.verdicts["run_id"].isin(later_runs["run_id"]).sum()),
        "checked_until": later_runs["started_at"].max(),
        "passed_over": list(records_of(frames.passed_over[["run_id", "started_at", "state"]])),
    }


def _limits(settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (name, value as text) of the settings in a plan that limit its crawl."""
    oai_settings = {f"crawl.oai.{name}": value for name, value in settings.get("crawl.oai", {}).items()}
    values = {**settings, **oai_settings}
    for name in _LIMITS:
        value = values.get(name)
        if value not in (None, "", []):
            yield name, ", ".join(map(str, value)) if isinstance(value, list) else str(value)
