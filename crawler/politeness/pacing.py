"""The pace of requests to one host: the start of the next request, slowing down, and giving up.

`Pace` is an immutable value; each event returns a new one. Moments are seconds of a monotonic clock.
`docs/politeness.md` explains the same rules to operators of hosts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from crawler.model.addresses import AddressGuard, Routes, is_literal
from crawler.model.observations import ChainEnd
from crawler.model.resolving import Patience
from extractors.model.urls import find_origin

#: Seconds between two requests to a host, unless the operator has named it as their own.
LEAST_INTERVAL_S = 1.0
#: Failed connections in a row after which a host counts as dead.
DEAD_AFTER = 5
#: Unanswered requests in a row after which a host that has answered before counts as dead: the question may be the cause.
DEAD_AFTER_ANSWERS = 20
#: The longest pause in seconds, from the last request, that is honoured if another audit has noted it.
LONGEST_PAUSE_S = 86_400.0
#: The limit of the back-off after a server error other than "busy", as a multiple of the first back-off.
_MOST_FOR_ERRORS = 4
_BUSY = frozenset({429, 503})
_NO_CONNECTION = frozenset({ChainEnd.DNS, ChainEnd.REFUSED, ChainEnd.TLS})
_NO_ANSWER = frozenset({*_NO_CONNECTION, ChainEnd.TIMEOUT, ChainEnd.RESET})
_NEVER = -math.inf


# -- hosts and their allowances


@dataclass(frozen=True, slots=True)
class Allowance:
    """The interval and the concurrency of requests to a host, before the host has said anything."""

    interval_s: float = LEAST_INTERVAL_S
    concurrency: int = 1
    """The number of requests that may be in flight at a time."""


@dataclass(frozen=True, slots=True)
class Allowances:
    """The allowances of all hosts. Intervals below one second are for the operator's own hosts."""

    interval_s: float = LEAST_INTERVAL_S
    hosts: Mapping[str, Allowance] = field(default_factory=dict)
    """By name, by name and port, or by scheme, name and port. The most specific entry wins."""

    def for_host(self, host: str, *, is_own: bool = False) -> Allowance:
        """Return the allowance of *host*; *is_own* marks an unnamed host of the operator.

        >>> allowances = Allowances(0.2, {"library.example": Allowance(0.0, 4)})
        >>> allowances.for_host("https://library.example").concurrency, allowances.for_host("https://n2t.net").interval_s
        (4, 1.0)
        """
        least_s = self.interval_s if is_own else max(self.interval_s, LEAST_INTERVAL_S)
        return self.find_by_name(host) or Allowance(least_s)

    def find_by_name(self, host: str) -> Allowance | None:
        """Return the allowance that the operator gave for *host* by name, or None."""
        authority = host.partition("://")[2]
        name = re.sub(r":[0-9]+\Z", "", authority)
        return next((self.hosts[key] for key in (host, authority, name) if key in self.hosts), None)


def is_own(host: str, routes: Routes, guard: AddressGuard) -> bool:
    """Return True if *host* has a route or is an allowed private address, and so belongs to the operator.

    >>> is_own("http://127.0.0.1:8080", Routes(), AddressGuard.for_networks(["127.0.0.0/8"]))
    True
    """
    origin = find_origin(host)
    if origin is None:
        return False
    if routes.target(origin.host, origin.port or 0) is not None:
        return True
    return (
        is_literal(origin.host)
        and AddressGuard().refusal(origin.host) is not None
        and guard.refusal(origin.host) is None
    )


# -- the state of a host that audits on this machine share


@dataclass(frozen=True, slots=True)
class SharedHostState:
    """The state of a host that audits share, with times in seconds of the machine's clock, which may be set."""

    started_at: float
    """The start of the last request."""
    open_again_at: float
    """The end of the pause that the host asked for."""
    by: str = ""
    """The audit that made the last request."""

    def as_of(self, now: float) -> SharedHostState:
        """Return the state at *now*. If the clock was set back, so that the last request starts later, it is moved to *now*."""
        return (
            self
            if self.started_at <= now
            else SharedHostState(now, self.open_again_at - self.started_at + now, self.by)
        )

    def wait_s(self, now: float, gap_s: float) -> float:
        """Return the seconds until a request may start: *gap_s* after the last one, and after any pause.

        >>> SharedHostState(100.0, 130.0).wait_s(110.0, 1.0), SharedHostState(100.0, 0.0).wait_s(100.25, 1.0)
        (20.0, 0.75)
        """
        open_again_at = min(self.open_again_at, self.started_at + LONGEST_PAUSE_S)
        return max(self.started_at + gap_s - now, open_again_at - now, 0.0)


