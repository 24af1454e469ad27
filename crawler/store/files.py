"""The file of a store: its origin, its version and its integrity, checked before its contents are used.

A store can come from a stranger, or from a failing disk. SQLite runs code that is in a schema. So a store has exactly
our tables, with our conditions on their values, and no function in the schema is trusted.
"""

from __future__ import annotations

import errno
import shutil
import sqlite3
import struct
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from sqlalchemy import CheckConstraint, create_engine
from sqlalchemy.pool import NullPool

from crawler.model import schema
from crawler.store import StoreDamaged, StoreUnopenable, StoreUnwritable
from crawler.store.database import unreadable_rows
from extractors.model.files import NO_FILES, is_file, is_folder, path_exists

#: The largest store that is checked completely when it is opened (about 3 s per GiB). In a larger store only the table
#: of runs is checked; damage elsewhere is found when it is read, or by `store check`.
LOOKED_THROUGH_BYTES = 64 * 2**20

#: Runs an SQL statement: by `sqlite3`, or through SQLAlchemy.
Execute = Callable[[str], Iterable[Any]]
#: The largest value of a store, and the largest row.
MOST_BYTES = 2**25
#: SQLite's error codes for a sound store that can't be read or written at the moment.
_PASSING = frozenset(
    {
        *(sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN),
        *(sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_FULL),
        *(sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_AUTH),
    }
)
#: The first bytes of a database: the magic string and ``application_id`` (sqlite.org/fileformat2.html, 1.3).
_HEAD = struct.Struct(">16s52xI")
_MAGIC = b"SQLite format 3\0"

_opened: dict[Path, None] = {}


def is_damage(problem: BaseException | None) -> bool:
    """Return True if an SQLite error is about the file, not about the machine or another process."""
    if isinstance(problem, UnicodeDecodeError):  # SQLite's message quotes the damaged schema
        return True
    code = getattr(problem, "sqlite_errorcode", None)
    return isinstance(problem, sqlite3.Error) and (code is None or code & 0xFF not in _PASSING)


def is_ours(path: Path) -> bool:
    """Return True if a file's first bytes mark it as a store. Never blocks on a path that is not a regular file."""
    try:
        if not is_file(path):
            return False
        with path.open("rb") as file:
            head = file.read(_HEAD.size)
    except OSError:
        return False
    return len(head) == _HEAD.size and _HEAD.unpack(head) == (_MAGIC, schema.APPLICATION_ID)


#: The suffixes of the files that may be next to a store.
_SIDE_SUFFIXES = ("-wal", "-shm", "-journal", ".lock")
#: The smallest size of a database: one page of the smallest size.
_LEAST_BYTES = 512


def real_path(path: Path) -> Path:
    """Return *path* of a store with symbolic links resolved; SQLite's log and the lock of the store use this name.

    Raises `StoreUnopenable` if the store or a file next to it is not a regular file, or has several hard links. Nothing
    has been read then.
    """
    try:
        resolved_path = path.resolve() if path.is_symlink() else path
    except (OSError, RuntimeError):  # a loop of links
        resolved_path = path
    for file in (resolved_path, *(Path(f"{resolved_path}{suffix}") for suffix in _SIDE_SUFFIXES)):
        try:
            status = file.lstat()
        except OSError:
            continue
        for kind in (kind for kind, is_kind in NO_FILES.items() if is_kind(status.st_mode)):
            if file == resolved_path:
                raise StoreUnopenable(f"{path} is {kind}, not a store")
            raise StoreUnopenable(f"{file} is {kind}, where a file of the store {path} belongs: remove it")
        if status.st_nlink > 1:
            raise StoreUnopenable(
                f"{file} has {status.st_nlink} names on its disk (hard links), but a store may have only one, because "
                "its log and its lock are found by it; copy the store"
            )
    return resolved_path


def raise_if_cut_off(path: Path, name: Path) -> None:
    """Raise `StoreUnopenable`, naming the store *name*, if the file *path* ends within the first page of a database."""
    head = path.read_bytes() if path.stat().st_size < _LEAST_BYTES else b"-"
    if _MAGIC.startswith(head[: len(_MAGIC)]):
        raise StoreUnopenable(f"{name} is not a store of arkaudit yet: it was begun and cut off; delete it")


def distrust(connection: sqlite3.Connection) -> None:
    """Forbid a connection to run code from the file or to read huge values, and let it detect damaged pages."""
    connection.execute("PRAGMA trusted_schema=OFF")
    connection.execute("PRAGMA cell_size_check=ON")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_BYTES)


