"""The store: a SQLite file in which observations only grow.

One process writes a store. Everything has a unique key, so that recording a thing twice does no harm; a write is
durable when `Store.record` returns (``synchronous=FULL``).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any
from uuid import uuid4

from sqlalchemy import URL, Connection, create_engine, event, func, select, text, update
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.engine import Engine, Row
from sqlalchemy.exc import DatabaseError
from sqlalchemy.pool import StaticPool

from crawler import migrations, schema
from crawler.history import latest
from crawler.history.news import News, news_of
from crawler.history.standing import Policy
from crawler.mention_rows import DoubtfulMention, doubt_json, doubt_of, mention_of
from crawler.merging import Merged, merge
from crawler.observations import (
    ChainEnd,
    CitedMention,
    DocumentRecord,
    Hop,
    Observation,
    PageFacts,
    Question,
    TlsResult,
    Verdict,
)
from crawler.rechecking import Known
from extractors.ark import Ark
from extractors.documents import Finding
from extractors.mentions.mention import STANDS_WHOLE

Recordable = DocumentRecord | Observation | TlsResult


class StoreError(Exception):
    """The root of what can be wrong with a store."""


class StoreUnopenable(StoreError):
    """Raised by `Store.open` when there can be no store at that path; nothing has been touched."""


class NotOurStore(StoreUnopenable):
    """Raised on opening a file that is no store of ours."""


class NewerStore(StoreUnopenable):
    """Raised on opening a store that a newer version wrote."""


class OlderStore(StoreUnopenable):
    """Raised on opening a store that is too old to be brought up to date, or of which no copy can be made first."""


class StoreUnwritable(StoreError):
    """Raised when an open store can't be written any more, as when the disk is full; what it has, it keeps."""


