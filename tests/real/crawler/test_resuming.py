"""A run that was ended at any instant is gone on with: nothing is lost or kept twice, and its report is the same."""

import json
import random
import re
import shutil
import signal
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.real.interrupted import (
    HOW_LONG,
    Command,
    World,
    counts,
    is_made,
    local_files,
    sent_requests,
    tables,
    with_room_for,
    with_trouble,
)
from tests.real.library import feed, record, records
from tests.real.loopback import ON_LOOPBACK, RawServer, reply, run_command, select
from tests.real.small_disk import small_disk
from tests.real.waiting import PATIENCE_S, wait_until

Asked = Counter[tuple[str, str]]


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with World() as served:
        yield served


@dataclass
class UndisturbedRun:
    """The results of a command that runs undisturbed."""

    arguments: list[str]
    tables: dict[str, pd.DataFrame]
    counts: dict[str, int]
    asked: Asked
    output: str
    duration_s: float


@pytest.fixture(scope="module")
def library_run(world: World, tmp_path_factory: pytest.TempPathFactory) -> UndisturbedRun:
    """Return the undisturbed run of the library's site."""
    folder = tmp_path_factory.mktemp("library")
    return run_whole(world, ["run", "http://www.library.example/", *world.configuration(folder)], folder)


@dataclass
class DisturbedRun:
    """The results of a command that is ended and restarted several times."""

    store: Path
    endings: int = 0
    segments: list[tuple[Asked, Asked]] = field(default_factory=list)
    """For each process, the records when it began, and its requests."""
    output: str = ""

    def __post_init__(self) -> None:
        self.known: Asked = Counter()

    def arguments(self, arguments: Sequence[str], chance: random.Random) -> list[str]:
        """Return the same arguments, or --resume; only --resume if the run itself has ended."""
        told = [*arguments, "--store", str(self.store)]
        if not is_made(self.store):
            return told
        with sqlite3.connect(self.store) as raw:
            states = [state for (state,) in raw.execute("select state from run")]
        is_reported = states == ["finished"] or (bool(states) and chance.random() < 0.5)
        return [*told, "--resume"] if is_reported else told


def run_whole(world: World, arguments: Sequence[str], folder: Path) -> UndisturbedRun:
    before, begun = len(world.asked), time.monotonic()
    store = folder / "undisturbed.db"
    with Command([*arguments, "--store", str(store)]) as command:
        assert command.exit_code() == 0, command.errors
        duration_s = time.monotonic() - begun
        asked = Counter(world.asked[before:])
        return UndisturbedRun(list(arguments), tables(store), counts(store), asked, command.output, duration_s)


def killed_until_done(
    world: World, whole: UndisturbedRun, store: Path, chance: random.Random, *, most: int
) -> DisturbedRun:
    """Begin the command, kill it after some requests or some time, and begin it again, until it has come to its end."""
    done = DisturbedRun(store)
    while True:
        known, before = sent_requests(store), len(world.asked)
        with Command(done.arguments(whole.arguments, chance)) as command:
            if done.endings < most:
                if chance.random() < 0.75:
                    wait_for_requests(world, command, before + chance.randint(1, 40))
                    command.wait(chance.uniform(0, 0.25))
                else:
                    command.wait(chance.uniform(0, whole.duration_s))
                command.kill()
            code = command.exit_code()
            assert code in (0, -signal.SIGKILL), command.errors
            done.segments.append((known, Counter(world.asked[before:])))
            if code == 0:
                done.output = command.output
                return done
            done.endings += 1


def wait_for_requests(world: World, command: Command, count: int) -> None:
    while len(world.asked) < count and command.is_running:
        world.wait_for(count, 0.05)


def assert_same(done: DisturbedRun, whole: UndisturbedRun) -> None:
    found = tables(done.store)
    for name, expected in whole.tables.items():
        pd.testing.assert_frame_equal(found[name], expected, obj=name)
    assert counts(done.store) == whole.counts
    for number, (known, asked) in enumerate(done.segments):
        again = Counter({each: asked[each] + known[each] - whole.asked[each] for each in asked})
        assert not +again, f"process {number} repeated a recorded request"


def killed_runs(
    world: World, whole: UndisturbedRun, folder: Path, chance: random.Random, *, times: int
) -> Iterator[DisturbedRun]:
    """Return runs that are killed until the given number of kills is reached."""
    for number in range(times):
        done = killed_until_done(world, whole, folder / f"{number}.db", chance, most=times)
        times -= done.endings
        yield done
        if times <= 0:
            return
    pytest.fail(f"{times} kills are missing")


