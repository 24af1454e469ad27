"""Our requests in the logs of hosts: intervals are kept by all processes, for every purpose."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path

import pytest
import trustme

from arkaudit.configuration.config_files import ConfigError, load
from crawler.politeness.pacing import Allowance
from tests.real.interrupted import Command
from tests.real.loopback import (
    ON_LOOPBACK,
    RawServer,
    arrival,
    check_rows,
    json_lines,
    outcomes,
    reply,
    run_command,
    select,
    serve_connections,
)
from tests.real.waiting import rows_if_any, wait_until
from tests.unit.crawler.test_throttle import Log, run, throttle

PAGE = reply(body="<title>An object</title><p>Forty leaves, with drawings.")

INTERVAL_S = 0.4

#: Tolerance between the kernel's clock of arrivals and our clock of departures, in seconds.
TOLERANCE_S = 0.01


def robots(rules: str) -> bytes:
    return reply(body=f"User-agent: *\n{rules}", media_type="text/plain")


def shortest_gap(server: RawServer) -> float:
    return min(later - earlier for earlier, later in pairwise(server.times))


@pytest.mark.promise
def test_no_host_is_asked_sooner_than_it_wants_by_anything_that_a_run_does(tmp_path: Path) -> None:
    """Both spiders, robots.txt, redirects, attempts and controls, all in one run."""
    authority = trustme.CA()

    def page(target: str) -> bytes:
        if target == "/busy" and site.targets.count("/busy") == 1:
            return reply("503 Service Unavailable", Retry_After="2")
        links = "<a href='/busy'>1</a> <a href='/last'>2</a>" if target == "/" else ""
        return reply(body=f"{links} http://r.example/ark:/12x45/n0 https://t.example/ark:/12x45/n1")

    def to_landing(target: str) -> bytes:
        first = resolver.targets.count(target) == 1 and target.endswith("/n0")
        moved = reply("302 Found", Location=f"http://l.example{target}")
        return reply("429 Too Many Requests") if first else moved

    with (
        RawServer(page, robots=robots("Crawl-delay: 0.8")) as site,
        RawServer(to_landing) as resolver,
        RawServer(lambda _: PAGE, robots=robots("Request-rate: 2/1")) as landing,
        RawServer(lambda _: PAGE, tls=authority.issue_cert("t.example")) as secure,
    ):
        hosts = {"s.example:80": site, "r.example:80": resolver, "l.example:80": landing, "t.example:443": secure}
        config = tmp_path / "arkaudit.toml"
        config.write_text("[resolve]\nlegacy_inflections = false\n")
        done = run_command(
            "run", "-c", config, "--delay", str(INTERVAL_S), "--backoff", "0.9", "--only-routed",
            "--store", tmp_path / "a.db", "http://s.example/",
            *(f"--connect-to={host}=127.0.0.1:{server.port}" for host, server in hosts.items()),
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert site.targets == ["/", "/busy", "/last", "/busy"]
        assert shortest_gap(site) >= 0.8 - TOLERANCE_S, "Crawl-delay"
        busy = site.targets.index("/busy") + 1  # robots.txt came first
        assert site.times[busy + 1] - site.times[busy] >= 2.0 - TOLERANCE_S, "Retry-After"
        assert shortest_gap(resolver) >= INTERVAL_S - TOLERANCE_S
        refused = resolver.targets.index("/ark:/12x45/n0") + 1
        assert resolver.times[refused + 1] - resolver.times[refused] >= 0.9 - TOLERANCE_S, "429"
        assert len(landing.times) >= 4
        assert shortest_gap(landing) >= 0.5 - TOLERANCE_S, "Request-rate"
        assert shortest_gap(secure) >= INTERVAL_S - TOLERANCE_S
        sent = {host: len(server.times) for host, server in hosts.items()}
    store = tmp_path / "a.db"
    assert select(store, "select host, asked_s, is_kept from pause") == [("http://s.example", 2.0, 1)]
    assert dict(select(store, "select host, requests from host_traffic")) == {
        ("https://" if host.endswith("443") else "http://") + host.partition(":")[0]: count
        for host, count in sent.items()
    }
    assert dict(select(store, "select host, crawl_delay_s from host_traffic where crawl_delay_s is not null")) == {
        "http://s.example": 0.8, "http://l.example": 0.5,
    }  # fmt: skip
    [(hops,)] = select(store, "select hops from document where url like '%/busy'")
    assert [hop["status"] for hop in json.loads(hops)] == [503, 200], "each attempt is on record"


@pytest.mark.promise
def test_two_audits_at_once_share_a_host(tmp_path: Path) -> None:
    with RawServer(lambda _: reply("404 Not Found"), robots=robots("Crawl-delay: 0.6")) as server:
        route = f"--connect-to=r.example:80=127.0.0.1:{server.port}"
        command = ["check", "--delay", str(INTERVAL_S), "--only-routed", route]
        with ExitStack() as running:
            audits = [
                running.enter_context(
                    Command(
                        [*command, *(f"http://r.example/ark:/12x45/{audit}{number}" for number in range(3))],
                        ARKAUDIT_CACHE=str(tmp_path / "cache"),
                    )
                )
                for audit in ("x", "y")
            ]
            for audit in audits:
                assert audit.exit_code() == 0, audit.errors
                assert len(json_lines(audit.output)) == 3
        asked = [target.rpartition("/")[2][0] for target in server.targets if "/ark:" in target]
        assert {"x", "y"} <= set(asked)
        assert shortest_gap(server) >= INTERVAL_S - TOLERANCE_S
        known = server.times[max(at for at, line in enumerate(server.request_lines) if "robots" in line) :]
        assert min(later - earlier for earlier, later in pairwise(known)) >= 0.6 - TOLERANCE_S, "both know the rules"


# -- documents


def test_a_document_is_asked_for_again_where_that_may_help(tmp_path: Path) -> None:
    def respond(target: str) -> bytes | None:
        attempt = server.targets.count(target)
        if target == "/":
            return reply(body="".join(f"<a href='/{name}'>x</a>" for name in ("hangs-up", "busy", "broken", "gone")))
        if target == "/hangs-up" and attempt < 3:
            return None
        return {"/busy": reply("503 Busy"), "/broken": reply("500 Broken"), "/gone": reply("404 Gone")}.get(
            target, PAGE
        )

    with RawServer(respond) as server:
        done = run_command("crawl", *ON_LOOPBACK, f"{server.url}/", "--store", tmp_path / "a.db")
        assert done.returncode == 0, done.stderr
        asked = {name: server.targets.count(f"/{name}") for name in ("hangs-up", "busy", "broken", "gone")}
    assert asked == {"hangs-up": 3, "busy": 3, "broken": 1, "gone": 1}
    found = select(tmp_path / "a.db", "select url, outcome, status, hops from document order by url")
    told = {url.rpartition("/")[2]: (outcome, status, len(json.loads(hops))) for url, outcome, status, hops in found}
    assert told == {
        "": ("read", 200, 1), "hangs-up": ("read", 200, 3), "busy": ("server-error", 503, 3),
        "broken": ("server-error", 500, 1), "gone": ("broken", 404, 1),
    }  # fmt: skip


# -- robots.txt


def test_a_host_that_wants_longer_intervals_than_we_keep_is_not_asked() -> None:
    with (
        RawServer(lambda _: PAGE, robots=robots("Crawl-delay: 120")) as slow,
        RawServer(lambda _: PAGE, robots=robots("Request-rate: 1/2m")) as rare,
    ):
        found = check_rows(*(f"{server.url}/ark:/12x45/x5" for server in (slow, rare)))
        assert slow.targets == rare.targets == []
    assert outcomes(found) == ["robots", "robots"]
    for row in found:
        assert "120 s between two requests; we wait 60 s" in row["hops"][-1]["error"]
        assert row["requests"] == 0


# -- hosts that don't answer


def nobody() -> int:
    """Return a port without a listener."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port: int = closed.getsockname()[1]
        return port


