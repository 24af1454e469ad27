"""The one place through which every connection to a host goes: it grants turns, and remembers how hosts were treated.

Both spiders, robots.txt, redirects, attempts, controls and the probes of certificates ask here before they connect.
What is decided about a host is decided in `pacing.py`; what other audits on this machine do is in `host_files.py`.
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
from crawler.politeness.pacing import LEAST_INTERVAL_S, Allowance, Allowances, HostState, Pace, Reason, host_of, is_own
from extractors.model.errors import ArkauditError

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy.crawler import Crawler
    from scrapy.robotstxt import RobotParser
    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)

#: Seconds between two looks at hosts that are held.
LOOK_S = 0.5
#: When nothing has happened for so many looks, there is nothing else to do.
QUIET_LOOKS = 2
#: What goes when a machine, not its cache, is short of something: it may be back for the next request.
_PASSING_ERRORS = frozenset({errno.EMFILE, errno.ENFILE, errno.EINTR, errno.ENOMEM})


class NotAsked(ArkauditError):
    """Raised instead of a turn at a host that is not asked any more; nothing has been sent then."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.words)
        self.reason = reason


@dataclass(slots=True, eq=False)
class _Host:
    """A host, who waits for a turn at it, and what has become of the turns so far."""

    name: str
    pace: Pace
    waiting: deque[asyncio.Future[HostLease | None]] = field(default_factory=deque)
    timer: asyncio.TimerHandle | None = None
    requests: int = 0
    failures: int = 0
    given_up: str | None = None
    told_given_up: str | None = None
    """The last words about that."""

    def refuse(self, failure: Exception) -> None:
        """Give each who waits *failure* instead of a turn."""
        while self.waiting:
            waiting = self.waiting.popleft()
            if not waiting.done():
                waiting.set_exception(failure)

    def traffic(self) -> HostTraffic:
        """Return what went to it since this was last called."""
        pace = self.pace
        interval_s = max(pace.allowance.interval_s, pace.crawl_delay_s)
        taken = HostTraffic(
            self.name, self.requests, self.failures, interval_s, pace.crawl_delay_s or None, self.given_up
        )
        self.requests = self.failures = 0
        self.told_given_up = self.given_up
        return taken


