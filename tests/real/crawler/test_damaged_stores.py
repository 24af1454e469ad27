"""Stores that are damaged, foreign or out of reach: one line and a documented exit code, never a traceback."""

import os
import random
import re
import shutil
import socket
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from crawler.store import StoreDamaged
from crawler.store.database import unreadable_rows
from crawler.store.files import damage_in
from crawler.store.store import Store
from reports.store.frames import load_frames
from reports.store.store_reading import read_store
from tests.real.loopback import ON_LOOPBACK, RawServer, reply, run_command
from tests.real.read_only import read_only
from tests.vectors import rows, vectors

ARK = "ark:12148/x5"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return the bytes of a closed store after a run."""
    path = tmp_path_factory.mktemp("world") / "a.db"

    def respond(target: str) -> bytes:
        if target.startswith("/ark:"):
            return reply(body=f"who: A\nwhat: B\nwhen: 2001\nwhere: {target}", **{"Content-Type": "text/plain"})
        return reply(body="<title>T</title> <a href='/b'>b</a> see ark:/12148/x5, ark:/12148/x6 and ark:/12148/bpt6k1")

    with RawServer(respond) as server:
        resolver = f"{server.url}/"
        for _ in range(2):
            done = run_command("run", *ON_LOOPBACK, "--resolver", resolver, "--store", path, "--no-resume", resolver)
            assert done.returncode == 0, done.stderr
    assert not path.with_name("a.db-wal").exists()
    return path.read_bytes()


@pytest.fixture
def store(world: bytes, tmp_path: Path) -> Path:
    path = tmp_path / "a.db"
    path.write_bytes(world)
    return path


#: Every verb that reads a store; `{store}` and `{new}` are filled in.
VERBS = {
    "report": ("report", "--store", "{store}", "--out", "{new}", "--format", "csv"),
    "explain": ("explain", ARK, "--store", "{store}"),
    "known add": ("known", "add", "--store", "{store}", "--known", "{new}.csv"),
    "recheck": ("recheck", "--dry-run", "--store", "{store}"),
}
CHECK = ("store", "check", "--store", "{store}")


def run_verb(verb: tuple[str, ...], store: Path) -> subprocess.CompletedProcess[str]:
    new = store.parent / "new"
    return run_command(*(each.format(store=store, new=new) for each in verb))


def change(store: Path, *statements: str) -> None:
    with closing(sqlite3.connect(store, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
        connection.execute("PRAGMA ignore_check_constraints=ON")
        for statement in statements:
            connection.execute(statement)


@pytest.mark.parametrize("vector", vectors("damaged_rows"))
def test_row_that_cant_be_read_is_named(vector: dict[str, str], store: Path) -> None:
    change(store, vector["statement"])
    checked = run_verb(CHECK, store)
    assert (checked.returncode, vector["words"] in checked.stdout) == (1, True), checked


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS.keys())
def test_unreadable_row_ends_every_command_in_one_line(verb: tuple[str, ...], store: Path) -> None:
    for vector in rows("damaged_rows"):
        change(store, vector["statement"])
    done = run_verb(verb, store)
    assert done.returncode in (0, 3), done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode == 0 or done.stderr.count("\n") == 1, done.stderr


FOREIGN = {
    "a trigger": ("CREATE TRIGGER t AFTER INSERT ON ark BEGIN DELETE FROM run; END",),
    "a view in a table's place": ("ALTER TABLE pause RENAME TO p", "CREATE VIEW pause AS SELECT * FROM p"),
    "a table that is gone": ("DROP TABLE pause",),
    "a column that is gone": ("ALTER TABLE finding RENAME COLUMN detail TO details",),
    "a column that is computed": (
        "ALTER TABLE finding ADD COLUMN more TEXT GENERATED ALWAYS AS (printf('%.*c', 900000000, 'x'))",
    ),
    "a table of another program": ("CREATE TABLE notes (a)",),
    "a view": ("CREATE VIEW mine AS SELECT ark FROM ark",),
    "an index": ("CREATE INDEX i ON verdict (object)",),
    "a virtual table": ("DROP TABLE pause", "CREATE VIRTUAL TABLE pause USING fts5(host)"),
}


def assert_refused(verb: tuple[str, ...], statements: tuple[str, ...], store: Path) -> None:
    change(store, *statements)
    before = store.read_bytes()
    done = run_verb(verb, store)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (3, "", 1), done.stderr
    assert store.read_bytes() == before


@pytest.mark.parametrize("statements", FOREIGN.values(), ids=FOREIGN.keys())
def test_a_store_with_foreign_parts_is_refused(statements: tuple[str, ...], store: Path) -> None:
    assert_refused(VERBS["explain"], statements, store)
    assert run_verb(CHECK, store).returncode == 1


@pytest.mark.parametrize(
    "verb", [*VERBS.values(), ("crawl", "http://127.0.0.1:9/", "--store", "{store}")], ids=[*VERBS, "crawl"]
)
def test_a_store_with_foreign_parts_is_refused_by_every_command(verb: tuple[str, ...], store: Path) -> None:
    assert_refused(verb, FOREIGN["a trigger"], store)


def test_a_schema_may_not_run_functions(store: Path) -> None:
    with Store.open(store) as opened, opened.read_connection() as connection:
        assert connection.exec_driver_sql("PRAGMA trusted_schema").scalar() == 0
    assert read_store(store, lambda connection: connection.exec_driver_sql("PRAGMA trusted_schema").scalar()) == 0


def _flip(data: bytearray, chance: random.Random) -> None:
    for _ in range(chance.choice([1, 1, 2, 9, 99])):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def _flip_schema(data: bytearray, chance: random.Random) -> None:
    for _ in range(chance.randrange(1, 5)):
        data[chance.randrange(16, 12_000)] ^= 1 << chance.randrange(8)


def _cut(data: bytearray, chance: random.Random) -> None:
    del data[chance.randrange(100, len(data)) :]


def _blank(data: bytearray, chance: random.Random) -> None:
    start, size = chance.randrange(len(data)), chance.randrange(1, 9000)
    data[start : start + size] = bytes(len(data[start : start + size]))


def _retype(data: bytearray, chance: random.Random) -> None:
    spots = [match.start() for match in re.finditer(rb'[\[\]{}":]|20\d\d-|[a-z]{5}', bytes(data))]
    for _ in range(chance.randrange(1, 20)):
        data[chance.choice(spots)] = chance.choice(b'\xff\x80\x00"[{}]xA9')


DAMAGES: tuple[Callable[[bytearray, random.Random], None], ...] = (_flip, _flip_schema, _cut, _blank, _retype)


@pytest.mark.parametrize("number", range(10))
def test_no_damage_gives_a_traceback(number: int, world: bytes, tmp_path: Path) -> None:
    chance = random.Random(number)
    data = bytearray(world)
    DAMAGES[number % len(DAMAGES)](data, chance)
    store = tmp_path / "a.db"
    for name, verb in (VERBS | {"store check": CHECK}).items():
        store.write_bytes(data)
        done = run_verb(verb, store)
        assert "Traceback" not in done.stderr, name
        assert done.returncode in ((0, 1, 2, 3) if name in ("store check", "explain") else (0, 2, 3)), (
            name,
            done.stderr,
        )
        assert done.returncode < 2 or done.stderr.count("\n") == 1, (name, done.stderr)


def test_a_damaged_head_is_no_store_and_a_damaged_body_is_a_damaged_one(store: Path, world: bytes) -> None:
    store.write_bytes(b"SQLite format 4" + world[15:])
    assert run_verb(VERBS["report"], store).returncode == 2
    store.write_bytes(world[:5000])
    assert run_verb(VERBS["report"], store).returncode == 3
    assert damage_in(store)
    with pytest.raises(StoreDamaged):
        Store.open(store)
    with pytest.raises(StoreDamaged):
        load_frames(store)


def test_a_large_store_is_not_looked_through_whole(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr("crawler.store.files.LOOKED_THROUGH_BYTES", 10)
    read_store(store, lambda connection: asked.append("read"))
    assert asked == ["read"]


def test_a_sound_store_has_no_rows_that_cant_be_read(store: Path) -> None:
    assert read_store(store, lambda connection: list(unreadable_rows(connection))) == []
    assert damage_in(store) is None


# -- paths that are no file, and files that can't be written


@pytest.fixture(params=["pipe", "socket", "folder", "device"])
def no_file(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "a.db"
    match request.param:
        case "pipe":
            os.mkfifo(path)
            yield path
        case "socket":
            with socket.socket(socket.AF_UNIX) as bound:
                bound.bind(str(path))
                yield path
        case "folder":
            path.mkdir()
            yield path
        case "device":
            path.symlink_to("/dev/zero")
            yield path


@pytest.mark.parametrize("verb", [*VERBS.values(), CHECK, ("crawl", "http://127.0.0.1:9/", "--store", "{store}"),
    ("check", "--store", "{store}", "ark:/12345/x"), ("run", "http://127.0.0.1:9/", "--dry-run", "--store", "{store}")],
    ids=[*VERBS, "store check", "crawl", "check", "dry run"])  # fmt: skip
def test_non_file_is_no_store(verb: tuple[str, ...], no_file: Path) -> None:
    done = run_verb(verb, no_file)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr


@pytest.mark.parametrize("verb", ["report", "explain", "store check"])
def test_read_only_store_is_read(verb: str, store: Path, tmp_path: Path) -> None:
    folder = tmp_path / "archive"
    folder.mkdir()
    shutil.move(store, folder / "a.db")
    arguments = [
        each.format(store=folder / "a.db", new=tmp_path / "out") for each in (VERBS | {"store check": CHECK})[verb]
    ]
    expected = run_command(*arguments)
    assert expected.returncode == 0, expected.stderr
    with read_only(folder):
        done = run_command(*arguments)
    assert (done.returncode, done.stdout, done.stderr) == (0, expected.stdout, expected.stderr)
    assert [each.name for each in folder.iterdir()] == ["a.db"]


def test_read_only_store_with_leftover_wal_is_read(store: Path, tmp_path: Path) -> None:
    change(store, "PRAGMA journal_mode=WAL")
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("UPDATE run SET version = 'of the log'")
        connection.commit()
        folder = tmp_path / "archive"
        folder.mkdir()
        for suffix in ("", "-wal"):
            shutil.copyfile(f"{store}{suffix}", f"{folder / 'a.db'}{suffix}")
    with read_only(folder):
        assert set(load_frames(folder / "a.db").run["version"]) == {"of the log"}
        assert run_verb(VERBS["explain"], folder / "a.db").returncode == 0


# -- TOML


DEEP = {
    "lists": "seeds = " + "[" * 20_000 + "]" * 20_000,
    "tables": "hosts = " + "{a = " * 20_000 + "1" + "}" * 20_000,
    "dotted keys": ".".join("a" * 5_000) + " = 1",  # tomllib takes the square of that
    "headings": f"[{'.'.join('a' * 5_000)}]\nx = 1",
    "lists of tables": f"[[{'.'.join('a' * 5_000)}]]\nx = 1",
    "a long number": "seeds = " + "9" * 5000,
    "a table of audits": f"[audits.a.{'.'.join('a' * 5_000)}]\nx = 1",
    "a byte that is no UTF-8": "seeds = ['\udcff']",
}


def assert_one_line(verb: tuple[str, ...], text: str, folder: Path, world: bytes) -> None:
    file, store = folder / "a.toml", folder / "a.db"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    store.write_bytes(world)
    done = run_command(*(part.format(file=file, store=store) for part in verb))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert len(done.stderr) < 600


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP.keys())
def test_malformed_toml_is_one_line(text: str, tmp_path: Path, world: bytes) -> None:
    assert_one_line(("schedule", "list", "-c", "{file}"), text, tmp_path, world)


@pytest.mark.parametrize("verb", [
    ("run", "-c", "{file}"), ("check", "-c", "{file}", "ark:/12345/x"), ("extract", "-c", "{file}", "-"),
    ("report", "-c", "{file}"), ("schedule", "due", "-c", "{file}"), ("schedule", "run", "-c", "{file}"),
    ("notify", "test", "-c", "{file}"),
], ids=lambda verb: " ".join(verb[:2]))  # fmt: skip
def test_every_command_reports_malformed_toml_in_one_line(verb: tuple[str, ...], tmp_path: Path, world: bytes) -> None:
    assert_one_line(verb, next(iter(DEEP.values())), tmp_path, world)
