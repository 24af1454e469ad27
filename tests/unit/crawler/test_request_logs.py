"""Lines of access logs: request targets and public parts of referrers."""

import gzip
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.model.observations import DocumentOutcome
from crawler.sources import request_logs
from crawler.sources.request_logs import MOST_LINE_BYTES, RequestLogs, citing_page, request_in
from tests.vectors import vectors

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
    logs.add(request, "access.log")
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
    assert request.path == "/ark:/12148/x5"
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
        ("an empty log", b"", "read", "", ""),
        ("a binary file", bytes(range(256)) * 50, "unreadable", "odd-lines", "no known format"),
        ("odd lines", LINE + b"hello\n\n" + LINE, "read", "odd-lines", ": 2"),
        ("many odd lines", LINE + b"hello\n" * 9, "read", "odd-lines", ": 9"),
        ("a line of a megabyte", LINE[:-2] + b"a" * 2**20 + b'"\n' + LINE, "read", "odd-lines", ": 8"),
        ("gzip", gzip.compress(LINE * 3), "read", "", ""),
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
    assert (words in by_kind[kind]) if kind else not by_kind


def test_repeated_requests_take_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_logs, "MOST_DISTINCT", 2)
    log = tmp_path / "access.log"
    log.write_bytes(LINE * 1000 + combined_line("/ark:/12148/x6").encode() + combined_line("/ark:/12148/x7").encode())
    logs = RequestLogs(OURS)
    logs.read_log(log, str(log))
    [record] = logs.records()
    assert [(one.mention.ark.name, one.requests.asked) for one in record.mentions] == [("x5", 1000), ("x6", 1)]
    assert len(LINE) < MOST_LINE_BYTES
