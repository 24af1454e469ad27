"""The parts that the verbs share: a run in a store, its stages, and how it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scrapy.core.downloader.contextfactory  # noqa: F401  (first, while there are few frames: it looks at each)
from scrapy import signals
from scrapy.crawler import Crawler

from arkaudit import __version__
from arkaudit.config import Config
from arkaudit.exits import note_bugs, say
from arkaudit.options import cores
from arkaudit.progress import JUDGING, Progress, RunProgress
from arkaudit.resuming import ResumeDecision, fingerprint
from crawler.model.crawl_requests import FrontierState
from crawler.model.observations import DocumentRecord, Verdict, now
from crawler.model.registry import cache_folder, dns_look_up, with_resolvers
from crawler.model.registry import load as load_registry
from crawler.politeness.pacing import host_of
from crawler.process import SpiderStage, run_stages
from crawler.sources.gate import CrawlPlan, LinkPatterns, Rules
from crawler.sources.request_logs import KNOWN_FORMATS, RequestLogs, line_pattern
from crawler.spiders.arks_spider import ArksSpider
from crawler.spiders.conversation import AskingRules
from crawler.spiders.documents_spider import DocumentsSpider
from crawler.spiders.mementos_spider import MementosSpider
from crawler.spiders.runs import Background, judge_run, judge_settled, settle_readings
from crawler.spiders.seeds import Seeds
from crawler.store import StoreUnwritable
from crawler.store.frontier import ARKS, Frontier
from crawler.store.store import Store
from crawler.store.stored_values import FAILED, FINISHED, INTERRUPTED
from crawler.verdicts.readings import CandidateReading, other_readings
from extractors.documents import Document, document_name
from extractors.isolated import batches, document_executor
from extractors.model.ark import Ark
from extractors.model.errors import RunInterrupted
from extractors.model.naan import Registry
from extractors.processes.worker import WorkerExecutor

if TYPE_CHECKING:
    from arkaudit.datasets.documents import DatasetDocuments


def crawl_plan(config: Config, seeds: Seeds) -> CrawlPlan:
    """The plan of a crawl that begins at *seeds* today."""
    crawl = config.crawl
    return CrawlPlan.of(
        seeds.urls,
        seeds.orders,
        year=datetime.now(UTC).year,
        rules=Rules(
            depth=crawl.depth,
            include=LinkPatterns(crawl.include),
            exclude=LinkPatterns(crawl.exclude),
            follows_nofollow=crawl.ignore_nofollow,
        ),
        extent=crawl.scope,
        content_hosts=tuple(crawl.content_hosts),
        selection=crawl.oai.selection,
        has_sitemaps=crawl.sitemaps,
        max_pages=crawl.max_pages,
        max_time_s=crawl.max_time,
    )


Target = tuple[Ark, str]
#: The weight of a mention, where documents are recorded in batches.
_MENTION_BYTES = 128
#: Of what was fetched and is not read yet, so much is in memory for each process that reads, before less is asked for.
_AHEAD_BYTES = 2_500_000


class AuditInterrupted(RunInterrupted):
    """Raised by `Audit.run` when a signal ended it; what had been observed is kept, and judged unless time was short."""

    def __init__(self, run_id: int) -> None:
        super().__init__()
        self.run_id = run_id


@dataclass(slots=True)
class Audit:
    """One run: the documents of *seeds* or of a *dataset*, then (with *resolve*) the ARKs they cite; or *targets*.

    Its spiders run one after the other, what they observe is judged, it ends.
    """

    config: Config
    store: Store
    seeds: Seeds | None = None
    dataset: DatasetDocuments | None = None
    targets: Sequence[Target] | None = None
    readings: Mapping[str, Sequence[CandidateReading]] = field(default_factory=dict)
    """What else targets may mean, by the URLs that ask for them."""
    resolve: bool = True
    on_document: Callable[[DocumentRecord], None] = lambda record: None
    """Gets the row about each document as it is read."""
    on_verdict: Callable[[Verdict], None] | None = None
    """Gets each verdict, in the order of the targets. Without it, judging that was interrupted is resumed."""
    registry: Registry = field(default_factory=lambda: load_registry(cache_folder()))
    run_id: int = 0
    is_judged: bool = False
    """Whether all verdicts of the whole run are in the store."""
    is_read: bool = False
    """Whether all documents are there, so that it is settled which ARKs are asked about."""
    logged: RequestLogs | None = None
    of_run: dict[str, Any] = field(default_factory=dict)
    """The arguments that all of its spiders have."""

    def run(self, command: str, decision: ResumeDecision | None = None) -> int:
        """Begin a run, or resume the one that *decision* names, and bring it to its end; return its number.

        Its verdicts are in the store then. Raises `AuditInterrupted`, or `crawler.store.StoreUnwritable`, when it
        could not finish; what was observed until then has been recorded, and judged unless time was short, and the
        run can be resumed.
        """
        if self._asks_strangers():
            tell_who_asks(self.config)
        named = [self.dataset.place] if self.dataset is not None else []
        named += self.seeds.names if self.seeds is not None else []
        self.run_id = begin(self.config, self.store, command, named, decision)
        for folder, finding in self.seeds.folder_findings.items() if self.seeds is not None else ():
            self.store.record_findings(self.run_id, document_name(folder), [finding])
            say(f"{document_name(folder)}: {finding.kind}: {finding.detail}")
        self.is_read = self.targets is not None
        probed = {(result.host, result.port) for result in self.store.tls_results(self.run_id)}
        self.of_run = {"store": self.store, "run_id": self.run_id, "probed_hosts": probed}
        with ended(self.store, self.run_id, self._judge_what_is_settled), ExitStack() as stack:
            if self.seeds is not None:
                self.logged = logged_requests(self.seeds.logs, self.config)
            progress = stack.enter_context(RunProgress())
            self._crawl(stack, progress)
            self._judge(progress)
        return self.run_id

    def _asks_strangers(self) -> bool:
        """Return whether it may send requests to hosts that are not the operator's own."""
        config = self.config
        if config.network.only_routed:
            return False
        archive = [config.memento.timegate] if config.memento.timegate and self.resolve else []
        urls = [
            *archive,
            *(self.seeds.urls if self.seeds else ()),
            *(url for ark, url in self.targets or () if not ark.is_skipped),
        ]
        # of documents it is not known yet which hosts they cite
        is_open = self.resolve and (self.seeds is not None or self.dataset is not None)
        return is_open or any(not config.owns(host) for host in set(map(host_of, urls)))

    # -- its spiders

    def _crawl(self, stack: ExitStack, progress: RunProgress) -> None:
        def scraped(item: object) -> None:
            if isinstance(item, DocumentRecord):
                self.on_document(item)

        def started(crawler: Crawler) -> None:
            progress.watch(crawler)
            crawler.signals.connect(scraped, signal=signals.item_scraped, weak=False)

        stages = []
        jobs = self.config.jobs or cores()
        executor = stack.enter_context(document_executor(jobs))
        if self.dataset is not None:
            self._take(self.dataset, progress)
        if self.seeds is not None:
            documents = partial(self._documents, self.seeds, executor, progress)
            stages.append(SpiderStage(DocumentsSpider, documents))
        if self.resolve:
            stages.append(SpiderStage(ArksSpider, partial(self._arks, progress)))
            if self.config.memento.timegate:
                stages.append(SpiderStage(MementosSpider, partial(self._mementos, progress)))
        window = _AHEAD_BYTES * max(jobs, 2)  # default 5 MB, enough for two
        settings = self.config.settings() | {"SCRAPER_SLOT_MAX_ACTIVE_SIZE": window}
        note_bugs(run_stages(stages, settings, on_start=started))

    def _take(self, dataset: DatasetDocuments, progress: RunProgress) -> None:
        """Record the documents of a dataset, some at a time; those of a resumed run are there already."""
        progress.stage("documents")
        records = dataset.records(self.config.resolver)
        for some in batches(records, lambda record: _MENTION_BYTES * len(record.mentions)):
            self.store.record(self.run_id, some)
            for record in some:
                progress.count(record)
        for subject, finding in dataset.notes:
            self.store.record_findings(self.run_id, subject, [finding])

    def _documents(self, seeds: Seeds, executor: WorkerExecutor, progress: RunProgress) -> dict[str, Any]:
        """The arguments of the documents spider; *executor* has the processes that parse documents and sources."""
        progress.stage("documents", done=self.store.counts(self.run_id)["documents"])
        return {
            **self.of_run,
            "plan": crawl_plan(self.config, seeds),
            "files": seeds.files,
            "source_files": seeds.named_files,
            "resolver": self.config.resolver,
            "executor": executor,
            "patience": self.config.patience,
        }

    def _arks(self, progress: RunProgress) -> dict[str, Any]:
        """The arguments of the arks spider, when all documents are there."""
        config, asked = self.config, self._settled(as_asked=True)
        frontier = Frontier(self.store, self.run_id, ARKS)
        done = frontier.counts()[FrontierState.DONE]

        urls = {url for ark, url in asked if not ark.is_skipped}
        left = urls - (frontier.settled() if done else set())
        progress.stage("URLs of ARKs", len(urls), done=len(urls) - len(left), urls=left)
        registry = self.registry
        if config.resolve.maptr:  # with what the DNS knows besides
            naans = (ark.naan for ark, _ in asked if not ark.is_skipped)
            registry = with_resolvers(registry, naans, dns_look_up())
        rules = AskingRules(
            registry=registry,
            resolver=config.resolver,
            direct=config.resolve.direct,
            legacy=config.resolve.legacy_inflections,
            conformance=config.resolve.conformance,
            conformance_from=config.resolve.conformance_from,
            closed=config.closed_collections,
            rendering=config.render.enabled,
            patience=config.patience,
        )
        given = {"targets": asked, "readings": self._possible(), "rules": rules, "rendering": config.render.options}
        return {**self.of_run, **given}

    def _mementos(self, progress: RunProgress) -> dict[str, Any]:
        """The arguments of the spider that asks for captures, once it is known which ARKs fail."""
        self._judge(progress)
        wanted = self.config.memento
        assert wanted.timegate is not None
        wishes = self.store.capture_wishes(
            self.run_id, wanted.timegate, now=datetime.now(UTC), max_age_s=wanted.max_age
        )
        failing = list(wishes)
        progress.stage("archived copies", len(failing))
        given = {"timegate": wanted.timegate, "targets": failing, "patience": self.config.patience}
        return {**self.of_run, **given}

    # -- what is asked about, and what it is judged by

    def _settled(self, *, as_asked: bool = False) -> list[Target]:
        """The ARKs that are asked about, or cited, with their URLs; all documents are there."""
        if self.targets is not None:
            return list(self.targets)
        if not self.is_read:
            if self.logged is not None and self.logged.logs:
                self.store.record_logs(self.run_id, self.logged.records())
            from crawler.spiders.runs import conclude_documents

            conclude_documents(self.store, self.run_id, self.registry, resolver=self.config.resolver)
            self.is_read = True
        if not self.resolve:
            return []
        # Sorted, so that what is asked about one for many is asked about the same one every time.
        cited = self.store.cited_arks(self.run_id, as_asked=as_asked)
        return sorted((ark, url) for ark, url in cited if not self.registry.names_only(ark))

    def _possible(self) -> dict[str, Sequence[CandidateReading]]:
        return {**other_readings(self.store.open_mentions(self.run_id)), **self.readings}

    def _background(self) -> Background:
        return Background(self.registry, self._possible(), self.config.closed_collections)

    # -- its end

    def _judge(self, progress: RunProgress) -> None:
        """Settle what is doubtful by the answers, and judge all, once."""
        if self.is_judged:
            return
        background = self._background()
        settle_readings(self.store, self.run_id)
        asked = self._settled()
        registry = background.registry.entries if background.registry else ()
        rest = (asked, sorted(background.readings.items()), background.closed, registry)
        basis = fingerprint([__version__, *map(repr, rest)])
        recorded = self.store.begin_verdicts(self.run_id, basis)
        progress.stage(JUDGING, len(asked), done=0 if self.on_verdict else len(recorded))
        judge_run(
            self.store,
            self.run_id,
            asked,
            background,
            recorded=recorded,
            on_verdict=self.on_verdict,
            on_progress=progress.count_verdict,
        )
        self.is_judged = True

    def _judge_what_is_settled(self, interrupt: BaseException) -> None:
        """Judge those targets of which all is asked, unless the *interrupt* leaves no time for that.

        What only a whole run shows is left for its end; and what was to be asked once more has not failed.
        """
        is_patient = isinstance(interrupt, RunInterrupted) and not interrupt.at_once
        is_open = is_patient and self.is_read and not self.is_judged
        targets = self._settled(as_asked=True) if is_open else []
        if targets:
            judge_settled(self.store, self.run_id, targets, self._background(), on_verdict=self.on_verdict)


