"""`arkaudit check --from DATASET`: the distinct ARKs of a dataset, asked for like those of a list."""

from __future__ import annotations

from pathlib import Path

from tests.dataset_world import make, rows_in
from tests.loopback import RawServer, check_rows, outcomes, reply, run_command

_NAMES = ("btv1b8449691v", "bpt6k107371t")


def _answer(target: str) -> bytes:
    return reply(body="<title>A map</title>") if _NAMES[0] in target else reply("404 Not Found")


def test_each_ark_of_a_dataset_is_asked_for_once(tmp_path: Path) -> None:
    with RawServer(_answer) as server:
        for number in range(3):
            broken, whole = f"{_NAMES[1][:7]}\n{_NAMES[1][7:]}", _NAMES[1]
            text = f"{server.url}/ark:/12148/{_NAMES[0]} and ark:/12148/{broken}, ark:/12148/{whole}"
            (tmp_path / f"{number}.txt").write_text(text)
        make(tmp_path / "ds", [tmp_path / f"{number}.txt" for number in range(3)], part_bytes=10)
        assert len(rows_in(tmp_path / "ds", "mentions")) == 9
        rows = check_rows("--from", tmp_path / "ds", "--resolver", server.url, "--store", tmp_path / "audit.db")
        asked = [line.split()[1] for line in server.request_lines]
    assert [row["ark"] for row in rows] == [f"ark:12148/{name}" for name in sorted(_NAMES)]
    assert outcomes(rows) == ["broken", "resolved"]
    for name in _NAMES:
        assert asked.count(f"/ark:/12148/{name}") == 1
    assert (tmp_path / "audit.db").exists()


def test_what_is_no_finished_dataset_is_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = run_command("check", "--from", tmp_path / "empty")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "is no dataset" in done.stderr
    (tmp_path / "a.txt").write_text("no ARK in it")
    make(tmp_path / "ds", [tmp_path / "a.txt"])
    done = run_command("check", "--from", tmp_path / "ds")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "there is no ARK in" in done.stderr
    (tmp_path / "ds" / "manifest.json").unlink()
    done = run_command("check", "--from", tmp_path / "ds")
    assert "the command that makes it has not come to its end" in done.stderr


def test_a_dry_run_counts_the_arks_of_a_dataset(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("ark:/12148/btv1b8449691v https://b.example/ark:/12148/btv1b8449691v")
    make(tmp_path / "ds", [tmp_path / "a.txt"])
    done = run_command("check", "--from", tmp_path / "ds", "--dry-run")
    assert done.returncode == 0
    assert "n2t.net" in done.stdout
    assert "b.example" in done.stdout
