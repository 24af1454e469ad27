"""The base of all spiders: their requests and records, their waiting, and a quick stop.

It also has the run of a spider that Scrapy itself starts: its store, its parser processes, and its end.
"""

from __future__ import annotations

import asyncio
import logging
from abc import abstractmethod
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, ClassVar, Self

import scrapy
from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DontCloseSpider, UsageError
from scrapy.http import Response
from scrapy.settings import BaseSettings
from twisted.python.failure import Failure

from crawler.answers.answer_reading import AnswerReader, ReadingStopped
from crawler.model.observations import DocumentRecord, now
from crawler.model.registry import cache_folder
from crawler.model.resolving import Patience
from crawler.model.schema import FINISHED, INTERRUPTED
from crawler.politeness.throttle import patience_of, share_pace, throttle_of
from crawler.spiders import settings as ours
from crawler.store import StoreUnwritable
from crawler.store.feeding import Bounds, Feed, Recorder
from crawler.store.frontier import Frontier, FrontierEntry, SettledEntry
from crawler.store.store import Recordable, Store
from crawler.wire.credentialed import RecordRedactor
from crawler.wire.credentials import Credentials
from crawler.wire.middlewares import RunStopped
from extractors.isolated import document_executor

logger = logging.getLogger(__name__)


#: Seconds between two checks whether all open requests have ended.
_LOOK_S = 0.05
#: The reason of a spider that ended by the time limit of a check.
TIME_IS_UP = "time-is-up"

#: The number of times that an entry may be claimed before it is settled without an outcome.
MOST_CLAIMS = 3

#: Settings that describe a project, not its requests.
_PROJECT_SETTINGS = frozenset({"BOT_NAME", "SPIDER_MODULES", "NEWSPIDER_MODULE"})
#: Settings of arkaudit that a project may override.
_OVERRIDABLE = frozenset({"USER_AGENT", "DOWNLOAD_TIMEOUT", "TWISTED_DNS_RESOLVER"})


class OwnRun:
    """A run in the store of the setting ``ARKAUDIT_STORE``, or in a temporary store in memory.

    It begins with the spider, and ends when Scrapy's engine has stopped, after everything is recorded.
    """

    def __init__(self, crawler: Crawler, *, command: str, seeds: Iterable[str]) -> None:
        settings = crawler.settings
        path = settings.get("ARKAUDIT_STORE")
        self.store = Store.open(Path(path) if path else None)
        try:
            own_version = version("arkaudit")
        except PackageNotFoundError:  # run from its sources
            own_version = "unknown"
        self.run_id = self.store.begin_run(
            command=command,
            at=now(),
            version=own_version,
            resolver=settings.get("ARKAUDIT_RESOLVER"),
            user_agent=settings.get("USER_AGENT"),
            seeds=seeds,
        )
        self.executor = document_executor(1)
        self._is_finished = False
        share_pace(crawler, settings, cache_folder())
        crawler.signals.connect(self._on_spider_closed, signal=signals.spider_closed)
        crawler.signals.connect(self._on_engine_stopped, signal=signals.engine_stopped)

    def _on_spider_closed(self, spider: AuditSpider, reason: str) -> None:
        self._is_finished = reason == "finished" and not spider.lost

    def _on_engine_stopped(self) -> None:
        self.executor.shutdown(wait=False)
        state = FINISHED if self._is_finished else INTERRUPTED
        try:
            self.store.end_run(self.run_id, at=now(), state=state)
        except StoreUnwritable as failure:
            logger.error("%s", failure)
        self.store.close()


