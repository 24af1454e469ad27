"""The living issue: opened, updated, closed and opened again, on servers on loopback with the rules of the interfaces."""

import json
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from typing import Any
from urllib.parse import unquote

import pytest

from arkaudit.configuration.config_files import models
from arkaudit.features.living_issue.issue import keep_issue
from arkaudit.output import exits
from arkaudit.schedules import notification
from arkaudit.schedules.notification import send_news
from crawler.store.store import Store
from extractors.model.errors import ArkauditError, UserMistake
from reports.formats.digest import HEADINGS, digest_of
from reports.languages import ENGLISH
from reports.store.frames import load_frames
from reports.tables.news import news_of
from reports.tables.report_tables import Report
from tests.real.loopback import accept_connections, run_command
from tests.unit.crawler.test_history import GUIDE, ONE, OTHER, audit

Config, Notify = models()["Config"], models()["Notify"]

TOKEN = "ghp_secret"

#: The account of the token.
OWN = "auditor"

#: Characters that GitHub takes.
MOST_CHARS = 65_536


class Tracker:
    """The issues of one repository on GitHub or GitLab, with the rules of its REST interface; two on each page."""

    def __init__(self, service: str) -> None:
        self.service = service
        self.is_github = service == "github"
        self.issues: list[dict[str, Any]] = []
        self.comments: list[str] = []
        self.fault: tuple[int, dict[str, str]] | None = None
        self.requests: list[str] = []
        self.account: tuple[int, dict[str, str], Any] = (200, {}, {"login": OWN, "username": OWN})

    @property
    def text(self) -> str:
        return "body" if self.is_github else "description"

    def add(self, text: str, *, state: str = "open", **more: Any) -> dict[str, Any]:
        number = len(self.issues) + 1
        named = {"open": "open" if self.is_github else "opened"}.get(state, state)
        author = {"user": {"login": OWN}} if self.is_github else {"author": {"username": OWN}}
        issue = {"number" if self.is_github else "iid": number, self.text: text, "state": named, **author, **more}
        self.issues.append(issue)
        return issue

    def answer(self, method: str, target: str, token: str, values: dict[str, Any]) -> tuple[int, dict[str, str], Any]:
        self.requests.append(f"{method} {target}")
        if self.fault:
            return *self.fault, {"message": "no"}
        if token != f"Bearer {TOKEN}":
            return 401, {}, {"message": "Bad credentials"}
        path, _, query = unquote(target).partition("?")
        if path in ("/api/v3/user", "/api/v4/user"):
            return self.account
        if "/old/" in path and not self.is_github and method != "GET":
            return 405, {}, {"message": "Non GET methods are not allowed for moved projects"}
        if "/old/" in path:
            return 301, {"Location": target.replace("/old/", "/maps/").replace("old%2F", "maps%2F")}, {}
        base = "/api/v3/repos/maps/arks/issues" if self.is_github else "/api/v4/projects/maps/arks/issues"
        rest = re.fullmatch(re.escape(base) + "(?:/([0-9]+)(?:/(comments|notes))?)?", path)
        if rest is None:
            return 404, {}, {"message": "Not Found"}
        if len(values.get(self.text, values.get("body", ""))) > MOST_CHARS:
            return 422, {}, {"message": "body is too long"}
        number, comments = rest.groups()
        match method, number, comments:
            case "GET", None, None:
                assert "sort=created&direction=asc" in query or "order_by=created_at&sort=asc" in query
                page = int((re.findall("&page=([0-9]+)$", query) or ["1"])[0])
                more = {"Link": f'<{self.url}{path}?{query}&page={page + 1}>; rel="next"'}
                return 200, more if len(self.issues) > 2 * page else {}, self.issues[2 * page - 2 : 2 * page]
            case "POST", None, None:
                return 201, {}, self.add(values.pop(self.text), **values)
            case "POST", _, ("comments" | "notes"):
                assert comments == ("comments" if self.is_github else "notes")
                self.comments.append(values["body"])
                return 201, {}, {}
            case (("PATCH" | "PUT"), _, None):
                assert method == ("PATCH" if self.is_github else "PUT")
                event = {"close": "closed", "reopen": "opened"}.get(values.pop("state_event", ""))
                self.issues[int(number) - 1] |= values | ({"state": event} if event else {})
                return 200, {}, {}
        return 405, {}, {}

    url = ""


@contextmanager
def served(tracker: Tracker) -> Iterator[Tracker]:
    class Handler(BaseHTTPRequestHandler):
        def respond(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            token = self.headers.get("Authorization", "")
            status, headers, values = tracker.answer(self.command, self.path, token, json.loads(body or "{}"))
            text = json.dumps(values).encode()
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(text))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = do_PATCH = do_PUT = respond  # noqa: N815  names of the standard library

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        tracker.url = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            yield tracker
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def trackers(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Tracker]]:
    """Yield a tracker of each service."""
    for name in ("GITHUB_TOKEN", "GITLAB_TOKEN"):
        monkeypatch.setenv(name, TOKEN)
    with served(Tracker("github")) as github, served(Tracker("gitlab")) as gitlab:
        yield [github, gitlab]


