"""Named audits that are run when they are due, by real processes: once each, alone, and on after a kill."""

import json
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.real.interrupted import Command
from tests.real.loopback import RawServer, reply, run_command, select
from tests.real.small_disk import small_disk
from tests.real.waiting import PATIENCE_S
from tests.unit.arkaudit.test_schedules import file_of, seen_long_ago, write_configuration
from tests.vectors import vectors

PAGE = reply(body="<title>An object</title>")


def last_run(folder: Path) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(file_of(folder).read_text())
    return told


def runs_of(folder: Path) -> list[str]:
    with sqlite3.connect(folder / "theses.db") as raw:
        return [state for (state,) in raw.execute("select state from run order by run_id")]


def eventually(condition: Callable[[], object], *, patience_s: float = PATIENCE_S) -> bool:
    deadline_s = time.monotonic() + patience_s
    while not condition() and time.monotonic() < deadline_s:
        time.sleep(0.05)
    return bool(condition())


@pytest.mark.promise
def test_due_audits_run_once_and_are_listed(tmp_path: Path) -> None:
    with RawServer(lambda _: PAGE) as server:
        config = write_configuration(tmp_path, server)
        listed = run_command("schedule", "list", "-c", config, "--format", "json")
        assert [(row["audit"], row["is_due"], row["outcome"]) for row in json.loads(listed.stdout)] == [
            ("theses", False, "not yet run")
        ]
        config.write_text(f"{config.read_text()}\n[overview]\nout = 'site'\n")
        seen_long_ago(tmp_path)
        first = run_command("schedule", "due", "-c", config)
        assert first.returncode == 0, first.stderr
        assert (tmp_path / "site" / "theses" / "feed.atom").exists()
        asked = len(server.targets)
        assert asked > 0
        second = run_command("schedule", "due", "-c", config)
        assert (second.returncode, second.stderr, len(server.targets)) == (0, "", asked)
    assert runs_of(tmp_path) == ["finished"]
    assert last_run(tmp_path)["exit_code"] == 0
    listed = run_command("schedule", "list", "-c", config)
    assert "theses" in listed.stdout
    assert "done" in listed.stdout


FOREIGN = ("arkaudit", "crawler", "extractors", "reports", "scrapy", "click")


def test_foreign_packages_in_the_working_directory_are_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with RawServer(lambda _: PAGE) as server:
        config = write_configuration(tmp_path, server)
        (tmp_path / "theses.txt").rename(tmp_path / "list.txt")
        config.write_text(config.read_text().replace("theses.txt", "list.txt"))
        for name in FOREIGN:
            (tmp_path / name).mkdir()
            (tmp_path / name / "__init__.py").write_text("raise RuntimeError('the wrong package')")
        seen_long_ago(tmp_path)
        monkeypatch.chdir(tmp_path)
        script = Path(sys.executable).with_name("arkaudit")
        command = [script, "schedule", "due", "-c", config.name]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert last_run(tmp_path)["exit_code"] == 0, done.stderr