def logged_requests(logs: Mapping[str, Sequence[Path]], config: Config) -> RequestLogs:
    """The requests for ARKs in *logs*, by the patterns that name them; says what was read."""
    log_format = config.crawl.access_log_format
    formats = (line_pattern(log_format),) if log_format else KNOWN_FORMATS
    with Progress() as progress:
        progress.stage("lines of logs")
        requests = RequestLogs(config.resolver, formats, show=progress.show)
        for path in chain.from_iterable(logs.values()):
            requests.read(path, document_name(path))
    for log in requests.logs.values():
        for finding in log.findings:
            say(f"{log.url}: {finding.kind}: {finding.detail}")
    return requests


@contextmanager
def ended(
    store: Store, run_id: int, on_interrupt: Callable[[BaseException], None] = lambda interrupt: None
) -> Iterator[None]:
    """Note how a run has ended, well or badly; *on_interrupt* does before what is still to be done.

    Raises `AuditInterrupted` for a signal, and what ended the run otherwise.
    """
    try:
        yield
        store.end_run(run_id, at=now(), state=FINISHED)
    except (KeyboardInterrupt, RunInterrupted) as interrupt:
        with suppress(StoreUnwritable):
            on_interrupt(interrupt)
            store.end_run(run_id, at=now(), state=INTERRUPTED)
        raise AuditInterrupted(run_id) from None
    except Exception:
        with suppress(StoreUnwritable):
            store.end_run(run_id, at=now(), state=FAILED)
        raise


