"""Pure: how a host is asked. When the next request may start, what slows it down, and when no one asks it any more.

A `Pace` is all that decides about one host; each event makes another of it. Moments are seconds of a clock that only
goes forward. `docs/politeness.md` says the same to those whose hosts are asked.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from urllib.parse import urlsplit

from crawler.model.addresses import DEFAULT_PORTS, AddressGuard, Routes, is_literal
from crawler.model.observations import ChainEnd
from crawler.model.resolving import Patience

#: Seconds between two requests to a host that no one has said to be one's own.
LEAST_INTERVAL_S = 1.0
#: So many connections in a row that failed, and a host counts as dead.
DEAD_AFTER = 5
#: So many requests in a row without an answer, from a host that has given one before: it may just hate the question.
DEAD_AFTER_ANSWERS = 20
#: What another audit says of a pause is believed for so many seconds after it asked the host, and no longer.
LONGEST_PAUSE_S = 86_400.0
#: An error of the server's own, other than that it is busy, slows us down to so many times the first back-off at most.
_MOST_FOR_ERRORS = 4
_BUSY = frozenset({429, 503})
_NO_CONNECTION = frozenset({ChainEnd.DNS, ChainEnd.REFUSED, ChainEnd.TLS})
_NO_ANSWER = frozenset({*_NO_CONNECTION, ChainEnd.TIMEOUT, ChainEnd.RESET})
_ORIGIN = re.compile(r"https?://[^/?#]*", re.IGNORECASE)
_NEVER = -math.inf


# -- which hosts, and what holds for them


def host_of(url: str) -> str:
    """The host that *url* is asked of: scheme, name and port, the scheme's own port left out; "" for none.

    >>> host_of("HTTPS://N2T.net.:443/ark:/12148/x5"), host_of("http://[::1]:8080/?x")
    ('https://n2t.net', 'http://[::1]:8080')
    """
    match = _ORIGIN.match(url)
    if match is None:
        return ""
    origin = match[0].lower()
    try:
        parts = urlsplit(origin)
        name, port = (parts.hostname or "").removesuffix("."), parts.port
    except ValueError:  # no request can be made of it
        return origin
    name = f"[{name}]" if ":" in name else name
    return f"{parts.scheme}://{name}" + (f":{port}" if port not in (None, DEFAULT_PORTS[parts.scheme]) else "")


@dataclass(frozen=True, slots=True)
class Allowance:
    """The allowance for a host, before it has said anything itself."""

    interval_s: float = LEAST_INTERVAL_S
    concurrency: int = 1
    """How many requests may be on their way to it at a time."""


@dataclass(frozen=True, slots=True)
class Allowances:
    """The allowances of all hosts: faster than once a second only where it is one's own."""

    interval_s: float = LEAST_INTERVAL_S
    hosts: Mapping[str, Allowance] = field(default_factory=dict)
    """By name, by name and port, or by scheme, name and port; the last is the strongest."""

    def of(self, host: str, *, is_own: bool = False) -> Allowance:
        """Return what holds for *host*; *is_own* says that it is known to be one's own without being named.

        >>> allowances = Allowances(0.2, {"library.example": Allowance(0.0, 4)})
        >>> allowances.of("https://library.example").concurrency, allowances.of("https://n2t.net").interval_s
        (4, 1.0)
        """
        least_s = self.interval_s if is_own else max(self.interval_s, LEAST_INTERVAL_S)
        return self.named(host) or Allowance(least_s)

    def named(self, host: str) -> Allowance | None:
        """Return what is said of *host* by name, if anything is."""
        authority = host.partition("://")[2]
        name = re.sub(r":[0-9]+\Z", "", authority)
        return next((self.hosts[name_] for name_ in (host, authority, name) if name_ in self.hosts), None)


def is_own(host: str, routes: Routes, guard: AddressGuard) -> bool:
    """Return whether *host* is the operator's own without being named: it is routed, or a private address that is
    allowed.

    >>> is_own("http://127.0.0.1:8080", Routes(), AddressGuard.allowing(["127.0.0.0/8"]))
    True
    """
    try:
        parts = urlsplit(host)
        name, port = parts.hostname or "", parts.port or DEFAULT_PORTS.get(parts.scheme, 0)
    except ValueError:  # no request can be made of it
        return False
    if routes.target(name, port) is not None:
        return True
    return is_literal(name) and AddressGuard().refusal(name) is not None and guard.refusal(name) is None


