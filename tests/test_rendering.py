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
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from crawler.rendering import find_browser
from tests.loopback import ON_LOOPBACK, RawServer, json_lines, reply, run_command, select
from tests.waiting import PATIENCE_S, wait_until

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
#: The script of each host; `{known}` is the name that exists, and `{spy}` the port of a listener.
APPS = {
    "app": f"fetch('/api/' + name).then(a => a.ok ? a.json().then(o => show(o.title, o.text)) : {NOT_FOUND})",
    "same": "show('Welcome', 'Welcome to the collections of our library, which has more than a million objects.')",
    "api-elsewhere": f"fetch('http://data.example/api/' + name).then(a => a.ok ? {PLAN} : {NOT_FOUND})",
    "unreadable": f"fetch('http://closed.example/api/' + name).then(a => {PLAN}, e => {NOT_FOUND})",
    "leading": "location.replace('/view/' + name)",
    "inside": f"fetch('http://10.0.0.7/' + name).finally(() => {{ if (name == '{NAME}') {PLAN} }})",
    "posting": f"fetch('/api', {{method: 'POST', body: name}}).finally(() => {{ if (name == '{NAME}') {PLAN} }})",
    "failing": f"fetch('/503/' + name).then(a => a.ok || name == '{NAME}' ? {PLAN} : {NOT_FOUND})",
    "greedy": f"for (let n = 0; n < 40; n++) fetch('/api/' + n); if (name == '{NAME}') {PLAN}",
    "changing": """
        const words = () => Array.from({length: 30}, () => Math.random().toString(36).replace(/[0-9.]/g, '')).join(' ');
        show('Welcome', words())""",
    "socket": f"new WebSocket('ws://127.0.0.1:{{spy}}/'); if (name == '{NAME}') {PLAN}",
    "example": f"fetch('/ark:/12345/x5').catch(() => 0); if (name == '{NAME}') {PLAN}",
    "patient": f"setTimeout(() => {{ if (name == '{NAME}') {PLAN}; else {NOT_FOUND} }}, 4000)",
    "drawn": f"""
        let frames = 0;
        const draw = () => ++frames < 100 ? requestAnimationFrame(draw) : name == '{NAME}' ? {PLAN} : {NOT_FOUND};
        requestAnimationFrame(draw)""",
    "components": f"""
        const heading = '<h1></h1><p><slot>Sorry, nothing is known of this.</slot></p><slot name=hidden></slot>';
        customElements.define('x-words', class extends HTMLElement {{
          connectedCallback() {{
            this.attachShadow({{mode: 'open'}}).innerHTML = heading;
            this.shadowRoot.querySelector('h1').textContent = this.title;
          }}
        }});
        customElements.define('x-object', class extends HTMLElement {{
          connectedCallback() {{
            const known = name == '{NAME}';
            this.attachShadow({{mode: 'open'}}).innerHTML = known
              ? '<x-words title="Plan of the harbour">Drawn in ink on paper by Rossi in 1784.</x-words>'
              : '<x-words title="Not found"></x-words>';
          }}
        }});
        document.getElementById('app').innerHTML = '<x-object>What stands in no slot is not shown.</x-object>'""",
    "unslotted": """
        const app = document.getElementById('app');
        app.attachShadow({mode: 'open'}).innerHTML = '<h1>Welcome</h1><p>More than a million objects.</p>';
        app.textContent = name""",
    "restless": """
        const word = () => Array.from({length: 9}, () => String.fromCharCode(97 + 25 * Math.random())).join('');
        setInterval(() => show('News', [1, 2, 3, 4, 5, 6, 7, 8].map(word).join(' ')), 300)""",
    "greedy-for-memory": "const all = []; while (true) all.push(new Array(1e6).fill('x'))",
    "greedy-for-bytes": f"""
        const all = [];
        try {{ while (all.length < 30) all.push(new Uint8Array(1e8).fill(1)) }} catch {{}}
        if (name == '{NAME}' && all.length < 30) {PLAN}; else {NOT_FOUND}""",
    "forging": f"""
        show('Welcome', 'Welcome to the collections of our library, which has more than a million objects.');
        const forged = '<title>Plan of the harbour</title><p>Drawn in ink on paper by Rossi in 1784.';
        if (name == '{NAME}') Object.defineProperty(Element.prototype, 'outerHTML', {{get: () => forged}})""",
    "reloading": "location.reload()",
    "thief": f"""
        const script = document.createElement('script');
        script.src = 'http://own.example/secret.js';
        document.head.append(script);
        if (name == '{NAME}') {PLAN}""",
    "own": f"fetch('/api/' + name).then(a => a.ok ? a.json().then(o => show(o.title, o.text)) : {NOT_FOUND})",
    "leaky": """
        navigator.sendBeacon('http://127.0.0.1:{spy}/beacon', 'x');
        new Image().src = 'http://127.0.0.1:{spy}/image';
        for (let count = 0; count < 20; count++) window.open('http://127.0.0.1:{spy}/popup');
        for (const rel of ['preconnect', 'dns-prefetch', 'prefetch', 'preload', 'prerender']) {
          const link = Object.assign(document.createElement('link'), {rel, href: 'http://127.0.0.1:{spy}/' + rel});
          if (rel == 'preload') link.as = 'image';
          document.head.append(link);
        }
        const frame = Object.assign(document.createElement('iframe'), {src: 'http://127.0.0.1:{spy}/frame'});
        document.body.append(frame);
        const inner = document.createElement('iframe');
        document.body.append(inner);
        const Peer = window.RTCPeerConnection || inner.contentWindow.RTCPeerConnection;
        if (Peer) {
          const peer = new Peer({iceServers: [{urls: 'stun:127.0.0.1:{spy}'},
            {urls: 'turn:127.0.0.1:{spy}?transport=tcp', username: 'u', credential: 'p'}]});
          peer.createDataChannel('x');
          peer.createOffer().then(o => peer.setLocalDescription(o));
        }
        try { new WebTransport('https://127.0.0.1:{spy}/'); } catch {}
        try { navigator.serviceWorker.register('/worker.js'); } catch {}
        const blob = new Blob(["new WebSocket('ws://127.0.0.1:{spy}/in-worker');"]);
        try { new Worker(URL.createObjectURL(blob)); } catch {}
        for (const target of ['_blank', '_self']) {
          const form = `<form method=post action=http://127.0.0.1:{spy}/form target=${target}>`;
          document.body.insertAdjacentHTML('beforeend', form);
          document.forms[document.forms.length - 1].submit();
        }
        show('Welcome', 'Welcome to the collections of our library.');""",
}  # fmt: skip


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
            "--no-resume", "--format", "jsonl", "--explain", *urls, KEY=SECRET,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        self.stderr = done.stderr
        return json_lines(done.stdout)

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