@contextmanager
def hanging_up() -> Iterator[tuple[int, list[float]]]:
    """Yield the port of a host that closes each connection at once, and the times of the connections."""
    made: list[float] = []

    def serve(connection: socket.socket) -> None:
        made.append(time.monotonic())
        connection.close()

    with serve_connections(serve) as port:
        yield port, made


@pytest.mark.promise
def test_a_dead_host_is_asked_five_times_and_once_more_when_all_others_are_done() -> None:
    def slowly(_: str) -> bytes:
        time.sleep(0.05)
        return PAGE

    names = [f"x{number:02}" for number in range(40)]
    with RawServer(slowly) as living, hanging_up() as (port, made):
        found = check_rows(
            "--attempts", "1",
            f"--connect-to=dead.example:80=127.0.0.1:{port}", f"--connect-to=living.example:80=127.0.0.1:{living.port}",
            *(f"http://{host}.example/ark:/12x45/{name}" for name in names for host in ("dead", "living")),
        )  # fmt: skip
        assert len(made) == 6, "the server's own log"
        assert made[4] < living.times[-1] < made[5]
    dead = found[::2]
    assert outcomes(dead) == ["reset"] * 40
    assert [row["requests"] for row in dead] == [1] * 6 + [0] * 34, "each connection is of one ARK"
    for row in dead[6:]:
        assert [hop["sent"] for hop in row["hops"]] == [False]
        assert "not asked: no answer 6 times in a row" in row["hops"][0]["error"]


