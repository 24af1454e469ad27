"""The end of a command for people: problems with places, one line of totals, one hint; silent with --quiet."""

import csv
import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arkaudit.output.hints import MOST_FAULTS, MOST_PLACES, Fault, fault_lines
from reports.languages import LANGUAGES
from tests.real.loopback import ON_LOOPBACK, RawServer, json_lines, reply, run_command, select
from tests.real.read_only import read_only

GONE, SILENT, FINE = "gone", "silent", "fine"
PAGES = {
    "/": f"<a href='/ark:/12x45/{GONE}'>x</a><a href='/ark:/12x45/{FINE}'>y</a><a href='/more'>more</a><a href='/no'>",
    "/more": f"<a href='/ark:/12x45/{GONE}'>x</a><a href='/ark:/12x45/{SILENT}'>z</a>",
}
ONCE = ("--attempts", "1", "--no-sitemaps", "--exclude", "/ark:")


def respond(target: str) -> bytes:
    name = target.rpartition("/")[2].partition("?")[0]
    if target in PAGES:
        return reply(body=f"<title>A page</title>{PAGES[target]}")
    if name == FINE:
        return reply(body="<title>A map</title>")
    return reply("500 Internal Server Error" if name == SILENT else "404 Not Found")


@dataclass(frozen=True)
class Site:
    url: str
    store: Path
    """With a crawl of the site."""
    crawled: subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    store = tmp_path_factory.mktemp("site") / "a.db"
    with RawServer(respond) as server:
        done = run_command("crawl", *ON_LOOPBACK, *ONCE, f"{server.url}/", "--store", store)
        assert done.returncode == 0, done.stderr
        yield Site(server.url, store, done)