# -- what other audits on this machine know of a host


@dataclass(frozen=True, slots=True)
class Shared:
    """The state of a host that audits share: moments of the machine's clock, which may be set while they run."""

    started_at: float
    """When a request to it last started."""
    open_again_at: float
    """Before that moment it is to be left alone."""
    by: str = ""
    """Which audit that request was of."""

    def as_of(self, now: float) -> Shared:
        """The same, with what would lie in the future moved back: a clock was set, and no one waits for the old one."""
        return self if self.started_at <= now else Shared(now, self.open_again_at - self.started_at + now, self.by)

    def wait_s(self, now: float, gap_s: float) -> float:
        """The seconds until a request may start, *gap_s* after the last, and as the others want it.

        >>> Shared(100.0, 130.0).wait_s(110.0, 1.0), Shared(100.0, 0.0).wait_s(100.25, 1.0)
        (20.0, 0.75)
        """
        open_again_at = min(self.open_again_at, self.started_at + LONGEST_PAUSE_S)
        return max(self.started_at + gap_s - now, open_again_at - now, 0.0)


# -- one host


class HostState(Enum):
    """The state of a host: whether it is asked."""

    ASKED = "asked"
    HELD = "held"
    """It seems dead; it is tried once more when there is nothing else to do."""
    TRIED = "tried"
    """That one request is under way, or may be."""
    GIVEN_UP = "given up"


@dataclass(frozen=True, slots=True)
class Reason:
    """The reason why a host is not asked any more: how a chain ends for it, and the words."""

    end: ChainEnd
    words: str


