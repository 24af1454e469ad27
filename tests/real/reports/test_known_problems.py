"""Known problems in reports, checks, extraction and notifications."""

import json
import os
from pathlib import Path
from xml.etree import ElementTree

import pytest
from bs4 import BeautifulSoup

from tests.real.loopback import ON_LOOPBACK, RawServer, read_csv, reply, run_command
from tests.unit.reports.test_known_problems import HEADINGS, rows

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
