"""What the verbs have in common: a run in a store, its stages, and how it ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from scrapy.crawler import Crawler

from arkaudit import __version__
from arkaudit.config import Config
from arkaudit.progress import RunProgress
from arkaudit.seeds import Seeds
from crawler.deciding import decide_doubts, record_registry_findings
from crawler.judging import Background, judge_run
from crawler.maptr import dns_look_up, with_resolvers
from crawler.observations import Verdict
from crawler.process import RunInterrupted, Stage, run_stages
from crawler.reading import DocumentWorker
from crawler.readings import other_readings
from crawler.registry import cache_folder
from crawler.registry import load as load_registry
from crawler.settling import settle_readings
from crawler.spiders.arks import ArksSpider
from crawler.spiders.documents import DocumentsSpider, document_name
from crawler.store import Store, StoreUnwritable
from extractors.ark import Ark
from extractors.extraction import extract
from extractors.naan import Registry
from extractors.worker import Worker

#: What one document may take to be parsed. Bombs use all of it, so it is also what they cost.
PARSING_S = 60.0
PARSING_BYTES = 2**30

Target = tuple[Ark, str]


class AuditInterrupted(RunInterrupted):
    """Raised by `audit` when a signal ended it; what had been observed is judged and kept."""

    def __init__(self, run_id: int, verdicts: list[Verdict]) -> None:
        super().__init__()
        self.run_id = run_id
        self.verdicts = verdicts


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
    `AuditInterrupted` when it could not finish; what was observed until then has been recorded.
    """
    named = [*seeds.urls, *map(document_name, seeds.files)] if seeds else []
    run_id = store.begin_run(
        command=command,
        at=_now(),
        version=__version__,
        resolver=config.resolver,
        user_agent=config.user_agent,
        seeds=named,
    )
    registry = load_registry(cache_folder())
    state = "failed"
    probed: set[tuple[str, int]] = set()

    def cited() -> list[Target]:
        if targets is not None:
            return list(targets)
        decide_doubts(store, run_id, resolver=config.resolver)
        record_registry_findings(store, run_id, registry)
        if not resolve:
            return []
        return [(ark, url) for ark, url in store.cited_arks(run_id) if not registry.names_only(ark)]

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
                    "readings": other_readings(store.open_mentions(run_id)),
                    "registry": _with_dns(registry, asked) if config.resolve.maptr else registry,
                    "resolver": config.resolver,
                    "direct": config.resolve.direct,
                    "legacy": config.resolve.legacy_inflections,
                    "conformance": config.resolve.conformance,
                    "conformance_from": config.resolve.conformance_from,
                    "closed": config.closed_collections,
                    "patience": config.patience,
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
    finally:
        verdicts = _end(store, run_id, cited, registry, config, state)
    if state == "interrupted":
        raise AuditInterrupted(run_id, verdicts)
    return run_id, verdicts


def _end(
    store: Store, run_id: int, targets: Callable[[], list[Target]], registry: Registry, config: Config, state: str
) -> list[Verdict]:
    """Judge what was observed and note how the run ended; a store that can't be written keeps what it has."""
    try:
        background = Background(registry, other_readings(store.open_mentions(run_id)), config.closed_collections)
        settle_readings(store, run_id)
        verdicts = judge_run(store, run_id, targets(), background)
        store.end_run(run_id, at=_now(), state=state)
    except StoreUnwritable:
        if state == "finished":
            raise
        return []
    return verdicts


def _with_dns(registry: Registry, asked: Sequence[Target]) -> Registry:
    """The copy of the NAAN registry with what the DNS knows besides."""
    return with_resolvers(registry, (ark.naan for ark, _ in asked if not ark.is_skipped), dns_look_up())


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
