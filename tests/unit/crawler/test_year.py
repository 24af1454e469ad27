"""A year of rechecking with simulated time: the right status each day, and no strike for failures of others."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest

from crawler.history.ark_status import (
    MISSES_EXPECTED,
    ArkState,
    ArkStatus,
    DatedVerdict,
    Event,
    EventKind,
    ObjectFeatures,
    assess,
    contacts_of,
    step,
)
from crawler.history.rechecking import KnownArk, due_arks
from crawler.model.observations import ObjectOutcome
from crawler.spiders.runs import judge_run
from crawler.store.store import Store
from tests.unit.crawler.year import (
    ARKS_A_HOST,
    DAYS,
    DIES,
    FLAPS,
    KEPT_OUT,
    MOVES,
    NETWORK_DOWN,
    POLICY,
    PROVIDER_DOWN,
    WORLD,
    Subject,
    observations_on,
    start_of_day,
)

OUTCOMES = {200: "resolved", 403: "blocked", 404: "broken", 500: "server-error", None: "timeout"}
Day = Mapping[Subject, ArkStatus]


def known_ark(subject: Subject, ark_status: ArkStatus | None) -> KnownArk:
    state = ark_status.state if ark_status else ArkState.UNDETERMINED
    host = f"{subject.host}.example"
    at = ark_status.checked_at if ark_status else None
    return KnownArk(str(subject.ark), subject.ark.naan, subject.url, host, state, at)


@dataclass
class Year:
    """The standing of everything at the end of each day, and all that happened."""

    days: list[Day]
    events: dict[Subject, list[tuple[datetime, Event]]]
    checked: list[list[Subject]]


@pytest.fixture(scope="module")
def year() -> Year:
    standings: dict[Subject, ArkStatus] = {}
    misses: Counter[str] = Counter()
    result = Year([], defaultdict(list), [])
    by_url = {subject.url: subject for subject in WORLD}
    for day in range(DAYS):
        asked = [
            by_url[each.request_url]
            for each in due_arks((known_ark(s, standings.get(s)) for s in WORLD), POLICY, start_of_day(day))[0]
        ]
        seen = list(observations_on(asked, day))
        met = contacts_of(
            (each.end.value, [{"url": h.url, "status": h.status, "at": h.at} for h in each.hops]) for each in seen
        )
        is_suspect = assess(met.values(), misses).is_suspect
        for each in met.values():
            misses[each.host] = 0 if each.answered else min(misses[each.host] + 1, MISSES_EXPECTED)
        for number, subject in enumerate(asked):
            status, landing = subject.answer(day)
            at = start_of_day(day) + timedelta(seconds=number)
            check = DatedVerdict(at, ObjectOutcome(OUTCOMES[status]), is_suspect, ObjectFeatures(landing=landing))
            standings[subject], events = step(standings.get(subject), check)
            result.events[subject] += ((at, event) for event in events)
        result.days.append(dict(standings))
        result.checked.append(asked)
    return result


def of(host: str) -> list[Subject]:
    return [subject for subject in WORLD if subject.host == host]


def states(year: Year, host: str) -> Iterator[tuple[int, ArkStatus]]:
    for day, standings in enumerate(year.days):
        yield from ((day, standings[subject]) for subject in of(host))


def kinds(year: Year, host: str) -> list[list[EventKind]]:
    return [
        [event.kind for _, event in year.events[subject] if event.kind is not EventKind.NEW] for subject in of(host)
    ]


@pytest.mark.parametrize("host", ["steady", "other", "third"])
def test_working_ark_is_healthy_every_day_without_strikes(year: Year, host: str) -> None:
    for day, ark_status in states(year, host):
        assert (ark_status.state, ark_status.strikes) == (ArkState.HEALTHY, 0), day
    assert kinds(year, host) == [[]] * ARKS_A_HOST


def test_when_the_world_was_out_of_reach_no_standing_changed(year: Year) -> None:
    before = year.days[NETWORK_DOWN.start - 1]
    assert any(year.checked[day] for day in NETWORK_DOWN)
    for day in NETWORK_DOWN:
        for subject, ark_status in year.days[day].items():
            assert (ark_status.state, ark_status.strikes) == (before[subject].state, before[subject].strikes), (
                day,
                subject,
            )


def test_an_outage_of_five_days_is_never_confirmed(year: Year) -> None:
    struck = False
    for day, ark_status in states(year, "outage"):
        assert ark_status.state is not ArkState.CONFIRMED_BROKEN, day
        assert not ark_status.strikes or PROVIDER_DOWN.start <= day < PROVIDER_DOWN.stop + 3
        struck |= ark_status.strikes > 0
    assert struck, "the outage was seen, or this proves nothing"
    assert all(found in ([], [EventKind.RECOVERED]) for found in kinds(year, "outage"))


def test_blocking_host_is_blocked_and_never_broken(year: Year) -> None:
    for day, ark_status in states(year, "guarded"):
        assert ark_status.strikes == 0
        assert ark_status.state in (ArkState.HEALTHY, ArkState.BLOCKED)
        assert ark_status.state is ArkState.HEALTHY or KEPT_OUT.start <= day < KEPT_OUT.stop + 11
    assert {ark_status.state for day, ark_status in states(year, "guarded") if day in KEPT_OUT[46:]} == {
        ArkState.BLOCKED
    }
    assert {ark_status.state for day, ark_status in states(year, "guarded") if day > KEPT_OUT.stop + 11} == {
        ArkState.HEALTHY
    }


def test_a_real_death_is_confirmed_and_stays_so(year: Year) -> None:
    assert kinds(year, "dying") == [[EventKind.CONFIRMED]] * ARKS_A_HOST
    for subject in of("dying"):
        [broke_at] = [at for at, event in year.events[subject] if event.kind is EventKind.CONFIRMED]
        first = year.days[-1][subject].first_strike_at
        assert first is not None
        assert start_of_day(DIES) <= first < start_of_day(DIES + 46)
        assert timedelta(days=7) <= broke_at - first < timedelta(days=11)
    order = [ArkState.HEALTHY, ArkState.FAILING, ArkState.CONFIRMED_BROKEN]
    for subject in of("dying"):
        found = [order.index(standings[subject].state) for standings in year.days]
        assert found == sorted(found), "it goes one way only"
        assert not any(found[:DIES])


def test_a_move_is_one_event_and_no_failure(year: Year) -> None:
    assert kinds(year, "moving") == [[EventKind.MOVED]] * ARKS_A_HOST
    assert all(ark_status.state is ArkState.HEALTHY for _, ark_status in states(year, "moving"))
    assert all(
        at >= start_of_day(MOVES) for s in of("moving") for at, event in year.events[s] if event.kind is EventKind.MOVED
    )


def test_intermittent_ark_is_flapping_never_confirmed(year: Year) -> None:
    seen = {
        state: [day for day, ark_status in states(year, "flapping") if ark_status.state is state] for state in ArkState
    }
    assert not seen[ArkState.CONFIRMED_BROKEN]
    assert FLAPS.start < min(seen[ArkState.FLAPPING]) < FLAPS.start + 25
    assert max(seen[ArkState.FLAPPING]) < FLAPS.stop + 60
    assert all(ark_status.state is ArkState.HEALTHY for day, ark_status in states(year, "flapping") if day == DAYS - 1)


def test_the_load_is_even_and_each_ark_is_checked_as_often_as_it_should_be(year: Year) -> None:
    calm = [subject for subject in WORLD if subject.host in ("steady", "other", "third", "moving")]
    checks = Counter(subject for asked in year.checked for subject in asked)
    assert all(11 <= checks[subject] <= 15 for subject in calm), checks
    first_round = Counter(day for day in range(1, 46) for subject in year.checked[day] if subject in calm)
    assert max(first_round.values()) <= len(calm) // 3


@pytest.mark.slow
def test_store_has_the_same_states_on_each_day_until_the_first_outages_are_over(year: Year) -> None:
    by_url = {subject.url: subject for subject in WORLD}
    with Store.open(None) as store:
        for day in range(NETWORK_DOWN.stop + 6):
            if day == 0:
                asked = year.checked[0]
            else:
                asked = [
                    by_url[each.request_url] for each in due_arks(store.known_arks(), POLICY, start_of_day(day))[0]
                ]
            assert asked == year.checked[day], day
            if not asked:
                continue
            at = start_of_day(day).isoformat(timespec="milliseconds")
            run_id = store.begin_run(
                command="check", at=at, version="0", resolver="https://n2t.net/", user_agent="t", seeds=[]
            )
            store.record(run_id, observations_on(asked, day))
            judge_run(store, run_id, [(subject.ark, subject.url) for subject in asked])
            store.end_run(run_id, at=at, state="finished")
            standings = {each.request_url: each.state for each in store.known_arks()}
            assert standings == {s.url: ark_status.state for s, ark_status in year.days[day].items()}, day
