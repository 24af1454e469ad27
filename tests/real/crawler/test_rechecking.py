"""`arkaudit recheck`: due ARKs, selections, resumption after a kill, and mistakes."""

import shlex
import time
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from crawler.store.store import Store
from reports.page.cards import action_cards
from reports.store.frames import load_frames
from reports.tables.report_tables import Tables, load_report
from tests.real.interrupted import Command, sent_requests
from tests.real.loopback import ON_LOOPBACK, RawServer, check_rows, json_lines, reply, run_command, select
from tests.real.waiting import wait_until

# -- the command


def always(tmp_path: Path, text: str) -> Path:
    config = tmp_path / "arkaudit.toml"
    config.write_text(f"[recheck]\n{text}\n")
    return config


@pytest.mark.promise
def test_only_due_arks_are_checked_at_their_former_url(tmp_path: Path) -> None:
    answers = {"x5": reply(body="<p>an object, ark:/12x45/x5"), "x7": reply("404 Not Found")}
    store = tmp_path / "audit.db"
    with RawServer(lambda target: answers.get(target[-2:], reply("404 Not Found"))) as server:
        urls = [f"{server.url}/ark:/12x45/{name}" for name in answers]
        check_rows("--store", store, *urls)
        before = len(server.targets)
        done = run_command(
            "recheck", "--store", store, "-c", always(tmp_path, "healthy = 300\nfailing = 0"), *ON_LOOPBACK
        )
        assert [row["ark"] for row in json_lines(done.stdout)] == ["ark:12x45/x7"], done.stderr
        assert "1 due" in done.stderr
        assert not [target for target in server.targets[before:] if "x5" in target]
        both = always(tmp_path, "healthy = 0\nfailing = 0\n[audits.own]\nseeds = ['x']\nstore = 'audit.db'")
        done = run_command("recheck", "-c", both, "--audit", "own", "--limit", "1", *ON_LOOPBACK)
        assert len(json_lines(done.stdout)) == 1, done.stderr


def test_killed_check_of_due_arks_is_resumed(tmp_path: Path) -> None:
    released: list[bool] = []

    def respond(target: str) -> bytes:
        if target.endswith("x5") and len(server.targets) > before > 0 and not released:
            time.sleep(60)
        return reply("404 Not Found")

    before = 0
    with RawServer(respond) as server:
        store = tmp_path / "audit.db"
        check_rows("--store", store, *(f"{server.url}/ark:/12x45/x{number}" for number in range(8)))
        before = len(server.targets)
        due_now = ["recheck", "--store", str(store), "-c", str(always(tmp_path, "failing = 0")), *ON_LOOPBACK]
        with Command(due_now) as running:
            wait_until(lambda: any(target.endswith("x5") for target in server.targets[before:]), "the answer held back")
            wait_until(lambda: sent_requests(store).total() >= len(server.targets) - 1, "a record of all others")
            running.kill()
        asked = Counter(server.targets[before:])
        assert asked
        released.append(True)
        done = run_command(*due_now)
        assert "resuming run 2" in done.stderr
        assert len(json_lines(done.stdout)) == 8
        again = {target for target, times in Counter(server.targets[before:]).items() if times > 1}
        assert again <= {"/ark:/12x45/x5"}, "only requests in flight are sent again"
    assert select(store, "select run_id, state from run") == [(1, "finished"), (2, "finished")]
    assert select(store, "select count(*) from verdict where run_id = 2") == [(8,)]


def test_dry_run_lists_due_arks_without_requests(tmp_path: Path) -> None:
    store = tmp_path / "a.db"
    with RawServer(lambda _: reply("404 Not Found")) as server:
        check_rows("--store", store, f"{server.url}/ark:/12x45/x5", f"{server.url}/ark:/12x45/x6")
        asked, kept = len(server.targets), store.read_bytes()
        done = run_command(
            "recheck", "-c", always(tmp_path, "failing = 0"), *ON_LOOPBACK, "--dry-run", "--store", store
        )
        assert len(server.targets) == asked
    assert (done.returncode, "2 due in" in done.stderr) == (0, True), done.stderr
    assert server.url in done.stdout
    assert store.read_bytes() == kept


def test_nothing_due_begins_no_run_and_names_the_next_time(tmp_path: Path) -> None:
    store = tmp_path / "audit.db"
    with RawServer(lambda _: reply(body="<p>an object")) as server:
        check_rows("--store", store, f"{server.url}/ark:/12x45/x5")
        before = store.read_bytes()
        done = run_command("recheck", "--store", store, *ON_LOOPBACK)
    assert (done.returncode, done.stdout) == (0, "")
    assert "no ARK is due" in done.stderr
    assert " before 20" in done.stderr
    assert store.read_bytes() == before


