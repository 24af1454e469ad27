"""The store: a SQLite file in which observations only grow.

One process writes a store. Everything has a unique key, so that recording a thing twice does no harm; a write is
durable when `Store.record` returns (``synchronous=FULL``).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import uuid4

from filelock import FileLock
from sqlalchemy import (
    URL,
    Connection,
    Table,
    Text,
    and_,
    bindparam,
    cast,
    create_engine,
    delete,
    event,
    func,
    or_,
    select,
    text,
    update,
)
from sqlalchemy.dialects.sqlite import Insert, insert
from sqlalchemy.engine import Engine
from sqlalchemy.exc import DatabaseError
from sqlalchemy.pool import StaticPool

from crawler import schema
from crawler.crawl_requests import CrawlRequest
from crawler.history import latest, triaging
from crawler.history.ark_status import ArkState, StatusPolicy
from crawler.history.news import News, news_of
from crawler.history.rechecking import KnownArk
from crawler.history.triage import TriageDecision
from crawler.history.triaging import Treated
from crawler.mention_rows import (
    DecidedOn,
    KeptMention,
    KeptUnresolvedMention,
    mention_of,
    unresolved_json,
    unresolved_of,
)
from crawler.observations import (
    CitedMention,
    DocumentOutcome,
    DocumentRecord,
    HostTraffic,
    Observation,
    Pause,
    Question,
    TlsResult,
    Verdict,
)
from crawler.resolving import SUCCESSES
from crawler.storage import migrations
from crawler.storage.errors import OlderStore, StoreDamaged, StoreUnopenable, StoreUnwritable
from crawler.storage.files import copy_first, locked, refuse_foreign
from crawler.storage.frontier_rows import DOCUMENTS, SettledEntry, add_requests, settle
from crawler.storage.merging import Merged, merge
from crawler.storage.outlinks import add_outlinks, dead_sources, note_finders
from crawler.storage.scratch import clear_scratch_beside
from crawler.storage.soundness import distrust, is_damage, is_ours
from crawler.storage.stored_rows import ark_values, document_values, observation_in, observation_values, tls_result_in
from extractors.ark import Ark
from extractors.document_model import Finding
from extractors.mentions.mention import STANDS_WHOLE

#: States of a run. One that is running although nobody has its store open has crashed.
RUNNING, FINISHED = "running", "finished"

Recordable = DocumentRecord | Observation | TlsResult | Pause | HostTraffic | SettledEntry
#: Rows that are read at a time: nothing of a run that may be long is taken whole, and no reading lasts long.
_PAGE = 500
#: Documents that could not be read, of which a run is told by name.
_MOST_UNREAD = 100
#: ARKs of which the key is remembered: those that pages close to each other cite.
_ARKS_KNOWN = 8_000

_NEWEST_DOCUMENT = select(func.max(schema.document.c.document_id))
_LATER_DOCUMENTS = select(schema.document.c.document_id, schema.document.c.url).where(
    schema.document.c.document_id > bindparam("newest")
)
_ARK_PARTS = (schema.ark.c.naan, schema.ark.c.name, schema.ark.c.qualifier)
_ARK_IDS = select(schema.ark.c.ark_id, schema.ark.c.ark).where(schema.ark.c.ark.in_(bindparam("arks", expanding=True)))

#: Mentions that may stand for something else, or be spelled otherwise, before what resolvers answer settles that.
_is_open = and_(
    schema.is_asked_mention,
    or_(schema.mention.c.alternatives != [], cast(schema.mention.c.repairs, Text).contains("line wrap")),
)


@dataclass(frozen=True, slots=True)
class Run:
    """A run, as far as it matters to who may go on with it."""

    run_id: int
    command: str
    started_at: str
    state: str
    plan: Mapping[str, Any] | None
    """What decides what it asks; none in a run that nobody can go on with."""

    @property
    def is_finished(self) -> bool:
        """Whether it came to its end."""
        return self.state == FINISHED

    @property
    def is_reported(self) -> bool:
        """Whether nothing is left to say of it: its report is written, and whoever wants its news has them."""
        return self.plan is None or bool(self.plan.get("told", True))


class Store:
    """An open store. Use `Store.open`, and as a context manager."""

    def __init__(self, engine: Engine, path: Path | None, lock: FileLock | None = None) -> None:
        self._engine = engine
        self.path = path
        self._lock = lock
        self._ark_ids: dict[Ark, int] = {}
        self._writer: Connection | None = None
        """Of the transaction that is under way, if one is."""

    @classmethod
    def open(cls, path: Path | None) -> Store:
        """The store at *path*, created if it is not there; None is a store in memory, gone when it is closed.

        It is this process's alone until it is closed or the process ends, however it ends; others may read. An older
        store is brought up to date, after a copy. Raises `StoreUnopenable`, or one of its kinds, and `StoreDamaged`;
        nothing has been written then.
        """
        lock = older = None
        if path is not None:
            older = refuse_foreign(path)
            lock = locked(path)
            clear_scratch_beside(path)
            if older is not None:
                try:
                    copy_first(path, older)
                except OlderStore:
                    lock.release()
                    Path(lock.lock_file).unlink(missing_ok=True)
                    raise
        engine = create_engine(
            URL.create("sqlite", database=str(path.absolute()) if path else None),  # ":memory:" is a name like others
            poolclass=StaticPool,
            connect_args={"check_same_thread": False},
        )
        event.listen(engine, "connect", _set_pragmas)
        store = cls(engine, path, lock)
        try:
            with store._writing() as connection:
                if connection.scalar(text("PRAGMA user_version")) == 0:
                    connection.execute(text(f"PRAGMA application_id={schema.APPLICATION_ID}"))
                    schema.tables.create_all(connection)
                    connection.execute(text(f"PRAGMA user_version={schema.SCHEMA_VERSION}"))
                elif older is not None:
                    connection.exec_driver_sql("BEGIN IMMEDIATE")  # the driver begins none before it changes tables
                    migrations.migrate(connection, older)
        except StoreUnwritable as problem:
            store.close()
            if path is not None and is_damage(getattr(problem.__cause__, "orig", None)) and is_ours(path):
                raise StoreDamaged(str(problem)) from problem
            raise StoreUnopenable(f"the store can't be written: {problem}") from problem
        return store

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; everything recorded is in it."""
        self._engine.dispose()
        if self._lock is not None:
            with suppress(OSError):
                Path(self._lock.lock_file).unlink()  # while it is ours; who waits for it sees that it is gone
            self._lock.release()

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        """One transaction. Raises `StoreUnwritable` when it could not be made durable; nothing of it is there then."""
        try:
            with self._engine.begin() as connection:
                self._writer = connection
                yield connection
        except DatabaseError as problem:
            self._ark_ids.clear()
            raise StoreUnwritable(f"{self.path or 'the store in memory'}: {problem.orig}") from problem
        finally:
            self._writer = None

    def transaction(self) -> AbstractContextManager[Connection]:
        """One transaction, for what keeps tables of its own in the store. Raises `StoreUnwritable` as it ends."""
        return self._writing()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection to read with; what it gives is to be taken whole before anything else is asked of the store.

        Within a transaction it is that transaction's own, for there is but one connection to the file.
        """
        if self._writer is not None:
            yield self._writer
            return
        with self._engine.connect() as connection:
            yield connection

    # -- runs

    def begin_run(
        self,
        *,
        command: str,
        at: str,
        version: str,
        resolver: str,
        user_agent: str,
        seeds: Iterable[str],
        plan: Mapping[str, Any] | None = None,
        uuid: str | None = None,
    ) -> int:
        """A new run; returns its number.

        *plan* is what it must have in common with a command that goes on with it. Its *uuid* names it in every store
        that it is brought into.
        """
        with self._writing() as connection:
            done = connection.execute(
                insert(schema.run).values(
                    command=command,
                    started_at=at,
                    state=RUNNING,
                    version=version,
                    resolver=resolver,
                    user_agent=user_agent,
                    seeds=list(seeds),
                    plan=None if plan is None else dict(plan),
                )
            )
            key = done.inserted_primary_key
            assert key is not None
            run_id = int(key[0])
            connection.execute(insert(schema.provenance).values(run_id=run_id, uuid=uuid or str(uuid4())))
            return run_id

    def set_status_policy(self, policy: StatusPolicy) -> None:
        """Keep the status of ARKs by *policy* from now on; if it was another, all history is read again by it."""
        with self._writing() as connection:
            latest.keep_by(connection, policy)

    def bring_in(self, other: Path, *, at: str) -> Merged:
        """Copy the runs of the store at *other* that are not here yet, all of them or none; it is not written to."""
        with self._engine.connect() as connection:
            connection.exec_driver_sql("ATTACH ? AS other", (str(other),))
        try:
            with self._writing() as connection:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
                return merge(connection, at=at)
        finally:
            with self._engine.connect() as connection:
                connection.exec_driver_sql("DETACH other")

    def runs(self, command: str) -> list[Run]:
        """The runs that a command has made, the newest first."""
        query = select(schema.run).where(schema.run.c.command == command).order_by(schema.run.c.run_id.desc())
        with self.reading() as connection:
            return [
                Run(row.run_id, row.command, row.started_at, row.state, row.plan) for row in connection.execute(query)
            ]

    def go_on_with_run(self, run_id: int) -> None:
        """Note that a run that did not finish is running again."""
        with self._writing() as connection:
            values = {"ended_at": None, "state": RUNNING}
            connection.execute(update(schema.run).where(schema.run.c.run_id == run_id).values(values))

    def end_run(self, run_id: int, *, at: str, state: str) -> None:
        """Note how and when a run ended: ``finished``, ``interrupted`` or ``failed``."""
        with self._writing() as connection:
            connection.execute(update(schema.run).where(schema.run.c.run_id == run_id).values(ended_at=at, state=state))
            latest.note_citations(connection, run_id)

    def note_reported(self, run_id: int) -> None:
        """Note that nothing is left to say of a run that was begun with ``told`` false in its plan."""
        with self._writing() as connection:
            of_run = schema.run.c.run_id == run_id
            plan = connection.scalar(select(schema.run.c.plan).where(of_run))
            if plan is not None:
                connection.execute(update(schema.run).where(of_run).values(plan={**plan, "told": True}))

    def note_finders(self, run_id: int) -> None:
        """Let each document of a run say which of all that link to it has found it, now that all are read."""
        with self._writing() as connection:
            note_finders(connection, run_id)

    # -- what was observed

    def record(self, run_id: int, items: Iterable[Recordable]) -> None:
        """Record all *items* in one transaction, and what they mean for the frontier.

        Those that are there already stay as they are.
        """
        leads: list[CrawlRequest] = []
        settled: list[SettledEntry] = []
        documents: list[DocumentRecord] = []
        observations: list[Observation] = []
        traffic: list[HostTraffic] = []
        with self._writing() as connection:
            for item in items:
                match item:
                    case DocumentRecord():
                        documents += item.rows
                        leads += (crawl_request for row in item.rows for crawl_request in row.leads)
                        settled += (
                            SettledEntry(DOCUMENTS, row.settles, row.listed)
                            for row in item.rows
                            if row.settles is not None
                        )
                    case Observation():
                        observations.append(item)
                    case TlsResult():
                        _add(connection, schema.tls_probe, {"run_id": run_id, **asdict(item)})
                    case Pause():
                        _add(connection, schema.pause, {"run_id": run_id, **asdict(item)})
                    case HostTraffic():
                        traffic.append(item)
                    case SettledEntry():
                        settled.append(item)
            if documents:
                self._record_documents(connection, run_id, documents)
            if observations:
                self._record_observations(connection, run_id, observations)
            if traffic:
                connection.execute(_adding_up(), [{"run_id": run_id, **asdict(each)} for each in traffic])
            add_requests(connection, run_id, DOCUMENTS, leads)
            settle(connection, run_id, settled)

    def record_findings(self, run_id: int, subject: str, findings: Iterable[Finding]) -> None:
        """Record findings that belong to no document, such as a seed that is none."""
        with self._writing() as connection:
            for finding in findings:
                _add(connection, schema.finding, {"run_id": run_id, "subject": subject, **asdict(finding)})

    def record_verdicts(self, run_id: int, verdicts: Iterable[Verdict]) -> None:
        """Record what all observations of a run amount to, in place of what fewer of them did before.

        And what that makes of the status of its ARKs. *verdicts* may read the store as they go, by `reading`.
        """
        with self._writing() as connection:
            connection.exec_driver_sql("PRAGMA defer_foreign_keys=ON")  # of `latest`, which is made again below
            connection.execute(delete(schema.verdict).where(schema.verdict.c.run_id == run_id))
            of_run = iter(verdicts)
            while some := list(islice(of_run, _PAGE)):
                self._learn_ark_ids(connection, list(dict.fromkeys(verdict.ark for verdict in some)))
                rows = [self._verdict_values(connection, run_id, verdict) for verdict in some]
                connection.execute(_replacing_verdict(), rows)
            latest.note_verdicts(connection, run_id)

    def _record_documents(self, connection: Connection, run_id: int, documents: Sequence[DocumentRecord]) -> None:
        """Record those that are not there yet, with what belongs to them: a statement a table, not a row."""
        newest = connection.scalar(_NEWEST_DOCUMENT) or 0
        connection.execute(_adding(schema.document), [document_values(run_id, document) for document in documents])
        added = {row.url: row.document_id for row in connection.execute(_LATER_DOCUMENTS, {"newest": newest})}
        cited = (each.mention.ark for document in documents for each in document.mentions)
        self._learn_ark_ids(connection, list(dict.fromkeys(cited)))
        findings: list[dict[str, Any]] = []
        mentions: list[dict[str, Any]] = []
        linking: list[tuple[int, DocumentRecord]] = []
        for document in documents:
            key = added.pop(document.url, None)
            if key is None:
                continue
            linking.append((key, document))
            of_document = {"run_id": run_id, "document_id": key, "subject": document.url}
            findings += ({**of_document, "kind": each.kind, "detail": each.detail} for each in document.findings)
            mentions += (
                self._mention_values(connection, key, ordinal, DecidedOn.READ, each)
                for ordinal, each in enumerate(document.mentions, start=1)
            )
        if findings:
            connection.execute(_adding(schema.finding), findings)
        if mentions:
            connection.execute(insert(schema.mention), mentions)
        add_outlinks(connection, run_id, linking)

    def _learn_ark_ids(self, connection: Connection, arks: Sequence[Ark]) -> None:
        """Record *arks* that are not there yet, and remember the keys of all; `_ark_id` knows them then."""
        unknown = [ark for ark in arks if ark not in self._ark_ids]
        if not unknown:
            return
        if len(self._ark_ids) >= _ARKS_KNOWN:
            self._ark_ids.clear()
            unknown = list(arks)
        connection.execute(_adding(schema.ark), [ark_values(ark) for ark in unknown])
        for start in range(0, len(unknown), _PAGE):
            by_text = {str(ark): ark for ark in unknown[start : start + _PAGE]}
            for row in connection.execute(_ARK_IDS, {"arks": list(by_text)}):
                self._ark_ids[by_text[row.ark]] = row.ark_id

    def _mention_values(
        self, connection: Connection, document_id: int, ordinal: int, decided: DecidedOn, cited: CitedMention
    ) -> dict[str, Any]:
        mention = cited.mention
        return {
            "document_id": document_id,
            "ordinal": ordinal,
            "decided": decided.value,
            "citation": mention.citation,
            "ark_id": self._ark_id(connection, mention.ark),
            "as_written": mention.as_written,
            "repaired": mention.repaired,
            "request_url": cited.request_url,
            "resolver": mention.resolver,
            "inflection": mention.inflection,
            "fragment": mention.fragment,
            "role": mention.role.value,
            "page": mention.page,
            "place": mention.place,
            "spans": [list(span) for span in mention.spans],
            "context": mention.context,
            "repairs": list(mention.repairs),
            "confidence": mention.confidence.token,
            "reason": mention.reason,
            "alternatives": list(mention.alternatives),
            "remarks": [remark.value for remark in mention.remarks],
            "doubt": unresolved_json(cited.unresolved) if cited.unresolved is not None else None,
        }

    def _record_observations(self, connection: Connection, run_id: int, observations: Sequence[Observation]) -> None:
        """Record those that are not there yet: a statement for all."""
        self._learn_ark_ids(connection, list(dict.fromkeys(seen.ark for seen in observations)))
        rows = [observation_values(run_id, self._ark_id(connection, seen.ark), seen) for seen in observations]
        connection.execute(_adding(schema.observation), rows)

    def _verdict_values(self, connection: Connection, run_id: int, verdict: Verdict) -> dict[str, Any]:
        return {
            "run_id": run_id,
            "ark_id": self._ark_id(connection, verdict.ark),
            "request_url": verdict.request_url,
            "object": verdict.object.outcome.value,
            "object_evidence": list(verdict.object.evidence),
            "metadata": verdict.metadata.outcome.value,
            "metadata_evidence": list(verdict.metadata.evidence),
            "metadata_parsed": dict(verdict.metadata.parsed),
            "commitment": verdict.commitment.outcome.value,
            "commitment_evidence": list(verdict.commitment.evidence),
            "commitment_parsed": dict(verdict.commitment.parsed),
            "final_url": verdict.final_url,
            "hop_count": max(len(verdict.hops) - 1, 0),
            "request_count": verdict.requests,
            "remarks": list(verdict.remarks),
            "rests_on": list(verdict.rests_on),
            "did_you_mean": verdict.did_you_mean.json if verdict.did_you_mean else None,
            "naan_policy": dict(verdict.naan_policy),
        }

    def _ark_id(self, connection: Connection, ark: Ark) -> int:
        known = self._ark_ids.get(ark)
        if known is not None:
            return known
        _add(connection, schema.ark, ark_values(ark))
        found = connection.scalar(select(schema.ark.c.ark_id).where(schema.ark.c.ark == str(ark)))
        assert found is not None
        if len(self._ark_ids) >= _ARKS_KNOWN:
            self._ark_ids.clear()
        self._ark_ids[ark] = found
        return int(found)

    # -- what is there

    def cited_arks(self, run_id: int, *, as_asked: bool = False) -> list[tuple[Ark, str]]:
        """Each ARK and URL to ask that the documents of a run cite, once, in the order of first citation.

        With *as_asked*, as they were cited before answers settled what was doubtful: a run that is gone on with after
        that asks for nothing else.
        """
        first = func.min(schema.mention.c.mention_id)
        which = schema.is_asked_mention if as_asked else schema.is_current_mention
        query = (
            select(*_ARK_PARTS, schema.mention.c.request_url)
            .join_from(schema.mention, schema.ark)
            .join(schema.document, schema.document.c.document_id == schema.mention.c.document_id)
            .where(schema.document.c.run_id == run_id, which)
            .group_by(schema.ark.c.ark_id, schema.mention.c.request_url)
            .order_by(first)
        )
        with self._engine.connect() as connection:
            return [(Ark(row.naan, row.name, row.qualifier), row.request_url) for row in connection.execute(query)]

    def arks_cited(self, run_id: int) -> Iterator[Ark]:
        """The ARKs that the documents of a run cite, before answers settle anything, each once; to be taken whole."""
        query = (
            select(*_ARK_PARTS)
            .join_from(schema.mention, schema.ark)
            .join(schema.document, schema.document.c.document_id == schema.mention.c.document_id)
            .where(schema.document.c.run_id == run_id, schema.is_asked_mention)
            .group_by(schema.ark.c.ark_id)
            .order_by(schema.ark.c.ark_id)
        )
        with self.reading() as connection:
            for row in connection.execution_options(yield_per=_PAGE).execute(query):
                yield Ark(row.naan, row.name, row.qualifier)

    def whole_arks(self, run_id: int) -> list[Ark]:
        """The ARKs that stand whole somewhere in the documents of a run, in order."""
        query = (
            select(*_ARK_PARTS)
            .join_from(schema.mention, schema.ark)
            .join(schema.document, schema.document.c.document_id == schema.mention.c.document_id)
            .where(schema.document.c.run_id == run_id, schema.mention.c.reason == STANDS_WHOLE)
            .distinct()
            .order_by(schema.ark.c.ark)
        )
        with self._engine.connect() as connection:
            return [Ark(row.naan, row.name, row.qualifier) for row in connection.execute(query)]

    def unresolved_mentions(self, run_id: int) -> Iterator[KeptUnresolvedMention]:
        """The mentions of a run that were not certain when their document was read, in the order of the documents."""
        mention, document = schema.mention, schema.document
        query = (
            select(mention, *_ARK_PARTS)
            .join_from(mention, schema.ark)
            .join(document, document.c.document_id == mention.c.document_id)
            .where(
                document.c.run_id == run_id,
                mention.c.doubt.is_not(None),
                mention.c.decided == DecidedOn.READ.value,
            )
            .order_by(mention.c.mention_id)
        )
        with self._engine.connect() as connection:
            for row in connection.execute(query):
                yield KeptUnresolvedMention(
                    row.document_id, row.ordinal, row.request_url, mention_of(row), unresolved_of(row.doubt)
                )

    def open_mentions(self, run_id: int) -> Iterator[KeptMention]:
        """The mentions of a run that may stand for something else, in the order of the documents.

        They are as decided before any answer: what answers have settled changes nothing here.
        """
        mention, document = schema.mention, schema.document
        query = (
            select(mention, *_ARK_PARTS)
            .join_from(mention, schema.ark)
            .join(document, document.c.document_id == mention.c.document_id)
            .where(document.c.run_id == run_id, _is_open)
            .order_by(mention.c.mention_id)
        )
        with self._engine.connect() as connection:
            for row in connection.execute(query):
                yield KeptMention(row.document_id, row.ordinal, row.request_url, mention_of(row))

    def record_decisions(self, decisions: Iterable[tuple[KeptMention, CitedMention]], on: DecidedOn) -> int:
        """Keep mentions that were decided again, each beside the rows of its earlier readings; twice does no harm.

        Returns how many were not known yet.
        """
        new = 0
        with self._writing() as connection:
            for first, cited in decisions:
                values = self._mention_values(connection, first.document_id, first.ordinal, on, cited)
                new += connection.execute(insert(schema.mention).values(values).on_conflict_do_nothing()).rowcount
        return new

    def observations(self, run_id: int, questions: Collection[Question] = ()) -> Iterator[Observation]:
        """Every observation of a run, in the order in which they were made; a page at a time.

        Only those of some *questions*, if there are any.
        """
        seen = schema.observation
        query = (
            select(seen, *_ARK_PARTS)
            .join_from(seen, schema.ark)
            .where(seen.c.run_id + 0 == run_id, seen.c.observation_id > bindparam("last"))  # + 0: not by that index
            .order_by(seen.c.observation_id)
            .limit(_PAGE)
        )
        if questions:
            query = query.where(seen.c.question.in_([question.value for question in questions]))
        with self.reading() as connection:
            first = connection.scalar(select(func.min(seen.c.observation_id)).where(seen.c.run_id == run_id))
        last = (first or 1) - 1
        while first is not None:
            with self.reading() as connection:
                rows = connection.execute(query, {"last": last}).all()
            if not rows:
                return
            last = rows[-1].observation_id
            yield from map(observation_in, rows)

    def observations_about(self, run_id: int, request_urls: Sequence[str]) -> Iterator[Observation]:
        """What a run observed for these URLs of object questions; in the order in which they were made for each."""
        seen = schema.observation
        query = (
            select(seen, *_ARK_PARTS)
            .join_from(seen, schema.ark)
            .where(seen.c.run_id == run_id, seen.c.request_url.in_(bindparam("urls", expanding=True)))
            .order_by(seen.c.observation_id)
        )
        for start in range(0, len(request_urls), _PAGE):
            with self.reading() as connection:
                rows = connection.execute(query, {"urls": list(request_urls[start : start + _PAGE])}).all()
            yield from map(observation_in, rows)

    def landings(self, run_id: int) -> Mapping[str, str]:
        """Where redirects have led to a success, by the URL of the object question; of several attempts the last."""
        seen = schema.observation.c
        query = (
            select(seen.request_url, seen.status, seen.hop_count, seen.final_url)
            .where(seen.run_id == run_id, seen.question == Question.OBJECT.value)
            .order_by(seen.request_url, seen.attempt)
        )
        found: dict[str, str] = {}
        with self.reading() as connection:
            for row in connection.execute(query):
                found.pop(row.request_url, None)
                if row.hop_count and row.status in SUCCESSES:
                    found[row.request_url] = row.final_url
        return found

    def observations_at(
        self, run_id: int, request_url: str, question: Question | None = None, attempt: int | None = None
    ) -> list[Observation]:
        """What a run observed for one URL of an object question, by attempts; or the one answer to one of these."""
        seen = schema.observation
        query = (
            select(seen, *_ARK_PARTS)
            .join_from(seen, schema.ark)
            .where(seen.c.run_id == run_id, seen.c.request_url == request_url)
            .order_by(seen.c.attempt, seen.c.observation_id)
        )
        if question is not None:
            query = query.where(seen.c.question == question.value, seen.c.attempt == attempt)
        with self.reading() as connection:
            return [observation_in(row) for row in connection.execute(query)]

    def known_arks(self) -> Iterator[KnownArk]:
        """Every ARK at every URL that was ever cited or checked, with its status; in the order of the store."""
        with self._engine.connect() as connection:
            yield from latest.known_arks(connection)

    def run_ids(self) -> list[int]:
        """The runs, in the order in which they began."""
        query = select(schema.run.c.run_id).order_by(schema.run.c.started_at, schema.run.c.run_id)
        with self._engine.connect() as connection:
            return list(connection.scalars(query))

    def decisions(self) -> list[TriageDecision]:
        """What people have decided about known problems."""
        with self._engine.connect() as connection:
            return triaging.decisions(connection)

    def decide(self, decisions: Iterable[TriageDecision]) -> None:
        """Keep decisions, each in place of an earlier one of its kind about the same."""
        with self._writing() as connection:
            triaging.keep(connection, decisions)

    def decide_by_file(self, decisions: Iterable[TriageDecision], *, at: datetime) -> tuple[int, int]:
        """Make the decisions of a file that was read *at* a moment these; returns how many are new, how many gone."""
        with self._writing() as connection:
            return triaging.keep_file(connection, decisions, at=at)

    def forget_decisions(self, decisions: Iterable[TriageDecision]) -> None:
        """Take decisions back."""
        with self._writing() as connection:
            for decision in decisions:
                triaging.forget(connection, decision.key)

    def touched_by(self, decisions: Sequence[TriageDecision]) -> list[tuple[str, str, ArkState]]:
        """The ARKs, URLs and states that *decisions* are about, in the order of the store."""
        with self._engine.connect() as connection:
            touched = triaging.touched(connection, decisions)
            return [(row.ark, row.request_url, ArkState(row.state)) for row, _ in touched]

    def treated(self, run_id: int) -> dict[tuple[str, str], Treated]:
        """What was decided of the ARKs that a run has judged, by ARK and URL; those with a decision alone."""
        verdict, ark = schema.verdict, schema.ark
        with self._engine.connect() as connection:
            judged = select(verdict.c.verdict_id).where(verdict.c.run_id == run_id)
            found = triaging.treated(connection, judged, run_id)
            if not found:
                return {}
            names = {row.ark_id: row.ark for row in connection.execute(select(ark.c.ark_id, ark.c.ark))}
            return {(names[ark_id], url): each for (ark_id, url), each in found.items()}

    def news(self, run_id: int) -> News:
        """What a run that has ended has changed."""
        with self._engine.connect() as connection:
            return news_of(connection, run_id)

    def tls_results(self, run_id: int) -> Iterator[TlsResult]:
        """What was seen of the certificates of a run's hosts."""
        query = select(schema.tls_probe).where(schema.tls_probe.c.run_id == run_id)
        with self._engine.connect() as connection:
            for row in connection.execute(query):
                yield tls_result_in(row)

    def tls_result_of_day(self, host: str, port: int, *, day: str, means: str) -> TlsResult | None:
        """What a handshake with a host told on a *day* (ISO 8601, UTC) in any run, by these *means*, if one did."""
        probe = schema.tls_probe.c
        query = (
            select(schema.tls_probe)
            .where(probe.host == host, probe.port == port, probe.means == means, probe.trusted.is_not(None))
            .where(probe.at.startswith(day))
            .order_by(probe.at.desc())
            .limit(1)
        )
        with self._engine.connect() as connection:
            row = connection.execute(query).first()
            return None if row is None else tls_result_in(row)

    def counts(self, run_id: int) -> Mapping[str, int]:
        """How many documents and mentions a run has, how many documents were read, and how many only led to others."""
        document, mention = schema.document, schema.mention
        with self._engine.connect() as connection:
            of_run = select(document.c.document_id).where(document.c.run_id == run_id)
            by_outcome = select(document.c.outcome, func.count()).where(document.c.run_id == run_id)
            outcomes = {outcome: int(count) for outcome, count in connection.execute(by_outcome.group_by("outcome"))}
            return {
                "documents": sum(outcomes.values()),
                "read": outcomes.get(DocumentOutcome.READ, 0),
                "redirected": outcomes.get(DocumentOutcome.REDIRECTED, 0),
                "mentions": connection.scalar(
                    select(func.count())
                    .select_from(mention)
                    .where(mention.c.document_id.in_(of_run), schema.is_current_mention)
                )
                or 0,
            }

    def dead_sources(self, run_id: int) -> list[str]:
        """The seeds of a run that are sources, and of which none of the documents that they list could be read."""
        with self._engine.connect() as connection:
            return [source.url for source in dead_sources(connection, run_id)]

    def has_read_seed(self, run_id: int) -> bool:
        """Whether anything was read of what the user has named: more than lists of documents that are all dead."""
        read = self.counts(run_id)["read"]
        with self._engine.connect() as connection:
            return read > len({part for source in dead_sources(connection, run_id) for part in source.parts})

    def unread(self, run_id: int) -> list[str]:
        """The documents of a run that could not be had or read, in order, each with its outcome."""
        document = schema.document
        good = [DocumentOutcome.READ.value, DocumentOutcome.REDIRECTED.value]
        query = select(document.c.url, document.c.outcome, document.c.status)
        query = query.where(document.c.run_id == run_id, document.c.outcome.not_in(good))
        with self._engine.connect() as connection:
            rows = connection.execute(query.order_by(document.c.document_id).limit(_MOST_UNREAD)).all()
        return [f"{row.url} ({row.status if (row.status or 0) >= 400 else row.outcome})" for row in rows]


