"""Secrets are removed from all texts that repeat them."""

import base64
import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.model.crawl_requests import CrawlRequest
from crawler.model.observations import ChainEnd, DocumentOutcome, DocumentRecord, Hop, Observation, Pause, Question
from crawler.wire.credentialed import RecordRedactor
from crawler.wire.credentials import Credential, Credentials, proxy_credential
from crawler.wire.redaction import HIDDEN, Redactor
from extractors.model.ark import Ark
from extractors.model.documents import Finding
from extractors.model.urls import Origin
from tests.loopback import ON_LOOPBACK, RawServer, reply, run_command

TOKEN = "S3cr3t/42+x"
COOKIE = "c00kie/of+mine=="


def test_secret_is_replaced_in_text_and_bytes() -> None:
    quiet = Redactor.for_secrets([TOKEN, "short"])
    assert quiet.text(f"?tok={TOKEN}&short={TOKEN}") == f"?tok={HIDDEN}&short={HIDDEN}"
    assert quiet.bytes(f"<p>{TOKEN}</p>".encode()) == f"<p>{HIDDEN}</p>".encode()


@given(st.text())
def test_nothing_else_is_changed(text: str) -> None:
    quiet = Redactor.for_secrets([TOKEN, COOKIE])
    assert quiet.text(text) == text
    assert quiet.bytes(text.encode("utf-8", "surrogatepass")) == text.encode("utf-8", "surrogatepass")


@pytest.mark.parametrize(
    ("value", "secret"),
    [
        ("Bearer S3cr3t/42+x", "S3cr3t/42+x"),
        ('Token token="S3cr3t/42+x", id=3', "S3cr3t/42+x"),
        ("ApiKey me:S3cr3t/42+x", "S3cr3t/42+x"),
        (f"Basic {base64.b64encode(b'me:S3cr3t/42+x').decode()}", "S3cr3t/42+x"),
        (f"Basic {base64.b64encode('me:pässwört'.encode('latin-1')).decode()}", "pässwört"),
    ],
)
def test_parts_of_a_value_are_secrets_as_well(value: str, secret: str) -> None:
    quiet = Redactor.for_secrets(Credential({"Authorization": value}).secrets)
    assert quiet.text(f"you are {secret}") == f"you are {HIDDEN}"


def test_a_proxy_has_secrets() -> None:
    assert "p/w-open" in proxy_credential("http://me:p%2Fw-open@proxy.example:3128/").secrets
    assert proxy_credential("http://proxy.example:3128/").secrets == ()


def test_records_are_kept_without_the_secrets_of_their_hosts() -> None:
    own = Credentials({Origin.from_name("http://own.example"): Credential({"X-Key": "S3cr3t/42+x"})})
    withheld = RecordRedactor(own)
    hop = Hop("http://own.example/a", "GET", "2026-11-21T10:00:00.000+00:00", error="bad line: 'S3cr3t/42+x'")
    asked = "http://own.example/a?S3cr3t/42+x"
    seen = Observation(
        Ark.parse("ark:12x45/a"), asked, Question.OBJECT, asked, (hop,), ChainEnd.RESET, text="a S3cr3t/42+x"
    )
    kept = withheld(seen)
    assert (kept.request_url, kept.hops[0].error, kept.text) == (asked, f"bad line: '{HIDDEN}'", f"a {HIDDEN}")
    crawl_request = CrawlRequest.to_page("http://own.example/b", found_on="http://own.example/a?S3cr3t/42+x")
    way = DocumentRecord(
        "http://own.example/w", None, "", DocumentOutcome.READ, (hop,), title="S3cr3t/42+x", settles="S3cr3t/42+x"
    )
    document = DocumentRecord(
        "http://own.example/a", None, "", DocumentOutcome.READ, (hop,), new_requests=(crawl_request,),
        redirected_from=way,
        findings=(Finding("x", "S3cr3t/42+x"),),
    )  # fmt: skip
    recorded = withheld(document)
    assert "S3cr3t" not in repr(recorded).replace("settles='S3cr3t/42+x'", "")
    assert "S3cr3t" not in repr(withheld(Pause("http://own.example", "http://own.example/S3cr3t/42+x", "", 1, True)))
    elsewhere = DocumentRecord("http://other.example/", None, "", DocumentOutcome.READ, title="S3cr3t/42+x")
    assert withheld(elsewhere) is elsewhere


def test_repeated_secret_reaches_no_store_log_or_report(tmp_path: Path) -> None:
    (tmp_path / "arkaudit.toml").write_text(
        f"""
        [hosts."http://own.example"]
        headers = {{ Authorization = "Bearer {TOKEN}" }}
        cookies = {{ session = "{COOKIE}" }}
        interval = 0
        """
    )
    said = f"Bearer {TOKEN} {COOKIE}"

    def respond(target: str) -> bytes:
        if target == "/moved":
            return reply("302 Found", Location=f"/landed?tok={TOKEN}")
        if target == "/z":
            packed = gzip.compress(f"see ark:/12x45/gz1 {said}".encode())
            head = f"Content-Type: application/gzip\r\nContent-Length: {len(packed)}\r\nConnection: close\r\n\r\n"
            return b"HTTP/1.1 200 OK\r\n" + head.encode() + packed
        if target == "/broken" or "x6" in target:
            return f"HTTP/1.1 {said}\r\nbad {said}\r\n\r\n".encode()
        links = "".join(f"<a href='/{name}'>{name}</a>" for name in ("moved", "z", "broken"))
        page = f"<title>{said}</title>{links}<a href='/p?tok={TOKEN}'>p</a> ark:/12x45/x5 ark:/12x45/x6 {said}"
        return reply(body=page, X_Server=said, Link=f'<{TOKEN}>; rel="cite-as"', Content_Language=TOKEN)

    with RawServer(respond) as server:
        done = run_command(
            "run", "-c", tmp_path / "arkaudit.toml", "--connect-to", f"own.example:80=127.0.0.1:{server.port}",
            *ON_LOOPBACK, "--resolver", "http://own.example/", "--attempts", "1", "--depth", "2",
            "--log-file", tmp_path / "a.log", "--log-level", "debug",
            "--store", tmp_path / "a.db", "--out", tmp_path / "report", "http://own.example/",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert {"/z", "/moved", "/broken"} <= set(server.targets)
        assert any("Bearer" in head for head in server.heads)
    files = [file for file in tmp_path.rglob("*") if file.is_file() and file.name != "arkaudit.toml"]
    texts = {file.name: file.read_bytes().decode("latin-1") for file in files}
    texts |= {"stdout": done.stdout, "stderr": done.stderr}
    assert {"a.log", "a.db", "index.html"} <= texts.keys()
    assert HIDDEN in texts["a.db"]
    assert [name for name, text in texts.items() if TOKEN in text or COOKIE in text] == []