# -- one host


class HostState(Enum):
    """Whether a host is sent requests, and if not, why."""

    ASKED = "asked"
    HELD = "held"
    """The host seems dead. It is tried once more after all other work."""
    TRIED = "tried"
    """That last try is in flight, or may start."""
    GIVEN_UP = "given up"


@dataclass(frozen=True, slots=True)
class Reason:
    """The reason why a host gets no more requests: the chain end to record for them, and a message."""

    end: ChainEnd
    words: str


@dataclass(frozen=True, slots=True)
class Pace:
    """The pace of requests to one host, and the state that decides it."""

    allowance: Allowance = Allowance()
    crawl_delay_s: float = 0.0
    """Seconds between two requests that its robots.txt requires."""
    slowed_s: float = 0.0
    """The back-off in seconds after busy or failing answers; each good answer halves it."""
    last_start: float = _NEVER
    open_again_at: float = _NEVER
    """The end of the pause that the host asked for."""
    in_flight: int = 0
    failures: int = 0
    """The number of unanswered requests in a row."""
    unconnected: int = 0
    """The number of those, in a row, that got no connection."""
    has_answered: bool = False
    state: HostState = HostState.ASKED
    try_from: float = _NEVER
    """The earliest moment of the last try at a held host."""
    reason: Reason | None = None

    @property
    def gap_s(self) -> float:
        """Seconds from the start of one request to the start of the next."""
        return max(self.allowance.interval_s, self.crawl_delay_s, self.slowed_s)

    def wait_s(self, now: float) -> float | None:
        """Return the seconds until the next request may start.

        None if the host is held, or if as many requests as allowed are in flight.
        """
        most_in_flight = 1 if self.state is HostState.TRIED else self.allowance.concurrency
        if self.state is HostState.HELD or self.in_flight >= most_in_flight:
            return None
        return max(self.last_start + self.gap_s - now, self.open_again_at - now, 0.0)

    def pause_s(self, now: float) -> float:
        """Return how many seconds from *now* other audits should not ask this host; 0 without a reason to wait."""
        return max(self.open_again_at - now, self.last_start + self.slowed_s - now if self.slowed_s else 0.0, 0.0)

    # -- events

    def after_start(self, now: float) -> Pace:
        """Return the pace after a request was granted."""
        return replace(self, in_flight=self.in_flight + 1, last_start=max(now, self.last_start))

    def after_sending(self, now: float) -> Pace:
        """Return the pace after a granted request was sent at *now*; the interval to the next request counts from then."""
        return replace(self, last_start=max(now, self.last_start))

    def with_pause_until(self, until: float) -> Pace:
        """Return the pace with no request before *until*."""
        return replace(self, open_again_at=max(until, self.open_again_at))

    def with_crawl_delay(self, crawl_delay_s: float) -> Pace:
        """Return the pace with the interval that robots.txt requires."""
        return replace(self, crawl_delay_s=crawl_delay_s)

    def after_answer(self, status: int, wanted_pause_s: float | None, now: float, patience: Patience) -> Pace:
        """Return the pace after an answer at *now*, with a pause if the host asked for *wanted_pause_s* seconds."""
        pace = replace(
            self._with_one_less_in_flight(),
            slowed_s=_next_backoff_s(self.slowed_s, status, patience),
            failures=0,
            unconnected=0,
            has_answered=True,
            state=HostState.ASKED,
            reason=None,
        )
        return pace.with_pause_until(now + wanted_pause_s) if wanted_pause_s else pace

    def after_failure(self, end: ChainEnd, words: str, now: float, patience: Patience, *, is_sent: bool = True) -> Pace:
        """Return the pace after a request without an answer: after too many of these, the host is held or given up.

        *words* is a message with error, URL and time. *is_sent* is False if no connection was made.
        """
        if end not in _NO_ANSWER:
            return self.after_end()
        is_tried = self.state is HostState.TRIED
        pace = replace(
            self._with_one_less_in_flight(),
            failures=self.failures + 1,
            unconnected=0 if is_sent and end not in _NO_CONNECTION else self.unconnected + 1,
        )
        failure_limit = DEAD_AFTER_ANSWERS if self.has_answered else DEAD_AFTER
        if not is_tried and pace.failures < failure_limit and pace.unconnected < DEAD_AFTER:
            return pace
        description = f"not asked: no answer {pace.failures} times in a row, the last time {words}"
        if is_tried:
            reason = Reason(end, f"{description}; that was the last try")
            return replace(pace, state=HostState.GIVEN_UP, reason=reason)
        try_from = now + min(patience.backoff(DEAD_AFTER), patience.longest_wait_s)
        return replace(pace, state=HostState.HELD, try_from=try_from, reason=Reason(end, description))

    def after_end(self) -> Pace:
        """Return the pace after a request whose end says nothing about the host, such as one that arkaudit stopped."""
        state = HostState.HELD if self.state is HostState.TRIED else self.state
        return replace(self._with_one_less_in_flight(), state=state)

    def _with_one_less_in_flight(self) -> Pace:
        return replace(self, in_flight=max(self.in_flight - 1, 0))

    # -- when all other work is done

    def is_held(self, now: float, patience: Patience) -> bool:
        """Return True if the host gets no request while other hosts have work.

        It seems dead, or asked for a pause longer than *patience* allows.
        """
        is_paused = self.open_again_at - now > patience.longest_wait_s
        return self.state is HostState.HELD or (is_paused and self.state is not HostState.GIVEN_UP)

    def after_all_others(self, now: float, patience: Patience) -> Pace:
        """Return the pace of a held host when no other host has work left.

        A host that seemed dead is tried once more, if its wait is over. A host that asked for too long a pause is given
        up. Otherwise the pace is unchanged.
        """
        if self.state is HostState.HELD and now >= self.try_from:
            return replace(self, state=HostState.TRIED)
        is_paused = self.open_again_at - now > patience.longest_wait_s
        if is_paused and self.state is not HostState.GIVEN_UP:
            words = f"not asked: the host asks for a pause longer than the limit of {patience.longest_wait_s:g} s"
            return replace(self, state=HostState.GIVEN_UP, reason=Reason(ChainEnd.UNDETERMINED, words))
        return self

    def for_next_stage(self) -> Pace:
        """Return the pace for the next stage of a run: a host that was given up or held is asked once more."""
        if self.state is HostState.ASKED:
            return self
        return replace(
            self,
            state=HostState.ASKED,
            failures=min(self.failures, DEAD_AFTER - 1),
            unconnected=min(self.unconnected, DEAD_AFTER - 1),
            has_answered=False,
            reason=None,
        )


def _next_backoff_s(slowed_s: float, status: int, patience: Patience) -> float:
    """Return the back-off in seconds after an answer: *slowed_s*, doubled if *status* is 429 or 5xx, else halved.

    >>> [_next_backoff_s(before, 429, Patience(backoff_s=2.0)) for before in (0.0, 2.0, 4.0)]
    [2.0, 4.0, 8.0]
    >>> [_next_backoff_s(before, 200, Patience(backoff_s=2.0)) for before in (8.0, 4.0, 2.0, 1.0)]
    [4.0, 2.0, 1.0, 0.0]
    """
    if status == 429 or 500 <= status < 600:
        longest_s = patience.longest_wait_s
        if status not in _BUSY:
            longest_s = min(longest_s, _MOST_FOR_ERRORS * patience.backoff_s)
        return max(min(max(2 * slowed_s, patience.backoff_s), longest_s), min(slowed_s, patience.longest_wait_s))
    halved = slowed_s / 2
    return halved if halved >= patience.backoff_s / 2 else 0.0
