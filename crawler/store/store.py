"""The store: a SQLite file that observations are only added to.

One process writes a store. Every record has a unique key, so recording it twice does no harm. A write is durable when
`Store.record` returns (``synchronous=FULL``).
"""

from __future__ import annotations

import logging
import sqlite3
import stat
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, create_engine, delete, event, func, select, text, update
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.exc import DatabaseError
from sqlalchemy.pool import StaticPool

from crawler.answers.mementos import MementoRecord
from crawler.history import latest
from crawler.history.latest import rebuild
from crawler.history.run_times import clock_ahead_message, store_corrected_times
from crawler.model import schema
from crawler.model.observations import DocumentRecord, HostTraffic, Observation, Pause
from crawler.model.schema import FINISHED, RUNNING
from crawler.store import StoreDamaged, StoreUnopenable, StoreUnwritable
from crawler.store.ark_tables import TRAFFIC_UPSERT, ArkTables
from crawler.store.database import insert_if_new, record_of
from crawler.store.document_tables import DocumentTables
from crawler.store.files import distrust, is_damage, is_ours, lock_store, real_path, refuse_foreign, require_sound
from crawler.store.frontier import DOCUMENTS, SettledEntry, add_requests, settle

logger = logging.getLogger(__name__)

Recordable = DocumentRecord | Observation | MementoRecord | Pause | HostTraffic | SettledEntry

_run = schema.run.c
#: The statements that record rows as they are.
_STATEMENTS = {Pause: insert_if_new(schema.pause), HostTraffic: TRAFFIC_UPSERT}


@dataclass(frozen=True, slots=True)
class Run:
    """A run, with the facts that decide how it can be resumed."""

    run_id: int
    command: str
    started_at: str
    state: str
    plan: Mapping[str, Any] | None
    """The settings that decide the run's requests; None if the run can't be resumed."""

    @property
    def is_finished(self) -> bool:
        """True if the run reached its end."""
        return self.state == FINISHED

    @property
    def is_reported(self) -> bool:
        """True if the run's report is written and its news were sent on all channels."""
        return self.plan is None or bool(self.plan.get("reported", True))


@dataclass(frozen=True, slots=True)
class Delivery:
    """The news that were sent on a channel of notifications."""

    run_id: int | None = None
    """The last run whose news were sent, or that had no news for the channel; None before the first."""
    failures_sent: Mapping[str, str] = field(default_factory=dict)
    """Kind of the sent news by failing ARK; without ARKs whose recovery was sent."""


