"""Due ARKs, their times and their order: even load, the oldest check first, no host before its turn."""

import shlex
import time
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arkaudit.configuration.config_files import ConfigError, load
from crawler.history.ark_status import ArkState
from crawler.history.rechecking import ArkSelection, Intervals, KnownArk, RecheckPolicy, due_arks, due_at
from crawler.store.store import Store
from extractors.model.ark import beginning_of
from reports.page.cards import action_cards
from reports.store.frames import load_frames
from reports.tables.report_tables import Tables, load_report
from tests.interrupted import Command, sent_requests
from tests.loopback import ON_LOOPBACK, RawServer, check_rows, json_lines, reply, run_command, select
from tests.waiting import wait_until

NOW = datetime(2026, 6, 1, tzinfo=UTC)
POLICY = RecheckPolicy()


def known_ark(
    number: int, *, host: str = "a.example", state: ArkState = ArkState.HEALTHY, days_ago: float | None = 0
) -> KnownArk:
    at = None if days_ago is None else NOW - timedelta(days=days_ago)
    return KnownArk(f"ark:12148/x{number}", "12148", f"http://{host}/ark:12148/x{number}", host, state, at)


STATES = st.sampled_from([state for state in ArkState if state is not ArkState.SKIPPED])


@given(st.integers(0, 10**6), STATES, st.floats(0, 400))
def test_every_interval_is_half_to_one_and_a_half_the_first_time_and_exact_ever_after(
    number: int, state: ArkState, days_ago: float
) -> None:
    days = POLICY.intervals("12148", "a.example").for_state(state)
    assert days is not None
    first = due_at(known_ark(number, state=state, days_ago=days_ago), POLICY)
    assert first is not None
    waited = (first - (NOW - timedelta(days=days_ago))) / timedelta(days=days)
    assert 0.5 - 1e-6 <= waited <= 1.5 + 1e-6
    again = due_at(known_ark(number, state=state, days_ago=(NOW - first) / timedelta(days=1)), POLICY)
    assert again is not None
    assert (again - first) / timedelta(days=1) == pytest.approx(days)


def test_a_load_that_came_in_one_day_is_spread_over_the_interval() -> None:
    days = Counter()
    for number in range(30_000):
        moment = due_at(known_ark(number), POLICY)
        assert moment is not None
        days[(moment - NOW).days] += 1
    assert set(days) == set(range(15, 45))
    assert max(days.values()) < 1.15 * 30_000 / 30


def test_unchecked_arks_are_due_first() -> None:
    asked, _ = due_arks([known_ark(1, days_ago=99), known_ark(2, days_ago=None)], POLICY, NOW)
    assert [each.ark for each in asked] == ["ark:12148/x2", "ark:12148/x1"]


def test_skipped_or_uncited_arks_are_never_due() -> None:
    gone = KnownArk("ark:12148/x1", "12148", "http://a.example/x1", "a.example", ArkState.FAILING, None, is_cited=False)
    assert due_arks([gone, known_ark(2, state=ArkState.SKIPPED, days_ago=999)], POLICY, NOW) == ([], None)


def test_a_host_with_many_gets_no_more_turns_than_another_while_that_waits() -> None:
    many = [known_ark(number, host="large.example", days_ago=100 + number) for number in range(50)]
    few = [known_ark(number, host=f"small{number % 3}.example", days_ago=90) for number in range(100, 109)]
    asked = [each.host for each in due_arks([*many, *few], POLICY, NOW)[0]]
    assert Counter(asked[:12])["large.example"] == 3
    assert asked[12:] == ["large.example"] * 47


@given(st.lists(st.tuples(st.integers(0, 99), st.sampled_from("abc"), st.floats(45, 300)), unique_by=lambda t: t[0]))
def test_hosts_take_turns_with_oldest_checks_first(rows: list[tuple[int, str, float]]) -> None:
    asked, _ = due_arks([known_ark(number, host=host, days_ago=ago) for number, host, ago in rows], POLICY, NOW)
    assert len(asked) == len(rows)
    for host in "abc":
        ours = [each.checked_at for each in asked if each.host == host]
        assert ours == sorted(ours)
    for turn, (one, following) in enumerate(pairwise(asked), start=1):
        if one.host == following.host:
            assert {each.host for each in asked[turn:]} == {one.host}


