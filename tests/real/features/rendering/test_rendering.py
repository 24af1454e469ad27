"""App shells in a real Chromium, over real sockets: its effect on verdicts, and its limits."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from importlib.util import find_spec
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from arkaudit.features.rendering.section import find_browser
from tests.real.loopback import ON_LOOPBACK, RawServer, explained_rows, json_lines, reply, run_command, select
from tests.real.waiting import PATIENCE_S, wait_until
from tests.vectors import FOLDER

needs_chromium = pytest.mark.skipif(
    find_browser() is None or find_spec("playwright") is None, reason="these tests need a Chromium and the extra render"
)
NAME = "btv1b8449691v"
SECRET = "open-sesame-4711"
SHELL = "<!DOCTYPE html><title>Viewer</title><div id=app>Loading the viewer</div><script src=/app.js></script>"
NOT_FOUND = "show('Not found', 'Sorry, there is no such object in this collection.')"
SHOW = """
const name = location.pathname.split('/').pop();
function show(title, text) {
  document.title = title;
  const app = document.getElementById('app');
  app.innerHTML = '<h1></h1><p></p>';
  app.children[0].textContent = title;
  app.children[1].textContent = text;
}
"""
PLAN = "show('Plan of the harbour', 'A plan of the harbour of Marseille, drawn in ink on paper by Rossi in 1784.')"
ROWS = tomllib.loads((FOLDER / "rendered_pages.toml").read_text("utf-8"))["app"]
#: The script of each host.
APPS = {
    row["host"]: row["script"].replace("{plan}", PLAN).replace("{not_found}", NOT_FOUND).replace("{known}", NAME)
    for row in ROWS
    if "script" in row
}


class Spy:
    """A port on loopback, of TCP and of UDP, which must receive nothing."""

    def __enter__(self) -> Spy:
        self._tcp = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._tcp.getsockname()[1]
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._udp.bind(("127.0.0.1", self.port))
        for each in (self._tcp, self._udp):
            each.setblocking(False)
        return self

    def __exit__(self, *failure: object) -> None:
        self._tcp.close()
        self._udp.close()

    @property
    def has_heard(self) -> bool:
        """Return True if a connection was made or anything was sent."""
        for hear in (self._tcp.accept, lambda: self._udp.recvfrom(1)):
            try:
                hear()
            except BlockingIOError:
                continue
            return True
        return False


class World:
    """Hosts with an app shell each, on loopback, and the results of one check of all."""

    def __init__(self, folder: Path, spy: Spy) -> None:
        self.folder = folder
        self.store = folder / "audit.db"
        self.spy = spy
        self.servers: dict[str, RawServer] = {}
        self.found: dict[str, dict[str, Any]] = {}
        self.stderr = ""

    def answer(self, host: str, target: str) -> bytes:
        path = target.partition("?")[0]
        if path == "/app.js":
            script = SHOW + APPS[host].replace("{spy}", str(self.spy.port))
            return reply(body=script, media_type="text/javascript")
        if path.startswith("/api/"):
            headers = {"Access_Control_Allow_Origin": "*"} if host == "data" else {}
            text = f"Drawn in ink on paper by Rossi in 1784{', ' + SECRET if host == 'own' else ''}."
            known = json.dumps({"title": "Plan of the harbour", "text": text})
            return (
                reply(body=known, media_type="application/json", **headers)
                if path.endswith((NAME, "0"))
                else reply("404 Not Found", body="{}", media_type="application/json", **headers)
            )
        if path.startswith("/503/"):
            return reply("503 Service Unavailable")
        if path.startswith("/view/"):
            is_known = path.endswith(NAME)
            return reply(body=f"<title>Map</title><p>{'A map of the harbour, 1784' if is_known else 'Nothing here.'}")
        return reply(body=SHELL) if path.startswith("/ark:/12148/") else reply("404 Not Found")

    @property
    def routes(self) -> list[str]:
        return [f"--connect-to={host}.example:80=127.0.0.1:{each.port}" for host, each in self.servers.items()]

    def check(self, *urls: str, render: str, store: Path | None = None) -> list[dict[str, Any]]:
        configured = self.folder / "arkaudit.toml"
        own = '[hosts."http://own.example"]\nheaders = { X-Key = { env = "KEY" } }\n'
        configured.write_text(f"{own}[render]\n{render}\n")
        done = run_command(
            "check", *ON_LOOPBACK, *self.routes, "-c", configured, "--store", store or self.folder / "other.db",
            "--no-resume", *urls, KEY=SECRET,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        self.stderr = done.stderr
        explained = explained_rows(store or self.folder / "other.db", urls)
        return [row | {"explanation": explained[row["asked"]]["explanation"]} for row in json_lines(done.stdout)]

    def url(self, host: str, name: str = NAME) -> str:
        return f"http://{host}.example/ark:/12148/{name}"

    def targets(self, host: str) -> list[str]:
        return self.servers[host].targets

    def evidence(self, host: str) -> str:
        return "; ".join(self.found[host]["object"]["evidence"])

    def outcome(self, host: str) -> str:
        return str(self.found[host]["object"]["outcome"])


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with ExitStack() as stack:
        world = World(tmp_path_factory.mktemp("rendered"), stack.enter_context(Spy()))
        for host in (*APPS, "data", "closed"):
            server = RawServer(lambda target, host=host: world.answer(host, target))  # type: ignore[misc]
            world.servers[host] = stack.enter_context(server)
        asked = [world.url(host) for host in APPS] + [world.url("app", "bpt6k107371t")]
        found = world.check(*asked, render="enabled = true\nmax_requests = 8\nseconds = 120", store=world.store)
        world.found = dict(zip((*APPS, "unknown"), found, strict=True))
        yield world


pytestmark = needs_chromium


@pytest.mark.parametrize("row", ROWS, ids=itemgetter("why"))
def test_rendered_page_is_judged_like_a_static_one(world: World, row: dict[str, str]) -> None:
    evidence = world.evidence(row["host"])
    assert (world.outcome(row["host"]), row["evidence"] in evidence) == (row["outcome"], True), evidence
    assert "rendered with Chromium " in evidence


def test_browser_has_no_network_of_its_own(world: World) -> None:
    assert not world.spy.has_heard
    assert not any("/ark:/12345/" in target for target in world.targets("example"))


def test_page_requests_go_through_the_crawler_and_scripts_once(world: World) -> None:
    server = world.servers["app"]
    heads = [head for head in server.heads if " /api/" in head.partition("\r\n")[0]]
    assert heads
    assert all("User-Agent: arkaudit/" in head for head in heads)
    assert world.targets("app").count("/app.js") == 1
    assert any(line.split(" ")[1] == "/robots.txt" for line in world.servers["data"].request_lines)
    asked = [head for head in world.servers["data"].heads if " /api/" in head]
    assert len(asked) == 3  # for the object, and twice for the control
    assert all("Origin: http://api-elsewhere.example\r\n" in head for head in asked)


def test_credentials_in_a_browser_reach_only_their_host(world: World) -> None:
    assert "/secret.js" not in world.targets("own")
    asked = [head for head in world.servers["own"].heads if " /api/" in head]
    assert asked
    assert all(f"X-Key: {SECRET}" in head for head in asked)
    assert SECRET not in json.dumps(world.found)
    for file in world.folder.iterdir():
        assert SECRET.encode() not in file.read_bytes(), file
    assert select(world.store, "select count(*) from observation where text like '%[secret]%'") == [(1,)]


def test_every_request_of_a_page_is_recorded(world: World) -> None:
    found = select(
        world.store,
        "select question, rendering, body_sha256, text from observation where asked_url like 'http://app.example/%' "
        "and rendering is not null order by observation_id ",
    )
    assert sorted(str(row[0]) for row in found) == ["control rendered", "rendered", "rendered"]
    shown = {
        str(question): json.loads(str(rendering)) for question, rendering, _, text in found if NAME in str(rendering)
    }
    [rendering] = shown.values()
    assert [hop["url"] for hop in rendering["requests"]] == [
        "http://app.example/app.js",
        f"http://app.example/api/{NAME}",
    ]
    assert (rendering["lacking"], rendering["fault"]) == ([], None)
    assert re.match(r"Chromium \d+\.", rendering["browser"])
    assert all(len(str(digest)) == 64 for _, _, digest, _ in found)
    asked = {str(hop["url"]) for _, text, _, _ in found for hop in json.loads(str(text))["requests"]}
    assert asked == {f"http://app.example{target}" for target in world.targets("app") if not target.startswith("/ark:")}
    [traffic] = select(world.store, "select requests from host_traffic where host = 'http://app.example'")
    assert traffic == (len(world.servers["app"].request_lines),)


def test_rendered_verdict_is_explained(world: World) -> None:
    steps = [step for step in world.found["app"]["explanation"] if "asked" in step]
    [shown] = [step for step in steps if step["asked"].startswith("We had a browser show the page of app.example: ")]
    assert any("ran its scripts, which asked for 2 more addresses" in words for words in shown["came"])
    assert shown["means"].startswith("A person with a browser sees this page")
    assert any("for an object that can't exist, to compare" in step["asked"] for step in steps)
    assert world.found["app"]["requests"] >= 4


def test_a_shell_stays_as_it_is_where_nothing_is_rendered(world: World) -> None:
    before = len(world.targets("app"))
    [row] = world.check(world.url("app"), render="")
    assert row["object"]["outcome"] == "undetermined"
    assert "rendered" not in json.dumps(row)
    assert "/app.js" not in world.targets("app")[before:]


def test_a_script_without_an_end_is_ended(world: World) -> None:
    endless = "while (true) {}"
    with RawServer(lambda target: reply(body=SHELL if "ark:" in target else endless, media_type="text/html")) as server:
        [row] = world.check(f"{server.url}/ark:/12148/{NAME}", render="enabled = true\nseconds = 2")
    assert row["object"]["outcome"] == "undetermined"
    assert "its scripts did not finish in 2 s" in "; ".join(row["object"]["evidence"])


@pytest.mark.parametrize(("most", "outcome"), [(100, "undetermined"), (100_000, "resolved")])
def test_page_that_loads_too_many_bytes_is_not_judged(world: World, most: int, outcome: str) -> None:
    [row] = world.check(world.url("app"), render=f"enabled = true\nmax_bytes = {most}\nseconds = 120")
    assert row["object"]["outcome"] == outcome
    assert ("it loads more than 100 bytes" in "; ".join(row["object"]["evidence"])) == (most == 100)


def descendants(pid: int) -> set[int]:
    """Return the descendants of a process."""
    parents = {}
    for folder in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    found, wanted = set[int](), {pid}
    while wanted:
        wanted = {child for child, parent in parents.items() if parent in wanted}
        found |= wanted
    return found


class WaitingPage:
    """A command whose browser shows a page that waits for its script, until it is *given*."""

    def __init__(self, folder: Path) -> None:
        self._asked, self._given = threading.Event(), threading.Event()
        self._folder = folder
        (folder / "arkaudit.toml").write_text("[render]\nenabled = true\n")

    def __enter__(self) -> WaitingPage:
        self._server = RawServer(self._answer).__enter__()
        self.arguments = [
            *("check", *ON_LOOPBACK, "--timeout", "20", f"{self._server.url}/ark:/12148/{NAME}", "--format", "jsonl"),
            *("-c", str(self._folder / "arkaudit.toml"), "--store", str(self._folder / "a.db")),
        ]
        self.command = subprocess.Popen(
            [sys.executable, "-m", "arkaudit", *self.arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        wait_until(self._asked.is_set, "a page that waits for its script")
        self.started = descendants(self.command.pid)
        return self

    def __exit__(self, *failure: object) -> None:
        self.command.kill()
        self.command.communicate()
        self._server.__exit__(None, None, None)

    def _answer(self, target: str) -> bytes:
        if target != "/app.js":
            return reply(body=SHELL) if "ark:" in target else reply("404 Not Found")
        self._asked.set()
        self._given.wait(PATIENCE_S)
        return reply(body=SHOW + PLAN, media_type="text/javascript")

    @property
    def browser(self) -> int:
        """Return the process id of the browser, a child of the process that controls it."""
        names = {}
        for pid in self.started:
            with suppress(OSError):  # it has gone since
                names[pid] = Path(f"/proc/{pid}/cmdline").read_text("latin-1")
        return min(pid for pid, name in names.items() if "--remote-debugging-pipe" in name and "--type=" not in name)

    def end(self) -> str:
        """Send the script, and wait until the command and its processes have ended; return its output."""
        self._given.set()
        printed, _ = self.command.communicate(timeout=PATIENCE_S)
        wait_until(lambda: not any(map(is_alive, self.started)), "the end of the browser")
        return printed


def shown_in(printed: str) -> str:
    [row] = json_lines(printed)
    evidence = "; ".join(row["object"]["evidence"])
    return evidence if "can't be judged" not in evidence else ""


def test_ctrl_c_leaves_no_browser_behind_and_the_run_can_be_gone_on_with(tmp_path: Path) -> None:
    with WaitingPage(tmp_path) as page:
        os.killpg(page.command.pid, signal.SIGINT)
        page.end()
        assert page.command.returncode == 130
        done = run_command(*page.arguments)
    assert "resuming run 1" in done.stderr
    assert "rendered with Chromium " in shown_in(done.stdout)
    found = select(
        tmp_path / "a.db", "select question, rendering from observation where rendering is not null order by 1"
    )
    assert [question for question, _ in found] == ["control rendered", "rendered"]
    assert all(json.loads(str(rendering))["fault"] is None for _, rendering in found), "a signal is no answer"


def test_no_browser_outlives_a_command_that_is_killed(tmp_path: Path) -> None:
    with WaitingPage(tmp_path) as page:
        page.command.kill()
        page.end()


@pytest.mark.promise
def test_dead_browser_is_restarted(tmp_path: Path) -> None:
    with WaitingPage(tmp_path) as page:
        os.kill(page.browser, signal.SIGKILL)
        assert "rendered with Chromium " in shown_in(page.end())


def is_alive(pid: int) -> bool:
    """Return whether a process runs still; one that is only waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        pytest.param('browser = "no-such-chromium"', "there is no Chromium at ", id="no such browser"),
        pytest.param("seconds = 0", "greater than 0", id="no time at all"),
    ],
)
def test_unusable_browser_is_reported_before_any_request(tmp_path: Path, setting: str, words: str) -> None:
    configured = tmp_path / "arkaudit.toml"
    configured.write_text(f"[render]\nenabled = true\n{setting}\n")
    done = run_command("check", "ark:12148/x5", "-c", configured)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert words in done.stderr