def ending_lines(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Run a command; return its messages for people, without progress."""
    assert done.returncode == 0, done.stderr
    return [line.removeprefix("arkaudit: ") for line in done.stderr.splitlines() if line.startswith("arkaudit: ")]


def test_crawl_names_unread_documents_and_the_check_command(site: Site) -> None:
    *_, fault, total, hint = ending_lines(site.crawled)
    assert fault == f"not read: {site.url}/no (404), found on {site.url}/"
    assert total == f"3 documents, 2 read, 4 citations, in {site.store}"
    assert hint == f"next: arkaudit recheck --store {site.store}"


def test_suggested_check_names_failures_and_citing_documents(site: Site) -> None:
    program, *suggested = shlex.split(ending_lines(site.crawled)[-1].removeprefix("next: "))
    assert program == "arkaudit"
    done = run_command(*suggested, *ON_LOOPBACK, "--attempts", "1")
    assert ending_lines(done)[-4:] == [
        f"ark:12x45/{GONE} fails (broken), cited in {site.url}/; {site.url}/more",
        f"ark:12x45/{SILENT} gave no answer today (server-error), cited in {site.url}/more",
        "3 ARKs checked: 1 works, 1 fails, 1 gave no answer today",
        f"next: arkaudit report --store {site.store} --out report",
    ]


def test_run_names_new_failures_only(site: Site, tmp_path: Path) -> None:
    store = tmp_path / "a.db"
    run = ("run", *ON_LOOPBACK, *ONCE, f"{site.url}/", "--store", store, "--no-resume")
    first, french = (
        run_command(*run),
        run_command(*run, "--lang", "fr", "--out", tmp_path / "report", "--format", "md"),
    )
    assert ending_lines(first)[-4:] == [
        f"ark:12x45/{GONE} fails (broken), cited in {site.url}/; {site.url}/more",
        f"ark:12x45/{SILENT} gave no answer today (server-error), cited in {site.url}/more",
        " ".join(line.strip() for line in first.stdout.splitlines()[:2]),
        f"next: arkaudit report --store {store} --out report",
    ]
    assert ending_lines(french)[-4].startswith(f"ark:12x45/{GONE} échoue (broken), cité dans ")
    assert ending_lines(french)[-1] == f"le rapport est dans {tmp_path}/report"
    known = ("--known", tmp_path / "known.csv")
    assert run_command("known", "add", f"ark:12x45/{GONE}", "--store", store, *known).returncode == 0
    assert not any(GONE in line for line in ending_lines(run_command(*run, *known)))
    quiet = run_command(*run, "-q")
    assert (quiet.returncode, quiet.stderr) == (0, "")


def test_a_check_names_the_line_of_its_file_and_a_command_that_explains(site: Site, tmp_path: Path) -> None:
    url = f"{site.url}/ark:/12x45/{GONE}"
    (tmp_path / "arks.txt").write_text(f"{site.url}/ark:/12x45/{FINE}\n\n{url}\nno ark\n{url}\n")
    done = run_command("check", *ON_LOOPBACK, "--from", "-", stdin=(tmp_path / "arks.txt").read_text())
    same = run_command("check", *ON_LOOPBACK, "--from", tmp_path / "arks.txt", "--store", tmp_path / "a.db")
    explained = run_command("explain", *ON_LOOPBACK, url)
    fails, total = (f"ark:12x45/{GONE} fails (broken)", "2 ARKs checked: 1 works, 1 fails; 1 line holds no ARK")
    assert ending_lines(done)[-3:] == [f"{fails}, cited in -:3; -:5", total, f"next: arkaudit explain {url}"]
    assert ending_lines(same)[-3] == f"{fails}, cited in {tmp_path}/arks.txt:3; {tmp_path}/arks.txt:5"
    assert ending_lines(same)[-1] == f"next: arkaudit report --store {tmp_path}/a.db --out report"
    assert "It is the resolver itself" in explained.stdout
    assert re.sub('"(at|elapsed_s)": [^,]*', "", done.stdout).count("\n") == 4


def test_an_extract_names_mistyped_arks_and_the_command_that_asks_for_all(tmp_path: Path) -> None:
    (tmp_path / "a thesis.txt").write_text("ark:/12148/btv1b8449691w and ark:/12148/btv1b84\n49691v")
    (tmp_path / "photo.jpg").write_bytes(b"\xff\xd8\xff\xe0nothing")
    done = run_command("extract", tmp_path / "a thesis.txt", tmp_path / "photo.jpg")
    mistyped = f"{tmp_path}/a thesis.txt:1: ark:/12148/btv1b8449691w: its check character is wrong; did you mean "
    assert ending_lines(done)[1].startswith(mistyped)
    assert ending_lines(done)[2:] == [
        "1 document read, 1 not readable; 2 citations, 1 repaired when read, 1 mistyped",
        f"next: arkaudit run '{tmp_path}/a thesis.txt' {tmp_path}/photo.jpg --contact you@example.org --out report",
    ]
    failing = run_command("extract", tmp_path / "a thesis.txt", "--fail-on", "mistyped", "-q")
    assert (failing.returncode, failing.stderr.count("\n")) == (1, 1)
    none = tmp_path / "none.txt"
    none.write_text("nothing")
    assert ending_lines(run_command("extract", none)) == ["1 document read; 0 citations"]


def test_a_declared_check_character_reveals_a_mistyped_ark(tmp_path: Path) -> None:
    # A process of its own reads XML.
    (tmp_path / "arks.xml").write_text("<p>ark:/54321/x5k3m7 ark:/54321/x5k7tv ark:/54321/b2w9qz4p</p>")
    (tmp_path / "a.toml").write_text('[naans."54321"]\ncheck_character = true\n')
    done = run_command("extract", tmp_path / "arks.xml", "-c", tmp_path / "a.toml")
    assert [row["check"] for row in map(json.loads, done.stdout.splitlines())] == ["passes", "fails", "passes"]
    [mistyped, total, _] = ending_lines(done)
    assert "ark:/54321/x5k7tv: its check character is wrong; did you mean ark:54321/x5k7tv7 or " in mistyped
    assert total == "1 document read; 3 citations, 1 mistyped"


def test_a_declared_check_character_counts_in_runs_reports_and_datasets(tmp_path: Path) -> None:
    (tmp_path / "arks.xml").write_text("<p>ark:/54321/x5k3m7 ark:/54321/x5k7tv ark:/54321/b2w9qz4p</p>")
    (tmp_path / "a.toml").write_text('network.only_routed = true\n[naans."54321"]\ncheck_character = true\n')
    expected = [("ark:54321/b2w9qz4p", "passes"), ("ark:54321/x5k3m7", "passes"), ("ark:54321/x5k7tv", "fails")]
    run = ("run", "arks.xml", "-c", "a.toml", "--out", "report")
    assert run_command(*run, folder=tmp_path).returncode == 0
    with (tmp_path / "report/tables/arks.csv").open() as table:
        assert sorted((row["ark"], row["check"]) for row in csv.DictReader(table)) == expected
    made = run_command("dataset", "make", "arks.xml", "-c", "a.toml", "--out", "dataset", folder=tmp_path)
    assert made.returncode == 0, made.stderr
    mentions = pyarrow.parquet.read_table(tmp_path / "dataset/mentions", columns=["ark", "check"])
    assert sorted((row["ark"], row["check"]) for row in mentions.to_pylist()) == expected


@given(st.lists(st.builds(Fault, st.text(min_size=1), st.lists(st.text(min_size=1), max_size=6)), max_size=14))
def test_an_ending_is_short_and_loses_nothing_without_saying_so(faults: list[Fault]) -> None:
    for language in LANGUAGES.values():
        lines = list(fault_lines(faults, len(faults), language))
        assert len(lines) == min(len(faults), MOST_FAULTS) + (len(faults) > MOST_FAULTS)
        for fault, line in zip(faults, lines[:MOST_FAULTS], strict=False):
            assert line.startswith(fault.message)
            assert all(place in line for place in fault.places[:MOST_PLACES])
        if len(faults) > MOST_FAULTS:
            assert str(len(faults) - MOST_FAULTS) in lines[-1]


# -- places where nothing can be put


#: Places that can't be written; the last one claims to be writable, on systems that have it.
PLACES = ["below a file", "a folder to read only", *(["/proc"] if Path("/proc/self").exists() else [])]


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("dataset make {document} --out {place}", id="a dataset"),
        pytest.param("extract {document} --findings {place}/findings.jsonl", id="findings"),
        pytest.param("run {document} --store {other} --out {place}", id="run"),
        pytest.param("run {document} --store {place}/a.db", id="the store of a run"),
        pytest.param("crawl {document} --store {place}/a.db", id="crawl"),
        pytest.param("check ark:12345/x5 --store {place}/a.db", id="check"),
        pytest.param("check ark:12345/x5 --log-file {place}/a.log", id="a log"),
        pytest.param("report --store {store} --out {place}", id="report"),
        pytest.param("known add --store {store} --known {place}/known.csv", id="known problems"),
    ],
)
@pytest.mark.parametrize("kind", PLACES)
def test_where_nothing_can_be_put_is_noticed_before_anything_begins(
    site: Site, command: str, kind: str, tmp_path: Path
) -> None:
    document, other = tmp_path / "a.txt", tmp_path / "other.db"
    document.write_text("ark:/12345/x5")
    below = tmp_path / "place"
    below.mkdir()
    place = {"below a file": document, "/proc": Path("/proc")}.get(kind, below) / "out"
    words = command.format(place=place, document=document, other=other, store=site.store).split()
    with read_only(below):
        done = run_command(*words)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert {each.name for each in tmp_path.rglob("*")} == {"a.txt", "place"}


FAULTY = """
import crawler.spiders.arks_spider as spider
from arkaudit.cli import main

observe = spider.observe

async def faulty(ask, *others):
    if ask.url.endswith("faulty"):
        raise LookupError("no such answer")
    return await observe(ask, *others)

spider.observe = faulty
main()
"""


def test_check_ends_with_3_and_judges_the_other_arks_after_an_error_of_its_own(site: Site) -> None:
    arguments = ["check", *ON_LOOPBACK, *ONCE[:2], *(f"{site.url}/ark:/12x45/{name}" for name in (FINE, "faulty"))]
    done = run_command(*arguments, program=FAULTY)
    assert done.returncode == 3, done.stderr
    assert "1 answer or document could not be processed, which is a bug of arkaudit: LookupError" in done.stderr
    rows = {row["ark"].rpartition("/")[2]: row["object"]["outcome"] for row in json_lines(done.stdout)}
    assert rows == {FINE: "resolved", "faulty": "undetermined"}


def test_answer_that_is_lost_holds_up_no_ark_that_waits_for_it() -> None:
    program = FAULTY.replace('ask.url.endswith("faulty")', 'ask.question == "control"')
    names = ("map1", "map2", "map3")

    def respond(target: str) -> bytes:
        name = target.partition("ark:/12x45/")[2]
        return reply(body=f"<title>Sheet {name}</title>") if name in names else reply("404 Not Found")

    with RawServer(respond) as server:
        urls = [f"{server.url}/ark:/12x45/{name}" for name in names]
        done = run_command("check", *ON_LOOPBACK, *ONCE[:2], *urls, program=program)
        assert done.returncode == 3, done.stderr
        assert "1 answer or document could not be processed" in done.stderr
        asked = [target for target in server.targets if target.endswith("?info")]
    assert len(asked) == 2, "the others are asked for metadata without the control"


FAULTY_DECISIONS = """
import crawler.asking.target as asking
import crawler.spiders.runs as runs
from arkaudit.cli import main

next_question, judge = asking.next_question, runs.judge

def faulty_question(answers, context, *others, first_url):
    if first_url.endswith("unasked"):
        raise LookupError("no such question")
    return next_question(answers, context, *others, first_url=first_url)

def faulty_verdict(answers, **context):
    if context and any(answer.asked_url.endswith("unjudged") for answer in answers.values()):
        raise LookupError("no such verdict")
    return judge(answers, **context)

asking.next_question, runs.judge = faulty_question, faulty_verdict
main()
"""


def test_error_in_asking_or_judging_costs_its_own_ark_only(tmp_path: Path) -> None:
    names = ("map1", "unasked", "unjudged", "map2")

    def respond(target: str) -> bytes:
        name = target.partition("ark:/12x45/")[2]
        return reply(body=f"<title>Sheet {name}</title>") if name in names else reply("404 Not Found")

    def check(program: str | None = None) -> tuple[subprocess.CompletedProcess[str], dict[str, str]]:
        arguments = [*ON_LOOPBACK, "--attempts", "1", *(f"{server.url}/ark:/12x45/{name}" for name in names)]
        done = run_command("check", *arguments, "--store", tmp_path / "a.db", program=program)
        rows = json_lines(done.stdout)
        return done, {row["ark"].partition("ark:12x45/")[2]: row["object"]["outcome"] for row in rows}

    with RawServer(respond) as server:
        done, outcomes = check(FAULTY_DECISIONS)
        assert done.returncode == 3, done.stderr
        assert "LookupError: no such question" in done.stderr
        assert "the same command requests them again" in done.stderr
        assert outcomes == {
            "map1": "resolved", "unasked": "undetermined", "unjudged": "undetermined", "map2": "resolved",
        }  # fmt: skip
        assert select(tmp_path / "a.db", "select state from run") == [("failed",)]
        done, outcomes = check()
        assert done.returncode == 0, done.stderr
        assert outcomes == dict.fromkeys(names, "resolved")


MALFORMED = (
    "http://[zz]",
    "http://a]b",
    "http://[::ffff:127.1]",
    "http://127.0.0.1:99999",
    "http://127.0.0.1:x",
    "http://",
)


def test_malformed_urls_are_invalid_and_all_others_are_asked(tmp_path: Path) -> None:
    document, store = tmp_path / "a.html", tmp_path / "a.db"
    with RawServer(respond) as server:
        good = f"{server.url}/ark:/12x45/{FINE}"
        bad = [f"{host}/ark:/12x45/map{number}" for number, host in enumerate(MALFORMED)]
        document.write_text("".join(f"<p><a href='{url}'>map</a>" for url in (*bad, good)))
        done = run_command("run", *ON_LOOPBACK, "--attempts", "1", document, "--store", store)
        assert done.returncode == 0, done.stderr
        outcomes = dict(select(store, "select request_url, object from verdict"))
        assert outcomes == {good: "resolved", **dict.fromkeys(bad, "invalid")}
        places = select(store, "select request_url, place from mention where request_url != ?", [good])
        assert {url for url, _ in places} == set(bad)
        checked = run_command("check", *ON_LOOPBACK, "--attempts", "1", "--from", "-", stdin="\n".join((*bad, good)))
        rows = {row["asked"]: row["object"]["outcome"] for row in json_lines(checked.stdout)}
        assert rows == outcomes
