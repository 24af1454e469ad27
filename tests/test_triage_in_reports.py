"""A run over real sockets, decisions, and a second report: known problems are counted, and others raised."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from bs4 import BeautifulSoup

from tests.loopback import ON_LOOPBACK, RawServer, read_csv, reply, run_command

GOOD, GONE, LOST, BUSY = ("x5", "x7", "x9", "xb2")
STATUS = {GOOD: "200 OK", GONE: "404 Not Found", LOST: "404 Not Found", BUSY: "500 Internal Server Error"}


class Library:
    """A site of two pages and the ARKs that they cite; the outcome of each ARK can change."""

    def __init__(self) -> None:
        self.status = dict(STATUS)

    def respond(self, target: str) -> bytes:
        name = target.rpartition("/")[2].partition("?")[0]
        if name in self.status:
            return reply(self.status[name], f"<title>Object {name}</title><p>The whole text of object {name}.")
        if name in ("", "theses"):
            cited = (GOOD, GONE, LOST) if not name else (GONE, BUSY)
            links = "".join(f'<p><a href="/ark:/12x45/{each}">the object {each}</a>' for each in cited)
            return reply(body=f"<title>A page</title>{links}<a href='/theses'>theses</a>")
        return reply("404 Not Found", "<p>There is no such name.")


def report(store: Path, *formats: str, printed: str = "") -> Path:
    """Return a report as tables, and in these formats; its output has the words *printed*."""
    out = store.with_name("report")
    options = [word for name in ("csv", *formats) for word in ("--format", name)]
    done = run_command("report", "--store", store, "--out", out, *options)
    assert (done.returncode, printed in done.stdout) == (0, True), done.stderr
    return out


def rows(out: Path, table: str) -> list[dict[str, str]]:
    return read_csv(out / "tables" / f"{table}.csv")


def measure(out: Path, name: str) -> str | None:
    return next((row["value"] for row in rows(out, "summary") if row["measure"] == name), None)


def results(out: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((out / "report.sarif").read_text("utf-8"))["runs"][0]["results"]
    return found


def fails_on(store: Path, token: str, *options: str) -> bool:
    return run_command("report", "--store", store, "--fail-on", token, *options).returncode == 1


def test_decided_problems_are_counted_and_not_raised(tmp_path: Path) -> None:
    store, library = tmp_path / "audit.db", Library()
    with RawServer(library.respond) as server:
        again = ("run", f"{server.url}/", "--store", store, "--no-resume", "--attempts", "1", *ON_LOOPBACK)
        assert run_command(*again).returncode == 0
        first = report(store)
        assert {row["ark"] for row in rows(first, "failures")} == {f"ark:12x45/{each}" for each in (GONE, LOST, BUSY)}
        assert (measure(first, "known problems"), rows(first, "known")) == (None, [])
        before = {row["measure"]: row["value"] for row in rows(first, "summary")}

        decide = ("triage", "acknowledge", f"ark:12x45/{GONE}", "--reason", "withdrawn in 2024", "--store", store)
        assert run_command(*decide).returncode == 0
        until = ("--until", "2199-01-01", "--reason", "=the server moves")
        assert run_command("triage", "ignore", f"ark:12x45/{BUSY}", *until, "--store", store).returncode == 0
        assert (
            run_command("triage", "assign", "--pattern", "ark:12x45/*", "--to", "anna", "--store", store).returncode
            == 0
        )

        words = "2 known: 1 acknowledged, 1 ignored until 2199-01-01."
        second = report(store, "html", "md", "junit", "sarif", printed=words)
        assert [(row["ark"], row["assignee"]) for row in rows(second, "failures")] == [(f"ark:12x45/{LOST}", "anna")]
        assert [(row["arks"], row["assignees"]) for row in rows(second, "causes")] == [("1", "anna")]
        known = [(row["treatment"], row["ark"], row["document"].rpartition("/")[2]) for row in rows(second, "known")]
        assert known == [
            ("acknowledged", f"ark:12x45/{GONE}", ""),
            ("acknowledged", f"ark:12x45/{GONE}", "theses"),
            ("ignored", f"ark:12x45/{BUSY}", "theses"),
        ]
        assert rows(second, "known")[2]["why"] == "'=the server moves"
        assert {row["measure"]: row["value"] for row in rows(second, "summary")} == {
            **before, "known problems": "2", "known problems: acknowledged": "1", "known problems: ignored": "1",
        }, "the counts of ARKs are unchanged"  # fmt: skip
        assert words in (second / "report.md").read_text("utf-8")
        assert f"`ark:12x45/{GONE}`" not in (second / "report.md").read_text("utf-8")
        section = BeautifulSoup((second / "index.html").read_text("utf-8"), "lxml").find(
            "section", attrs={"aria-labelledby": "to-act-on"}
        )
        assert section is not None
        assert words in section.get_text()
        assert GONE not in section.get_text()
        suites = ElementTree.parse(second / "junit.xml").getroot()
        assert {name: suites.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
            "tests": "5", "failures": "1", "errors": "0", "skipped": "3",
        }  # fmt: skip
        assert [(LOST in each["message"]["text"], "suppressions" in each) for each in results(second)] == [
            (True, False), (False, True), (False, True), (False, True),
        ]  # fmt: skip

        # the one that was not decided about is the one that is raised
        assert fails_on(store, "broken")
        assert run_command("triage", "acknowledge", f"ark:12x45/{LOST}", "--store", store).returncode == 0
        assert not fails_on(store, "undetermined")

        # a second run without changes raises nothing; a problem that got worse is raised again
        assert run_command(*again, "--fail-on", "blocked").returncode == 0
        library.status[LOST] = "200 OK"
        assert run_command(*again, "--fail-on", "blocked").returncode == 0
        library.status[LOST] = "404 Not Found"
        assert run_command(*again, "--fail-on", "broken").returncode == 1
        last = report(store)
        assert [(row["ark"], row["triage"].partition(",")[2]) for row in rows(last, "failures")] == [
            (f"ark:12x45/{LOST}", " but it has worked since, and failed again")
        ]
        assert measure(last, "known problems") == "2"
        assert run_command("store", "check", "--store", store).returncode == 0


def test_a_check_raises_no_known_problem_either(tmp_path: Path) -> None:
    store = tmp_path / "audit.db"
    with RawServer(Library().respond) as server:
        asked = [f"{server.url}/ark:/12x45/{each}" for each in (GOOD, GONE)]
        check = ("check", *asked, "--store", store, "--no-resume", "--fail-on", "broken", *ON_LOOPBACK)
        assert run_command(*check).returncode == 1
        assert run_command("triage", "acknowledge", "--host", server.url, "--store", store).returncode == 0
        done = run_command(*check)
        assert (done.returncode, "1 known: 1 acknowledged" in done.stderr) == (0, True), done.stderr


def test_a_document_that_is_ignored_raises_nothing_and_the_others_do(tmp_path: Path) -> None:
    store, config = tmp_path / "audit.db", tmp_path / "arkaudit.toml"
    with RawServer(Library().respond) as server:
        (tmp_path / "triage.toml").write_text(
            f'[[ignore]]\ndocument = "{server.url}/theses"\nreason = "a draft"\nuntil = 2199-01-01\n'
        )
        config.write_text(f'triage = "triage.toml"\nseeds = ["{server.url}/"]\nstore = "audit.db"\n')
        done = run_command("run", "-c", config, "--attempts", "1", "--fail-on", "broken", *ON_LOOPBACK)
        assert (done.returncode, "1 decision in the file: 1 new" in done.stderr) == (1, True), done.stderr
        out = report(store)
    assert {(row["ark"], row["document"].rpartition("/")[2]) for row in rows(out, "failures")} == {
        (f"ark:12x45/{GONE}", ""),
        (f"ark:12x45/{LOST}", ""),
    }
    assert [(row["ark"], row["treatment"]) for row in rows(out, "known")] == [
        (f"ark:12x45/{GONE}", "ignored"),
        (f"ark:12x45/{BUSY}", "ignored"),
    ]
    assert not fails_on(store, "broken", "--document", f"{server.url}/theses"), "all of it is known there"
    assert fails_on(store, "broken", "--document", f"{server.url}/")


def test_ignored_problems_are_never_notified(tmp_path: Path) -> None:
    config, news = tmp_path / "arkaudit.toml", tmp_path / "news.md"
    with RawServer(Library().respond) as server:
        (tmp_path / "triage.toml").write_text(
            f'[[ignore]]\nark = ["ark:12x45/{GONE}", "ark:12x45/{LOST}"]\nreason = "r"\nuntil = 2199-01-01\n'
        )
        config.write_text(
            f'triage = "triage.toml"\nseeds = ["{server.url}/"]\n[notify]\non = ["failing"]\nfile = "news.md"\n'
        )
        run = ("run", "-c", config, "--store", tmp_path / "audit.db", "--attempts", "1", "--no-resume", *ON_LOOPBACK)
        assert run_command(*run).returncode == 0
        told = news.read_text("utf-8")
        assert "1 without an answer" in told
        assert BUSY in told
        assert GONE not in told
        assert "2 known: 2 ignored until 2199-01-01." in told
        news.unlink()
        assert run_command(*run).returncode == 0
        assert not news.exists(), "nothing is new"


@pytest.mark.parametrize("text", ["[[ignore]]\n", "nonsense"])
def test_a_file_with_a_mistake_ends_a_run_before_it_begins(tmp_path: Path, text: str) -> None:
    (tmp_path / "triage.toml").write_text(text)
    (tmp_path / "arkaudit.toml").write_text('triage = "triage.toml"\nseeds = ["http://127.0.0.1:9/"]\n')
    done = run_command("run", "-c", tmp_path / "arkaudit.toml", "--store", tmp_path / "audit.db", *ON_LOOPBACK)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert not (tmp_path / "audit.db").exists()
