"""Logs of web servers as a source: request targets and referrers, without personal data."""

import gzip
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.model.observations import DocumentOutcome
from crawler.sources import request_logs
from crawler.sources.request_logs import MOST_LINE_BYTES, RequestLogs, citing_page, request_in
from crawler.store.store import Store
from tests.loopback import ON_LOOPBACK, RawServer, json_lines, reply, run_command, select
from tests.vectors import vectors

Command = Callable[..., CompletedProcess[str]]
OURS = "https://ark.example.org/"
BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


def combined_line(target: str, referer: str = "-", agent: str = BROWSER, status: int = 404) -> str:
    return (
        f"203.0.113.9 - secretuser [25/Nov/2026:20:23:23 +0000] "
        f'"GET {target} HTTP/1.1" {status} 153 "{referer}" "{agent}"\n'
    )


@pytest.mark.parametrize("vector", vectors("request_logs"))
def test_line_is_read(vector: dict[str, Any]) -> None:
    request = request_in(vector["line"].encode())
    assert (request is not None) == vector["is_request"]
    if request is None:
        return
    logs = RequestLogs(OURS)
    assert logs.add(request, "access.log") == ("url" in vector)
    cited = [(record.url, one) for record in logs.records() for one in record.mentions]
    assert len(cited) == ("url" in vector)
    for page, one in cited:
        assert (one.request_url, page) == (vector["url"], vector.get("page", "access.log"))
        assert (one.requests.asked, one.requests.answered) == (1, vector["answered"])


def as_nginx(text: bytes) -> bytes:
    """Return a variable as ``ngx_http_log_escape`` writes it."""
    return b"".join(
        bytes([octet]) if 31 < octet < 127 and octet not in b'"\\' else b"\\x%02X" % octet for octet in text
    )


def as_apache(text: bytes) -> bytes:
    """Return an item as ``ap_escape_logitem`` writes it."""
    words = {8: b"\\b", 9: b"\\t", 10: b"\\n", 11: b"\\v", 13: b"\\r", 34: b'\\"', 92: b"\\\\"}
    return b"".join(words.get(octet) or (bytes([octet]) if 31 < octet < 127 else b"\\x%02x" % octet) for octet in text)


@given(agent=st.binary(max_size=60), path=st.binary(max_size=60))
def test_any_field_is_read_as_sent(agent: bytes, path: bytes) -> None:
    referer = b"https://a.example/" + path
    requests = {
        request_in(
            b'203.0.113.9 - - [25/Nov/2026:20:23:23 +0000] "GET /ark:/12148/x5 HTTP/1.1" 404 1 "%b" "%b"'
            % (escaped(referer), escaped(agent))
        )
        for escaped in (as_nginx, as_apache)
    }
    [request] = requests
    assert request is not None
    assert request.target == "/ark:/12148/x5"
    assert request.referer == referer.decode("utf-8", "replace")


@given(st.binary(max_size=300), st.text(max_size=100))
def test_any_line_or_referer_is_read_without_error(line: bytes, referer: str) -> None:
    request_in(line)
    page = citing_page(f"https://a.example/{referer}", "https://a.example")
    assert page is None or not (set("?;") & set(page) or "@" in page.removeprefix("https://").partition("/")[0])


@pytest.mark.parametrize("vector", vectors("referers"))
def test_only_public_part_of_a_referer_is_kept(vector: dict[str, Any]) -> None:
    assert citing_page(vector["referer"], "https://ark.ours.example") == vector["page"]


# -- whole logs


def findings(path: Path) -> tuple[DocumentOutcome | Any, dict[str, str]]:
    logs = RequestLogs(OURS)
    logs.read_log(path, str(path))
    [record] = [one for one in logs.records() if one.outcome is not DocumentOutcome.REFERER]
    return record.outcome, {finding.kind: finding.detail for finding in record.findings}


LINE = combined_line("/ark:/12148/x5").encode()
CUT_OFF = gzip.compress(LINE + os.urandom(9000).hex().encode() + b"\n")[:-9]


@pytest.mark.parametrize(
    ("why", "data", "outcome", "kind", "words"),
    [
        ("an empty log", b"", "read", "log-read", "in 0 lines"),
        ("a binary file", bytes(range(256)) * 50, "unreadable", "odd-lines", "no known format"),
        ("odd lines", LINE + b"hello\n\n" + LINE, "read", "odd-lines", ": 2"),
        ("many odd lines", LINE + b"hello\n" * 9, "read", "odd-lines", ": 9"),
        ("a line of a megabyte", LINE[:-2] + b"a" * 2**20 + b'"\n' + LINE, "read", "odd-lines", ": 8"),
        ("gzip", gzip.compress(LINE * 3), "read", "log-read", "3 requests for ARKs in 3 lines"),
        ("gzip that is cut off", CUT_OFF, "read", "unreadable-part", "ended"),
        ("gzip of nothing", gzip.compress(LINE)[:12], "unreadable", "unreadable", "ended"),
    ],
    ids=lambda value: value if isinstance(value, str) and " " in value else "",
)  # fmt: skip
def test_faults_of_a_log_are_findings(
    tmp_path: Path, why: str, data: bytes, outcome: str, kind: str, words: str
) -> None:
    log = tmp_path / ("access.log.1.gz" if data.startswith(b"\x1f\x8b") else "access.log")
    log.write_bytes(data)
    told, by_kind = findings(log)
    assert told == outcome, by_kind
    assert words in by_kind[kind]


def test_repeated_requests_take_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_logs, "MOST_DISTINCT", 2)
    log = tmp_path / "access.log"
    log.write_bytes(LINE * 1000 + combined_line("/ark:/12148/x6").encode() + combined_line("/ark:/12148/x7").encode())
    logs = RequestLogs(OURS)
    logs.read_log(log, str(log))
    [record] = logs.records()
    assert [(one.mention.ark.name, one.requests.asked) for one in record.mentions] == [("x5", 1000), ("x6", 1)]
    assert [finding.detail for finding in record.findings] == ["1001 requests for ARKs in 1002 lines"]
    assert len(LINE) < MOST_LINE_BYTES


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
