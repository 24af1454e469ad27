"""Run an audit in a store: begin or resume it, run its stages, judge its ARKs, and record how it ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

# First, because its import inspects the whole call stack.
import scrapy.core.downloader.contextfactory  # noqa: F401
from scrapy import signals
from scrapy.crawler import Crawler

from arkaudit import __version__
from arkaudit.audits.resuming import ResumeDecision, fingerprint
from arkaudit.configuration.config import Config
from arkaudit.hooks import ArkSource
from arkaudit.output.exits import note_faults, say
from arkaudit.output.progress import JUDGING, Progress, RunProgress
from crawler.asking.shared import Target
from crawler.model.crawl_requests import FrontierState
from crawler.model.observations import DocumentRecord, Verdict, now
from crawler.model.registry import dns_look_up, load_registry, with_resolvers
from crawler.model.schema import FAILED, FINISHED, INTERRUPTED
from crawler.process import RunFaults, SpiderStage, run_stages
from crawler.sources.gate import CrawlPlan
from crawler.sources.request_logs import RequestLogs
from crawler.sources.xml_sources import Selection
from crawler.spiders.arks_spider import ArksSpider
from crawler.spiders.documents_spider import DocumentsSpider
from crawler.spiders.mementos_spider import MementosSpider
from crawler.spiders.runs import Background, judge_run, judge_settled, settle_readings
from crawler.spiders.seeds import Seeds
from crawler.store import StoreUnwritable
from crawler.store.frontier import ARKS, Frontier
from crawler.store.store import Store
from crawler.verdicts.readings import CandidateReading, other_readings
from extractors.documents import Document, document_name
from extractors.isolated import batches, document_executor
from extractors.model.budget import core_count
from extractors.model.errors import RunInterrupted
from extractors.model.naan import Registry
from extractors.model.urls import origin_of
from extractors.processes.worker import WorkerExecutor

#: Assumed size of a mention, for the size of a batch of documents.
_MENTION_BYTES = 128
#: Limit on fetched but unread bytes per reading process. Above it, Scrapy fetches less.
_AHEAD_BYTES = 2_500_000


class AuditInterrupted(RunInterrupted):
    """Raised by `Audit.run` after a signal, or by the time limit of a check. Observations are stored; they are judged if
    there was time.
    """

    def __init__(self, run_id: int, *, is_by_time: bool = False) -> None:
        super().__init__(is_by_time=is_by_time)
        self.run_id = run_id


@dataclass(slots=True)
class Audit:
    """A run over the documents of *seeds* or of a *source* and the ARKs that they cite, or over *targets*."""

    config: Config
    store: Store
    seeds: Seeds | None = None
    source: ArkSource | None = None
    targets: Sequence[Target] | None = None
    readings: Mapping[str, Sequence[CandidateReading]] = field(default_factory=dict)
    """Alternative readings of targets, by request URL."""
    resolve: bool = True
    """False to read documents without requesting the ARKs that they cite."""
    on_document: Callable[[DocumentRecord], None] = lambda record: None
    """Called with the record of each document after the document was read."""
    on_verdict: Callable[[Verdict], None] | None = None
    """Called with each verdict, in the order of the targets. If None, interrupted judging is resumed."""
    registry: Registry = field(default_factory=load_registry)
    run_id: int = 0
    is_judged: bool = False
    """True once the store holds all verdicts of the run."""
    is_read: bool = False
    """True once all documents are read, so that the set of ARKs to request is final."""
    faults: RunFaults = field(default_factory=RunFaults)
    """Bugs of arkaudit that occurred in this run, with the frontier entries that lack an outcome because of them."""
    request_logs: RequestLogs | None = None
    spider_arguments: dict[str, Any] = field(default_factory=dict)
    """Arguments of every spider."""

    def run(self, command: str, decision: ResumeDecision | None = None) -> int:
        """Begin a run of this *command*, or resume the run in *decision*; finish and judge the run, and return its id.

        Raises `AuditInterrupted` or `crawler.store.StoreUnwritable` if the run could not finish. The run can be resumed
        then: all observations until that moment are stored.
        """
        if self._contacts_foreign_hosts():
            warn_if_anonymous(self.config)
        seed_names = [self.source.place] if self.source is not None else []
        seed_names += self.seeds.names if self.seeds is not None else []
        self.run_id = begin(self.config, self.store, command, seed_names, decision)
        for folder, finding in self.seeds.folder_findings.items() if self.seeds is not None else ():
            self.store.record_findings(self.run_id, document_name(folder), [finding])
            say(f"{document_name(folder)}: {finding.kind}: {finding.detail}")
        self.is_read = self.targets is not None
        self.spider_arguments = {"store": self.store, "run_id": self.run_id}
        with record_end(self.store, self.run_id, self.faults, self._judge_interrupted), ExitStack() as stack:
            if self.seeds is not None:
                self.request_logs = logged_requests(self.seeds.logs, self.config)
            progress = stack.enter_context(RunProgress())
            self._crawl(stack, progress)
            self._judge(progress)
        return self.run_id

    def _contacts_foreign_hosts(self) -> bool:
        """Return True if the run may send requests to hosts that are not the operator's own."""
        config = self.config
        if config.network.only_routed:
            return False
        timegate_urls = [config.memento.timegate] if config.memento.timegate and self.resolve else []
        urls = [
            *timegate_urls,
            *(self.seeds.urls if self.seeds else ()),
            *(url for ark, url in self.targets or () if not ark.is_skipped),
        ]
        # The hosts that documents cite are still unknown.
        may_cite_any_host = self.resolve and (self.seeds is not None or self.source is not None)
        return may_cite_any_host or any(not config.owns(host) for host in set(map(origin_of, urls)))

    # -- spiders

    def _crawl(self, stack: ExitStack, progress: RunProgress) -> None:
        """Run the stages: copy the documents of a source, crawl, ask about ARKs, and search archived copies."""

        def on_item(item: object) -> None:
            if isinstance(item, DocumentRecord):
                self.on_document(item)

        def on_start(crawler: Crawler) -> None:
            progress.watch(crawler)
            crawler.signals.connect(on_item, signal=signals.item_scraped, weak=False)

        stages = []
        jobs = self.config.jobs or core_count()
        executor = stack.enter_context(document_executor(jobs))
        if self.source is not None:
            progress.stage("documents")
            records = self.source.records(self.config.resolver)
            for batch in batches(records, lambda record: _MENTION_BYTES * len(record.mentions)):
                self.store.record(self.run_id, batch)
                for record in batch:
                    progress.count(record)
            for subject, finding in self.source.notes:
                self.store.record_findings(self.run_id, subject, [finding])
        if self.seeds is not None:
            documents_arguments = partial(self._documents_arguments, self.seeds, executor, progress)
            stages.append(SpiderStage(DocumentsSpider, documents_arguments))
        if self.resolve:
            stages.append(SpiderStage(ArksSpider, partial(self._arks_arguments, progress)))
            if self.config.memento.timegate:
                stages.append(SpiderStage(MementosSpider, partial(self._mementos_arguments, progress)))
        # Scrapy's default is 5 MB, enough for two processes.
        unread_limit = _AHEAD_BYTES * max(jobs, 2)
        settings = self.config.settings() | {"SCRAPER_SLOT_MAX_ACTIVE_SIZE": unread_limit}
        run_stages(stages, settings, faults=self.faults, on_start=on_start)

    def _documents_arguments(self, seeds: Seeds, executor: WorkerExecutor, progress: RunProgress) -> dict[str, Any]:
        """Return the keyword arguments of `DocumentsSpider`, whose parsers run in *executor*."""
        progress.stage("documents", done_count=self.store.counts(self.run_id)["documents"])
        crawl = self.config.crawl
        plan_options = {**dict(crawl), "oai": Selection(**dict(crawl.oai))}
        return {
            **self.spider_arguments,
            "plan": CrawlPlan.from_urls(seeds.urls, seeds.named_kinds, **plan_options),
            "files": seeds.files,
            "source_files": seeds.named_files,
            "executor": executor,
            "declared": self.config.check_characters,
        }

    def _arks_arguments(self, progress: RunProgress) -> dict[str, Any]:
        """Return the keyword arguments of `ArksSpider`, after all documents were read."""
        config, targets = self.config, self._run_targets(as_asked=True)
        frontier = Frontier(self.store, self.run_id, ARKS)
        done_count = frontier.counts()[FrontierState.DONE]

        urls = {url for ark, url in targets if not ark.is_skipped}
        open_urls = urls - (frontier.settled_forms() if done_count else set())
        progress.stage("URLs of ARKs", len(urls), done_count=len(urls) - len(open_urls), urls=open_urls)
        registry = self.registry
        if config.resolve.maptr:
            naans = (ark.naan for ark, _ in targets if not ark.is_skipped)
            registry = with_resolvers(registry, naans, dns_look_up())
        return {
            **self.spider_arguments,
            "targets": targets,
            "readings": self._candidate_readings(),
            "registry": registry,
            "direct": config.resolve.direct,
            "legacy_inflections": config.resolve.legacy_inflections,
            "declared": config.check_characters,
            # In a run, the limit is for the crawl.
            "max_time_s": config.crawl.max_time if self.seeds is None else None,
        }

    def _mementos_arguments(self, progress: RunProgress) -> dict[str, Any]:
        """Judge all ARKs, and return the keyword arguments of `MementosSpider`, whose targets are the failing ARKs."""
        self._judge(progress)
        settings = self.config.memento
        assert settings.timegate is not None
        failing_targets = [
            *self.store.capture_wishes(
                self.run_id, settings.timegate, now=datetime.now(UTC), max_age_s=settings.max_age
            )
        ]
        progress.stage("archived copies", len(failing_targets))
        return {**self.spider_arguments, "timegate": settings.timegate, "targets": failing_targets}

    # -- targets and their background

    def _run_targets(self, *, as_asked: bool = False) -> list[Target]:
        """Return the ARKs of the run with their request URLs; none if ARKs are not resolved.

        With *as_asked*, a doubtful mention has its first reading, even if answers of resolvers decided on another later.
        """
        if self.targets is not None:
            return list(self.targets)
        if not self.is_read:
            if self.request_logs is not None and self.request_logs.logs:
                self.store.record_logs(self.run_id, self.request_logs.records())
            from crawler.spiders.runs import conclude_documents

            config = self.config
            conclude_documents(
                self.store, self.run_id, self.registry, resolver=config.resolver, declared=config.check_characters
            )
            self.is_read = True
        if not self.resolve:
            return []
        # Sorted, so that probes on behalf of many ARKs choose the same ARK in every run.
        cited_targets = self.store.cited_targets(self.run_id, as_asked=as_asked)
        return sorted((ark, url) for ark, url in cited_targets if not self.registry.is_shoulder(ark))

    def _candidate_readings(self) -> dict[str, Sequence[CandidateReading]]:
        return {**other_readings(self.store.open_mentions(self.run_id)), **self.readings}

    def _background(self) -> Background:
        return Background(self.registry, self._candidate_readings(), self.config.check_characters)

    # -- verdicts

    def _judge(self, progress: RunProgress) -> None:
        """Decide doubtful mentions by the answers of resolvers, then judge all targets, unless the run is judged already."""
        if self.is_judged:
            return
        if self.faults.lost:
            self._judge_complete_targets()
            self.is_judged = True
            return
        background = self._background()
        settle_readings(self.store, self.run_id)
        targets = self._run_targets()
        registry = background.registry.entries if background.registry else ()
        judging_inputs = (targets, sorted(background.readings.items()), registry)
        basis_fingerprint = fingerprint([__version__, *map(repr, judging_inputs)])
        judged_urls = self.store.begin_verdicts(self.run_id, basis_fingerprint)
        progress.stage(JUDGING, len(targets), done_count=0 if self.on_verdict else len(judged_urls))
        judge_run(
            self.store,
            self.run_id,
            targets,
            background,
            recorded=judged_urls,
            on_verdict=self.on_verdict,
            on_progress=progress.count_verdict,
            on_bug=self.faults.bugs.append,
        )
        self.is_judged = True

    def _judge_interrupted(self, interrupt: BaseException) -> None:
        """Judge the targets whose answers are complete after an *interrupt*, unless this demands an immediate end."""
        is_patient = isinstance(interrupt, RunInterrupted) and not interrupt.at_once
        if is_patient and self.is_read and not self.is_judged:
            self._judge_complete_targets()

    def _judge_complete_targets(self) -> None:
        """Judge the targets whose questions are all answered or out of attempts.

        Verdicts that need the whole run wait for the end of the run.
        """
        judge_settled(
            self.store,
            self.run_id,
            self._run_targets(as_asked=True),
            self._background(),
            on_verdict=self.on_verdict,
            on_bug=self.faults.bugs.append,
        )


