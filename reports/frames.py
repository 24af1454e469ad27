"""The store as typed DataFrames: the only place that opens it for reading.

Everything is read in one transaction, so that a report made beside a running audit shows one moment of it.
"""

from __future__ import annotations

import gc
import json
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np
import pandas as pd
from sqlalchemy import JSON, ColumnElement, Connection, Select, Text, create_engine, func, select, type_coerce
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from crawler.history.ark_status import ArkState, EventKind
from crawler.history.triage import PARTICIPLES, TriageState
from crawler.history.triaging import Pair, Treated, treated
from crawler.observations import (
    ChainEnd,
    CommitmentOutcome,
    DocumentOutcome,
    MetadataOutcome,
    ObjectOutcome,
    Question,
)
from crawler.schema import (
    APPLICATION_ID,
    SCHEMA_VERSION,
    ark,
    assessment,
    document,
    event,
    finding,
    host_traffic,
    is_current_mention,
    latest,
    mention,
    observation,
    pause,
    run,
    tls_probe,
    verdict,
)
from crawler.storage.errors import StoreDamaged
from crawler.storage.soundness import damage_in, distrust, is_damage, is_ours, not_a_file, require_sound
from extractors.document_model import Role
from extractors.errors import ArkauditError
from extractors.naan import Registry
from extractors.wraps.wrap import Confidence
from reports.columns import (
    INTEGER,
    MOMENT,
    PARSED,
    REAL,
    TEXT,
    TRUTH,
    Columns,
    Dtype,
    UnknownWord,
    content,
    fetched,
    frame_of,
    vocabulary,
)
from reports.inventory_file import no_inventory
from reports.run_queries import (
    NO_RUN,
    Reported,
    arks_of,
    asked_arks,
    audit_as_it_stands,
    behind,
    cited_arks,
    counting_verdicts,
    happened_since,
    has_later_run,
    has_run,
    kept,
    last_good_of,
    later_runs,
    life_of,
    passed_over,
    run_alone,
    run_before,
    status_in,
)
from reports.stock import no_stock, stock, with_citations
from reports.timelines import Timeline, no_timeline, timeline

Found = TypeVar("Found")


class UnknownTable(ArkauditError, KeyError):
    """Raised by `Frames.table` for a name that no table of the report has."""

    __str__ = Exception.__str__  # a KeyError shows its text in quotes


class StoreUnreadable(ArkauditError):
    """Raised by `load_frames` and `read` for a file that is missing, no store of ours, too new, or without the run."""


