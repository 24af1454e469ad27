"""Live progress on a terminal, plain lines in a log; always on standard error."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from scrapy import signals
from scrapy.crawler import Crawler

from arkaudit.exits import quiet
from arkaudit.forecast import LEAST_AN_ARK, MOST_AN_ARK, duration
from arkaudit.logs import LINE_EVERY_S
from crawler.mementos import MementoRecord
from crawler.observations import DocumentRecord, Observation, Question
from crawler.politeness.pacing import host_of
from reports.display import counted

# Pure: how long a run that asks about ARKs still takes: as long as the host that takes longest, at its own pace.


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


#: Seconds between two looks at what is left, which takes a look at every host.
_LOOK_EVERY_S = 1.0
#: Seconds of a stage before a rate, and a time that is left, say something.
_TELLING_S = 5.0
#: Verdicts between two looks at how many there are.
_VERDICTS_AT_A_TIME = 100
#: What comes after all that was asked for; when it has ended, there is nothing to report of it.
JUDGING = "verdicts"


class RunProgress:
    """Watches the spiders of a run: how many documents were read, how many URLs of ARKs were asked."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_interactive or quiet.is_on,
        )
        self._task: TaskID | None = None
        self._stage = ""
        self._done = 0
        self._total: int | None = None
        self._citations = 0
        self._requests = 0
        self._waiting: HostsLeft | None = None
        self._urls: set[str] | None = None
        self._begun = self._last_line = time.monotonic()
        self._looked = -_LOOK_EVERY_S
        self._left = self._short = ""

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()
        if self._stage not in ("", JUDGING):
            self._print()

    def stage(
        self,
        name: str,
        total: int | None,
        *,
        done: int = 0,
        urls: set[str] | None = None,
        waiting: Callable[[], HostsLeft] | None = None,
    ) -> None:
        """Another part of the run begins; *total* is how many of its things there are, where that is known.

        So many were *done* before the run was interrupted; *waiting* tells of which hosts the others are asked, by
        which *urls*: what is asked besides, for other readings of a doubtful ARK, is none of the total.
        """
        if self._stage:
            self._print()
        self._stage, self._done, self._total, self._requests = name, done, total, 0
        self._waiting = waiting() if waiting is not None else None
        self._urls = urls  # ours from now on: there may be many
        self._begun, self._left, self._short = time.monotonic(), "", ""
        if self._task is not None:
            self._bar.remove_task(self._task)
        self._task = self._bar.add_task(name, total=total)

    def watch(self, crawler: Crawler) -> None:
        """Follow what a crawler's spider yields."""
        crawler.signals.connect(self.seen, signal=signals.item_scraped, weak=False)

    def seen(self, item: object) -> None:
        """One more item: a document, an answer."""
        match item:
            case DocumentRecord():
                self._done += len(item.rows)
                self._citations += len({cited.mention.citation for cited in item.mentions})
            case Observation():
                is_first = (
                    item.question is Question.OBJECT and item.attempt == 1 and self._is_expected(item.request_url)
                )
                self._done += is_first
                if is_first and self._waiting is not None:
                    self._waiting.asked(item.request_url, time.monotonic())
                self._requests += sum(hop.sent for hop in item.hops)
            case MementoRecord():
                self._done += 1
                self._requests += sum(hop.sent for hop in item.hops)
            case _:
                return
        self._tell()

    def _is_expected(self, url: str) -> bool:
        """Return whether a URL is one of those of the stage that has not been asked yet."""
        if self._urls is None:
            return True
        is_expected = url in self._urls
        self._urls.discard(url)
        return is_expected

    def judged(self) -> None:
        """One more ARK has a verdict."""
        self._done += 1
        if self._done % _VERDICTS_AT_A_TIME == 0:
            self._tell()

    def _tell(self) -> None:
        now = time.monotonic()
        if self._waiting is not None and now - self._looked >= _LOOK_EVERY_S and now - self._begun >= _TELLING_S:
            self._looked = now
            slowest = self._waiting.slowest(now)
            self._left = time_left(self._requests, now - self._begun, slowest)
            self._short = f", about {duration(slowest.seconds)} left" if slowest is not None else ""
        if self._task is not None:
            words = f"{self._line()}{self._short}"
            self._bar.update(self._task, total=self._total, completed=self._done, description=words)
        if not self._console.is_interactive and now - self._last_line >= LINE_EVERY_S:
            self._last_line = now
            self._print(self._left)

    def _print(self, left: str = "") -> None:
        if not quiet.is_on:
            self._console.print(f"{self._line()}{left}", highlight=False, soft_wrap=True)

    def _line(self) -> str:
        of = "" if self._total is None else f" of {self._total:,}"
        more = {"documents": counted(self._citations, "citation"), JUDGING: ""}
        rest = more.get(self._stage, counted(self._requests, "request"))
        return f"{self._stage}: {self._done:,}{of}{f', {rest}' if rest else ''}"


def time_left(requests: int, seconds: float, slowest: SlowestHost | None) -> str:
    """Return how fast it goes, and how long it still takes, as the end of a line.

    >>> time_left(90, 45.0, SlowestHost("https://n2t.net", 7200, 23040.0))
    ', 120 a minute; about 6 h left, for https://n2t.net is still asked for 7,200 URLs'
    """
    rate = f", {60 * requests / seconds:,.0f} a minute"
    if slowest is None:
        return rate
    urls = counted(slowest.left, "URL")
    return f"{rate}; about {duration(slowest.seconds)} left, for {slowest.host} is still asked for {urls}"
