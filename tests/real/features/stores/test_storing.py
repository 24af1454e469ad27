"""`arkaudit store check`."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from arkaudit.features.stores.checks import problems
from crawler.store.store import Store
from reports.store.store_reading import read_store
from tests.real.loopback import run_command
from tests.unit.crawler.test_history import GUIDE, ONE, OTHER, audit, derived_rows
from tests.vectors import vectors


def edit(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("pragma foreign_keys=off")
        raw.execute(statement)
        raw.commit()


@pytest.fixture
def store_path(tmp_path: Path) -> Path:
    path = tmp_path / "audit.db"
    with Store.open(path) as store:
        audit(store, 0, documents={GUIDE: f"see {ONE} and {OTHER}"}, answers={ONE: 200, OTHER: 404})
        audit(store, 30, documents={GUIDE: f"see {OTHER}"}, answers={OTHER: 404})
    return path


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no read-only file system here")
def test_unwritable_folder_is_not_reported_as_locked() -> None:
    done = run_command("crawl", __file__, "--store", "/proc/x.db")
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr == "arkaudit: the store can't be written: [Errno 2] No such file or directory: '/proc/x.db.lock'\n"
    )


# -- check


def test_sound_store_is_reported_and_unchanged(store_path: Path) -> None:
    before = store_path.read_bytes()
    done = run_command("store", "check", "--store", store_path)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout
    assert "is whole" in done.stderr
    assert store_path.read_bytes() == before
    assert [path.name for path in store_path.parent.iterdir()] == ["audit.db"]


@pytest.mark.parametrize("vector", vectors("store_contradictions"))
def test_contradictions_in_a_store_are_reported(store_path: Path, vector: dict[str, Any]) -> None:
    edit(store_path, vector["statement"])
    found = read_store(store_path, lambda connection: list(problems(connection)))
    assert any(vector["told"] in problem for problem in found), found


def test_damage_is_reported(store_path: Path) -> None:
    with closing(sqlite3.connect(store_path)) as raw:
        page = raw.execute("pragma page_size").fetchone()[0]
        [(root,)] = raw.execute("select rootpage from sqlite_master where name = 'observation'").fetchall()
    with store_path.open("rb+") as file:
        file.seek((root - 1) * page)
        file.write(b"\x00" * page)
    done = run_command("store", "check", "--store", store_path)
    assert done.returncode == 1, done.stderr
    assert done.stdout
    assert "problem" in done.stderr


def test_non_store_is_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("a letter" * 500)
    for name in ("letter.txt", "nothing.db"):
        done = run_command("store", "check", "--store", tmp_path / name)
        assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)


def test_derived_rows_name_no_key_of_their_own(store_path: Path) -> None:
    with Store.open(store_path) as store:
        assert all(derived_rows(store))
