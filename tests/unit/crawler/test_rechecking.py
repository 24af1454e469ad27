"""Due ARKs, their times and their order: even load, the oldest check first, no host before its turn."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arkaudit.configuration.config_files import ConfigError, load
from crawler.history.ark_status import ArkState
from crawler.history.rechecking import ArkSelection, Intervals, KnownArk, RecheckPolicy, due_arks, due_at
from extractors.model.ark import normal_prefix

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


# -- choices from a store or an inventory


@pytest.mark.parametrize("text", ["", "ark:", "ark:/", "bpt6k!", "https://n2t.net/ark:12148/x5", "ark:12/x"])
def test_prefix_without_arks_is_reported(text: str) -> None:
    with pytest.raises(ValueError, match="no ARK begins with"):
        normal_prefix(text)


def test_a_selection_wants_one_of_each_kind_that_is_named() -> None:
    one, other = known_ark(1, host="a.example"), known_ark(2, host="b.example")
    assert all(ArkSelection().holds(each) for each in (one, other))
    assert [ArkSelection(hosts=("a.example",)).holds(each) for each in (one, other)] == [True, False]
    assert not ArkSelection(naans=("99999",), hosts=("a.example",)).holds(one)
    assert ArkSelection(naans=("99999", one.naan), prefixes=(one.ark[:-1],)).holds(one)
