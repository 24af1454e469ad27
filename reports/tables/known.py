"""Known problems, which only this table lists; and changes without known problems."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import date

import pandas as pd

from crawler.history.ark_status import ArkState, EventKind
from crawler.history.triage import known_words
from crawler.model.observations import Family
from reports.languages import Language
from reports.store.frames import Frames
from reports.tables.ark_statuses import ark_statuses, families, is_among
from reports.tables.definitions import (
    ARK_COLUMN,
    ASKED_URL_COLUMN,
    ASSIGNEE_COLUMN,
    DOCUMENT_COLUMN,
    EVIDENCE_COLUMN,
    FAULT_COLUMN,
    FAULT_HOST_COLUMN,
    NAAN_COLUMN,
    OBJECT_COLUMN,
    PAIR,
    PLACE_COLUMNS,
    STATE_COLUMN,
    TableDefinition,
    moment_column,
    rows_of,
    text_column,
    token_column,
)
from reports.tables.failing import diagnosed_failures
from reports.tables.wording import CHANGE_NAMES

#: The measure that counts known problems; its note describes them.
KNOWN = "known problems"
#: The families of an ARK that failures can confirm as broken.
PROBLEMS = (Family.FAILS, Family.UNREACHABLE)
_DECIDED = ["treatment", "decision", "why", "until", "assignee"]


def with_decisions(frames: Frames, places: pd.DataFrame) -> pd.DataFrame:
    """Return *places* (ARK, URL, document) with the decision for the document, or else the general one."""
    decided = frames.triage[[*PAIR, "document", *_DECIDED]]
    whole = decided[decided["document"].isna()].drop(columns="document")
    single = decided[decided["document"].notna()]
    key = [*PAIR, "document"]
    here = places[key].merge(single, on=key, how="left", indicator="is_own").set_axis(places.index)
    rows = places.merge(whole, on=PAIR, how="left").set_axis(places.index)
    is_own = here["is_own"].eq("both")
    return rows.assign(**{name: rows[name].mask(is_own, here[name]) for name in _DECIDED})


def places_to_report(frames: Frames, places: pd.DataFrame) -> pd.DataFrame:
    """Return *places* without known problems, with the assignee and any decision that no longer applies."""
    rows = with_decisions(frames, places)
    return rows[rows["treatment"].isna()].rename(columns={"decision": "triage"})


def without_known(frames: Frames, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows whose ARK and URL are not a known problem in all documents that cite them."""
    return rows[~is_among(rows, _pairs_where(frames, frames.triage["treatment"].notna()))]


def _pairs_where(frames: Frames, holds: pd.Series) -> pd.DataFrame:
    """Return the pairs of ARK and URL with *holds* true for the general decision, or in every citing document."""
    decided = frames.triage[[*PAIR, "document"]].assign(holds=holds.astype("bool"))
    whole = decided[decided["document"].isna()]
    single = decided[decided["document"].notna()]
    cited = frames.mentions[[*PAIR, "document"]].drop_duplicates().merge(single[PAIR].drop_duplicates(), on=PAIR)
    here = cited.merge(single[single["holds"]], on=[*PAIR, "document"], how="left")
    every = here.assign(holds=here["holds"].notna()).groupby(PAIR, as_index=False)["holds"].all()
    both = pd.concat([whole, every])
    return both.loc[both["holds"], PAIR]


