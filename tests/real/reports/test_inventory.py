"""An inventory in an audit over real sockets, and mistakes in it."""

from pathlib import Path
from typing import Any

import pytest

from extractors.model.errors import UserMistake
from reports.store.inventory import read_inventory
from tests.real.loopback import ON_LOOPBACK, RawServer, read_csv, reply, run_command
from tests.report_world import write_world
from tests.unit.reports.test_inventory import write_inventory
from tests.vectors import vectors


@pytest.mark.parametrize("vector", vectors("bad_inventories"))
def test_bad_line_is_named_in_one_line(tmp_path: Path, vector: dict[str, Any]) -> None:
    line = vector["line"]
    path = write_inventory(tmp_path, vector["text"].encode(vector.get("encoding", "utf-8")))
    with pytest.raises(UserMistake) as told:
        read_inventory(path)
    assert str(told.value).startswith(f"{path}:{line}: ")
    assert vector["words"] in str(told.value)
    store = write_world(tmp_path / "audit.db")
    for command in (("report", "--store", store, "--out", tmp_path / "out"), ("check", *ON_LOOPBACK)):
        done = run_command(*command, "--inventory", path)
        assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1), done.stderr
        assert f"{path}:{line}: " in done.stderr
    assert not (tmp_path / "out").exists()


def test_empty_partial_report_is_reported(tmp_path: Path) -> None:
    store = write_world(tmp_path / "audit.db")
    for options, words in (
        (("--naan", "99998"), "no ARK of this run matches NAAN 99998"),
        (("--naan", "12148"), ""),
        (("--document", "nowhere/*"), "no ARK of this run matches documents nowhere/*"),
    ):
        done = run_command("report", "--store", store, *options, "--fail-on", "broken")
        said = [line for line in done.stderr.splitlines() if " matches " in line]
        assert said == ([f"arkaudit: {words}"] if words else [])
        assert ("exit code 1 because of --fail-on broken: found broken" in done.stderr) == (done.returncode == 1)
        assert (f"arkaudit known add WHAT --store {store}" in done.stderr) == (done.returncode == 1)


# -- the command


def test_an_inventory_is_checked_and_reported_over_real_sockets(tmp_path: Path) -> None:
    store, ours, config = tmp_path / "audit.db", tmp_path / "own.csv", tmp_path / "arkaudit.toml"

    def answer(target: str) -> bytes:
        name = target.partition("?")[0].rpartition("/")[2]
        if "/ark:" in target and name == "x5":
            return reply("302 Found", Location="/view/x5")
        if target == "/view/x5":
            return reply(body="<title>Object x5</title><p>The whole text of object x5, and nothing else.")
        return reply("404 Not Found", "<p>not here")

    with RawServer(answer) as server:
        ours.write_text(f"ark,expected_url\nark:12x45/x5,{server.url}/view/x5/#top\nark:12x45/xd4,\n")
        config.write_text('store = "audit.db"\ninventory = "own.csv"\n')
        check = ("check", "--inventory", ours, "--resolver", f"{server.url}/", "--store", store, "--attempts", "1")
        done = run_command(*check, *ON_LOOPBACK)
        assert (done.returncode, len(done.stdout.splitlines())) == (0, 2), done.stderr
        out = tmp_path / "report"
        assert run_command("report", "-c", config, "--out", out, "--format", "csv").returncode == 0
        landing = f"{server.url}/view/x5"
    rows = {row["ark"].rpartition("/")[2]: row for row in read_csv(out / "tables" / "inventory.csv")}
    assert {name: (row["finding"], row["object"]) for name, row in rows.items()} == {
        "x5": ("never-cited", "resolved"),
        "xd4": ("never-cited", "broken"),
    }
    assert (rows["x5"]["expected_url"], rows["x5"]["final_url"]) == (f"{landing}/#top", landing)