class Runs:
    """The runs of an audit, each told to trackers."""

    def __init__(
        self, path: Path, *trackers: Tracker, owner: str = "maps", on: tuple[str, ...] = ("confirmed",)
    ) -> None:
        issues = [f"{tracker.service}:{tracker.url}/{owner}/arks" for tracker in trackers]
        told = [Notify(issue=issue, on=[*on, "recovered"]) for issue in issues]
        self.configs = [Config(name="the|ses -->", notify=notify) for notify in told]
        self.path = path

    def tell(self, run_id: int) -> bool:
        report = Report.from_frames(load_frames(self.path, run_id=run_id))
        return all(send_news(config, self.path, report, config_file=None) for config in self.configs)

    def run(self, day: float, one: int | None, other: int | None = 200) -> int:
        with Store.open(self.path) as store:
            return audit(store, day, documents={GUIDE: f"{ONE} {OTHER}"}, answers={ONE: one, OTHER: other})

    def fail(self, *days: float) -> None:
        """Record runs with a failing ARK, and tell the trackers of the last."""
        runs = [self.run(day, 404) for day in days]
        assert self.tell(runs[-1])


def test_issue_is_opened_once_updated_closed_and_opened_again(trackers: list[Tracker], tmp_path: Path) -> None:
    runs = Runs(tmp_path / "audit.db", *trackers)
    for tracker in trackers:
        for number in range(4):
            tracker.add("<!-- arkaudit:begin audit=other -->" if number else "")
    runs.run(0, 200)
    runs.fail(1)
    assert [len(tracker.issues) for tracker in trackers] == [4, 4], "one failure is no broken ARK"
    runs.fail(4, 9)
    for tracker in trackers:
        issue = tracker.issues[4]
        assert "Theses" not in issue["title"]
        assert "- [ ] **" in issue[tracker.text]
        assert tracker.comments == []
        # People tick a box and write around our part; the editor of GitHub gives CR LF.
        mine = issue[tracker.text].replace("- [ ]", "- [x]")
        issue[tracker.text] = f"Ada looks after this.\n\n{mine}\n\n@bo please help".replace("\n", "\r\n")
    runs.fail(10)
    for tracker in trackers:
        body = tracker.issues[4][tracker.text].replace("\r\n", "\n")
        assert body.startswith("Ada looks after this.\n\n<!-- arkaudit:begin")
        assert body.endswith("<!-- arkaudit:end -->\n\n@bo please help")
        assert "- [x] **" in body
        assert tracker.comments == [], "a comment only for changes"
    assert runs.tell(runs.run(11, 200))
    for tracker in trackers:
        assert tracker.issues[4]["state"] == "closed"
        assert ["1 recovered" in comment for comment in tracker.comments] == [True]
    runs.fail(12, 14, 22)
    for tracker in trackers:
        assert tracker.issues[4]["state"].startswith("open")
        assert ["1 confirmed broken" in comment for comment in tracker.comments] == [False, True]
        assert len(tracker.issues) == 5


def test_outage_opens_and_closes_nothing_and_a_closed_issue_stays_closed(
    trackers: list[Tracker], tmp_path: Path
) -> None:
    tracker, _ = trackers
    runs = Runs(tmp_path / "audit.db", tracker)
    runs.run(0, 200)
    assert runs.tell(runs.run(1, None))
    assert tracker.issues == []
    runs.fail(2, 5, 10)
    assert runs.tell(runs.run(11, None))
    with Store.open(runs.path) as store:
        unread = audit(store, 12, documents={GUIDE: "[server-error]"})
    assert runs.tell(unread)
    [issue] = tracker.issues
    assert issue["state"].startswith("open")
    assert "1 ARK that failed before was not checked this time." in issue[tracker.text]
    issue["state"] = "closed"
    runs.fail(13)
    assert issue["state"] == "closed", "people closed it, and nothing fails again"


def test_unconfirmed_failure_opens_an_issue_if_it_was_asked_for(trackers: list[Tracker], tmp_path: Path) -> None:
    _, tracker = trackers
    runs = Runs(tmp_path / "audit.db", tracker, on=("failing",))
    runs.run(0, 200)
    runs.fail(1)
    [issue] = tracker.issues
    assert runs.tell(runs.run(2, 200))
    assert issue["state"] == "closed"
    Runs(tmp_path / "other.db", tracker, on=("failing",)).fail(3)
    assert issue["state"].startswith("open"), "we closed it, and the store was lost"