class HostThrottle:
    """Grants turns at hosts: one request after another, each as far from the last as the host wants it.

    *files* is what other audits on this machine know; without it, only this process is paced. *is_own* says of a host
    whether it is the operator's own. Everything happens in one event loop.
    """

    def __init__(
        self,
        allowances: Allowances,
        patience: Patience,
        *,
        files: HostFiles | None = None,
        is_own: Callable[[str], bool] = lambda _: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._allowances = allowances
        self._patience = patience
        self._files = files
        self._is_own = is_own
        self._clock = clock
        self._hosts: dict[str, _Host] = {}
        self._turns = 0
        """How many there have been."""
        self._quiet_looks = 0
        self._end_timer: asyncio.TimerHandle | None = None
        self._has_warned_of_interval = False
        self._pauses: list[Pause] = []
        self.on_turn: Callable[[], object] = lambda: None
        """Told of each turn, before anything is sent."""
        self.on_pause: Callable[[], object] = lambda: None
        """Told of each pause that a host asks for, once it is among those to take."""
        self.rules: dict[str, asyncio.Task[RobotParser | None]] = {}
        """What the robots.txt of each host says: asked for once a run."""

    @classmethod
    def of(cls, settings: BaseSettings, files: HostFiles | None = None) -> HostThrottle:
        """The governor that Scrapy's *settings* ask for."""
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
        """A turn at the host of *url*: inside it, one request may be made, and what came of it must be reported.

        Raises `NotAsked` on entering when the host is not asked any more.
        """
        host = self._host(host_of(url))
        if host.pace.state is HostState.GIVEN_UP and host.pace.reason is not None:
            raise NotAsked(host.pace.reason)
        slot = HostSlot(self, host, url)
        waiting: asyncio.Future[HostLease | None] = asyncio.get_running_loop().create_future()
        host.waiting.append(waiting)
        self._move_on(host)
        try:
            slot.claim = await waiting
        except asyncio.CancelledError:
            if waiting.done() and not waiting.cancelled() and waiting.exception() is None:
                slot.claim = waiting.result()  # granted, but the one who wanted it has gone
                self._end(slot)
            raise
        try:
            yield slot
        finally:
            self._end(slot)

    def free_slots(self, host: str) -> int:
        """Return how many requests may be taken out of a queue for *host*: one more than may be under way, to be at
        hand.
        """
        host_state = self._hosts.get(host)
        if host_state is None:
            return self._allowances.of(host, is_own=self._is_own(host)).concurrency + 1
        if host_state.pace.state is HostState.GIVEN_UP:
            return host_state.pace.allowance.concurrency + 50
        if host_state.pace.is_held(self._clock(), self._patience):
            return 0
        return host_state.pace.allowance.concurrency + 1

    def is_held(self, host: str) -> bool:
        """Return whether *host* is asked nothing for as long as there is anything else to do."""
        host_state = self._hosts.get(host)
        return host_state is not None and host_state.pace.is_held(self._clock(), self._patience)

    @property
    def most_in_flight(self) -> int:
        """Return how many requests may be under way to any one host."""
        return max((allowance.concurrency for allowance in self._allowances.hosts.values()), default=1)

    @property
    def longest_wait_s(self) -> float:
        """The longest pause that is granted to a host."""
        return self._patience.longest_wait_s

    def keep(self, url: str, crawl_delay_s: float) -> bool:
        """Keep so many seconds between two requests to the host of *url* from now on, as its robots.txt wants it.

        False when that is longer than any pause that is granted, so that nothing may be asked at all.
        """
        host = self._host(host_of(url))
        if crawl_delay_s > max(self.longest_wait_s, host.pace.allowance.interval_s):
            return False
        host.pace = host.pace.asked_to_keep(crawl_delay_s)
        return True

    def begin_stage(self) -> None:
        """Other questions begin: hosts that were given up are tried again."""
        for host in self._hosts.values():
            host.pace = host.pace.at_another_stage()

    def drop_waiting(self, failure: Exception) -> None:
        """Let no one who waits for a turn have it: each gets *failure* instead."""
        for host in self._hosts.values():
            host.refuse(failure)

    # -- what is to be recorded

    def take_pauses(self) -> list[Pause]:
        """The pauses that hosts have asked for since this was last called."""
        taken, self._pauses = self._pauses, []
        return taken

    def take_traffic(self) -> list[HostTraffic]:
        """Return what went to each host since this was last called, in the order in which hosts were first asked."""
        return [host.traffic() for host in self._hosts.values() if host.requests or host.given_up != host.told_given_up]

    # -- after the turns

    def _host(self, name: str) -> _Host:
        host_state = self._hosts.get(name)
        if host_state is None:
            is_own = self._is_own(name)
            host_state = self._hosts[name] = _Host(name, Pace(self._allowances.of(name, is_own=is_own)))
            is_slower = self._allowances.interval_s < LEAST_INTERVAL_S and not is_own
            if is_slower and self._allowances.named(name) is None and not self._has_warned_of_interval:
                self._has_warned_of_interval = True
                words = "%s is asked once in %g s all the same: less is for hosts of one's own, named under [hosts]"
                logger.warning(words, name, LEAST_INTERVAL_S)
        return host_state

    def _move_on(self, host: _Host) -> None:
        """Grant what may be granted, and come back when there will be more."""
        if host.timer is not None:
            host.timer.cancel()
            host.timer = None
        while host.waiting:
            if host.waiting[0].done():  # the one who waited was cancelled
                host.waiting.popleft()
                continue
            wait_s = host.pace.wait_s(self._clock())
            claim = self._claim(host) if wait_s == 0 else None  # None: no turn now, and no lock to forget
            if isinstance(claim, HostWait):
                wait_s = claim.seconds
            if wait_s is None or wait_s > 0:
                break
            host.pace = host.pace.started(self._clock())
            host.requests += 1
            self.on_turn()
            self._turns += 1
            host.waiting.popleft().set_result(claim if isinstance(claim, HostLease) else None)
        else:
            wait_s = None
        if wait_s is not None:
            host.timer = asyncio.get_running_loop().call_later(wait_s, self._move_on, host)
        if host.pace.is_held(self._clock(), self._patience):
            self._look_later()

    def _claim(self, host: _Host) -> HostLease | HostWait | None:
        """Our turn among the audits of this machine, where there is anything to share."""
        if self._files is None or host.pace.gap_s <= 0:
            return None
        is_alone = host.pace.allowance.concurrency == 1
        try:
            claim = self._files.claim(host.name, host.pace.gap_s, is_alone=is_alone)
        except OSError as problem:
            self._do_without_files(problem)
            return None
        if isinstance(claim, HostWait):
            if claim.is_wish and claim.seconds > self._patience.longest_wait_s:
                host.pace = host.pace.paused(self._clock() + claim.seconds)
            return HostWait(max(claim.seconds, 0.001), claim.is_wish)
        return claim

    def _do_without_files(self, problem: OSError) -> None:
        if problem.errno in _PASSING_ERRORS or self._files is None:
            return
        self._files = None
        logger.warning(
            "the cache can't be written (%s): other audits on this machine are not taken into account",
            f"{problem.strerror or problem}: {problem.filename}" if problem.filename else problem,
        )

    def _end(self, slot: HostSlot) -> None:
        """End a turn: its host knows what came of it."""
        host, claim, wish_s = slot.host, slot.claim, slot.wish_s
        if not slot.is_reported:
            host.pace = host.pace.ended()
        if host.pace.state is HostState.GIVEN_UP:
            self._give_up(host)
        if self._files is not None and (claim is not None or wish_s):
            pause_s = host.pace.pause_s(self._clock())
            try:
                if claim is not None:
                    claim.release(pause_s)
                if wish_s and host.pace.allowance.concurrency > 1:
                    self._files.pause(host.name, pause_s)
            except OSError as problem:
                self._do_without_files(problem)
        self._move_on(host)

    # -- when there is nothing else to do

    def _look_later(self) -> None:
        if self._end_timer is None:
            self._end_timer = asyncio.get_running_loop().call_later(LOOK_S, self._look_for_the_end, self._turns)

    def _look_for_the_end(self, turns: int) -> None:
        """Decide about hosts that are held, once nothing has been asked for a moment and nothing is about to be."""
        self._end_timer = None
        now = self._clock()
        hosts = self._hosts.values()
        held = [host for host in hosts if host.pace.is_held(now, self._patience)]
        is_busy = any(host.pace.in_flight or (host.waiting and host not in held) for host in hosts)
        self._quiet_looks = 0 if is_busy or turns != self._turns else self._quiet_looks + 1
        for host in held if self._quiet_looks >= QUIET_LOOKS else ():
            host.pace = host.pace.with_nothing_else_to_do(now, self._patience)
            if host.pace.state is HostState.GIVEN_UP:
                self._give_up(host)
            self._move_on(host)
        if held:
            self._look_later()

    def _give_up(self, host: _Host) -> None:
        if host.pace.reason is not None:
            host.given_up = host.pace.reason.words
            host.refuse(NotAsked(host.pace.reason))


@dataclass(slots=True)
class HostSlot:
    """One request to a host, from the moment it may start to its end."""

    throttle: HostThrottle
    host: _Host
    url: str
    claim: HostLease | None = None
    wish_s: float | None = None
    is_sent: bool = False
    is_reported: bool = False

    def sent(self) -> None:
        """The request is really on its way only now: intervals count from here."""
        self.is_sent = True
        self.host.pace = self.host.pace.sent(self.throttle._clock())
        if self.claim is not None:
            self.claim.sent()

    def answered(self, status: int, wish_s: float | None = None) -> None:
        """The host has answered, with the wish to be left alone for *wish_s* seconds if it is not None."""
        throttle, host, patience = self.throttle, self.host, self.throttle._patience
        host.pace = host.pace.answered(status, wish_s, throttle._clock(), patience)
        self.wish_s, self.is_reported = wish_s, True
        if wish_s:
            is_kept = wish_s <= patience.longest_wait_s
            throttle._pauses.append(Pause(host.name, self.url, now(), wish_s, is_kept=is_kept))
            throttle.on_pause()

    def failed(self, end: ChainEnd, words: str) -> None:
        """The request got no answer; *words* say what it ran into."""
        throttle, host = self.throttle, self.host
        description = f"{words} ({self.url})"
        host.pace = host.pace.failed(end, description, throttle._clock(), throttle._patience, is_sent=self.is_sent)
        self.is_reported = True
        host.failures += 1


# -- what settings say


def patience_of(settings: BaseSettings) -> Patience:
    """Return how often, and after how long, Scrapy's *settings* want a question put again."""
    return Patience(
        settings.getint("ARKAUDIT_ATTEMPTS"),
        settings.getfloat("ARKAUDIT_BACKOFF"),
        settings.getfloat("ARKAUDIT_LONGEST_WAIT"),
    )


def routes_and_guard(settings: BaseSettings) -> tuple[Routes, AddressGuard]:
    """Return where Scrapy's *settings* let requests connect to."""
    routes = Routes.parse(settings.getlist("ARKAUDIT_CONNECT_TO"), only=settings.getbool("ARKAUDIT_ONLY_ROUTED"))
    return routes, AddressGuard.allowing(settings.getlist("ARKAUDIT_ALLOW_ADDRESSES"))


# -- which governor a crawler has

_GOVERNORS: WeakKeyDictionary[Crawler, HostThrottle] = WeakKeyDictionary()


def install_throttle(crawler: Crawler, throttle: HostThrottle) -> None:
    """Give *crawler* a governor, which it may have in common with others."""
    _GOVERNORS[crawler] = throttle


def share_pace(crawler: Crawler, settings: BaseSettings, cache: Path) -> None:
    """Give *crawler* the pace of hosts that all audits of this machine keep together, by files in *cache*."""
    install_throttle(crawler, HostThrottle.of(settings, HostFiles(cache / "hosts")))


def throttle_of(crawler: Crawler) -> HostThrottle:
    """The governor of *crawler*; one of its own, by its settings and for this process, where it was given none."""
    if crawler not in _GOVERNORS:
        install_throttle(crawler, HostThrottle.of(crawler.settings))
    return _GOVERNORS[crawler]