def require_our_schema(execute: Execute, path: Path) -> None:
    """Raise `StoreUnopenable` unless the open database is a store of this version."""
    if _is_only_begun(execute):
        raise StoreUnopenable(f"{path} is not a store of arkaudit yet: it was begun and cut off before it had tables")
    [(application,)] = execute("PRAGMA application_id")
    if application != schema.APPLICATION_ID:
        raise StoreUnopenable(f"{path} is not a store of arkaudit")
    [(version,)] = execute("PRAGMA user_version")
    if version != schema.SCHEMA_VERSION:
        raise StoreUnopenable(
            f"{path} was written by another version of arkaudit (schema {version}; "
            f"this one reads {schema.SCHEMA_VERSION})"
        )


def require_sound(execute: Execute, path: Path | None) -> None:
    """Raise `StoreDamaged` if the open database has a fault in its schema or, in a small store, in its values.

    Errors of SQLite pass through.
    """
    for fault in _faults(execute, path):
        raise StoreDamaged(f"{path}: {fault}")
    if path is not None:
        _opened[path.absolute()] = None


def damage_in(path: Path) -> str | None:
    """Return a description of the first fault of a store after a complete check, or None."""
    if not is_file(path) or not is_ours(path):
        return None
    try:
        return next(_all_faults(path), None)
    except Exception as problem:
        cause = getattr(problem, "orig", problem)
        return str(cause) if is_damage(cause) else None


def damage_in_opened() -> str | None:
    """Return a description of the first fault in the stores that this process has opened, or None."""
    for path in _opened:
        fault = damage_in(path)
        if fault:
            return f"{path}: {fault}"
    return None


def _all_faults(path: Path) -> Iterator[str]:
    """Yield the faults of a store, with every page and every value read."""
    engine = create_engine("sqlite://", creator=lambda: _connect(path), poolclass=NullPool)
    try:
        with engine.connect() as connection:
            execute: Execute = connection.exec_driver_sql
            yield from _faults(execute, None)
            yield from (f"SQLite: {line}" for (line,) in execute("PRAGMA integrity_check(1)") if line != "ok")
            yield from unreadable_rows(connection)
    finally:
        engine.dispose()


def _uri_to_read(path: Path) -> str:
    """Return SQLite's URI for reading a store, even if it is open in no process."""
    # Without a log, no process has it open. SQLite would create a log, which a mere reader can't remove again.
    access = "mode=ro" if path_exists(Path(f"{path}-wal")) else "mode=ro&immutable=1"
    return f"{path.absolute().as_uri()}?{access}"


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(_uri_to_read(path), uri=True)
    distrust(connection)
    return connection


def _faults(execute: Execute, path: Path | None) -> Iterator[str]:
    """Yield the faults in the schema and the values of a store; of a large file at *path*, only one table is read."""
    yield from _foreign_parts(execute)
    # Tables come before their indexes.
    missing = sorted(_our_schema().keys() - _schema_of(execute).keys(), reverse=True)
    yield from (f"lacks its {' '.join(part)}" for part in missing)
    is_small = path is None or path.stat().st_size <= LOOKED_THROUGH_BYTES
    for (line,) in execute(f"PRAGMA quick_check({1 if is_small else schema.run.name})"):
        if line != "ok":
            yield f"SQLite: {line}"
    yield from _wrong_values(execute) if is_small else ()


def _wrong_values(execute: Execute) -> Iterator[str]:
    """Yield, for each table, the first row that fails a CHECK. SQLite ignores CHECKs in files that it only reads."""
    for table in schema.tables.sorted_tables:
        constraints = chain(table.constraints, *(column.constraints for column in table.columns))
        checks = [str(check.sqltext) for check in constraints if isinstance(check, CheckConstraint)]
        [key] = table.primary_key.columns
        clauses = " ".join(f"WHEN NOT ({check}) THEN {number}" for number, check in enumerate(checks))
        query = f"SELECT {key.name}, CASE {clauses} END AS failed FROM {table.name} WHERE failed IS NOT NULL LIMIT 1"
        for row, number in execute(query) if checks else ():
            yield f"{table.name} row {row}: a value fails the check {checks[number]}"


def _foreign_parts(execute: Execute) -> Iterator[str]:
    """Yield a fault for each part of a database, such as a table, that no store has or that differs from a store's."""
    our_parts = _our_schema()
    for (kind, name), sql in _schema_of(execute).items():
        if (kind, name) not in our_parts:
            yield f"has a {kind} {name!r}, which no store has"
        elif sql != our_parts[kind, name]:
            yield f"has another {kind} {name}"


