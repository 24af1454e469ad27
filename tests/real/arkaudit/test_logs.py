"""The log: one line for each event, for people or for programs, with the facts that a bug report needs."""

import json
import re
from pathlib import Path

import pytest

from tests.real.loopback import ON_LOOPBACK, RawServer, json_lines, reply, run_command

ARK = "ark:/12x45/x5"

LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (DEBUG|INFO|WARNING|ERROR|CRITICAL) [a-z_.]+: .+")


def respond(target: str) -> bytes:
    if target == f"/{ARK}":
        return reply("302 Found", Location="/landed")
    return reply(body="<title>It</title>") if target == "/landed" else reply("503 Service Unavailable")


def test_each_request_is_a_line_at_the_level_of_details(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    with RawServer(respond) as server:
        done = run_command("check", *ON_LOOPBACK, "--log-file", log, "--log-level", "debug", f"{server.url}/{ARK}")
        asked = [f"{server.url}{line.split(' ')[1]}" for line in server.request_lines]
    lines = log.read_text().splitlines()
    assert all(LINE.fullmatch(line) for line in lines)
    assert [line for line in done.stderr.splitlines() if LINE.fullmatch(line)] == []
    told = [line for line in lines if " DEBUG crawler.wire.middlewares: " in line]
    assert [line.split(": ")[1] for line in told] == asked
    assert f"{server.url}/{ARK}: 302 /landed (0." in "\n".join(told)
    assert " is requested again in " in log.read_text()


def test_a_program_reads_each_line_as_an_object(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    options = ("--log-file", log, "--log-level", "debug", "--log-format", "json")
    with RawServer(respond) as server:
        run_command("check", *ON_LOOPBACK, *options, "--contact", "you@library.example", f"{server.url}/{ARK}")
    rows = json_lines(log.read_text())
    assert all({"at", "level", "logger", "message"} <= set(row) for row in rows)
    [begun] = [row for row in rows if "versions" in row]
    assert {"Python", "SQLite", "scrapy", "twisted"} <= set(begun["versions"])
    assert begun["settings"]["politeness"]["contact"] == "you@library.example"
    requests = [row for row in rows if "status" in row]
    assert {(row["url"], row["status"]) for row in requests} >= {
        (f"{server.url}/{ARK}", 302),
        (f"{server.url}/landed", 200),
    }
    assert all(isinstance(row["elapsed_s"], float) for row in requests)


def test_log_without_file_shows_warnings_and_more_by_level() -> None:
    with RawServer(respond) as server:
        quiet = run_command("check", "-q", *ON_LOOPBACK, f"{server.url}/{ARK}")
        loud = run_command("check", *ON_LOOPBACK, "--log-level", "info", f"{server.url}/{ARK}")
    assert quiet.stderr == ""
    assert any(LINE.fullmatch(line) for line in loud.stderr.splitlines())
    assert json.loads(loud.stdout)["object"]["outcome"] == "resolved"


def test_how_a_command_ends_is_written_down_too(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    (tmp_path / "arkaudit.toml").write_text("[log]\nfile = 'a.log'\n")
    done = run_command("check", "-c", tmp_path / "arkaudit.toml", *ON_LOOPBACK, "http://127.0.0.1:9/ark:/12x45/x5")
    missing = run_command("check", "-c", tmp_path / "arkaudit.toml", "--from", tmp_path / "none.txt")
    assert (done.returncode, missing.returncode) == (0, 2)
    assert "ERROR arkaudit.output.exits: " in log.read_text()
    assert missing.stderr.count("none.txt") == 1


@pytest.mark.parametrize("place", ["no/such/folder/a.log", "."])
def test_a_log_that_can_not_be_written_is_a_mistake(place: str, tmp_path: Path) -> None:
    done = run_command("check", "--log-file", tmp_path / place, "ark:/12345/x")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
