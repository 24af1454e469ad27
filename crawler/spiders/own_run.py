"""The run of a spider that Scrapy itself starts: its store, the processes that parse, and how it ends."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy import signals

from crawler.addon import share_pace
from crawler.attempts import Patience
from crawler.parsers import source_worker
from crawler.sources.source_reader import SourceWorker
from crawler.storage.errors import StoreUnwritable
from crawler.storage.store import FINISHED, Store
from extractors.ark import Ark
from extractors.isolated import DocumentWorker, document_worker

if TYPE_CHECKING:
    from collections.abc import Iterable

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
            at=_now(),
            version=_version(),
            resolver=self.resolver,
            user_agent=settings.get("USER_AGENT"),
            seeds=seeds,
        )
        self.worker: DocumentWorker = document_worker()
        self.source_worker: SourceWorker = source_worker()
        self.patience = Patience(
            settings.getint("ARKAUDIT_ATTEMPTS"),
            settings.getfloat("ARKAUDIT_BACKOFF"),
            settings.getfloat("ARKAUDIT_LONGEST_WAIT"),
        )
        self.targets: list[tuple[Ark, str]] = []
        """What is checked, also examples, which are never asked for."""
        self._reason = ""
        share_pace(crawler, settings)
        crawler.signals.connect(self._closed, signal=signals.spider_closed)
        crawler.signals.connect(self._stopped, signal=signals.engine_stopped)

    def _closed(self, reason: str) -> None:
        self._reason = reason

    def _stopped(self) -> None:
        self.worker.close()
        self.source_worker.close()
        try:
            self.store.end_run(self.run_id, at=_now(), state=FINISHED if self._reason == "finished" else "interrupted")
        except StoreUnwritable as failure:
            logger.error("%s", failure)
        self.store.close()


def _version() -> str:
    try:
        return version("arkaudit")
    except PackageNotFoundError:  # run from its sources
        return "unknown"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