def events_to_report(frames: Frames, events: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return *events*, by default those of *frames*, without those of ignored ARKs and failures that are known or do not count.

    Good news, and what documents cite, is reported whatever was decided. A URL that fails is no failure of an ARK that
    works, or may work, at another one.
    """
    events = frames.events if events is None else events
    fails = families(frames.verdicts["object"]).isin(PROBLEMS)
    has_hope = ~frames.verdicts["ark_id"].isin(of_family(frames, *PROBLEMS)["ark_id"])
    is_elsewhere = is_among(events, frames.verdicts.loc[fails & has_hope, PAIR])
    events = events[~(events["event"].eq(EventKind.CONFIRMED) & is_elsewhere)]
    is_raised = events["event"].isin([EventKind.RECOVERED, EventKind.NEW, EventKind.GONE])
    is_silent = is_among(events, _pairs_where(frames, frames.triage["is_silent"]))
    is_known = is_among(events, _pairs_where(frames, frames.triage["treatment"].notna()))
    return events[is_raised | ~(is_silent | (events["event"].eq(EventKind.CONFIRMED) & is_known))]


def known_problems(frames: Frames) -> pd.DataFrame:
    """Return one row per place of a known problem."""
    problems = frames.triage.loc[frames.triage["is_problem"], PAIR].drop_duplicates()
    rows = problems.merge(frames.verdicts[[*PAIR, "ark", "naan", "object", "object_evidence"]], on=PAIR)
    rows = rows.merge(frames.mentions.drop(columns=["ark", "naan"]), on=PAIR, how="left")
    rows = with_decisions(frames, rows)
    causes = diagnosed_failures(frames)[[*PAIR, "cause", "fault", "host", "should_be", "because"]]
    rows = rows[rows["treatment"].notna()].merge(causes, on=PAIR, how="left")
    return rows.merge(frames.latest[[*PAIR, "state"]], on=PAIR, how="left")


def known_measures(frames: Frames) -> Iterator[tuple[str, int, str]]:
    """Yield the measures of known problems, counted by ARKs, including ARKs known in one document only."""
    problems = frames.triage[frames.triage["is_problem"] & frames.triage["treatment"].notna()]
    treated = problems.sort_values(["treatment", "until"]).drop_duplicates("ark_id")
    if frames.triage.empty:
        return
    counts = Counter(treated["treatment"])
    days = [date.fromisoformat(day) for day in treated["until"].dropna()]
    words = known_words(counts["acknowledged"], days)
    yield (KNOWN, len(treated), words or "ARKs with acknowledged or ignored problems.")
    yield (
        f"{KNOWN}: acknowledged",
        counts["acknowledged"],
        "Known in their current state; reported again if they get worse.",
    )
    yield f"{KNOWN}: ignored", counts["ignored"], "Not reported until a given day."


def known_sentence(summary: pd.DataFrame, language: Language) -> str:
    """Return the number of known problems in one sentence, from the measures of a summary; empty for 0.

    The note of the measure contains the end dates of ignored problems.
    """
    rows = {name: (int(value), note) for name, value, note in rows_of(summary[["measure", "value", "note"]])}
    number, note = rows.get(KNOWN, (0, ""))
    if not number:
        return ""
    acknowledged, ignored = (rows[f"{KNOWN}: {how}"][0] for how in ("acknowledged", "ignored"))
    parts = []
    if acknowledged:
        parts.append(language.ngettext("{number} acknowledged", "{number} acknowledged", acknowledged))
    if ignored:
        days = re.findall("[0-9]{4}-[0-9]{2}-[0-9]{2}", note)
        until, *last = (language.numeric_day(date.fromisoformat(day)) for day in days)
        if last:
            until = language.gettext("{first} at the earliest, {last} at the latest", first=until, last=last[0])
        words = language.ngettext("{number} ignored until {day}", "{number} ignored until {day}", ignored, day=until)
        parts.append(words)
    decided = ", ".join(parts)
    return language.ngettext("{number} known: {decided}.", "{number} known: {decided}.", number, decided=decided)


KNOWN_PROBLEMS = TableDefinition(
    "known",
    "Known problems",
    "One row per place that cites an ARK with an acknowledged or ignored problem. These are counted everywhere, but "
    "reported nowhere else in this report.",
    known_problems,
    (
        token_column("treatment", "acknowledged, or ignored"),
        text_column("until", "end date of an ignored problem; empty for acknowledged ones"),
        text_column("why", "reason given by the person who decided"),
        text_column("decision", "decision and its date"),
        ASSIGNEE_COLUMN,
        ARK_COLUMN,
        NAAN_COLUMN,
        ASKED_URL_COLUMN,
        OBJECT_COLUMN,
        STATE_COLUMN,
        token_column("cause", "why it fails, as far as this run shows; empty where it was not judged"),
        FAULT_COLUMN,
        FAULT_HOST_COLUMN,
        text_column("should_be", "correct citation: an ARK or URL; empty if unknown"),
        text_column("because", "evidence for the correction", is_ours=True),
        DOCUMENT_COLUMN,
        *PLACE_COLUMNS,
        EVIDENCE_COLUMN,
    ),
    order=("treatment", "until", "ark", "request_url", "document", "ordinal"),
    is_listing=True,
)


# Changes of ARKs since an earlier run.

#: The word for a failure that no further check has confirmed yet.
FAILING = str(ArkState.FAILING)
#: The kinds of changes, the most serious first.
SEVERITY = tuple(CHANGE_NAMES)


def changes(frames: Frames) -> pd.DataFrame:
    """Return one row per event and per new failure: the one source of headline, news and all formats.

    A report without a run to compare with has events only.
    """
    events = events_to_report(frames).merge(frames.verdicts[[*PAIR, "object"]], on=PAIR, how="left")
    failures = [new_failures(frames)] if frames.since or frames.previous else []
    rows = pd.concat([events.astype({"event": "str"}), *failures], ignore_index=True)
    known = diagnosed_failures(frames)[[*PAIR, "cause"]].assign(is_past=False)
    if frames.former_causes is not None:
        known = pd.concat([known, frames.former_causes.assign(is_past=True)])
    rows = rows.assign(is_past=rows["event"].eq(EventKind.RECOVERED)).merge(known, on=[*PAIR, "is_past"], how="left")
    return rows.assign(rank=rows["event"].map(SEVERITY.index).astype("Int64"))


def new_failures(frames: Frames) -> pd.DataFrame:
    """Return one row per URL of each ARK that newly fails (see `newly`), unless its failure is confirmed."""
    events = events_to_report(frames)
    confirmed = events.loc[events["event"].eq(EventKind.CONFIRMED), "ark_id"]
    rows = newly(frames, Family.FAILS).assign(event=FAILING)
    return rows[rows["state"].ne(ArkState.CONFIRMED_BROKEN) & ~rows["ark_id"].isin(confirmed)]


def newly(frames: Frames, family: Family) -> pd.DataFrame:
    """Return one row per URL of an ARK of a *family* that was not of this family in the run to compare with.

    An ARK whose documents that run could not read is compared with its last verdict before. Without such a run every
    ARK of the family is new. Known problems are left out.
    """
    compared = frames.since or frames.previous
    rows = of_family(frames, family)
    if compared is not None:
        before = frames.history[frames.history["started_at"].le(compared.run["started_at"].max())]
        before = before[~before["ark_id"].isin(compared.verdicts["ark_id"])]
        last = before[before["run_id"].eq(before.groupby("ark_id")["run_id"].transform("max"))]
        was_before = last.loc[families(last["object"]).eq(family), "ark_id"]
        rows = rows[~rows["ark_id"].isin(pd.concat([of_family(compared, family)["ark_id"], was_before]))]
    rows = without_known(frames, rows[families(rows["object"]).eq(family)])
    rows = rows.merge(frames.latest[[*PAIR, "state", "since", "reason"]], on=PAIR, how="left")
    return rows.rename(columns={"since": "at", "reason": "detail"})


def of_family(frames: Frames, *of: Family) -> pd.DataFrame:
    """Return the verdicts about the ARKs whose best outcome is of a family."""
    statuses = ark_statuses(frames)
    chosen = statuses.loc[statuses["family"].isin(of), "ark_id"]
    return frames.verdicts.loc[frames.verdicts["ark_id"].isin(chosen), [*PAIR, "ark", "naan", "object"]]


CHANGES = TableDefinition(
    "changes",
    "Changes",
    "One row per event of an ARK since the run that this one is compared with; the most serious "
    "first. An ARK is failing until several checks over days have confirmed it as broken. An outage "
    "is not link rot, and has no row. Acknowledged and ignored problems are left out.",
    changes,
    (
        token_column(
            "event", "confirmed (as broken), failing, gone (from the documents), moved, changed, recovered or new"
        ),
        ARK_COLUMN,
        NAAN_COLUMN,
        ASKED_URL_COLUMN,
        OBJECT_COLUMN,
        token_column("cause", "why it fails; of a recovered ARK, why it last failed, if known"),
        text_column("detail", "the event in words"),
        moment_column("at", "moment of the check that showed it", varies=True),
    ),
    order=("rank", "ark", "request_url", "at", "event_id"),
    is_listing=True,
)
