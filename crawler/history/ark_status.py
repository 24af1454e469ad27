"""Pure: the status of an ARK at one URL, from its dated verdicts. One failure is never called link rot.

`step` folds one check into what was known, `standing_of` a whole history; both give the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from crawler.history.changes import Seen, compared
from crawler.model.observations import FAMILY_OF, Family, ObjectOutcome


class ArkState(StrEnum):
    """The state of an ARK after all its checks."""

    HEALTHY = "healthy"
    FAILING = "failing"
    """It failed by its own or its provider's fault, not yet often and long enough."""
    CONFIRMED_BROKEN = "confirmed-broken"
    FLAPPING = "flapping"
    """It has gone back and forth between working and failing too often to be called either."""
    BLOCKED = "blocked"
    """The provider keeps programs out; whether it works for people is unknown."""
    SKIPPED = "skipped"
    UNDETERMINED = "undetermined"


#: States that somebody may want to act on, gravest first.
GRAVITY: Final = (
    ArkState.CONFIRMED_BROKEN,
    ArkState.FLAPPING,
    ArkState.FAILING,
    ArkState.UNDETERMINED,
    ArkState.BLOCKED,
)


class EventKind(StrEnum):
    """An event in the life of an ARK, beside its state."""

    NEW = "new"
    GONE = "gone"
    """No document that can be read cites it any more."""
    RECOVERED = "recovered"
    MOVED = "moved"
    CHANGED = "changed"
    BROKE = "broke"


@dataclass(frozen=True, slots=True)
class StatusPolicy:
    """The rules for when a failure is confirmed, and what counts as flapping and as changed."""

    strikes: int = 3
    days: float = 7.0
    """From the first strike to the last."""
    turns: int = 4
    """So many turns, from working to failing or back, make an ARK flapping,"""
    turn_days: float = 60.0
    """when they all lie within so many days before its check."""
    likeness: float = 0.3
    """Of two texts, the share of phrases that must be as they were."""