@dataclass(frozen=True, slots=True, eq=False)
class Frames:
    """One run of the store, alone or with what later checks say of its ARKs.

    Frames are shared: a table copies what it changes.

    Two are never equal, so that what several tables are made from can be computed once for each.
    """

    run: pd.DataFrame
    """The run itself: one row, or none when the store is empty."""
    documents: pd.DataFrame
    findings: pd.DataFrame
    arks: pd.DataFrame
    """Every ARK that the run mentions, asks about or judges."""
    mentions: pd.DataFrame
    """One row a place that cites an ARK, as decided last; those with one `citation_id` are one citation."""
    observations: pd.DataFrame
    hops: pd.DataFrame
    """One row a hop of an observation."""
    fetches: pd.DataFrame
    """One row a hop of the request for a document."""
    tls: pd.DataFrame
    pauses: pd.DataFrame
    """One row a time that a host asked this run to leave it alone."""
    traffic: pd.DataFrame
    """One row a host that this run asked: everything that went there, and how it was treated."""
    verdicts: pd.DataFrame
    latest: pd.DataFrame
    """One row an ARK and URL: its status after all its checks, where the last of them counts for this run."""
    events: pd.DataFrame
    """What has happened to ARKs in this run, or since the run that was chosen to compare with."""
    history: pd.DataFrame
    """One row a verdict of this run or an earlier one about an ARK of this run: enough for its life in brief."""
    last_good: pd.DataFrame
    """One row an ARK that fails or is silent now and worked in an earlier run: when, and where it led."""
    registered: pd.DataFrame
    """One row a NAAN or shoulder that the copy of the NAAN registry knows, and whom it names."""
    triage: pd.DataFrame
    """One row an ARK and URL that somebody has decided about, and a document where that holds for it alone."""
    inventory: pd.DataFrame = field(default_factory=lambda: _unlisted(), repr=False)
    """The institution's own ARKs, where an inventory was given: one row a line, whether it has ever been cited, and
    whether the part of the run that is reported is about it."""
    stock: pd.DataFrame = field(default_factory=no_stock, repr=False)
    """One row an ARK of the inventory and URL: its last check in this run or before it."""
    later: pd.DataFrame = field(default_factory=lambda: _no_rows(RUN), repr=False)
    """Runs that began later and have checked ARKs of this one again: their verdicts stand in the place of its own."""
    passed_over: pd.DataFrame = field(default_factory=lambda: _no_rows(RUN), repr=False)
    """Runs that began later to read documents, and did not finish or read none."""
    is_alone: bool = False
    """Whether there are later runs, and the run is reported as if there were none."""
    is_all: bool = False
    """Whether these are all ARKs that the store has ever checked, since no document says which are meant."""
    store: str = ""
    """The name of the store's file."""
    timeline: Timeline = field(default_factory=no_timeline, repr=False)
    """All runs up to this one, in few columns."""
    previous: Frames | None = field(default=None, repr=False)
    """The run that this one is to be compared with: the last finished one before it that did the same."""
    since: Frames | None = field(default=None, repr=False)
    """The run that somebody chose to compare with."""

    def table(self, name: str) -> pd.DataFrame:
        """Return the table *name* of the report, with the columns that ``docs/data-dictionary.md`` describes.

        Raises `UnknownTable` with the names that there are.
        """
        from reports.tables import TABLES

        found = next((table for table in TABLES if table.name == name), None)
        if found is None:
            names = [table.name for table in TABLES]
            meant = get_close_matches(name, names, 1)
            hint = f"did you mean {meant[0]!r}?" if meant else f"there are: {', '.join(names)}"
            raise UnknownTable(f"the report has no table {name!r}; {hint}")
        return found.function(self)

    def __repr__(self) -> str:
        of_store = f"of {self.store!r}" if self.store else "of no store"
        runs = ", ".join(f"run {number}" for number in self.run["run_id"]) or "no run"
        counts = f"{len(self.documents)} documents, {len(self.arks)} ARKs, {len(self.verdicts)} verdicts"
        return f"<Frames {of_store}, {runs}: {counts}>"


#: What a frame holds: an expression of the store, and the dtype that it gets.
Selection: TypeAlias = Mapping[ColumnElement[Any], Dtype]

ROLE = vocabulary(Role)
#: The least sure first.
CONFIDENCE = pd.CategoricalDtype([confidence.token for confidence in sorted(Confidence)], ordered=True)
QUESTION = vocabulary(Question)
CHAIN_END = vocabulary(ChainEnd)
DOCUMENT = vocabulary(DocumentOutcome, ObjectOutcome)
OBJECT = vocabulary(ObjectOutcome)
METADATA = vocabulary(MetadataOutcome)
COMMITMENT = vocabulary(CommitmentOutcome)
STATE = vocabulary(ArkState)
EVENT = vocabulary(EventKind)

