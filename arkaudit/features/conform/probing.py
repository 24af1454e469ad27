"""Run a conformance test: ask a resolver the requests of each requirement of the specification."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scrapy import Request
from scrapy.http import Response

from arkaudit.audits.audit import begin, record_end, warn_if_anonymous
from arkaudit.audits.resuming import fingerprint, open_run
from arkaudit.configuration.config import Config
from arkaudit.configuration.config_files import models
from arkaudit.configuration.setting_values import resolver_url
from arkaudit.features.conform.plan import NAMES_A_MINUTE, NamedArk, Probe, comparison_probes, probes
from arkaudit.features.conform.requirements import questions_of, requirements
from arkaudit.output.progress import RunProgress
from crawler.answers.facts import AnswerFacts
from crawler.asking.target import QuestionToSend
from crawler.model.crawl_requests import CrawlRequest
from crawler.model.observations import Observation, Question
from crawler.model.resolving import PASSING_STATUSES, attempt_wait_s, resolver_of, sendable
from crawler.process import RunFaults, SpiderStage, run_stages
from crawler.spiders.arks_spider import observe
from crawler.spiders.auditing import AuditSpider
from crawler.spiders.seeds import mention_in
from crawler.store.feeding import Bounds
from crawler.store.frontier import Frontier, SettledEntry
from extractors.mentions.mention import Mention
from extractors.model.errors import UserMistake
from extractors.model.urls import origin_of

#: Maximum number of ARKs that are checked at a time.
ARKS_AT_A_TIME = 20


class ConformanceSpider(AuditSpider):
    """Sends the probes of each ARK, except those with a final answer in the store."""

    name = "conformance"
    exported = Observation

    def __init__(self, *, probes: Iterable[Probe], **kwargs: Any) -> None:
        super().__init__(bounds=Bounds(in_hand=ARKS_AT_A_TIME, per_host=ARKS_AT_A_TIME), **kwargs)
        self._probes: dict[str, list[Probe]] = {}
        """The probes of each ARK, by the URL that requests it."""
        for probe in probes:
            self._probes.setdefault(probe.request_url, []).append(probe)
        self._open_count: dict[str, int] = {}
        """The number of open probes of each ARK."""
        self.frontier.add(CrawlRequest.to_ark(ark_probes[0].ark, url) for url, ark_probes in self._probes.items())

    async def begin(self) -> AsyncIterator[Request]:
        async for entry in self.feed.entries():
            url = entry.crawl_request.url
            last_answers = {answer.question: answer for answer in self.store.observations_at(self.run_id, url)}
            open_probes = [(probe, last_answers.get(probe.question)) for probe in self._probes.get(url, ())]
            open_probes = [pair for pair in open_probes if self._wait_s(*pair) is not None]
            self._open_count[url] = len(open_probes)
            for probe, last_answer in open_probes:
                yield self._request(probe, last_answer)
            if not open_probes:
                self.recorder.add(SettledEntry(self.name, entry.crawl_request.canonical))

    def _wait_s(self, probe: Probe, last_answer: Observation | None) -> float | None:
        """Return the seconds before the next attempt or the next name of a probe, or None if no request is left."""
        if last_answer is None:
            return 0.0
        if probe.times == 1:
            return attempt_wait_s(last_answer, self.patience)
        is_refused = last_answer.status is None or last_answer.status in PASSING_STATUSES
        return None if is_refused or last_answer.attempt >= probe.times else 0.0

    def _request(self, probe: Probe, last_answer: Observation | None = None, wait_s: float = 0.0) -> Request:
        url = probe.url if last_answer is None or probe.times == 1 else f"{probe.url}{last_answer.attempt}"
        question = QuestionToSend(probe.ark, probe.request_url, probe.question, url, last_answer, wait_s)
        return Request(
            sendable(question.url),
            method=probe.method,
            headers=dict(probe.headers),
            callback=self.handle_answer,
            errback=self.handle_failure,
            cb_kwargs={"ask": question, "probe": probe},
            dont_filter=True,
            meta={"verbatim_url": True, "text_only": True, "body_limit": self.settings.getint("ARKAUDIT_BODY_LIMIT")},
        )

    async def on_answer(
        self, request: Request, response: Response | None, ask: QuestionToSend, probe: Probe
    ) -> AsyncIterator[Observation]:
        observation = await observe(ask, request, response, self.answers)
        is_unsent = ask.after is not None and not any(hop.sent for hop in observation.hops)
        wait_s = None if is_unsent else self._wait_s(probe, observation)
        if not is_unsent:
            self.recorder.add(observation)
            yield self.redact(observation)
        if wait_s is not None:
            self.ask_later(self._request(probe, observation, wait_s), wait_s)
            return
        self._open_count[ask.request_url] -= 1
        if not self._open_count[ask.request_url]:
            self.recorder.add(SettledEntry(self.name, ask.request_url))


@dataclass(frozen=True, slots=True)
class ConformanceTest:
    """The probes of a conformance test."""

    seeds: tuple[str, ...]
    """The identity of the test: a command with the same seeds resumes its run."""
    probes: tuple[Probe, ...]
    resolver: str = ""
    questions: frozenset[Question] = frozenset()

    def in_other_form(self, observations: Iterable[Observation]) -> list[Probe]:
        """Return probes for the ARKs that, by *observations*, the resolver resolves only in the other form of the label.

        These probes use that form, ``ark:`` instead of ``ark:/`` or the reverse.
        """
        facts_by_question = {
            (answer.request_url, answer.question): AnswerFacts.from_observation(answer) for answer in observations
        }
        repeated_probes: list[Probe] = []
        for (url, question), answer in facts_by_question.items():
            relabeled = facts_by_question.get((url, Question.OTHER_LABEL))
            if question is Question.OBJECT and not answer.is_reached and relabeled is not None and relabeled.is_reached:
                written_ark = NamedArk(answer.ark, relabeled.asked_url.removeprefix(resolver_of(url)))
                repeated_probes += (
                    probe for probe in probes(self.resolver, written_ark) if probe.question in self.questions
                )
        return repeated_probes


def conformance_test(
    resolver: str, ark_texts: Iterable[str], gone_texts: Iterable[str], sections: Sequence[str], *, is_own: bool
) -> ConformanceTest:
    """Return the test of a resolver by working ARKs (*ark_texts*) and by ARKs whose objects are gone (*gone_texts*).

    *sections*, if not empty, are the sections of the specification to test. If *is_own*, the resolver is the user's
    own, and gets `NAMES_A_MINUTE` more names after the first ARK. Raises `UserMistake`.
    """
    for section in sections:
        if not any(requirement.is_in(section) for requirement in requirements()):
            section_numbers = (requirement.number.partition("/")[0] for requirement in requirements())
            raise UserMistake(f"there is no section {section}; choose from {', '.join(dict.fromkeys(section_numbers))}")
    arks, gone_arks = _arks(ark_texts), _arks(gone_texts)
    if not arks and not gone_arks:
        raise UserMistake("name a working ARK of the resolver by --ark or --from")
    questions = questions_of(sections) | {Question.OBJECT, Question.OTHER_LABEL}
    all_probes = [
        probe for index, ark in enumerate(arks) for probe in probes(resolver, ark, is_own=is_own and index == 0)
    ]
    all_probes += [probe for ark in gone_arks for probe in probes(resolver, ark, is_gone=True)]
    return ConformanceTest(
        (
            resolver,
            fingerprint([ark.as_written for ark in arks]),
            *(f"gone {ark.as_written}" for ark in gone_arks),
            *sections,
            *(["own"] if is_own else []),
        ),
        tuple(probe for probe in all_probes if probe.question in questions or probe.question is Question.TOMBSTONE),
        resolver,
        questions,
    )


@dataclass(frozen=True, slots=True)
class ComparisonTest(ConformanceTest):
    """A test that compares the answers of two resolvers for the same ARKs."""

    arks: tuple[NamedArk, ...] = ()
    old_resolver: str = ""
    new_resolver: str = ""

    @classmethod
    def parse(cls, new_resolver: str, old_resolver: str, ark_texts: Iterable[str]) -> ComparisonTest:
        """Return the comparison of two resolvers by the ARKs in *ark_texts*. Raises `UserMistake`."""
        try:
            resolver_url(old_resolver)
        except ValueError as mistake:
            raise UserMistake(f"--against: {mistake}") from None
        arks = _arks(ark_texts)
        if not arks:
            raise UserMistake("name the ARKs for the comparison by --ark or --from")
        seeds = (new_resolver, f"against {old_resolver}", fingerprint([ark.as_written for ark in arks]))
        probes_of_both = tuple(comparison_probes((old_resolver, new_resolver), arks))
        return cls(seeds, probes_of_both, arks=arks, old_resolver=old_resolver, new_resolver=new_resolver)


def _arks(texts: Iterable[str]) -> tuple[NamedArk, ...]:
    """Return the distinct ARKs in *texts*, as written but without a resolver. Raises `UserMistake`."""
    arks = []
    for text in texts:
        mention = mention_in(text)
        if not isinstance(mention, Mention):
            raise UserMistake(f"{text!r} {mention}")
        if mention.ark.is_skipped:
            raise UserMistake(f"{mention.ark} is an example or a test, which is never requested: name one of your own")
        written_ark = mention.repaired.removeprefix(mention.resolver or "")
        arks.append(NamedArk(mention.ark, written_ark))
    return tuple(dict.fromkeys(arks))


@contextmanager
def answers(
    test: ConformanceTest, config: Config, store_file: Path | None, *, resume: bool | None
) -> Iterator[Iterator[Observation]]:
    """Send the probes of *test* without an answer in the store; the ``with`` block gets the answers to all probes.

    Raises `UserMistake`, `arkaudit.audits.audit.AuditInterrupted` and `crawler.store.StoreError`.
    """
    with open_run("conform", test.seeds, config, store_file, resume=resume) as opened_run:
        config, store, run_id = opened_run.config, opened_run.store, opened_run.finished_run_id
        if run_id is None:
            run_id = begin(config, store, "conform", test.seeds, opened_run.decision)
            hosts = {origin_of(probe.url) for probe in test.probes}
            if not config.network.only_routed and not all(map(config.owns, hosts)):
                warn_if_anonymous(config)
            spider_arguments = {"store": store, "run_id": run_id, "probes": test.probes}
            faults = RunFaults()
            with record_end(store, run_id, faults), RunProgress() as progress:
                urls = {probe.request_url for probe in test.probes if probe.question is Question.OBJECT}
                open_urls = urls - Frontier(store, run_id, ConformanceSpider.name).settled_forms()
                progress.stage("ARKs", len(urls), done_count=len(urls) - len(open_urls), urls=open_urls)

                def other_form_arguments() -> dict[str, Any]:
                    return spider_arguments | {"probes": test.in_other_form(store.observations(run_id))}

                stages = [
                    SpiderStage(ConformanceSpider, lambda: spider_arguments),
                    SpiderStage(ConformanceSpider, other_form_arguments),
                ]
                run_stages(stages, config.settings(), faults=faults, on_start=progress.watch)
        yield store.observations(run_id)


def with_own_resolver(config: Config, resolver: str) -> Config:
    """Return *config* with the host of *resolver* as the user's own, at the rate that the test needs."""
    host = origin_of(resolver)
    host_settings = models()["Host"](interval=min(config.politeness.delay, 60 / NAMES_A_MINUTE))
    return config.model_copy(update={"hosts": {host: host_settings, **config.hosts}})
