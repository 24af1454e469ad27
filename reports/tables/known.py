"""Known problems: what was acknowledged or ignored is counted and listed here, and raised nowhere else."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import date
from typing import Final

import pandas as pd

from crawler.history.ark_status import EventKind
from crawler.history.triage import PARTICIPLES, TriageAction, known_words
from reports.languages import ENGLISH, Language
from reports.store.frames import Frames
from reports.tables.definitions import (
    ARK,
    COUNT,
    NAAN_COLUMN,
    OBJECT_COLUMN,
    TEXT,
    TOKEN,
    URL,
    Column,
    TableDefinition,
    rows_of,
)
from reports.tables.failing import diagnosed_failures

#: The measure that counts known problems; its note says them in words.
KNOWN: Final = "known problems"
_PAIR: Final = ["ark_id", "request_url"]
_DECIDED: Final = ["treatment", "decision", "why", "until", "assignee"]
#: Events that are good news, or no matter of the ARK: they are reported whatever was decided.
_TOLD_ANYWAY: Final = [str(kind) for kind in (EventKind.RECOVERED, EventKind.NEW, EventKind.GONE)]


def with_decisions(frames: Frames, places: pd.DataFrame) -> pd.DataFrame:
    """*places* (ARK, URL, document) with what was decided of each: in its document, or else wherever it is cited."""
    decided = frames.triage
    if decided.empty:
        return places.assign(**{name: pd.Series(None, index=places.index, dtype="str") for name in _DECIDED})
    whole = decided[decided["document"].isna()].drop(columns="document")
    single = decided[decided["document"].notna()]
    rows = places.merge(whole[[*_PAIR, *_DECIDED]], on=_PAIR, how="left")
    here = places[[*_PAIR, "document"]].merge(
        single[[*_PAIR, "document", *_DECIDED]], on=[*_PAIR, "document"], how="left", indicator=True
    )
    is_own = here["_merge"].eq("both").to_numpy()
    own = {name: rows[name].where(~is_own, here[name].to_numpy()).astype("str") for name in _DECIDED}
    return rows.assign(**own).set_axis(places.index)


def raised(frames: Frames, places: pd.DataFrame) -> pd.DataFrame:
    """Those of *places* that are no known problem, with who looks after them and what was decided in vain."""
    decided = with_decisions(frames, places)
    rows = decided[decided["treatment"].isna()].rename(columns={"decision": "triage"})
    return rows.drop(columns=["treatment", "why", "until"])


def without_known(frames: Frames, rows: pd.DataFrame) -> pd.DataFrame:
    """The rows about an ARK and URL that is no known problem, or not in all of the documents that cite it here."""
    return _without(rows, _holding(frames, frames.triage["treatment"].notna()))


def _holding(frames: Frames, holds: pd.Series) -> pd.DataFrame:
    """The pairs of ARK and URL of which it *holds*, in so many of the decisions, wherever these documents cite them."""
    decided = frames.triage.assign(holds=holds.astype("bool"))
    whole = decided.loc[decided["document"].isna() & decided["holds"], _PAIR]
    single = decided[decided["document"].notna()]
    if single.empty:
        return whole
    places = frames.mentions[[*_PAIR, "document"]].drop_duplicates().merge(single[_PAIR].drop_duplicates(), on=_PAIR)
    decided_here = single.loc[single["holds"], [*_PAIR, "document"]]
    here = places.merge(decided_here, on=[*_PAIR, "document"], how="left", indicator=True)
    every = here.assign(holds=here["_merge"].eq("both")).groupby(_PAIR, as_index=False)["holds"].all()
    return pd.concat([whole, every.loc[every["holds"], _PAIR]]).drop_duplicates()


def raised_events(frames: Frames) -> pd.DataFrame:
    """Return what has happened, but for what is ignored and for the failures that are known."""
    kept_events = frames.events[frames.events["event"].astype("str").isin(_TOLD_ANYWAY)]
    rest = frames.events[~frames.events.index.isin(kept_events.index)]
    rest = _without(rest, _holding(frames, frames.triage["is_silent"]))
    broke = rest[rest["event"].eq(EventKind.BROKE)]
    known_events = broke.index.difference(without_known(frames, broke).index)
    return frames.events.loc[sorted([*kept_events.index, *rest.index.difference(known_events)])]


def _without(rows: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    if pairs.empty:
        return rows
    keys = pd.MultiIndex.from_frame(pairs[_PAIR].astype("object"))
    return rows[~pd.MultiIndex.from_frame(rows[_PAIR].astype("object")).isin(keys)]


def known(frames: Frames) -> pd.DataFrame:
    """One row per place of a known problem; ordered by treatment, the day until which, ARK, URL, document and place."""
    problems = frames.triage[frames.triage["is_problem"]]
    pairs = problems[_PAIR].drop_duplicates()
    places = frames.mentions.drop(columns=["ark", "naan"])
    rows = pairs.merge(frames.verdicts[[*_PAIR, "ark", "naan", "object", "object_evidence"]], on=_PAIR)
    rows = rows.merge(places, on=_PAIR, how="left")
    rows = with_decisions(frames, rows)
    rows = rows[rows["treatment"].notna()]
    causes = diagnosed_failures(frames)[[*_PAIR, "cause", "fault", "host", "should_be", "because"]]
    rows = rows.merge(causes, on=_PAIR, how="left").merge(frames.latest[[*_PAIR, "state"]], on=_PAIR, how="left")
    ordered = rows.sort_values(["treatment", "until", "ark", "request_url", "document", "ordinal"], ignore_index=True)
    return KNOWN_PROBLEMS.shaped(ordered)


def known_measures(frames: Frames) -> Iterator[tuple[str, int, str]]:
    """Return what is known, counted by ARKs, also where it is known in one of its documents only."""
    problems = frames.triage[frames.triage["is_problem"] & frames.triage["treatment"].notna()]
    treated = problems.sort_values(["treatment", "until"]).drop_duplicates("ark_id")
    if frames.triage.empty:
        return
    counts = Counter(treated["treatment"])
    days = [date.fromisoformat(day) for day in treated["until"].dropna()]
    words = known_words(counts[PARTICIPLES[TriageAction.ACKNOWLEDGE]], days)
    yield KNOWN, len(treated), words or "ARKs with problems that somebody has acknowledged or ignored."
    yield f"{KNOWN}: acknowledged", counts["acknowledged"], "Known as they stand; raised again once they are worse."
    yield f"{KNOWN}: ignored", counts["ignored"], "Not to be raised until a day that was given."


def known_sentence(summary: pd.DataFrame, language: Language = ENGLISH) -> str:
    """Return how many problems are known, in words, by the measures of a summary; empty for none.

    The note of the measure has the days until which some are ignored.
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
        days = [language.numeric_day(date.fromisoformat(day)) for day in _DAY.findall(note)]
        until = (
            language.gettext("{first} at the earliest, {last} at the latest", first=days[0], last=days[1])
            if len(days) > 1
            else days[0]
        )
        parts.append(
            language.ngettext("{number} ignored until {day}", "{number} ignored until {day}", ignored, day=until)
        )
    return language.ngettext(
        "{number} known: {decided}.", "{number} known: {decided}.", number, decided=", ".join(parts)
    )


