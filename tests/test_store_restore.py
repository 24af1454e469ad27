"""A store is exported, and made again of that: what is reported on it is the same, byte for byte."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crawler.history.ark_status import StatusPolicy
from crawler.storage.store import Store
from reports.exports import write_report
from reports.frames import load_frames
from reports.store_export import export
from reports.store_restore import ExportUnreadable, is_export, restore
from tests.loopback import run_command
from tests.test_history import GUIDE, ONE, OTHER, audit
from tests.test_migrations import HISTORY, rows_of
from tests.test_report_exports import files
from tests.test_storing import PRIMARY


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    path = tmp_path / "audit.db"
    with Store.open(path) as store:
        audit(store, 0, documents={GUIDE: f"see {ONE} and {OTHER}"}, answers={ONE: 200, OTHER: 404})
        audit(store, 30, documents={GUIDE: f"see {OTHER}"}, answers={OTHER: 404})
    return path


def report_of(store: Path, out: Path) -> dict[str, bytes]:
    write_report(load_frames(store), out, ("html", "csv", "json"))
    return files(out)


def test_the_report_is_that_of_the_store(kept: Path, tmp_path: Path) -> None:
    export(kept, tmp_path / "parquet")
    assert is_export(tmp_path / "parquet")
    (tmp_path / "again").mkdir()
    assert restore(tmp_path / "parquet", tmp_path / "again" / kept.name) == 2
    assert report_of(tmp_path / "again" / kept.name, tmp_path / "two") == report_of(kept, tmp_path / "one")


def test_the_command_reports_on_an_export_with_all_options_of_a_store(kept: Path, tmp_path: Path) -> None:
    assert run_command("triage", "acknowledge", "ark:12x45/x7", "--store", kept, "--reason", "old").returncode == 0
    out = tmp_path / "parquet"
    assert run_command("store", "export", "--store", kept, "--out", out).returncode == 0
    options = ("--format", "json", "--out", "-", "--since", "1", "--fail-on", "broken")
    one = run_command("report", "--store", kept, *options)
    two = run_command("report", "--dataset", out, *options)
    assert '"acknowledged"' in one.stdout
    assert (two.returncode, two.stdout) == (one.returncode, one.stdout)
    both = run_command("report", "--dataset", out, "--store", kept)
    assert (both.returncode, len(both.stderr.splitlines())) == (2, 1)


def test_an_export_is_brought_into_a_store_as_the_store_itself_would_be(kept: Path, tmp_path: Path) -> None:
    export(kept, tmp_path / "parquet")
    for expected in ("2 runs brought", "0 runs brought"):
        done = run_command("store", "import", tmp_path / "parquet", "--store", tmp_path / "new.db")
        assert (done.returncode, expected in done.stderr) == (0, True), done.stderr
    assert rows_of(tmp_path / "new.db", *PRIMARY, *HISTORY) == rows_of(kept, *PRIMARY, *HISTORY)


def test_the_rules_by_which_the_status_is_kept_come_along(kept: Path, tmp_path: Path) -> None:
    with Store.open(kept) as store:
        store.set_status_policy(StatusPolicy(strikes=2, days=1))
    export(kept, tmp_path / "parquet")
    restore(tmp_path / "parquet", tmp_path / "again.db")
    assert rows_of(tmp_path / "again.db", "policy", *HISTORY) == rows_of(kept, "policy", *HISTORY)
    assert "confirmed-broken" in str(rows_of(kept, "latest"))


def test_runs_of_two_stores_in_one_folder_are_those_of_both_stores_together(kept: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with Store.open(other) as store:
        audit(store, 15, answers={OTHER: 404, "http://a.example/ark:/12x45/x9": 200}, seeds=[])
    for each in (kept, other):
        export(each, tmp_path / "parquet")
    assert restore(tmp_path / "parquet", tmp_path / "again.db") == 3
    assert run_command("store", "check", "--store", tmp_path / "again.db").returncode == 0
    with Store.open(tmp_path / "again.db") as store:
        states = {each.ark: each.state for each in store.known_arks()}
    assert states["ark:12x45/x7"] == "confirmed-broken", "three failures over thirty days, in two stores"


def _removed(place: Path) -> None:
    place.unlink()


def _cut_off(place: Path) -> None:
    place.write_bytes(place.read_bytes()[:-9])


def _of_another_version(place: Path) -> None:
    table = pq.read_table(place, partitioning=None)
    pq.write_table(table.replace_schema_metadata({"arkaudit": "3 finished 2026"}), place)


def _without_a_column(place: Path) -> None:
    pq.write_table(pq.read_table(place, partitioning=None).drop_columns(["request_url"]), place)


def _with_another_word(place: Path) -> None:
    table = pq.read_table(place, partitioning=None)
    words = pa.array(["ark:/"] * table.num_rows, pa.string())
    pq.write_table(table.set_column(table.column_names.index("ark"), "ark", words), place)


def _of_bytes(place: Path) -> None:
    place.write_bytes(bytes(range(256)) * 20)


@pytest.mark.parametrize(
    "damage", [_removed, _cut_off, _of_another_version, _without_a_column, _with_another_word, _of_bytes]
)
def test_what_is_not_whole_is_refused_in_one_line(kept: Path, tmp_path: Path, damage: object) -> None:
    out = tmp_path / "parquet"
    export(kept, out)
    table = "observation"
    place = sorted((out / table).glob("run=*/part.parquet"))[0]
    assert callable(damage)
    damage(place)
    done = run_command("report", "--dataset", out, "--out", tmp_path / "report")
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1), done.stderr
    assert not (tmp_path / "report").exists()
    done = run_command("store", "import", out, "--store", tmp_path / "new.db")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".arkaudit")]


def test_a_folder_that_is_no_export_is_refused(tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "empty", ignore_errors=True)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ExportUnreadable, match="is not an export"):
        restore(tmp_path / "empty", tmp_path / "new.db")
    done = run_command("store", "import", tmp_path / "empty", "--store", tmp_path / "new.db")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