def logged_requests(logs: Mapping[str, Sequence[Path]], config: Config) -> RequestLogs:
    """Return the requests for ARKs in *logs*, which maps a pattern to its files, and print findings about the files."""
    with Progress() as progress:
        progress.stage("logs")
        request_logs = RequestLogs(config.resolver)
        for file_count, path in enumerate(chain.from_iterable(logs.values()), start=1):
            request_logs.read_log(path, document_name(path))
            progress.show(file_count)
    for log in request_logs.logs.values():
        for finding in log.findings:
            say(f"{log.url}: {finding.kind}: {finding.detail}")
    return request_logs


@contextmanager
def record_end(
    store: Store, run_id: int, faults: RunFaults, on_interrupt: Callable[[BaseException], None] = lambda interrupt: None
) -> Iterator[None]:
    """Store the final state of a run when the ``with`` block ends, and print its *faults*.

    If a signal ends the block, *on_interrupt* is called first. A run that lost outcomes is not finished, so that the
    same command resumes the run. Raises `AuditInterrupted` after a signal; other exceptions pass through.
    """
    try:
        yield
        note_faults(faults)
        store.end_run(run_id, at=now(), state=FAILED if faults.lost else FINISHED)
    except (KeyboardInterrupt, RunInterrupted) as interrupt:
        with suppress(StoreUnwritable):
            on_interrupt(interrupt)
            store.end_run(run_id, at=now(), state=INTERRUPTED)
        raise AuditInterrupted(run_id, is_by_time=getattr(interrupt, "is_by_time", False)) from None
    except Exception:
        with suppress(StoreUnwritable):
            store.end_run(run_id, at=now(), state=FAILED)
        raise


