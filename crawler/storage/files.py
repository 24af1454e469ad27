"""The file of a store before SQLite opens it: whose it is, of which version, and who else has it open."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from crawler import schema
from crawler.storage import migrations, soundness
from crawler.storage.store_errors import NewerStore, NotOurStore, OlderStore, StoreBusy, StoreDamaged, StoreUnopenable


def refuse_foreign(path: Path) -> int | None:
    """Look at a file before SQLite may write to it; returns its schema where that is an older one."""
    instead = soundness.not_a_file(path)
    if instead:
        raise NotOurStore(f"{path} is {instead}, not a store")
    if not path.exists():
        if not path.parent.is_dir():
            raise StoreUnopenable(f"there is no folder {path.parent} to keep {path.name} in")
        return None
    if path.stat().st_size == 0:
        return None
    try:
        with _at_rest(path) as address, closing(sqlite3.connect(address, uri=True)) as connection:
            soundness.distrust(connection)
            application = connection.execute("PRAGMA application_id").fetchone()[0]
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            is_begun = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] > 0
            if application == schema.APPLICATION_ID and 0 < version <= schema.SCHEMA_VERSION:
                soundness.require_sound(connection.execute, path, is_current=version == schema.SCHEMA_VERSION)
    except (sqlite3.DatabaseError, UnicodeDecodeError) as problem:
        if soundness.is_ours(path):
            kind = StoreDamaged if soundness.is_damage(problem) else StoreUnopenable
            raise kind(f"{path} can't be read: {problem}") from problem
        raise NotOurStore(f"{path} is not a store of arkaudit: {problem}") from problem
    if (application, version, is_begun) == (0, 0, False):  # as a kill in the first moment leaves it
        return None
    if application != schema.APPLICATION_ID:
        raise NotOurStore(f"{path} is not a store of arkaudit; it was left as it is")
    if version > schema.SCHEMA_VERSION:
        raise NewerStore(
            f"{path} was written by a newer arkaudit (schema {version}; this one knows {schema.SCHEMA_VERSION})"
        )
    if 0 < version < migrations.OLDEST:
        raise OlderStore(f"{path} was written by an arkaudit that is too old (schema {version}); it was left as it is")
    return version if 0 < version < schema.SCHEMA_VERSION else None


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


def copy_first(path: Path, version: int) -> None:
    """Make a copy of an older store before it is brought up to date. Raises `OlderStore` where there can be none."""
    try:
        migrations.copy_of(path, version)
    except migrations.NotCopied as problem:
        raise OlderStore(
            f"{path} is of an older arkaudit (schema {version}), and was left as it is: {problem}"
        ) from None
