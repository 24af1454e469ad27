"""`arkaudit store`: integrity checks, and exports for other programs."""

import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from arkaudit.upkeep.stores import problems
from crawler.store.store import Store
from reports.store.frames import read_store
from reports.store_export import EXPORTED, export
from tests.loopback import run_command, select
from tests.report_world import write_world
from tests.test_history import GUIDE, ONE, OTHER, audit, derived_rows
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
    found = read_store(store_path, lambda connection: list(problems(connection)), checks_values=False)
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


# -- export


def test_each_run_is_a_file_a_table_sorted_by_naan_and_ark(store_path: Path, tmp_path: Path) -> None:
    out = tmp_path / "parquet"
    done = run_command("store", "export", "--store", store_path, "--out", out)
    assert done.returncode == 0, done.stderr
    assert "2 runs written" in done.stderr
    for table in EXPORTED:
        parts = sorted((out / table.name).glob("run=*/part.parquet"))
        assert len(parts) == 2
        [(count,)] = select(store_path, f"select count(*) from {table.name}")
        assert sum(pq.read_metadata(part).num_rows for part in parts) == count
    whole = pq.read_table(out / "verdict").to_pylist()
    assert {(row["ark"], row["naan"], row["object"], str(row["run"])) for row in whole} == {
        ("ark:12x45/x5", "12x45", "resolved", key) for key in keys(store_path)[:1]
    } | {("ark:12x45/x7", "12x45", "broken", key) for key in keys(store_path)}
    [first] = [row for row in pq.read_table(out / "observation").to_pylist() if row["ark"] == "ark:12x45/x5"]
    assert first["at"].isoformat() == "2026-01-01T00:00:00+00:00"
    assert [path for path in out.rglob("*") if path.name.endswith(".part")] == []


def keys(store: Path) -> list[str]:
    with closing(sqlite3.connect(store)) as raw:
        return [uuid for (uuid,) in raw.execute("select uuid from provenance order by run_id")]


def test_rows_are_sorted_by_naan_then_ark(tmp_path: Path) -> None:
    store = write_world(tmp_path / "audit.db")
    edit(store, "insert into provenance select run_id, 'key-' || run_id from run")
    export(store, tmp_path / "out")
    rows = pq.read_table(tmp_path / "out" / "verdict" / "run=key-2").to_pylist()
    assert len(rows) > 5
    assert [(row["naan"], row["ark"]) for row in rows] == sorted((row["naan"], row["ark"]) for row in rows)


def test_unchanged_tables_and_unfinished_runs_are_not_exported(store_path: Path, tmp_path: Path) -> None:
    out = tmp_path / "parquet"
    export(store_path, out)
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*.parquet")}
    with Store.open(store_path) as store:
        store.begin_run(command="run", at="2026-03-01", version="0", resolver="r", user_agent="t", seeds=[])
    done = export(store_path, out)
    assert (done.written, done.unchanged, done.unended) == (0, 2, 1)
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*.parquet")} == before
    next(iter(before)).write_bytes(b"half a file")
    assert export(store_path, out).written == 1


def test_decisions_are_exported_once_and_after_changes(store_path: Path, tmp_path: Path) -> None:
    out = tmp_path / "parquet"
    export(store_path, out)
    assert not (out / "triage").exists()
    decide = ("triage", "acknowledge", "ark:12x45/x7", "--store", store_path)
    assert run_command(*decide, "--reason", "withdrawn").returncode == 0
    export(store_path, out)
    [row] = pq.read_table(out / "triage").to_pylist()
    assert (row["action"], row["target"], row["reason"]) == ("acknowledge", "ark:12x45/x7", "withdrawn")
    before = (out / "triage" / "part.parquet").stat().st_mtime_ns
    export(store_path, out)
    assert (out / "triage" / "part.parquet").stat().st_mtime_ns == before
    assert run_command("triage", "forget", "ark:12x45/x7", "--store", store_path).returncode == 0
    export(store_path, out)
    assert pq.read_table(out / "triage").num_rows == 0


DIES = """
import os, signal, sys
from pathlib import Path
from reports import store_export as parquet
os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
parquet.export(Path(sys.argv[1]), Path(sys.argv[2]))
"""


def test_killed_in_the_middle_no_half_file_is_left_in_place(store_path: Path, tmp_path: Path) -> None:
    out = tmp_path / "parquet"
    done = subprocess.run([sys.executable, "-c", DIES, str(store_path), str(out)], check=False, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert not list(out.rglob("part.parquet"))
    assert export(store_path, out).written == 2
    assert not [path for path in out.rglob("*") if path.name.endswith(".part")]


def test_an_export_to_where_no_folder_can_be_is_a_mistake(store_path: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    for out in (tmp_path / "taken", tmp_path / "taken" / "deeper"):
        done = run_command("store", "export", "--store", store_path, "--out", out)
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr


def test_derived_rows_name_no_key_of_their_own(store_path: Path) -> None:
    with Store.open(store_path) as store:
        assert all(derived_rows(store))
