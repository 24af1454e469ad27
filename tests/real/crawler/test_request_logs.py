"""Access logs as a source of audits and checks, without personal data in any output."""

import gzip
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from crawler.sources.request_logs import RequestLogs
from crawler.store.store import Store
from tests.real.loopback import ON_LOOPBACK, RawServer, json_lines, reply, run_command, select
from tests.unit.crawler.test_request_logs import BROWSER, OURS, combined_line
from tests.vectors import vectors

Command = Callable[..., CompletedProcess[str]]


# -- audits

HOST = "ark.library.example"

PAGE = f"http://{HOST}/citing"


@contextmanager
def library() -> Iterator[Command]:
    """Yield the command, with a resolver that knows one name."""

    def answer(target: str) -> bytes:
        match target.partition("?")[0]:
            case "/ark:/12148/fine":
                return reply(body="<title>Fine</title><p>The fine object itself, ark:/12148/fine, kept here.")
            case "/citing":
                return reply(
                    body=f"<a href='http://{HOST}/ark:/12148/lost'>x</a> <a href='http://{HOST}/ark:/12148/fine'>y</a>"
                )
        return reply("404 Not Found", "no such name")

    with RawServer(answer) as server:
        route = f"--connect-to={HOST}:80=127.0.0.1:{server.port}"
        yield lambda verb, *arguments: run_command(
            verb, *arguments, *ON_LOOPBACK, route, "--resolver", f"http://{HOST}/"
        )


def write_logs(folder: Path) -> str:
    lost, fine = "/ark:/12148/lost", "/ark:/12148/fine"
    (folder / "access.log").write_text(
        combined_line(lost, "https://thesis.example/3?token=s3cret") * 4
        + combined_line(lost, PAGE) * 2
        + combined_line(fine, PAGE, status=200)
        + combined_line("/ark:/12148/seldom") * 2
        + combined_line(lost, agent="Googlebot/2.1")
    )
    (folder / "access.log.2.gz").write_bytes(gzip.compress(combined_line(lost).encode() * 3))
    return f"log:{folder / 'access.log*'}"


@pytest.mark.promise
def test_report_lists_requested_failures_by_frequency(tmp_path: Path) -> None:
    store, seed = tmp_path / "a.db", write_logs(tmp_path)
    with library() as command:
        done = command("run", seed, "--store", store, "--out", tmp_path / "out", "--format", "md")
        assert done.returncode == 0, done.stderr
    said = "According to the logs, ARKs were requested 13 times; 12 of these requests were for failing ARKs."
    assert said in " ".join(done.stdout.split())
    text = (tmp_path / "out" / "report.md").read_text()
    asked = text.partition("## Requested by visitors, and failing")[2].partition("## ")[0]
    lines = [line.split(" | ") for line in asked.splitlines() if "ark:" in line]
    assert [(line[0], line[1], line[-2]) for line in lines] == [
        ("| ark:12148/lost", "10", "10 404"), ("| ark:12148/seldom", "2", "2 404"),
    ]  # fmt: skip
    assert lines[0][2].startswith("`4 https://thesis.example, 3 ")
    assert f"2 {PAGE}" in lines[0][2]
    requests = "select sum(asked) from mention"
    assert select(store, requests) == [(13,)]
    assert select(store, "select url, outcome from document where url like 'http%' order by url") == [
        (PAGE, "referer"), ("https://thesis.example", "referer"),
    ]  # fmt: skip


