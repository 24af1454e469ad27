"""The file of a store before SQLite opens it: whose it is, of which version, and who else has it open."""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from crawler.model import schema
from crawler.store import soundness
from crawler.store.store_errors import NotCopied, NotOurStore, StoreBusy, StoreDamaged, StoreUnopenable


def refuse_foreign(path: Path) -> None:
    """Look at a file before SQLite may write to it. Raises `StoreUnopenable`, and `StoreDamaged`."""
    instead = soundness.not_a_file(path)
    if instead:
        raise NotOurStore(f"{path} is {instead}, not a store")
    if not path.exists():
        if not path.parent.is_dir():
            raise StoreUnopenable(f"there is no folder {path.parent} to keep {path.name} in")
        return
    if path.stat().st_size == 0:
        return
    try:
        with _at_rest(path) as address, closing(sqlite3.connect(address, uri=True)) as connection:
            soundness.distrust(connection)
            if _is_only_begun(connection):
                return
            soundness.require_our_schema(connection.execute, path)
            soundness.require_sound(connection.execute, path)
    except (sqlite3.DatabaseError, UnicodeDecodeError) as problem:
        if soundness.is_ours(path):
            kind = StoreDamaged if soundness.is_damage(problem) else StoreUnopenable
            raise kind(f"{path} can't be read: {problem}") from problem
        raise NotOurStore(f"{path} is not a store of arkaudit: {problem}") from problem


def _is_only_begun(connection: sqlite3.Connection) -> bool:
    """Return whether a database is as a kill in the first moment of a store leaves it."""
    if connection.execute("PRAGMA user_version").fetchone()[0]:
        return False
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    return application == schema.APPLICATION_ID or (application, tables) == (0, 0)


@contextmanager
def _at_rest(path: Path) -> Iterator[str]:
    """The address by which SQLite reads a file without a change to it.

    A journal next to it, which the loss of power in the first moment of a store leaves, is played back in a copy.
    """
    journal = path.with_name(f"{path.name}-journal")
    if not journal.exists():
        yield f"{path.absolute().as_uri()}?mode=ro"
        return
    with tempfile.TemporaryDirectory(prefix="arkaudit-") as folder:
        copy = Path(folder) / path.name
        shutil.copyfile(path, copy)
        shutil.copyfile(journal, copy.with_name(journal.name))
        yield f"{copy.absolute().as_uri()}?mode=rw"


def locked(path: Path) -> FileLock:
    """The lock of the store at *path*, which ends with this process. Raises `StoreUnopenable`."""
    lock = FileLock(f"{path}.lock", timeout=0.1)
    try:
        lock.acquire()
    except Timeout:
        _refuse_where_nothing_can_be_made(Path(lock.lock_file))
        raise StoreBusy(f"another arkaudit is at work on {path}; wait for its end, or take another store") from None
    except OSError as problem:
        raise StoreUnopenable(f"the store can't be written: {problem}") from problem
    return lock


def _refuse_where_nothing_can_be_made(file: Path) -> None:
    """Raise `StoreUnopenable` where *file* neither is nor can be: some file systems say then that it has just gone."""
    try:
        file.touch()
    except OSError as problem:
        raise StoreUnopenable(f"the store can't be written: {problem}") from problem


def plain_copy(path: Path, copy: Path) -> None:
    """Copy a database to where nothing is, what is still in its log included; durable on return. Raises `NotCopied`."""
    try:
        # Without a log no one has it open; and SQLite would leave one, which a mere reader can't clear away.
        access = "mode=ro" if Path(f"{path}-wal").exists() else "mode=ro&immutable=1"
        address = f"{path.absolute().as_uri()}?{access}"
        with closing(sqlite3.connect(address, uri=True)) as old, closing(sqlite3.connect(copy)) as new:
            old.backup(new)
        with copy.open("rb+") as written:
            os.fsync(written.fileno())
    except (OSError, sqlite3.Error) as problem:
        copy.unlink(missing_ok=True)
        raise NotCopied(f"no copy could be made of it: {problem}") from problem


# Folders next to a store for what is needed for a moment: locked, so that those of a killed process are recognized.

_PREFIX = ".arkaudit-import-"


@contextmanager
def scratch_beside(store: Path) -> Iterator[Path]:
    """A folder next to *store*, on the same disk, gone afterwards. Raises OSError."""
    parent = store.absolute().parent
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if folder.exists():
            break
        os.close(descriptor)  # it was cleared before it was held
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


def clear_scratch_beside(store: Path) -> None:
    """Remove the folders next to *store* that no process holds any more; as far as that can be done."""
    with suppress(OSError):
        for folder in store.absolute().parent.glob(f"{_PREFIX}*"):
            with suppress(OSError):
                _clear(folder)


def _clear(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(descriptor)