@given(st.permutations(range(12)))
def test_order_of_store_rows_does_not_matter(order: list[int]) -> None:
    all_known = [known_ark(number, host="abc"[number % 3], days_ago=100 + number // 6) for number in range(12)]
    assert due_arks([all_known[at] for at in order], POLICY, NOW) == due_arks(all_known, POLICY, NOW)


@given(
    st.lists(
        st.builds(
            replace,
            st.builds(
                known_ark,
                st.integers(0, 99),
                state=st.sampled_from(ArkState),
                days_ago=st.one_of(st.none(), st.floats(-5, 200)),
                host=st.sampled_from("abc"),
            ),
            is_cited=st.booleans(),
        ),
        unique=True,
    ),
    st.floats(0, 40),
)
def test_due_arks_and_next_times_agree_at_each_moment(standings: list[KnownArk], healthy: float) -> None:
    policy = RecheckPolicy(general=Intervals(healthy=healthy), host={"b": {"healthy": 0, "failing": 90}})
    moments = {each: moment for each in standings if (moment := due_at(each, policy)) is not None}
    due, following = due_arks(standings, policy, NOW)
    assert set(due) == {each for each, moment in moments.items() if moment <= NOW}
    assert following == min((moment for moment in moments.values() if moment > NOW), default=None)


def test_interval_of_host_precedes_naan_and_default(tmp_path: Path) -> None:
    config = tmp_path / "arkaudit.toml"
    config.write_text("""
        [recheck]
        healthy = 20
        strikes = 5
        [recheck.naan.12148]
        healthy = 60
        failing = 4
        [recheck.host."n2t.net"]
        healthy = 90
    """)
    loaded = load(config, {})
    policy = loaded.recheck_policy
    assert policy.intervals("12148", "n2t.net") == Intervals(healthy=90, failing=4)
    assert policy.intervals("12148", "a.example") == Intervals(healthy=60, failing=4)
    assert policy.intervals("67531", "a.example") == Intervals(healthy=20)
    assert loaded.status_policy.strikes == 5


@pytest.mark.parametrize("line", ["healthy = -1", 'failing = "soon"', "often = 3", "[recheck.naan.12148]\nstrikes = 2"])
def test_a_recheck_policy_that_makes_no_sense_is_one_clear_line(tmp_path: Path, line: str) -> None:
    config = tmp_path / "arkaudit.toml"
    config.write_text(f"[recheck]\n{line}\n")
    with pytest.raises(ConfigError, match="recheck"):
        load(config, {})


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


# -- choices from a store or an inventory


@pytest.mark.parametrize("text", ["", "ark:", "ark:/", "bpt6k!", "https://n2t.net/ark:12148/x5", "ark:12/x"])
def test_prefix_without_arks_is_reported(text: str) -> None:
    with pytest.raises(ValueError, match="no ARK begins with"):
        beginning_of(text)


def test_a_selection_wants_one_of_each_kind_that_is_named() -> None:
    one, other = known_ark(1, host="a.example"), known_ark(2, host="b.example")
    assert all(ArkSelection().holds(each) for each in (one, other))
    assert [ArkSelection(hosts=("a.example",)).holds(each) for each in (one, other)] == [True, False]
    assert not ArkSelection(naans=("99999",), hosts=("a.example",)).holds(one)
    assert ArkSelection(naans=("99999", one.naan), prefixes=(one.ark[:-1],)).holds(one)


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
        fixed = rows.loc[rows["event"].eq("recovered"), ["ark", "cause"]]
        assert fixed.to_numpy().tolist() == [["ark:12x45/x5b", card.cause]]
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
