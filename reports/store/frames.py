"""One run of the store as typed DataFrames, or the current state of an audit after all later checks.

All frames are read in one transaction, so that a report on a running audit shows one moment of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from sqlalchemy import Connection, Select, false, literal, select, tuple_

from crawler.history.ark_status import StatusPolicy
from crawler.history.latest import has_followers, policy_of, rebuild_in_temporary_tables
from crawler.history.problems import problems_of
from crawler.model.observations import Problem
from crawler.model.schema import (
    ark,
    assessment,
    document,
    event,
    finding,
    host_traffic,
    is_current_mention,
    latest,
    memento,
    mention,
    observation,
    pause,
    run,
    verdict,
)
from crawler.store import StoreUnopenable
from crawler.store.document_tables import LIVE
from extractors.model.check_characters import NOTHING_DECLARED, Declared
from extractors.model.documents import READ_IN_PART
from extractors.model.naan import Registry
from reports.store.inventory import DTYPES, with_checks
from reports.store.known_problems import NOTHING_KNOWN, UNREADABLE, KnownProblems
from reports.store.run_queries import (
    AILING,
    NO_RUN,
    WORKING,
    ReportScope,
    cache_numbers,
    counting_verdicts,
    current_scope,
    is_event_since,
    load_runs,
    run_before,
    start_of,
    without_index,
)
from reports.store.selections import (
    ARKS,
    CHECKS,
    COMPARED_LATEST,
    COMPARED_MENTIONS,
    COMPARED_OBSERVATIONS,
    DOCUMENTS,
    EVENTS,
    FETCH_OF,
    FETCHES,
    FINDINGS,
    HISTORY,
    HOP_OF,
    JUDGED_RUNS,
    KNOWN,
    LAST_GOOD,
    LATEST,
    MEMENTOS,
    MENTIONS,
    OBSERVATIONS,
    PAUSES,
    REGISTERED,
    RUN,
    STANDINGS,
    TRAFFIC,
    VERDICTS,
    load,
    with_hops,
)
from reports.store.store_reading import read_store
from reports.store.typed_columns import frame_of


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Frames:
    """One run of the store as DataFrames, alone or with later checks of its ARKs.

    The frames are shared: copy a frame before changing it. Instances compare by identity, because they are keys of
    caches.
    """

    run: pd.DataFrame
    """The run itself: one row, or no row for an empty store."""
    documents: pd.DataFrame
    findings: pd.DataFrame
    arks: pd.DataFrame
    """Every ARK that the run mentions, requests or judges."""
    mentions: pd.DataFrame
    """One row per place that cites an ARK, as last decided; rows with one `citation_id` are one citation."""
    observations: pd.DataFrame
    hops: pd.DataFrame
    """One row per hop of an observation, joined by `observation_id`."""
    fetches: pd.DataFrame
    """One row per hop of the request for a document."""
    pauses: pd.DataFrame
    """One row per time that a host asked this run to pause."""
    traffic: pd.DataFrame
    """One row per host that this run contacted, with all requests to it and its throttling."""
    verdicts: pd.DataFrame
    latest: pd.DataFrame
    """One row per ARK and URL with its status after all checks, if the last check counts for this run."""
    events: pd.DataFrame
    """Events of ARKs since the run that this one is compared with, or in this run if there is none."""
    history: pd.DataFrame
    """One row per verdict, up to this run, on an ARK of this run."""
    last_good: pd.DataFrame
    """One row per ARK that fails or gives no answer now and worked in an earlier run, with its time and final URL."""
    mementos: pd.DataFrame
    """One row per ARK and URL that was looked up in a web archive, up to this run, with the last answer."""
    registered: pd.DataFrame
    """One row per NAAN in the local copy of the NAAN registry, with its organization."""
    known: pd.DataFrame
    """One row per accepted problem of an ARK at a URL; `document` is missing if accepted in all documents."""
    inventory: pd.DataFrame
    """One row per ARK of the inventory and URL, with its last check up to this run, or one row if it was never checked.

    `is_cited`: a document cites the ARK. `is_chosen`: the ARK belongs to the reported part.
    """
    later: pd.DataFrame
    """Later runs that have checked ARKs of this run; their verdicts replace its own."""
    passed_over: pd.DataFrame
    """Later runs that should have read documents, but did not finish or read no document."""
    timeline: Timeline
    """All runs up to this one, in few columns; empty for a run that another is compared with."""
    is_alone: bool = False
    """True if the store has later runs, whose checks are left out."""
    is_all: bool = False
    """True if the frames cover all ARKs ever checked, because the store has no documents."""
    store: str = ""
    """The name of the store's file; empty without a store."""
    declared: Declared = field(default_factory=dict)
    """The check characters that the user declares."""
    compared_run: Frames | None = None
    """The run that this one is compared with, or None: the chosen one, or else the last finished run before this one with
    the same command and seeds."""

    def __repr__(self) -> str:
        of_store = f"of {self.store!r}" if self.store else "of no store"
        runs = ", ".join(f"run {number}" for number in self.run["run_id"]) or "no run"
        counts = f"{len(self.documents)} documents, {len(self.arks)} ARKs, {len(self.verdicts)} verdicts"
        return f"<Frames {of_store}, {runs}: {counts}>"