RUN: Selection = {
    run.c.run_id: INTEGER,
    run.c.command: TEXT,
    run.c.started_at: MOMENT,
    run.c.ended_at: MOMENT,
    run.c.state: TEXT,
    run.c.version: TEXT,
    run.c.resolver: TEXT,
    run.c.user_agent: TEXT,
    run.c.seeds: TEXT,
    run.c.seeds.label("seed_list"): PARSED,
    run.c.plan: PARSED,
    assessment.c.is_suspect: TRUTH,
    assessment.c.reason.label("suspicion"): TEXT,
}
_hop = func.json_each(document.c.hops).table_valued("value").alias("hop")
#: How many hops of a document went out.
_SENT_HOPS = (
    select(func.count())
    .select_from(_hop)
    .where(func.coalesce(func.json_extract(_hop.c.value, "$.sent"), 1) == 1)
    .correlate(document)
    .scalar_subquery()
)
DOCUMENTS: Selection = {
    document.c.document_id: INTEGER,
    document.c.url: TEXT,
    document.c.found_on: TEXT,
    document.c.fetched_at: MOMENT,
    document.c.outcome: DOCUMENT,
    document.c.status: INTEGER,
    document.c.final_url: TEXT,
    document.c.media_type: TEXT,
    document.c.title: TEXT,
    document.c.body_bytes: INTEGER,
    _SENT_HOPS.label("request_count"): INTEGER,
}
FINDINGS: Selection = {
    finding.c.finding_id: INTEGER,
    finding.c.document_id: INTEGER,
    finding.c.subject: TEXT,
    finding.c.kind: TEXT,
    finding.c.detail: TEXT,
}
ARKS: Selection = {
    ark.c.ark_id: INTEGER,
    ark.c.ark: TEXT,
    ark.c.naan: TEXT,
    ark.c.shoulder: TEXT,
    ark.c.name: TEXT,
    ark.c.qualifier: TEXT,
}
MENTIONS: Selection = {
    mention.c.mention_id: INTEGER,
    mention.c.document_id: INTEGER,
    document.c.url.label("document"): TEXT,
    mention.c.ordinal: INTEGER,
    mention.c.decided: INTEGER,
    mention.c.citation: INTEGER,
    mention.c.ark_id: INTEGER,
    ark.c.ark: TEXT,
    ark.c.naan: TEXT,
    mention.c.as_written: TEXT,
    mention.c.repaired: TEXT,
    mention.c.request_url: TEXT,
    mention.c.resolver: TEXT,
    mention.c.role: ROLE,
    mention.c.page: INTEGER,
    mention.c.place: TEXT,
    func.json_extract(mention.c.spans, "$[0][0]").label("offset"): INTEGER,
    mention.c.context: TEXT,
    mention.c.repairs: TEXT,
    mention.c.confidence: CONFIDENCE,
    mention.c.reason: TEXT,
    mention.c.alternatives: TEXT,
    mention.c.remarks: TEXT,
}
OBSERVATIONS: Selection = {
    observation.c.observation_id: INTEGER,
    observation.c.run_id: INTEGER,
    observation.c.ark_id: INTEGER,
    ark.c.ark: TEXT,
    observation.c.request_url: TEXT,
    observation.c.question: QUESTION,
    observation.c.attempt: INTEGER,
    observation.c.asked_url: TEXT,
    observation.c.at: MOMENT,
    observation.c.chain_end: CHAIN_END,
    observation.c.status: INTEGER,
    observation.c.final_url: TEXT,
    observation.c.hop_count: INTEGER,
    func.json_array_length(observation.c.hops).label("request_count"): INTEGER,
    observation.c.media_type: TEXT,
    observation.c.title: TEXT,
    observation.c.body_bytes: INTEGER,
    observation.c.body_complete: TRUTH,
    observation.c.remarks: TEXT,
    observation.c.hops: PARSED,
}
TLS: Selection = {
    tls_probe.c.host: TEXT,
    tls_probe.c.port: INTEGER,
    tls_probe.c.at: MOMENT,
    tls_probe.c.trusted: TRUTH,
    tls_probe.c.reason: TEXT,
}
PAUSES: Selection = {
    pause.c.pause_id: INTEGER,
    pause.c.host: TEXT,
    pause.c.asked_s: REAL,
    pause.c.is_kept: TRUTH,
}
TRAFFIC: Selection = {
    host_traffic.c.host_traffic_id: INTEGER,
    host_traffic.c.host: TEXT,
    host_traffic.c.requests: INTEGER,
    host_traffic.c.interval_s: REAL,
    host_traffic.c.crawl_delay_s: REAL,
    host_traffic.c.given_up: TEXT,
}
VERDICTS: Selection = {
    verdict.c.verdict_id: INTEGER,
    verdict.c.run_id: INTEGER,
    run.c.started_at.label("judged_at"): MOMENT,
    verdict.c.ark_id: INTEGER,
    ark.c.ark: TEXT,
    ark.c.naan: TEXT,
    verdict.c.request_url: TEXT,
    verdict.c.object: OBJECT,
    verdict.c.object_evidence: TEXT,
    verdict.c.metadata: METADATA,
    verdict.c.metadata_evidence: TEXT,
    verdict.c.commitment: COMMITMENT,
    verdict.c.commitment_evidence: TEXT,
    verdict.c.commitment_parsed: PARSED,
    verdict.c.final_url: TEXT,
    verdict.c.hop_count: INTEGER,
    verdict.c.request_count: INTEGER,
    verdict.c.rests_on: TEXT,
    verdict.c.did_you_mean: PARSED,
    verdict.c.naan_policy: PARSED,
    verdict.c.remarks: TEXT,
}

