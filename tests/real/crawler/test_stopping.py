"""After one Ctrl-C, or on a full disk, sending stops and all observations are kept."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from crawler.store.store import Store
from reports.store.frames import load_frames
from reports.tables.overviews import hosts
from tests.real.features.datasets.dask_world import children_of
from tests.real.interrupted import Command, with_room_for
from tests.real.loopback import ON_LOOPBACK, RawServer, reply, run_command, select, start_command
from tests.real.waiting import PATIENCE_S, wait_until

PAGE = reply(body="<title>An object</title>")


def arks(server: RawServer, *, count: int) -> list[str]:
    return [f"{server.url}/ark:/12x45/x{number}" for number in range(count)]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_after_one_ctrl_c_nothing_more_is_sent(tmp_path: Path, number: signal.Signals) -> None:
    with RawServer(lambda _: PAGE) as server:
        command = ["check", *ON_LOOPBACK, "--delay", "0.2", "--store", tmp_path / "a.db", *arks(server, count=60)]
        heard = partial(signal.signal, signal.SIGHUP, signal.SIG_DFL)  # the parent of the tests may ignore it
        with Command(command, first=heard) as running:
            wait_until(lambda: len(server.targets) >= 3, "three requests")
            running.send(number)
            sent = len(server.targets)
            assert running.exit_code() == 130, running.errors
        assert len(server.targets) <= sent + 2, "queued requests are not sent"
    assert select(tmp_path / "a.db", "select state from run") == [("interrupted",)]
    observed = select(tmp_path / "a.db", "select count(*) from observation where question = 'object'")[0][0]
    assert sent - 1 <= observed <= len(server.targets), "exactly the requests made are kept"


def test_check_ends_with_its_time_and_is_resumed(tmp_path: Path) -> None:
    store = tmp_path / "a.db"
    with RawServer(lambda _: PAGE) as server:
        command = ["check", *ON_LOOPBACK, "--delay", "0.3", "--max-time", "2s", "--store", store]
        command += arks(server, count=4)
        done = run_command(*command)
        assert done.returncode == 3, done.stderr
        assert "the check ended after 2 seconds (--max-time)" in done.stderr
        assert "next, to resume it: arkaudit check" in done.stderr
        assert select(store, "select state from run") == [("interrupted",)]
        for _ in range(99):
            if done.returncode != 3:
                break
            done = run_command(*command)
        assert (done.returncode, len(done.stdout.splitlines())) == (0, 4), done.stderr
        assert len(server.targets) == len(set(server.targets))
    assert select(store, "select state from run") == [("finished",)]


def test_recheck_ends_with_its_time(tmp_path: Path) -> None:
    store = tmp_path / "a.db"
    with RawServer(lambda _: PAGE) as server:
        assert run_command("check", *ON_LOOPBACK, "--store", store, *arks(server, count=9)).returncode == 0
        again = ["recheck", *ON_LOOPBACK, "--store", store, "--naan", "12x45", "--delay", "1", "--max-time", "2s"]
        done = run_command(*again)
    assert done.returncode == 3, done.stderr
    assert "--max-time" in done.stderr


@pytest.mark.promise
def test_after_one_ctrl_c_no_attempt_is_waited_for(tmp_path: Path) -> None:
    with RawServer(lambda _: reply("503 Service Unavailable", Retry_After="40")) as server:
        with Command(["check", *ON_LOOPBACK, f"{server.url}/ark:/12x45/x5"]) as running:
            wait_until(lambda: server.targets, "a request")
            time.sleep(0.5)
            running.send(signal.SIGINT)
            running.exit_code()
        assert len(server.targets) == 1, "it would have been asked again after 40 s"


def test_after_a_full_disk_nothing_more_is_sent(tmp_path: Path) -> None:
    Store.open(tmp_path / "a.db").close()
    page = reply(body=f"<title>An object</title>{'forty leaves ' * 600}")
    with RawServer(lambda _: page) as server:
        command = ("check", *ON_LOOPBACK, "--delay", "0.1", "--store", tmp_path / "a.db", *arks(server, count=100))
        done = run_command(*command, first=partial(with_room_for, 4))
        assert done.returncode == 3, done.stderr
        assert len(server.targets) < 40
    assert "kept" in done.stderr


def test_pending_retry_is_no_failure_after_an_interrupt(tmp_path: Path) -> None:
    def busy(target: str) -> bytes:
        return reply("503 Service Unavailable") if "x1" in target else PAGE

    with RawServer(busy) as server:
        command = ["check", *ON_LOOPBACK, "--backoff", "30", "--store", tmp_path / "a.db", *arks(server, count=2)]
        with Command(command) as running:
            wait_until(lambda: [target for target in server.targets if "x1" in target], "a request for x1")
            time.sleep(1)  # for all that can be asked of the other
            running.send(signal.SIGINT)
            assert (running.exit_code(), "x1" in running.output) == (130, False), running.errors
    assert select(tmp_path / "a.db", "select count(*) from verdict where request_url like '%x1'")[0] == (0,)


#: A check whose loop is stopped without a word to the reactor, which has begun threads by then.
STOPPED_LOOP = """
import asyncio
from scrapy.crawler import AsyncCrawlerProcess
from arkaudit.cli import main