def test_missed_changes_are_told_later_and_a_run_is_told_once(trackers: list[Tracker], tmp_path: Path) -> None:
    _, tracker = trackers
    runs = Runs(tmp_path / "audit.db", tracker)
    runs.run(0, 200)
    runs.fail(1, 4, 9)
    tracker.fault = (502, {})
    assert not runs.tell(runs.run(10, 404, 404))
    missed = [runs.run(14, 404, 404), runs.run(19, 404, 404)]
    assert not runs.tell(missed[-1])
    tracker.fault = None
    last = runs.run(20, 404, 404)
    assert runs.tell(last)
    assert runs.tell(last)
    assert runs.tell(missed[0])
    [comment] = tracker.comments
    assert "1 confirmed broken" in comment
    assert "Both judged ARKs fail" in tracker.issues[0][tracker.text]


def test_renamed_repository_is_followed(trackers: list[Tracker], tmp_path: Path) -> None:
    runs = Runs(tmp_path / "audit.db", *trackers, owner="old")
    runs.run(0, 200)
    runs.fail(1, 4, 9)
    runs.fail(10)
    assert [len(tracker.issues) for tracker in trackers] == [1, 1]


@pytest.mark.parametrize("is_app", [False, True])
def test_only_issues_of_our_account_count(trackers: list[Tracker], tmp_path: Path, is_app: bool) -> None:
    tracker, _ = trackers
    if is_app:
        tracker.account = (403, {}, {"message": "Resource not accessible by integration"})
    mark = "<!-- arkaudit:begin audit=the%7Cses%20--%3E at=9999-12-31T00:00:00 -->\n<!-- arkaudit:end -->"
    for text in (mark, mark.replace(" at=9999-12-31T00:00:00", "")):
        tracker.add(text, user={"login": "stranger", "type": "User"})
    runs = Runs(tmp_path / "audit.db", tracker)
    runs.run(0, 200)
    runs.fail(1, 4, 9)
    assert [issue["body"].count("- [ ]") for issue in tracker.issues] == [0, 0, 1]
    tracker.issues[2]["user"] = {"login": "github-actions[bot]", "type": "Bot"} if is_app else {"login": OWN}
    runs.fail(10)
    assert len(tracker.issues) == 3


