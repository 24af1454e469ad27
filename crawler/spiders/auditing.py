"""The base of all spiders: what they ask for and record, how they wait, and how they stop at once.

And the run of a spider that Scrapy itself starts: its store, the processes that parse, and how it ends.
"""

from __future__ import annotations

import asyncio
import logging
from abc import abstractmethod
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
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
from crawler.politeness.throttle import share_pace, throttle_of
from crawler.spiders import settings as ours
from crawler.store import StoreUnwritable
from crawler.store.feeding import Bounds, Feed, Recorder
from crawler.store.frontier import Frontier, FrontierEntry, SettledEntry
from crawler.store.store import Recordable, Store
from crawler.store.stored_values import FINISHED, INTERRUPTED
from crawler.wire.credentialed import RecordRedactor
from crawler.wire.credentials import Credentials
from crawler.wire.middlewares import RunStopped
from extractors.isolated import document_executor

logger = logging.getLogger(__name__)


#: Seconds between two looks whether what is under way has come to its end.
_LOOK_S = 0.05

#: Settings that say what a project is, and not how requests are sent.
_OF_PROJECTS = frozenset({"BOT_NAME", "SPIDER_MODULES", "NEWSPIDER_MODULE"})
#: Settings of ours for which the value of the project counts.
_THEIRS = frozenset({"USER_AGENT", "DOWNLOAD_TIMEOUT", "TWISTED_DNS_RESOLVER"})


class OwnRun:
    """A run in the store that the setting ``ARKAUDIT_STORE`` names, or in one that is gone with the process.

    It begins with the spider, and ends when Scrapy's engine has stopped: everything is recorded by then.
    """

    def __init__(self, crawler: Crawler, *, command: str, seeds: Iterable[str]) -> None:
        settings = crawler.settings
        path = settings.get("ARKAUDIT_STORE")
        self.store = Store.open(Path(path) if path else None)
        self.resolver: str = settings.get("ARKAUDIT_RESOLVER")
        try:
            own_version = version("arkaudit")
        except PackageNotFoundError:  # run from its sources
            own_version = "unknown"
        self.run_id = self.store.begin_run(
            command=command,
            at=now(),
            version=own_version,
            resolver=self.resolver,
            user_agent=settings.get("USER_AGENT"),
            seeds=seeds,
        )
        self.executor = document_executor(1)
        self._reason = ""
        share_pace(crawler, settings, cache_folder())
        crawler.signals.connect(self._closed, signal=signals.spider_closed)
        crawler.signals.connect(self._stopped, signal=signals.engine_stopped)

    def _closed(self, reason: str) -> None:
        self._reason = reason

    def _stopped(self) -> None:
        self.executor.shutdown(wait=False)
        state = FINISHED if self._reason == "finished" else INTERRUPTED
        try:
            self.store.end_run(self.run_id, at=now(), state=state)
        except StoreUnwritable as failure:
            logger.error("%s", failure)
        self.store.close()


