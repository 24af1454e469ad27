"""The output of `arkaudit check`: the reasons of a verdict in plain words, and output to difficult streams."""

import signal
import threading
import time
from pathlib import Path

import pytest

from tests.real.interrupted import Command
from tests.real.loopback import ON_LOOPBACK, RawServer, json_lines, reply, run_command
from tests.real.waiting import PATIENCE_S, rows_if_any, wait_until

ERC = "erc:\nwho: Rossi, Ada\nwhat: Notebook\nwhen: 1952\nerc-support:\nwho: Archive\nwhat: Not Guaranteed\n"


def respond(target: str) -> bytes | None:
    if target == "/ark:/12x45/here":
        return reply("302 Found", Location="/items/7")
    if target.startswith("/items/7"):
        return reply(body="<title>Notebook of Ada Rossi</title><p>Forty leaves.</p>")
    if target == "/ark:/12x45/here?info":
        return reply(body=ERC, media_type="text/plain")
    return reply("404 Not Found")


@pytest.mark.promise
def test_explanation_fits_the_terminal_step_by_step() -> None:
    with RawServer(respond) as server:
        done = run_command("explain", *ON_LOOPBACK, f"{server.url}/ark:/12x45/here", COLUMNS="72")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1] == "Works: The ARK leads to its object."
    told = " ".join(done.stdout.split())
    assert "for the object." in told
    assert "sent us on to /items/7 (302)" in told
    assert "a page with the title “Notebook of Ada Rossi”" in told
    assert "for an object that can't exist" in told
    assert "does not know this name (404)" in told
    assert "to describe the object" in told
    assert "The object (resolved):" in told
    assert "The promise to keep it (stated):" in told
    assert max(len(line) for line in done.stdout.splitlines() if "http" not in line) <= 72


def test_an_explanation_belongs_to_the_row_in_json() -> None:
    with RawServer(respond) as server:
        done = run_command("explain", *ON_LOOPBACK, f"{server.url}/ark:/12x45/gone", "nothing", "--format", "jsonl")
    row, invalid = json_lines(done.stdout)
    steps = [step for step in row["explanation"] if "asked" in step]
    assert steps[0]["url"] == f"{server.url}/ark:/12x45/gone"
    assert any("404" in line for line in steps[0]["came"])
    assert "the resolver itself" in steps[0]["means"]
    assert row["explanation"][-1]["conclusion"].startswith("What to do: compare the ARK with its source")
    assert "explanation" not in invalid


def test_a_line_without_an_ark_is_explained_too() -> None:
    done = run_command("explain", *ON_LOOPBACK, "nothing", "ark:12345/x5")
    assert "holds no ARK" in done.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
@pytest.mark.parametrize(
    "options", [["check", "--format", "table"], ["explain"], ["check"]], ids=["table", "explained", "rows"]
)
def test_unwritable_results_are_one_line(options: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = run_command(*options, *ON_LOOPBACK, "ark:/12345/x5", stdout=full.fileno())
    assert done.returncode == 3
    assert "the results can't be written" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8", "utf-16"])
def test_rows_are_json_in_any_stream_encoding(encoding: str) -> None:
    asked = "nothing: caffè, \N{GREEK SMALL LETTER ALPHA}, \N{GRINNING FACE}"
    done = run_command("check", *ON_LOOPBACK, asked, "ark:/12345/x5", encoding=encoding)
    assert json_lines(done.stdout)[0]["asked"] == asked


def test_interrupted_check_prints_its_verdicts(tmp_path: Path) -> None:
    was_interrupted = threading.Event()

    def slow(target: str) -> bytes | None:
        was_interrupted.wait(PATIENCE_S)
        return respond(target)

    here, waiting = "http://quick.example/ark:/12x45/here", "http://slack.example/ark:/12x45/slow"
    with RawServer(respond) as quick, RawServer(slow) as slack:
        hosts = {"quick.example": quick, "slack.example": slack}
        routes = [f"--connect-to={name}:80=127.0.0.1:{server.port}" for name, server in hosts.items()]
        command = ["check", *ON_LOOPBACK, "--timeout", "900", *routes]
        alone, store = tmp_path / "alone.db", tmp_path / "a.db"
        assert run_command(*command, "--store", alone, here).returncode == 0
        answers = f"select 1 from observation where request_url = '{here}'"
        command += ["--store", store, here, waiting]
        with Command(command) as running:
            all_answers = len(rows_if_any(alone, answers))
            wait_until(lambda: len(rows_if_any(store, answers)) == all_answers > 0, "all answers of the other host")
            running.send(signal.SIGINT)
            time.sleep(0.2)  # a signal needs no longer to arrive
            was_interrupted.set()
            assert running.exit_code() == 130, running.errors
            assert "interrupted" in running.errors
            rows = {row["asked"]: row["object"]["outcome"] for row in json_lines(running.output)}
    assert rows[here] == "resolved"