def test_python_m_takes_no_package_of_the_working_directory_for_its_own(tmp_path: Path) -> None:
    for name in ("crawler", "extractors", "reports"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise RuntimeError('the wrong package')")
    (tmp_path / "a.pdf").write_bytes((Path(__file__).parents[2] / "fixtures" / "password.pdf").read_bytes())
    (tmp_path / "a.txt").write_text("ark:/67531/metadc2846")
    command = [sys.executable, "-m", "arkaudit", "extract", "a.pdf", "a.txt"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert (done.returncode, done.stdout.count("\n")) == (0, 1), done.stderr
    assert "a.pdf: encrypted" in done.stderr


def test_a_dry_run_says_what_is_due_and_begins_nothing(tmp_path: Path) -> None:
    config = write_configuration(tmp_path, None)
    seen_long_ago(tmp_path)
    said = run_command("schedule", "due", "--dry-run", "-c", config)
    assert "theses: due since" in said.stderr
    assert not (tmp_path / "theses.db").exists()


def test_two_runs_of_one_audit_never_go_at_once(tmp_path: Path) -> None:
    may_answer = threading.Event()

    def slow(_: str) -> bytes:
        may_answer.wait(PATIENCE_S)
        return PAGE

    with RawServer(slow) as server:
        config = write_configuration(tmp_path, server)
        with Command(["run", "-c", config, "--audit", "theses"]) as first:
            try:
                assert eventually(lambda: server.targets)
                second = run_command("run", "-c", config, "--audit", "theses")
                assert (second.returncode, second.stderr.count("\n")) == (2, 1)
                assert "is running already" in second.stderr
                listed = run_command("schedule", "list", "-c", config, "--format", "json")
                assert json.loads(listed.stdout)[0]["outcome"] == "running"
                due = run_command("schedule", "due", "-c", config)
                assert (due.returncode, due.stderr) == (0, "")
            finally:
                may_answer.set()
            assert first.exit_code() == 0, first.errors
    assert runs_of(tmp_path) == ["finished"]


def test_a_run_that_was_killed_goes_on_the_next_time(tmp_path: Path) -> None:
    hold = threading.Event()

    def answer(target: str) -> bytes:
        if "x2" in target:
            hold.wait(PATIENCE_S)
        return PAGE

    with RawServer(answer) as server:
        config = write_configuration(tmp_path, server, arks=3)
        with Command(["run", "-c", config, "--audit", "theses"]) as running:
            assert eventually(lambda: any("x2" in target for target in server.targets))
            running.kill()
        hold.set()
        listed = run_command("schedule", "list", "-c", config, "--format", "json")
        assert [(row["outcome"], row["is_due"]) for row in json.loads(listed.stdout)] == [("killed", True)]
        done = run_command("schedule", "due", "-c", config)
        assert done.returncode == 0, done.stderr
        assert "resumed" in done.stderr
    assert (last_run(tmp_path)["exit_code"], last_run(tmp_path)["attempts"]) == (0, 1)
    judged = select(tmp_path / "theses.db", "select count(distinct ark_id) from verdict")[0]
    assert judged == (3,)


@contextmanager
def run_scheduler(config: Path):
    command = [sys.executable, "-m", "arkaudit", "schedule", "run", "-c", str(config)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as scheduler:
        try:
            yield scheduler
        finally:
            scheduler.kill()


def test_a_scheduler_that_is_killed_and_started_again_makes_every_run_once(tmp_path: Path) -> None:
    """Every four seconds, over a real resolver's socket: the scheduler dies twice, once in the midst of a run."""
    with RawServer(lambda _: PAGE) as server:
        config = write_configuration(tmp_path, server, schedule="*/4 * * * * *")
        for ended in range(1, 3):
            with run_scheduler(config) as scheduler:
                assert eventually(lambda count=ended: _ended_runs(tmp_path) >= count)
                scheduler.kill()
            assert eventually(lambda: last_run(tmp_path)["ended"]), "a run outlives its scheduler, and ends by itself"
        with run_scheduler(config) as scheduler:
            assert eventually(lambda: _ended_runs(tmp_path) >= 3)
            scheduler.send_signal(signal.SIGTERM)
            scheduler.communicate(timeout=PATIENCE_S)
            assert scheduler.returncode == 0
    times = select(tmp_path / "theses.db", "select started_at, ended_at from run order by run_id")
    assert all(later[0] >= earlier[1] for earlier, later in pairwise(times)), "one after the other"
    assert set(runs_of(tmp_path)) == {"finished"}


def _ended_runs(folder: Path) -> int:
    with suppress(sqlite3.OperationalError):
        return runs_of(folder).count("finished") if (folder / "theses.db").exists() else 0
    return 0


def test_a_signal_lets_a_run_finish_what_it_has_in_flight(tmp_path: Path) -> None:
    def slow(_: str) -> bytes:
        time.sleep(0.2)
        return PAGE

    with RawServer(slow) as server:
        config = write_configuration(tmp_path, server, arks=80)
        seen_long_ago(tmp_path)
        with run_scheduler(config) as scheduler:
            assert eventually(lambda: len(server.targets) > 3)
            scheduler.send_signal(signal.SIGTERM)
            _, said = scheduler.communicate(timeout=PATIENCE_S)
        assert scheduler.returncode == 0
    assert "resumed the next time" in said
    assert last_run(tmp_path)["exit_code"] == 130
    assert runs_of(tmp_path) == ["interrupted"]


@pytest.mark.parametrize("vector", vectors("schedule_mistakes"))
def test_a_mistake_is_one_line_with_its_place(tmp_path: Path, vector: dict[str, Any]) -> None:
    file = tmp_path / "arkaudit.toml"
    file.write_text(vector["text"])
    done = run_command("schedule", "list", "-c", file)
    assert (done.returncode, done.stdout) == (2, "")
    assert vector["said"] in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == [file], "nothing was written"


def test_an_audit_that_is_not_there_is_named(tmp_path: Path) -> None:
    done = run_command("run", "-c", write_configuration(tmp_path, None), "--audit", "maps")
    assert done.returncode == 2
    assert "no audit is named 'maps'; there are: theses" in done.stderr


@pytest.mark.parametrize("verb", ["due", "run", "list"])
def test_schedule_with_a_damaged_file_ends_in_one_line(verb: str, tmp_path: Path) -> None:
    config = write_configuration(tmp_path, None)
    seen_long_ago(tmp_path, started="garbage")
    done = run_command("schedule", verb, "-c", config)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "theses.json can't be read: it holds no run; remove it" in done.stderr


def test_three_at_once_run_once_and_the_losers_end_with_0(tmp_path: Path) -> None:
    with RawServer(lambda _: PAGE) as server:
        config = write_configuration(tmp_path, server)
        seen_long_ago(tmp_path)
        with ExitStack() as stack:
            all_at_once = [stack.enter_context(Command(["schedule", "due", "-c", config])) for _ in range(3)]
            assert [one.exit_code() for one in all_at_once] == [0, 0, 0], [one.errors for one in all_at_once]
    assert last_run(tmp_path)["exit_code"] == 0
    assert runs_of(tmp_path) == ["finished"]


def test_with_nothing_due_it_ends_without_loading_the_machinery(tmp_path: Path) -> None:
    config = write_configuration(tmp_path, None)
    script = (
        "import sys; from arkaudit.cli import main\n"
        f"try: main(['schedule', 'due', '-c', {str(config)!r}])\n"
        "except SystemExit: pass\n"
        "assert not {'scrapy', 'twisted', 'pandas'} & set(sys.modules), 'slow to import'\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=PATIENCE_S)


def test_full_disk_ends_with_3_and_names_the_store(tmp_path: Path) -> None:
    with small_disk(tmp_path, kilobytes=200) as (content, join):
        write_configuration(content, None)
        with suppress(OSError):
            (content / "filling").write_bytes(bytes(10**6))
        command = ("run", "-c", tmp_path / "arkaudit.toml", "--audit", "theses", "--only-routed")
        done = run_command(*command, first=join)
    assert done.returncode == 3
    assert "theses.db: database or disk is full" in done.stderr
