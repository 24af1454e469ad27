"""The list of known problems: its rows, its file, and the reports that read it."""

import csv
import io
import json
import os
from datetime import date
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from bs4 import BeautifulSoup
from hypothesis import given
from hypothesis import strategies as st

from crawler.model.observations import Problem
from extractors.model.errors import UserMistake
from reports.languages.display import FORMULA
from reports.store.known_problems import (
    COLUMNS,
    STATES,
    KnownFile,
    KnownProblems,
    addition,
    read_known,
    read_known_file,
    rows_to_add,
    selection_of,
    stale_rows,
)
from tests.loopback import ON_LOOPBACK, RawServer, read_csv, reply, run_command
from tests.vectors import vectors

TODAY = date(2026, 11, 28)
HEADINGS = ",".join(COLUMNS)


def known_of(rows: list[str], folder: Path) -> KnownProblems:
    path = folder / "k.csv"
    path.write_text("\n".join((HEADINGS, *rows)), "utf-8")
    return read_known(path)


def problem_of(values: dict[str, Any]) -> Problem:
    hosts, documents = frozenset(values.get("hosts", ())), tuple(values.get("documents", ()))
    return Problem(values["outcome"], values.get("ark", ""), hosts, documents)


@pytest.mark.parametrize("vector", vectors("known_problems"))
def test_rows_accept_what_they_name_until_it_gets_worse(vector: dict[str, Any], tmp_path: Path) -> None:
    known, problem = known_of(vector["rows"], tmp_path), problem_of(vector["problem"])
    accepting = known.accepting(problem, TODAY)
    assert known.accepts(problem, TODAY) is vector["known"]
    assert sorted(name for name in accepting if name is not None) == vector.get("in", [])
    if "line" in vector:
        assert accepting[None].line == vector["line"]
    if "stale" in vector:
        assert {str(row.line): words for row, words in stale_rows(known, [problem], TODAY)} == vector["stale"]


@pytest.mark.parametrize("vector", vectors("known_files"))
def test_lists_are_read_as_spreadsheets_save_them(vector: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "k.csv").write_bytes(vector["text"].encode())
    if "fault" in vector:
        with pytest.raises(UserMistake) as raised:
            read_known(tmp_path / "k.csv")
        assert str(raised.value).removeprefix(f"{tmp_path}/").startswith(vector["fault"])
        assert "\n" not in str(raised.value)
        return
    [row] = read_known(tmp_path / "k.csv").rows
    until = str(row.until) if row.until else None
    assert [row.what, row.state, row.reason, until, row.who] == vector["row"]


def test_every_row_is_over_or_matches_or_is_named(tmp_path: Path) -> None:
    known = known_of(["ark:12148/x5,broken", "host:old.example,timeout", "document:gone.pdf,unreadable"], tmp_path)
    named = {row.line: words for row, words in stale_rows(known, [], TODAY)}
    assert named == dict.fromkeys((2, 3, 4), "matches no problem")


CELL = (
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20).map(str.strip).filter(lambda text: "'" not in text)
)


@given(
    rows=st.lists(st.tuples(st.sampled_from(STATES), CELL, CELL), min_size=1, max_size=4),
    delimiter=st.sampled_from(",;\t"),
    newline=st.sampled_from(["\n", "\r\n"]),
    is_ended=st.booleans(),
)
def test_added_rows_read_back_and_no_spreadsheet_executes_them(rows, delimiter, newline, is_ended, tmp_path_factory):
    path = tmp_path_factory.mktemp("known") / "k.csv"
    columns = ("reason", "", "what", "state", "who")
    names = ("reason", "our own", "what", "state", "who")
    before = delimiter.join(names) + newline + delimiter.join(("r", '"=1;+1"', "ark:12148/x9", "dns", "w"))
    path.write_bytes((before + newline * is_ended).encode())
    file = read_known_file(path)
    assert file.columns == columns
    values = [
        {
            "what": "document:a.pdf" if state == "unreadable" else "ark:12148/x5",
            "state": state,
            "reason": reason,
            "who": who,
        }
        for state, reason, who in rows
    ]
    added = addition(file, values, path)
    path.write_bytes(path.read_bytes() + added.encode())
    assert path.read_bytes().startswith(before.encode())
    first, *read = read_known(path).rows
    assert (first.what, first.reason, first.who) == ("ark:12148/x9", "r", "w")
    assert [(row.state, row.reason, row.who) for row in read] == rows
    import regex

    for cells in csv.reader(io.StringIO(added, newline=""), delimiter=delimiter):
        assert not any(regex.search(FORMULA, cell) for cell in cells)


