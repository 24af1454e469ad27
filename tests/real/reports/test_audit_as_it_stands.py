"""The subject of `report` without --run: the present state of an audit, after any smaller runs."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.real.loopback import ON_LOOPBACK, RawServer, json_lines, reply, run_command


class Site:
    """A site with a page that cites three ARKs, some of them alive; and the store of its audits."""

    def __init__(self, folder: Path, server: RawServer, living: set[str], down: set[str]) -> None:
        self.folder, self.server, self.living, self.down = folder, server, living, down
        self.store = folder / "audit.db"

    def ark(self, name: str) -> str:
        return f"{self.server.url}/ark:/12x45/{name}"

    def command(self, verb: str, *arguments: str | Path) -> Any:
        return run_command(verb, *ON_LOOPBACK, *arguments, "--store", self.store)

    def run(self) -> Any:
        return self.command("run", f"{self.server.url}/page")

    def report(self, *arguments: str | Path) -> dict[str, Any]:
        done = run_command("report", "--store", self.store, "--format", "json", "--out", "-", *arguments)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


def objects(report: dict[str, Any]) -> dict[str, str]:
    return {row["ark"].rpartition("/")[2]: row["object"] for row in report["tables"]["arks"]["rows"]}


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Yield the site after its first audit, which found a and b alive; tests work in copies of the store."""
    living, down = {"a", "b"}, set[str]()

    def respond(target: str) -> bytes:
        name = target.partition("?")[0].rpartition("/")[2]
        if target in down:
            return reply("503 Service Unavailable")
        if target == "/page":
            return reply(body="".join(f"<p><a href='/ark:/12x45/{each}'>{each}</a>" for each in "abc"))
        return reply(body=f"<title>{name}</title>") if name in living else reply("404 Not Found")

    with RawServer(respond) as server:
        site = Site(tmp_path_factory.mktemp("audited"), server, living, down)
        assert site.run().returncode == 0
        yield site


@pytest.fixture
def site(audited: Site, tmp_path: Path) -> Site:
    audited.living.clear()
    audited.living.update("ab")
    audited.down.clear()
    shutil.copy(audited.store, tmp_path)
    return Site(tmp_path, audited.server, audited.living, audited.down)


def test_a_check_of_some_of_its_arks_changes_their_verdicts_and_nothing_else(site: Site) -> None:
    site.living ^= {"b", "c"}
    site.command("check", site.ark("b"))
    site.command("check", site.ark("c"))
    out = site.folder / "out"
    forms = ("--format", "html", "--format", "md", "--format", "json")
    done = run_command("report", "--store", site.store, "--out", out, *forms, COLUMNS="400")
    report = json.loads((out / "report.json").read_bytes())
    about = report["audit"]
    assert objects(report) == {"a": "resolved", "b": "broken", "c": "resolved"}
    assert (about["run"], about["later_runs"], about["checked_again"]) == (1, [2, 3], 2)
    assert about["seeds"] == [f"{site.server.url}/page"]
    moments = {row["ark"][-1]: row["checked_at"] for row in report["tables"]["arks"]["rows"]}
    assert moments["a"] < moments["b"] < moments["c"]
    assert {row["measure"]: row["value"] for row in report["tables"]["summary"]["rows"]}["citations"] == 3
    assert {row["event"] for row in report["tables"]["changes"]["rows"]} == {"new", "recovered"}
    # The first lines say in every form what is reported.
    verdict, first, second = done.stdout.splitlines()[:3]
    assert verdict.startswith("1 of 3 judged ARKs fails;")
    assert first.startswith(f"Audit of {site.server.url}/page: run 1 (run) of the store audit.db, 20")
    assert "links within the site of a seed" in first
    assert second.startswith("Current state: 2 ARKs of 3 checked again since")
    page, text = (out / "index.html").read_text("utf-8"), (out / "report.md").read_text("utf-8")
    assert f"<title>Which ARKs persist? {site.server.url}/page, 20" in page
    for form in (page, text):
        assert all(line in form for line in (verdict, first, second))
    assert about["sentences"][1] == second
    assert site.run().returncode == 0
    changes = {(row["ark"][-1], row["event"]) for row in site.report("--run", "4")["tables"]["changes"]["rows"]}
    assert changes == {("b", "failing"), ("c", "recovered")}, "the checks between two audits found them"


def test_one_run_alone_is_as_it_was(site: Site) -> None:
    before = site.report("--run", "1")
    assert objects(before) == {"a": "resolved", "b": "resolved", "c": "broken"}
    site.living.clear()
    site.command("check", site.ark("a"))
    alone = site.report("--run", "1")
    knowing_the_state_of_today = {"arks", "summary", "targets"}
    for name in before["tables"].keys() - knowing_the_state_of_today:
        assert alone["tables"][name] == before["tables"][name], name
    assert objects(alone) == objects(before)
    assert "alone" in alone["audit"]["sentences"][1]
    assert objects(site.report("--run", "2")) == {"a": "broken"}


def test_runs_over_due_or_listed_arks_are_merged(site: Site) -> None:
    site.living.add("c")
    assert site.command("recheck", "--ark", site.ark("c")).returncode == 0
    inventory = site.folder / "inventory.csv"
    inventory.write_text("ark,title\nark:12x45/a,A\nark:12x45/z,Z\n")
    site.command("check", "--resolver", f"{site.server.url}/", "--inventory", inventory)
    report = site.report("--inventory", inventory)
    assert objects(report) == {"a": "resolved", "b": "resolved", "c": "resolved"}
    findings = {row["ark"][-1]: row["finding"] for row in report["tables"]["inventory"]["rows"]}
    assert findings == {"a": None, "z": "never-cited", "b": "extra", "c": "extra"}, "b and c are cited and not listed"


def test_run_without_readings_is_not_the_audits_state(site: Site) -> None:
    site.down.add("/page")
    assert site.run().returncode == 3
    report = site.report()
    assert report["audit"]["run"] == 1
    assert objects(report) == {"a": "resolved", "b": "resolved", "c": "broken"}
    assert any("Run 2 of " in each and "could read no document" in each for each in report["audit"]["sentences"])
    assert not [row for row in report["tables"]["changes"]["rows"] if row["event"] == "gone"]


def test_checks_alone_are_about_every_ark_that_was_ever_checked(site: Site) -> None:
    site.store = site.folder / "checks.db"
    for name in ("a", "c"):
        assert len(json_lines(site.command("check", site.ark(name)).stdout)) == 1
    report = site.report()
    assert objects(report) == {"a": "resolved", "c": "broken"}
    assert report["audit"]["title"].startswith("all ARKs ever given")
    assert report["audit"]["seeds"] == [], "arguments of checks are no seeds"
    assert objects(site.report("--run", "1")) == {"a": "resolved"}