@dataclass(frozen=True, slots=True)
class Pace:
    """The pace of requests to one host."""

    allowance: Allowance = Allowance()
    crawl_delay_s: float = 0.0
    """Seconds between two requests by its robots.txt."""
    slowed_s: float = 0.0
    """Seconds between two requests because it was busy, or failed; halved by each good answer."""
    last_start: float = _NEVER
    open_again_at: float = _NEVER
    """Until then it has asked to be left alone."""
    in_flight: int = 0
    failures: int = 0
    """How many requests in a row have got no answer."""
    unconnected: int = 0
    """How many of those, in a row, did not even get a connection."""
    has_answered: bool = False
    state: HostState = HostState.ASKED
    try_from: float = _NEVER
    """When a host that is held may be tried at the earliest."""
    reason: Reason | None = None

    @property
    def gap_s(self) -> float:
        """Seconds from the start of one request to the start of the next."""
        return max(self.allowance.interval_s, self.crawl_delay_s, self.slowed_s)

    def wait_s(self, now: float) -> float | None:
        """The seconds until the next request may start; None where only another event can decide."""
        most_in_flight = 1 if self.state is HostState.TRIED else self.allowance.concurrency
        if self.state is HostState.HELD or self.in_flight >= most_in_flight:
            return None
        return max(self.last_start + self.gap_s - now, self.open_again_at - now, 0.0)

    def pause_s(self, now: float) -> float:
        """The seconds for which others should leave this host alone, in addition to their interval."""
        return max(self.open_again_at - now, self.last_start + self.slowed_s - now if self.slowed_s else 0.0, 0.0)

    # -- what happens

    def started(self, now: float) -> Pace:
        """A request may go out now."""
        return replace(self, in_flight=self.in_flight + 1, last_start=max(now, self.last_start))

    def sent(self, now: float) -> Pace:
        """A request that had started has really gone out now: connections take their time."""
        return replace(self, last_start=max(now, self.last_start))

    def paused(self, until: float) -> Pace:
        """Nothing may start before that moment."""
        return replace(self, open_again_at=max(until, self.open_again_at))

    def asked_to_keep(self, crawl_delay_s: float) -> Pace:
        """Its robots.txt wants so many seconds between two requests."""
        return replace(self, crawl_delay_s=crawl_delay_s)

    def answered(self, status: int, wish_s: float | None, now: float, patience: Patience) -> Pace:
        """A request was answered, with a wish to be left alone for *wish_s* seconds."""
        pace = replace(
            self._with_one_less(),
            slowed_s=_slowed(self.slowed_s, status, patience),
            failures=0,
            unconnected=0,
            has_answered=True,
            state=HostState.ASKED,
            reason=None,
        )
        return pace.paused(now + wish_s) if wish_s else pace

    def failed(self, end: ChainEnd, words: str, now: float, patience: Patience, *, is_sent: bool = True) -> Pace:
        """A request got no answer, and that ended its chain; *words* say what it ran into, and where and when."""
        if end not in _NO_ANSWER:
            return self.ended()
        is_tried = self.state is HostState.TRIED
        pace = replace(
            self._with_one_less(),
            failures=self.failures + 1,
            unconnected=0 if is_sent and end not in _NO_CONNECTION else self.unconnected + 1,
        )
        most = DEAD_AFTER_ANSWERS if self.has_answered else DEAD_AFTER
        if not is_tried and pace.failures < most and pace.unconnected < DEAD_AFTER:
            return pace
        description = f"not asked: no answer {pace.failures} times in a row, the last time {words}"
        if is_tried:
            reason = Reason(end, f"{description}; that was the last try")
            return replace(pace, state=HostState.GIVEN_UP, reason=reason)
        try_from = now + min(patience.backoff(DEAD_AFTER), patience.longest_wait_s)
        return replace(pace, state=HostState.HELD, try_from=try_from, reason=Reason(end, description))

    def ended(self) -> Pace:
        """A request came to an end that says nothing of the host: it was stopped, or our own rules held it back."""
        state = HostState.HELD if self.state is HostState.TRIED else self.state
        return replace(self._with_one_less(), state=state)

    def _with_one_less(self) -> Pace:
        return replace(self, in_flight=max(self.in_flight - 1, 0))

    # -- at the end

    def is_held(self, now: float, patience: Patience) -> bool:
        """Return whether nothing will be sent for as long as there is anything else to do."""
        is_paused = self.open_again_at - now > patience.longest_wait_s
        return self.state is HostState.HELD or (is_paused and self.state is not HostState.GIVEN_UP)

    def with_nothing_else_to_do(self, now: float, patience: Patience) -> Pace:
        """Return what becomes of a host that is held when all others have been asked: it is tried, waited for, or given
        up.
        """
        if self.state is HostState.HELD and now >= self.try_from:
            return replace(self, state=HostState.TRIED)
        is_paused = self.open_again_at - now > patience.longest_wait_s
        if is_paused and self.state is not HostState.GIVEN_UP:
            words = (
                f"not asked: the host wants to be left alone for longer than the {patience.longest_wait_s:g} s we wait"
            )
            return replace(self, state=HostState.GIVEN_UP, reason=Reason(ChainEnd.UNDETERMINED, words))
        return self

    def at_another_stage(self) -> Pace:
        """Return what is left of it when other questions begin: a host that was given up is asked again, once."""
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


def _slowed(slowed_s: float, status: int, patience: Patience) -> float:
    """The back-off after an answer: doubled by what says busy or broken, halved by anything else, never gone at once.

    >>> [_slowed(before, 429, Patience(backoff_s=2.0)) for before in (0.0, 2.0, 4.0)]
    [2.0, 4.0, 8.0]
    >>> [_slowed(before, 200, Patience(backoff_s=2.0)) for before in (8.0, 4.0, 2.0, 1.0)]
    [4.0, 2.0, 1.0, 0.0]
    """
    if status == 429 or 500 <= status < 600:
        most = patience.longest_wait_s
        if status not in _BUSY:
            most = min(most, _MOST_FOR_ERRORS * patience.backoff_s)
        return max(min(max(2 * slowed_s, patience.backoff_s), most), min(slowed_s, patience.longest_wait_s))
    halved = slowed_s / 2
    return halved if halved >= patience.backoff_s / 2 else 0.0