#: Answers of a tracker, as heads and endless or great bodies.
HOSTILE = {
    "a body that drips": (b"HTTP/1.1 200 OK\r\n\r\n", b" ", None),
    "a head that drips": (b"HTTP/1.1 200 OK\r\n", b"a", None),
    "answers that only announce another one": (b"", b"HTTP/1.1 100 Continue\r\n\r\n", None),
    "a long body": (b"HTTP/1.1 200 OK\r\n\r\n", b" " * 2**20, 100),
    "a deep value": (b"HTTP/1.1 200 OK\r\n\r\n", b"[" * 2**20, 1),
    "a compressed body": (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", b"\x1f\x8b\x08", 1),
    "an unusable charset": (b"HTTP/1.1 422 No\r\nContent-Type: text/plain; charset=undefined\r\n\r\n", b"\xff", 1),
    "no answer of HTTP": (b"", b"SSH-2.0\r\n", 1),
    "a number of many digits": (b"HTTP/1.1 200 OK\r\n\r\n", b"9" * 10_000, 1),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_tracker_is_one_line_and_ends(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    head, part, times = HOSTILE[kind]

    def respond(_: str) -> Iterator[bytes]:
        yield head
        for _ in range(times or 10**6):
            yield part
            sleep(0 if times else 0.05)

    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    monkeypatch.setattr(notification, "DEADLINE_S", 2.0)
    news = tmp_path / "news.md"
    with dripping(respond) as url, Store.open(tmp_path / "audit.db") as store:
        run_id = audit(store, 0, documents={GUIDE: ONE}, answers={ONE: 404})
        store.close()
        notify = Notify(issue=f"github:{url}/maps/arks", file=news, on=["failing"])
        report = Report.from_frames(load_frames(tmp_path / "audit.db", run_id=run_id))
        began = monotonic()
        assert not send_news(Config(notify=notify), tmp_path / "audit.db", report, config_file=None)
        assert monotonic() - began < 20
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("arkaudit: not notified (update the issue at github:http://127.0.0.1:")
    assert len(line) < 600
    assert "1 failing" in news.read_text(), "the other channels are served"


@contextmanager
def dripping(respond: Callable[[str], Iterator[bytes]]) -> Iterator[str]:
    """Serve each connection the parts of an answer, until the other side has gone."""

    def serve(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.recv(65_536)
            for part in respond(""):
                connection.sendall(part)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        Thread(target=accept_connections, args=(listener, serve), daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)


def test_token_is_never_shown_in_part(trackers: list[Tracker], report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    tracker, _ = trackers
    monkeypatch.setattr(exits, "redact", lambda text: text.replace(TOKEN, "[redacted]"))
    digest = digest_of(report, "theses", news_of(report.frames), page=None, kinds=HEADINGS)
    for shift in range(180, 205):
        tracker.fault = (422, {})
        monkeypatch.setattr(tracker, "answer", lambda *_, shift=shift: (422, {}, "x" * shift + TOKEN))
        with pytest.raises(ArkauditError) as said:
            keep_issue(f"github:{tracker.url}/maps/arks", digest, ENGLISH)
        assert TOKEN[:4] not in str(said.value)


def test_token_goes_only_over_tls_or_loopback_and_past_proxies(
    trackers: list[Tracker], report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracker, proxy = trackers
    digest = digest_of(report, "theses", news_of(report.frames), page=None, kinds=HEADINGS)
    monkeypatch.setenv("http_proxy", proxy.url)
    keep_issue(f"github:{tracker.url}/maps/arks", digest, ENGLISH)
    assert (bool(tracker.requests), proxy.requests) == (True, [])
    monkeypatch.setenv("GITHUB_API_URL", "http://git.example/api/v3")
    with pytest.raises(UserMistake, match="GITHUB_API_URL needs an https address"):
        keep_issue("github:maps/arks", digest, ENGLISH)
    with pytest.raises(UserMistake, match="GITHUB_API_URL needs an https address"):
        Config(notify=Notify(issue="github:maps/arks")).check()


def test_missing_token_is_found_before_the_audit(tmp_path: Path) -> None:
    (tmp_path / "theses.txt").write_text("ark:/12345/x1\n")
    for dry_run in ((), ("--dry-run",)):
        said = run_command(
            "run", tmp_path / "theses.txt", "--store", tmp_path / "a.db", "--issue", "github:maps/arks", *dry_run,
            GITHUB_TOKEN="",
        )  # fmt: skip
        assert (said.returncode, said.stderr) == (2, "arkaudit: notify: set the environment variable GITHUB_TOKEN\n")
    assert not (tmp_path / "a.db").exists()


FAULTS = [
    (401, {}, "does not accept the token in G[A-Z]+_TOKEN \\(401\\)"),
    (403, {}, "may not write issues of g[a-z]+:http://127.0.0.1:[0-9]+/maps/arks \\(403\\)"),
    (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1796000000"}, "limits the requests until 2026-11-30"),
    (429, {"Retry-After": "60"}, "limits the requests until 20..-..-.. ..:.. UTC \\(429\\)"),
    (404, {}, "does not exist, has no issues, or the token may not read it \\(404\\)"),
    (410, {}, "has no issues"),
    (503, {}, "has a fault \\(503\\)"),
    (301, {"Location": "http://evil.example/"}, "has moved to evil.example: correct notify.issue"),
    (301, {"Location": "http://[x"}, "names a malformed address"),
    (422, {}, 'refused it \\(422\\): {"message": "no"}'),
    (200, {}, "did not name the account of the token"),
]


def test_faults_are_named(trackers: list[Tracker], report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = digest_of(report, "theses", news_of(report.frames), page=None, kinds=HEADINGS)
    for tracker in trackers:
        address = f"{tracker.service}:{tracker.url}/maps/arks"
        for *tracker.fault, words in FAULTS:  # type: ignore[assignment]
            with pytest.raises(ArkauditError, match=words) as said:
                keep_issue(address, digest, ENGLISH)
            assert TOKEN not in str(said.value)
        monkeypatch.delenv(f"{tracker.service.upper()}_TOKEN")
        with pytest.raises(ArkauditError, match="set the environment variable G"):
            keep_issue(address, digest, ENGLISH)
        assert tracker.issues == []


@pytest.mark.promise
def test_run_updates_the_issue_and_its_exit_code_stays(tmp_path: Path) -> None:
    with served(Tracker("github")) as tracker:
        (tmp_path / "theses.txt").write_text("ark:/12345/x1\n")
        said = run_command(
            "run", tmp_path / "theses.txt", "--store", tmp_path / "a.db", "--contact", "x@example.org",
            "--issue", f"github:{tracker.url}/gone/arks", GITHUB_TOKEN=TOKEN,
        )  # fmt: skip
    assert said.returncode == 0
    assert tracker.requests == [
        "GET /api/v3/user",
        "GET /api/v3/repos/gone/arks/issues?state=all&sort=created&direction=asc&per_page=100",
    ]
    [line] = [line for line in said.stderr.splitlines() if "not notified" in line]
    assert line.startswith("arkaudit: not notified (update the issue at github:http://127.0.0.1:")
    assert line.endswith("may not read it (404); the next run sends it")
