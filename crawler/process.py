"""Runs spiders one after the other in one process, because Twisted's reactor can be started only once."""

from __future__ import annotations

import asyncio
import logging
import resource
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from scrapy import Spider, signals
from scrapy.crawler import AsyncCrawlerProcess, Crawler
from scrapy.settings import Settings
from twisted.python.failure import Failure

from crawler.model.registry import cache_folder
from crawler.politeness.host_files import HostFiles
from crawler.politeness.throttle import HostThrottle, install_throttle
from crawler.spiders import settings as ours
from crawler.spiders.auditing import TIME_IS_UP, AuditSpider
from extractors.model.errors import RunInterrupted


def _enabled(components: Mapping[str, int | None]) -> dict[str, int | None]:
    return {name: order for name, order in components.items() if order is not None}


#: Settings of the command, which has its own reporting and storage in place of Scrapy's extensions.
_COMMAND_SETTINGS = {
    "SPIDER_MODULES": [],  # stages name their classes
    "LOG_INSTALL_ROOT_HANDLER": False,  # default True. The command says where its log goes (arkaudit/output/logs.py).
    "STATS_DUMP": False,  # default True.
    "STATS_CLASS": "scrapy.statscollectors.DummyStatsCollector",  # default in memory. Its counts are not used.
    "EXTENSIONS_BASE": {  # default eleven. Those set to None are imported nevertheless: with aiohttp, 0.2 s.
        # Left out: CoreStats (its counts are not used, and it is called for each answer and item), TelnetConsole and
        # RemoteControl (no listening sockets), LogCount and LogStats (the command has its own progress), MemoryUsage
        # and MemoryDebugger (memory is bounded in crawler/store/feeding.py), CloseSpider (--max-pages and --max-time
        # end a crawl), FeedExporter and SpiderState (everything is in the store), AutoThrottle (hosts have their own
        # throttle).
    },
    "EXTENSIONS": _enabled(ours.EXTENSIONS),
    "DOWNLOADER_MIDDLEWARES_BASE": {  # default fourteen; the one for cookies imports tldextract and requests.
        "scrapy.downloadermiddlewares.downloadtimeout.DownloadTimeoutMiddleware": 350,
        "scrapy.downloadermiddlewares.defaultheaders.DefaultHeadersMiddleware": 400,
        "scrapy.downloadermiddlewares.useragent.UserAgentMiddleware": 500,
        "scrapy.downloadermiddlewares.httpproxy.HttpProxyMiddleware": 750,
        # Left out: those that the project's settings switch off, and DownloaderStats, which serializes each request
        # again to count its bytes.
    },
    "DOWNLOADER_MIDDLEWARES": _enabled(ours.DOWNLOADER_MIDDLEWARES),
    "SPIDER_MIDDLEWARES_BASE": {},
    "SPIDER_MIDDLEWARES": _enabled(ours.SPIDER_MIDDLEWARES),
}
#: The number of files and sockets for a run with a thousand hosts; many shells allow 1024.
FILES = 8192


@dataclass(frozen=True, slots=True)
class SpiderStage:
    """A spider and the function that returns its arguments when its turn comes."""

    spider: type[Spider]
    arguments: Callable[[], Mapping[str, Any]]