def load_frames(
    store: Path,
    *,
    run_id: int | None = None,
    since: int | None = None,
    registry: Registry | None = None,
    inventory: pd.DataFrame | None = None,
    known_list: KnownProblems = NOTHING_KNOWN,
    declared: Declared = NOTHING_DECLARED,
) -> Frames:
    """Return one run of *store*, alone; or without *run_id*, the current state of its audit.

    The current state is the newest finished run that has read a document, with later checks of its ARKs.

    The result includes the run *since*, or else the run before it with the same command and seeds: its own rows, without
    requests. *registry* is the NAAN registry, by default the built-in copy. *inventory* is a result of
    `read_inventory`, and *known_list* of `read_known`, whose rows count as of the day on which a run began, so that its
    report stays the same. *declared* are the user's check characters. An empty store, or a run without rows, gives
    empty frames of the same dtypes. Nothing is written. Raises `StoreUnopenable`, and `crawler.store.StoreDamaged`.
    """
    registered = registered_names(registry or Registry.builtin())
    inventory_rows = frame_of(DTYPES, []) if inventory is None else inventory

    def load_chosen(connection: Connection) -> Frames:
        """Return the frames of the chosen run and of the one to compare with."""
        runs = load_runs(connection)
        run_ids = list(runs)
        for requested_run_id in (run_id, since):
            if requested_run_id not in (None, *run_ids):
                raise StoreUnopenable(f"{store}: has no run {requested_run_id}")
        reported = current_scope(connection) if run_id is None else ReportScope(run_id, run_id)
        if since is not None and run_ids.index(since) >= run_ids.index(reported.run_id):
            raise StoreUnopenable(f"run {since} is not earlier than run {reported.run_id}, which the report is about")
        compared_id = run_before(runs, reported.run_id) if since is None else since
        arks = load(connection, ARKS)
        frames_of = partial(_frames, connection, registered, arks, inventory_rows, declared)
        compared_run = (
            None
            if compared_id is None
            else frames_of(known_list, ReportScope(compared_id, compared_id, is_all=reported.is_all))
        )
        return replace(
            frames_of(known_list, reported, since=since, previous=compared_id, is_whole=True),
            store=store.name,
            is_alone=run_id is not None and runs[run_ids[-1]].started_at > runs[run_id].started_at,
            compared_run=compared_run,
        )

    return read_store(store, load_chosen)


