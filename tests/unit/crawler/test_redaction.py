"""Secrets are removed from all texts that repeat them."""

import base64
import json

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


def test_a_password_in_basic_is_looked_for_in_each_of_its_forms() -> None:
    credential = Credential({"Authorization": "Basic bWU6b3Blbi1zZXNhbWU="})
    for told in ("Basic bWU6b3Blbi1zZXNhbWU=", "bWU6b3Blbi1zZXNhbWU=", "me:open-sesame", "open-sesame"):
        assert Redactor.for_secrets(credential.secrets).bytes(json.dumps(told).encode()) == b'"[secret]"'


def test_a_short_word_is_left_in_the_pages_that_hold_it_by_chance() -> None:
    assert Redactor.for_secrets(Credential(cookies={"seen": "1"}).secrets).bytes(b"at 1 o'clock") == b"at 1 o'clock"


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