@pytest.mark.parametrize(
    "arguments", [["recheck", "--store", "no.db"], ["recheck", "ark:12148/x5"], ["recheck", "--limit", "0"], ["check"]]
)
def test_a_mistake_with_due_is_one_clear_line(arguments: list[str]) -> None:
    done = run_command(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1


def test_stored_arks_are_checked_by_naan_prefix_and_host(tmp_path: Path) -> None:
    store = tmp_path / "audit.db"
    with RawServer(lambda _: reply("404 Not Found")) as server:
        arks = ["12x45/x5a", "12x45/x5b", "12x45/b7c", "12x46/x5a"]
        check_rows("--store", store, *(f"{server.url}/ark:/{ark}" for ark in arks))
        host = urlsplit(server.url).netloc
        for given, expected in (
            (["--naan", "12x45"], ["12x45/b7c", "12x45/x5a", "12x45/x5b"]),
            (["--prefix", "ark:/12x45/x-5"], ["12x45/x5a", "12x45/x5b"]),
            (["--prefix", "12x45/x5", "--prefix", "ark:12x46/"], ["12x45/x5a", "12x45/x5b", "12x46/x5a"]),
            (["--host", host], sorted(arks)),
            (["--naan", "12x46", "--due", "-c", str(always(tmp_path, "failing = 0"))], ["12x46/x5a"]),
        ):
            done = run_command("recheck", "--store", store, *given, *ON_LOOPBACK)
            assert sorted(row["ark"] for row in json_lines(done.stdout)) == [f"ark:{ark}" for ark in expected], given
        some = run_command("recheck", "--store", store, "--naan", "12x45", "--limit", "2", *ON_LOOPBACK)
        assert (len(json_lines(some.stdout)), "3 known in" in some.stderr) == (2, True)
        before = len(server.targets)
        dry = run_command("recheck", "--store", store, "--naan", "12x45", "--dry-run", *ON_LOOPBACK)
        assert (dry.returncode, len(server.targets)) == (0, before)
        assert "3 known in" in dry.stderr


def test_recheck_of_a_card_names_what_works_again(tmp_path: Path) -> None:
    store, living = tmp_path / "audit.db", {"x5c"}

    def respond(target: str) -> bytes:
        name = target.rpartition("/")[2].partition("?")[0]
        return reply(body=f"<title>{name}</title><p>the object {name}") if name in living else reply("404 Not Found")

    with RawServer(respond) as server:
        urls = [f"{server.url}/ark:/12x45/{name}" for name in ("x5a", "x5b", "x5c")]
        check_rows("--store", store, *urls)
        frames = load_frames(store)
        [card] = action_cards(frames, Tables(frames), 9)
        _, *words = shlex.split(card.recheck)
        living |= {"x5a", "x5b"}
        done = run_command(*words, "--dry-run", *ON_LOOPBACK, folder=tmp_path)
        assert "2 known in audit.db of cause " in done.stderr
        done = run_command("recheck", "--store", store, "--ark", "ark:12x45/x-5a", *ON_LOOPBACK)
        assert [row["ark"] for row in json_lines(done.stdout)] == ["ark:12x45/x5a"]
        assert f"works again: ark:12x45/x5a, at {urls[0]}" in done.stderr
        done = run_command(*words, *ON_LOOPBACK, folder=tmp_path)
        assert [row["ark"] for row in json_lines(done.stdout)] == ["ark:12x45/x5b"]
        assert f"works again: ark:12x45/x5b, at {urls[1]}" in done.stderr
        rows = load_report(store).table("changes")
        fixed = rows.loc[rows["event"].eq("recovered"), ["ark", "failed_with"]]
        assert fixed.to_numpy().tolist() == [["ark:12x45/x5b", "broken"]]
        done = run_command(*words, *ON_LOOPBACK, folder=tmp_path)
        assert (done.returncode, done.stderr.count("\n"), "that fails by the cause" in done.stderr) == (2, 1, True)


def test_chosen_arks_of_an_inventory_are_checked(tmp_path: Path) -> None:
    listed = tmp_path / "inventory.csv"
    with RawServer(lambda _: reply("404 Not Found")) as server:
        listed.write_text("ark\nark:/12x45/x5a\nark:12x45/b7c\nark:12x46/x5a\n")
        resolver = ("--resolver", f"{server.url}/")
        done = run_command("check", "--inventory", listed, "--prefix", "ark:12x45/x5", *resolver, *ON_LOOPBACK)
    assert [row["ark"] for row in json_lines(done.stdout)] == ["ark:12x45/x5a"], done.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["recheck", "--naan", "12148"], "has no ARKs to check of NAAN 12148"),
        (["recheck", "--prefix", "x"], "no ARK begins with 'x'"),
        (["check", "--naan", "12148", "ark:12148/x5"], "select from an --inventory alone"),
        (["check", "--naan", "12148", "--inventory", "@inventory.csv"], "there is no ARK in"),
        (
            ["check", "--naan", "12148", "--inventory", "@inventory.csv", "ark:12148/x5"],
            "select from an --inventory alone",
        ),
    ],
)
def test_a_selection_of_nothing_is_one_clear_line(tmp_path: Path, arguments: list[str], complaint: str) -> None:
    (tmp_path / "inventory.csv").write_text("ark\nark:67531/metadc1\n")
    Store.open(tmp_path / "audit.db").close()
    given = [str(tmp_path / each[1:]) if each.startswith("@") else each for each in arguments]
    done = run_command(*given, "--store", tmp_path / "audit.db")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert complaint in done.stderr