#: Runs that came before the one that is reported, their verdicts about the same ARKs, and the last good ones.
HISTORY: Selection = {
    verdict.c.run_id: INTEGER,
    verdict.c.ark_id: INTEGER,
    verdict.c.object: OBJECT,
}
RUNS: Selection = {run.c.run_id: INTEGER, run.c.started_at: MOMENT}
LAST_GOOD: Selection = {
    verdict.c.verdict_id: INTEGER,
    verdict.c.ark_id: INTEGER,
    run.c.started_at.label("good_at"): MOMENT,
    verdict.c.final_url.label("good_url"): TEXT,
}
LATEST: Selection = {
    latest.c.latest_id: INTEGER,
    latest.c.ark_id: INTEGER,
    latest.c.request_url: TEXT,
    latest.c.state: STATE,
    latest.c.since: MOMENT,
    latest.c.checked_at: MOMENT,
    latest.c.reason: TEXT,
    latest.c.strikes: INTEGER,
    latest.c.worked_at: MOMENT,
}
EVENTS: Selection = {
    event.c.event_id: INTEGER,
    event.c.run_id: INTEGER,
    event.c.ark_id: INTEGER,
    ark.c.ark: TEXT,
    ark.c.naan: TEXT,
    event.c.request_url: TEXT,
    event.c.at: MOMENT,
    event.c.event: EVENT,
    event.c.detail: TEXT,
}
#: What is shown of a NAAN or shoulder of the registry.
REGISTERED: Mapping[str, Dtype] = {
    "naan": TEXT,
    "shoulder": TEXT,
    "organization": TEXT,
    "contact": TEXT,
    "target": TEXT,
}

#: What was decided of an ARK at a URL, and in one document.
TRIAGE: Mapping[str, Dtype] = {
    "ark_id": INTEGER,
    "request_url": TEXT,
    "document": TEXT,
    "treatment": TEXT,
    "decision": TEXT,
    "why": TEXT,
    "until": TEXT,
    "assignee": TEXT,
    "is_problem": TRUTH,
    "is_silent": TRUTH,
}

#: What a hop repeats of the observation that it belongs to.
HOP_OF: Mapping[str, Dtype] = {
    "observation_id": INTEGER,
    "run_id": INTEGER,
    "ark": TEXT,
    "question": QUESTION,
    "attempt": INTEGER,
    "request_url": TEXT,
    "chain_end": CHAIN_END,
}
#: What a hop repeats of the document that it was made for.
FETCH_OF: Mapping[str, Dtype] = {"document_id": INTEGER, "document": TEXT, "outcome": DOCUMENT}
FETCHES: Selection = {
    document.c.document_id: INTEGER,
    document.c.url.label("document"): TEXT,
    document.c.outcome: DOCUMENT,
    document.c.hops: PARSED,
}
#: The fields of `crawler.observations.Hop` that are reported, apart from its headers.
HOP: Mapping[str, Dtype] = {
    "url": TEXT,
    "method": TEXT,
    "status": INTEGER,
    "location": TEXT,
    "address": TEXT,
    "elapsed_s": REAL,
    "at": MOMENT,
    "error": TEXT,
    "sent": TRUTH,
}
#: The headers of a hop that are reported, and the columns that they get.
HOP_HEADERS = {"content-type": "content_type", "retry-after": "retry_after", "server": "server"}


