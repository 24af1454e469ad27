"""What the verbs have in common: a run in a store, its stages, and how it ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import scrapy.core.downloader.contextfactory  # noqa: F401  (first, while there are few frames: it looks at each)
from rich.console import Console
from scrapy.crawler import Crawler

from arkaudit import __version__
from arkaudit.config import Config
from arkaudit.crawling import crawl_plan
from arkaudit.exits import say
from arkaudit.progress import JUDGING, RunProgress
from arkaudit.resuming import ResumeDecision
from crawler.asking.maptr import dns_look_up, with_resolvers
from crawler.conversation import AskingRules
from crawler.deciding import decide_unresolved, record_registry_findings
from crawler.judging import Background, judge_run
from crawler.observations import Verdict
from crawler.parsers import source_worker
from crawler.politeness.pacing import host_of
from crawler.process import RunInterrupted, SpiderStage, run_stages
from crawler.registry import cache_folder
from crawler.registry import load as load_registry
from crawler.seeds import Seeds
from crawler.settling import settle_readings
from crawler.spiders.arks import ArksSpider
from crawler.spiders.documents import DocumentsSpider
from crawler.storage.errors import StoreUnwritable
from crawler.storage.frontier import Frontier
from crawler.storage.frontier_rows import ARKS, FrontierState
from crawler.storage.store import FINISHED, Store
from crawler.verdicts.readings import CandidateReading, other_readings
from extractors.ark import Ark
from extractors.documents import document_name
from extractors.isolated import document_worker
from extractors.naan import Registry

Target = tuple[Ark, str]


class AuditInterrupted(RunInterrupted):
    """Raised by `audit` when a signal ended it; what had been observed is kept, and judged unless time was short."""

    def __init__(self, run_id: int) -> None:
        super().__init__()
        self.run_id = run_id


def audit(
    config: Config,
    store: Store,
    *,
    command: str,
    seeds: Seeds | None = None,
    targets: Sequence[Target] | None = None,
    readings: Mapping[str, Sequence[CandidateReading]] | None = None,
    resolve: bool = True,
    decision: ResumeDecision | None = None,
    on_start: Callable[[Crawler], None] | None = None,
    heard: Callable[[Verdict], None] = lambda verdict: None,
    console: Console,
) -> int:
    """One run: the documents of *seeds* if given, then (with *resolve*) the ARKs they cite, or *targets*.

    *readings* are what else targets may stand for, by the URLs that ask for them.

    It is a new one, or goes on with the one that *decision* names. Returns the run's number; its verdicts are in the
    store, and whoever wants to has *heard* each, in the order of the targets. Raises `AuditInterrupted`, or
    `crawler.storage.errors.StoreUnwritable`, when it could not finish; what was observed until then has been recorded,
    and judged unless time was short, and the run can be gone on with.
    """
    if config.is_anonymous and _asks_strangers(config, seeds, targets, resolve=resolve):
        say("hosts can't tell who asks: give --contact, so that an operator can write to you")
    store.set_status_policy(config.recheck.status_policy)
    run_id = _begun(config, store, command, seeds, decision)
    for folder, finding in seeds.folder_findings.items() if seeds is not None else ():
        store.record_findings(run_id, document_name(folder), [finding])
        say(f"{document_name(folder)}: {finding.kind}: {finding.detail}")
    registry = load_registry(cache_folder())
    probed = {(result.host, result.port) for result in store.tls_results(run_id)}
    is_read = targets is not None
    """Whether all documents are there, so that it is settled which ARKs are asked about."""

    def settled(*, as_asked: bool = False) -> list[Target]:
        nonlocal is_read
        if targets is not None:
            return list(targets)
        if not is_read:
            store.note_finders(run_id)
            decide_unresolved(store, run_id, resolver=config.resolver)
            record_registry_findings(store, run_id, registry)
            is_read = True
        if not resolve:
            return []
        # Sorted, so that what is asked about one for many is asked about the same one every time.
        cited = store.cited_arks(run_id, as_asked=as_asked)
        return sorted((ark, url) for ark, url in cited if not registry.names_only(ark))

    def possible() -> dict[str, Sequence[CandidateReading]]:
        return {**other_readings(store.open_mentions(run_id)), **(readings or {})}

    def background() -> Background:
        return Background(registry, possible(), config.closed_collections)

    try:
        with document_worker() as worker, source_worker() as sources, RunProgress(console) as progress:

            def documents() -> dict[str, Any]:
                assert seeds is not None
                progress.stage("documents", None, done=store.counts(run_id)["documents"])
                return {
                    "store": store,
                    "run_id": run_id,
                    "probed_hosts": probed,
                    "plan": crawl_plan(config, seeds, today=datetime.now(UTC).date()),
                    "files": seeds.files,
                    "source_files": seeds.named_files,
                    "resolver": config.resolver,
                    "worker": worker,
                    "source_worker": sources,
                    "patience": config.patience,
                }

            def arks() -> dict[str, Any]:
                asked = settled(as_asked=True)
                done = Frontier(store, run_id, ARKS).counts()[FrontierState.DONE]
                progress.stage("ARKs", sum(not ark.is_skipped for ark, _ in asked), done=done)
                return {
                    "store": store,
                    "run_id": run_id,
                    "probed_hosts": probed,
                    "targets": asked,
                    "readings": possible(),
                    "rules": AskingRules(
                        registry=_with_dns(registry, asked) if config.resolve.maptr else registry,
                        resolver=config.resolver,
                        direct=config.resolve.direct,
                        legacy=config.resolve.legacy_inflections,
                        conformance=config.resolve.conformance,
                        conformance_from=config.resolve.conformance_from,
                        closed=config.closed_collections,
                        patience=config.patience,
                    ),
                }

            def started(crawler: Crawler) -> None:
                progress.watch(crawler)
                if on_start is not None:
                    on_start(crawler)

            stages = [SpiderStage(DocumentsSpider, documents)] if seeds is not None else []
            stages += [SpiderStage(ArksSpider, arks)] if resolve else []
            run_stages(stages, config.settings(), on_start=started)
            about = background()
            settle_readings(store, run_id)
            asked = settled()
            progress.stage(JUDGING, len(asked))

            def judged(verdict: Verdict) -> None:
                progress.judged()
                heard(verdict)

            judge_run(store, run_id, asked, about, heard=judged)
        store.end_run(run_id, at=_now(), state=FINISHED)
    except (KeyboardInterrupt, RunInterrupted) as interrupt:
        is_patient = isinstance(interrupt, RunInterrupted) and not interrupt.at_once
        asked = settled(as_asked=True) if is_patient and is_read else []
        _stop(store, run_id, asked, background, heard)
        raise AuditInterrupted(run_id) from None
    except Exception:
        with suppress(StoreUnwritable):
            store.end_run(run_id, at=_now(), state="failed")
        raise
    return run_id


def _begun(config: Config, store: Store, command: str, seeds: Seeds | None, decision: ResumeDecision | None) -> int:
    """The number of the run, a new one or one that is gone on with."""
    if decision is not None and decision.run is not None:
        store.go_on_with_run(decision.run.run_id)
        return decision.run.run_id
    plan = None if decision is None else decision.plan.json
    if plan is not None and command == "run":
        plan["told"] = False  # until `resuming.note_reported`: a kill after its end must cost neither report nor news
    return store.begin_run(
        command=command,
        at=_now(),
        version=__version__,
        resolver=config.resolver,
        user_agent=config.user_agent,
        seeds=[*seeds.urls, *map(document_name, seeds.files)] if seeds else [],
        plan=plan,
    )


def _asks_strangers(config: Config, seeds: Seeds | None, targets: Sequence[Target] | None, *, resolve: bool) -> bool:
    """Return whether a run may send requests to hosts that are not the operator's own."""
    if config.network.only_routed:
        return False
    urls = [*(seeds.urls if seeds else ()), *(url for ark, url in targets or () if not ark.is_skipped)]
    is_open = seeds is not None and resolve  # nobody knows yet which hosts are cited
    return is_open or any(not config.owns(host) for host in set(map(host_of, urls)))


def _stop(
    store: Store,
    run_id: int,
    targets: Sequence[Target],
    background: Callable[[], Background],
    heard: Callable[[Verdict], None],
) -> None:
    """Judge those of *targets* of which all is asked, for whoever interrupted; note that the run can be gone on with.

    What only a whole run shows is left for its end; and what was to be asked once more has not failed.
    """
    with suppress(StoreUnwritable):
        asked = Frontier(store, run_id, ARKS).settled() if targets else set()
        done = [(ark, url) for ark, url in targets if url in asked or ark.is_skipped]
        if done:
            judge_run(store, run_id, done, background(), is_whole=False, heard=heard)
        store.end_run(run_id, at=_now(), state="interrupted")


def _with_dns(registry: Registry, asked: Sequence[Target]) -> Registry:
    """The copy of the NAAN registry with what the DNS knows besides."""
    return with_resolvers(registry, (ark.naan for ark, _ in asked if not ark.is_skipped), dns_look_up())


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