class Store:
    """An open store. Use `Store.open`, and as a context manager."""

    def __init__(self, engine: Engine, path: Path | None) -> None:
        self._engine = engine
        self.path = path
        self._ark_ids: dict[Ark, int] = {}

    @classmethod
    def open(cls, path: Path | None) -> Store:
        """The store at *path*, created if it is not there; None is a store in memory, gone when it is closed.

        An older store is brought up to date, after a copy. Raises `StoreUnopenable`, or one of its kinds; nothing has
        been written then.
        """
        older = _refuse_foreign(path) if path is not None else None
        if path is not None and older is not None:
            _copy_first(path, older)
        engine = create_engine(
            URL.create("sqlite", database=str(path) if path else None),
            poolclass=StaticPool,
            connect_args={"check_same_thread": False},
        )
        event.listen(engine, "connect", _set_pragmas)
        store = cls(engine, path)
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
            raise StoreUnopenable(f"the store can't be written: {problem}") from problem
        return store

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; everything recorded is in it."""
        self._engine.dispose()

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        """One transaction. Raises `StoreUnwritable` when it could not be made durable; nothing of it is there then."""
        try:
            with self._engine.begin() as connection:
                yield connection
        except DatabaseError as problem:
            self._ark_ids.clear()
            raise StoreUnwritable(f"{self.path or 'the store in memory'}: {problem.orig}") from problem

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
        uuid: str | None = None,
    ) -> int:
        """A new run; returns its number. Its *uuid* names it in every store that it is brought into."""
        with self._writing() as connection:
            done = connection.execute(
                insert(schema.run).values(
                    command=command,
                    started_at=at,
                    state="running",
                    version=version,
                    resolver=resolver,
                    user_agent=user_agent,
                    seeds=list(seeds),
                )
            )
            key = done.inserted_primary_key
            assert key is not None
            run_id = int(key[0])
            connection.execute(insert(schema.provenance).values(run_id=run_id, uuid=uuid or str(uuid4())))
            return run_id

    def keep_standing_by(self, policy: Policy) -> None:
        """Keep the standing of ARKs by *policy* from now on; if it was another, all history is read again by it."""
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

    def end_run(self, run_id: int, *, at: str, state: str) -> None:
        """Note how and when a run ended: ``finished``, ``interrupted`` or ``failed``."""
        with self._writing() as connection:
            connection.execute(update(schema.run).where(schema.run.c.run_id == run_id).values(ended_at=at, state=state))
            latest.note_citations(connection, run_id)

    # -- what was observed

    def record(self, run_id: int, items: Iterable[Recordable]) -> None:
        """Record all *items* in one transaction; those that are there already stay as they are."""
        with self._writing() as connection:
            for item in items:
                match item:
                    case DocumentRecord():
                        self._record_document(connection, run_id, item)
                    case Observation():
                        self._record_observation(connection, run_id, item)
                    case TlsResult():
                        _add(connection, schema.tls_probe, {"run_id": run_id, **asdict(item)})

    def record_findings(self, run_id: int, subject: str, findings: Iterable[Finding]) -> None:
        """Record findings that belong to no document, such as a seed that is none."""
        with self._writing() as connection:
            for finding in findings:
                _add(connection, schema.finding, {"run_id": run_id, "subject": subject, **asdict(finding)})

    def record_verdicts(self, run_id: int, verdicts: Iterable[Verdict]) -> None:
        """Record what the observations of a run amount to, and what that makes of the standing of its ARKs.

        A verdict that is there is replaced.
        """
        with self._writing() as connection:
            for verdict in verdicts:
                values = self._verdict_values(connection, run_id, verdict)
                connection.execute(
                    insert(schema.verdict)
                    .values(values)
                    .on_conflict_do_update(index_elements=["run_id", "request_url"], set_=values)
                )
            latest.note_verdicts(connection, run_id)

    def _record_document(self, connection: Connection, run_id: int, document: DocumentRecord) -> None:
        added = _add(
            connection,
            schema.document,
            {
                "run_id": run_id,
                "url": document.url,
                "found_on": document.found_on,
                "fetched_at": document.fetched_at,
                "outcome": document.outcome,
                "status": document.status,
                "final_url": document.final_url,
                "media_type": document.media_type,
                "title": document.title,
                "body_bytes": document.body_bytes,
                "body_sha256": document.body_sha256,
                "hops": [_hop_json(hop) for hop in document.hops],
            },
        )
        if added is None:
            return
        for finding in document.findings:
            _add(
                connection,
                schema.finding,
                {"run_id": run_id, "document_id": added, "subject": document.url, **asdict(finding)},
            )
        rows = [
            self._mention_values(connection, added, ordinal, 1, cited)
            for ordinal, cited in enumerate(document.mentions, start=1)
        ]
        if rows:
            connection.execute(insert(schema.mention), rows)

    def _mention_values(
        self, connection: Connection, document_id: int, ordinal: int, decided: int, cited: CitedMention
    ) -> dict[str, Any]:
        mention = cited.mention
        return {
            "document_id": document_id,
            "ordinal": ordinal,
            "decided": decided,
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
            "doubt": doubt_json(cited.doubt) if cited.doubt is not None else None,
        }

    def _record_observation(self, connection: Connection, run_id: int, seen: Observation) -> None:
        _add(
            connection,
            schema.observation,
            {
                "run_id": run_id,
                "ark_id": self._ark_id(connection, Ark.parse(seen.ark)),
                "request_url": seen.request_url,
                "question": seen.question.value,
                "attempt": seen.attempt,
                "asked_url": seen.asked_url,
                "at": seen.at,
                "chain_end": seen.end.value,
                "detail": seen.detail,
                "status": seen.status,
                "final_url": seen.final_url,
                "hop_count": max(len(seen.hops) - 1, 0),
                "hops": [_hop_json(hop) for hop in seen.hops],
                "media_type": seen.media_type,
                "title": seen.title,
                "text": seen.text,
                "body_bytes": seen.body_bytes,
                "body_sha256": seen.body_sha256,
                "body_complete": seen.body_complete,
                "record": seen.record,
                "similarity": seen.similarity,
                "facts": _facts_json(seen.facts),
                "remarks": list(seen.remarks),
            },
        )

    def _verdict_values(self, connection: Connection, run_id: int, verdict: Verdict) -> dict[str, Any]:
        return {
            "run_id": run_id,
            "ark_id": self._ark_id(connection, Ark.parse(verdict.ark)),
            "request_url": verdict.request_url,
            "object": verdict.object.outcome,
            "object_evidence": list(verdict.object.evidence),
            "metadata": verdict.metadata.outcome,
            "metadata_evidence": list(verdict.metadata.evidence),
            "metadata_parsed": dict(verdict.metadata.parsed),
            "commitment": verdict.commitment.outcome,
            "commitment_evidence": list(verdict.commitment.evidence),
            "commitment_parsed": dict(verdict.commitment.parsed),
            "final_url": verdict.final_url,
            "hop_count": max(len(verdict.hops) - 1, 0),
            "request_count": verdict.requests,
            "remarks": list(verdict.remarks),
        }

    def _ark_id(self, connection: Connection, ark: Ark) -> int:
        known = self._ark_ids.get(ark)
        if known is not None:
            return known
        values = {
            "ark": str(ark),
            "naan": ark.naan,
            "shoulder": ark.shoulder,
            "name": ark.name,
            "qualifier": ark.qualifier,
        }
        _add(connection, schema.ark, values)
        found = connection.scalar(select(schema.ark.c.ark_id).where(schema.ark.c.ark == str(ark)))
        assert found is not None
        self._ark_ids[ark] = found
        return int(found)

    # -- what is there

    def cited_arks(self, run_id: int) -> list[tuple[Ark, str]]:
        """Each ARK and URL to ask that the documents of a run cite, once, in the order of first citation."""
        first = func.min(schema.mention.c.mention_id)
        query = (
            select(schema.ark.c.naan, schema.ark.c.name, schema.ark.c.qualifier, schema.mention.c.request_url)
            .join_from(schema.mention, schema.ark)
            .join(schema.document, schema.document.c.document_id == schema.mention.c.document_id)
            .where(schema.document.c.run_id == run_id, schema.is_current_mention)
            .group_by(schema.ark.c.ark_id, schema.mention.c.request_url)
            .order_by(first)
        )
        with self._engine.connect() as connection:
            return [(Ark(row.naan, row.name, row.qualifier), row.request_url) for row in connection.execute(query)]

    def readings(self, run_id: int) -> dict[str, list[Ark]]:
        """What else the doubtful mentions of a run may stand for, by the URL that asks for the likeliest reading."""
        mention, document = schema.mention, schema.document
        query = (
            select(mention.c.request_url, mention.c.alternatives)
            .join(document, document.c.document_id == mention.c.document_id)
            .where(document.c.run_id == run_id, schema.is_current_mention, mention.c.alternatives != [])
            .order_by(mention.c.mention_id)
        )
        found: dict[str, dict[Ark, None]] = {}
        with self._engine.connect() as connection:
            for row in connection.execute(query):
                found.setdefault(row.request_url, {}).update(dict.fromkeys(map(Ark.parse, row.alternatives)))
        return {url: list(arks) for url, arks in found.items()}

    def whole_arks(self, run_id: int) -> list[Ark]:
        """The ARKs that stand whole somewhere in the documents of a run, in order."""
        query = (
            select(schema.ark.c.naan, schema.ark.c.name, schema.ark.c.qualifier)
            .join_from(schema.mention, schema.ark)
            .join(schema.document, schema.document.c.document_id == schema.mention.c.document_id)
            .where(schema.document.c.run_id == run_id, schema.mention.c.reason == STANDS_WHOLE)
            .distinct()
            .order_by(schema.ark.c.ark)
        )
        with self._engine.connect() as connection:
            return [Ark(row.naan, row.name, row.qualifier) for row in connection.execute(query)]

    def doubtful_mentions(self, run_id: int) -> Iterator[DoubtfulMention]:
        """The mentions of a run that were not certain when their document was read, in the order of the documents."""
        mention, document = schema.mention, schema.document
        query = (
            select(mention, schema.ark.c.naan, schema.ark.c.name, schema.ark.c.qualifier)
            .join_from(mention, schema.ark)
            .join(document, document.c.document_id == mention.c.document_id)
            .where(document.c.run_id == run_id, mention.c.doubt.is_not(None), mention.c.decided == 1)
            .order_by(mention.c.mention_id)
        )
        with self._engine.connect() as connection:
            for row in connection.execute(query):
                yield DoubtfulMention(
                    row.document_id, row.ordinal, row.request_url, mention_of(row), doubt_of(row.doubt)
                )

    def record_decisions(self, decided: Iterable[tuple[DoubtfulMention, CitedMention]]) -> None:
        """Keep mentions that were decided again, each beside the row of its first reading; twice does no harm."""
        with self._writing() as connection:
            for first, cited in decided:
                values = self._mention_values(connection, first.document_id, first.ordinal, 2, cited)
                connection.execute(insert(schema.mention).values(values).on_conflict_do_nothing())

    def observations(self, run_id: int) -> Iterator[Observation]:
        """Every observation of a run, in the order in which they were made."""
        query = (
            select(schema.observation, schema.ark.c.ark)
            .join_from(schema.observation, schema.ark)
            .where(schema.observation.c.run_id == run_id)
            .order_by(schema.observation.c.observation_id)
        )
        with self._engine.connect() as connection:
            yield from (_observation(row) for row in connection.execute(query))

    def known_arks(self) -> Iterator[Known]:
        """Every ARK at every URL that was ever cited or checked, with its standing; in the order of the store."""
        with self._engine.connect() as connection:
            yield from latest.known_arks(connection)

    def run_ids(self) -> list[int]:
        """The runs, in the order in which they began."""
        query = select(schema.run.c.run_id).order_by(schema.run.c.started_at, schema.run.c.run_id)
        with self._engine.connect() as connection:
            return list(connection.scalars(query))

    def news(self, run_id: int) -> News:
        """What a run that has ended has changed."""
        with self._engine.connect() as connection:
            return news_of(connection, run_id)

    def tls_results(self, run_id: int) -> Iterator[TlsResult]:
        """What was seen of the certificates of a run's hosts."""
        query = select(schema.tls_probe).where(schema.tls_probe.c.run_id == run_id)
        with self._engine.connect() as connection:
            for row in connection.execute(query):
                yield TlsResult(row.host, row.port, row.trusted, row.reason, row.at)

    def counts(self, run_id: int) -> Mapping[str, int]:
        """How many documents and mentions a run has, and how many documents were read."""
        document, mention = schema.document, schema.mention
        with self._engine.connect() as connection:
            of_run = select(document.c.document_id).where(document.c.run_id == run_id)
            return {
                "documents": connection.scalar(select(func.count()).select_from(of_run.subquery())) or 0,
                "read": connection.scalar(
                    select(func.count()).select_from(of_run.where(document.c.outcome == "read").subquery())
                )
                or 0,
                "mentions": connection.scalar(
                    select(func.count())
                    .select_from(mention)
                    .where(mention.c.document_id.in_(of_run), schema.is_current_mention)
                )
                or 0,
            }