# -- killed


def test_an_audit_that_is_killed_again_and_again_ends_as_if_nothing_had_happened(world: World, tmp_path: Path) -> None:
    files = [str(path) for path in local_files(tmp_path / "files")]
    command = ["run", "http://www.library.example/", *files, *world.configuration(tmp_path)]
    whole = run_whole(world, command, tmp_path)
    assert whole.counts["observation"] > 150
    assert select(tmp_path / "undisturbed.db", "select max(decided) > 1 from mention") == [(1,)], (
        "some are decided again"
    )
    for done in killed_runs(world, whole, tmp_path, random.Random(5), times=3):
        assert_same(done, whole)


def test_a_check_that_is_killed_again_and_again_prints_the_same_verdicts(world: World, tmp_path: Path) -> None:
    arks = [f"http://one.example/ark:/12x45/b1{number:02}x" for number in range(0, 16, 4)]
    arks += [f"http://two.example/ark:/12x45/c2{number:02}k" for number in range(18)]
    arks += ["ark:12x45/d30q", "ark:12x45/d34q", "ark:12345/x5", "no ark", *arks[:2]]
    (tmp_path / "arks.txt").write_text("\n".join(arks))
    command = ["check", "--from", str(tmp_path / "arks.txt"), *world.configuration(tmp_path)]
    whole = run_whole(world, command, tmp_path)
    assert len(whole.output.splitlines()) == len(arks)
    for done in killed_runs(world, whole, tmp_path, random.Random(6), times=2):
        assert_same(done, whole)
        assert verdicts(done.output) == verdicts(whole.output)


def verdicts(output: str) -> list[dict[str, Any]]:
    """Return the rows of a check, without the moments of their hops and how long attempts took."""
    rows = [json.loads(line) for line in re.sub(HOW_LONG, "", output).splitlines()]
    for row in rows:
        row["hops"] = [(hop["url"], hop["status"]) for hop in row.get("hops", ())]
    return rows


# -- interrupted


@pytest.mark.parametrize("after", [8, 150])
def test_one_ctrl_c_records_requests_in_flight_and_repeats_none(world: World, tmp_path: Path, after: int) -> None:
    command = ["run", "http://www.library.example/", *world.configuration(tmp_path), "--store", str(tmp_path / "a.db")]
    before = len(world.asked)
    with Command(command) as running:
        wait_for_requests(world, running, before + after)
        running.send(signal.SIGINT)
        assert running.exit_code() == 130, running.errors
    lost = Counter(world.asked[before:]) - sent_requests(tmp_path / "a.db")
    assert {host for host, _ in lost} <= {"two.example", "global.example"}, "but for chains that had further to go"
    with Command(command) as running:
        assert running.exit_code() == 0, running.errors
        assert "resuming run 1" in running.errors
    assert Counter(world.asked[before:]) - sent_requests(tmp_path / "a.db") == lost, "nothing else was asked again"


def test_a_second_ctrl_c_stops_at_once_and_the_run_can_be_gone_on_with(tmp_path: Path) -> None:
    released = threading.Event()

    def respond(target: str) -> bytes:
        if target.endswith("x1"):
            released.wait(PATIENCE_S)
        return reply(body="<title>An object</title>")

    with RawServer(respond) as server:
        arks = [f"{server.url}/ark:/12x45/x{number}" for number in range(3)]
        command = ["check", *ON_LOOPBACK, "--timeout", "900", "--store", str(tmp_path / "a.db"), *arks]
        with Command(command) as running:
            wait_until(lambda: len(server.targets) >= 2, "two requests")
            running.send(signal.SIGINT)
            time.sleep(1)  # until the first has been handled
            running.send(signal.SIGINT)
            assert running.exit_code() == 130, running.errors
            released.set()  # it did not wait for the answer
        with Command(command) as running:
            assert running.exit_code() == 0, running.errors
            assert len(running.output.splitlines()) == 3
        assert [target.rpartition("/")[2] for target in server.targets].count("x0") == 1


# -- a full disk


