"""The command's contract: rows, streams and exit codes, as a user meets them."""

import csv
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crawler.store.store import Store
from extractors.mentions.rows import ALL_COLUMNS
from tests.real.library import Page, Web, feed, record, records, sitemap, sitemap_index
from tests.real.loopback import (
    ON_LOOPBACK,
    RawServer,
    check_rows,
    clean_environment,
    json_lines,
    outcomes,
    reply,
    run_command,
    select,
)
from tests.real.read_only import as_anybody
from tests.real.waiting import PATIENCE_S
from tests.unit.extractors.test_pdf_reader import pages
from tests.vectors import vectors


@pytest.fixture
def letter(tmp_path: Path) -> Path:
    path = tmp_path / "letter.txt"
    path.write_text("See https://gallica.bnf.fr/ark:/12148/bpt6k10\n7371t, and ark:/67531/metadc2846.\n", "utf-8")
    return path


@pytest.mark.promise
def test_extract_prints_a_mention_a_line(letter: Path) -> None:
    done = run_command("extract", letter)
    first, second = json_lines(done.stdout)
    assert done.returncode == 0
    assert tuple(first) == ALL_COLUMNS
    assert first["ark"] == "ark:12148/bpt6k107371t"
    assert first["repaired"] == "https://gallica.bnf.fr/ark:/12148/bpt6k107371t"
    assert first["resolver"] == "https://gallica.bnf.fr/"
    assert first["repairs"] == ["line wrap"]
    text = letter.read_text("utf-8")
    assert "".join(text[start:end] for start, end in first["spans"]) == first["repaired"]
    assert (second["ark"], second["resolver"], second["document"]) == ("ark:67531/metadc2846", None, str(letter))


def test_extract_reads_standard_input_and_folders(letter: Path) -> None:
    from_input = run_command("extract", "-", stdin="ark:/67531/metadc2846")
    assert [row["document"] for row in json_lines(from_input.stdout)] == ["-"]
    (letter.parent / "deep").mkdir()
    (letter.parent / "deep" / "page.html").write_text("<p>ark:/67531/metadc107835")
    from_folder = run_command("extract", letter.parent)
    assert [Path(row["document"]).name for row in json_lines(from_folder.stdout)] == [
        "page.html",
        "letter.txt",
        "letter.txt",
    ]


