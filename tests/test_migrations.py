"""A store of an older schema is brought up to date in place: after a copy, wholly or not at all."""

from __future__ import annotations

import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections import namedtuple
from contextlib import closing
from pathlib import Path

import pytest

from crawler.history.latest import rebuild
from crawler.schema import SCHEMA_VERSION
from crawler.storage import migrations
from crawler.storage.store import Store
from crawler.storage.store_errors import OlderStore
from reports.frames import load_frames
from reports.tables import tables_of

OLDER = sorted((Path(__file__).parent / "fixtures" / "stores").glob("schema-*.sql"))
HISTORY = ("contact", "assessment", "latest", "event")


@pytest.fixture(params=OLDER, ids=lambda path: path.stem)
def older(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A store that an older arkaudit wrote."""
    path = tmp_path / "audit.db"
    with closing(sqlite3.connect(path)) as raw:
        raw.executescript(request.param.read_text("utf-8"))
    return path


def schema_of(path: Path) -> list[tuple[str, str, str, str]]:
    with closing(sqlite3.connect(path)) as raw:
        found = raw.execute("select type, name, tbl_name, sql from sqlite_master").fetchall()
    # White space aside, of which SQLite puts less before a column that it adds.
    return sorted(((*names, re.sub(r"\s*([,()])\s*|\s+", r"\1 ", sql or "")) for *names, sql in found), key=str)


def version_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as raw:
        return int(raw.execute("pragma user_version").fetchone()[0])


def rows_of(path: Path, *tables: str) -> list[list[tuple[object, ...]]]:
    with closing(sqlite3.connect(path)) as raw:
        return [raw.execute(f"select * from {table} order by 1").fetchall() for table in tables]


def test_there_is_a_store_of_every_older_schema_that_was_ever_written() -> None:
    assert [path.stem for path in OLDER][:1] == [f"schema-{migrations.OLDEST}"]
    assert set(migrations.STEPS) == set(range(migrations.OLDEST, SCHEMA_VERSION))


def test_what_is_brought_up_to_date_has_the_tables_of_a_new_store(older: Path) -> None:
    before = rows_of(older, "run", "document", "mention", "observation", "verdict")
    Store.open(older).close()
    Store.open(older.with_name("new.db")).close()
    assert schema_of(older) == schema_of(older.with_name("new.db"))
    assert version_of(older) == SCHEMA_VERSION
    after = rows_of(older, "run", "document", "mention", "observation", "verdict")
    for old, new in zip(before, after, strict=True):
        assert [row[: len(first)] for row, first in zip(new, old, strict=True)] == old
    with closing(sqlite3.connect(older)) as raw:
        assert raw.execute("pragma foreign_key_check").fetchall() == []


def test_an_optional_column_or_an_index_that_is_missing_is_made(older: Path) -> None:
    with closing(sqlite3.connect(older)) as raw:
        raw.execute("alter table document drop column title")
        raw.execute("drop index verdict_by_ark")
    Store.open(older).close()
    Store.open(older.with_name("new.db")).close()
    columns = [(row[1], row[2]) for path in (older, older.with_name("new.db")) for row in _columns(path)]
    assert sorted(columns[: len(columns) // 2]) == sorted(columns[len(columns) // 2 :])
    assert [row[:3] for row in schema_of(older)] == [row[:3] for row in schema_of(older.with_name("new.db"))]


def _columns(path: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as raw:
        return raw.execute("pragma table_info(document)").fetchall()


def test_its_history_is_that_of_a_store_that_was_written_so(older: Path) -> None:
    Store.open(older).close()
    migrated = rows_of(older, *HISTORY)
    assert all(migrated)
    with Store.open(older) as store, store._writing() as connection:
        rebuild(connection)
    assert rows_of(older, *HISTORY) == migrated


def test_reports_over_it_are_the_same_as_over_the_same_rows_written_anew(older: Path) -> None:
    Store.open(older).close()
    new = older.with_name("new.db")
    Store.open(new).close()
    with closing(sqlite3.connect(new)) as raw:
        raw.execute("attach ? as old", (str(older),))
        for (table,) in raw.execute("select name from old.sqlite_master where type = 'table'").fetchall():
            raw.execute(f"insert into {table} select * from old.{table}")
        raw.commit()
    anew = tables_of(load_frames(new))
    for name, table in tables_of(load_frames(older)).items():
        assert table.equals(anew[name]), name


def test_the_copy_is_the_store_as_it_was(older: Path) -> None:
    tables = ("run", "document", "mention", "observation", "verdict", "finding", "ark", "tls_probe")
    before, old_schema, version = rows_of(older, *tables), schema_of(older), version_of(older)
    Store.open(older).close()
    copy = older.with_name(f"audit.db.v{version}.bak")
    assert (rows_of(copy, *tables), schema_of(copy), version_of(copy)) == (before, old_schema, version)
    assert sorted(path.name for path in older.parent.iterdir()) == ["audit.db", copy.name]


def test_without_room_for_a_copy_nothing_is_touched(older: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = older.read_bytes()
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**6, 10**6, 0))
    with pytest.raises(OlderStore, match="not free"):
        Store.open(older)
    assert older.read_bytes() == before
    assert [path.name for path in older.parent.iterdir()] == ["audit.db"]


def test_where_the_copy_can_not_be_put_nothing_is_touched(older: Path) -> None:
    before, version = older.read_bytes(), version_of(older)
    older.with_name(f"audit.db.v{version}.bak").mkdir()
    with pytest.raises(OlderStore, match="no copy could be made"):
        Store.open(older)
    assert older.read_bytes() == before


DIES = """
import os, signal, sys
from pathlib import Path
from crawler.storage import migrations
from crawler.storage.store import Store

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

module, _, name = sys.argv[2].partition(":")
if name == "migrate":                       # when all is done but the commit
    whole = migrations.migrate
    migrations.migrate = lambda *a: (whole(*a), die())
else:
    owner = {"migrations": migrations, "os": os, "Path": Path}[module]
    setattr(owner, name, die)
Store.open(Path(sys.argv[1]))
"""


@pytest.mark.parametrize(
    "at", ["os:fsync", "Path:replace", "migrations:rebuild", "migrations:run_key", "migrations:migrate"]
)
def test_killed_in_the_middle_it_is_the_old_store_and_can_be_brought_up_to_date_again(older: Path, at: str) -> None:
    old_schema, version = schema_of(older), version_of(older)
    done = subprocess.run([sys.executable, "-c", DIES, str(older), at], check=False, capture_output=True)
    if at == "migrations:run_key" and version >= 5:  # its runs have their keys: this step is not reached
        assert (done.returncode, version_of(older)) == (0, SCHEMA_VERSION), done.stderr
        return
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert (schema_of(older), version_of(older)) == (old_schema, version)
    Store.open(older).close()
    assert version_of(older) == SCHEMA_VERSION
    assert not older.with_name(f"audit.db.v{version}.bak.part").exists()
