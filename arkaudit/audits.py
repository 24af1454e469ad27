"""What the verbs have in common: a run in a store, its stages, and how it ends."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from scrapy.crawler import Crawler

from arkaudit import __version__
from arkaudit.config import Config
from arkaudit.progress import RunProgress
from arkaudit.seeds import Seeds
from crawler.judging import judge_run
from crawler.observations import Verdict
from crawler.process import RunInterrupted, Stage, run_stages
from crawler.spiders.arks import ArksSpider
from crawler.spiders.documents import DocumentsSpider, DocumentWorker, document_name
from crawler.store import Store, StoreUnwritable
from extractors.ark import Ark
from extractors.extraction import extract
from extractors.worker import Worker

#: What one document may take to be parsed. Bombs use all of it, so it is also what they cost.
PARSING_S = 60.0
PARSING_BYTES = 2**30

Target = tuple[Ark, str]


def document_worker() -> DocumentWorker:
    """The process that parses what might crash or hang its parser."""
    return Worker(extract, timeout_s=PARSING_S, memory_bytes=PARSING_BYTES)


def audit(
    config: Config,
    store: Store,
    *,
    command: str,
    seeds: Seeds | None = None,
    targets: Sequence[Target] | None = None,
    resolve: bool = True,
    on_start: Callable[[Crawler], None] | None = None,
    console: Console,
) -> tuple[int, list[Verdict]]:
    """One run: the documents of *seeds* if given, then (with *resolve*) the ARKs they cite, or *targets*.

    Returns the run's number and its verdicts, which are in the store. Raises `crawler.store.StoreUnwritable` or
    `crawler.process.RunInterrupted` when it could not finish; what was observed until then has been recorded.
    """
    quiet_logging()
    named = [*seeds.urls, *map(document_name, seeds.files)] if seeds else []
    run_id = store.begin_run(
        command=command,
        at=_now(),
        version=__version__,
        resolver=config.resolver,
        user_agent=config.user_agent,
        seeds=named,
    )
    state = "failed"
    probed: set[tuple[str, int]] = set()

    def cited() -> list[Target]:
        return list(targets) if targets is not None else store.cited_arks(run_id)

    try:
        with document_worker() as worker, RunProgress(console) as progress:

            def documents() -> dict[str, Any]:
                assert seeds is not None
                progress.stage("documents", None)
                return {
                    "store": store,
                    "run_id": run_id,
                    "probed_hosts": probed,
                    "seeds": seeds.urls,
                    "files": seeds.files,
                    "resolver": config.resolver,
                    "worker": worker,
                    "depth": config.crawl.depth,
                    "max_pages": config.crawl.max_pages,
                }

            def arks() -> dict[str, Any]:
                asked = cited()
                progress.stage("ARKs", sum(not ark.is_skipped for ark, _ in asked))
                return {
                    "store": store,
                    "run_id": run_id,
                    "probed_hosts": probed,
                    "targets": asked,
                    "legacy": config.resolve.legacy_inflections,
                }

            def started(crawler: Crawler) -> None:
                progress.watch(crawler)
                if on_start is not None:
                    on_start(crawler)

            stages = [Stage(DocumentsSpider, documents)] if seeds is not None else []
            stages += [Stage(ArksSpider, arks)] if resolve else []
            run_stages(stages, config.settings(), on_start=started)
        state = "finished"
    except (KeyboardInterrupt, RunInterrupted):
        state = "interrupted"
        raise
    finally:
        verdicts = _end(store, run_id, cited if resolve else list, state)
    return run_id, verdicts


def _end(store: Store, run_id: int, targets: Callable[[], list[Target]], state: str) -> list[Verdict]:
    """Judge what was observed and note how the run ended; a store that can't be written keeps what it has."""
    try:
        verdicts = judge_run(store, run_id, targets())
        store.end_run(run_id, at=_now(), state=state)
    except StoreUnwritable:
        if state == "finished":
            raise
        return []
    return verdicts


def quiet_logging() -> None:
    """Scrapy speaks only of what nobody else reports."""
    logging.getLogger("scrapy").setLevel(logging.ERROR)
    logging.getLogger("twisted").setLevel(logging.CRITICAL)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
