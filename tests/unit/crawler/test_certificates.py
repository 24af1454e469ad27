"""The fault of a host's certificate, as it came with an answer."""

from datetime import UTC, datetime, timedelta

import pytest
import trustme
from scrapy.http import Response
from twisted.internet.ssl import Certificate

from crawler.wire.middlewares import certificate_fault

AUTHORITY = trustme.CA()
URL = "https://library.example/ark:12x45/x5"


def leaf(*names: str, days: tuple[int, int] = (-20, 10)) -> bytes:
    """Return the PEM of a certificate for *names*, valid between the given numbers of days from now."""
    start, end = (datetime.now(UTC) + timedelta(days=day) for day in days)
    return AUTHORITY.issue_cert(*names, not_before=start, not_after=end).cert_chain_pems[0].bytes()


def fault(pem: bytes, url: str) -> str | None:
    return certificate_fault(Response(url, certificate=Certificate.loadPEM(pem)))  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    ("pem", "url", "words"),
    [
        pytest.param(leaf("library.example"), URL, None, id="valid"),
        pytest.param(
            leaf("*.library.example"), "https://n2t.library.example/", None, id="valid for all names of a domain"
        ),
        pytest.param(leaf("127.0.0.1"), "https://127.0.0.1:8443/", None, id="valid for an address"),
        pytest.param(leaf("::1"), "https://[::1]/", None, id="valid for an address of version 6"),
        pytest.param(leaf("127.0.0.2"), "https://127.0.0.1/", "is for another host", id="for another address"),
        pytest.param(leaf("another.example"), URL, "is for another host", id="for another name"),
        pytest.param(leaf("library.example", days=(-9, -1)), URL, "has expired", id="expired"),
        pytest.param(leaf("library.example", days=(1, 9)), URL, "is not valid yet", id="from tomorrow on"),
        pytest.param(AUTHORITY.cert_pem.bytes(), URL, "is for another host", id="without names"),
        pytest.param(leaf("proxy.example"), "http://library.example/", None, id="of a proxy, for plain http"),
    ],
)
def test_fault_of_a_certificate(pem: bytes, url: str, words: str | None) -> None:
    assert fault(pem, url) == words


def test_answers_without_a_certificate_have_no_fault() -> None:
    assert certificate_fault(Response(URL)) is None