def bring_up_to_date(path: Path) -> None:
    """Bring a store of an older schema up to date, after a copy; any other file is not touched.

    For those who only read. Raises `StoreUnopenable`.
    """
    if migrations.seems_older(path):
        Store.open(path).close()


def _set_pragmas(connection: sqlite3.Connection, _: object) -> None:
    distrust(connection)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")


def _add(connection: Connection, table: Table, values: Mapping[str, Any]) -> int | None:
    """Insert a row; returns its key, or None when one with the same unique key is there."""
    done = connection.execute(_adding(table), values)
    key = done.inserted_primary_key
    return int(key[0]) if done.rowcount and key else None


@cache
def _adding(table: Table) -> Insert:
    """The statement that adds a row; made once, for making it costs more than running it."""
    return insert(table).on_conflict_do_nothing()


@cache
def _adding_up() -> Insert:
    """The statement that counts what went to a host together with what went there before in the run."""
    known = schema.host_traffic.c
    new = insert(schema.host_traffic)
    added = {"requests": known.requests + new.excluded.requests, "failures": known.failures + new.excluded.failures}
    latest = {name: new.excluded[name] for name in ("interval_s", "crawl_delay_s", "given_up")}
    return new.on_conflict_do_update(index_elements=["run_id", "host"], set_={**added, **latest})


@cache
def _replacing_verdict() -> Insert:
    """The statement that records a verdict, in place of an earlier one about the same."""
    new = insert(schema.verdict)
    told = {column.name: new.excluded[column.name] for column in schema.verdict.c if not column.primary_key}
    return new.on_conflict_do_update(index_elements=["run_id", "request_url"], set_=told)
