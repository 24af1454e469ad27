"""The parts that the verbs share: a run in a store, its stages, and how it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from datetime import UTC, date, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import scrapy.core.downloader.contextfactory  # noqa: F401  (first, while there are few frames: it looks at each)
from scrapy import signals
from scrapy.crawler import Crawler

from arkaudit import __version__
from arkaudit.config import Config
from arkaudit.exits import say
from arkaudit.options import cores
from arkaudit.progress import JUDGING, RunProgress
from arkaudit.resuming import ResumeDecision
from crawler.model.observations import DocumentRecord, Verdict
from crawler.model.registry import cache_folder, dns_look_up, with_resolvers
from crawler.model.registry import load as load_registry
from crawler.politeness.pacing import host_of
from crawler.process import SpiderStage, run_stages
from crawler.sources.gate import CrawlPlan, Rules
from crawler.spiders.arks_spider import ArksSpider
from crawler.spiders.conversation import AskingRules
from crawler.spiders.documents_spider import DocumentsSpider
from crawler.spiders.mementos_spider import MementosSpider
from crawler.spiders.runs import Background, judge_run, judge_settled, settle_readings
from crawler.spiders.seeds import Seeds
from crawler.store import StoreUnwritable
from crawler.store.frontier import ARKS, Frontier, FrontierState
from crawler.store.store import FINISHED, Store
from crawler.verdicts.readings import CandidateReading, other_readings
from extractors.documents import Document, document_name
from extractors.isolated import batches, document_executor
from extractors.model.ark import Ark
from extractors.model.errors import RunInterrupted
from extractors.model.naan import Registry
from extractors.processes.worker import WorkerExecutor

if TYPE_CHECKING:
    from arkaudit.datasets.documents import DatasetDocuments


def crawl_plan(config: Config, seeds: Seeds, *, today: date) -> CrawlPlan:
    """The plan of a crawl that begins at *seeds* on this day."""
    crawl = config.crawl
    return CrawlPlan.of(
        seeds.urls,
        seeds.orders,
        year=today.year,
        rules=Rules(
            depth=crawl.depth,
            include=crawl.included,
            exclude=crawl.excluded,
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
    dataset: DatasetDocuments | None = None,
    targets: Sequence[Target] | None = None,
    readings: Mapping[str, Sequence[CandidateReading]] | None = None,
    resolve: bool = True,
    decision: ResumeDecision | None = None,
    on_start: Callable[[Crawler], None] | None = None,
    heard: Callable[[Verdict], None] = lambda verdict: None,
) -> int:
    """One run: the documents of *seeds* or of a *dataset*, then (with *resolve*) the ARKs they cite; or *targets*.

    *readings* are what else targets may mean, by the URLs that ask for them.

    It is a new one, or resumes the one that *decision* names. Returns the run's number; its verdicts are in the
    store, and *heard* gets each, in the order of the targets. Raises `AuditInterrupted`, or
    `crawler.store.StoreUnwritable`, when it could not finish; what was observed until then has been
    recorded, and judged unless time was short, and the run can be resumed.
    """
    if config.is_anonymous and _asks_strangers(
        config, seeds, targets, resolve=resolve, dataset=dataset
    ):
        say("hosts don't learn who asks: give --contact, so that an operator can write to you")
    if config.log_ins or config.credentials:
        store.keep_private()  # it will have pages that not everybody may read
    store.set_status_policy(config.recheck.status_policy)
    named = [dataset.place] if dataset is not None else []
    named += [*seeds.urls, *map(document_name, seeds.files)] if seeds is not None else []
    run_id = _begun(config, store, command, named, decision)
    for folder, finding in seeds.folder_findings.items() if seeds is not None else ():
        store.record_findings(run_id, document_name(folder), [finding])
        say(f"{document_name(folder)}: {finding.kind}: {finding.detail}")
    run = AuditRun(
        config,
        store,
        run_id,
        seeds,
        targets,
        readings or {},
        resolve=resolve,
        heard=heard,
        dataset=dataset,
    )
    run.live(on_start=on_start)
    return run_id


class AuditRun:
    """A run's life, once it was begun: its spiders run one after the other, what they observe is judged, it ends."""

    def __init__(
        self,
        config: Config,
        store: Store,
        run_id: int,
        seeds: Seeds | None,
        targets: Sequence[Target] | None,
        readings: Mapping[str, Sequence[CandidateReading]],
        *,
        resolve: bool,
        heard: Callable[[Verdict], None],
        dataset: DatasetDocuments | None = None,
    ) -> None:
        self._config = config
        self._store = store
        self._run_id = run_id
        self._seeds = seeds
        self._dataset = dataset
        self._targets = targets
        self._readings = readings
        self._resolve = resolve
        self._heard = heard
        self._registry = load_registry(cache_folder())
        self._probed = {(result.host, result.port) for result in store.tls_results(run_id)}
        self._is_judged = False
        """Whether all verdicts of the whole run are in the store."""
        self._is_read = targets is not None
        """Whether all documents are there, so that it is settled which ARKs are asked about."""

    def live(self, *, on_start: Callable[[Crawler], None] | None = None) -> None:
        """Crawl and judge; the run has ended then, well or badly. Raises as `audit` does."""
        try:
            with ExitStack() as stack:
                progress = stack.enter_context(RunProgress())
                self._crawl(stack, progress, on_start)
                self._judge(progress)
            self._store.end_run(self._run_id, at=_now(), state=FINISHED)
        except (KeyboardInterrupt, RunInterrupted) as interrupt:
            self._stop(is_patient=isinstance(interrupt, RunInterrupted) and not interrupt.at_once)
            raise AuditInterrupted(self._run_id) from None
        except Exception:
            with suppress(StoreUnwritable):
                self._store.end_run(self._run_id, at=_now(), state="failed")
            raise

    # -- its spiders

    def _crawl(
        self, stack: ExitStack, progress: RunProgress, on_start: Callable[[Crawler], None] | None
    ) -> None:
        def started(crawler: Crawler) -> None:
            progress.watch(crawler)
            if on_start is not None:
                on_start(crawler)

        stages = []
        jobs = self._config.jobs or cores()
        executor = stack.enter_context(document_executor(jobs))
        if self._dataset is not None:
            self._take(self._dataset, progress)
        if self._seeds is not None:
            documents = partial(self._documents, self._seeds, executor, progress)
            stages.append(SpiderStage(DocumentsSpider, documents))
        if self._resolve:
            stages.append(SpiderStage(ArksSpider, partial(self._arks, progress)))
            if self._config.memento.timegate:
                stages.append(SpiderStage(MementosSpider, partial(self._mementos, progress)))
        window = {
            "SCRAPER_SLOT_MAX_ACTIVE_SIZE": _AHEAD_BYTES * max(jobs, 2)
        }  # default 5 MB, enough for two
        run_stages(stages, self._config.settings() | window, on_start=started)

    def _take(self, dataset: DatasetDocuments, progress: RunProgress) -> None:
        """Record the documents of a dataset, some at a time; those of a resumed run are there already."""
        progress.stage("documents")
        records = dataset.records(self._config.resolver)
        for some in batches(records, lambda record: _MENTION_BYTES * len(record.mentions)):
            self._store.record(self._run_id, some)
            for record in some:
                progress.count(record)
        for subject, finding in dataset.notes:
            self._store.record_findings(self._run_id, subject, [finding])

    def _documents(
        self, seeds: Seeds, executor: WorkerExecutor, progress: RunProgress
    ) -> dict[str, Any]:
        """The arguments of the documents spider; *executor* has the processes that parse documents and sources."""
        progress.stage("documents", done=self._store.counts(self._run_id)["documents"])
        return {
            **self._of_run,
            "plan": crawl_plan(self._config, seeds, today=datetime.now(UTC).date()),
            "files": seeds.files,
            "source_files": seeds.named_files,
            "resolver": self._config.resolver,
            "executor": executor,
            "patience": self._config.patience,
        }

    def _arks(self, progress: RunProgress) -> dict[str, Any]:
        """The arguments of the arks spider, when all documents are there."""
        config, asked = self._config, self._settled(as_asked=True)
        frontier = Frontier(self._store, self._run_id, ARKS)
        done = frontier.counts()[FrontierState.DONE]

        settled = frontier.settled() if done else set()
        urls = {url for ark, url in asked if not ark.is_skipped}
        left = urls - settled
        progress.stage("URLs of ARKs", len(urls), done=len(urls) - len(left), urls=left)
        rules = AskingRules(
            registry=_with_dns(self._registry, asked) if config.resolve.maptr else self._registry,
            resolver=config.resolver,
            direct=config.resolve.direct,
            legacy=config.resolve.legacy_inflections,
            conformance=config.resolve.conformance,
            conformance_from=config.resolve.conformance_from,
            closed=config.closed_collections,
            rendering=config.render.enabled,
            patience=config.patience,
        )
        given = {
            "targets": asked,
            "readings": self._possible(),
            "rules": rules,
            "rendering": config.render.options,
        }
        return {**self._of_run, **given}

    def _mementos(self, progress: RunProgress) -> dict[str, Any]:
        """The arguments of the spider that asks for captures, once it is known which ARKs fail."""
        self._judge(progress)
        wanted = self._config.memento
        assert wanted.timegate is not None
        failing = list(
            self._store.capture_wishes(
                self._run_id, wanted.timegate, now=datetime.now(UTC), max_age_s=wanted.max_age
            )
        )
        progress.stage("archived copies", len(failing))
        given = {"timegate": wanted.timegate, "targets": failing, "patience": self._config.patience}
        return {**self._of_run, **given}

    @property
    def _of_run(self) -> dict[str, Any]:
        return {"store": self._store, "run_id": self._run_id, "probed_hosts": self._probed}

    # -- what is asked about, and what it is judged by

    def _settled(self, *, as_asked: bool = False) -> list[Target]:
        """The ARKs that are asked about, or cited, with their URLs; all documents are there."""
        if self._targets is not None:
            return list(self._targets)
        if not self._is_read:
            from crawler.spiders.runs import conclude_documents

            conclude_documents(
                self._store, self._run_id, self._registry, resolver=self._config.resolver
            )
            self._is_read = True
        if not self._resolve:
            return []
        # Sorted, so that what is asked about one for many is asked about the same one every time.
        cited = self._store.cited_arks(self._run_id, as_asked=as_asked)
        return sorted((ark, url) for ark, url in cited if not self._registry.names_only(ark))

    def _possible(self) -> dict[str, Sequence[CandidateReading]]:
        return {**other_readings(self._store.open_mentions(self._run_id)), **self._readings}

    def _background(self) -> Background:
        return Background(self._registry, self._possible(), self._config.closed_collections)

    # -- its end

    def _judge(self, progress: RunProgress) -> None:
        """Settle what is doubtful by the answers, and judge all, once."""
        if self._is_judged:
            return
        background = self._background()
        settle_readings(self._store, self._run_id)
        asked = self._settled()
        progress.stage(JUDGING, len(asked))

        def judged(verdict: Verdict) -> None:
            progress.count_verdict()
            self._heard(verdict)

        judge_run(self._store, self._run_id, asked, background, on_verdict=judged)
        self._is_judged = True

    def _stop(self, *, is_patient: bool) -> None:
        """Judge those targets of which all is asked, at once; note that the run can be resumed.

        What only a whole run shows is left for its end; and what was to be asked once more has not failed.
        """
        is_open = is_patient and self._is_read and not self._is_judged
        targets = self._settled(as_asked=True) if is_open else []
        with suppress(StoreUnwritable):
            if targets:
                judge_settled(
                    self._store, self._run_id, targets, self._background(), on_verdict=self._heard
                )
            self._store.end_run(self._run_id, at=_now(), state="interrupted")