def load_frames(
    store: Path,
    *,
    run_id: int | None = None,
    since: int | None = None,
    registry: Registry | None = None,
    inventory: pd.DataFrame | None = None,
) -> Frames:
    """One run of *store*, alone; or without *run_id*, its audit as it stands now.

    That is the newest finished run that has read a document, with what later checks have found of its ARKs.

    With it come the run before it that did the same, if there is one, and the run *since*, if one is given: their
    own rows, without requests. *registry* says who is behind a NAAN; by default what is built in. An *inventory* is
    as `reports.inventory_file.read_inventory` gives it. An empty store, or a run in which nothing has happened yet,
    gives empty frames of the same dtypes. Nothing is written, neither to the store nor beside it. Raises
    `StoreUnreadable`, and `crawler.storage.errors.StoreDamaged`.
    """
    known = registry or Registry.builtin()
    listed = no_inventory() if inventory is None else inventory
    return read(store, lambda connection: _chosen(connection, store, run_id, since, known, listed))


def read(store: Path, work: Callable[[Connection], Found]) -> Found:
    """Return what *work* makes of one moment of *store*; nothing is written, neither to it nor beside it.

    Raises `StoreUnreadable`, and `crawler.storage.errors.StoreDamaged`.
    """
    with _without_collection():
        return _moment_of(store, work)