def _schema_of(execute: Execute) -> dict[tuple[str, str], str]:
    """Return the SQL, with single spaces, of each part of a database by kind and name, without SQLite's own parts."""
    own_condition = "name LIKE 'sqlite!_%' ESCAPE '!' AND type IN ('table', 'index')"
    parts = execute(
        f"SELECT type, name, coalesce(sql, '') FROM sqlite_master WHERE NOT ({own_condition}) ORDER BY type DESC"
    )
    return {(kind, name): " ".join(sql.split()) for kind, name, sql in parts}


@cache
def _our_schema() -> dict[tuple[str, str], str]:
    engine = create_engine("sqlite://")
    with engine.begin() as connection:
        schema.tables.create_all(connection)
        our_parts = _schema_of(connection.exec_driver_sql)
    engine.dispose()
    return our_parts


def refuse_foreign(path: Path) -> None:
    """Check a file before SQLite may write to it. Raises `StoreUnopenable` or `StoreDamaged`."""
    if not path_exists(path):
        if not is_folder(path.parent):
            raise StoreUnopenable(f"there is no folder {path.parent} to keep {path.name} in")
        return
    if path.stat().st_size == 0:
        return
    raise_if_cut_off(path, path)
    try:
        with _uri_without_changes(path) as uri, closing(sqlite3.connect(uri, uri=True)) as connection:
            distrust(connection)
            if _is_only_begun(connection.execute):
                for fault in _foreign_parts(connection.execute):
                    raise StoreDamaged(f"{path}: {fault}")
                return
            require_our_schema(connection.execute, path)
            require_sound(connection.execute, path)
    except (sqlite3.DatabaseError, UnicodeDecodeError) as problem:
        if is_ours(path):
            error_type = StoreDamaged if is_damage(problem) else StoreUnopenable
            raise error_type(f"{path} can't be read: {problem}") from problem
        raise StoreUnopenable(f"{path} is not a store of arkaudit: {problem}") from problem


def _is_only_begun(execute: Execute) -> bool:
    """Return True if the open database has no version yet, as after a kill during the creation of a store."""
    [(version,)] = execute("PRAGMA user_version")
    [(application,)] = execute("PRAGMA application_id")
    [(table_count,)] = execute("SELECT count(*) FROM sqlite_master")
    return not version and (application == schema.APPLICATION_ID or (application, table_count) == (0, 0))


@contextmanager
def _uri_without_changes(path: Path) -> Iterator[str]:
    """Yield SQLite's URI for reading a file without any change to it.

    A journal next to the file, left by a power cut during creation, is replayed in a copy.
    """
    if not path_exists(path.with_name(f"{path.name}-journal")):
        yield _uri_to_read(path)
        return
    with scratch_copy(path) as copy:
        yield f"{copy.absolute().as_uri()}?mode=rw"


@contextmanager
def scratch_copy(path: Path) -> Iterator[Path]:
    """Yield the path of a temporary copy of a store, its log and its journal. Raises OSError."""
    with tempfile.TemporaryDirectory(prefix="arkaudit-") as folder:
        copied_store = Path(folder) / path.name
        copies = [(Path(f"{path}{suffix}"), f"{copied_store}{suffix}") for suffix in ("", "-wal", "-journal")]
        copies = [(file, target) for file, target in copies if path_exists(file)]
        if sum(file.stat().st_size for file, _ in copies) > shutil.disk_usage(folder).free:
            raise OSError(errno.ENOSPC, "there is no room for a copy of the store", folder)
        for file, target in copies:
            shutil.copyfile(file, target)
        yield copied_store


def lock_store(path: Path) -> FileLock:
    """Return the lock of the store at *path*, which ends with this process. Raises `StoreUnopenable`."""
    lock = FileLock(f"{path}.lock", timeout=0.1)
    try:
        try:
            lock.acquire()
        except Timeout:
            # Some file systems report this when the lock file can't be created.
            Path(lock.lock_file).touch()
            raise StoreUnopenable(
                f"another arkaudit is at work on {path}; wait for its end, or take another store"
            ) from None
    except OSError as problem:
        if problem.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StoreUnwritable(f"{path}: {problem.strerror}") from problem
        raise StoreUnopenable(f"the store can't be written: {problem}") from problem
    return lock