def test_rows_to_add_are_what_fails_and_is_not_accepted(tmp_path: Path) -> None:
    problems = [
        Problem("broken", "ark:12148/x5", frozenset({"old.example"}), ("a.html",)),
        Problem("timeout", "ark:12148/x5", frozenset({"slow.example"}), ("a.html",)),
        Problem("blocked", "ark:12148/x6", frozenset({"old.example"}), ("a.html",)),
        Problem("dns", "ark:12148/x7", frozenset({"old.example"}), ("b.html",)),
        Problem("unreadable", documents=("c.pdf",)),
    ]
    nothing, rows = selection_of(()), rows_to_add
    every = [("ark:12148/x5", "broken"), ("ark:12148/x7", "dns"), ("document:c.pdf", "unreadable")]
    assert rows(problems, nothing, KnownProblems(), TODAY) == every
    known = known_of([f"{what},{state}" for what, state in every], tmp_path)
    assert rows(problems, nothing, known, TODAY) == [], "a second time nothing is added"
    assert all(known.accepts(problem, TODAY) for problem in problems if problem.outcome != "blocked")
    assert rows(problems, nothing, known_of(["ark:12148/x7,blocked"], tmp_path), TODAY)[1] == ("ark:12148/x7", "dns")
    assert rows(problems, selection_of(["host:OLD.example"]), KnownProblems(), TODAY) == [
        ("host:old.example", "broken")
    ]
    assert rows(problems, selection_of(["ark:/12148/x6"]), KnownProblems(), TODAY) == [("ark:12148/x6", "blocked")]
    assert rows(problems, selection_of(["ark:12148/x*"]), KnownProblems(), TODAY) == [("ark:12148/x*", "broken")]
    of_documents = selection_of(["document:a.html", "document:c"])
    found = rows(problems, of_documents, KnownProblems(), TODAY)
    assert found == [("document:a.html", "broken"), ("document:c", "unreadable")]
    assert rows(problems, of_documents, known_of([",".join(row) for row in found], tmp_path), TODAY) == []
    with pytest.raises(UserMistake, match="nothing fails that 'ark:12148/x8' matches"):
        rows(problems, selection_of(["ark:12148/x8"]), KnownProblems(), TODAY)


def test_a_reason_needs_a_column(tmp_path: Path) -> None:
    file = KnownFile("what,state\n", ("what", "state"))
    row = {"what": "ark:12148/x5", "state": "broken", "reason": "", "until": "", "who": ""}
    assert addition(file, [row], tmp_path) == "ark:12148/x5,broken\n"
    with pytest.raises(UserMistake, match="has no column reason: add it"):
        addition(file, [row | {"reason": "r"}], tmp_path)


# -- over real sockets

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


def report(store: Path, *options: str | Path, printed: str = "") -> Path:
    """Return a report as tables, and in the formats of *options*; its output has the words *printed*."""
    out = store.with_name("report")
    done = run_command("report", "--store", store, "--out", out, "--format", "csv", *options)
    assert (done.returncode, printed in done.stdout) == (0, True), done.stdout + done.stderr
    return out


def rows(out: Path, table: str) -> list[dict[str, str]]:
    return read_csv(out / "tables" / f"{table}.csv")


@pytest.mark.promise
def test_known_problems_are_counted_and_raised_again_when_they_get_worse(tmp_path: Path) -> None:
    store, known, library = tmp_path / "audit.db", tmp_path / "known.csv", Library()
    of_both = ("--known", known, "--store", store)

    def code(*words: str | Path) -> tuple[int, str]:
        done = run_command(*words)
        return done.returncode, done.stdout + done.stderr

    with RawServer(library.respond) as server:
        again = ("run", f"{server.url}/", "--store", store, "--no-resume", "--attempts", "1", *ON_LOOPBACK)
        strict = (*again, "--fail-on", "timeout")
        assert code(*strict)[0] == 1
        assert code("known", "add", *of_both, "--who", "Anna")[0] == 0
        assert [row["what"] + " " + row["state"] for row in read_csv(known)] == [
            f"ark:12x45/{GONE} broken", f"ark:12x45/{LOST} broken", f"ark:12x45/{BUSY} server-error",
        ]  # fmt: skip
        assert code("known", "check", *of_both) == (0, f"arkaudit: {known}: 3 rows, 0 to look at\n")
        assert code("known", "add", *of_both)[1].endswith("nothing fails that it does not accept\n")
        done, said = code(*strict, "--known", known)
        assert (done, "3 known problems" in said) == (0, True), said
        assert code(*strict)[0] == 1, "only the list accepts them"

        library.status[BUSY] = "404 Not Found"
        assert code(*strict, "--known", known)[0] == 1
        found, said = code("known", "check", *of_both)
        worse = f"{known}:4: ark:12x45/{BUSY}: got worse: ark:12x45/{BUSY} is broken, accepted is server-error"
        assert (found, said.splitlines()[0]) == (1, worse)

        library.status |= {BUSY: "500 Internal Server Error", LOST: "200 OK"}
        done, said = code(*strict, "--known", known)
        assert done == 0, said
        found, said = code("known", "check", *of_both)
        assert (found, said.splitlines()[0]) == (1, f"{known}:3: ark:12x45/{LOST}: matches no problem")