def test_a_page_that_is_crawled_as_well_is_one_document_and_cites_once(tmp_path: Path) -> None:
    store, seed = tmp_path / "a.db", write_logs(tmp_path)
    with library() as command:
        command("crawl", seed, PAGE, "--store", store)
        again = command("run", seed, PAGE, "--store", store, "--jobs", "1")
        assert again.returncode == 0, again.stderr
    query = f"""
        select run_id, outcome, ordinal, citation, request_url, asked from mention join document using (document_id)
        where url = '{PAGE}' order by run_id, ordinal"""
    lost, fine = f"http://{HOST}/ark:/12148/lost", f"http://{HOST}/ark:/12148/fine"
    assert select(store, query) == [
        (run, "read", *place)
        for run in (1, 2)
        for place in ((1, 1, lost, None), (2, 2, fine, None), (3, 1, lost, 2), (4, 2, fine, 1))
    ], "each run counts only its own reading"


def test_a_resumed_run_counts_nothing_twice(tmp_path: Path) -> None:
    store, seed = tmp_path / "a.db", write_logs(tmp_path)
    logs = RequestLogs(OURS)
    for path in tmp_path.glob("access.log*"):
        logs.read_log(path, str(path))
    run_command("crawl", seed, "--store", store)
    before = select(store, "select count(*), sum(asked) from mention")
    with Store.open(store) as opened:
        opened.record_logs(1, logs.records())
    assert select(store, "select count(*), sum(asked) from mention") == before


def test_check_asks_most_requested_arks_of_a_log_first(tmp_path: Path) -> None:
    seed = write_logs(tmp_path)
    with library() as command:
        done = command("check", "--from", seed)
    assert [(row["ark"], row["object"]["outcome"]) for row in json_lines(done.stdout)] == [
        ("ark:12148/lost", "broken"), ("ark:12148/seldom", "broken"), ("ark:12148/fine", "resolved"),
    ]  # fmt: skip
    assert "cited in https://thesis.example (4); " in done.stderr


@pytest.mark.parametrize("verb", ["extract", "run"])
def test_a_log_that_is_not_there_or_not_for_this_command_is_one_line(tmp_path: Path, verb: str) -> None:
    done = run_command(verb, f"log:{tmp_path / 'no*'}")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert ("there is no log" if verb == "run" else "log: is for") in done.stderr


# -- privacy

_ADDRESSES = ("203.0.113.", "198.51.100.", "2001:db8", "2001%3Adb8", "192.0.2.")

_OF_VISITORS = (*_ADDRESSES, "secretuser", "s3cret", "C00KIE", "anna:pw", "user=anna", "Anna Maria", "X11; Linux")


def test_nothing_of_a_visitor_is_in_store_log_report_or_output(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    seed = write_logs(folder)
    lines = [vector["line"] for (vector,) in (param.values for param in vectors("request_logs"))]
    lines += [
        combined_line(f"/ark:/12148/q{number}?ip={address}&sid=C00KIE", f"https://{where}")
        for number, address in enumerate(("203.0.113.9", "2001:db8::77", "192.0.2.7"))
        for where in (f"a.example/?ip={address}", f"a.example/{address}", f"[{address}]/", f"{address}/", f"a.example/#{address}")
    ]  # fmt: skip
    lines += [
        f'192.0.2.7 - anna [x] "GET /ark:/12148/x5;{address} HTTP/1.1" 404 1 "-" "{BROWSER}"'
        for address in _ADDRESSES[:1]
    ]
    (folder / "access.log.3").write_text("\n".join(lines).replace("\ud800", ""))
    with library() as command:
        kept_at = ("--store", tmp_path / "a.db", "--out", tmp_path / "out", "--log-file", tmp_path / "kept.log")
        done = command("run", seed, *kept_at, "--format", "all", "-vv")
        assert done.returncode == 0, done.stderr
        said = f"{done.stdout}{done.stderr}".encode()
        said += command("check", "--from", seed).stdout.encode()
    kept = [path for path in tmp_path.rglob("*") if path.is_file() and folder not in path.parents]
    assert len(kept) > 20
    for path, data in [(Path("said"), said), *((path, path.read_bytes()) for path in kept)]:
        for word in _OF_VISITORS:
            at = data.find(word.encode())
            assert at < 0, f"{path}: {data[max(0, at - 80) : at + 80]!r}"
