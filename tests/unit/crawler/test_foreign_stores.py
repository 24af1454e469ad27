"""Stores of strangers: values that no store holds, links, pipes and devices next to one, and stores cut off."""

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from crawler.store import StoreDamaged, StoreUnopenable
from crawler.store.files import real_path
from crawler.store.store import Store
from reports.store.frames import load_frames
from reports.store.store_reading import read_store
from tests.vectors import rows

AT = "2026-11-21T00:00:00.000+00:00"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Return a small store with a row in each table that the tests change."""
    path = tmp_path / "a.db"
    with Store.open(path) as made:
        run = made.begin_run(command="run", at=AT, version="0", resolver="", user_agent="t", seeds=["a"])
        with made.transaction() as connection:
            for statement in ROWS:
                connection.exec_driver_sql(statement)
        made.end_run(run, at=AT, state="finished")
    return path


ROWS = (
    "insert into assessment (run_id, is_suspect, reason) values (1, 0, '')",
    "insert into ark (ark_id, ark, naan, name, qualifier) values (1, 'ark:1/x', '1', 'x', '')",
    (
        "insert into document (document_id, run_id, url, fetched_at, outcome, hops)"
        f" values (1, 1, 'http://a/', '{AT}', 'read', '[]')"
    ),
    (
        "insert into frontier (run_id, spider, canonical, url, kind, host, depth, reach, part, rank, state, attempts)"
        " values (1, 'documents', 'a', 'a', 'page', 'a', 0, 'site', 0, 1, 'done', 1)"
    ),
)


def change(store: Path, statement: str) -> None:
    with closing(sqlite3.connect(store, isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints=ON")
        connection.execute(statement)
        connection.execute("PRAGMA journal_mode=DELETE")


WRONG_VALUES = {vector["why"]: vector["statement"] for vector in rows("wrong_values")}


@pytest.mark.parametrize("why", WRONG_VALUES)
def test_wrong_values_are_refused_by_every_command_with_a_store(why: str, store: Path) -> None:
    change(store, WRONG_VALUES[why])
    before = store.read_bytes()
    with pytest.raises(StoreDamaged, match=r"\w+ row 1: a value fails the check"):
        Store.open(store)
    with pytest.raises(StoreDamaged):
        load_frames(store)
    assert store.read_bytes() == before


def test_huge_value_is_refused_before_it_is_read(store: Path) -> None:
    change(store, "update run set user_agent = printf('%.*c', 40000000, 'x')")
    with pytest.raises(StoreDamaged, match="too big"):
        load_frames(store)


# -- one store, one name


def test_store_reached_by_a_link_has_its_log_and_its_lock(store: Path, tmp_path: Path) -> None:
    link = tmp_path / "elsewhere" / "link.db"
    link.parent.mkdir()
    link.symlink_to(store)
    with Store.open(store) as opened:
        opened.begin_run(command="x", at=AT, version="", resolver="", user_agent="", seeds=[])
        count = read_store(link, lambda one: one.exec_driver_sql("select count(*) from run").scalar())
        assert count == 2, "the newest run is in the log, which lies next to the store"
        with pytest.raises(StoreUnopenable):
            Store.open(link)
    with Store.open(link) as opened, pytest.raises(StoreUnopenable):
        Store.open(store)
    assert [one.name for one in link.parent.iterdir()] == ["link.db"]


def _fifo(path: Path) -> None:
    os.mkfifo(path)


OBSTACLES: dict[str, Callable[[Path], None]] = {
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a pipe": _fifo,
    "a folder": Path.mkdir,
    "a link": lambda path: path.symlink_to("/etc/passwd"),
    "a link to itself": lambda path: path.symlink_to(path),
    "a file of two names": lambda path: path.hardlink_to(__file__),
}


@pytest.mark.parametrize("suffix", ["-wal", "-journal", "-shm", ".lock"])
@pytest.mark.parametrize("put", OBSTACLES.values(), ids=OBSTACLES.keys())
def test_only_files_lie_next_to_a_store(put: Callable[[Path], None], suffix: str, store: Path, tmp_path: Path) -> None:
    if put is OBSTACLES["a file of two names"]:
        (tmp_path / "other").write_bytes(b"")
        (tmp_path / f"a.db{suffix}").hardlink_to(tmp_path / "other")
    else:
        put(tmp_path / f"a.db{suffix}")
    with pytest.raises(StoreUnopenable, match=rf"a\.db{suffix} (is|has) "):
        Store.open(store)
    with pytest.raises(StoreUnopenable):
        load_frames(store)


def test_circle_of_links_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "a.db").symlink_to(tmp_path / "b.db")
    (tmp_path / "b.db").symlink_to(tmp_path / "a.db")
    with pytest.raises(StoreUnopenable):
        real_path(tmp_path / "a.db")


# -- a store that was begun, and cut off


def _sql(*statements: str) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            for statement in statements:
                connection.execute(statement)

    return make


CUT_OFF: dict[str, Callable[[Path], None]] = {
    "no byte": lambda path: path.write_bytes(b"") and None,
    "an empty page": _sql("PRAGMA journal_mode=WAL", "VACUUM"),
    "a name": _sql("PRAGMA application_id=1095912257"),
    "half a schema": _sql("PRAGMA application_id=1095912257", "CREATE TABLE run (run_id INTEGER PRIMARY KEY)"),
    "a hundred bytes": lambda path: path.write_bytes(path.with_name("whole.db").read_bytes()[:100]) and None,
    "five bytes": lambda path: path.write_bytes(b"SQLit") and None,
}


@pytest.mark.parametrize("make", CUT_OFF.values(), ids=CUT_OFF.keys())
def test_truncated_store_is_reported(make: Callable[[Path], None], store: Path, tmp_path: Path) -> None:
    shutil.copy(store, tmp_path / "whole.db")
    path = tmp_path / "cut.db"
    make(path)
    with pytest.raises(StoreUnopenable, match="it was begun and cut off"):
        load_frames(path)


def test_store_that_was_only_begun_hides_no_trigger(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    _sql(
        "PRAGMA application_id=1095912257",
        "CREATE TABLE t (a)",
        "CREATE TRIGGER x AFTER INSERT ON t BEGIN DELETE FROM t; END",
    )(path)
    with pytest.raises(StoreDamaged, match="which no store has"):
        Store.open(path)
    other = tmp_path / "b.db"
    CUT_OFF["half a schema"](other)
    with pytest.raises(StoreDamaged, match=r"has another table run|lacks its table"):
        Store.open(other)