def begin(config: Config, store: Store, command: str, named: Sequence[str], decision: ResumeDecision | None) -> int:
    """The number of the run, a new one or a resumed one; *named* is what it begins with."""
    if config.log_ins or config.credentials:
        store.keep_private()  # it will have pages that not everybody may read
    store.set_status_policy(config.recheck.status_policy)
    if decision is not None and decision.run is not None:
        store.go_on_with_run(decision.run.run_id)
        return decision.run.run_id
    plan = None if decision is None else decision.plan.json
    if plan is not None and command == "run":
        # until `resuming.note_reported`: a kill must cost neither report nor news
        plan["reported"] = False
    return store.begin_run(
        command=command,
        at=now(),
        version=__version__,
        resolver=config.resolver,
        user_agent=config.user_agent,
        seeds=named,
        plan=plan,
    )


def tell_who_asks(config: Config) -> None:
    """Say that strangers don't learn who asks them, if they don't."""
    if config.is_anonymous:
        say("hosts don't learn who asks: give --contact, so that an operator can write to you")


# Documents at URLs, fetched by the documents spider for `arkaudit extract`.


def fetched_documents(seeds: Seeds, config: Config) -> Iterator[Document]:
    """The documents at the URLs themselves; no link is followed and nothing is kept."""
    records: list[DocumentRecord] = []
    only_these = config.model_copy(update={"crawl": config.crawl.model_copy(update={"depth": 0})})
    with Store.open(None) as store:
        Audit(only_these, store, seeds, resolve=False, on_document=records.append).run("extract")
    order = {url: number for number, url in enumerate(seeds.urls)}
    records.sort(key=lambda one: order.get(one.url, order.get(one.found_on or "", len(order))))
    for record in records:
        mentions = [cited.mention for cited in record.mentions]
        unresolved = [cited.unresolved for cited in record.mentions if cited.unresolved is not None]
        yield Document(record.url, mentions, record.findings, unresolved)
