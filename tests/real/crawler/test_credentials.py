"""Credentials reach only their own host: no other host, no file, no line on a screen."""

import datetime
import gzip
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import trustme

from tests.real.loopback import ON_LOOPBACK, RawServer, reply, run_command

TOKEN, COOKIE, PASSWORD = "t0ken-open-sesame", "c00kie-open-sesame", "pr0xy-open-sesame"


CONFIG = """
[hosts."own.example"]
headers = { Authorization = "Bearer t0ken-open-sesame", X-Key = { env = "OWN_KEY" } }
cookies = { session = "c00kie-open-sesame" }
"""


ARK = "ark:/12x45/x5"


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def folder(tmp_path: Path, authority: trustme.CA) -> Iterator[Path]:
    (tmp_path / "arkaudit.toml").write_text(CONFIG)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    yield tmp_path
    for path in [each for each in tmp_path.rglob("*") if each.is_file() and each.name != "arkaudit.toml"]:
        assert b"open-sesame" not in path.read_bytes(), path


def audit(verb: str, folder: Path, *arguments: str | Path, **environment: str) -> str:
    """Run a command; return its output, which is searched for secrets."""
    done = run_command(
        verb, "-c", folder / "arkaudit.toml", *ON_LOOPBACK, "--attempts", "1", "--log-file", folder / "a.log",
        "--log-level", "debug", *arguments,
        **{"OWN_KEY": "k3y-open-sesame", **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "open-sesame" not in done.stdout + done.stderr
    return done.stderr


def repeating(server: RawServer) -> Callable[[str], bytes]:
    """Return a responder that repeats its request in the page, compressed, in headers, and in a Location."""

    def respond(target: str) -> bytes:
        head = server.heads[-1]
        words = head.replace("\r\n", " ")
        page = f"<title>{words}</title><a href='/packed'>p</a> <a href='/moved'>m</a> {ARK} {words}"
        if target == "/packed":
            packed = gzip.compress(page.encode())
            lines = f"Content-Encoding: gzip\r\nContent-Length: {len(packed)}\r\nConnection: close\r\n\r\n"
            return b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" + lines.encode() + packed
        if target == "/moved":
            return reply("302 Found", Location=f"/landed?by={words.partition('Bearer ')[2][:40].replace(' ', '+')}")
        if target.startswith("/ark:"):
            return reply("302 Found", Location=f"http://other.example{target}", Link=f"<{words}>", Set_Cookie="a=b")
        return reply(body=page, X_Server=words, Server=words)

    return respond


@pytest.mark.promise
def test_credentials_go_to_their_origin_only_and_are_kept_nowhere(folder: Path, authority: trustme.CA) -> None:
    leaf = authority.issue_cert("own.example")
    with ExitStack() as stack:
        own, elsewhere = RawServer(lambda _: b"", tls=leaf), RawServer(lambda _: b"", tls=leaf)
        plain, other = RawServer(lambda _: b""), RawServer(lambda _: b"")
        routes = []
        for server, place in (
            (own, "own.example:443"), (elsewhere, "own.example:8443"), (plain, "own.example:80"),
            (other, "other.example:80"),
        ):  # fmt: skip
            server._respond = repeating(server)
            stack.enter_context(server)
            routes.append(f"--connect-to={place}=127.0.0.1:{server.port}")
        start = (
            "<a href='http://own.example/plain'>1</a> <a href='https://own.example:8443/'>2</a> <a href='/page'>3</a>"
        )
        answer = own._respond
        own._respond = lambda target: reply(body=start) if target == "/" else answer(target)
        audit(
            "run", folder, *routes, "--ca-file", folder / "ca.pem", "--resolver", "https://own.example/",
            "--depth", "2", "--store", folder / "a.db", "--out", folder / "report", "https://own.example/",
        )  # fmt: skip
        assert {"/robots.txt", "/", "/page", "/packed", "/moved", f"/{ARK}"} <= {
            line.split(" ")[1] for line in own.request_lines
        }
        for head in own.heads:
            assert f"Authorization: Bearer {TOKEN}\r\n" in head
            assert f"session={COOKIE}" in head
            assert "X-Key: k3y-open-sesame\r\n" in head
        for server in (elsewhere, plain, other):
            assert server.heads, "nobody came"
            assert not any("open-sesame" in head for head in server.heads)
        assert "[secret]" in (folder / "a.db").read_bytes().decode("latin-1")


@pytest.mark.parametrize("fault", ["unknown issuer", "another name", "expired"])
def test_host_with_bad_certificate_gets_no_credentials(fault: str, folder: Path, authority: trustme.CA) -> None:
    now = datetime.datetime.now(datetime.UTC)
    until = now - datetime.timedelta(days=1) if fault == "expired" else now + datetime.timedelta(days=9)
    leaf = (trustme.CA() if fault == "unknown issuer" else authority).issue_cert(
        "another.example" if fault == "another name" else "own.example",
        not_before=now - datetime.timedelta(days=30), not_after=until,
    )  # fmt: skip
    with RawServer(lambda _: reply(body="a page"), tls=leaf) as server:
        said = audit(
            "crawl", folder, "--connect-to", f"own.example:443=127.0.0.1:{server.port}", "--ca-file", folder / "ca.pem",
            "--store", folder / "a.db", "https://own.example/",
        )  # fmt: skip
        assert server.targets == ["/"]
        assert not any("open-sesame" in head for head in server.heads)
    assert "1 document, 1 read" in said
    assert "https://own.example: its certificate can't be trusted, so no credentials are sent there" in said


def test_proxy_password_reaches_only_the_proxy_and_is_redacted(folder: Path) -> None:
    with RawServer(lambda _: reply(body="")) as proxy:
        proxy._respond = repeating(proxy)
        done = run_command(
            "crawl", "--delay", "0", "--attempts", "1", "--store", folder / "a.db", "http://r.example/",
            http_proxy=f"http://me:{PASSWORD}@127.0.0.1:{proxy.port}",
        )  # fmt: skip
        assert all("Proxy-Authorization: Basic" in head for head in proxy.heads)
    assert done.returncode == 0
    assert "[secret]" in (folder / "a.db").read_bytes().decode("latin-1")
    dead = run_command(
        "check", "--delay", "0", "--attempts", "1", f"http://r.example/{ARK}",
        http_proxy=f"http://me:{PASSWORD}@127.0.0.1:9",
    )  # fmt: skip
    assert "the configured proxy failed" in dead.stdout
    assert PASSWORD not in done.stdout + done.stderr + dead.stdout + dead.stderr


def test_userinfo_in_a_document_is_not_sent(folder: Path) -> None:
    with RawServer(lambda _: b"") as server:
        link = f"http://me:{PASSWORD}@127.0.0.1:{server.port}/next"
        server._respond = lambda target: reply(body=f"<a href='{link}'>next</a>" if target == "/" else "x")
        audit("crawl", folder, "--store", folder / "a.db", f"{server.url}/")
        assert server.targets == ["/", "/next"]
        assert not any("Authorization" in head or PASSWORD in head for head in server.heads)