def test_arks_of_a_dead_host_are_marked_and_asked_elsewhere(tmp_path: Path) -> None:
    names = [f"x{number:02}" for number in range(20)]

    def knows_the_last(target: str) -> bytes:
        return PAGE if target.partition("?")[0].endswith("/x19") else reply("404 Not Found")

    with RawServer(knows_the_last) as everywhere:
        found = check_rows(
            "--resolver", "http://global.example/", "--store", tmp_path / "a.db",
            f"--connect-to=global.example:80=127.0.0.1:{everywhere.port}",
            f"--connect-to=dead.example:80=127.0.0.1:{nobody()}",
            *(f"http://dead.example/ark:/12x45/{name}" for name in names),
        )  # fmt: skip
    assert outcomes(found) == [*["refused"] * 19, "works-elsewhere"]
    unsent = [hop["error"] for row in found[:19] for hop in row["hops"] if not hop["sent"]]
    assert len(unsent) == 19 - 6
    assert all("not asked: no answer 6 times in a row" in words for words in unsent)
    traffic = select(tmp_path / "a.db", "select requests, failures from host_traffic where host like '%dead%'")
    assert traffic == [(6, 6)]
    in_store = select(tmp_path / "a.db", "select count(*) from observation where asked_url like '%dead%'")
    assert in_store == [(20,)], "each question has its row"


def test_a_host_that_wants_to_be_left_alone_for_longer_than_we_wait_is(tmp_path: Path) -> None:
    with RawServer(lambda _: reply("429 Too Many Requests", Retry_After="3600")) as server:
        found = check_rows("--store", tmp_path / "a.db", *(f"{server.url}/ark:/12x45/x{number}" for number in range(6)))
        assert len(server.targets) == 1
    assert outcomes(found) == ["blocked", *["undetermined"] * 5]
    assert select(tmp_path / "a.db", "select asked_s, is_kept from pause") == [(3600.0, 0)]


def test_a_run_that_is_stopped_does_not_wait_for_a_dead_host(tmp_path: Path) -> None:
    port = nobody()
    command = [
        "check", *ON_LOOPBACK, "--backoff", "6", "--store", tmp_path / "a.db",
        *(f"http://127.0.0.1:{port}/ark:/12x45/x{number}" for number in range(20)),
    ]  # fmt: skip
    observed = "select 1 from observation"
    with Command(command) as running:
        wait_until(
            lambda: len(rows_if_any(tmp_path / "a.db", observed)) >= 5 or not running.is_running, "five observations"
        )
        running.send(signal.SIGINT)
        assert running.exit_code() == 130, running.errors
    assert len(select(tmp_path / "a.db", "select * from observation where question = 'object'")) <= 10


# -- connections


