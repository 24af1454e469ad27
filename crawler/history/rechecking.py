"""Decide which ARKs are due for the next check, when, and in which order. No I/O."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from hashlib import blake2b

from crawler.history.ark_status import ArkState

_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
#: The field of `Intervals` for each state.
_INTERVAL_NAMES = {state: state.name.lower() for state in ArkState} | {ArkState.FLAPPING: "failing"}


@dataclass(frozen=True, slots=True)
class Intervals:
    """Days between two checks of an ARK, by its state."""

    healthy: float = 30.0
    failing: float = 2.0
    """Also for flapping ARKs: in both states, more checks show whether the failure lasts."""
    confirmed_broken: float = 7.0
    blocked: float = 7.0
    undetermined: float = 7.0

    def for_state(self, state: ArkState) -> float | None:
        """Return the days between two checks in this state; None if it is never checked."""
        if state is ArkState.SKIPPED:
            return None
        days: float = getattr(self, _INTERVAL_NAMES[state])
        return days


@dataclass(frozen=True, slots=True)
class RecheckPolicy:
    """The intervals between checks: in general, by NAAN, and by the first host, which takes precedence."""

    general: Intervals = Intervals()
    naan: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    host: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def intervals(self, naan: str, host: str) -> Intervals:
        """Return the intervals for an ARK of *naan* at *host*.

        >>> RecheckPolicy(naan={"12148": {"healthy": 90}}).intervals("12148", "n2t.net").healthy
        90
        """
        special = {**self.naan.get(naan, {}), **self.host.get(host, {})}
        return replace(self.general, **special) if special else self.general


@dataclass(frozen=True, slots=True)
class KnownArk:
    """An ARK in a store with one of its request URLs, its state and its last check."""

    ark: str
    naan: str
    request_url: str
    host: str
    """The host that receives the first request."""
    state: ArkState
    checked_at: datetime | None
    """None before the first check."""
    is_cited: bool = True
    """False if no document cites the ARK any more."""


def due_at(known_ark: KnownArk, policy: RecheckPolicy) -> datetime | None:
    """Return the time of the next check: the epoch if it was never checked, None if it is never to be checked.

    Each ARK is checked once per interval, at a moment within the interval that depends on its hash. So ARKs that were
    first checked on one day are spread over the interval. Between the first two checks, between a half and one and a
    half intervals pass.
    """
    days = policy.intervals(known_ark.naan, known_ark.host).for_state(known_ark.state)
    if days is None or not known_ark.is_cited:
        return None
    if known_ark.checked_at is None:
        return _EPOCH
    if days <= 0:
        return known_ark.checked_at
    checked = (known_ark.checked_at - _EPOCH) / timedelta(days=days)
    name = f"{known_ark.ark} {known_ark.request_url}".encode("utf-8", "replace")
    phase = int.from_bytes(blake2b(name, digest_size=7).digest()) / 2**56  # in [0, 1)
    return _EPOCH + timedelta(days=days * (math.ceil(checked + 0.5 - phase) + phase))


def due_arks(
    known_arks: Iterable[KnownArk], policy: RecheckPolicy, now: datetime
) -> tuple[list[KnownArk], datetime | None]:
    """Return the ARKs to check *now*, in the order of `interleave_hosts`, and the next time when another will be due.

    That time is after *now*; None if no other ARK will be due.
    """
    due: list[KnownArk] = []
    next_due: datetime | None = None
    for known_ark in known_arks:
        due_time = due_at(known_ark, policy)
        if due_time is not None and due_time <= now:
            due.append(known_ark)
        elif due_time is not None and (next_due is None or due_time < next_due):
            next_due = due_time
    return interleave_hosts(due), next_due


def without_times_ahead(known_ark: KnownArk, now: datetime) -> KnownArk:
    """Return *known_ark*, as never checked if its last check is after *now*, because the clock was ahead then."""
    is_ahead = known_ark.checked_at is not None and known_ark.checked_at > now
    return replace(known_ark, checked_at=None) if is_ahead else known_ark


def interleave_hosts(known_arks: Iterable[KnownArk]) -> list[KnownArk]:
    """Return all ARKs, due or not: the first ARK of each host, then the second of each host, and so on.

    The ARKs of a host, and the hosts by their first ARKs, are ordered by the time of the last check, oldest first.
    """
    arks_by_host: defaultdict[str, list[KnownArk]] = defaultdict(list)
    for known_ark in known_arks:
        arks_by_host[known_ark.host].append(known_ark)
    queues = [sorted(host_arks, key=_longest_ago) for host_arks in arks_by_host.values()]
    queues.sort(key=lambda queue: _longest_ago(queue[0]))
    turns = sorted(
        (turn, host, known_ark) for host, host_arks in enumerate(queues) for turn, known_ark in enumerate(host_arks)
    )
    return [known_ark for _, _, known_ark in turns]


def _longest_ago(known_ark: KnownArk) -> tuple[datetime, str, str]:
    return (known_ark.checked_at or _EPOCH, known_ark.ark, known_ark.request_url)


# -- the user's selection among the ARKs of a store: by NAAN, by prefix, by host


@dataclass(frozen=True, slots=True)
class ArkSelection:
    """Criteria for selecting ARKs. An ARK must match one value of each field that is not empty."""

    naans: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    """Beginnings of normal forms, as `extractors.model.ark.normal_prefix` returns them."""
    hosts: tuple[str, ...] = ()
    """Hosts that receive the first request."""
    arks: tuple[str, ...] = ()
    """ARKs in normal form."""
    causes: Mapping[str, frozenset[tuple[str, str]]] = field(default_factory=dict)
    """The ARKs and request URLs of causes of failures, by the key of the cause."""

    def __bool__(self) -> bool:
        return any((self.naans, self.prefixes, self.hosts, self.arks, self.causes))

    @property
    def words(self) -> str:
        """The selection as a phrase.

        >>> ArkSelection(naans=("12148",), hosts=("n2t.net",)).words
        'NAAN 12148; host n2t.net'
        """
        parts: tuple[tuple[str, Iterable[str]], ...] = (
            *(("NAAN", self.naans), ("prefix", self.prefixes), ("host", self.hosts)),
            *(("ARK", self.arks), ("cause", self.causes)),
        )
        return "; ".join(f"{name} {', '.join(values)}" for name, values in parts if values)

    def names(self, ark: str, naan: str) -> bool:
        """Return True if an ARK in normal form matches `naans` and `prefixes`; an empty one matches every ARK."""
        is_of_naan = not self.naans or naan in self.naans
        return is_of_naan and (not self.prefixes or ark.startswith(self.prefixes))

    def holds(self, known_ark: KnownArk) -> bool:
        """Return True if *known_ark* matches all criteria."""
        is_at_host = not self.hosts or known_ark.host in self.hosts
        is_of_cause = not self.causes or any(
            (known_ark.ark, known_ark.request_url) in pairs for pairs in self.causes.values()
        )
        is_named = not self.arks or known_ark.ark in self.arks
        return is_at_host and is_of_cause and is_named and self.names(known_ark.ark, known_ark.naan)
