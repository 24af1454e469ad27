"""`--dry-run` forecasts the hosts, requests and duration of a run; nothing is sent or written."""

from pathlib import Path

import pytest

from arkaudit.audits.forecast import HostLoad, loads_of_arks, loads_of_crawl
from extractors.model.ark import Ark
from tests.loopback import RawServer, reply, run_command


def interval_of(host: str) -> float:
    return 0.25 if "own" in host else 1.0


def targets(**counts: int) -> list[tuple[Ark, str]]:
    return [
        (Ark("12x45", f"x{number}"), f"https://{name}.example/ark:/12x45/x{number}")
        for name, count in counts.items()
        for number in range(count)
    ]


def test_slowest_host_determines_the_duration() -> None:
    loads = loads_of_arks(targets(own=200, big=100, small=1), interval_of)
    assert [load.host for load in loads] == [f"https://{name}.example" for name in ("big", "own", "small")]
    assert (loads[0].least, loads[0].most, loads[0].least_s) == (222, 422, 421.0)


def test_examples_and_tests_are_not_counted() -> None:
    assert loads_of_arks([(Ark("12345", "x"), "https://n2t.net/ark:/12345/x")], interval_of) == []


def test_crawl_forecast_uses_requests_of_the_last_run() -> None:
    loads = loads_of_crawl(["https://a.example/"], {"https://a.example": 300}, interval_of)
    assert loads == [HostLoad("https://a.example", 302, 302, 1.0)]


# -- the command


@pytest.fixture
def offline(tmp_path: Path) -> list[str]:
    """Yield options that would reveal any request."""
    return ["--store", str(tmp_path / "a.db"), "--contact", "auditor@library.example"]


@pytest.mark.promise
def test_nothing_is_sent_or_written(tmp_path: Path, offline: list[str]) -> None:
    with RawServer(lambda _: reply(body="x")) as server:
        route = f"--connect-to=r.example:80=127.0.0.1:{server.port}"
        check = run_command("check", "--dry-run", route, *offline, "http://r.example/ark:/12x45/x5", "ark:12345/x")
        run = run_command("run", "--dry-run", route, *offline, "http://r.example/", "--out", tmp_path / "out")
        assert server.request_lines == []
    assert list(tmp_path.iterdir()) == []
    for done in (check, run):
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.endswith("nothing was sent\n")
    assert "1 host, 3 to 5 requests, at least 4 s: http://r.example takes longest" in check.stdout
    assert "is not known before the first run over these seeds" in run.stdout


def test_forecast_uses_the_last_run_over_the_same_seeds(tmp_path: Path, offline: list[str]) -> None:
    links = "".join(f"<a href='/{number}'>x</a>" for number in range(3))
    with RawServer(lambda target: reply(body=links if target == "/" else "ark:/12x45/x5")) as server:
        seeds = [
            "--only-routed",
            "--delay",
            "0",
            f"--connect-to=r.example:80=127.0.0.1:{server.port}",
            "http://r.example/",
        ]
        assert run_command("run", *offline, *seeds).returncode == 0
        sent = len(server.request_lines)
        before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
        done = run_command("run", "--dry-run", *offline, *seeds)
        assert done.returncode == 0, done.stderr
        assert len(server.request_lines) == sent
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert f"http://r.example: {sent + 1} requests" in done.stdout
    assert "estimated from the last run" in done.stdout


@pytest.mark.parametrize("content", [b"not a store", b"SQLite format 3\0"])
def test_a_store_that_is_none_is_a_mistake(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.db").write_bytes(content)
    done = run_command("run", "--dry-run", "--store", tmp_path / "a.db", "https://r.example/")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "a.db" in done.stderr
