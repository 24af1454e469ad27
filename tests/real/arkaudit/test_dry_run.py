"""`--dry-run` forecasts the hosts, requests and duration of a run; nothing is sent or written."""

from pathlib import Path

import pytest

from tests.real.loopback import RawServer, reply, run_command

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
