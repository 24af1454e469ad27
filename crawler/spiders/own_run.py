"""The run of a spider that Scrapy itself starts: its store, the processes that parse, and how it ends."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import signals

from crawler.model.crawl_requests import Extent
from crawler.model.observations import Verdict, now
from crawler.model.registry import cache_folder
from crawler.model.registry import load as load_registry
from crawler.model.resolving import sendable
from crawler.politeness.throttle import patience_of, share_pace
from crawler.runs.doubtful_mentions import conclude_documents
from crawler.runs.judging import Background, judge_run, judge_settled
from crawler.sources.gate import CrawlPlan, LinkPatterns, Rules
from crawler.sources.source_reading import SourceWorker
from crawler.spiders.conversation import AskingRules
from crawler.spiders.document_reading import source_worker
from crawler.spiders.items import CheckedArk, checked_ark
from crawler.spiders.seeds import Seeds, targets_in, words_of
from crawler.store import StoreUnwritable
from crawler.store.store import FINISHED, Store
from extractors.documents import document_name
from extractors.isolated import DocumentWorker, document_worker

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)


class OwnRun:
    """A run in the store that the setting ``ARKAUDIT_STORE`` names, or in one that is gone with the process.

    It begins with the spider, and ends when Scrapy's engine has stopped: everything is recorded by then.
    """

    def __init__(self, crawler: Crawler, *, command: str, seeds: Iterable[str]) -> None:
        settings = crawler.settings
        path = settings.get("ARKAUDIT_STORE")
        self.store = Store.open(Path(path) if path else None)
        self.resolver: str = settings.get("ARKAUDIT_RESOLVER")
        self.run_id = self.store.begin_run(
            command=command,
            at=now(),
            version=_version(),
            resolver=self.resolver,
            user_agent=settings.get("USER_AGENT"),
            seeds=seeds,
        )
        self.worker: DocumentWorker = document_worker()
        self.source_worker: SourceWorker = source_worker()
        self.patience = patience_of(settings)
        self._items: deque[Any] | None = None
        """The items that come of the run at its end, and are not given away yet; None before."""
        self._reason = ""
        share_pace(crawler, settings, cache_folder())
        crawler.signals.connect(self._closed, signal=signals.spider_closed)
        crawler.signals.connect(self._stopped, signal=signals.engine_stopped)

    def conclude(self) -> None:
        """Conclude the run, now that all has its outcome."""
        self._items = deque(self._concluded())

    def break_off(self) -> None:
        """Keep what a run has come to that ended too early, unless it was concluded."""
        if self._items is None:
            self._items = deque(self._broken_off())

    def items(self) -> Iterator[Any]:
        """Give away the items that came of the end of the run, each once."""
        while self._items:
            yield self._items.popleft()

    def _concluded(self) -> Iterable[Any]:
        return ()

    def _broken_off(self) -> Iterable[Any]:
        return ()

    def _closed(self, reason: str) -> None:
        self._reason = reason

    def _stopped(self) -> None:
        self.worker.close()
        self.source_worker.close()
        try:
            self.store.end_run(
                self.run_id,
                at=now(),
                state=FINISHED if self._reason == "finished" else "interrupted",
            )
        except StoreUnwritable as failure:
            logger.error("%s", failure)
        self.store.close()


class ArksRun(OwnRun):
    """A check of the ARKs and URLs in *arks*, between blanks or commas, or in the file *arks_from*, one a line."""

    def __init__(self, crawler: Crawler, given: Mapping[str, Any]) -> None:
        others = dict(given)
        named = words_of(str(others.pop("arks", "")))
        if "arks_from" in others:
            named += Path(str(others.pop("arks_from"))).read_text("utf-8").splitlines()
        resolver = crawler.settings.get("ARKAUDIT_RESOLVER")
        self._targets, faults = targets_in(filter(None, map(str.strip, named)), resolver=resolver)
        for fault in faults:
            logger.warning(fault)
        if not self._targets:
            logger.warning("there is nothing to check: give -a arks=ARK")
        super().__init__(crawler, command="check", seeds=named)
        self._registry = load_registry(cache_folder())
        self.arguments: dict[str, Any] = others | {
            "store": self.store,
            "run_id": self.run_id,
            "targets": self._targets,
            "rules": AskingRules(
                registry=self._registry, resolver=self.resolver, patience=self.patience
            ),
        }

    def _concluded(self) -> list[CheckedArk]:
        return self._checked(judge_run)

    def _broken_off(self) -> list[CheckedArk]:
        return self._checked(judge_settled)

    def _checked(self, judge: Callable[..., None]) -> list[CheckedArk]:
        """Judge what was answered, in the order of the targets."""
        verdicts: list[Verdict] = []
        judge(
            self.store,
            self.run_id,
            self._targets,
            Background(self._registry),
            on_verdict=verdicts.append,
        )
        return list(map(checked_ark, verdicts))


class DocumentsRun(OwnRun):
    """A crawl of *seeds*, between blanks, with *scope*, *include* and *exclude* as the options of the command."""

    def __init__(self, crawler: Crawler, given: Mapping[str, Any]) -> None:
        others = dict(given)
        seeds = Seeds.of(str(others.pop("seeds", "")).split())
        if not seeds.urls and not seeds.files:
            logger.warning("there is nothing to crawl: give -a seeds=URL")
        depth = crawler.settings.getint("DEPTH_LIMIT")
        include, exclude = (
            LinkPatterns(str(others.pop(name, "")).split()) for name in ("include", "exclude")
        )
        plan = CrawlPlan(
            year=datetime.now(UTC).year,
            urls=tuple(map(sendable, seeds.urls)),
            orders={
                sendable(name) if "://" in name else name: order
                for name, order in seeds.orders.items()
            },
            rules=Rules(depth=depth or None, include=include, exclude=exclude),
            extent=Extent(others.pop("scope", Extent.SITE)),
        )
        super().__init__(
            crawler, command="crawl", seeds=[*seeds.urls, *map(document_name, seeds.files)]
        )
        self.arguments: dict[str, Any] = others | {
            "store": self.store,
            "run_id": self.run_id,
            "plan": plan,
            "files": seeds.files,
            "source_files": seeds.named_files,
            "resolver": self.resolver,
            "worker": self.worker,
            "source_worker": self.source_worker,
            "patience": self.patience,
        }

    def _concluded(self) -> Iterable[Any]:
        """Settle who found what, and what was doubtful, as `arkaudit crawl` does at its end."""
        conclude_documents(
            self.store, self.run_id, load_registry(cache_folder()), resolver=self.resolver
        )
        return ()


def _version() -> str:
    try:
        return version("arkaudit")
    except PackageNotFoundError:  # run from its sources
        return "unknown"