def test_reports_mark_known_problems_and_do_not_raise_them(tmp_path: Path) -> None:
    store, known = tmp_path / "audit.db", tmp_path / "known.csv"
    with RawServer(Library().respond) as server:
        run = ("run", f"{server.url}/", "--store", store, "--attempts", "1", *ON_LOOPBACK)
        assert run_command(*run).returncode == 0
    first = report(store)
    assert {row["ark"]: row["known"] for row in rows(first, "failures")} == dict.fromkeys(
        (f"ark:12x45/{each}" for each in (GONE, LOST, BUSY)), ""
    )
    before = {row["measure"]: row["value"] for row in rows(first, "summary")}
    known.write_text(
        f"{HEADINGS}\nark:12x45/{GONE},broken,=withdrawn,,Anna\nark:12x45/{BUSY},timeout,it moves,2199-01-01,\n"
    )
    formats = [word for name in ("html", "md", "junit", "sarif") for word in ("--format", name)]
    out = report(store, "--known", known, *formats, printed="2 known")
    marked = {(row["ark"], row["number"]): row["known"] for row in rows(out, "failures")}
    assert marked == {
        (f"ark:12x45/{LOST}", "1"): "",
        (f"ark:12x45/{GONE}", ""): "'=withdrawn (broken accepted, Anna)",
        (f"ark:12x45/{BUSY}", ""): "it moves (timeout accepted until 2199-01-01)",
    }
    assert [row["arks"] for row in rows(out, "causes")] == ["1"]
    assert sum(row["known"] != "" for row in rows(out, "arks")) == 2
    after = {row["measure"]: row["value"] for row in rows(out, "summary")}
    assert after == {**before, "known problems": "2"}, "the counts of ARKs are unchanged"
    text = (out / "report.md").read_text("utf-8")
    assert "2 known problems" in text
    assert f"`ark:12x45/{GONE}`" not in text
    page = BeautifulSoup((out / "index.html").read_text("utf-8"), "lxml")
    section = page.find("section", attrs={"aria-labelledby": "to-act-on"})
    assert section is not None
    assert (LOST in section.get_text(), GONE in section.get_text()) == (True, False)
    suites = ElementTree.parse(out / "junit.xml").getroot()
    assert {name: suites.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "5", "failures": "1", "errors": "0", "skipped": "3",
    }  # fmt: skip
    results = json.loads((out / "report.sarif").read_text("utf-8"))["runs"][0]["results"]
    assert [(LOST in each["message"]["text"], "suppressions" in each) for each in results] == [
        (True, False), (False, True), (False, True), (False, True),
    ]  # fmt: skip


def test_a_problem_known_in_one_document_is_raised_in_the_others(tmp_path: Path) -> None:
    store, config = tmp_path / "audit.db", tmp_path / "arkaudit.toml"
    with RawServer(Library().respond) as server:
        (tmp_path / "known.csv").write_text(f"{HEADINGS}\ndocument:{server.url}/theses,broken,a draft,,\n")
        config.write_text(f'seeds = ["{server.url}/"]\nstore = "audit.db"\n[known]\nfile = "known.csv"\n')
        run = ("run", "-c", config, "--attempts", "1", "--fail-on", "broken", *ON_LOOPBACK)
        done = run_command(*run)
        assert done.returncode == 1, done.stderr
    known = ("--known", tmp_path / "known.csv")
    out = report(store, *known)
    assert {(row["ark"], row["document"].rpartition("/")[2]): row["known"] != "" for row in rows(out, "failures")} == {
        (f"ark:12x45/{GONE}", ""): False,
        (f"ark:12x45/{LOST}", ""): False,
        (f"ark:12x45/{GONE}", "theses"): True,
        (f"ark:12x45/{BUSY}", "theses"): True,
    }

    def fails(document: str) -> bool:
        words = ("report", "--store", store, "--fail-on", "broken", "--document", document, *known)
        return run_command(*words).returncode == 1

    assert not fails(f"{server.url}/theses"), "all of it is known there"
    assert fails(f"{server.url}/")


