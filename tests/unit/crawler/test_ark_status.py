"""Status over time: the state and the events that follow from a history of dated verdicts."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.history.ark_status import (
    ArkState,
    ArkStatus,
    DatedVerdict,
    Event,
    EventKind,
    ObjectFeatures,
    StatusPolicy,
    step,
)
from crawler.model.observations import FAMILY_OF, Family, ObjectOutcome
from crawler.model.outcomes import STATE_SEVERITY
from tests.vectors import vectors

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)


def day(number: float) -> datetime:
    return BEGINNING + timedelta(days=number)


def check(text: str) -> DatedVerdict:
    """Return a check as the vectors write it: ``30 broken* @ http://a.example/``; the star marks a suspect run."""
    when, _, rest = text.partition(" ")
    outcome, _, landing = rest.partition(" @ ")
    return DatedVerdict(
        day(float(when)),
        ObjectOutcome(outcome.rstrip("*")),
        is_suspect=outcome.endswith("*"),
        features=ObjectFeatures(landing=landing or None),
    )


def status_of(
    checks: Iterable[DatedVerdict],
    policy: StatusPolicy = StatusPolicy(),  # noqa: B008  (frozen)
) -> tuple[ArkStatus | None, tuple[tuple[datetime, Event], ...]]:
    """Return the status after *checks* in order of date, and the events with the time of their check."""
    ark_status, happened = None, list[tuple[datetime, Event]]()
    for check in checks:
        ark_status, events = step(ark_status, check, policy)
        happened += ((check.at, event) for event in events)
    return ark_status, tuple(happened)


@pytest.mark.parametrize("vector", vectors("standing"))
def test_a_history_has_its_standing_and_its_events(vector: dict[str, Any]) -> None:
    ark_status, events = status_of(map(check, vector["checks"]))
    assert ark_status is not None
    assert ark_status.state == vector["state"], ark_status.reason
    assert [f"{event.kind}@{(at - BEGINNING).days}" for at, event in events] == vector["events"]
    if "strikes" in vector:
        assert ark_status.strikes == vector["strikes"]
    assert ark_status.reason


def test_no_check_no_standing() -> None:
    assert status_of([]) == (None, ())


def test_the_numbers_of_a_policy_count() -> None:
    checks = [check("0 broken"), check("1 broken")]
    ark_status, _ = status_of(checks, StatusPolicy(strikes=2, days=1))
    assert ark_status is not None
    assert ark_status.state is ArkState.CONFIRMED_BROKEN


def test_a_state_is_as_old_as_its_first_check() -> None:
    ark_status, _ = status_of(map(check, ["0 resolved", "30 broken", "32 broken", "33 blocked"]))
    assert ark_status is not None
    assert ark_status.since == day(30)
    assert ark_status.worked_at == day(0)
    assert "the check of 2026-02-03 shows nothing: blocked" in ark_status.reason


def test_every_state_that_one_may_act_on_has_its_gravity() -> None:
    assert set(STATE_SEVERITY) == set(ArkState) - {ArkState.HEALTHY, ArkState.SKIPPED}


SEEN = st.builds(
    ObjectFeatures,
    landing=st.sampled_from([None, "http://a.example/1", "http://a.example/2"]),
    sketch=st.sampled_from([None, "0000000a0000000b", "0000000c0000000d"]),
    digest=st.sampled_from([None, "d1", "d2"]),
    description=st.sampled_from([None, {}, {"what": "A map"}, {"what": "A chart"}]),
    promise=st.sampled_from([None, {}, {"what": "Not Guaranteed"}]),
)
HISTORIES = st.lists(
    st.tuples(st.floats(0.1, 40), st.sampled_from(ObjectOutcome), st.booleans(), SEEN), max_size=40
).map(lambda rows: dated_verdicts(rows))


def dated_verdicts(rows: Sequence[tuple[float, ObjectOutcome, bool, ObjectFeatures]]) -> list[DatedVerdict]:
    checks, at = [], 0.0
    for days, outcome, is_suspect, seen in rows:
        at += days
        checks.append(DatedVerdict(day(at), outcome, is_suspect, seen))
    return checks


@given(HISTORIES, st.integers(0, 40))
def test_a_history_folded_in_two_parts_is_the_whole(checks: list[DatedVerdict], cut: int) -> None:
    ark_status, events = status_of(checks[:cut])
    for each in checks[cut:]:
        ark_status, more = step(ark_status, each)
        events = (*events, *((each.at, event) for event in more))
    assert (ark_status, events) == status_of(checks)


@given(HISTORIES)
def test_nothing_is_confirmed_without_enough_strikes_over_enough_days(checks: list[DatedVerdict]) -> None:
    for until in range(1, len(checks) + 1):
        ark_status, _ = status_of(checks[:until])
        assert ark_status is not None
        if ark_status.state is not ArkState.CONFIRMED_BROKEN:
            continue
        since = max((at for at, each in enumerate(checks[:until]) if each.works), default=-1)
        strikes = [each.at for each in checks[since + 1 : until] if each.is_strike]
        assert len(strikes) >= 3
        assert strikes[-1] - strikes[0] >= timedelta(days=7)


@given(HISTORIES)
def test_checks_that_prove_nothing_change_no_strike_and_confirm_nothing(checks: list[DatedVerdict]) -> None:
    ark_status, events = status_of(checks)
    proving = [each for each in checks if each.works or each.is_strike]
    alone, told = status_of(proving)
    assert (ark_status.strikes if ark_status else 0) == (alone.strikes if alone else 0)
    assert (ark_status.turns if ark_status and proving else ())[-1:] == (alone.turns if alone else ())[-1:]
    later = [event for event in events if event[1].kind is not EventKind.NEW]
    assert later == [event for event in told if event[1].kind is not EventKind.NEW]


@given(HISTORIES)
def test_broken_ark_recovers_before_it_breaks_again(checks: list[DatedVerdict]) -> None:
    _, events = status_of(checks)
    kinds = [event.kind for _, event in events]
    turns = [kind for kind in kinds if kind in (EventKind.CONFIRMED, EventKind.RECOVERED)]
    assert all(pair != (EventKind.CONFIRMED, EventKind.CONFIRMED) for pair in pairwise(turns))
    assert kinds.count(EventKind.NEW) == bool(checks)


@given(HISTORIES)
def test_suspect_run_gives_no_strikes(checks: list[DatedVerdict]) -> None:
    none = [DatedVerdict(each.at, each.object, True, each.features) for each in checks]
    ark_status, events = status_of(none)
    assert ark_status is None or ark_status.strikes == 0
    assert not {EventKind.CONFIRMED, EventKind.RECOVERED} & {event.kind for _, event in events}


def test_every_outcome_alone_has_a_state() -> None:
    for outcome in ObjectOutcome:
        for is_suspect in (False, True):
            ark_status, _ = status_of([DatedVerdict(day(0), outcome, is_suspect)])
            assert ark_status is not None
            assert (ark_status.state is ArkState.HEALTHY) == (FAMILY_OF[outcome] is Family.WORKS)