def test_when_the_disk_is_full_the_run_is_unfinished_and_goes_on_when_there_is_room(
    world: World, library_run: UndisturbedRun, tmp_path: Path
) -> None:
    arguments = library_run.arguments
    done = DisturbedRun(tmp_path / "a.db")
    for pages in (90, 20):
        known, before = sent_requests(done.store), len(world.asked)
        with Command([*arguments, "--store", done.store], first=partial(with_room_for, pages)) as running:
            assert running.exit_code() == 3, running.errors
            assert "full" in running.errors
        done.segments.append((known, Counter(world.asked[before:])))
    with Command(done.arguments(arguments, random.Random(1))) as running:
        assert running.exit_code() == 0, running.errors
    assert_same(done, library_run)


def test_when_a_small_file_system_is_full_nothing_is_lost(
    world: World, library_run: UndisturbedRun, tmp_path: Path
) -> None:
    """Unlike the limit of pages in the test above, a full file system also stops the log next to the store."""
    (tmp_path / "small").mkdir()
    with small_disk(tmp_path / "small", kilobytes=1200) as (content, join):
        with Command([*library_run.arguments, "--store", tmp_path / "small" / "a.db"], first=join) as running:
            assert running.exit_code() == 3, running.errors
            assert "kept" in running.errors
        for file in content.iterdir():
            shutil.copy(file, tmp_path)
    done = DisturbedRun(tmp_path / "a.db")
    known, before = sent_requests(done.store), len(world.asked)
    with Command(done.arguments(library_run.arguments, random.Random(2))) as running:
        assert running.exit_code() == 0, running.errors
    done.segments.append((known, Counter(world.asked[before:])))
    assert known
    assert_same(done, library_run)


# -- the memory of a crawl


def test_circular_harvest_is_reported_after_a_kill(tmp_path: Path) -> None:
    tokens = {"": "a", "a": "b", "b": "a"}
    released: list[bool] = []

    def repeating(target: str) -> bytes:
        token = target.partition("resumptionToken=")[2]
        if token == "b" and not released:
            time.sleep(60)
        body, media_type = records(record(f"oai:r:{token}1"), token=tokens[token])
        return reply(body=body, media_type=media_type)

    with RawServer(repeating) as server:
        command = ["crawl", *ON_LOOPBACK, f"oai:{server.url}/oai", "--store", str(tmp_path / "a.db")]
        with Command(command) as running:
            wait_until(lambda: len(server.targets) >= 3, "three requests")
            running.kill()
        released.append(True)
        with Command(command) as running:
            assert running.exit_code() == 0, running.errors
        assert [target.partition("resumptionToken=")[2] for target in server.targets] == ["", "a", "b", "b"]
    [(subject,)] = select(tmp_path / "a.db", "select subject from finding where kind = 'source-loop'")
    assert subject.endswith("resumptionToken=b")


@pytest.mark.parametrize("kind", ["oai", "feed"])
def test_a_source_that_lists_the_same_for_ever_ends_where_it_would_have_without_a_kill(
    tmp_path: Path, kind: str
) -> None:
    released: list[bool] = [True]

    def deaf(target: str) -> bytes:
        part = int(target.rpartition("part")[2] or 0) if "part" in target else 0
        if part == 1 and not released:
            time.sleep(60)
        if kind == "oai":
            body, media_type = records(record("oai:r:1"), record("oai:r:2"), token=f"part{part + 1}")
        else:
            body, media_type = feed("/x", after=f"/feed?part{part + 1}")
        return reply(body=body, media_type=media_type) if target != "/x" else reply(body="an entry")

    with RawServer(deaf) as server:
        command = ["crawl", *ON_LOOPBACK, "--timeout", "900", f"{kind}:{server.url}/{kind}", "--store"]
        assert run_command(*command, tmp_path / "whole.db").returncode == 0
        asked = sorted(server.targets)
        released.clear()
        with Command([*command, tmp_path / "a.db"]) as running:
            wait_until(lambda: any("part1" in target for target in server.targets[len(asked) :]), "the second part")
            wait_until(
                lambda: sent_requests(tmp_path / "a.db").total() >= len(server.targets) - len(asked) - 1,
                "a record of it",
            )
            running.kill()
        released.append(True)
        assert run_command(*command, tmp_path / "a.db").returncode == 0
        again = [target for target in asked if "part1" in target]
        assert sorted(server.targets) == sorted([*asked, *asked, *again]), "no part that was not asked for before"
    assert counts(tmp_path / "a.db") == counts(tmp_path / "whole.db")
    found = "select subject, kind, detail from finding order by 1, 2, 3"
    assert select(tmp_path / "a.db", found) == select(tmp_path / "whole.db", found)


# -- two at once