_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


KNOWN_PROBLEMS: Final = TableDefinition(
    "known",
    "Known problems",
    "One row per place that cites an ARK with an acknowledged or ignored problem. These are counted everywhere, but "
    "reported nowhere else in this report.",
    known,
    (
        Column("treatment", TOKEN, "acknowledged, or ignored"),
        Column("until", TEXT, "day on which something ignored counts again; empty for what is acknowledged"),
        Column("why", TEXT, "why, in the words of the person who decided"),
        Column("decision", TEXT, "what was decided, and when"),
        Column("assignee", TEXT, "who looks after it, as was decided; empty for no one"),
        Column("ark", ARK, "ARK in normal form"),
        NAAN_COLUMN,
        Column("request_url", URL, "URL that was asked for the object"),
        OBJECT_COLUMN,
        Column("state", TOKEN, "status after all checks; empty when it is not known"),
        Column("cause", TOKEN, "why it fails, as far as this run shows; empty where it was not judged"),
        Column("fault", TOKEN, "with whom a repair begins: citation, resolver, landing-host or nobody"),
        Column("host", TEXT, "host that the repair is about"),
        Column("should_be", TEXT, "what the document should say instead: an ARK or URL; empty where nothing is known"),
        Column("because", TEXT, "how that is known", is_ours=True),
        Column("document", URL, "URL or path of the document"),
        Column("page", COUNT, "page of a paginated document", "page number from 1"),
        Column("place", TEXT, "element and attribute, or rectangle on the page in points"),
        Column("role", TOKEN, "text, link-target, metadata, link-annotation or structured-data"),
        Column("as_written", TEXT, "what the document contains there"),
        Column("object_evidence", TEXT, "why the object outcome is what it is"),
    ),
    is_listing=True,
)