class AuditSpider(scrapy.Spider):
    """A spider that belongs to a run in a store, and asks for what is on the run's frontier under its name."""

    def __init__(
        self,
        *,
        store: Store,
        run_id: int,
        bounds: Bounds,
        probed_hosts: set[tuple[str, int]] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.store = store
        self.run_id = run_id
        self.store_failure: StoreUnwritable | None = None
        self.probed_hosts = probed_hosts if probed_hosts is not None else set()
        """Hosts whose certificate was looked at in this run, by either spider."""
        self.frontier = Frontier(store, run_id, self.name)
        self.recorder = Recorder(store, run_id, on_failure=self._store_failed, redact=lambda item: self.redact(item))
        self.recorder.on_add = self.recorded
        self.feed = Feed(self.frontier, self.recorder, bounds, is_idle=self._is_idle, on_lost=self.lost)
        self.own_run: OwnRun | None = None
        """What Scrapy's commands run it in; None within a run that it was given."""
        self._results: Iterator[Any] | None = None
        """What its own run has come to, as far as that was not given away; None before its end."""
        self.redact = RecordRedactor(Credentials())
        """Takes secrets out of what is recorded."""
        self.answers = AnswerReader()
        """Reads answers about ARKs, in a process that is killed where one takes too much."""
        self._stopped = asyncio.Event()
        self._later: set[asyncio.TimerHandle] = set()
        self._stopping: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None

    exported: ClassVar[type]
    """The class of the items that feeds have, unless ``item_classes`` says otherwise."""

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        super().update_settings(settings)
        _bring_settings(settings)
        feeds = settings.getdict("FEEDS")
        if feeds:
            exported = {
                uri: {**options, "item_classes": options.get("item_classes") or [cls.exported]}
                for uri, options in feeds.items()
            }
            # Above what it had: Scrapy brings the same settings in once more, and the later of two equals counts.
            settings.set("FEEDS", exported, priority=(settings.getpriority("FEEDS") or 0) + 1)

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        own_run = None
        if "store" not in kwargs:
            own_run, kwargs = cls.begin_run(crawler, kwargs)
            kwargs |= {"store": own_run.store, "run_id": own_run.run_id}
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.own_run = own_run
        if own_run is not None:  # before the extensions are made, so that feeds are still open then
            crawler.signals.connect(spider._give_what_is_left, signal=signals.spider_closed)
        crawler.signals.connect(spider._stay_for_what_waits, signal=signals.spider_idle)
        crawler.signals.connect(spider.recorder.commit, signal=signals.spider_closed)
        crawler.signals.connect(spider.answers.close, signal=signals.spider_closed)
        spider.redact = RecordRedactor.from_crawler(crawler)
        return spider

    # -- a run of its own

    @classmethod
    def begin_run(cls, crawler: Crawler, given: Mapping[str, Any]) -> tuple[OwnRun, dict[str, Any]]:
        """Begin the run of a spider that ``scrapy crawl`` has started, with the arguments that its *given* ones mean.

        Raises `scrapy.exceptions.UsageError` for a spider that has none.
        """
        raise UsageError(f"the spider {cls.name!r} runs within an audit only: see arkaudit --help")

    def results(self, *, is_whole: bool) -> Iterable[Any]:
        """Conclude the run, which has come to its end or was broken off, and return what goes to feeds for it."""
        return ()

    def _concluded(self, *, is_whole: bool) -> Iterator[Any]:
        """Return what its own run has come to, as far as it was not given away."""
        if self._results is None:
            self.recorder.commit()
            if self.store_failure is not None:  # it would be judged by less than was observed
                return iter(())
            self._results = iter(list(self.results(is_whole=is_whole)))
        return self._results

    def _give_what_is_left(self) -> None:
        """Give to feeds what the run has come to, if it ended before `start` could; pipelines are closed by now."""
        for item in self._concluded(is_whole=False):
            self.crawler.signals.send_catch_log(signals.item_scraped, item=item, response=None, spider=self)

    # -- what is asked for, and recorded

    def answered(self, response: Response, **asked: Any) -> AsyncIterator[Any]:
        """Return what `on_answer` makes of an answer: the callback of all requests."""
        assert response.request is not None
        return self._until_stopped(self.on_answer(response.request, response, **asked))

    def failed(self, failure: Failure) -> AsyncIterator[Any]:
        """Return what `on_answer` makes of none: the errback of all requests."""
        request: Request = failure.request  # type: ignore[attr-defined]
        return self._until_stopped(self.on_answer(request, None, **request.cb_kwargs))

    @staticmethod
    async def _until_stopped(outcomes: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Give *outcomes*; none of an answer that came too late to be read, which is asked for again."""
        with suppress(ReadingStopped):
            async for outcome in outcomes:
                yield outcome

    @abstractmethod
    def on_answer(self, request: Request, response: Response | None, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """The records and further requests that come of the request that a chain ended with."""

    async def start(self) -> AsyncIterator[Any]:
        try:
            async for begun in self.begin():
                yield begun
            if self.own_run is not None:
                while not self._is_idle() and not self.is_stopping:
                    await self.pause(_LOOK_S)
                if not self.is_stopping:
                    for item in self._concluded(is_whole=True):
                        yield item
        except asyncio.CancelledError:  # Ctrl-C, where Scrapy itself runs the spider
            self.drop_what_is_queued()
            raise
        except StoreUnwritable as failure:
            self._store_failed(failure)

    # For type checkers alone: feeds read every attribute of a spider, which fails for one whose metaclass is ABCMeta.
    @abstractmethod
    def begin(self) -> AsyncIterator[Any]:
        """The first requests and records, as the entries of `feed` come."""

    def lost(self, entry: FrontierEntry) -> None:
        """Settle an entry that has no outcome although nothing is under way any more: that is a fault of ours."""
        self.logger.error("%s was asked for, and nothing came of it", entry.crawl_request.url)
        self.recorder.add(self.outcome_of_lost(entry))

    def outcome_of_lost(self, entry: FrontierEntry) -> Recordable:
        """Return what is recorded of an entry that was lost on the way."""
        return SettledEntry(self.name, entry.crawl_request.canonical)

    def recorded(self, items: Sequence[Recordable]) -> None:
        """Settle on the frontier what has its outcome by *items*, which the recorder was given."""
        for item in items:
            if isinstance(item, SettledEntry):
                self.feed.note_outcome(item.canonical)
            elif isinstance(item, DocumentRecord):
                for row in item.rows:
                    if row.settles is not None:
                        self.feed.note_outcome(row.settles)

    def _is_idle(self) -> bool:
        engine = self.crawler.engine
        if engine is None or engine.scheduler is None or engine.scraper.slot is None or self._later:
            return False
        is_waiting = engine.scheduler.has_pending_requests() or bool(engine.downloader.active)
        return not is_waiting and engine.scraper.slot.is_idle()

    # -- waiting

    async def pause(self, seconds: float) -> None:
        """Wait for so long, or until the run is stopped."""
        try:
            async with asyncio.timeout(seconds):
                await self._stopped.wait()
        except TimeoutError:
            return

    def ask_now(self, request: Request) -> None:
        """Send *request* when it is its turn, unless the run is stopped."""
        engine = self.crawler.engine
        if engine is not None and engine.spider is not None and not self.is_stopping:
            engine.crawl(request)

    def ask_later(self, request: Request, wait_s: float) -> None:
        """Send *request* after so many seconds, unless the run is stopped before."""

        def ask() -> None:
            self._later.discard(timer)
            self.ask_now(request)

        if not self.is_stopping:
            logger.info(
                "%s is asked again in %.1f s", request.url, wait_s, extra={"url": request.url, "wait_s": wait_s}
            )
            timer = asyncio.get_running_loop().call_later(wait_s, ask)
            self._later.add(timer)

    def _stay_for_what_waits(self) -> None:
        if self._later and not self.is_stopping:
            raise DontCloseSpider

    # -- stopping

    @property
    def is_stopping(self) -> bool:
        """True if nothing more may be sent."""
        return self._stopped.is_set()

    def stop(self, *, reason: str) -> None:
        """Send nothing more, and end when what is in flight is done."""
        self.drop_what_is_queued()
        engine = self.crawler.engine
        if engine is not None and self._stopping is None:
            self._stopping = asyncio.ensure_future(engine.close_spider_async(reason=reason))

    async def _see_it_closed(self) -> None:
        """Have Scrapy close when its last item is done: 2.19 looks for that after responses only, not after what
        `start` has yielded, and would wait for ever.
        """
        while (engine := self.crawler.engine) is not None and engine.spider is not None:
            await asyncio.sleep(_LOOK_S)
            slot = engine.scraper.slot
            if slot is not None and slot.closing is not None and slot.is_idle() and not slot.closing.called:
                slot.closing.callback(self)

    def drop_what_is_queued(self) -> None:
        """Let nothing that waits for its turn be sent any more."""
        self._stopped.set()
        self.answers.stop()
        if self._closing is None:
            self._closing = asyncio.ensure_future(self._see_it_closed())
        self.feed.stop()
        for timer in self._later:
            timer.cancel()
        self._later.clear()
        throttle_of(self.crawler).drop_waiting(RunStopped("the run was stopped"))

    def _store_failed(self, failure: StoreUnwritable) -> None:
        if self.store_failure is None:
            self.store_failure = failure
            self.stop(reason="store-unwritable")


def _bring_settings(settings: BaseSettings) -> None:
    """Put all that our own spiders need into the *settings* of the project in which they run.

    What was given for this very run (``-s``) counts more; a project's own values of ``ARKAUDIT_…``, of ``USER_AGENT``
    and of what says how long to wait count, too.
    """
    for name in dir(ours):
        value = getattr(ours, name)
        if not name.isupper() or name in _OF_PROJECTS:
            continue
        if isinstance(value, dict) and not name.startswith("ARKAUDIT_"):
            settings.set(name, {**settings.getdict(name), **value}, priority="spider")
        else:
            is_theirs = name.startswith("ARKAUDIT_") or name in _THEIRS
            settings.set(name, value, priority="addon" if is_theirs else "spider")