@pytest.mark.parametrize(
    ("host", "outcome", "why"),
    [
        pytest.param("app", "resolved", "a name that can't exist gets another page", id="its script shows the object"),
        pytest.param("unknown", "soft-404", "a name that can't exist gets the same page", id="it shows that it is not"),
        pytest.param("same", "undetermined", "a name that can't exist gets the same page", id="the same for any name"),
        pytest.param("api-elsewhere", "resolved", "another page", id="its data are at a host that lets it read them"),
        pytest.param("leading", "resolved", "another page", id="its script leads to the page of the object"),
        pytest.param("patient", "resolved", "another page", id="it waits for a while of its own"),
        pytest.param("unreadable", "soft-404", "the same page", id="a browser doesn't let it read the answer"),
        pytest.param("inside", "undetermined", "refused-address", id="it asks for a private address"),
        pytest.param("posting", "undetermined", "only GET is sent", id="it would send something"),
        pytest.param("failing", "undetermined", "answered 503", id="its data can't be loaded today"),
        pytest.param("greedy", "undetermined", "more than 8 requests", id="it asks for too much"),
        pytest.param("changing", "undetermined", "changes with each rendering", id="it is another page each time"),
        pytest.param("drawn", "resolved", "another page", id="it shows the object after a hundred frames"),
        pytest.param("components", "resolved", "another page", id="it shows the object in components of its own"),
        pytest.param("unslotted", "undetermined", "the same page", id="the name is not shown"),
        pytest.param("own", "resolved", "another page", id="an own host that knows us"),
        pytest.param("thief", "undetermined", "a page of another host may not use", id="it asks a host that knows us"),
        pytest.param("restless", "undetermined", "keeps changing", id="it changes all the time"),
        pytest.param("greedy-for-memory", "undetermined", "crash", id="it takes all memory that there is"),
        pytest.param("forging", "undetermined", "gets the same page", id="it forges the text read from it"),
        pytest.param("reloading", "undetermined", "more than 8 requests", id="it begins again and again"),
        pytest.param("greedy-for-bytes", "resolved", "another page", id="it is refused 3 GB, and goes on without"),
        pytest.param("socket", "undetermined", "a permanent connection", id="it wants to keep talking"),
        pytest.param("example", "undetermined", "which is never requested", id="it asks for an example"),
    ],
)  # fmt: skip
def test_rendered_page_is_judged_like_a_static_one(world: World, host: str, outcome: str, why: str) -> None:
    assert (world.outcome(host), why in world.evidence(host)) == (outcome, True), world.evidence(host)
    assert "rendered with Chromium " in world.evidence(host)


def test_browser_has_no_network_of_its_own(world: World) -> None:
    assert world.outcome("leaky") == "undetermined"
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