@dataclass(frozen=True, slots=True)
class DatedVerdict:
    """One verdict on an ARK at one URL, with its date."""

    at: datetime
    object: ObjectOutcome
    is_suspect: bool = False
    """Whether it was made in a run whose failures prove nothing (`crawler.history.outages`)."""
    seen: Seen = field(default_factory=Seen)

    @property
    def works(self) -> bool:
        """True if the object service was given."""
        return FAMILY_OF[self.object] is Family.WORKS

    @property
    def is_strike(self) -> bool:
        """True if it is a failure of the identifier or of its provider: nobody's else, and not ours."""
        return FAMILY_OF[self.object] in (Family.FAILS, Family.UNREACHABLE) and not self.is_suspect

    @property
    def says_nothing(self) -> bool:
        """True if it tells nothing of the ARK at all: the fault was ours, or everybody's."""
        is_failure = FAMILY_OF[self.object] in (Family.FAILS, Family.UNREACHABLE)
        is_ours = self.object in (ObjectOutcome.REFUSED_ADDRESS, ObjectOutcome.INVALID)
        has_met_nobody = self.object is ObjectOutcome.UNDETERMINED and self.seen.landing is None
        return (is_failure and self.is_suspect) or is_ours or has_met_nobody


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to an ARK, in words."""

    kind: EventKind
    at: datetime
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ArkStatus:
    """The status of an ARK at one URL after a check; all that the next check needs."""

    state: ArkState
    since: datetime
    """When it came to this state, as far as was seen."""
    reason: str
    checked_at: datetime
    object: ObjectOutcome
    strikes: int = 0
    """Failures of its own since it worked last."""
    first_strike_at: datetime | None = None
    last_strike_at: datetime | None = None
    worked_at: datetime | None = None
    turns: tuple[datetime, ...] = ()
    """When it turned from working to failing or back, within the days that count."""
    known: Seen = field(default_factory=Seen)
    """What the next working check is held against."""


#: What a check that tells nothing against an ARK without strikes makes of it.
_STATE_OF: Final = {
    ObjectOutcome.BLOCKED: ArkState.BLOCKED,
    ObjectOutcome.ROBOTS: ArkState.BLOCKED,
    ObjectOutcome.SKIPPED: ArkState.SKIPPED,
    ObjectOutcome.UNDETERMINED: ArkState.UNDETERMINED,
}
_DEFAULT: Final = StatusPolicy()


def step(
    before: ArkStatus | None, check: DatedVerdict, policy: StatusPolicy = _DEFAULT
) -> tuple[ArkStatus, tuple[Event, ...]]:
    """The status after one more *check*, and what it shows to have happened."""
    events = [] if before is not None else [Event(EventKind.NEW, check.at)]
    if check.works:
        after, shown = _worked(before, check, policy)
    elif check.is_strike:
        after, shown = _struck(before, check, policy)
    else:
        after, shown = _unproved(before, check), []
    if before is not None and before.state is after.state:
        after = replace(after, since=before.since)
    return after, (*events, *shown)


def _worked(before: ArkStatus | None, check: DatedVerdict, policy: StatusPolicy) -> tuple[ArkStatus, list[Event]]:
    has_failed = before is not None and before.strikes > 0
    turns = _turns(before, check, policy, has_turned=has_failed)
    is_flapping = len(turns) >= policy.turns
    result = compared(before.known if before else Seen(), check.seen, least_likeness=policy.likeness)
    after = ArkStatus(
        state=ArkState.FLAPPING if is_flapping else ArkState.HEALTHY,
        since=check.at,
        reason=_flaps(turns, policy) if is_flapping else f"it works: {check.object}",
        checked_at=check.at,
        object=check.object,
        worked_at=check.at,
        turns=turns,
        known=result.known,
    )
    events = []
    if before is not None and has_failed:
        confirmed = "; it had been confirmed broken" if before.state is ArkState.CONFIRMED_BROKEN else ""
        words = f"after {_times(before.strikes)} since {_day(before.first_strike_at)}{confirmed}"
        events.append(Event(EventKind.RECOVERED, check.at, words))
    for each in result.differences:
        events.append(Event(EventKind.MOVED if each.is_place else EventKind.CHANGED, check.at, each.words))
    return after, events


def _struck(before: ArkStatus | None, check: DatedVerdict, policy: StatusPolicy) -> tuple[ArkStatus, list[Event]]:
    strikes = (before.strikes if before else 0) + 1
    first = (before.first_strike_at if before else None) or check.at
    turns = _turns(before, check, policy, has_turned=strikes == 1 and before is not None and bool(before.worked_at))
    was_confirmed = before is not None and before.state is ArkState.CONFIRMED_BROKEN
    is_confirmed = was_confirmed or (strikes >= policy.strikes and check.at - first >= timedelta(days=policy.days))
    since = f"{_times(strikes)} since {_day(first)}, the last with {check.object}"
    if is_confirmed:
        state, reason = ArkState.CONFIRMED_BROKEN, since
    elif len(turns) >= policy.turns:
        state, reason = ArkState.FLAPPING, _flaps(turns, policy)
    else:
        state = ArkState.FAILING
        reason = f"{since}; confirmed after {_times(policy.strikes)} over {policy.days:g} days"
    after = ArkStatus(
        state=state,
        since=check.at,
        reason=reason,
        checked_at=check.at,
        object=check.object,
        strikes=strikes,
        first_strike_at=first,
        last_strike_at=check.at,
        worked_at=before.worked_at if before else None,
        turns=turns,
        known=before.known if before else Seen(),
    )
    is_news = is_confirmed and not was_confirmed
    return after, [Event(EventKind.BROKE, check.at, since)] if is_news else []


def _unproved(before: ArkStatus | None, check: DatedVerdict) -> ArkStatus:
    """After a check that proves nothing against the ARK: strikes are neither added nor taken back."""
    words = _nothing_shown(check)
    if before is None:
        state = ArkState.UNDETERMINED if check.says_nothing else _STATE_OF[check.object]
        return ArkStatus(state, check.at, words, check.at, check.object)
    if not before.strikes and check.says_nothing and before.state is ArkState.UNDETERMINED:
        return replace(before, checked_at=check.at, object=check.object, reason=words)
    if before.strikes or check.says_nothing:
        reason = f"{before.reason.partition(' (')[0]} ({words})"
        return replace(before, checked_at=check.at, object=check.object, reason=reason)
    state = _STATE_OF[check.object]
    return replace(before, state=state, since=check.at, reason=words, checked_at=check.at, object=check.object)


def _nothing_shown(check: DatedVerdict) -> str:
    if check.says_nothing and check.is_suspect:
        return f"the check of {_day(check.at)} proves nothing: most hosts failed in its run"
    return f"the check of {_day(check.at)} shows nothing: {check.object}"


def _turns(
    before: ArkStatus | None, check: DatedVerdict, policy: StatusPolicy, *, has_turned: bool
) -> tuple[datetime, ...]:
    earlier = before.turns if before else ()
    since = check.at - timedelta(days=policy.turn_days)
    return tuple(turn for turn in (*earlier, *((check.at,) if has_turned else ())) if turn > since)


def _flaps(turns: tuple[datetime, ...], policy: StatusPolicy) -> str:
    return f"it turned {len(turns)} times between working and failing within {policy.turn_days:g} days"


def _times(count: int) -> str:
    return "1 failure" if count == 1 else f"{count} failures"


def _day(at: datetime | None) -> str:
    return f"{at:%Y-%m-%d}" if at else "?"