def test_a_second_run_on_a_store_is_refused_and_reports_may_read_it(tmp_path: Path) -> None:
    released = threading.Event()

    def respond(_: str) -> bytes:
        released.wait(PATIENCE_S)
        return reply(body="<title>An object</title>")

    with RawServer(respond) as server:
        arks = [f"{server.url}/ark:/12x45/x{number}" for number in range(30)]
        command = ["check", *ON_LOOPBACK, "--timeout", "900", "--store", str(tmp_path / "a.db"), *arks]
        with Command(command) as running:
            wait_until(lambda: server.targets, "a request")
            second = run_command(*command)
            assert second.returncode == 2
            assert second.stderr.startswith(f"arkaudit: another arkaudit is at work on {tmp_path / 'a.db'}; wait for")
            assert len(second.stderr.splitlines()) == 1
            assert run_command("report", "--store", tmp_path / "a.db").returncode == 0
            running.kill()
        released.set()
        with Command([*command[:-29]]) as running:
            assert running.exit_code() == 0, "the lock has gone with its process"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.db"]


# -- the run to resume


@pytest.fixture
def interrupted_crawl(tmp_path: Path) -> Iterator[tuple[RawServer, Path]]:
    """Yield a server of five pages, and a store with a crawl that was killed after two of them."""

    def respond(target: str) -> bytes:
        number = int(target.strip("/") or 0)
        if number == 2 and not released:
            time.sleep(60)
        return reply(body=f"<a href='/{number + 1}'>next</a> ark:/67531/metadc{number}")

    released: list[bool] = []
    with RawServer(respond) as server:
        with Command(["crawl", *ON_LOOPBACK, "--depth", "4", server.url, "--store", str(tmp_path / "a.db")]) as running:
            wait_until(lambda: "/2" in server.targets, "the third page")
            running.kill()
        released.append(True)
        yield server, tmp_path / "a.db"


def runs(store: Path) -> list[tuple[Any, ...]]:
    return select(
        store,
        "select run_id, state, ended_at is null, (select count(*) from document d where d.run_id = r.run_id)"
        " from run r order by run_id",
    )


@pytest.mark.promise
def test_the_same_command_goes_on_and_says_so(interrupted_crawl: tuple[RawServer, Path]) -> None:
    server, store = interrupted_crawl
    assert runs(store) == [(1, "running", 1, 2)]
    done = run_command("crawl", *ON_LOOPBACK, "--depth", "4", server.url, "--store", store)
    assert done.returncode == 0, done.stderr
    assert "resuming run 1, begun 20" in done.stderr
    assert runs(store) == [(1, "finished", 0, 5)]
    assert server.targets == ["/", "/1", "/2", "/2", "/3", "/4"]
    again = run_command("crawl", *ON_LOOPBACK, "--depth", "4", server.url, "--store", store)
    assert "going on" not in again.stderr
    assert runs(store) == [(1, "finished", 0, 5), (2, "finished", 0, 5)]


def test_resume_alone_uses_the_options_of_the_run(interrupted_crawl: tuple[RawServer, Path]) -> None:
    server, store = interrupted_crawl
    done = run_command("crawl", *ON_LOOPBACK, "--resume", "--store", store)
    assert done.returncode == 0, done.stderr
    assert runs(store) == [(1, "finished", 0, 5)]
    assert server.targets[-1] == "/4", "to the given depth"


def test_other_command_begins_a_new_run_and_mentions_the_unfinished_one(
    interrupted_crawl: tuple[RawServer, Path],
) -> None:
    server, store = interrupted_crawl
    done = run_command("crawl", *ON_LOOPBACK, "--depth", "0", server.url, "--store", store)
    assert "run 1 did not finish, but differs in crawl.depth" in done.stderr
    # The page below the seed has a citation in run 1, so run 2 asks it again.
    assert runs(store) == [(1, "running", 1, 2), (2, "finished", 0, 2)]


