"""Logging in at one's own repository by its form: once, with its tokens, at that host alone, and nothing of it kept."""

import json
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request
from scrapy.http import Response
from scrapy.http.cookies import CookieJar

from crawler.wire.credentialed import Sessions
from crawler.wire.credentials import Credential, Credentials, LogIn, NoLogIn, fill_form
from extractors.model.urls import Origin
from tests.loopback import ON_LOOPBACK, RawServer, json_lines, reply, run_command
from tests.repository_server import USER, Repository

PASSWORD = "Sésame, öffne+dich/4711"


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    with Repository(PASSWORD, tmp_path) as started:
        yield started


def write_configuration(
    folder: Path, repository: str, *, success: str = 'cookie = "sessionid"', path: str = "/accounts/login/"
) -> Path:
    file = folder / "arkaudit.toml"
    file.write_text(
        f'[hosts."{repository}".login]\nurl = "{repository}{path}"\nsuccess = {{ {success} }}\n'
        f'fields = {{ username = "{USER}", password = {{ env = "REPOSITORY_PASSWORD" }} }}\n'
    )
    return file


def check(folder: Path, *arguments: str | Path, password: str = PASSWORD) -> tuple[list[dict[str, Any]], str]:
    """Run a check; return its rows and its messages."""
    done = run_command(
        "check", *ON_LOOPBACK, "-c", folder / "arkaudit.toml", "--store", folder / "audit.db", "--explain",
        "--format", "jsonl", "--log-file", folder / "a.log", "--log-level", "debug", *arguments,
        REPOSITORY_PASSWORD=password,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert password not in done.stdout + done.stderr
    (folder / "printed").write_text(done.stdout + done.stderr, "utf-8")
    return json_lines(done.stdout), done.stderr


def assert_nothing_is_kept(folder: Path, secrets: set[str]) -> None:
    """Search every byte that was written for secrets."""
    for file in (each for each in folder.rglob("*") if each.is_file() and each.name != "repository.log"):
        content = file.read_bytes()
        for secret in secrets:
            for form in (secret, json.dumps(secret)[1:-1]):
                assert form.encode() not in content, (file, secret)


def test_logged_in_audit_sees_pages_of_members(repository: Repository, tmp_path: Path) -> None:
    write_configuration(tmp_path, repository.url)
    urls = [f"{repository.url}/ark:12148/{name}" for name in ("x1", "x2", "q9")]
    found, _ = check(tmp_path, *urls)
    assert [row["object"]["outcome"] for row in found] == ["resolved", "resolved", "broken"]
    at_form = [each for each in repository.requests if each["path"] == "/accounts/login/"]
    assert [each["method"] for each in at_form] == ["GET", "POST"]
    assert all("sessionid" in each["cookies"] for each in repository.requests if each["path"].startswith("/ark:"))
    done = run_command("report", "--store", tmp_path / "audit.db", "--format", "all", "--out", tmp_path / "report")
    assert done.returncode == 0, done.stderr
    assert_nothing_is_kept(tmp_path, {PASSWORD, *repository.cookies()})


def test_one_log_in_is_enough_for_documents_and_arks(repository: Repository, tmp_path: Path) -> None:
    write_configuration(tmp_path, repository.url, success='status = 302, text = "Log out"')
    done = run_command(
        "run", f"{repository.url}/ark:12148/x1", *ON_LOOPBACK, "-c", tmp_path / "arkaudit.toml", "--resolver",
        f"{repository.url}/", "--store", tmp_path / "audit.db", REPOSITORY_PASSWORD=PASSWORD,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert [each["method"] for each in repository.requests if each["path"] == "/accounts/login/"] == ["GET", "POST"]
    assert sum(each["path"].startswith("/ark:") for each in repository.requests) > 2
    assert_nothing_is_kept(tmp_path, {PASSWORD, *repository.cookies()})


def test_a_redirect_takes_no_cookie_to_another_host(repository: Repository, tmp_path: Path) -> None:
    write_configuration(tmp_path, repository.url)
    with RawServer(lambda _: reply(body="a page of others")) as other:
        check(tmp_path, f"--connect-to=other.example:80=127.0.0.1:{other.port}", f"{repository.url}/ark:12148/away")
        assert any("/away" in target for target in other.targets)
        assert not any("cookie:" in head.lower() for head in other.heads)
    assert any(each["cookies"].get("sessionid") for each in repository.requests)


@pytest.mark.parametrize(
    ("how", "password", "words"),
    [
        pytest.param({}, "wr0ng-password", "set no cookie sessionid", id="a wrong password"),
        pytest.param({"success": "status = 302"}, "wr0ng-password", "answered 200, and not 302", id="the form again"),
        pytest.param({"success": 'text = "Welcome, dear"'}, PASSWORD, "has no 'Welcome, dear'", id="another page"),
        pytest.param({"path": "/nowhere"}, PASSWORD, "has no form with the fields", id="no form"),
    ],
)
def test_failed_log_in_is_reported_once_and_arks_stay_unjudged(
    how: dict[str, str], password: str, words: str, repository: Repository, tmp_path: Path
) -> None:
    write_configuration(tmp_path, repository.url, **how)
    urls = [f"{repository.url}/ark:12148/{name}" for name in ("x1", "x2", "q9")]
    found, _ = check(tmp_path, *urls, password=password)
    log = (tmp_path / "a.log").read_text("utf-8")
    assert log.count("the log-in failed") - log.count("the log-in failed, so nothing is requested there") == 1
    for row in found:
        assert row["object"]["outcome"] == "undetermined"
        assert any("the log-in failed" in each and words in each for each in row["object"]["evidence"])
        assert [hop["sent"] for hop in row["hops"]] == [False]
    assert not any(each["path"].startswith("/ark:") for each in repository.requests)
    assert_nothing_is_kept(tmp_path, {password, *repository.cookies()})


def test_credentials_repeated_by_a_host_are_not_stored(tmp_path: Path) -> None:
    form = "<form method=post><input name=username><input name=password><input type=hidden name=t value=tok3n-4711>"
    bodies: list[str] = []

    def respond(target: str) -> bytes:
        head = server.heads[-1].replace("\r\n", " ")
        if head.startswith("POST"):
            return reply("302 Found", Location=f"/in?{PASSWORD.encode().hex()}", Set_Cookie="s=s3ssion-4711; path=/")
        if target == "/in":
            return reply(body=form, Set_Cookie="t=tok3n-4711")
        bodies.append(head)
        rotated = f"s=s3ssion-{len(bodies)}-4711"
        return reply(body=f"<title>{head}</title>{head} {rotated}", Server=head, Set_Cookie=rotated)

    server = RawServer(respond)
    with server:
        write_configuration(tmp_path, server.url, path="/in", success='status = 302, cookie = "s"')
        found, _ = check(tmp_path, f"{server.url}/ark:12148/x1", f"{server.url}/ark:12148/x2")
        assert [row["hops"][-1]["status"] for row in found] == [200, 200]
        assert "s=s3ssion-4711" in bodies[0]
        assert "t=tok3n-4711" in bodies[0]
        assert f"s=s3ssion-{len(bodies) - 1}-4711" in bodies[-1]
    sessions = {f"s3ssion-{number}-4711" for number in range(1, len(bodies) + 1)}
    assert_nothing_is_kept(tmp_path, {PASSWORD, "s3ssion-4711", "tok3n-4711", *sessions})


def test_a_form_behind_a_bad_certificate_is_sent_nothing(tmp_path: Path) -> None:
    import trustme

    leaf = trustme.CA().issue_cert("own.example")
    with RawServer(
        lambda _: reply(body="<form method=post><input name=username><input name=password>"), tls=leaf
    ) as host:
        write_configuration(tmp_path, "https://own.example", path="/in")
        route = f"--connect-to=own.example:443=127.0.0.1:{host.port}"
        [row], _ = check(tmp_path, route, "https://own.example/ark:12148/x1")
        assert row["object"]["outcome"] == "undetermined"
        assert "its certificate can't be trusted, so the form is not sent" in row["object"]["evidence"][0]
        assert {line.split(" ")[1] for line in host.request_lines} <= {"/robots.txt"}


def test_run_with_failed_log_in_has_unread_seed(tmp_path: Path) -> None:
    """Its robots.txt, which needs no log-in, names the sitemap of another host."""
    elsewhere = RawServer(lambda _: reply("200 OK", "<urlset></urlset>", "application/xml"))

    def respond(target: str) -> bytes:
        if target == "/robots.txt":
            return reply("200 OK", f"Sitemap: {elsewhere.url}/sitemap.xml\n", "text/plain")
        return reply("403 Forbidden", body="no")

    with elsewhere, RawServer(respond) as host:
        write_configuration(tmp_path, host.url, path="/in")
        store = tmp_path / "private.db"
        done = run_command(
            "crawl", "-c", tmp_path / "arkaudit.toml", *ON_LOOPBACK, f"{host.url}/", "--store", store,
            REPOSITORY_PASSWORD=PASSWORD,
        )  # fmt: skip
        assert done.returncode == 3, done.stdout + done.stderr
        assert stat.S_IMODE(store.stat().st_mode) & 0o077 == 0


def test_of_a_host_that_gives_a_new_cookie_with_each_answer_the_last_ones_are_secret() -> None:
    sessions = Sessions(Credentials(), [LOG_IN])
    request = Request(LOG_IN.url)
    for number in range(100):
        answer = Response(LOG_IN.url, headers={"Set-Cookie": f"s=s3ssion-{number}; Domain=.example; Path=/x"})
        cookies = CookieJar().make_cookies(answer, request)
        assert sessions.keep(LOG_IN.origin, cookies) == ["s"]
    _, found = sessions.find("https://repo.example/ark:12148/x1") or (None, Credential())
    assert found.cookie == "s=s3ssion-99"
    assert set(found.secrets) == {f"s3ssion-{number}" for number in range(96, 100)}  # and no word of five letters
    assert sessions.find("https://other.example/") is None
    assert sessions.find("http://repo.example/") is None


# -- forms


LOG_IN = LogIn(
    Origin.parse("https://repo.example/"), "https://repo.example/in", {"user": "me", "pw": "p w&ö"}, ("p w&ö",)
)


def test_fields_are_sent_with_the_hidden_ones_of_their_form() -> None:
    page = b"""<form action=/search><input name=q></form><form method=POST action="go?x=1"><input type=hidden name=t
        value="a&amp;b"><input type=hidden name=user value=anybody><input name=user><input name=pw type=password>"""
    form = fill_form(page, "https://repo.example/auth/in", LOG_IN)
    assert (form.url, form.body) == ("https://repo.example/auth/go?x=1", b"t=a%26b&user=me&pw=p+w%26%C3%B6")


@pytest.mark.parametrize(
    ("page", "words"),
    [
        pytest.param(b"", "has no page", id="nothing"),
        pytest.param(b"\x00\xff<<<", "has no form", id="nonsense"),
        pytest.param(b"<form method=post><input name=user>", "the fields user, pw", id="a field short"),
        pytest.param(b"<form><input name=user><input name=pw>", "in the URL", id="by GET"),
        pytest.param(
            b"<form method=post action=https://evil.example/><input name=user><input name=pw>",
            "another host, https://evil.example: nothing is sent there", id="to another host",
        ),
        pytest.param(
            b"<form method=post action=http://repo.example/><input name=user><input name=pw>", "another host",
            id="in clear text",
        ),
        pytest.param(
            b"<form method=post enctype=multipart/form-data><input name=user><input name=pw>", "another encoding",
            id="as files are sent",
        ),
    ],
)  # fmt: skip
def test_a_page_without_a_form_for_it_gets_nothing(page: bytes, words: str) -> None:
    with pytest.raises(NoLogIn, match=words.replace(".", r"\.")):
        fill_form(page, "https://repo.example/in", LOG_IN)