def bring_up_to_date(path: Path) -> None:
    """Bring a store of an older schema up to date, after a copy; any other file is not touched.

    For those who only read. Raises `StoreUnopenable`.
    """
    if migrations.seems_older(path):
        Store.open(path).close()


def _copy_first(path: Path, version: int) -> None:
    try:
        migrations.copy_of(path, version)
    except migrations.NotCopied as problem:
        raise OlderStore(
            f"{path} is of an older arkaudit (schema {version}), and was left as it is: {problem}"
        ) from None


def _refuse_foreign(path: Path) -> int | None:
    """Look at a file before SQLite may write to it; returns its schema where that is an older one."""
    if path.is_dir():
        raise StoreUnopenable(f"{path} is a folder, not a store")
    if not path.exists():
        if not path.parent.is_dir():
            raise StoreUnopenable(f"there is no folder {path.parent} to keep {path.name} in")
        return None
    if not path.is_file():
        raise NotOurStore(f"{path} is not a file")
    if path.stat().st_size == 0:
        return None
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        try:
            application = connection.execute("PRAGMA application_id").fetchone()[0]
            version = connection.execute("PRAGMA user_version").fetchone()[0]
        finally:
            connection.close()
    except sqlite3.DatabaseError as problem:
        raise NotOurStore(f"{path} is not a store of arkaudit: {problem}") from problem
    if application != schema.APPLICATION_ID:
        raise NotOurStore(f"{path} is not a store of arkaudit; it was left as it is")
    if version > schema.SCHEMA_VERSION:
        raise NewerStore(
            f"{path} was written by a newer arkaudit (schema {version}; this one knows {schema.SCHEMA_VERSION})"
        )
    if 0 < version < migrations.OLDEST:
        raise OlderStore(f"{path} was written by an arkaudit that is too old (schema {version}); it was left as it is")
    return version if 0 < version < schema.SCHEMA_VERSION else None