before = AsyncCrawlerProcess.start

def start(self, *arguments, **named):
    from twisted.internet import reactor

    def stop():
        reactor.callInThread(print, "a thread has begun")
        asyncio.get_event_loop().call_later(0.5, asyncio.get_event_loop().stop)

    reactor.callWhenRunning(stop)
    before(self, *arguments, **named)

AsyncCrawlerProcess.start = start
main()
"""


def test_a_loop_that_is_stopped_leaves_no_thread_that_keeps_the_process_waiting(tmp_path: Path) -> None:
    is_over = threading.Event()

    def silent(_: str) -> bytes:
        is_over.wait(60)
        return PAGE

    with RawServer(silent) as server:
        try:
            done = run_command("check", *ON_LOOPBACK, *arks(server, count=1), program=STOPPED_LOOP)
        finally:
            is_over.set()
    assert (done.returncode, "a thread has begun" in done.stdout) == (130, True), done.stderr


#: Sends a signal to its own process when a module begins to be imported.
_SIGNALLING = """
import os, sys
class _Signalling:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ.get("SIGNALLED_AT"):
            os.kill(os.getpid(), int(os.environ["SIGNALLED_WITH"]))
        return None
sys.meta_path.insert(0, _Signalling())
"""


#: A module that is being imported when a signal comes, and the command that imports it.
IMPORTS = [
    ("arkaudit.cli", "--version"), ("click", "--help"), ("arkaudit.configuration.config", "check"), ("pydantic", "check"),
    ("scrapy", "crawl"), ("twisted.internet.asyncioreactor", "check"), ("sqlalchemy", "explain"), ("pandas", "report"),
    ("crawler.spiders.arks_spider", "run"), ("lxml", "extract"), ("reports.exports", "report"),
    ("reports.store.known_problems", "known"),
    ("arkaudit.commands.schedule_command", "schedule"), ("arkaudit.features.stores.checks", "store"),
    ("arkaudit.features.registry.entries", "registry"), ("arkaudit.schedules.notification", "notify"),
]  # fmt: skip
_AS_MODULE, _AS_SCRIPT = ["-m", "arkaudit"], ["-c", "from arkaudit.__main__ import main; main()"]


# Each module once; both signals, and both ways to start the command, in turn.
@pytest.mark.parametrize(
    ("module", "verb", "number", "command"),
    [
        (*each, (signal.SIGINT, signal.SIGTERM)[place % 2], (_AS_MODULE, _AS_SCRIPT)[place // 2 % 2])
        for place, each in enumerate(IMPORTS)
    ],
)
def test_a_signal_while_modules_are_imported_ends_the_command_in_one_line(
    command: list[str], module: str, verb: str, number: signal.Signals, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(_SIGNALLING)
    arguments = {
        "check": ["ark:/12345/x"], "crawl": ["http://127.0.0.1:9/"], "run": ["http://127.0.0.1:9/"], "extract": ["-"],
        "explain": ["ark:/12345/x", "--store", "audit.db"],
        "known": ["check"], "schedule": ["list", "-c", "a.toml"], "store": ["check"],
        "registry": ["show", "12148"], "notify": ["-c", "a.toml"],
    }.get(verb, [])  # fmt: skip
    (tmp_path / "a.toml").write_text('[audits.a]\nschedule = "0 3 * * *"\nseeds = ["http://127.0.0.1:9/"]\n')
    environment = {
        **os.environ,
        "PYTHONPATH": f"{tmp_path}",
        "SIGNALLED_AT": module,
        "SIGNALLED_WITH": str(int(number)),
    }
    done = subprocess.run(
        [sys.executable, *command, verb, *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True,
        stdin=subprocess.DEVNULL, check=False, timeout=PATIENCE_S,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (130, ""), done.stderr
    assert done.stderr == "arkaudit: interrupted; all observations until then are kept\n"


def test_requests_of_killed_processes_and_for_rules_are_counted(tmp_path: Path) -> None:
    """The report counts all requests that two servers received, though the first process was killed."""
    is_slow = threading.Event()
    is_slow.set()

    def respond(target: str) -> bytes | None:
        if is_slow.is_set() and target.endswith("/slow"):
            time.sleep(30)
        return reply(body=f"<title>{target}</title>")

    forbidding = reply(body="User-agent: *\nDisallow: /", media_type="text/plain")
    with RawServer(respond) as server, RawServer(respond, robots=forbidding) as silent:
        lines = [f"{server.url}/ark:/12x45/{name}" for name in ("x5", "x6", "slow")]
        command = ["check", *ON_LOOPBACK, "--timeout", "60", "--store", tmp_path / "a.db"]
        command += [*lines, f"{silent.url}/ark:/12x45/x7"]
        with Command(command) as running:
            wait_until(lambda: any(target.endswith("/slow") for target in server.targets), "the slow page")
            with closing(sqlite3.connect(tmp_path / "a.db")) as raw:
                counted = "select sum(requests) from host_traffic"  # a moment after it was sent, it is on record
                wait_until(
                    lambda: (
                        (raw.execute(counted).fetchone()[0] or 0) >= len(server.request_lines + silent.request_lines)
                    ),
                    "all requests on record",
                )
            running.kill()
        is_slow.clear()
        done = run_command(*command)
        assert done.returncode == 0, done.stderr
        asked = {f"127.0.0.1:{each.port}": len(each.request_lines) for each in (server, silent)}
    frame = hosts(load_frames(tmp_path / "a.db")).set_index("host")
    assert frame["all_requests"].to_dict() == asked
    assert frame.loc[f"127.0.0.1:{silent.port}", "requests"] == 0
    assert silent.targets == []


def cpu_s(pid: int) -> float:
    """Return the CPU time of a process and of its descendants; 0 if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK") + sum(map(cpu_s, children_of(pid)))


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads CPU times in /proc")
@pytest.mark.parametrize("verb", ["extract", "crawl"])
def test_ctrl_c_ends_a_long_reading(verb: str, tmp_path: Path) -> None:
    """Reading this document takes more than half a minute of CPU time."""
    long = tmp_path / "long.txt"
    long.write_text("".join(f"see http://n2t.net/ark:/12148/b{number}-\n{number % 7} " for number in range(600_000)))
    before = os.times()
    with (tmp_path / "said").open("w") as said:
        running = start_command(verb, long, stdout=subprocess.DEVNULL, stderr=said, cwd=tmp_path)
        try:
            wait_until(lambda: sum(map(cpu_s, children_of(running.pid))) > 1, "a parser at work")
            used = cpu_s(running.pid)
            running.send_signal(signal.SIGINT)
            assert running.wait(PATIENCE_S) == 130
        finally:
            running.kill()
    after = os.times()
    assert after.children_user + after.children_system - before.children_user - before.children_system < used + 5
    assert "arkaudit: interrupted; all observations until then are kept\n" in (tmp_path / "said").read_text()
    if verb == "crawl":
        assert select(tmp_path / "audit.db", "select state, (select count(*) from document) from run") == [
            ("interrupted", 0)
        ]


_SLOW_PIPELINE = """
import asyncio, os, signal, sys, types
import crawler.spiders.settings
from arkaudit.__main__ import main

class Slow:
    interrupted = False

    async def process_item(self, item):
        if not Slow.interrupted:
            Slow.interrupted = True
            os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(0.5)
        return item

sys.modules["slow"] = types.SimpleNamespace(Slow=Slow)
crawler.spiders.settings.ITEM_PIPELINES = {"slow.Slow": 1}
main()
"""


def test_an_interrupt_while_the_row_of_a_file_is_recorded_ends_the_crawl(tmp_path: Path) -> None:
    """Scrapy 2.19 waits for ever for items that no response was for, unless it is made to look."""
    for number in range(10):
        (tmp_path / f"{number}.txt").write_text(f"see ark:/12x45/b{number}")
    store = tmp_path / "a.db"
    done = run_command("crawl", "--store", store, tmp_path, program=_SLOW_PIPELINE)
    assert (done.returncode, done.stderr.splitlines()[-2]) == (
        130,
        "arkaudit: interrupted; all observations until then are kept",
    )
    again = run_command("crawl", "--store", store, tmp_path)
    assert again.returncode == 0, again.stderr
    assert "10 citations" in again.stderr
