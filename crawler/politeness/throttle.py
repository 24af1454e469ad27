"""The throttle: grants every connection to a host, and keeps the state of each host.

Both spiders, robots.txt, redirects, retries and controls ask here before they connect.
`pacing.py` decides about a host; `host_files.py` shares its state with other audits.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from crawler.model.addresses import AddressGuard, Routes
from crawler.model.observations import ChainEnd, HostTraffic, Pause, now
from crawler.model.resolving import Patience
from crawler.politeness.host_files import HostFiles, HostLease, HostWait
from crawler.politeness.pacing import LEAST_INTERVAL_S, Allowance, Allowances, HostState, Pace, Reason, is_own
from extractors.model.errors import ArkauditError
from extractors.model.urls import origin_of

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy.crawler import Crawler
    from scrapy.robotstxt import RobotParser
    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)

#: Seconds between two looks at held hosts.
LOOK_S = 0.5
#: Looks without any event after which all other work counts as done.
QUIET_LOOKS = 2
#: Errors of a machine that is short of resources. They may pass, so the cache stays in use.
_PASSING_ERRORS = frozenset({errno.EMFILE, errno.ENFILE, errno.EINTR, errno.ENOMEM})


class HostGivenUp(ArkauditError):
    """Raised instead of a turn at a host that was given up; no request has been sent."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.words)
        self.reason = reason


@dataclass(slots=True, eq=False)
class _Host:
    """A host, the requests that wait for a turn, and the counts of finished ones."""

    name: str
    pace: Pace
    waiting: deque[asyncio.Future[HostLease | None]] = field(default_factory=deque)
    timer: asyncio.TimerHandle | None = None
    requests: int = 0
    failures: int = 0
    given_up: str | None = None
    reported_given_up: str | None = None
    """The value of `given_up` at the last report."""

    def refuse(self, failure: Exception) -> None:
        """Raise *failure* in each waiting request."""
        while self.waiting:
            turn = self.waiting.popleft()
            if not turn.done():
                turn.set_exception(failure)

    def traffic(self) -> HostTraffic:
        """Return the traffic since the last call, and reset the counts."""
        pace = self.pace
        interval_s = max(pace.allowance.interval_s, pace.crawl_delay_s)
        traffic = HostTraffic(
            self.name, self.requests, self.failures, interval_s, pace.crawl_delay_s or None, self.given_up
        )
        self.requests = self.failures = 0
        self.reported_given_up = self.given_up
        return traffic