def begin(
    config: Config, store: Store, command: str, seed_names: Sequence[str], decision: ResumeDecision | None
) -> int:
    """Begin a run of this *command* over *seed_names*, or resume the run in *decision*; return its id."""
    if config.credentials:
        # The store will hold pages that need a log-in.
        store.make_private()
    store.set_status_policy(config.status_policy)
    if decision is not None and decision.run is not None:
        store.mark_resumed(decision.run.run_id)
        return decision.run.run_id
    plan = None if decision is None else decision.plan.json
    if plan is not None and command == "run":
        # False until `resuming.note_reported`, so that a resumed run still writes its report and news.
        plan["reported"] = False
    return store.begin_run(
        command=command,
        at=now(),
        version=__version__,
        resolver=config.resolver,
        user_agent=config.user_agent,
        seeds=seed_names,
        plan=plan,
    )


def warn_if_anonymous(config: Config) -> None:
    """Print a message that asks for a contact if the User-Agent has no contact."""
    if config.is_anonymous:
        say("no contact given: hosts can't tell who is asking; give an address by --contact")


def fetched_documents(seeds: Seeds, config: Config) -> Iterator[Document]:
    """Fetch and yield the documents at *seeds*, in a temporary store, for `arkaudit extract`."""
    records: list[DocumentRecord] = []
    with Store.open(None) as store:
        Audit(config, store, seeds, resolve=False, on_document=records.append).run("extract")
    seed_positions = {url: number for number, url in enumerate(seeds.urls)}
    records.sort(
        key=lambda record: seed_positions.get(
            record.url, seed_positions.get(record.found_on or "", len(seed_positions))
        )
    )
    for record in records:
        mentions = [citation.mention for citation in record.mentions]
        unresolved_mentions = [citation.unresolved for citation in record.mentions if citation.unresolved is not None]
        yield Document(record.url, mentions, record.findings, unresolved_mentions)
