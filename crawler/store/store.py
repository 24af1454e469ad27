"""The store: a SQLite file in which observations only grow.

One process writes a store. Everything has a unique key, so that recording a thing twice does no harm; a write is
durable when `Store.record` returns (``synchronous=FULL``).
"""

from __future__ import annotations

import sqlite3
import stat
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from sqlalchemy import (
    URL,
    create_engine,
    event,
    text,
)
from sqlalchemy.pool import StaticPool

from crawler.answers.mementos import MementoRecord
from crawler.model import schema
from crawler.model.crawl_requests import CrawlRequest
from crawler.model.observations import DocumentRecord, HostTraffic, Observation, Pause, TlsResult
from crawler.store.database import add_row
from crawler.store.document_tables import DocumentTables
from crawler.store.files import clear_scratch_beside, locked, refuse_foreign
from crawler.store.frontier import DOCUMENTS, SettledEntry, add_requests, settle
from crawler.store.merging import Merged, merge
from crawler.store.observation_tables import ObservationTables, adding_up
from crawler.store.run_tables import FINISHED, RUNNING, Run, RunTables
from crawler.store.soundness import distrust, is_damage, is_ours
from crawler.store.store_errors import StoreDamaged, StoreUnopenable, StoreUnwritable
from crawler.store.verdict_tables import MementoTables, VerdictTables

Recordable = DocumentRecord | Observation | MementoRecord | TlsResult | Pause | HostTraffic | SettledEntry

__all__ = ["FINISHED", "RUNNING", "Recordable", "Run", "Store"]


class Store(RunTables, DocumentTables, ObservationTables, VerdictTables, MementoTables):
    """An open store. Use `Store.open`, and as a context manager."""

    @classmethod
    def open(cls, path: Path | None) -> Store:
        """The store at *path*, created if it is not there; None is a store in memory, gone when it is closed.

        It is this process's alone until it is closed or the process ends, however it ends; others may read. Raises
        `StoreUnopenable`, or one of its kinds, and `StoreDamaged`; nothing has been written then.
        """
        lock = None
        if path is not None:
            refuse_foreign(path)
            lock = locked(path)
            clear_scratch_beside(path)
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
                    case MementoRecord():
                        self._record_memento(connection, run_id, item)
                    case TlsResult():
                        add_row(connection, schema.tls_probe, {"run_id": run_id, **asdict(item)})
                    case Pause():
                        add_row(connection, schema.pause, {"run_id": run_id, **asdict(item)})
                    case HostTraffic():
                        traffic.append(item)
                    case SettledEntry():
                        settled.append(item)
            if documents:
                self._record_documents(connection, run_id, documents)
            if observations:
                self._record_observations(connection, run_id, observations)
            if traffic:
                connection.execute(
                    adding_up(), [{"run_id": run_id, **asdict(host_traffic)} for host_traffic in traffic]
                )
            add_requests(connection, run_id, DOCUMENTS, leads)
            settle(connection, run_id, settled)

    def keep_private(self) -> None:
        """Let no one but its owner read the file of the store, and what SQLite keeps next to it."""
        if self.path is None:
            return
        for path in (self.path, *(self.path.with_name(self.path.name + suffix) for suffix in ("-wal", "-shm"))):
            with suppress(FileNotFoundError):
                path.chmod(stat.S_IMODE(path.stat().st_mode) & 0o700)

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


def _set_pragmas(connection: sqlite3.Connection, _: object) -> None:
    distrust(connection)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")