def test_checks_and_extraction_count_known_problems(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("see ark:/12148/btv1b8449691w\n")
    (tmp_path / "b.pdf").write_bytes(b"%PDF-1.7\nnothing")
    known = tmp_path / "known.csv"
    extract = ("extract", "a.txt", "b.pdf", "--format", "none", "--fail-on", "mistyped", "--fail-on", "unreadable")

    def code(*words: str | Path) -> tuple[int, str]:
        done = run_command(*words, folder=tmp_path)
        return done.returncode, done.stderr

    for lines, expected in (
        ((), 1),
        (("ark:12148/btv1b8449691w,mistyped",), 1),
        (("ark:12148/btv1b8449691w,mistyped", "document:b.pdf,unreadable"), 0),
    ):
        known.write_text("\n".join(("what,state", *lines)))
        done, said = code(*extract, "--known", known)
        assert (done, "known problem" in said) == (expected, bool(lines)), said
    with RawServer(Library().respond) as server:
        asked = [f"{server.url}/ark:/12x45/{each}" for each in (GOOD, GONE)]
        check = ("check", *asked, "--fail-on", "broken", "--known", known, *ON_LOOPBACK)
        assert code(*check)[0] == 1
        known.write_text(f"what,state\nhost:{server.url},broken\n")
        done, said = code(*check)
        assert (done, "1 known problem" in said) == (0, True), said
        store = ("--store", tmp_path / "a.db")
        assert code(*check, *store)[0] == 0
        again = ("recheck", *store, "--host", server.url.removeprefix("http://"), "--fail-on", "broken", *ON_LOOPBACK)
        assert code(*again)[0] == 1
        assert code(*again, "--known", known)[0] == 0


def test_arks_that_are_reached_in_another_way_can_be_known(tmp_path: Path) -> None:
    def respond(target: str) -> bytes:
        is_plain = target.partition("?")[0] == "/ark:/12x45/xh9"
        return reply(body="<title>The map of 1897</title><p>A map.") if is_plain else reply("404 Not Found")

    store, known = tmp_path / "a.db", ("--known", tmp_path / "known.csv")
    with RawServer(respond) as server:
        check = ("check", f"{server.url}/ark:/12x45/xh-9", "--store", store, *ON_LOOPBACK)
        assert run_command(*check).returncode == 0
    assert [row["cause"] for row in rows(report(store), "failures")] == ["hyphens"]
    assert run_command("known", "add", "ark:12x45/xh9", "--store", store, *known).returncode == 0
    assert [row["state"] for row in read_csv(tmp_path / "known.csv")] == ["works-elsewhere"]
    assert rows(report(store, *known), "causes") == []


def test_known_problems_are_never_notified(tmp_path: Path) -> None:
    config, news = tmp_path / "arkaudit.toml", tmp_path / "news.md"
    with RawServer(Library().respond) as server:
        (tmp_path / "known.csv").write_text(f"what,state\nark:12x45/{GONE},broken\nark:12x45/{LOST},broken\n")
        config.write_text(
            f'seeds = ["{server.url}/"]\n[known]\nfile = "known.csv"\n[notify]\non = ["failing"]\nfile = "news.md"\n'
        )
        run = ("run", "-c", config, "--store", tmp_path / "audit.db", "--attempts", "1", "--no-resume", *ON_LOOPBACK)
        assert run_command(*run).returncode == 0
        told = news.read_text("utf-8")
        assert "1 without an answer" in told
        assert (BUSY in told, GONE in told, "2 known problems" in told) == (True, False, True)
        news.unlink()
        assert run_command(*run).returncode == 0
        assert not news.exists(), "nothing is new"


@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "none", "long", "latin", "mistake"])
def test_a_list_that_can_not_be_read_is_one_line_before_any_request(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "known.csv"
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "device":
            path = Path("/dev/zero")
        case "folder":
            path.mkdir()
        case "long":
            with path.open("wb") as file:
                file.truncate(2**28)
        case "latin":
            path.write_bytes(b"what;state;reason\r\nark:12148/x5;broken;d\xe9m\xe9nage\r\n")
        case "mistake":
            path.write_text("what,state\nark:12148/x5,fine\n")
    store = tmp_path / "audit.db"
    with RawServer(Library().respond) as server:
        for words in (
            ("run", f"{server.url}/", "--store", store, *ON_LOOPBACK),
            ("check", f"{server.url}/ark:/12x45/x5", "--store", store, *ON_LOOPBACK),
            ("extract", __file__),
            ("report", "--store", store),
            ("known", "check", "--store", store),
        ):
            done = run_command(*words, "--known", path)
            assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1), done.stderr
            assert str(path) in done.stderr
        assert not server.targets
    assert not store.exists()