def _set_pragmas(connection: sqlite3.Connection, _: object) -> None:
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")


def _add(connection: Connection, table: Any, values: Mapping[str, Any]) -> int | None:
    """Insert a row; returns its key, or None when one with the same unique key is there."""
    done = connection.execute(insert(table).values(**values).on_conflict_do_nothing())
    key = done.inserted_primary_key
    return int(key[0]) if done.rowcount and key else None


def _hop_json(hop: Hop) -> dict[str, Any]:
    return {**asdict(hop), "headers": dict(hop.headers)}


def _facts_json(facts: PageFacts) -> dict[str, Any]:
    return {**asdict(facts), "arks": [list(named) for named in facts.arks], "told": dict(facts.told)}


def _facts(told: dict[str, Any]) -> PageFacts:
    return PageFacts(**{**told, "arks": tuple((ark, place) for ark, place in told.get("arks", ()))})


def _observation(row: Row[Any]) -> Observation:
    return Observation(
        ark=row.ark,
        request_url=row.request_url,
        question=Question(row.question),
        asked_url=row.asked_url,
        hops=tuple(Hop(**hop) for hop in row.hops),
        end=ChainEnd(row.chain_end),
        detail=row.detail,
        attempt=row.attempt,
        media_type=row.media_type,
        title=row.title,
        text=row.text,
        body_bytes=row.body_bytes,
        body_sha256=row.body_sha256,
        body_complete=row.body_complete,
        record=row.record,
        similarity=row.similarity,
        facts=_facts(row.facts),
        remarks=tuple(row.remarks),
    )