def run_in_shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run arkaudit with the arguments and redirections of *command* in *folder*."""
    environment = {**clean_environment(), "PYTHONPATH": str(Path(__file__).parents[3])}
    shell = ["bash", "-c", f"{shlex.quote(sys.executable)} -m arkaudit {command}"]
    return subprocess.run(
        shell, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )


@pytest.fixture
def locked_folder(tmp_path: Path) -> Iterator[Path]:
    """Yield a folder with documents, two of whose folders and one file can't be read."""
    for name in ("a.txt", "b.txt", "closed/c.txt", "named/d.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("ark:/67531/metadc2846")
    modes = {"b.txt": 0o000, "closed": 0o000, "named": 0o444}
    for name, mode in modes.items():
        (tmp_path / name).chmod(mode)
    yield tmp_path
    for name in modes:
        (tmp_path / name).chmod(0o755)


def test_hidden_files_are_reported_and_read_when_named(tmp_path: Path) -> None:
    papers = tmp_path / "papers"
    for name in (
        ".hidden.txt", ".git/x.txt", "deep/.cache/y.txt", "node_modules/z/z.txt", "cover.PNG", "a.txt", "deep/b.txt",
    ):  # fmt: skip
        (papers / name).parent.mkdir(parents=True, exist_ok=True)
        (papers / name).write_text("ark:/67531/metadc2846")
    done = run_command("extract", papers, "--findings", tmp_path / "findings.jsonl")
    assert sorted(Path(row["document"]).name for row in json_lines(done.stdout)) == ["a.txt", "b.txt"]
    [finding] = json_lines((tmp_path / "findings.jsonl").read_text())
    assert (finding["document"], finding["kind"]) == (str(papers), "members-skipped")
    assert finding["detail"].endswith(": .git, .hidden.txt, cover.PNG, deep/.cache, node_modules")
    named = run_command("extract", papers / ".hidden.txt", papers / ".git", papers / "deep" / ".cache")
    assert (named.returncode, named.stdout.count("\n"), "members-skipped" in named.stderr) == (0, 3, False)
    crawled = run_command("crawl", papers, "--store", tmp_path / "a.db")
    assert "members-skipped: hidden" in crawled.stderr
    assert select(tmp_path / "a.db", "select subject, kind from finding") == [(str(papers), "members-skipped")]


def test_unreadable_files_of_a_folder_are_reported(locked_folder: Path) -> None:
    done = run_command("extract", "--findings", "findings.jsonl", ".", folder=locked_folder, first=as_anybody)
    assert [row["document"] for row in json_lines(done.stdout)] == ["a.txt"]
    findings = json_lines((locked_folder / "findings.jsonl").read_text())
    assert [(row["document"], row["kind"]) for row in findings] == [
        ("b.txt", "unreadable"), ("closed", "unreadable"), ("named/d.txt", "unreadable"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "arguments",
    [
        ("extract", "closed"),
        ("crawl", "closed/c.txt"),
        ("check", "ark:/12345/x5", "--store", "closed/a.db"),
        ("report", "--store", "closed/a.db"),
        ("run", "a.txt", "--out", "closed/report"),
    ],
)
def test_unreadable_argument_is_a_mistake_in_one_line(locked_folder: Path, arguments: tuple[str, ...]) -> None:
    done = run_command(*arguments, folder=locked_folder, first=as_anybody)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
    assert "closed" in done.stderr
    assert "Permission denied" in done.stderr


def test_extract_writes_csv_that_no_spreadsheet_runs(letter: Path) -> None:
    letter.write_text("=HYPERLINK(1) ark:/67531/metadc2846")
    few = run_command("extract", "--format", "csv", letter).stdout
    assert few.splitlines()[0] == "document,page,ark,repaired,repairs,confidence,check"
    command = ("extract", "--format", "csv", "--all-columns", letter)
    [row] = csv.DictReader(io.StringIO(run_command(*command).stdout))
    assert row["ark"] == "ark:67531/metadc2846"
    assert row["context"].startswith("'=")


def test_extract_fetches_urls_and_follows_nothing() -> None:
    with RawServer(lambda _: reply(body="<a href='/other'>ark:/67531/metadc2846</a>")) as server:
        done = run_command("extract", *ON_LOOPBACK, f"{server.url}/page")
        assert [row["ark"] for row in json_lines(done.stdout)] == ["ark:67531/metadc2846"]
        assert server.targets == ["/page"]


@pytest.mark.promise
def test_document_failures_are_findings_and_exit_3_if_nothing_was_read(tmp_path: Path) -> None:
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7\nnot really")
    (tmp_path / "photo.jpg").write_bytes(b"\xff\xd8\xff\xe0" + bytes(200))
    (tmp_path / "empty.txt").write_bytes(b"")
    empty = run_command("extract", tmp_path / "empty.txt")
    assert (empty.returncode, empty.stdout) == (0, "")
    assert run_command("extract", tmp_path / "empty.txt", "--fail-on", "unreadable").returncode == 1
    done = run_command("extract", tmp_path, "--findings", tmp_path / "findings.jsonl")
    found = {Path(row["document"]).name: row["kind"] for row in json_lines((tmp_path / "findings.jsonl").read_text())}
    assert done.returncode == 0  # the empty one was read
    assert "1 document read, 1 of them empty, 1 not readable" in done.stderr
    assert "not read unless they are named: photo.jpg" in done.stderr
    assert done.stdout == ""
    assert found == {"broken.pdf": "unreadable", "empty.txt": "empty", tmp_path.name: "members-skipped"}
    assert "broken.pdf: unreadable" in done.stderr
    failed = run_command("extract", tmp_path, "--fail-on", "unreadable")
    assert failed.returncode == 1
    (tmp_path / "empty.txt").unlink()
    (tmp_path / "findings.jsonl").unlink()
    none = run_command("extract", tmp_path, "--fail-on", "unreadable")
    assert none.returncode == 3
    assert none.stderr.splitlines()[-1] == f"arkaudit: nothing could be read: {tmp_path / 'broken.pdf'}"


def test_a_path_that_is_missing_among_others_is_a_row(letter: Path, tmp_path: Path) -> None:
    places = (letter, tmp_path / "gone.txt")
    done = run_command("extract", *places, "--findings", tmp_path / "findings.jsonl")
    assert (done.returncode, done.stdout.count("\n")) == (0, 2)
    assert "1 document read, 1 not readable; 2 citations" in done.stderr
    [finding] = json_lines((tmp_path / "findings.jsonl").read_text())
    assert (finding["document"], finding["kind"]) == (str(tmp_path / "gone.txt"), "unreadable")
    assert run_command("extract", *places, "--fail-on", "unreadable").returncode == 1
    crawled = run_command("crawl", *places, "--store", tmp_path / "a.db")
    assert crawled.returncode == 0, crawled.stderr
    assert select(tmp_path / "a.db", "select outcome from document order by 1") == [("read",), ("unreadable",)]


def test_partly_read_document_is_counted_and_fails(tmp_path: Path) -> None:
    text, picture = b"BT /F 10 Tf 72 700 Td (ark:/12345/x5) Tj ET", b"10 10 80 80 re f"
    (tmp_path / "scan.pdf").write_bytes(pages(picture))
    (tmp_path / "mixed.pdf").write_bytes(pages(picture, text, picture))
    (tmp_path / "plate.pdf").write_bytes(pages(text, picture, text))
    done = run_command("extract", tmp_path)
    assert "mixed.pdf: no-text: 2 of 3 pages are pictures without text (the first is page 1)" in done.stderr
    assert "scan.pdf: no-text: 1 of 1 pages" in done.stderr
    assert "plate.pdf: picture-page: 1 of 3 pages" in done.stderr
    assert "2 documents read, 2 of them in part, 1 not readable; 3 citations" in done.stderr
    command = ("run", *ON_LOOPBACK, tmp_path / "mixed.pdf", "--store", tmp_path / "a.db")
    assert run_command(*command, "--fail-on", "unreadable").returncode == 1
    for name in ("mixed.pdf", "plate.pdf"):
        assert run_command("extract", tmp_path / name, "--fail-on", "unreadable").returncode == 1


def test_closed_stdout_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "arkaudit.toml").write_text('[audits.maps]\nseeds = ["letter.txt"]\nschedule = "0 3 * * *"\n')
    (tmp_path / "known.csv").write_text("what,state\n")
    with RawServer(lambda _: reply(body="<title>A map</title>")) as server:
        check_rows("--store", tmp_path / "a.db", f"{server.url}/ark:/12x45/x5")
    reading, writing = os.pipe()
    os.close(reading)
    commands = (
        "registry show 12148", "registry show 12148 --format json", "check --dry-run ark:12148/x5 --only-routed",
        "check ark:12345/x5", "explain ark:12345/x5", "check ark:12345/x5 --format table",
        "explain ark:12x45/x5 --store a.db", "explain ark:12x45/x5 --store a.db --format jsonl",
        "schedule list -c arkaudit.toml", "schedule list -c arkaudit.toml --format json", "report --store a.db",
        "report --store a.db --format md --out -", "known check --store a.db",
    )  # fmt: skip
    try:
        done = {each: run_command(*each.split(), stdout=writing, folder=tmp_path) for each in commands}
    finally:
        os.close(writing)
    for each, ended in done.items():
        found = (ended.returncode, "ipe" in ended.stderr, "Traceback" in ended.stderr)
        assert found == (0, False, False), (each, ended.stderr)


@pytest.mark.parametrize("said", ["2>&-", "2> >(true)", "2>/dev/full --log-file /dev/full"])
def test_crawl_survives_closed_stderr(tmp_path: Path, said: str) -> None:
    (tmp_path / "a.txt").write_text("ark:/12345/x5")
    assert run_in_shell(f"crawl a.txt --store a.db {said}", tmp_path).returncode == 0
    assert select(tmp_path / "a.db", "select state from run") == [("finished",)]


def test_run_and_its_report_survive_full_stderr(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("ark:/12345/x5")
    done = run_in_shell("run a.txt --only-routed --store a.db --out out --format junit 2>/dev/full", tmp_path)
    assert (done.returncode, "1 document " in done.stdout) == (0, True)
    assert select(tmp_path / "a.db", "select state from run") == [("finished",)]
    assert any((tmp_path / "out").iterdir())


def test_discarded_results_are_no_failure(tmp_path: Path) -> None:
    done = run_in_shell("check ark:/12345/x5 --store a.db <&- >&-", tmp_path)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr


@pytest.mark.parametrize("command", ["extract {0}", "check ark:99999/x5", "--version", "report --store {1}"])
def test_closed_output_is_one_line_and_no_success(command: str, letter: Path, tmp_path: Path) -> None:
    with Store.open(tmp_path / "a.db") as store:
        at = "2026-11-21T00:00:00.000+00:00"
        store.begin_run(command="run", at=at, version="", resolver="", user_agent="", seeds=[])
    arguments = command.format(letter, tmp_path / "a.db").split()
    done = subprocess.run(
        [sys.executable, "-m", "arkaudit", *arguments], env=clean_environment(), text=True,
        stderr=subprocess.PIPE, check=False, preexec_fn=lambda: os.close(1),
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    assert done.stderr.endswith("arkaudit: the results can't be written: standard output is closed\n")
    assert "Traceback" not in done.stderr


def test_unwritable_log_is_reported_once(letter: Path) -> None:
    done = run_command("extract", letter, "--log-file", "/dev/full", "--log-level", "debug")
    assert done.returncode == 0
    assert done.stderr.count("No space left on device") == 1
    assert "Traceback" not in done.stderr
    assert json_lines(done.stdout) != []


def test_fail_on_counts_unprinted_rows(tmp_path: Path) -> None:
    with RawServer(lambda _: reply("404 Not Found")) as server:
        check_rows("--store", tmp_path / "a.db", f"{server.url}/ark:/12x45/x5")
    reading, writing = os.pipe()
    os.close(reading)
    try:
        for form in ((), ("--format", "md", "--out", "-")):
            done = run_command("report", "--store", tmp_path / "a.db", *form, "--fail-on", "broken", stdout=writing)
            assert (done.returncode, "ipe" in done.stderr) == (1, False), done.stderr
    finally:
        os.close(writing)


def test_tables_for_people_cut_nothing_off(letter: Path) -> None:
    for width in ("80", "20"):
        table = run_command("extract", "--format", "table", letter, COLUMNS=width).stdout
        assert "ark:12148/bpt6k107371t" in [line.split("│")[1].strip() for line in table.splitlines() if "│" in line]


def test_extract_prints_a_table_on_a_terminal(letter: Path) -> None:
    script = "import pty, sys; pty.spawn(sys.argv[1:])"
    command = [sys.executable, "-c", script, sys.executable, "-m", "arkaudit", "extract", str(letter)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    assert "┏" in done.stdout
    assert " ark:12148/bpt6k107371t " in done.stdout


def test_extract_prints_each_ark_once_where_only_those_are_wanted(letter: Path, tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text("ark:/67531/metadc2846 and ark:/67531/metadc9")
    done = run_command("extract", "--unique", letter, tmp_path / "other.txt")
    assert done.stdout.split() == ["ark:12148/bpt6k107371t", "ark:67531/metadc2846", "ark:67531/metadc9"]
    assert run_command("extract", "--unique", "--format", "csv", letter).returncode == 2


def test_check_takes_each_ark_of_a_line(tmp_path: Path) -> None:
    with RawServer(lambda target: reply("404 Not Found")) as server:
        one, two, three = (f"{server.url}/ark:/12x45/x{number}" for number in (1, 2, 3))
        (tmp_path / "notes.txt").write_text(f"see {one}, ({two}); and\n{three}\n")
        rows = check_rows(f"{three}?by={one}", "--from", tmp_path / "notes.txt")
    assert [row["asked"] for row in rows] == [f"{three}?by={one}", one, two, three]
    assert {row["ark"] for row in rows} == {"ark:12x45/x1", "ark:12x45/x2", "ark:12x45/x3"}


def test_check_answers_each_line_in_its_order(tmp_path: Path) -> None:
    def respond(target: str) -> bytes:
        return reply(body="<title>Page</title>") if target.startswith("/ark:/12x45/here") else reply("404 Not Found")

    with RawServer(respond) as server:
        lines = [
            f"{server.url}/ark:/12x45/gone",
            "no ark here",
            f"{server.url}/ark:/12x45/here",
            "ark:/12345/x5",
            "ark:/12148/",
        ]
        (tmp_path / "arks.txt").write_text("\n".join(lines) + "\n\n")
        rows = check_rows("--from", tmp_path / "arks.txt")
        assert [row["asked"] for row in rows] == lines
        assert outcomes(rows) == ["broken", "invalid", "resolved", "skipped", "invalid"]
        assert all(
            set(row)
            == {
                "asked", "ark", "object", "metadata", "commitment", "final_url", "hops", "requests", "rests_on",
                "did_you_mean", "archived_copy", "naan_policy", "remarks",
            }
            for row in rows
        )  # fmt: skip
        assert [row["requests"] for row in rows][3:] == [0, 0]


def test_check_sends_compact_arks_to_the_resolver_and_keeps_a_store(tmp_path: Path) -> None:
    with RawServer(lambda _: reply(body="x")) as server:
        [row] = check_rows("--resolver", f"{server.url}/r/", "--store", tmp_path / "audit.db", "ARK:/12x45/x5")
        assert "/r/ark:/12x45/x5" in server.targets
        assert row["ark"] == "ark:12x45/x5"
    assert select(tmp_path / "audit.db", "select count(*) from observation")[0][0] == len(server.targets)


@pytest.mark.parametrize(
    ("status", "threshold", "code"),
    [("404 Not Found", "never", 0), ("404 Not Found", "timeout", 1), ("403 Forbidden", "timeout", 0)],
)
def test_fail_on_counts_an_outcome_and_all_worse_ones(status: str, threshold: str, code: int) -> None:
    with RawServer(lambda _: reply(status)) as server:
        done = run_command("check", *ON_LOOPBACK, "--fail-on", threshold, f"{server.url}/ark:/12x45/x5")
    assert done.returncode == code


@pytest.mark.parametrize("vector", vectors("mistakes"))
def test_a_mistake_gets_one_clear_line_and_exit_code_2(vector: dict[str, Any], tmp_path: Path) -> None:
    configuration = []
    if "config" in vector:
        (tmp_path / "arkaudit.toml").write_text(vector["config"])
        configuration = ["-c", "arkaudit.toml"]
    done = run_command(*vector["arguments"], *configuration, folder=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert done.stderr.startswith("arkaudit: ")
    assert all(words in done.stderr for words in vector.get("words", []))
    assert "open-sesame" not in done.stderr, "a secret of the credentials"
    assert [path.name for path in tmp_path.iterdir()] == configuration[1:], "half-written"


def test_a_run_that_could_read_no_seed_ends_with_3_and_says_why(tmp_path: Path) -> None:
    picture = reply(media_type="image/png", body="x" * 9)
    with RawServer(lambda target: picture if target == "/picture" else reply("404 Not Found")) as server:
        seeds = [f"{server.url}/gone", f"{server.url}/picture"]
        run = ["run", *ON_LOOPBACK, *seeds, "--store", tmp_path / "a.db", "--fail-on", "broken"]
        done = run_command(*run, "--out", tmp_path / "out")
        assert done.returncode == 3
        unread = f"{server.url}/gone (404), {server.url}/picture (unreadable)"
        assert done.stderr.splitlines()[-1] == f"arkaudit: no seed could be read: {unread}"
        assert (tmp_path / "out" / "index.html").exists()
        assert run_command("extract", *ON_LOOPBACK, *seeds).returncode == 3


def test_one_readable_seed_is_enough_without_fail_on(tmp_path: Path) -> None:
    with RawServer(lambda target: reply(body="ark:/12345/x5") if target == "/" else reply("404 Not Found")) as server:
        seeds = [f"{server.url}/", f"{server.url}/gone"]
        extracted = [
            run_command("extract", *ON_LOOPBACK, *seeds, *fail_on).returncode
            for fail_on in ((), ("--fail-on", "unreadable"), ("--fail-on", "never"))
        ]
        ran = [
            run_command("run", *ON_LOOPBACK, *seeds, "--store", tmp_path / "a.db", *fail_on).returncode
            for fail_on in (("--fail-on", "unreadable"), ("--fail-on", "broken"))
        ]
    assert extracted == [0, 1, 0]
    assert ran == [1, 0]


def test_source_with_only_dead_documents_is_an_unread_seed(tmp_path: Path) -> None:
    urls = [f"http://w.example/{number}" for number in range(5)]
    pages: dict[str, Page] = {
        "/sitemap": sitemap(urls[0]),
        "/index": sitemap_index("http://w.example/in-index"),
        "/in-index": sitemap(urls[1]),
        "/feed": feed(urls[2]),
        "/list": ("\n".join(urls[3:]), "text/plain"),
        "/live": "ark:/12345/x5",
    }
    sources = [f"{kind}:http://w.example/{kind}" for kind in ("sitemap", "feed", "list")] + ["http://w.example/index"]
    with Web({"w.example": pages}) as web:
        crawl = ("crawl", *ON_LOOPBACK, *web.routes, "--store", tmp_path / "a.db")
        alone = run_command(*crawl, *sources)
        beside = run_command(*crawl, *sources, "http://w.example/live")
        pages |= dict.fromkeys(("/0", "/1", "/2", "/4"), "a page")
        live = [run_command(*crawl, source).returncode for source in sources]
    unread = "arkaudit: no seed could be read: " + ", ".join([r"http://w\.example/[0-4] \(404\)"] * 3) + " and 2 more"
    assert re.fullmatch(unread, alone.stderr.splitlines()[-1])
    assert (alone.returncode, beside.returncode, live) == (3, 0, [0] * 4)


def test_a_list_of_dead_documents_that_cites_an_ark_itself_was_read(tmp_path: Path) -> None:
    text = "http://w.example/1\nhttp://w.example/2\nark:/12345/x5\n"
    with Web({"w.example": {"/list": (text, "text/plain")}}) as web:
        done = run_command("crawl", *ON_LOOPBACK, *web.routes, "http://w.example/list", "--store", tmp_path / "a.db")
    assert done.returncode == 0, done.stderr


def test_repository_record_counts_as_read(tmp_path: Path) -> None:
    harvest = records(record("oai:r:1", "http://w.example/1"))
    with Web({"w.example": lambda target: harvest if "verb" in target else None}) as web:
        done = run_command("crawl", *ON_LOOPBACK, *web.routes, "oai:http://w.example/oai", "--store", tmp_path / "a.db")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("verb", ["run", "crawl", "extract"])
def test_empty_folder_is_reported(verb: str, tmp_path: Path) -> None:
    (tmp_path / "theses").mkdir()
    store = () if verb == "extract" else ("--store", tmp_path / "a.db")
    done = run_command(verb, tmp_path / "theses", *store)
    assert done.returncode == 3
    said = f"arkaudit: {tmp_path / 'theses'}: empty: there is no file in this folder"
    assert said.removeprefix("arkaudit: ") in done.stderr
    if verb == "extract":
        assert (done.stdout, done.stderr) == ("", f"{said}\narkaudit: nothing could be read\n")


def test_empty_list_is_named_as_nothing_to_check(tmp_path: Path) -> None:
    (tmp_path / "arks.txt").write_text("")
    done = run_command("check", "--from", tmp_path / "arks.txt")
    assert (done.returncode, done.stderr) == (
        2,
        f"arkaudit: nothing to check: there is no ARK in {tmp_path}/arks.txt\n",
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("12148/btv1b8449691v", "write ark: before it (ark:12148/btv1b8449691v)"),
        ("/12148/btv1b84/f1.item", "write ark: before it (ark:12148/btv1b84/f1.item)"),
        ("10.1000/182", "holds no ARK\n"),
        ("12148", "holds no ARK\n"),
        ("https://n2t.net/12148/x5", "holds no ARK\n"),
    ],
)
def test_name_without_its_label_is_told_how_to_write_it(text: str, said: str) -> None:
    done = run_command("check", text)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert said in done.stderr


def test_lines_without_ark_are_reported_and_alone_a_mistake(tmp_path: Path) -> None:
    done = run_command("check", "nothing", "ark:/12345/x5", "ark:/12148/")
    assert (done.returncode, outcomes(json_lines(done.stdout))) == (0, ["invalid", "skipped", "invalid"])
    assert done.stderr.splitlines()[:2] == [
        "arkaudit: 'nothing' holds no ARK",
        "arkaudit: 'ark:/12148/' names a NAAN or shoulder, not an object",
    ]
    for lines in (["nothing"], ["ark:/12148/", "x"]):
        (tmp_path / "arks.txt").write_text("\n".join(lines))
        for given in (lines, ["--from", tmp_path / "arks.txt"], ["--dry-run", *lines]):
            done = run_command("check", "--store", tmp_path / "a.db", *given)
            assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert not (tmp_path / "a.db").exists()


def test_a_crawl_stays_on_its_site_and_within_its_depth(tmp_path: Path) -> None:
    def respond(target: str) -> bytes:
        return reply(
            body=f"<a href='http://elsewhere.example/'>x</a><a href='{target}x/'>deeper</a> ark:/67531/m{len(target)}"
        )

    with RawServer(respond) as server:
        run_command("crawl", *ON_LOOPBACK, "--depth", "2", f"{server.url}/", "--store", tmp_path / "a.db")
        assert server.targets == ["/", "/x/", "/x/x/"]


def test_run_reports_and_report_repeats_it_byte_for_byte(tmp_path: Path) -> None:
    with RawServer(lambda target: reply(body=f"<title>{target}</title> ark:/12345/x5")) as server:
        done = run_command(
            "run", *ON_LOOPBACK, f"{server.url}/", "--store", tmp_path / "a.db", "--out", tmp_path / "one"
        )
    assert done.returncode == 0, done.stderr
    again = run_command("report", "--store", tmp_path / "a.db", "--out", tmp_path / "two")
    assert again.returncode == 0
    files = sorted(path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*") if path.is_file())
    assert Path("index.html") in files
    assert all((tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes() for name in files)


OK = b"HTTP/1.1 200 OK\r\n"

ODD_ANSWERS = {
    "a charset that breaks the library's parser": OK + b"Content-Type: a/b; charset*0=a; charset*=b\r\n\r\nx",
    "two lengths": OK + b"Content-Length: 5\r\nContent-Length: 7\r\n\r\nhello",
    "an unknown transfer coding": OK + b"Transfer-Encoding: gzip, foo\r\n\r\nx",
    "JSON with a lone surrogate": OK + b'Content-Type: a/json\r\nContent-Length: 21\r\n\r\n{"title": "\\ud800 x"}',
    "XML with a lone surrogate": OK
    + b"Content-Type: text/xml\r\nContent-Length: 35\r\n\r\n<r><title>&#xD800; x</title></r>\r\n ",
    "nothing": b"",
    "a Location in Latin-1": b"HTTP/1.1 302 Found\r\nLocation: /caf\xe9 x\r\nContent-Length: 0\r\n\r\n",
}


def test_each_input_line_has_a_row_for_any_answer() -> None:
    answers = {f"n{number}": answer for number, answer in enumerate(ODD_ANSWERS.values())}

    def respond(target: str) -> bytes:
        name = target.partition("?")[0].rpartition("/")[2]
        return answers.get(name, reply("404 Not Found"))

    with RawServer(respond) as server:
        rows = check_rows(*(f"{server.url}/ark:/12x45/{name}" for name in answers))
    assert len(rows) == len(ODD_ANSWERS)
    told = dict(zip(ODD_ANSWERS, outcomes(rows), strict=True))
    assert {why: outcome for why, outcome in told.items() if outcome == "undetermined"} == {}
    assert told["two lengths"] == told["an unknown transfer coding"] == "resolved"
    assert told["nothing"] == "reset"


def test_undecodable_file_names_are_accepted(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/caf\xe9.txt"
    Path(os.fsdecode(name)).write_text("ark:/67531/metadc2846")
    [row] = json_lines(run_command("extract", tmp_path).stdout)
    assert row["document"].endswith("caf\\udce9.txt")
    assert run_command("crawl", tmp_path, "--store", tmp_path / "a.db").returncode == 0


def test_a_host_that_wants_its_cookie_back_gets_it_within_one_chain_only() -> None:
    def respond_to(head: str) -> bytes:
        if "\r\nCookie: seen=1\r\n" in head:
            return reply(body="<title>An object</title>")
        return reply("302 Found", Location=head.split(" ")[1], Set_Cookie="seen=1; Path=/")

    with RawServer(lambda _: b"") as server:
        server._respond = lambda _: respond_to(server.heads[-1])
        rows = check_rows(*(f"{server.url}/ark:/12x45/n{number}" for number in range(2)))
        first = [head for head in server.heads if head.startswith("GET /ark:/12x45/n1 ")]
    assert "loop" not in outcomes(rows)
    assert ["Cookie:" in head for head in first] == [False, True]


def test_an_ark_in_a_relative_link_is_asked_where_its_page_is(tmp_path: Path) -> None:
    def respond(target: str) -> bytes:
        return (
            reply(body="<a href='/r/ark:/12x45/x5'>it</a>") if target == "/" else reply(body=f"<title>{target}</title>")
        )

    with RawServer(respond) as server:
        run_command("run", *ON_LOOPBACK, "--depth", "0", f"{server.url}/", "--store", tmp_path / "a.db")
        assert "/r/ark:/12x45/x5" in server.targets
    assert select(tmp_path / "a.db", "select distinct request_url from mention") == [(f"{server.url}/r/ark:/12x45/x5",)]


@pytest.mark.parametrize(
    ("words", "place", "found"),
    [
        pytest.param("arkaudit ru", 1, "plain,run", id="a command"),
        pytest.param("arkaudit report --form", 2, "plain,--format", id="an option"),
        pytest.param("arkaudit run --fail-on bro", 3, "plain,broken", id="a word of an option"),
    ],
)
def test_shell_completion_works(words: str, place: int, found: str) -> None:
    asked = {"COMP_WORDS": words, "COMP_CWORD": str(place), "_ARKAUDIT_COMPLETE": "bash_complete"}
    assert found in run_command(**asked).stdout.splitlines()
