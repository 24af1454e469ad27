"""The history of an ARK as `arkaudit explain` prints it."""

import json
from pathlib import Path

import pytest

from tests.real.loopback import run_command
from tests.unit.crawler import test_history
from tests.unit.crawler.test_history import GUIDE

store_path = test_history.store_path


@pytest.mark.promise
def test_history_command_prints_lines(store_path: Path) -> None:
    done = run_command(
        "explain", "http://elsewhere.example/ark:/12x45/x-5", "--store", store_path, PYTHONIOENCODING="utf-8"
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "ark:12x45/x5"
    assert f"cited in {GUIDE}: 1 citation, 2026-01-01 to 2026-02-16" in lines
    assert "  █▁▁▁▄█" in lines
    assert any("failing > confirmed-broken: broken 404" in line for line in lines)
    assert any("recovered: after 3 failures since 2026-01-31; it had been confirmed broken" in line for line in lines)
    in_ascii = run_command("explain", "ark:12x45/x5", "--store", store_path, PYTHONIOENCODING="ascii")
    assert "  #___-#" in in_ascii.stdout.splitlines()
    assert in_ascii.stdout.isascii()


def test_history_command_prints_json(store_path: Path) -> None:
    done = run_command("explain", "ark:12x45/x7", "--store", store_path, "--format", "jsonl")
    row = json.loads(done.stdout)
    assert row["ark"] == "ark:12x45/x7"
    assert row["urls"][0]["spark"] == "####-"
    assert row["urls"][0]["gone_at"].startswith("2026-02-16")


@pytest.mark.parametrize(
    ("asked", "store", "code"),
    [("ark:12x45/never", "audit.db", 1), ("no ark", "audit.db", 2), ("ark:1/x5", "no.db", 2)],
)
def test_unknown_history_is_one_line(store_path: Path, asked: str, store: str, code: int) -> None:
    before = store_path.read_bytes()
    done = run_command("explain", asked, "--store", store_path.with_name(store))
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (code, "", 1)
    assert store_path.read_bytes() == before
    assert [path.name for path in store_path.parent.iterdir()] == ["audit.db"]