@contextmanager
def _without_collection() -> Iterator[None]:
    """Nobody looks for circles of garbage meanwhile: in millions of rows there are none, and looking takes long."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _moment_of(store: Path, work: Callable[[Connection], Found]) -> Found:
    before = _stamp(store)
    if before is not None:
        try:
            found = _read(store, work, access="mode=ro&immutable=1")
        except (StoreUnreadable, StoreDamaged):
            if _stamp(store) == before:
                raise
        else:
            if _stamp(store) == before:
                return found
    try:
        return _read(store, work, access="mode=ro")
    except StoreUnreadable as failure:
        if not _is_unopenable(failure.__cause__):
            raise
    # SQLite can't make its files beside a log that a killed run has left in a folder which nobody may write to.
    with tempfile.TemporaryDirectory(prefix="arkaudit-") as folder:
        copy = Path(folder) / store.name
        for suffix in ("", "-wal"):
            shutil.copyfile(f"{store}{suffix}", f"{copy}{suffix}")
        return _read(copy, work, access="mode=ro", shown_store=store)


def _is_unopenable(problem: BaseException | None) -> bool:
    code = getattr(getattr(problem, "orig", None), "sqlite_errorcode", 0)
    return code & 0xFF in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)


def _stamp(store: Path) -> tuple[int, int] | None:
    """Return what changes when a store at rest is written to; none while somebody may be writing.

    SQLite makes two files beside a store in WAL mode, even to read it, unless it knows that the store can't
    change. We claim so while nobody writes, look afterwards whether that was true, and else read once more.
    """
    if any(Path(f"{store}{suffix}").exists() for suffix in ("-wal", "-journal")) or not store.is_file():
        return None
    status = store.stat()
    return status.st_mtime_ns, status.st_size


def _read(store: Path, work: Callable[[Connection], Found], *, access: str, shown_store: Path | None = None) -> Found:
    with _reading(store, access, shown_store or store) as connection:
        return work(connection)


def _chosen(
    connection: Connection,
    store: Path,
    run_id: int | None,
    since: int | None,
    registry: Registry,
    inventory: pd.DataFrame,
) -> Frames:
    for asked in (run_id, since):
        if asked is not None and not has_run(connection, asked):
            raise StoreUnreadable(f"{store}: has no run {asked}")
    reported = audit_as_it_stands(connection) if run_id is None else run_alone(run_id)
    registered = _registered(registry)
    until = None if reported is None else reported.until
    reported = reported or run_alone(NO_RUN)
    earlier = None if until is None else run_before(connection, reported.run_id)
    return replace(
        _frames(connection, reported, registered, since=since),
        store=store.name,
        is_alone=run_id is not None and has_later_run(connection, run_id),
        previous=None if earlier is None else _compared(connection, earlier, registered, is_all=reported.is_all),
        since=None if since is None else _compared(connection, since, registered, is_all=reported.is_all),
        timeline=timeline(connection, until),
        inventory=with_citations(connection, inventory, until),
        stock=stock(connection, inventory, until),
    )


def _compared(connection: Connection, run_id: int, registered: pd.DataFrame, *, is_all: bool) -> Frames:
    """A run that another is compared with, as it stood then."""
    return _frames(connection, Reported(run_id, run_id, is_all=is_all), registered, is_whole=False)


def _no_rows(selection: Selection) -> pd.DataFrame:
    return _columns(selection).frame()


def _unlisted() -> pd.DataFrame:
    """An inventory without a line, as a report holds one."""
    nothing = pd.array([], dtype="boolean")
    return no_inventory().assign(is_cited=nothing, is_chosen=nothing)


@contextmanager
def _reading(store: Path, access: str, name: Path) -> Iterator[Connection]:
    """A connection that can't write, in one transaction; whatever fails in it becomes `StoreUnreadable`.

    Or `crawler.storage.errors.StoreDamaged`, when the store is ours. Messages call it by its *name*.
    """
    instead = not_a_file(store)
    if instead or not store.is_file():
        raise StoreUnreadable(f"{name}: {f'is {instead}, not a store' if instead else 'there is no such file'}")
    address = f"{store.resolve().as_uri()}?{access}"
    engine = create_engine(
        "sqlite://",
        creator=lambda: _connected(address),
        poolclass=NullPool,
    )
    try:
        with engine.connect() as connection:
            connection.exec_driver_sql("BEGIN")
            _check_format(connection, name)
            require_sound(connection.exec_driver_sql, store)
            yield connection
    except DBAPIError as error:
        if is_ours(store) and is_damage(error.orig):
            if getattr(error.orig, "sqlite_errorcode", None) == sqlite3.SQLITE_ERROR and damage_in(store) is None:
                raise  # the store is sound, so that it was asked wrongly
            raise StoreDamaged(f"{name}: can't be read: {error.orig}") from error
        raise StoreUnreadable(f"{name}: can't be read as a store of arkaudit: {error.orig}") from error
    except (UnknownWord, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise StoreDamaged(f"{name}: holds what this arkaudit can't read: {error}") from error
    finally:
        engine.dispose()


def _connected(address: str) -> sqlite3.Connection:
    connection = sqlite3.connect(address, uri=True, isolation_level=None)
    distrust(connection)
    connection.execute("PRAGMA temp_store=MEMORY")
    return connection


def _check_format(connection: Connection, store: Path) -> None:
    if connection.exec_driver_sql("PRAGMA application_id").scalar_one() != APPLICATION_ID:
        raise StoreUnreadable(f"{store}: is not a store of arkaudit")
    version = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
    if version > SCHEMA_VERSION:
        raise StoreUnreadable(
            f"{store}: was written by a newer arkaudit (its schema is {version}, ours {SCHEMA_VERSION})"
        )
    if version < SCHEMA_VERSION:
        raise StoreUnreadable(
            f"{store}: was written by an older arkaudit (its schema is {version}, ours {SCHEMA_VERSION})"
        )


def _with_citations(mentions: pd.DataFrame) -> pd.DataFrame:
    """*mentions* with the key of the citation that each is a place of: that of the first such mention."""
    first = mentions.groupby(["document_id", "citation"])["mention_id"].transform("min")
    return mentions.assign(citation_id=first.astype("Int64"))


#: What is needed of the citations and questions of a run that another is compared with.
_COMPARED = frozenset(
    {
        *("mention_id", "document_id", "citation", "ark_id", "ark", "naan", "request_url", "repairs", "confidence"),
        *("observation_id", "run_id", "question", "chain_end", "status", "request_count"),
    }
)


def _frames(
    connection: Connection,
    reported: Reported,
    registered: pd.DataFrame,
    *,
    since: int | None = None,
    is_whole: bool = True,
) -> Frames:
    """The frames of what is *reported*; without requests and without what came before where it is not whole."""
    run_id = reported.run_id

    def load(selection: Selection, query: Select[Any]) -> pd.DataFrame:
        return _frame(connection, selection, query)

    counting = kept(connection, "counting", counting_verdicts(reported))
    judged = kept(connection, "judged", select(verdict.c.ark_id).where(verdict.c.verdict_id.in_(counting)))
    requests_run = run_id if is_whole else NO_RUN
    until = reported.until if is_whole else NO_RUN
    asking, citing = (
        {column: dtype for column, dtype in selection.items() if is_whole or column.name in _COMPARED}
        for selection in (OBSERVATIONS, MENTIONS)
    )
    asked = observation.c.run_id == run_id if not is_whole else behind(counting, run_id)
    asks = _rows(asking).join_from(observation, ark).where(asked)
    observations, hops = (
        _with_hops(connection, asking, asks, HOP_OF) if is_whole else (load(asking, asks), _no_hops(HOP_OF))
    )
    _, fetches = _with_hops(connection, FETCHES, _rows(FETCHES).where(document.c.run_id == requests_run), FETCH_OF)
    cited = _rows(citing).join_from(mention, document).join(ark).where(document.c.run_id == run_id)
    verdicts = _rows(VERDICTS).join_from(verdict, ark).join(run, run.c.run_id == verdict.c.run_id)
    lives = _rows(HISTORY).join_from(verdict, run).where(life_of(judged, until))
    good = _rows(LAST_GOOD).join_from(verdict, run).where(last_good_of(counting, until))
    events = (
        _rows(EVENTS)
        .join_from(event, ark)
        .where(happened_since(reported, since) if is_whole else event.c.run_id == NO_RUN)
    )
    runs = _rows(RUN).outerjoin_from(run, assessment)
    return Frames(
        run=load(RUN, runs.where(run.c.run_id == run_id)),
        later=load(RUN, runs.where(later_runs(reported, counting))),
        passed_over=load(RUN, runs.where(passed_over(reported))),
        is_all=reported.is_all,
        documents=load(DOCUMENTS, _rows(DOCUMENTS).where(document.c.run_id == run_id)),
        findings=load(FINDINGS, _rows(FINDINGS).where(finding.c.run_id == run_id)),
        arks=load(ARKS, _rows(ARKS).where(arks_of([cited_arks(run_id), judged, asked_arks(run_id)]))),
        mentions=_with_citations(load(citing, cited.where(is_current_mention))),
        observations=observations,
        hops=hops,
        fetches=fetches,
        tls=load(TLS, _rows(TLS).where(tls_probe.c.run_id == run_id)),
        pauses=load(PAUSES, _rows(PAUSES).where(pause.c.run_id == requests_run)),
        traffic=load(TRAFFIC, _rows(TRAFFIC).where(host_traffic.c.run_id == requests_run)),
        verdicts=load(VERDICTS, verdicts.where(verdict.c.verdict_id.in_(counting))),
        latest=load(LATEST, _rows(LATEST).where(status_in(counting))),
        events=load(EVENTS, events),
        history=load(HISTORY, lives).merge(load(RUNS, _rows(RUNS)), on="run_id", how="left"),
        last_good=_last_good(load(LAST_GOOD, good)),
        registered=registered,
        triage=_triage(treated(connection, counting, run_id, until=reported.until)),
    )


def _triage(decided: Mapping[Pair, Treated]) -> pd.DataFrame:
    """Return what was decided, ordered by ARK and URL; what holds in one document stands behind what holds in all."""
    rows = [
        (*pair, document, *_triage_columns(each), found.is_problem, each.is_silent)
        for pair, found in decided.items()
        for document, each in ((None, found.whole), *found.in_documents.items())
    ]
    return frame_of(TRIAGE, rows)


def _triage_columns(each: TriageState) -> tuple[str | None, ...]:
    until = each.until.isoformat() if each.until else None
    action = PARTICIPLES[each.action] if each.action else None
    return action, each.words or None, each.reason or None, until, each.assignee


def _last_good(rows: pd.DataFrame) -> pd.DataFrame:
    """The last of the good verdicts of each ARK."""
    return rows.drop(columns="verdict_id").drop_duplicates("ark_id", keep="last", ignore_index=True)


def _registered(registry: Registry) -> pd.DataFrame:
    """Return what the registry says of each NAAN and shoulder, ordered by both; of two entries about one the later
    holds.
    """
    rows = {
        (entry.naan, entry.shoulder): (
            entry.organization,
            entry.where,
            next((target.template for target in entry.targets if not target.fault), None),
        )
        for entry in registry.entries
        if entry.naan
    }
    return frame_of(REGISTERED, [(*key, *values) for key, values in sorted(rows.items())])


def _rows(selection: Selection) -> Select[Any]:
    """The query for a selection, ordered by its first column: the order in which the store got its rows.

    JSON is left as the text that it is in the store: most of it is the same few texts over and over.
    """
    columns = (type_coerce(column, Text).label(column.name) if _is_json(column) else column for column in selection)
    return select(*columns).order_by(next(iter(selection)))


def _is_json(column: ColumnElement[Any]) -> bool:
    return isinstance(column.type, JSON)


def _frame(connection: Connection, selection: Selection, query: Select[Any]) -> pd.DataFrame:
    columns = _columns(selection)
    for rows in fetched(connection, query):
        columns.add(rows)
    return columns.frame()


def _columns(selection: Selection) -> Columns:
    dtypes = {column.name: dtype for column, dtype in selection.items()}
    return Columns(dtypes, frozenset(column.name for column in selection if _is_json(column)))


def _with_hops(
    connection: Connection, selection: Selection, query: Select[Any], repeated: Mapping[str, Dtype]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return what a selection gives that ends with hops, and one row a hop, with what it repeats of its owner.

    The hops are taken apart as they come: together they would be the greatest part of all that is in memory.
    """
    owners = _columns({column: dtype for column, dtype in selection.items() if column.name != "hops"})
    hops = Columns(_HOP_DTYPES)
    counts: list[int] = []
    for rows in fetched(connection, query):
        *columns, texts = zip(*rows, strict=True)
        owners.add_columns(columns)
        chains = [content(text) or () for text in texts]
        counts += map(len, chains)
        hops.add_columns(_hop_columns(chains))
    return (found := owners.frame()), _of_owners(found[list(repeated)], hops.frame(), counts)