class Store(DocumentTables, ArkTables):
    """An open store. Use `Store.open`, and as a context manager."""

    @classmethod
    def open(cls, path: Path | None) -> Store:
        """Open the store at *path*, or create it; None gives a store in memory.

        This process holds the store until it closes it or ends; other processes may read it. Raises
        `StoreUnopenable` or a subclass, or `StoreDamaged`; nothing has been written then.
        Raises `StoreUnwritable` on a full disk.
        """
        lock = None
        if path is not None:
            path = real_path(path)
            refuse_foreign(path)
            lock = lock_store(path)
        engine = create_engine(
            URL.create("sqlite", database=str(path.absolute()) if path else None),  # ":memory:" is a name like others
            poolclass=StaticPool,
            connect_args={"check_same_thread": False},
        )
        event.listen(engine, "connect", _set_pragmas)
        store = cls(engine, path, lock)
        try:
            with store.transaction() as connection:
                if connection.scalar(text("PRAGMA user_version")) == 0:
                    # sqlite3 begins no transaction for DDL, and each statement alone would wait for the disk.
                    connection.execute(text("BEGIN"))
                    connection.execute(text(f"PRAGMA application_id={schema.APPLICATION_ID}"))
                    schema.tables.create_all(connection)
                    connection.execute(text(f"PRAGMA user_version={schema.SCHEMA_VERSION}"))
                    # some of the tables may have existed before
                    require_sound(connection.exec_driver_sql, path)
                corrected_times = store_corrected_times(connection, datetime.now(UTC))
                if corrected_times:
                    rebuild(connection)
            if corrected_times:
                logger.warning("%s: %s", path, clock_ahead_message(len(corrected_times)))
        except StoreDamaged:
            store.close()
            raise
        except StoreUnwritable as problem:
            store.close()
            cause = getattr(problem.__cause__, "orig", None)
            if getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
                raise
            if path is not None and is_damage(cause) and is_ours(path):
                raise StoreDamaged(str(problem)) from problem
            raise StoreUnopenable(f"the store can't be written: {problem}") from problem
        return store

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def record(self, run_id: int, items: Iterable[Recordable]) -> None:
        """Record all *items* and their effects on the frontier in one transaction.

        Records that exist stay unchanged.
        """
        items_by_type: defaultdict[type, list[Any]] = defaultdict(list)
        for item in items:
            items_by_type[Observation if isinstance(item, Observation) else type(item)].append(item)
        documents: list[DocumentRecord] = [row for record in items_by_type[DocumentRecord] for row in record.rows]
        new_requests = [crawl_request for row in documents for crawl_request in row.new_requests]
        settled_entries = [
            SettledEntry(DOCUMENTS, row.settles, row.listed) for row in documents if row.settles is not None
        ]
        with self.transaction() as connection:
            if documents:
                self._record_documents(connection, run_id, documents)
            if items_by_type[Observation]:
                self._record_observations(connection, run_id, items_by_type[Observation])
            for record in items_by_type[MementoRecord]:
                self._record_memento(connection, run_id, record)
            for record_type, statement in _STATEMENTS.items():
                rows = [{"run_id": run_id, **asdict(record)} for record in items_by_type[record_type]]
                if rows:
                    connection.execute(statement, rows)
            add_requests(connection, run_id, DOCUMENTS, new_requests)
            settle(connection, run_id, [*settled_entries, *items_by_type[SettledEntry]])

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
    ) -> int:
        """Record a new run, and return its number.

        The requests and links of finished and reported runs, which nothing resumes, are deleted. *plan* holds
        the settings that a command must share to resume the run.
        """
        is_reported = func.coalesce(func.json_extract(_run.plan, "$.reported"), 1) == 1
        done_runs = select(_run.run_id).where(_run.state == FINISHED, is_reported)
        with self.transaction() as connection:
            for table in (schema.frontier, schema.outlinks):
                connection.execute(delete(table).where(table.c.run_id.in_(done_runs)))
            values = insert(schema.run).values(
                command=command,
                started_at=at,
                state=RUNNING,
                version=version,
                resolver=resolver,
                user_agent=user_agent,
                seeds=list(seeds),
                plan=None if plan is None else dict(plan),
            )
            inserted = connection.execute(values.returning(_run.run_id))
            return int(inserted.scalar_one())

    def runs(self, command: str) -> list[Run]:
        """Return the runs of a command, newest first."""
        query = select(schema.run).where(_run.command == command).order_by(_run.run_id.desc())
        return [record_of(Run, row) for row in self.rows(query)]

    def run_ids(self) -> list[int]:
        """Return the numbers of all runs, ordered by their beginnings."""
        query = select(_run.run_id).order_by(_run.started_at, _run.run_id)
        return [run_id for (run_id,) in self.rows(query)]

    def mark_resumed(self, run_id: int) -> None:
        """Mark an unfinished run as running again."""
        with self.transaction() as connection:
            _update_run(connection, run_id, ended_at=None, state=RUNNING)

    def end_run(self, run_id: int, *, at: str, state: str) -> None:
        """Record the end of a run and its state: ``finished``, ``interrupted`` or ``failed``."""
        with self.transaction() as connection:
            _update_run(connection, run_id, ended_at=at, state=state)
            latest.note_end(connection, run_id)

    def note_reported(self, run_id: int) -> None:
        """Record that a run with ``reported`` false in its plan has been reported."""
        with self.transaction() as connection:
            plan = connection.scalar(select(_run.plan).where(_run.run_id == run_id))
            if plan is not None:
                _update_run(connection, run_id, plan={**plan, "reported": True})

    def delivery(self, channel: str) -> Delivery:
        """Return the news that were sent on *channel*, the digest of a destination."""
        rows = self.rows(select(schema.delivery).where(schema.delivery.c.channel == channel))
        return record_of(Delivery, rows[0]) if rows else Delivery()

    def record_delivery(self, channel: str, delivered: Delivery) -> None:
        """Record the news that were sent on *channel*, in place of the earlier record."""
        with self.transaction() as connection:
            values = {"channel": channel, "run_id": delivered.run_id, "failures_sent": dict(delivered.failures_sent)}
            connection.execute(schema.upsert(schema.delivery, "channel"), values)

    # -- the store as a whole

    def shrink(self) -> None:
        """Give free space of the file back to the disk. Raises `StoreUnwritable`; the store is unchanged then."""
        try:
            with self._engine.connect() as connection:
                connection.execution_options(isolation_level="AUTOCOMMIT").exec_driver_sql("VACUUM")
                connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        except DatabaseError as problem:
            raise StoreUnwritable(f"{self.path}: {problem.orig}") from problem

    def make_private(self) -> None:
        """Make the file of the store, and SQLite's files next to it, readable by their owner only."""
        if self.path is None:
            return
        for path in (self.path, *(self.path.with_name(self.path.name + suffix) for suffix in ("-wal", "-shm"))):
            with suppress(FileNotFoundError):
                path.chmod(stat.S_IMODE(path.stat().st_mode) & 0o700)


def _update_run(connection: Connection, run_id: int, **values: Any) -> None:
    connection.execute(update(schema.run).where(_run.run_id == run_id).values(values))


def _set_pragmas(connection: sqlite3.Connection, _: object) -> None:
    distrust(connection)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")
