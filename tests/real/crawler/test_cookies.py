"""Auditing one's own repository with the cookies of a browser: sent to that host alone, and kept nowhere."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.real.crawler.repository_server import USER, Repository
from tests.real.loopback import ON_LOOPBACK, RawServer, json_lines, reply, run_command
from tests.unit.crawler.test_cookies import cookie_line, write_cookies

PASSWORD = "Sésame, öffne+dich/4711"


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    with Repository(PASSWORD, tmp_path) as started:
        yield started


def log_in(repository: Repository, folder: Path) -> str:
    """Log in as a person does, write the file of cookies and a configuration, and return the session."""
    with requests.Session() as browser:
        form = browser.get(f"{repository.url}/accounts/login/", timeout=30)
        token = form.text.partition('csrfmiddlewaretoken" value="')[2].partition('"')[0]
        fields = {"csrfmiddlewaretoken": token, "username": USER, "password": PASSWORD}
        browser.post(form.url, fields, allow_redirects=False, timeout=30)
        session = str(browser.cookies["sessionid"])
    write_cookies(folder, cookie_line("127.0.0.1", "sessionid", session))
    (folder / "arkaudit.toml").write_text(f'[hosts."{repository.url}"]\ncookies = "cookies.txt"\n')
    return session


def check(folder: Path, *arguments: str | Path) -> list[dict[str, Any]]:
    common = (
        "-c",
        folder / "arkaudit.toml",
        *ON_LOOPBACK,
        "--store",
        folder / "audit.db",
        "--log-file",
        folder / "a.log",
    )
    done = run_command("check", *common, "--log-level", "debug", "--attempts", "1", *arguments)
    assert done.returncode == 0, done.stderr
    return json_lines(done.stdout)


def files_with(folder: Path, secret: str) -> list[str]:
    files = (
        file for file in folder.rglob("*") if file.is_file() and file.name not in ("cookies.txt", "repository.log")
    )
    return [file.name for file in files if secret.encode() in file.read_bytes()]


def test_audit_with_cookies_sees_pages_of_members(repository: Repository, tmp_path: Path) -> None:
    session = log_in(repository, tmp_path)
    rows = check(tmp_path, *(f"{repository.url}/ark:12148/{name}" for name in ("x1", "x2", "q9")))
    assert [row["object"]["outcome"] for row in rows] == ["resolved", "resolved", "broken"]
    assert files_with(tmp_path, session) == []


def test_redirect_takes_no_cookie_to_another_host(repository: Repository, tmp_path: Path) -> None:
    log_in(repository, tmp_path)
    with RawServer(lambda _: reply(body="a page of others")) as other:
        check(tmp_path, f"--connect-to=other.example:80=127.0.0.1:{other.port}", f"{repository.url}/ark:12148/away")
        assert any("/away" in target for target in other.targets)
        assert not any("cookie:" in head.lower() for head in other.heads)


def test_session_that_ends_in_mid_run_is_no_broken_ark(tmp_path: Path) -> None:
    names = [f"map{number}" for number in range(12)]

    def respond(target: str) -> bytes:
        is_over = len(server.targets) > 6
        if target.startswith("/login"):
            return reply(body="<title>Log in</title><form><input type=password></form>")
        if is_over:
            return reply("302 Found", Location="/login")
        name = target.rpartition("/")[2]
        return reply(body=f"<title>Sheet {name}</title>") if name in names else reply("404 Not Found")

    with RawServer(respond) as server:
        write_cookies(tmp_path, cookie_line("127.0.0.1", "session", "s3cret-session"))
        (tmp_path / "arkaudit.toml").write_text(f'[hosts."{server.url}"]\ncookies = "cookies.txt"\ninterval = 0.1\n')
        rows = check(tmp_path, *(f"{server.url}/ark:12148/{name}" for name in names))
    outcomes = {row["object"]["outcome"] for row in rows}
    assert "blocked" in outcomes
    assert outcomes <= {"resolved", "blocked"}