class AuditSpider(scrapy.Spider):
    """The base of a run's spiders: it sends the pending requests that the run's frontier has for this spider."""

    def __init__(
        self, *, store: Store, run_id: int, bounds: Bounds, resolver: str, patience: Patience, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.store = store
        self.run_id = run_id
        self.resolver = resolver
        self.patience = patience
        self.store_failure: StoreUnwritable | None = None
        self.frontier = Frontier(store, run_id, self.name)
        self.recorder = Recorder(store, run_id, on_failure=self._store_failed, redact=lambda item: self.redact(item))
        self.recorder.on_add = self.on_recorded
        self.feed = Feed(self.frontier, self.recorder, bounds, is_idle=self._is_idle, on_lost=self.on_lost)
        self.lost: list[str] = []
        """URLs of entries that got no outcome; the run is not finished, and requests them again when it is resumed."""
        self.bugs: list[Exception] = []
        """Exceptions that ended the requests about one ARK or document. The run continued."""
        self.own_run: OwnRun | None = None
        """The run that it started for a command of Scrapy; None within a given run."""
        self._results: Iterator[Any] | None = None
        """The results of its own run that were not yet given to feeds; None before its end."""
        self.redact = RecordRedactor(Credentials())
        """Removes secrets from records."""
        self.answers = AnswerReader()
        """Reads answers about ARKs, in a process that is killed if an answer exceeds the limits."""
        self._stopped = asyncio.Event()
        self._later: set[asyncio.TimerHandle] = set()
        self._stopping: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None

    exported: ClassVar[type]
    """The class of the items for feeds, unless ``item_classes`` selects another one."""

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        """Put the settings of arkaudit's spiders into the *settings* of a project, and `exported` into its feeds.

        Values for this run (``-s``) have priority. So have the project's values of ``ARKAUDIT_…``, ``USER_AGENT`` and
        timeouts.
        """
        super().update_settings(settings)
        for name in dir(ours):
            value = getattr(ours, name)
            if not name.isupper() or name in _PROJECT_SETTINGS:
                continue
            if isinstance(value, dict) and not name.startswith("ARKAUDIT_"):
                settings.set(name, {**settings.getdict(name), **value}, priority="spider")
            else:
                may_be_overridden = name.startswith("ARKAUDIT_") or name in _OVERRIDABLE
                settings.set(name, value, priority="addon" if may_be_overridden else "spider")
        feeds = settings.getdict("FEEDS")
        if feeds:
            exported = {
                uri: {**options, "item_classes": options.get("item_classes") or [cls.exported]}
                for uri, options in feeds.items()
            }
            # A higher priority than before: Scrapy applies the same settings again, and the later of two equals counts.
            settings.set("FEEDS", exported, priority=(settings.getpriority("FEEDS") or 0) + 1)

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        own_run = None
        if "store" not in kwargs:
            own_run, kwargs = cls.begin_run(crawler, kwargs)
            kwargs |= {"store": own_run.store, "run_id": own_run.run_id}
        settings = crawler.settings
        kwargs |= {"resolver": settings["ARKAUDIT_RESOLVER"], "patience": patience_of(settings)}
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.own_run = own_run
        # Before the extensions are made, so that feeds are still open then.
        if own_run is not None:
            crawler.signals.connect(spider._send_rest_to_feeds, signal=signals.spider_closed)
        crawler.signals.connect(spider._keep_open_for_timers, signal=signals.spider_idle)
        crawler.signals.connect(spider._begin_recording, signal=signals.spider_opened)
        crawler.signals.connect(spider._end_recording, signal=signals.spider_closed)
        crawler.signals.connect(spider.answers.close, signal=signals.spider_closed)
        spider.redact = RecordRedactor.from_crawler(crawler)
        return spider

    # -- a run of its own

    @classmethod
    def begin_run(cls, crawler: Crawler, given: Mapping[str, Any]) -> tuple[OwnRun, dict[str, Any]]:
        """Begin the run of a spider that ``scrapy crawl`` started with the arguments *given*.

        Return the run, and the arguments for the spider.

        Raises `scrapy.exceptions.UsageError` for a spider that can't run alone.
        """
        raise UsageError(f"the spider {cls.name!r} runs within an audit only: see arkaudit --help")

    def results(self, *, is_whole: bool) -> Iterable[Any]:
        """Conclude the run, complete (*is_whole*) or not, and return its items for feeds."""
        return ()

    def _own_results(self, *, is_whole: bool) -> Iterator[Any]:
        """Yield the results of the spider's own run that were not yet given to feeds."""
        if self._results is None:
            self.recorder.commit()
            # Observations are missing, so verdicts would be wrong.
            if self.store_failure is not None:
                return iter(())
            self._results = iter(list(self.results(is_whole=is_whole)))
        return self._results

    def _send_rest_to_feeds(self) -> None:
        """Give remaining results to feeds if the run ended before `start` could; pipelines are closed by now."""
        for item in self._own_results(is_whole=False):
            self.crawler.signals.send_catch_log(signals.item_scraped, item=item, response=None, spider=self)

    # -- requests and records

    def handle_answer(self, response: Response, **asked: Any) -> AsyncIterator[Any]:
        """Yield the results of `on_answer` for *response* and *asked*: the callback of all requests."""
        assert response.request is not None
        return self._until_stopped(self.on_answer(response.request, response, **asked))

    def handle_failure(self, failure: Failure) -> AsyncIterator[Any]:
        """Yield the results of `on_answer` without an answer: the errback of all requests."""
        request: Request = failure.request  # type: ignore[attr-defined]
        return self._until_stopped(self.on_answer(request, None, **request.cb_kwargs))

    @staticmethod
    async def _until_stopped(outcomes: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Yield *outcomes*, but end if the run is stopped. A resumed run repeats the request."""
        with suppress(ReadingStopped):
            async for outcome in outcomes:
                yield outcome

    @abstractmethod
    def on_answer(self, request: Request, response: Response | None, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """Yield the records and further requests after the request that ended a chain."""

    async def start(self) -> AsyncIterator[Any]:
        try:
            async for first_item in self.begin():
                yield first_item
            if self.own_run is not None:
                while not self._is_idle() and not self.is_stopping:
                    await self.pause(_LOOK_S)
                if not self.is_stopping:
                    for item in self._own_results(is_whole=True):
                        yield item
        except asyncio.CancelledError:  # Ctrl-C, if Scrapy itself runs the spider
            self.drop_what_is_queued()
            raise
        except StoreUnwritable as failure:
            self._store_failed(failure)

    # For type checkers only: feeds read every attribute of a spider, which fails with the metaclass ABCMeta.
    @abstractmethod
    def begin(self) -> AsyncIterator[Any]:
        """Yield the first request or record for each entry of the frontier, in the order of `feed`."""

    def on_bug(self, bug: Exception) -> None:
        """Log and keep an exception that ended the requests about one ARK or document. The run continues."""
        self.logger.error("%s: %s", type(bug).__name__, bug, exc_info=bug)
        self.bugs.append(bug)

    def on_lost(self, entry: FrontierEntry) -> None:
        """Leave *entry* open, which has no outcome although all requests have ended; this is a bug.

        A resumed run requests it again. After `MOST_CLAIMS` attempts it gets the outcome of `outcome_of_lost`.
        """
        self.logger.error("%s was requested, but got no outcome", entry.crawl_request.url)
        if entry.attempts < MOST_CLAIMS:
            self.lost.append(entry.crawl_request.url)
        else:
            self.recorder.add(self.outcome_of_lost(entry))

    def outcome_of_lost(self, entry: FrontierEntry) -> Recordable:
        """Return the record for an entry whose requests all ended without an outcome."""
        return SettledEntry(self.name, entry.crawl_request.canonical)

    def on_recorded(self, items: Sequence[Recordable]) -> None:
        """Complete the entries of the frontier that have their outcome in *items*, which were recorded."""
        for item in items:
            if isinstance(item, SettledEntry):
                self.feed.note_outcome(item.canonical)
            elif isinstance(item, DocumentRecord):
                for row in item.rows:
                    if row.settles is not None:
                        self.feed.note_outcome(row.settles)

    def _begin_recording(self) -> None:
        """Record the pauses of hosts when they are asked for, and the traffic with other records.

        A turn is counted before its request is sent. It is recorded within `crawler.store.feeding.COMMIT_AFTER_S`, even
        without an answer, and never later than its answer. A killed run may lose the turns of this time.
        """
        throttle = throttle_of(self.crawler)
        self.recorder.further_items = lambda: [self.redact(traffic) for traffic in throttle.take_traffic()]
        throttle.on_turn = self.recorder.add
        throttle.on_pause = self._record_pauses

    def _record_pauses(self) -> None:
        self.recorder.add(*throttle_of(self.crawler).take_pauses())
        self.recorder.commit()

    def _end_recording(self) -> None:
        throttle = throttle_of(self.crawler)
        throttle.on_turn = throttle.on_pause = lambda: None
        self._record_pauses()

    def _is_idle(self) -> bool:
        engine = self.crawler.engine
        if engine is None or engine.scheduler is None or engine.scraper.slot is None or self._later:
            return False
        is_waiting = engine.scheduler.has_pending_requests() or bool(engine.downloader.active)
        return not is_waiting and engine.scraper.slot.is_idle()

    # -- waiting

    async def pause(self, seconds: float) -> None:
        """Wait for *seconds*, or until the run is stopped."""
        try:
            async with asyncio.timeout(seconds):
                await self._stopped.wait()
        except TimeoutError:
            return

    def ask_now(self, request: Request) -> None:
        """Queue *request*, unless the run is stopped."""
        engine = self.crawler.engine
        if engine is not None and engine.spider is not None and not self.is_stopping:
            engine.crawl(request)

    def ask_later(self, request: Request, wait_s: float) -> None:
        """Queue *request* after *wait_s* seconds, unless the run is stopped before."""

        def ask() -> None:
            self._later.discard(timer)
            self.ask_now(request)

        if not self.is_stopping:
            logger.info(
                "%s is requested again in %.1f s", request.url, wait_s, extra={"url": request.url, "wait_s": wait_s}
            )
            timer = asyncio.get_running_loop().call_later(wait_s, ask)
            self._later.add(timer)

    def _keep_open_for_timers(self) -> None:
        if self._later and not self.is_stopping:
            raise DontCloseSpider

    # -- stopping

    @property
    def is_stopping(self) -> bool:
        """True if no more requests may be sent."""
        return self._stopped.is_set()

    def stop(self, *, reason: str) -> None:
        """Send no more requests, and end when the open ones are done."""
        self.drop_what_is_queued()
        engine = self.crawler.engine
        if engine is not None and self._stopping is None:
            self._stopping = asyncio.ensure_future(engine.close_spider_async(reason=reason))

    async def _close_scrapy(self) -> None:
        """Close Scrapy when its last item is done.

        Scrapy 2.19 checks this only after responses, not after items from `start`, and would wait for ever.
        """
        while (engine := self.crawler.engine) is not None and engine.spider is not None:
            await asyncio.sleep(_LOOK_S)
            slot = engine.scraper.slot
            if slot is not None and slot.closing is not None and slot.is_idle() and not slot.closing.called:
                slot.closing.callback(self)

    def end_after(self, seconds: float | None, end: Callable[[], None]) -> None:
        """Call *end* after *seconds*, if given, unless the spider closes before."""
        if seconds is not None:
            timer = asyncio.get_running_loop().call_later(seconds, end)
            self.crawler.signals.connect(timer.cancel, signal=signals.spider_closed, weak=False)

    def drop_what_is_queued(self) -> None:
        """Drop all queued and delayed requests, and let no further ones be sent."""
        self._stopped.set()
        self.answers.stop()
        if self._closing is None:
            self._closing = asyncio.ensure_future(self._close_scrapy())
        self.feed.stop()
        for timer in self._later:
            timer.cancel()
        self._later.clear()
        throttle_of(self.crawler).drop_waiting(RunStopped("the run was stopped"))

    def _store_failed(self, failure: StoreUnwritable) -> None:
        if self.store_failure is None:
            self.store_failure = failure
            self.stop(reason="store-unwritable")