def _frames(
    connection: Connection,
    registered: pd.DataFrame,
    arks: pd.DataFrame,
    inventory: pd.DataFrame,
    declared: Declared,
    known_list: KnownProblems,
    reported: ReportScope,
    *,
    since: int | None = None,
    previous: int | None = None,
    is_whole: bool = False,
) -> Frames:
    """Return the frames of the run in *reported*, which is compared with the runs *since* and *previous*.

    Unless *is_whole*, frames of other runs, of hosts and of requests are empty.
    *arks* are all ARKs of the store; frames that need all of them share the object.
    """

    load_rows = partial(load, connection)
    run_id = reported.run_id
    whole_run, until = (run_id, reported.until) if is_whole else (NO_RUN, NO_RUN)
    all_runs = timeline(connection, until)  # First, because it may replace the statuses in this connection.
    counting = cache_numbers(connection, "counting", counting_verdicts(reported))
    judged = cache_numbers(connection, "judged", select(verdict.c.ark_id).where(verdict.c.verdict_id.in_(counting)))

    own_observations = select(observation.c.observation_id).where(observation.c.run_id == run_id)
    is_of_verdict = (verdict.c.run_id == observation.c.run_id) & (verdict.c.request_url == observation.c.request_url)
    observations_of_verdicts = select(observation.c.observation_id).join_from(verdict, observation, is_of_verdict)
    observation_ids = own_observations.union(observations_of_verdicts.where(verdict.c.verdict_id.in_(counting)))
    is_asked = observation.c.observation_id.in_(observation_ids) if is_whole else false()
    observations, hops = with_hops(connection, OBSERVATIONS, HOP_OF, is_asked, of=observation.join(ark))
    if not is_whole:
        observations = load_rows(COMPARED_OBSERVATIONS, observation.c.run_id == run_id)
    _, fetches = with_hops(connection, FETCHES, FETCH_OF, document.c.run_id == whole_run)

    mentions = load_rows(
        MENTIONS if is_whole or len(inventory) else COMPARED_MENTIONS,
        document.c.run_id == run_id,
        is_current_mention,
        of=mention.join(document).join(ark),
    )
    first_mention_ids = mentions.groupby(["document_id", "citation"])["mention_id"].transform("min")
    with_runs = verdict.join(ark).join(run, run.c.run_id == verdict.c.run_id)
    verdicts = load_rows(VERDICTS, verdict.c.verdict_id.in_(counting), of=with_runs)
    frames_with_arks = [mentions, observations[observations["run_id"].eq(run_id)], verdicts]
    is_of_run = arks["ark_id"].isin(pd.concat([rows["ark_id"] for rows in frames_with_arks]))
    by_then = run.c.started_at <= start_of(until)
    ailing = select(verdict.c.ark_id).where(verdict.c.verdict_id.in_(counting), verdict.c.object.in_(AILING))
    good = load_rows(
        LAST_GOOD,
        verdict.c.ark_id.in_(ailing.subquery().select()),
        run.c.started_at < start_of(until),
        verdict.c.object.in_(WORKING),
        of=verdict.join(run),
    ).drop(columns="verdict_id")
    memento_rows = load_rows(MEMENTOS, memento.c.ark_id.in_(judged), by_then, of=memento.join(run))
    memento_rows = memento_rows.sort_values(["at", "memento_id"])
    is_later = run.c.started_at > start_of(run_id)
    judging_runs = select(verdict.c.run_id).where(verdict.c.verdict_id.in_(counting))
    is_event = is_event_since(reported, since, previous) if is_whole else event.c.run_id == NO_RUN
    runs = run.outerjoin(assessment)
    return Frames(
        run=load_rows(RUN, run.c.run_id == run_id, of=runs),
        later=load_rows(RUN, run.c.run_id.in_(judging_runs), is_later, of=runs),
        passed_over=load_rows(
            RUN,
            run.c.run_id.in_(select(document.c.run_id)),
            is_later,
            run.c.started_at <= start_of(reported.until),
            of=runs,
        ),
        inventory=with_checks(connection, inventory, reported.until),
        is_all=reported.is_all,
        documents=load_rows(DOCUMENTS, document.c.run_id == run_id),
        findings=load_rows(FINDINGS, finding.c.run_id == run_id),
        arks=arks if is_of_run.all() else arks[is_of_run].reset_index(drop=True),
        mentions=mentions.assign(citation_id=first_mention_ids.astype("Int64")),
        observations=observations,
        hops=hops,
        fetches=fetches,
        pauses=load_rows(PAUSES, pause.c.run_id == whole_run),
        traffic=load_rows(TRAFFIC, host_traffic.c.run_id == whole_run),
        verdicts=verdicts,
        latest=load_rows(LATEST, without_index(latest.c.verdict_id).in_(counting))
        if is_whole
        else load_rows(COMPARED_LATEST, verdict.c.verdict_id.in_(counting)),
        events=load_rows(EVENTS, is_event, of=event.join(ark)),
        history=load_rows(HISTORY, without_index(verdict.c.ark_id).in_(judged), by_then, of=verdict.join(run)),
        last_good=good.drop_duplicates("ark_id", keep="last", ignore_index=True),
        mementos=memento_rows.drop_duplicates(["ark_id", "request_url"], keep="last", ignore_index=True),
        registered=registered,
        declared=declared,
        known=_known_rows(connection, counting, reported, known_list),
        timeline=all_runs,
    )