def _of_owners(owners: pd.DataFrame, hops: pd.DataFrame, counts: Sequence[int]) -> pd.DataFrame:
    """The hops beside their owners, each of which has so many of them."""
    places = np.repeat(np.arange(len(owners)), counts)
    return pd.concat([owners.take(places).reset_index(drop=True), hops], axis="columns")


def _hop_columns(chains: Sequence[Sequence[Mapping[str, Any]]]) -> list[Sequence[Any]]:
    flat = [hop for chain in chains for hop in chain]
    headers = list(zip(*map(_headers, flat), strict=True)) if flat else [()] * len(HOP_HEADERS)
    ordinals = [ordinal for chain in chains for ordinal in range(1, len(chain) + 1)]
    return [ordinals, *([hop.get(name) for hop in flat] for name in HOP), *headers]


_HOP_DTYPES: Mapping[str, Dtype] = {"ordinal": INTEGER, **HOP, **dict.fromkeys(HOP_HEADERS.values(), TEXT)}


def _no_hops(repeated: Mapping[str, Dtype]) -> pd.DataFrame:
    return Columns({**repeated, **_HOP_DTYPES}).frame()


def _headers(hop: Mapping[str, Any]) -> tuple[str | None, ...]:
    """The values of `HOP_HEADERS` in a hop, whatever the case of their names."""
    headers = {name.lower(): value for name, value in (hop.get("headers") or {}).items()}
    return tuple(headers.get(name) for name in HOP_HEADERS)
