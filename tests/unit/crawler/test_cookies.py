"""Cookies of a file: chosen by host, encryption and date."""

from pathlib import Path

import pytest
from scrapy import Request
from scrapy.http import Response

from crawler.wire.credentialed import MOST_FORMER, Sessions
from crawler.wire.credentials import Credential, Credentials, cookies_for
from extractors.model.urls import Origin

FOREVER = 4_102_444_800


def cookie_line(host: str, name: str, value: str, *, expires: int = FOREVER, secure: bool = False) -> str:
    of_subdomains = "TRUE" if host.startswith(".") else "FALSE"
    return "\t".join((host, of_subdomains, "/", str(secure).upper(), str(expires), name, value))


def write_cookies(folder: Path, *lines: str) -> Path:
    file = folder / "cookies.txt"
    file.write_text("\n".join(("# Netscape HTTP Cookie File", *lines, "")))
    return file


@pytest.mark.parametrize(
    ("line", "origin", "is_sent"),
    [
        (cookie_line("repo.example", "s", "v"), "https://repo.example", True),
        (cookie_line(".example.org", "s", "v"), "https://repo.example.org", True),
        (cookie_line("example.org", "s", "v"), "https://repo.example.org", False),
        (cookie_line(".other.org", "s", "v"), "https://repo.example.org", False),
        (cookie_line("repo.example", "s", "v", secure=True), "http://repo.example", False),
        (cookie_line("repo.example", "s", "v", expires=1_000_000_000), "https://repo.example", False),
        (cookie_line("repo.example", "s", "v", expires=0), "https://repo.example", True),
        (f"#HttpOnly_{cookie_line('repo.example', 's', 'v')}", "https://repo.example", True),
    ],
)
def test_cookie_is_chosen_by_host_encryption_and_date(line: str, origin: str, is_sent: bool, tmp_path: Path) -> None:
    file = write_cookies(tmp_path, line)
    if is_sent:
        assert cookies_for(Origin.parse(origin), file) == {"s": "v"}
    else:
        with pytest.raises(ValueError, match="has no cookie for"):
            cookies_for(Origin.parse(origin), file)


def test_replaced_cookie_is_sent_and_its_former_values_are_secret() -> None:
    origin = Origin.parse("https://repo.example/")
    sessions = Sessions(Credentials({origin: Credential(cookies={"s": "s3ssion-first"})}))
    request = Request("https://repo.example/in")
    for number in range(100):
        headers = {"Set-Cookie": [f"s=s3ssion-{number}; Domain=.example; Path=/x", "other=tracking-me"]}
        sessions.keep(Response(request.url, headers=headers), request)
    _, credential = sessions.find("https://repo.example/ark:12148/x1") or (None, Credential())
    assert credential.cookie == "s=s3ssion-99"
    assert set(credential.secrets) == {
        "s3ssion-first",
        *(f"s3ssion-{number}" for number in range(100 - MOST_FORMER, 100)),
    }
    assert sessions.find("https://other.example/") is None
    assert sessions.find("http://repo.example/") is None
