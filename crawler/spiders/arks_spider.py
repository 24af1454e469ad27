"""Sends the questions about every ARK: its object, its metadata, and a name that can't exist. It decides nothing."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol, Self

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.http import Response

from crawler.answers.answer_reading import AnswerReader, ReadingStopped
from crawler.answers.page_copies import page_digest
from crawler.asking.conversation import Conversation, FinishedTarget, Outgoing
from crawler.asking.shared import AskingRules, Target
from crawler.asking.target import QuestionToSend
from crawler.model.crawl_requests import CrawlRequest
from crawler.model.observations import ChainEnd, Observation, Question, Verdict
from crawler.model.registry import load_registry
from crawler.model.resolving import SUCCESSES, sendable
from crawler.spiders.auditing import TIME_IS_UP, AuditSpider, OwnRun
from crawler.spiders.items import CheckedArk, checked_ark
from crawler.spiders.runs import Background, judge_run, judge_settled
from crawler.spiders.seeds import targets_in, words_of
from crawler.store.feeding import Bounds
from crawler.store.frontier import SettledEntry
from crawler.verdicts.readings import CandidateReading
from crawler.verdicts.verdict import TOO_LONG_TO_JUDGE
from crawler.wire.failures import INCOMPLETE, STOPPED, body_faults
from crawler.wire.middlewares import chain_of
from extractors.model.ark import Ark
from extractors.model.budget import OverBudget
from extractors.model.check_characters import NOTHING_DECLARED, Declared
from extractors.model.naan import Registry
from extractors.model.normalize import NotAnArk
from extractors.model.urls import authority_of

logger = logging.getLogger(__name__)

# -- from a question to its request, and from the end of the chain to an observation


async def observe(
    question: QuestionToSend, request: Request, response: Response | None, reader: AnswerReader
) -> Observation:
    """Return the answer to *question*: the chain of hops up to *request*, and the content of *response*, if any.

    An answer that *reader* could not read within its limits counts as not read.
    """
    hops, end, detail = chain_of(request)
    body = b"" if response is None else response.body
    flags = () if response is None else response.flags
    content_type = hops[-1].headers.get("Content-Type") if hops else None
    ark = question.ark
    with suppress(NotAnArk):  # a control has its own ARK
        ark = Ark.parse(question.url.partition("?")[0])
    host = authority_of(request.url)
    answer = await reader.read(body, content_type, ark, host=host)
    # The reasons for an incomplete body, except that enough of it was read.
    missing_parts = () if STOPPED in flags else body_faults(flags, len(body))
    is_complete = response is not None and INCOMPLETE.isdisjoint(flags)
    titles = (answer.title or "", *answer.facts.headings)
    is_page = is_complete and answer.text is not None and hops[-1].status in SUCCESSES
    observation = Observation(
        ark=question.ark,
        request_url=question.request_url,
        question=question.question,
        asked_url=question.url,
        hops=hops,
        end=end,
        detail=detail,
        attempt=question.attempt,
        media_type=answer.media_type,
        title=answer.title,
        text=answer.text,
        body_bytes=None if response is None else len(body),
        body_sha256=hashlib.sha256(body).hexdigest() if body else None,
        body_complete=is_complete,
        record=answer.record,
        similarity=answer.similarity,
        page_digest=page_digest(titles, answer.text or "", answer.references, hops[-1].url, ark) if is_page else None,
        facts=answer.facts,
        remarks=tuple(f"not the whole answer: {missing_part.detail}" for missing_part in missing_parts),
    )
    if answer.fault is not None and end is ChainEnd.ANSWERED:
        return observation.unread(answer.fault)
    return observation.within_limits()


# -- the open questions of a run, after a replay of the answers in the store


#: The key of an observation within a run: the URL of the object question, the question, and the attempt.
Key = tuple[str, Question, int]


class Replay:
    """The questions of a resumed run whose stored answers have not been replayed yet."""

    def __init__(self) -> None:
        self._asked: dict[Key, QuestionToSend] = {}
        self._early: dict[Key, None] = {}
        """Answers that came before their question."""

    def expect(self, questions: Iterable[QuestionToSend]) -> None:
        """Expect the answers to *questions*."""
        self._asked |= {question.key: question for question in questions}

    def awaits(self, observation: Observation) -> bool:
        """Return True if *observation* answers an expected question."""
        return _key(observation) in self._asked

    def take(self, observation: Observation) -> QuestionToSend | None:
        """Return the question that *observation* answers, which is no longer expected, or None if none is.

        The key of an unexpected answer is kept for `answers_to_find`.
        """
        question = self._asked.pop(_key(observation), None)
        if question is None:
            self._early[_key(observation)] = None
        return question

    def answers_to_find(self) -> list[Key]:
        """Return the keys of answers that `take` got before their questions were expected: load them again."""
        return [key for key in self._asked if key in self._early]

    def open(self, *, now: datetime) -> Iterator[tuple[QuestionToSend, float]]:
        """Yield the questions without an answer, in order, with the seconds until they may be sent."""
        for question in self._asked.values():
            answered_at = question.after.at if question.wait_s and question.after is not None else ""
            passed_s = (now - datetime.fromisoformat(answered_at)).total_seconds() if answered_at else 0.0
            yield question, question.wait_s - passed_s


def _key(observation: Observation) -> Key:
    return observation.request_url, observation.question, observation.attempt


#: Questions whose answers are rendered.
_RENDERED = frozenset({Question.RENDERED, Question.CONTROL_RENDERED})


class Renderer(Protocol):
    """A browser for the pages of a run, which the Scrapy setting ``ARKAUDIT_RENDERER`` starts."""

    async def observe(self, observation: Observation, response: Response, stopped: asyncio.Event) -> Observation | None:
        """Return *observation* with the content of the rendered page; None if *stopped* is set before."""

    async def close(self) -> None:
        """End the browser."""


#: Maximum number of open ARKs at a host, enough to keep it busy while some of them wait.
ARKS_A_HOST = 100


class ArksSpider(AuditSpider):
    """Sends one chain of requests per question of the conversation, which continues with the observations."""

    name = "arks"

    def __init__(
        self,
        *,
        targets: Sequence[Target],
        readings: Mapping[str, Sequence[CandidateReading]] | None = None,
        registry: Registry,
        direct: bool = False,
        legacy_inflections: bool = True,
        start_renderer: Callable[[Crawler, AnswerReader], Renderer] | None = None,
        max_time_s: float | None = None,
        declared: Declared = NOTHING_DECLARED,
        **kwargs: Any,
    ) -> None:
        super().__init__(bounds=Bounds(per_host=ARKS_A_HOST), **kwargs)
        self.frontier.add(CrawlRequest.to_ark(ark, url) for ark, url in targets if not ark.is_skipped)
        self._targets = targets
        self._registry = registry
        rules = AskingRules(
            registry,
            self.resolver,
            direct,
            legacy_inflections,
            rendering=start_renderer is not None,
            patience=self.patience,
            declared=declared,
        )
        self._conversation = Conversation(
            self.frontier.targets, rules, readings, recall=self._stored_observations, on_bug=self.on_bug
        )
        self._start_renderer = start_renderer
        self._max_time_s = max_time_s
        self._renderer: Renderer | None = None

    exported = CheckedArk

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        return super().from_crawler(crawler, *args, start_renderer=crawler.settings["ARKAUDIT_RENDERER"], **kwargs)

    @classmethod
    def begin_run(cls, crawler: Crawler, given: Mapping[str, Any]) -> tuple[OwnRun, dict[str, Any]]:
        """Begin a check of the ARKs and URLs in ``arks``, separated by blanks or commas, or in the lines of the file
        ``arks_from``.
        """
        other_arguments = dict(given)
        texts = words_of(str(other_arguments.pop("arks", "")))
        if "arks_from" in other_arguments:
            texts += Path(str(other_arguments.pop("arks_from"))).read_text("utf-8").splitlines()
        resolver = crawler.settings.get("ARKAUDIT_RESOLVER")
        targets, faults = targets_in(filter(None, map(str.strip, texts)), resolver=resolver)
        for fault in faults:
            logger.warning(fault)
        if not targets:
            logger.warning("there is nothing to check: give -a arks=ARK")
        run = OwnRun(crawler, command="check", seeds=texts)
        return run, other_arguments | {"targets": targets, "registry": load_registry()}

    def results(self, *, is_whole: bool) -> Iterable[CheckedArk]:
        """Judge the answers, in the order of the targets."""
        verdicts: list[Verdict] = []
        judge = judge_run if is_whole else judge_settled
        judge(self.store, self.run_id, self._targets, Background(self._registry), on_verdict=verdicts.append)
        return map(checked_ark, verdicts)

    async def parse(self, response: Response) -> AsyncIterator[Observation]:
        """Yield the observation of *response* for the ARK in its URL, for ``scrapy parse``."""
        request = response.request
        assert request is not None
        hops, _, _ = chain_of(request)
        url = hops[0].url if hops else request.url
        for ark, request_url in targets_in([url], resolver=url)[0]:
            question = QuestionToSend(ark, request_url, Question.OBJECT, url)
            yield await observe(question, request, response, self.answers)

    def _stored_observations(self, url: str) -> list[Observation]:
        """Return the observations of a finished target."""
        self.recorder.commit()
        return self.store.observations_at(self.run_id, url)

    async def begin(self) -> AsyncIterator[Request]:
        """Yield the requests of a resumed run, then the first request about each ARK."""
        self.end_after(self._max_time_s, self._time_is_up)
        if self._start_renderer is not None:
            self._renderer = self._start_renderer(self.crawler, self.answers)
            self.crawler.signals.connect(self._renderer.close, signal=signals.spider_closed)
        async for request in self._replay():
            yield request
        async for entry in self.feed.entries():
            if entry.crawl_request.ark is not None:
                outgoing = self._conversation.begin(entry.crawl_request.ark, entry.crawl_request.url)
                for request in self._requests(outgoing):
                    yield request

    def _time_is_up(self) -> None:
        """Send no more requests. The same command resumes the run."""
        logger.warning("the check ended after %g seconds (--max-time)", self._max_time_s)
        self.stop(reason=TIME_IS_UP)

    # -- questions and answers

    def _questions_to_send(self, outgoing: Iterable[Outgoing]) -> Iterator[QuestionToSend]:
        """Yield the questions in *outgoing*, and record its finished targets, in order."""
        for outgoing_item in outgoing:
            if isinstance(outgoing_item, FinishedTarget):
                self.recorder.add(SettledEntry(self.name, outgoing_item.request_url))
            else:
                yield outgoing_item

    def _requests(self, outgoing: Iterable[Outgoing]) -> Iterator[Request]:
        """Yield the requests for questions in *outgoing*; schedule those that must wait."""
        for ask in self._questions_to_send(outgoing):
            if ask.after is not None:
                self.ask_later(self._request(ask), ask.wait_s)
            else:
                yield self._request(ask)

    def _request(self, ask: QuestionToSend) -> Request:
        """Return the request that sends *ask*; callbacks get *ask* with the answer."""
        limit = self.settings.getint("ARKAUDIT_BODY_LIMIT")
        return Request(
            sendable(ask.url),
            callback=self.handle_answer,
            errback=self.handle_failure,
            cb_kwargs={"ask": ask},
            dont_filter=True,  # two ARKs may have one landing page, and a loop repeats a URL
            priority=0 if ask.question is Question.OBJECT else 1,  # open conversations are finished first
            meta={"verbatim_url": True, "text_only": True, "body_limit": limit, "follows_refresh": True},
        )

    async def on_answer(
        self, request: Request, response: Response | None, ask: QuestionToSend
    ) -> AsyncIterator[Observation | Request]:
        """Yield the observation of a response, and the requests that follow from it.

        The observation is recorded at once, so that the store has the answers in the order of their decisions.
        """
        try:
            observation = await observe(ask, request, response, self.answers)
            if response is not None and ask.question in _RENDERED and self._renderer is not None:
                rendered = await self._renderer.observe(observation, response, self._stopped)
                if rendered is None:
                    return
                observation = rendered
        except ReadingStopped:
            raise
        except Exception as bug:
            self.on_bug(bug)
            for following_request in self._requests(self._conversation.on_lost(ask.request_url)):
                yield following_request
            return
        outcomes: list[Observation | Request] = []
        if ask.after is not None and not any(hop.sent for hop in observation.hops):
            # Nothing was sent.
            outgoing = self._conversation.on_answer(ask.after, is_last=True)
        else:
            observation, outgoing = self._decide(observation)
            self.recorder.add(observation)
            outcomes.append(self.redact(observation))
        for outcome in (*outcomes, *self._requests(outgoing)):
            yield outcome

    def _decide(self, observation: Observation) -> tuple[Observation, list[Outgoing]]:
        """Return the observation for the store, and the requests that follow from it.

        If the decision takes too long, the observation is marked as not read.
        """
        try:
            return observation, self._conversation.on_answer(observation)
        except OverBudget:
            return observation.unread(TOO_LONG_TO_JUDGE), self._conversation.go_on()

    # -- the observations before an interruption

    async def _replay(self) -> AsyncIterator[Request]:
        """Replay the answers in the store, in their order, and send only the open questions.

        A resumed run makes the same decisions as a run without the interruption.
        """
        replay = Replay()
        for number, observation in enumerate(self.store.observations(self.run_id)):
            crawl_request = None if replay.awaits(observation) else self.frontier.find(observation.request_url)
            if crawl_request is not None and crawl_request.ark is not None:
                replay.expect(self._questions_to_send(self._conversation.begin(crawl_request.ark, crawl_request.url)))
            self._replay_answer(replay, observation)
            if number % 100 == 0:
                await asyncio.sleep(0)
        while late_keys := replay.answers_to_find():
            for url, question, attempt in late_keys:
                [observation] = self.store.observations_at(self.run_id, url, question, attempt)
                self._replay_answer(replay, observation)
        self.recorder.commit()
        for ask, wait_s in replay.open(now=datetime.now(UTC)):
            if wait_s > 0:
                self.ask_later(self._request(ask), wait_s)
            else:
                yield self._request(ask)

    def _replay_answer(self, replay: Replay, observation: Observation) -> None:
        if replay.take(observation) is not None:
            replay.expect(self._questions_to_send(self._decide(observation)[1]))