class HostThrottle:
    """Grants turns at hosts, each at the interval that the host allows.

    *files* shares the pace with other audits; without it, only this process is paced. *is_own* returns True for a host
    of the operator. All methods run in one event loop.
    """

    def __init__(
        self,
        allowances: Allowances,
        patience: Patience,
        *,
        files: HostFiles | None = None,
        is_own: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._allowances = allowances
        self._patience = patience
        self._files = files
        self._is_own = is_own
        self._hosts: dict[str, _Host] = {}
        self._turns = 0
        """The number of turns granted."""
        self._quiet_looks = 0
        self._end_timer: asyncio.TimerHandle | None = None
        self._has_warned_of_interval = False
        self._pauses: list[Pause] = []
        self.on_turn: Callable[[], object] = lambda: None
        """Called at each turn, before the request is sent."""
        self.on_pause: Callable[[], object] = lambda: None
        """Called after a host has asked for a pause that `take_pauses` returns."""
        self.rules: dict[str, asyncio.Task[RobotParser | None]] = {}
        """The rules in robots.txt by host; each file is requested once per run."""

    @classmethod
    def from_settings(cls, settings: BaseSettings, files: HostFiles | None = None) -> HostThrottle:
        """Return the throttle that Scrapy's *settings* describe."""
        hosts = {
            name: Allowance(float(options["interval"]), int(options["concurrency"]))
            for name, options in settings.getdict("ARKAUDIT_HOSTS").items()
        }
        routes, guard = routes_and_guard(settings)
        allowances = Allowances(settings.getfloat("ARKAUDIT_INTERVAL"), hosts)
        return cls(allowances, patience_of(settings), files=files, is_own=lambda host: is_own(host, routes, guard))

    # -- turns

    @asynccontextmanager
    async def slot(self, url: str) -> AsyncIterator[HostSlot]:
        """Wait for a turn at the host of *url*. Inside, make one request and report its result to the slot.

        Raises `HostGivenUp` on entering if the host was given up.
        """
        host = self._host(origin_of(url))
        if host.pace.state is HostState.GIVEN_UP and host.pace.reason is not None:
            raise HostGivenUp(host.pace.reason)
        slot = HostSlot(self, host, url)
        turn: asyncio.Future[HostLease | None] = asyncio.get_running_loop().create_future()
        host.waiting.append(turn)
        self._grant_turns(host)
        try:
            slot.claim = await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                slot.claim = turn.result()  # granted, but the waiting task was cancelled
                self._end_turn(slot)
            raise
        try:
            yield slot
        finally:
            self._end_turn(slot)

    def free_slots(self, host: str) -> int:
        """Return the maximum number of requests to take from the queue for *host*; 0 if it is held.

        Otherwise it is at least one more than may be in flight, so that the next request is ready.
        """
        host_state = self._hosts.get(host)
        if host_state is None:
            return self._allowances.for_host(host, is_own=self._is_own(host)).concurrency + 1
        if host_state.pace.state is HostState.GIVEN_UP:
            return host_state.pace.allowance.concurrency + 50
        if host_state.pace.is_held(time.monotonic(), self._patience):
            return 0
        return host_state.pace.allowance.concurrency + 1

    def is_held(self, host: str) -> bool:
        """Return True if *host* gets no request while other hosts have work."""
        host_state = self._hosts.get(host)
        return host_state is not None and host_state.pace.is_held(time.monotonic(), self._patience)

    @property
    def most_in_flight(self) -> int:
        """The largest number of requests that may be in flight to one host."""
        return max((allowance.concurrency for allowance in self._allowances.hosts.values()), default=1)

    def set_crawl_delay(self, url: str, crawl_delay_s: float) -> bool:
        """Set the interval of the host of *url* to the Crawl-delay of its robots.txt.

        Return False, and set nothing, if the delay is longer than arkaudit waits; then the host may not be asked.
        """
        host = self._host(origin_of(url))
        if crawl_delay_s > max(self._patience.longest_wait_s, host.pace.allowance.interval_s):
            return False
        host.pace = host.pace.with_crawl_delay(crawl_delay_s)
        return True

    def begin_stage(self) -> None:
        """Begin the next stage of a run: hosts that were given up are tried again."""
        for host in self._hosts.values():
            host.pace = host.pace.for_next_stage()

    def drop_waiting(self, failure: Exception) -> None:
        """Raise *failure* in every request that waits for a turn."""
        for host in self._hosts.values():
            host.refuse(failure)

    # -- records

    def take_pauses(self) -> list[Pause]:
        """Return the pauses that hosts have asked for since the last call."""
        pauses, self._pauses = self._pauses, []
        return pauses

    def take_traffic(self) -> list[HostTraffic]:
        """Return the traffic to each host since the last call, in the order of the first requests."""
        return [
            host.traffic() for host in self._hosts.values() if host.requests or host.given_up != host.reported_given_up
        ]

    # -- granting turns

    def _host(self, name: str) -> _Host:
        """Return the state of a host, which begins with its configured pace; warn once if that is too fast."""
        host_state = self._hosts.get(name)
        if host_state is None:
            is_own = self._is_own(name)
            host_state = self._hosts[name] = _Host(name, Pace(self._allowances.for_host(name, is_own=is_own)))
            is_slower = self._allowances.interval_s < LEAST_INTERVAL_S and not is_own
            if is_slower and self._allowances.find_by_name(name) is None and not self._has_warned_of_interval:
                self._has_warned_of_interval = True
                words = (
                    "%s: the minimum interval is %g s; shorter ones are only for your own hosts, listed under [hosts]"
                )
                logger.warning(words, name, LEAST_INTERVAL_S)
        return host_state

    def _grant_turns(self, host: _Host) -> None:
        """Grant the turns that are due, and set a timer for the next one."""
        if host.timer is not None:
            host.timer.cancel()
            host.timer = None
        while host.waiting:
            if host.waiting[0].done():  # its task was cancelled
                host.waiting.popleft()
                continue
            wait_s = host.pace.wait_s(time.monotonic())
            claim = self._claim(host) if wait_s == 0 else None  # None: no turn yet, so no lock to release
            if isinstance(claim, HostWait):
                wait_s = claim.seconds
            if wait_s is None or wait_s > 0:
                break
            host.pace = host.pace.after_start(time.monotonic())
            host.requests += 1
            self.on_turn()
            self._turns += 1
            host.waiting.popleft().set_result(claim if isinstance(claim, HostLease) else None)
        else:
            wait_s = None
        if wait_s is not None:
            host.timer = asyncio.get_running_loop().call_later(wait_s, self._grant_turns, host)
        if host.pace.is_held(time.monotonic(), self._patience):
            self._check_held_hosts_later()

    def _claim(self, host: _Host) -> HostLease | HostWait | None:
        """Return a lease for *host* among the audits of this machine, or the wait before the next try.

        None if the host's pace is not shared with other audits.
        """
        if self._files is None or host.pace.gap_s <= 0:
            return None
        is_alone = host.pace.allowance.concurrency == 1
        try:
            claim = self._files.claim(host.name, host.pace.gap_s, is_alone=is_alone)
        except OSError as problem:
            self._stop_sharing(problem)
            return None
        if isinstance(claim, HostWait):
            if claim.is_host_pause and claim.seconds > self._patience.longest_wait_s:
                host.pace = host.pace.with_pause_until(time.monotonic() + claim.seconds)
            return HostWait(max(claim.seconds, 0.001), claim.is_host_pause)
        return claim

    def _stop_sharing(self, problem: OSError) -> None:
        if problem.errno in _PASSING_ERRORS or self._files is None:
            return
        self._files = None
        logger.warning(
            "the cache can't be written (%s): other audits on this machine are not taken into account",
            f"{problem.strerror or problem}: {problem.filename}" if problem.filename else problem,
        )

    def _end_turn(self, slot: HostSlot) -> None:
        """End a turn, and pass its result to the host."""
        host, claim, wanted_pause_s = slot.host, slot.claim, slot.wanted_pause_s
        if not slot.is_reported:
            host.pace = host.pace.after_end()
        if host.pace.state is HostState.GIVEN_UP:
            self._give_up(host)
        if self._files is not None and (claim is not None or wanted_pause_s):
            pause_s = host.pace.pause_s(time.monotonic())
            try:
                if claim is not None:
                    claim.release(pause_s)
                if wanted_pause_s and host.pace.allowance.concurrency > 1:
                    self._files.pause(host.name, pause_s)
            except OSError as problem:
                self._stop_sharing(problem)
        self._grant_turns(host)

    # -- when all other work is done

    def _check_held_hosts_later(self) -> None:
        if self._end_timer is None:
            self._end_timer = asyncio.get_running_loop().call_later(LOOK_S, self._check_held_hosts, self._turns)

    def _check_held_hosts(self, turns_at_last_look: int) -> None:
        """Try or give up held hosts after `QUIET_LOOKS` checks without work for other hosts, and check again later.

        *turns_at_last_look* is the value of `_turns` when this check was planned.
        """
        self._end_timer = None
        now = time.monotonic()
        hosts = self._hosts.values()
        held_hosts = [host for host in hosts if host.pace.is_held(now, self._patience)]
        is_busy = any(host.pace.in_flight or (host.waiting and host not in held_hosts) for host in hosts)
        self._quiet_looks = 0 if is_busy or turns_at_last_look != self._turns else self._quiet_looks + 1
        for host in held_hosts if self._quiet_looks >= QUIET_LOOKS else ():
            host.pace = host.pace.after_all_others(now, self._patience)
            if host.pace.state is HostState.GIVEN_UP:
                self._give_up(host)
            self._grant_turns(host)
        if held_hosts:
            self._check_held_hosts_later()

    def _give_up(self, host: _Host) -> None:
        if host.pace.reason is not None:
            host.given_up = host.pace.reason.words
            host.refuse(HostGivenUp(host.pace.reason))


@dataclass(slots=True)
class HostSlot:
    """The turn of one request at a host, from its start to its end."""

    throttle: HostThrottle
    host: _Host
    url: str
    claim: HostLease | None = None
    wanted_pause_s: float | None = None
    is_sent: bool = False
    is_reported: bool = False

    def report_sent(self) -> None:
        """Report that the request was sent; the interval counts from now."""
        self.is_sent = True
        self.host.pace = self.host.pace.after_sending(time.monotonic())
        if self.claim is not None:
            self.claim.mark_sent()

    def report_answer(self, status: int, wanted_pause_s: float | None = None) -> None:
        """Report the status of the answer, and the pause in seconds that the host asked for, if any."""
        throttle, host, patience = self.throttle, self.host, self.throttle._patience
        host.pace = host.pace.after_answer(status, wanted_pause_s, time.monotonic(), patience)
        self.wanted_pause_s, self.is_reported = wanted_pause_s, True
        if wanted_pause_s:
            is_kept = wanted_pause_s <= patience.longest_wait_s
            throttle._pauses.append(Pause(host.name, self.url, now(), wanted_pause_s, is_kept=is_kept))
            throttle.on_pause()

    def report_failure(self, end: ChainEnd, words: str) -> None:
        """Report a request without an answer; *words* name the error."""
        throttle, host = self.throttle, self.host
        description = f"{words} ({self.url})"
        host.pace = host.pace.after_failure(
            end, description, time.monotonic(), throttle._patience, is_sent=self.is_sent
        )
        self.is_reported = True
        host.failures += 1


# -- from Scrapy's settings


def patience_of(settings: BaseSettings) -> Patience:
    """Return the retry policy (attempts, back-off, longest wait) in Scrapy's *settings*."""
    return Patience(
        settings.getint("ARKAUDIT_ATTEMPTS"),
        settings.getfloat("ARKAUDIT_BACKOFF"),
        settings.getfloat("ARKAUDIT_LONGEST_WAIT"),
    )


def routes_and_guard(settings: BaseSettings) -> tuple[Routes, AddressGuard]:
    """Return the routes and the address guard in Scrapy's *settings*."""
    routes = Routes.parse(settings.getlist("ARKAUDIT_CONNECT_TO"), only=settings.getbool("ARKAUDIT_ONLY_ROUTED"))
    return routes, AddressGuard.for_networks(settings.getlist("ARKAUDIT_ALLOW_ADDRESSES"))


# -- the throttle of a crawler

_THROTTLES: WeakKeyDictionary[Crawler, HostThrottle] = WeakKeyDictionary()


def install_throttle(crawler: Crawler, throttle: HostThrottle) -> None:
    """Set the throttle of *crawler*; several crawlers may share one."""
    _THROTTLES[crawler] = throttle


def share_pace(crawler: Crawler, settings: BaseSettings, cache: Path) -> None:
    """Give *crawler* a throttle that shares its pace with all audits of this machine, by files in *cache*."""
    install_throttle(crawler, HostThrottle.from_settings(settings, HostFiles(cache / "hosts")))


def throttle_of(crawler: Crawler) -> HostThrottle:
    """Return the throttle of *crawler*; create one from its settings, for this process alone, if it has none."""
    if crawler not in _THROTTLES:
        install_throttle(crawler, HostThrottle.from_settings(crawler.settings))
    return _THROTTLES[crawler]