class _Process(AsyncCrawlerProcess):
    """Scrapy's process with less logging, which stops at the first signal."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)  # sets the levels of its loggers itself
        is_debugged = logging.getLogger(__name__).isEnabledFor(logging.DEBUG)
        logging.getLogger("scrapy").setLevel(logging.INFO if is_debugged else logging.ERROR)
        logging.getLogger("twisted").setLevel(logging.CRITICAL)

    async def stop(self) -> None:
        for spider in _audit_spiders(self):
            spider.drop_what_is_queued()
        await super().stop()


@dataclass(slots=True)
class RunFaults:
    """The faults of arkaudit that a run survived."""

    bugs: list[BaseException] = field(default_factory=list)
    """Exceptions of callbacks and tasks; each may cost an answer or a document."""
    lost: list[str] = field(default_factory=list)
    """URLs that were requested, but got no outcome; their frontier entries stay open."""


def run_stages(
    stages: Sequence[SpiderStage],
    settings: Mapping[str, Any],
    *,
    faults: RunFaults,
    on_start: Callable[[Crawler], None],
) -> None:
    """Run *stages* in order, with the project's settings and *settings* over them. Each crawler is given to *on_start*.

    Faults that do not end the run are added to *faults*.

    Raises `crawler.store.StoreUnwritable` if the store failed, and `RunInterrupted` if a signal or a time limit ended
    the run. A process can do this once. The user's own scrapy.cfg is ignored.
    """
    all_settings = command_settings(settings)
    request_limit = _most_at_once(_files_at_once())
    all_settings.set(
        "CONCURRENT_REQUESTS", min(all_settings.getint("CONCURRENT_REQUESTS"), request_limit), priority="cmdline"
    )
    process = _Process(all_settings)
    throttle = HostThrottle.from_settings(all_settings, HostFiles(cache_folder() / "hosts"))
    failures: list[BaseException] = []

    def collect(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        loop.default_exception_handler(context)
        if "exception" in context:
            faults.bugs.append(context["exception"])

    def prepare(crawler: Crawler) -> None:
        crawler.signals.connect(spider_failed, signal=signals.spider_error)
        on_start(crawler)

    def spider_failed(failure: Failure) -> None:
        assert failure.value is not None
        faults.bugs.append(failure.value)

    async def all_stages() -> None:
        """Run the stages in turn, then stop the reactor."""
        asyncio.get_running_loop().set_exception_handler(collect)
        try:
            for stage in stages:
                throttle.begin_stage()
                await _run(process, stage, throttle, prepare, faults)
        except BaseException as failure:
            failures.append(failure)
        finally:
            asyncio.get_running_loop().call_soon(process._stop_reactor)

    task = asyncio.get_event_loop().create_task(all_stages())
    with _restore_handlers():
        try:
            process.start(stop_after_crawl=False)
        finally:
            _stop_threads()
    if not task.done():
        for spider in _audit_spiders(process):  # record the last observations
            spider.recorder.commit()
            spider.answers.close()
        raise RunInterrupted(at_once=True)
    if failures:
        raise failures[0]


def command_settings(settings: Mapping[str, Any]) -> Settings:
    """Return Scrapy's settings for a run of the command: the project's, the command's own, and *settings* over them."""
    all_settings = Settings()
    all_settings.setmodule("crawler.spiders.settings", priority="project")
    all_settings.setdict(_COMMAND_SETTINGS | dict(settings), priority="cmdline")
    return all_settings


def _stop_threads() -> None:
    """Stop the reactor's threads if the reactor has not done so; otherwise they run forever.

    The reactor's loop can end without stopping them: by Ctrl-C during its shutdown, after the handlers were restored.
    """
    from twisted.internet import reactor

    thread_pool = getattr(reactor, "threadpool", None)
    if thread_pool is not None and not thread_pool.joined:
        thread_pool.stop()


def _audit_spiders(process: AsyncCrawlerProcess) -> Iterator[AuditSpider]:
    return (crawler.spider for crawler in process.crawlers if isinstance(crawler.spider, AuditSpider))


@contextmanager
def _restore_handlers() -> Iterator[None]:
    """Restore the handlers of signals after the loop, so that Ctrl-C can interrupt the work after it."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _files_at_once() -> int:
    """Raise this process's limit of open files as far as needed and allowed, and return it."""
    soft_limit, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted_limit = FILES if hard_limit == resource.RLIM_INFINITY else min(FILES, hard_limit)
    if soft_limit == resource.RLIM_INFINITY or soft_limit >= wanted_limit:
        return FILES
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted_limit, hard_limit))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def _most_at_once(files: int) -> int:
    """Return the number of requests that may be in flight with a limit of *files* open files.

    A request takes a socket, its host's file, and perhaps an idle socket.

    >>> _most_at_once(8192), _most_at_once(256)
    (2664, 18)
    """
    return max((files - 200) // 3, 1)


async def _run(
    process: AsyncCrawlerProcess,
    stage: SpiderStage,
    throttle: HostThrottle,
    on_start: Callable[[Crawler], None],
    faults: RunFaults,
) -> None:
    """Run the spider of a *stage*, and add its faults to *faults*."""
    crawler = process.create_crawler(stage.spider)
    install_throttle(crawler, throttle)
    on_start(crawler)
    end_reasons: list[str] = []

    def note_end(reason: str) -> None:
        end_reasons.append(reason)

    crawler.signals.connect(note_end, signal=signals.spider_closed)
    await process.crawl(crawler, **stage.arguments())
    spider = crawler.spider
    if isinstance(spider, AuditSpider):
        faults.bugs += spider.bugs
        faults.lost += spider.lost
        if spider.store_failure is not None:
            raise spider.store_failure
    if {"shutdown", TIME_IS_UP} & set(end_reasons):
        raise RunInterrupted(is_by_time=TIME_IS_UP in end_reasons)