@pytest.mark.parametrize("verb", ["run", "crawl", "check"])
def test_nothing_to_go_on_with_is_one_clear_line_and_no_store(verb: str, tmp_path: Path) -> None:
    given = ["ark:12345/x5"] if verb == "check" else []
    done = run_command(verb, "--resume", "--store", tmp_path / "a.db", *given)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "nothing to resume" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_is_finished_is_reported_again_and_nothing_is_asked(tmp_path: Path) -> None:
    with RawServer(lambda _: reply(body="ark:/12345/x5")) as server:
        command = ["run", *ON_LOOPBACK, server.url, "--store", str(tmp_path / "a.db"), "--out", str(tmp_path / "out")]
        command += ["--format", "csv"]
        first = run_command(*command)
        shutil.rmtree(tmp_path / "out")
        again = run_command(*command, "--resume")
        assert server.targets == ["/"]
    assert (first.returncode, again.returncode) == (0, 0)
    assert "no requests are left" in again.stderr
    assert again.stdout == first.stdout
    assert (tmp_path / "out" / "tables" / "arks.csv").exists()
    assert runs(tmp_path / "a.db") == [(1, "finished", 0, 1)]


#: Kills its caller twice, by a signal each; the third time it keeps its input.
_DEADLY = """
[notify]
on = ["new"]
command = ["sh", "-c", '''
if mkdir terminated; then kill -TERM $PPID; while kill -0 $PPID; do sleep 1; done; exit; fi
if mkdir killed; then kill -KILL $PPID; exit; fi
cat >> news
''']
"""


def test_run_killed_before_its_notification_notifies_without_requests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.toml").write_text(_DEADLY)
    with RawServer(lambda _: reply(body="ark:/12345/x5")) as server:
        command = ["run", *ON_LOOPBACK, "-c", "a.toml", server.url, "--store", "a.db", "--out", "out"]
        command += ["--format", "csv"]
        for code in (130, -signal.SIGKILL):
            with Command(command) as running:
                assert running.exit_code() == code, running.errors
        shutil.rmtree("out")
        with Command(command) as running:
            assert running.exit_code() == 0, running.errors
            assert "run 1 of" in running.errors
            assert "is finished; no requests are left (--no-resume begins a new one)" in running.errors
        assert server.targets == ["/"]
        assert Path("out/tables/arks.csv").exists()
        assert Path("news").read_text() != ""
        assert run_command(*command).returncode == 0
        assert server.targets == ["/", "/"], "the notified run is over"
    assert runs(tmp_path / "a.db") == [(1, "finished", 0, 1), (2, "finished", 0, 1)]


def test_documents_to_fetch_at_most_are_counted_over_all_that_went_on(tmp_path: Path) -> None:
    links = "".join(f"<a href='/{number}'>{number}</a>" for number in range(1, 30))

    def respond(target: str) -> bytes:
        if target == "/5" and len(server.targets) < 7:
            time.sleep(60)
        return reply(body=links)

    with RawServer(respond) as server:
        command = ["crawl", *ON_LOOPBACK, "--max-pages", "9", f"{server.url}/", "--store", str(tmp_path / "a.db")]
        with Command(command) as running:
            wait_until(lambda: "/5" in server.targets and len(sent_requests(tmp_path / "a.db")) >= 5, "the sixth page")
            running.kill()
        done = run_command(*command)
        assert server.targets == ["/", *(f"/{number}" for number in (1, 2, 3, 4, 5, 5, 6, 7, 8))]
    warning = "stopped at 9 documents (--max-pages); 21 more were found and not fetched"
    assert done.stderr.count(warning) == 1
    assert select(tmp_path / "a.db", "select detail from finding where kind = 'max-pages'") == [(warning,)]


def test_document_lost_to_an_internal_fault_is_requested_again_twice_then_settled(tmp_path: Path) -> None:
    def respond(target: str) -> bytes:
        return reply(body="broken" if target == "/1" else "<a href='/1'>1</a> <a href='/2'>2</a>")

    def crawled() -> tuple[str, dict[str, str]]:
        with Command(["crawl", *ON_LOOPBACK, server.url, "--store", tmp_path / "a.db"], first=with_trouble) as running:
            assert running.exit_code() == 3, running.errors
            assert "a fault of ours" in running.errors
        [(state,)] = select(tmp_path / "a.db", "select state from run")
        return state, dict(select(tmp_path / "a.db", "select substr(url, -2), outcome from document"))

    with RawServer(respond) as server:
        for _ in range(2):
            state, outcomes = crawled()
            assert (state, outcomes.get("/1"), outcomes["/2"]) == ("failed", None, "read")
        state, outcomes = crawled()
        assert (state, outcomes["/1"], outcomes["/2"]) == ("finished", "undetermined", "read")
        assert (server.targets.count("/1"), server.targets.count("/2")) == (3, 1)
    assert select(tmp_path / "a.db", "select count(*) from finding where kind = 'no-outcome'") == [(1,)]
