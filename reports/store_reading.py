"""Reading one moment of a store, also beside a running audit: by SQLAlchemy, and column by column by Arrow.

Nothing is written, neither to the store nor beside it.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

import pandas as pd
import pyarrow as pa
from sqlalchemy import Connection, Select, create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from crawler.schema import APPLICATION_ID, SCHEMA_VERSION
from crawler.storage.soundness import damage_in, distrust, is_damage, is_ours, not_a_file, require_sound
from crawler.storage.store_errors import StoreDamaged
from extractors.shared_errors import ArkauditError
from reports.arrow_connection import ArrowConnection, NotInColumns
from reports.run_queries import kept
from reports.typed_columns import Columns, Dtype, Rows, UnknownWord, fetched, sample_of

Found = TypeVar("Found")


class StoreUnreadable(ArkauditError):
    """Raised by `load_frames` and `read` for a file that is missing, no store of ours, too new, or without the run."""


class Filled(Protocol):
    """Something that is filled with what a query gives."""

    def add(self, rows: Rows) -> None:
        """Add rows of Python's values, as SQLite gives them."""

    def add_batch(self, batch: pa.RecordBatch) -> None:
        """Add rows as columns of Arrow. Raises ValueError for those that only `add` can make something of."""


Some = TypeVar("Some", bound=Filled)


@dataclass(frozen=True, slots=True)
class StoreReader:
    """One moment of a store."""

    connection: Connection
    """For everything that is not long."""
    arrow: ArrowConnection | None
    """For what is; none beside somebody who may be writing: two connections need not see the same moment then."""

    def frame(
        self,
        dtypes: Mapping[str, Dtype],
        query: Select[Any],
        json_columns: frozenset[str] = frozenset(),
        *,
        is_ordered: bool = True,
    ) -> pd.DataFrame:
        """Return what a query gives as a frame; one that is ordered is so by its first column, a key."""
        return self.filled(lambda: Columns(dtypes, json_columns), dtypes, query, is_ordered=is_ordered).frame()

    def filled(
        self, empty: Callable[[], Some], dtypes: Mapping[str, Dtype], query: Select[Any], *, is_ordered: bool = True
    ) -> Some:
        """Return what *empty* makes, filled by a query for columns of *dtypes*.

        Whatever Arrow can't take as it stands in the store is read once more, by rows: that knows every oddity.
        """
        if self.arrow is not None:
            found = empty()
            samples = [sample_of(dtype) for dtype in dtypes.values()]
            try:
                for batch in self.arrow.batches(query, samples, is_ordered=is_ordered):
                    found.add_batch(batch)
                return found
            except (NotInColumns, ValueError):
                pass
        found = empty()
        for rows in fetched(self.connection, query):
            found.add(rows)
        return found

    def kept(self, name: str, numbers: Select[Any]) -> Select[Any]:
        """Return the same numbers, found once and kept in memory, for as long as the moment is read."""
        found = kept(self.connection, name, numbers)
        if self.arrow is not None:
            self.arrow.keep(name, self.connection.scalars(found).all())
        return found


def read(store: Path, work: Callable[[Connection], Found]) -> Found:
    """Return what *work* makes of one moment of *store*; nothing is written, neither to it nor beside it.

    Raises `StoreUnreadable`, and `crawler.storage.store_errors.StoreDamaged`.
    """
    return read_at_length(store, lambda reader: work(reader.connection))


def read_at_length(store: Path, work: Callable[[StoreReader], Found]) -> Found:
    """Return what *work* makes of one moment of *store*, where it asks for millions of rows."""
    before = _stamp(store)
    if before is not None:
        try:
            found = _read(store, work, access=_AT_REST)
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
    # SQLite can't make its files next to a log that a killed run has left in a folder which nobody may write to, nor
    # play back, for a reader, the journal that the loss of power has left.
    with tempfile.TemporaryDirectory(prefix="arkaudit-") as folder:
        copy = Path(folder) / store.name
        for suffix in ("", "-wal", "-journal"):
            if suffix == "" or Path(f"{store}{suffix}").exists():
                shutil.copyfile(f"{store}{suffix}", f"{copy}{suffix}")
        return _read(copy, work, access="mode=rw", shown_store=store)  # a journal is played back


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


def _read(store: Path, work: Callable[[StoreReader], Found], *, access: str, shown_store: Path | None = None) -> Found:
    with _reading(store, access, shown_store or store) as connection:
        if access != _AT_REST:
            return work(StoreReader(connection, None))
        with closing(ArrowConnection(_address(store, access))) as arrow:
            return work(StoreReader(connection, arrow))


#: How a store is opened that nobody writes to.
_AT_REST: Final = "mode=ro&immutable=1"


def _address(store: Path, access: str) -> str:
    return f"{store.resolve().as_uri()}?{access}"


@contextmanager
def _reading(store: Path, access: str, name: Path) -> Iterator[Connection]:
    """A connection that can't write, in one transaction; whatever fails in it becomes `StoreUnreadable`.

    Or `crawler.storage.store_errors.StoreDamaged`, when the store is ours. Messages call it by its *name*.
    """
    instead = not_a_file(store)
    if instead or not store.is_file():
        raise StoreUnreadable(f"{name}: {f'is {instead}, not a store' if instead else 'there is no such file'}")
    address = _address(store, access)
    engine = create_engine("sqlite://", creator=lambda: _connected(address), poolclass=NullPool)
    try:
        with engine.connect() as connection:
            connection.exec_driver_sql("BEGIN")
            _check_format(connection, name)
            require_sound(connection.exec_driver_sql, store)
            yield connection
    except (DBAPIError, sqlite3.Error) as error:
        problem = error.orig if isinstance(error, DBAPIError) else error  # of a cursor that SQLAlchemy has opened
        if is_ours(store) and is_damage(problem):
            if getattr(problem, "sqlite_errorcode", None) == sqlite3.SQLITE_ERROR and damage_in(store) is None:
                raise  # the store is sound, so that it was asked wrongly
            raise StoreDamaged(f"{name}: can't be read: {problem}") from error
        raise StoreUnreadable(f"{name}: can't be read as a store of arkaudit: {problem}") from error
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