def _begun(
    config: Config,
    store: Store,
    command: str,
    named: Sequence[str],
    decision: ResumeDecision | None,
) -> int:
    """The number of the run, a new one or a resumed one; *named* is what it begins with."""
    if decision is not None and decision.run is not None:
        store.go_on_with_run(decision.run.run_id)
        return decision.run.run_id
    plan = None if decision is None else decision.plan.json
    if plan is not None and command == "run":
        plan["reported"] = (
            False  # until `resuming.note_reported`: a kill must cost neither report nor news
        )
    return store.begin_run(
        command=command,
        at=_now(),
        version=__version__,
        resolver=config.resolver,
        user_agent=config.user_agent,
        seeds=named,
        plan=plan,
    )


def _asks_strangers(
    config: Config,
    seeds: Seeds | None,
    targets: Sequence[Target] | None,
    *,
    resolve: bool,
    dataset: DatasetDocuments | None = None,
) -> bool:
    """Return whether a run may send requests to hosts that are not the operator's own."""
    if config.network.only_routed:
        return False
    archive = [config.memento.timegate] if config.memento.timegate and resolve else []
    urls = [
        *archive,
        *(seeds.urls if seeds else ()),
        *(url for ark, url in targets or () if not ark.is_skipped),
    ]
    is_open = (
        seeds is not None or dataset is not None
    ) and resolve  # it is not known yet which hosts are cited
    return is_open or any(not config.owns(host) for host in set(map(host_of, urls)))


