"""The pace of one host: causes of delays and pauses, and states that no sequence of events can reach."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.model.addresses import AddressGuard, Routes
from crawler.model.observations import ChainEnd
from crawler.model.resolving import Patience
from crawler.politeness.pacing import Allowance, Allowances, HostState, Pace, SharedHostState, is_own
from extractors.model.urls import origin_of
from tests.vectors import vectors

PATIENCE = Patience(attempts=3, backoff_s=2.0, longest_wait_s=60.0)


def after(events: list[str]) -> tuple[Pace, float]:
    """Return the pace of a host after *events*, and the time of the last one; requests start as soon as allowed."""
    pace, now = Pace(), 1000.0
    for event in events:
        match event.split():
            case [("nothing"), _]:
                pace = pace.after_all_others(now, PATIENCE)
            case ["another", _]:
                pace = pace.for_next_stage()
            case ["crawl-delay", seconds]:
                pace = pace.with_crawl_delay(float(seconds))
            case [seconds, "s", "later"]:
                now += float(seconds)
            case [told, *more]:
                now += pace.wait_s(now) or 0.0
                pace = pace.after_start(now)
                if told.isdigit():
                    pace = pace.after_answer(int(told), float(more[1]) if more else None, now, PATIENCE)
                elif told != "started":
                    pace = pace.after_failure(ChainEnd(told), "it broke", now, PATIENCE, is_sent=not more)
    return pace, now


@pytest.mark.parametrize("vector", vectors("pacing"))
def test_host_states_follow_vectors(vector: dict[str, Any]) -> None:
    pace, now = after(vector["events"])
    assert pace.state.value == vector["standing"]
    assert pace.is_held(now, PATIENCE) == vector.get("held", False)
    if "gap_s" in vector:
        assert pace.gap_s == vector["gap_s"]
    if "wait_s" in vector:
        assert pace.wait_s(now) == vector["wait_s"]
    if "end" in vector:
        assert pace.reason is not None
        assert pace.reason.end.value == vector["end"]
        assert vector["says"] in pace.reason.words


EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("start"), st.floats(0, 3)),
        st.tuples(st.just("answer"), st.sampled_from([200, 404, 429, 500, 503])),
        st.tuples(st.just("wish"), st.floats(0, 100)),
        st.tuples(st.just("fail"), st.sampled_from(list(ChainEnd))),
        st.tuples(st.just("sent"), st.floats(0, 0.5)),
        st.tuples(st.just("robots"), st.floats(0, 10)),
        st.tuples(st.just("nothing else"), st.floats(0, 50)),
        st.tuples(st.just("another stage"), st.just(0.0)),
    ),
    max_size=60,
)


@given(EVENTS, st.integers(1, 3), st.sampled_from([0.0, 0.5, 1.0]))
def test_no_event_sequence_breaks_the_pace(events: list[tuple[str, Any]], concurrency: int, interval_s: float) -> None:
    pace, now, starts = Pace(Allowance(interval_s, concurrency)), 0.0, list[float]()
    wished_until = 0.0
    for event, value in events:
        before = pace
        match event:
            case "start":
                now += value
                wait_s = pace.wait_s(now)
                if wait_s is None or pace.state is HostState.GIVEN_UP:
                    continue
                now += wait_s
                assert not starts or now - starts[-1] >= max(interval_s, pace.crawl_delay_s) - 1e-9
                assert now >= wished_until - 1e-9
                pace = pace.after_start(now)
                starts.append(now)
            case "sent" if pace.in_flight:
                now += value
                pace, starts[-1] = pace.after_sending(now), now
            case "answer" if pace.in_flight:
                pace = pace.after_answer(value, None, now, PATIENCE)
                assert pace.slowed_s >= before.slowed_s / 2 or before.slowed_s <= PATIENCE.backoff_s
            case "wish" if pace.in_flight:
                pace = pace.after_answer(503, value, now, PATIENCE)
                wished_until = max(wished_until, now + value)
            case "fail" if pace.in_flight:
                pace = pace.after_failure(value, "it broke", now, PATIENCE)
            case "robots":
                pace = pace.with_crawl_delay(value)
            case "nothing else":
                now += value
                pace = pace.after_all_others(now, PATIENCE)
            case "another stage":
                pace = pace.for_next_stage()
        assert 0 <= pace.in_flight <= concurrency
        assert 0 <= pace.slowed_s <= PATIENCE.longest_wait_s
        assert (pace.state is HostState.GIVEN_UP) <= (pace.reason is not None)


# -- which hosts


@pytest.mark.parametrize("vector", vectors("origins"))
def test_a_host_is_scheme_name_and_port(vector: dict[str, str]) -> None:
    assert origin_of(vector["url"]) == vector["host"]


@given(st.text())
def test_every_text_has_a_host_or_none(text: str) -> None:
    for url in (text, f"http://{text}"):
        host = origin_of(url)
        assert host == origin_of(host)
        is_own(host, Routes(), AddressGuard())
        assert Allowances().for_host(host) == Allowance()


def test_a_host_is_named_by_name_by_port_or_by_scheme_the_nearest_first() -> None:
    hosts = {
        "library.example": Allowance(0.1, 1),
        "library.example:8080": Allowance(0.2, 2),
        "https://library.example:8080": Allowance(0.3, 3),
    }
    allowances = Allowances(1.0, hosts)
    named = ("http://library.example", "http://library.example:8080", "https://library.example:8080")
    assert [allowances.for_host(host).concurrency for host in named] == [1, 2, 3]


def test_a_host_of_others_is_never_asked_more_than_once_a_second() -> None:
    assert Allowances(0.0).for_host("https://n2t.net") == Allowance(1.0, 1)
    assert Allowances(5.0).for_host("https://n2t.net") == Allowance(5.0, 1)
    assert Allowances(0.0).for_host("http://127.0.0.1:8080", is_own=True) == Allowance(0.0, 1)


@pytest.mark.parametrize(
    ("host", "own"),
    [
        ("http://routed.example", True),
        ("https://routed.example", False),
        ("http://127.0.0.1:8080", True),
        ("http://10.0.0.1", False),
        ("http://8.8.8.8", False),
        ("http://other.example", False),
    ],
)
def test_routed_hosts_and_allowed_private_addresses_are_ones_own(host: str, own: bool) -> None:
    routes = Routes.parse(["routed.example:80=127.0.0.1:8080"])
    assert is_own(host, routes, AddressGuard.for_networks(["127.0.0.0/8", "8.8.8.8"])) == own


# -- facts that audits share


@pytest.mark.parametrize(
    ("why", "now", "wait_s"),
    [
        ("just asked", 100.2, 0.8),
        ("long ago", 200.0, 0.0),
        ("a clock that was set back costs one interval, not an hour", -3500.0, 1.0),
    ],
)
def test_last_start_of_any_process_counts(why: str, now: float, wait_s: float) -> None:
    assert SharedHostState(100.0, 0.0).as_of(now).wait_s(now, 1.0) == pytest.approx(wait_s)


@pytest.mark.parametrize(
    ("why", "now", "wait_s"),
    [
        ("a pause", 110.0, 20.0),
        ("a pause that is over", 131.0, 0.0),
        ("a clock that was set back: as long as was asked for, no longer", -3500.0, 30.0),
    ],
)
def test_a_pause_that_another_audit_was_asked_for_counts(why: str, now: float, wait_s: float) -> None:
    assert SharedHostState(100.0, 130.0).as_of(now).wait_s(now, 1.0) == pytest.approx(wait_s)


@given(*[st.floats(-1e12, 1e12)] * 3)
def test_shared_waits_end_within_a_day(started_at: float, open_again_at: float, now: float) -> None:
    assert 0 <= SharedHostState(started_at, open_again_at).as_of(now).wait_s(now, 1.0) <= 86_400.0


def test_a_host_that_asked_for_a_pause_of_years_is_asked_again_after_a_day() -> None:
    told = SharedHostState(100.0, 1e9)
    assert told.wait_s(100.0 + 86_399.0, 1.0) == pytest.approx(1.0)
    assert told.wait_s(100.0 + 86_400.0, 1.0) == 0.0


def test_a_pace_is_a_value() -> None:
    assert replace(Pace().after_start(1.0), in_flight=0, last_start=float("-inf")) == Pace()