@contextmanager
def keeping_alive(hang_up_at: int) -> Iterator[tuple[int, list[float]]]:
    """Yield the port of a host that closes a kept connection at one request, and the times of requests."""
    arrived: list[float] = []

    def serve(connection: socket.socket) -> None:
        with connection:
            for number in range(1000):
                at = arrival(connection)
                if not connection.recv(65536):
                    return
                arrived.append(at)
                if number and len(arrived) == hang_up_at:
                    return
                connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")

    with serve_connections(serve) as port:
        yield port, arrived


def test_a_request_over_a_connection_that_the_host_has_closed_is_repeated_in_its_turn() -> None:
    with keeping_alive(hang_up_at=3) as (port, arrived):
        done = run_command(
            "check", *ON_LOOPBACK, "--delay", str(INTERVAL_S), "--attempts", "1",
            *(f"http://127.0.0.1:{port}/ark:/12x45/x{number}" for number in range(3)),
        )  # fmt: skip
        assert outcomes(json_lines(done.stdout)) == ["broken"] * 3, "the host was just not asked on a dead connection"
        assert min(later - earlier for earlier, later in pairwise(arrived)) >= INTERVAL_S - TOLERANCE_S


def test_own_host_is_asked_at_its_configured_pace(tmp_path: Path) -> None:
    changed, now, most = threading.Condition(), 0, 0

    def respond(_: str) -> bytes:
        nonlocal now, most
        with changed:
            now += 1
            most = max(most, now)
            changed.notify_all()
            changed.wait_for(lambda: most >= 3, 30)  # however late a busy machine sends them
        time.sleep(0.2)
        with changed:
            now -= 1
        return reply("404 Not Found")

    with RawServer(respond) as server:
        (tmp_path / "arkaudit.toml").write_text(
            f'[hosts."127.0.0.1:{server.port}"]\ninterval = 0\nconcurrency = 3\n[politeness]\ndelay = 5\n'
        )
        done = run_command(
            "check", "-c", tmp_path / "arkaudit.toml", "--only-routed", "--allow-address", "127.0.0.0/8",
            *(f"{server.url}/ark:/12x45/x{number}" for number in range(12)),
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    assert most == 3


@pytest.mark.parametrize("name", ["n2t.net/x", "", "two names", "ftp://n2t.net", "n2t.net:http"])
def test_malformed_host_is_a_mistake(name: str, tmp_path: Path) -> None:
    (tmp_path / "arkaudit.toml").write_text(f'[hosts."{name}"]\ninterval = 0\n')
    with pytest.raises(ConfigError, match=r"hosts: .* is not a host"):
        load(tmp_path / "arkaudit.toml", {})


def test_allowed_hosts_follow_from_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "arkaudit.toml").write_text(
        '[hosts."Library.example:8080"]\ninterval = 0.5\nconcurrency = 2\n'
        '[network]\nconnect_to = ["routed.example:80=127.0.0.1:9"]\n[politeness]\ndelay = 0.1\n'
    )
    config = load(tmp_path / "arkaudit.toml", {})
    hosts = ("http://library.example:8080", "http://routed.example", "https://library.example", "https://n2t.net")
    assert [config.owns(host) for host in hosts] == [True, True, False, False]
    assert [config.allowance(host) for host in hosts] == [
        Allowance(0.5, 2), Allowance(0.1, 1), Allowance(1.0, 1), Allowance(1.0, 1)
    ]  # fmt: skip


HOLDER = """
import sys, time
from pathlib import Path
from crawler.politeness.host_files import HostFiles
claim = HostFiles(Path(sys.argv[1])).claim("http://r.example", 0.05, is_alone=True)
print("held", flush=True)
time.sleep(600)
"""


def test_killed_audit_delays_no_other(tmp_path: Path) -> None:
    log, by = Log(), throttle(folder=tmp_path)
    with subprocess.Popen([sys.executable, "-c", HOLDER, tmp_path], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"

        async def scene() -> None:
            asking = asyncio.ensure_future(log.ask(by))
            await asyncio.sleep(0.3)
            assert not asking.done(), "one request at a time, for all callers"
            os.kill(holder.pid, signal.SIGKILL)
            await asking

        run(scene)