def _with_dns(registry: Registry, asked: Sequence[Target]) -> Registry:
    """The copy of the NAAN registry with what the DNS knows besides."""
    return with_resolvers(
        registry, (ark.naan for ark, _ in asked if not ark.is_skipped), dns_look_up()
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


# Documents at URLs, fetched by the documents spider for `arkaudit extract`.


def fetched_documents(seeds: Seeds, config: Config) -> Iterator[Document]:
    """The documents at the URLs themselves; no link is followed and nothing is kept."""
    records: list[DocumentRecord] = []

    def collect(crawler: Crawler) -> None:
        crawler.signals.connect(take, signal=signals.item_scraped, weak=False)

    def take(item: object) -> None:
        if isinstance(item, DocumentRecord):
            records.append(item)

    only_these = config.model_copy(update={"crawl": config.crawl.model_copy(update={"depth": 0})})
    with Store.open(None) as store:
        audit(
            only_these,
            store,
            command="extract",
            seeds=seeds,
            resolve=False,
            on_start=collect,
        )
    order = {url: number for number, url in enumerate(seeds.urls)}
    last = len(order)
    for record in sorted(
        records, key=lambda fetched: order.get(fetched.url, order.get(fetched.found_on or "", last))
    ):
        unresolved = [cited.unresolved for cited in record.mentions if cited.unresolved is not None]
        yield Document(
            record.url, [cited.mention for cited in record.mentions], record.findings, unresolved
        )
