"""Pure: decide which ARKs are due to be checked again, when, and in which order."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from hashlib import blake2b

from crawler.history.ark_status import ArkState

_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Intervals:
    """Days between two checks of an ARK, by its state."""

    healthy: float = 30.0
    failing: float = 2.0
    """Of flapping ones, too: for both, more checks decide whether it was a bad day."""
    confirmed_broken: float = 7.0
    blocked: float = 7.0
    undetermined: float = 7.0

    def of(self, state: ArkState) -> float | None:
        """Days between two checks in this state; None for what is never checked."""
        if state is ArkState.SKIPPED:
            return None
        named = ArkState.FAILING if state is ArkState.FLAPPING else state
        days: float = getattr(self, named.name.lower())
        return days


@dataclass(frozen=True, slots=True)
class RecheckPolicy:
    """The intervals of checks: in general, by NAAN, and by the host that is asked first, which weighs most."""

    general: Intervals = Intervals()
    naan: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    host: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def intervals(self, naan: str, host: str) -> Intervals:
        """The intervals for an ARK of *naan* at *host*.

        >>> RecheckPolicy(naan={"12148": {"healthy": 90}}).intervals("12148", "n2t.net").healthy
        90
        """
        return replace(self.general, **{**self.naan.get(naan, {}), **self.host.get(host, {})})


@dataclass(frozen=True, slots=True)
class KnownArk:
    """An ARK at one URL, as a store knows it."""

    ark: str
    naan: str
    request_url: str
    host: str
    """The host that is asked first."""
    state: ArkState
    checked_at: datetime | None
    """None when it was never checked."""
    is_cited: bool = True
    """False once no document cites it any more."""
    wanted_at: datetime | None = None
    """When someone asked for a check that has not been made since; None when no one did."""


def due_at(known_ark: KnownArk, policy: RecheckPolicy) -> datetime | None:
    """From when on it is to be checked again; the beginning of time for what never was, None for what never is.

    What someone asked for is due since then, also where no document cites it any more.

    An interval is a grid: each ARK has its own place in it, by its hash, and is checked whenever that comes round. So
    a load that came in one day is spread over the next interval, and then recurs exactly once an interval. The first
    time, between a half and one and a half intervals pass.
    """
    days = policy.intervals(known_ark.naan, known_ark.host).of(known_ark.state)
    if days is None:
        return None
    if known_ark.wanted_at is not None:
        return known_ark.wanted_at
    if not known_ark.is_cited:
        return None
    if known_ark.checked_at is None:
        return _EPOCH
    interval = timedelta(days=days)
    if interval <= timedelta():
        return known_ark.checked_at
    checked = (known_ark.checked_at - _EPOCH) / interval
    phase = _share(f"{known_ark.ark} {known_ark.request_url}")
    return _EPOCH + interval * (math.ceil(checked + 0.5 - phase) + phase)


def due(known_arks: Iterable[KnownArk], policy: RecheckPolicy, now: datetime) -> list[KnownArk]:
    """Return what is to be checked *now*: what someone asked for, then the least recently checked, one host after the
    other.

    A host with many ARKs gets as many turns as any other while others wait.
    """
    moments = ((known_ark, due_at(known_ark, policy)) for known_ark in known_arks)
    return in_turn(known_ark for known_ark, moment in moments if moment is not None and moment <= now)


def without_times_ahead(known_ark: KnownArk, now: datetime) -> KnownArk:
    """Return an ARK as never checked if its check lies ahead, by a clock that was: it puts off no other."""
    is_ahead = known_ark.checked_at is not None and known_ark.checked_at > now
    return replace(known_ark, checked_at=None) if is_ahead else known_ark


def in_turn(known_arks: Iterable[KnownArk]) -> list[KnownArk]:
    """Return all of them in that order."""
    hosts: defaultdict[str, list[KnownArk]] = defaultdict(list)
    for known_ark in known_arks:
        hosts[known_ark.host].append(known_ark)
    queues = [sorted(waiting, key=_longest_ago) for waiting in hosts.values()]
    queues.sort(key=lambda queue: _longest_ago(queue[0]))
    turns = sorted(
        (turn, host, known_ark) for host, waiting in enumerate(queues) for turn, known_ark in enumerate(waiting)
    )
    return [known_ark for _, _, known_ark in turns]


def next_due_at(known_arks: Iterable[KnownArk], policy: RecheckPolicy, now: datetime) -> datetime | None:
    """Return when something will be due that is not due *now*; None if nothing ever will."""
    moments = (due_at(known_ark, policy) for known_ark in known_arks)
    return min((moment for moment in moments if moment is not None and moment > now), default=None)


def _longest_ago(known_ark: KnownArk) -> tuple[bool, datetime, str, str]:
    return (known_ark.wanted_at is None, known_ark.checked_at or _EPOCH, known_ark.ark, known_ark.request_url)


def _share(text: str) -> float:
    """A number from 0 up to 1 that is always the same for a text, and otherwise as good as drawn by lot."""
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=7).digest()) / 2**56
