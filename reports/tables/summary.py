"""The summary of a run: documents, citations, ARKs and the three ARK services."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TypeAlias

import pandas as pd

from crawler.history.latest import PRUNED
from crawler.model.observations import DESCRIBED, CommitmentOutcome, DocumentOutcome, Family, ObjectOutcome
from reports.languages import ENGLISH, Forms, Language
from reports.store.frames import Frames
from reports.tables.ark_statuses import ark_states, ark_statuses, families, judged_mentions
from reports.tables.definitions import TableDefinition, count_column, text_column
from reports.tables.inventory import inventory_measures, inventory_sentence
from reports.tables.known import known_measures
from reports.tables.overviews import HELD_BACK, own
from reports.tables.wording import FAMILY_COUNTS, FAMILY_MEANINGS, OBJECT_MEANINGS, STATE_MEANINGS

Measure: TypeAlias = tuple[str, int, str]


#: The measure that counts requests: two audits of the same web may differ in it.
REQUESTS_SENT = "requests sent"
#: Documents that were not sent, or not whole: their outcome, the note of their measure, and their number in words.
_KEPT_BACK = {
    "documents blocked": (
        ObjectOutcome.BLOCKED,
        "Not sent: a refusal, a robot check or a log-in came in their place.",
        Forms("{number} blocked", "{number} blocked"),
    ),
    "documents paused": (
        DocumentOutcome.PAUSED,
        "Not sent: a page about a pause or a fault of the site came in their place.",
        Forms("{number} paused", "{number} paused"),
    ),
    "documents incomplete": (
        DocumentOutcome.INCOMPLETE,
        "Cut off on the way; the part that arrived was read.",
        Forms("{number} cut off", "{number} cut off"),
    ),
}
_NAMED, _ASKED = "documents named in logs", "requests in logs"


def summary(frames: Frames) -> pd.DataFrame:
    """Return one row per measure; ordered from documents over citations, ARKs and URLs to requests.

    Each row also has the values of the previous run and of the chosen run, with the changes. A measure that only an
    earlier run has is 0 here, and comes last. A run that was pruned has no number of questions to compare.
    """
    runs = {"value": frames, "previous": frames.previous, "since": frames.since}
    measures = {column: _measures(run) if run else {} for column, run in runs.items()}
    notes: dict[str, str] = {}
    for of_run in measures.values():
        notes |= {name: note for name, (_, note) in of_run.items() if name not in notes}
    values = {
        column: pd.array([of_run.get(name, (0, ""))[0] if of_run else None for name in notes], dtype="Int64")
        for column, of_run in measures.items()
    }
    table = pd.DataFrame({"measure": notes.keys(), "note": notes.values(), **values})
    for column, run in runs.items():
        if run and run is not frames and run.findings["kind"].eq(PRUNED).any():
            table.loc[table["measure"].isin(("findings", "questions asked", REQUESTS_SENT)), column] = pd.NA
    return table.assign(change=table["value"] - table["previous"], since_change=table["value"] - table["since"])


def _measures(frames: Frames) -> Mapping[str, tuple[int, str]]:
    """Return the measures of one run by name, each with its value and an explanation."""
    measures: list[Measure] = [
        *document_measures(Counter(frames.documents["outcome"])),
        *_citation_measures(frames),
        *_ark_measures(frames),
        *_url_measures(frames),
        *known_measures(frames),
        *inventory_measures(frames),
        finding_measure(len(frames.findings)),
        *_question_measures(frames),
    ]
    return {name: (value, note) for name, value, note in measures}


def document_measures(outcomes: Mapping[str, int]) -> Iterator[Measure]:
    """Yield the measures of documents from the number of documents by outcome."""
    count, counts = sum(outcomes.values()), Counter(outcomes)
    read, unreadable = counts[DocumentOutcome.READ], counts[DocumentOutcome.UNREADABLE]
    redirected = counts[DocumentOutcome.REDIRECTED]
    kept_back = {name: counts[outcome] for name, (outcome, _, _) in _KEPT_BACK.items() if counts[outcome]}
    yield "documents", count, "Every requested document."
    yield "documents read", read, "Received and read."
    for name, number in kept_back.items():
        yield name, number, _KEPT_BACK[name][1]
    yield ("documents not readable", unreadable, "Received, but no reader understands them.")
    yield ("documents redirected", redirected, "Redirected to another of these documents, which is counted separately.")
    named = counts[DocumentOutcome.REFERER]
    missing = count - read - unreadable - redirected - named - sum(kept_back.values())
    yield "documents not reached", missing, "Not received."
    if named:
        yield (_NAMED, named, "Pages that visitors came from according to a log; not requested.")


def _citation_measures(frames: Frames) -> Iterator[Measure]:
    mentions = judged_mentions(frames, "object")
    yield from citation_measures(
        Counter(families(mentions.drop_duplicates("citation_id")["object"])),
        places=len(mentions),
        repaired=mentions.loc[mentions["repairs"].fillna("").ne(""), "citation_id"].nunique(),
        ambiguous=mentions.loc[mentions["confidence"].eq("ambiguous"), "citation_id"].nunique(),
    )
    if mentions["asked"].isna().all():
        return
    fails = families(mentions["object"]).eq(Family.FAILS)
    yield (_ASKED, int(mentions["asked"].sum()), "Requests for these ARKs, according to the logs.")
    yield (
        f"{_ASKED}: {Family.FAILS}",
        int(mentions.loc[fails, "asked"].sum()),
        "Requests for ARKs that fail at the requested URL.",
    )


def citation_measures(
    families_of: Mapping[str, int], *, places: int, repaired: int, ambiguous: int
) -> Iterator[Measure]:
    """Yield the measures of citations from the number of citations by family."""
    yield ("citations", sum(families_of.values()), "Citations of an ARK in a document; a link and its text are one.")
    yield "places", places, "Places of these citations: link targets, texts, metadata."
    yield from _family_measures("citations", families_of)
    yield "citations repaired", repaired, "Broken by typesetting or markup, and repaired."
    yield ("citations ambiguous", ambiguous, "More than one reading is possible; the alternatives are kept.")


def _ark_measures(frames: Frames) -> Iterator[Measure]:
    standings = ark_statuses(frames)
    yield from ark_measures(Counter(standings["family"]))
    described = int(standings["metadata"].isin(DESCRIBED).sum())
    yield ("ARKs described", described, "The provider answers ?info with metadata about the object.")
    committed = int(standings["commitment"].eq(CommitmentOutcome.STATED).sum())
    yield "ARKs with a stated commitment", committed, "The provider states a commitment."
    later = frames.verdicts["run_id"].isin(frames.later["run_id"])
    carried = frames.verdicts[~later & ~frames.verdicts["run_id"].isin(frames.run["run_id"])]
    yield ("ARKs as found before", carried["ark_id"].nunique(), "Not checked in this run; their last verdict counts.")
    if len(frames.later):
        again = frames.verdicts.loc[later, "ark_id"].nunique()
        yield ("ARKs checked again since", again, "Checked again by later runs; their last verdict counts.")
    states = Counter(ark_states(frames)["state"])
    for state, meaning in STATE_MEANINGS.items():
        if states[state]:
            yield f"ARKs by status: {state}", states[state], meaning


def ark_measures(families_of: Mapping[str, int]) -> Iterator[Measure]:
    """Yield the measures of distinct ARKs from the number of ARKs by family."""
    count = sum(families_of.values())
    yield ("ARKs", count, "Distinct ARKs; an ARK with several URLs counts once, with its best outcome.")
    yield from _family_measures("ARKs", families_of)


def finding_measure(count: int) -> Measure:
    """Return the measure of findings."""
    return "findings", count, "Remarks about documents; each kind and text counts once per document."


def _url_measures(frames: Frames) -> Iterator[Measure]:
    outcomes = Counter(frames.verdicts["object"])
    yield "URLs", len(frames.verdicts), "Each ARK at each URL where it was cited or requested."
    for outcome, meaning in OBJECT_MEANINGS.items():
        if outcomes[outcome]:
            yield f"URLs: {outcome}", outcomes[outcome], meaning


def _question_measures(frames: Frames) -> Iterator[Measure]:
    asked = frames.verdicts.loc[frames.verdicts["request_count"].gt(0), "ark_id"].nunique()
    yield "ARKs asked about", asked, "Cited or given, and requested at least once."
    note = "One chain of requests each: for objects, metadata, controls, other readings and other forms, each attempt."
    yield "questions asked", len(frames.observations), note
    of_request = ["run_id", "chain_end", "status", "request_count"]
    asks, documents = own(frames, frames.observations[of_request]), frames.documents
    # The last request of these was not sent, because of robots.txt or a private address.
    is_held_back = asks["chain_end"].isin(HELD_BACK) & asks["status"].isna()
    sent = (asks["request_count"] - is_held_back).clip(lower=0).sum()
    is_held_back = documents["outcome"].isin(HELD_BACK)
    sent += (documents["request_count"] - is_held_back).clip(lower=0).sum()
    note = "For documents and for ARKs, redirects included; without robots.txt and certificate probes."
    yield REQUESTS_SENT, int(sent), note


def _family_measures(of: str, families_of: Mapping[str, int]) -> Iterator[Measure]:
    for family, meaning in FAMILY_MEANINGS.items():
        yield f"{of}: {family}", families_of.get(family, 0), meaning


def sentences(summary: pd.DataFrame, language: Language = ENGLISH) -> list[str]:
    """Return the summary as a few plain sentences: documents, ARKs by family, services, and problems."""
    count = {measure: int(value) for measure, value in zip(summary["measure"], summary["value"], strict=True)}
    described = language.ngettext(
        "{number} ARK returns metadata", "{number} ARKs return metadata", count["ARKs described"]
    )
    committed = language.ngettext(
        "{number} ARK has a stated commitment",
        "{number} ARKs have a stated commitment",
        count["ARKs with a stated commitment"],
    )
    parts = [
        cited_sentence(count, language),
        _families_sentence(count, language),
        _log_sentence(count, language),
        language.gettext("{described}; {committed}.", described=described, committed=committed),
        _questions_sentence(count, language),
        inventory_sentence(count, language),
    ]
    return [sentence for sentence in parts if sentence]


def _families_sentence(count: Mapping[str, int], language: Language) -> str:
    works, fails, unreachable, not_judged = (
        language.ngettext(forms.one, forms.many, count[f"ARKs: {family}"]) for family, forms in FAMILY_COUNTS.items()
    )
    return language.gettext(
        "ARKs: {works}, {fails}, {unreachable}, {not_judged}.",
        works=works,
        fails=fails,
        unreachable=unreachable,
        not_judged=not_judged,
    )


def _log_sentence(count: Mapping[str, int], language: Language) -> str:
    if _ASKED not in count:
        return ""
    return language.ngettext(
        "According to the logs, an ARK was requested {number} time; {fails} of these requests were for a failing ARK.",
        "According to the logs, ARKs were requested {number} times; {fails} of these requests were for failing ARKs.",
        count[_ASKED],
        fails=language.number(count[f"{_ASKED}: {Family.FAILS}"]),
    )


def _questions_sentence(count: Mapping[str, int], language: Language) -> str:
    questions, arks = count["questions asked"], count["ARKs asked about"]
    requests = language.ngettext("{number} request sent", "{number} requests sent", count[REQUESTS_SENT])
    if not arks:
        return language.gettext("No ARK was checked; {requests}.", requests=requests)
    return language.ngettext(
        "{number} check of {arks} ({each} each); {requests}.",
        "{number} checks of {arks} ({each} each); {requests}.",
        questions,
        arks=language.npgettext("asked about", "{number} ARK", "{number} ARKs", arks),
        each=language.decimals(questions / arks, 1),
        requests=requests,
    )


def cited_sentence(count: Mapping[str, int], language: Language) -> str:
    """Return the sentence on documents and citations, from the measures of a summary."""
    missed = [
        language.ngettext("{number} not readable", "{number} not readable", count["documents not readable"]),
        language.ngettext("{number} not reached", "{number} not reached", count["documents not reached"]),
    ]
    for name, (_, _, forms) in _KEPT_BACK.items():
        if number := count.get(name):
            missed.append(language.ngettext(forms.one, forms.many, number))
    if count["documents redirected"]:
        missed.append(language.ngettext("{number} redirected", "{number} redirected", count["documents redirected"]))
    if named := count.get(_NAMED):
        missed.append(language.ngettext("{number} only named in a log", "{number} only named in logs", named))
    return language.gettext(
        "{citations} of {arks} in {documents} ({missed}); {repaired}, {ambiguous}.",
        citations=language.ngettext("{number} citation", "{number} citations", count["citations"]),
        arks=language.npgettext("citations of", "{number} ARK", "{number} ARKs", count["ARKs"]),
        documents=language.npgettext("in", "{number} document", "{number} documents", count["documents"]),
        missed=", ".join(missed),
        repaired=language.ngettext("{number} repaired", "{number} repaired", count["citations repaired"]),
        ambiguous=language.ngettext("{number} ambiguous", "{number} ambiguous", count["citations ambiguous"]),
    )


SUMMARY = TableDefinition(
    "summary",
    "Summary",
    "One row per measure. Each ARK counts once, with the best outcome of all its URLs; citations count with "
    "the outcome of the cited URL.",
    summary,
    (
        text_column("measure", "name of the measure"),
        count_column("value", "number counted", "by measure"),
        count_column("previous", "value in the previous run of the same kind; empty for the first", "by measure"),
        count_column("change", "value - previous", "by measure"),
        count_column("since", "value in the run chosen for comparison; empty without one", "by measure"),
        count_column("since_change", "value - since", "by measure"),
        text_column("note", "explanation of the measure"),
    ),
)