def _known_rows(
    connection: Connection, verdicts: Select[Any], reported: ReportScope, known_list: KnownProblems
) -> pd.DataFrame:
    """Return the problems among *verdicts* that *known_list* accepts, one row per URL and document (see `KNOWN`)."""
    started_at = connection.scalar(select(run.c.started_at).where(run.c.run_id == reported.until))
    if not known_list or started_at is None:
        return frame_of(KNOWN, [])
    day = datetime.fromisoformat(started_at).date()
    rows = [
        (*pair, document, row.words)
        for pair, problem in problems_of(connection, verdicts, reported.run_id).items()
        for document, row in known_list.accepting(problem, day).items()
    ]
    return frame_of(KNOWN, rows)


def load_problems(store: Path) -> list[Problem]:
    """Return the problems in the current state of *store*: of each ARK at a URL, and of documents that were not read.

    Raises `StoreUnopenable`, and `crawler.store.StoreDamaged`.
    """

    def load_current(connection: Connection) -> list[Problem]:
        reported = current_scope(connection)
        counting = cache_numbers(connection, "counting", counting_verdicts(reported))
        ark_problems = problems_of(connection, counting, reported.run_id).values()
        documents = load(connection, DOCUMENTS, document.c.run_id == reported.run_id)
        findings = load(connection, FINDINGS, finding.c.run_id == reported.run_id)
        unread = unread_documents(documents, findings)
        return [*ark_problems, *(Problem(UNREADABLE, documents=(url,)) for url in unread)]

    return read_store(store, load_current)


def unread_documents(documents: pd.DataFrame, findings: pd.DataFrame) -> list[str]:
    """Return the documents that are unreadable, read in part or empty, and the seeds that could not be fetched."""
    is_unread = documents["outcome"].eq(UNREADABLE)
    is_unread |= documents["found_on"].isna() & ~documents["outcome"].isin(LIVE)
    in_part = findings.loc[findings["kind"].isin({*READ_IN_PART, "empty"}), "document_id"]
    is_unread |= documents["document_id"].isin(in_part.dropna())
    return list(documents.loc[is_unread, "url"])


def registered_names(registry: Registry) -> pd.DataFrame:
    """Return one row per NAAN of *registry*: organization and contact; sorted. The last entry of a NAAN counts."""
    entries = (entry for entry in registry.entries if entry.naan and not entry.shoulder)
    rows = {entry.naan: (entry.organization, entry.where) for entry in entries}
    return frame_of(REGISTERED, [(naan, *values) for naan, values in sorted(rows.items())])


# All runs up to a given one: every check, every status.


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """All runs up to the reported one. A *pair* is the number of an ARK at one URL.

    Instances compare by identity, because they are keys of caches.
    """

    policy: StatusPolicy
    runs: pd.DataFrame
    """All judged runs, in order."""
    checks: pd.DataFrame
    """One row per verdict, by pair and run; `run` is the position of its run in `runs`.

    `started_at` and `is_suspect` are those of the run.
    """
    standings: pd.DataFrame
    """One row per pair: its status, and the metadata and commitment outcomes of its last verdict."""


def timeline(connection: Connection, run_id: int) -> Timeline:
    """Return the judged runs up to *run_id*, their checks and the status of ARKs then; empty for `NO_RUN`.

    If later runs exist, the status is recomputed in temporary tables of the connection.
    """
    if run_id != NO_RUN and has_followers(connection, run_id):
        rebuild_in_temporary_tables(connection, until=run_id)
    reported_run = select(run.c.started_at, run.c.run_id).where(run.c.run_id == run_id).scalar_subquery()
    run_order = (run.c.started_at, run.c.run_id)
    runs = load(connection, JUDGED_RUNS, tuple_(*run_order) <= reported_run, of=run.join(assessment), order=run_order)
    is_of_runs = without_index(verdict.c.run_id).in_(runs["run_id"].tolist())
    is_same_pair = (latest.c.ark_id == verdict.c.ark_id) & (latest.c.request_url == verdict.c.request_url)
    checks = load(connection, CHECKS, is_of_runs, of=verdict.join(latest, is_same_pair), order=(None,))
    checks = checks.merge(runs[["run_id", "started_at", "is_suspect"]].reset_index(names="run"), on="run_id")
    with_last = latest.join(ark).outerjoin(verdict, verdict.c.verdict_id == latest.c.verdict_id)
    return Timeline(
        policy_of(connection),
        runs,
        checks.sort_values(["pair", "run"], ignore_index=True),
        load(connection, STANDINGS, literal(run_id != NO_RUN), of=with_last),
    )
