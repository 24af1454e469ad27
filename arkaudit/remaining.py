"""Pure: how long a run that asks about ARKs still takes: as long as the host that takes longest, at its own pace."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from arkaudit.forecast import LEAST_AN_ARK, MOST_AN_ARK
from crawler.politeness.pacing import host_of

#: Requests that an ARK is reckoned to take, until it is seen how long its host takes.
_REQUESTS_AN_ARK: Final = (LEAST_AN_ARK + MOST_AN_ARK) / 2
#: ARKs of a host after which its own pace counts: its answers take time, and it may have asked to be left alone.
_ENOUGH: Final = 10
#: ARKs of a host whose pace counts: the last of them.
_LAST: Final = 40


@dataclass(frozen=True, slots=True)
class SlowestHost:
    """The host for which all others are waited for."""

    host: str
    left: int
    """ARKs that it is still to be asked about."""
    seconds: float


class HostsLeft:
    """The ARKs that are still to be asked about, by host; *urls* ask for them, *interval_of* says in seconds how often.

    >>> left = HostsLeft([f"https://a.example/ark:/12x45/{n}" for n in range(100)], lambda host: 1.0)
    >>> left.slowest(now=0.0).seconds
    320.0
    """

    def __init__(self, urls: Iterable[str], interval_of: Callable[[str], float]) -> None:
        self._left = Counter(map(host_of, urls))
        self._interval_s = {host: interval_of(host) for host in self._left}  # once: it may take long
        self._last: dict[str, deque[float]] = {}

    def asked(self, url: str, now: float) -> None:
        """The first question about an ARK has been answered; *now* is by any clock in seconds that goes forward."""
        host = host_of(url)
        if self._left[host] > 0:
            self._left[host] -= 1
            self._last.setdefault(host, deque(maxlen=_LAST)).append(now)

    def slowest(self, now: float) -> SlowestHost | None:
        """The host that takes longest from *now* on; None when all were asked."""
        waiting = (SlowestHost(host, left, left * self._pace_s(host, now)) for host, left in self._left.items() if left)
        return max(waiting, key=lambda each: (each.seconds, each.host), default=None)

    def _pace_s(self, host: str, now: float) -> float:
        """The time for an ARK of a host: as the last ones took, or as it is planned.

        The first ones of a host take longest: by them it is learned what it gives, and what need not be asked again.
        """
        last = self._last.get(host)
        if last is None or len(last) <= _ENOUGH:
            return self._interval_s[host] * _REQUESTS_AN_ARK
        return (now - last[0]) / (len(last) - 1)
