"""Asks about every ARK: its object, its metadata, and a name that can't exist. It decides nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from scrapy import Request, signals
from scrapy.http import Response
from twisted.python.failure import Failure

from crawler.model.crawl_requests import CrawlRequest
from crawler.model.observations import Observation
from crawler.rendering.options import RenderOptions
from crawler.rendering.pages import RENDERED, PageRenderer
from crawler.spiders.auditing import AuditSpider
from crawler.spiders.conversation import Ask, AskingRules, Conversation, Finished, Outgoing, Target
from crawler.spiders.items import CheckedArk
from crawler.spiders.observing import observations_of, observe, request_of
from crawler.spiders.own_run import ArksRun
from crawler.spiders.replaying import Replay
from crawler.store.feeding import Bounds
from crawler.store.frontier import SettledEntry
from crawler.verdicts.readings import CandidateReading

#: So many ARKs are open at a host at a time: enough that it is asked without a break while some wait for others.
ARKS_A_HOST = 100


class ArksSpider(AuditSpider):
    """One chain for each question of the conversation; its observations are what it goes on from."""

    name = "arks"

    def __init__(
        self,
        *,
        targets: Iterable[Target],
        readings: Mapping[str, Sequence[CandidateReading]] | None = None,
        rules: AskingRules | None = None,
        rendering: RenderOptions | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(bounds=Bounds(per_host=ARKS_A_HOST), **kwargs)
        self.frontier.add(CrawlRequest.to_ark(ark, url) for ark, url in targets if not ark.is_skipped)
        self._conversation = Conversation(
            self.frontier.targets, rules or AskingRules(), readings, recall=self._recalled
        )
        self._rendering = rendering
        self._renderer: PageRenderer | None = None

    exported = CheckedArk
    run_type = ArksRun

    async def parse(self, response: Response) -> AsyncIterator[Observation]:
        """Yield what *response* says for the object of the ARK in its URL: for ``scrapy parse``."""
        for seen in observations_of(response):
            yield seen

    def _recalled(self, url: str) -> list[Observation]:
        """Return what was observed for a target that was finished."""
        self.recorder.commit()
        return self.store.observations_at(self.run_id, url)

    async def begin(self) -> AsyncIterator[Request]:
        if self._rendering is not None:
            self._renderer = PageRenderer(self.crawler, self._rendering)
            self.crawler.signals.connect(self._renderer.close, signal=signals.spider_closed)
        async for request in self._replayed():
            yield request
        async for entry in self.feed.entries():
            if entry.crawl_request.ark is not None:
                begun = self._conversation.begin(entry.crawl_request.ark, entry.crawl_request.url)
                for request in self._requests(begun):
                    yield request

    # -- asking, and what is answered

    def _asks(self, outgoing: Iterable[Outgoing]) -> Iterator[Ask]:
        """The questions that go out; what is finished is recorded in its turn."""
        for each in outgoing:
            if isinstance(each, Finished):
                self.recorder.add(SettledEntry(self.name, each.request_url))
            else:
                yield each

    def _requests(self, outgoing: Iterable[Outgoing]) -> Iterator[Request]:
        """The requests that put questions for the first time; the others wait."""
        for ask in self._asks(outgoing):
            if ask.after is not None:
                self.ask_later(self._request(ask), ask.wait_s)
            else:
                yield self._request(ask)

    def _request(self, ask: Ask) -> Request:
        return request_of(ask, self.answered, self.failed, body_limit=self.settings.getint("ARKAUDIT_BODY_LIMIT"))

    async def answered(self, response: Response, ask: Ask) -> AsyncIterator[Observation | Request]:
        request = response.request
        assert request is not None
        observation: Observation | None = observe(ask, request, response)
        if observation is not None and ask.question in RENDERED and self._renderer is not None:
            observation = await self._renderer.observed(observation, response, self._stopped)
        for outcome in [] if observation is None else self._heard(ask, observation):
            yield outcome

    async def failed(self, failure: Failure) -> AsyncIterator[Observation | Request]:
        request: Request = failure.request  # type: ignore[attr-defined]
        ask: Ask = request.cb_kwargs["ask"]
        for outcome in self._heard(ask, observe(ask, request, None)):
            yield outcome

    def _heard(self, ask: Ask, seen: Observation) -> list[Observation | Request]:
        """The observation, and the requests that it calls for; it is recorded in the order of these decisions."""
        if ask.after is not None and not any(hop.sent for hop in seen.hops):  # nothing was asked again
            return [*self._requests(self._conversation.hear(ask.after, is_last=True))]
        self.recorder.add(seen)
        return [seen, *self._requests(self._conversation.hear(seen))]

    # -- what was observed before the run was interrupted

    async def _replayed(self) -> AsyncIterator[Request]:
        """Go on from the answers that the store has, in the order in which they came; ask only what they leave open.

        So a run that is resumed decides what it would have decided without the interruption.
        """
        replay = Replay()
        for number, seen in enumerate(self.store.observations(self.run_id)):
            begun = None if replay.awaits(seen) else self.frontier.find(seen.request_url)
            if begun is not None and begun.ark is not None:
                replay.ask(self._asks(self._conversation.begin(begun.ark, begun.url)))
            self._hear_again(replay, seen)
            if number % 100 == 0:
                await asyncio.sleep(0)
        while late := replay.answers_to_find():
            for url, question, attempt in late:
                [seen] = self.store.observations_at(self.run_id, url, question, attempt)
                self._hear_again(replay, seen)
        self.recorder.commit()
        for ask, wait_s in replay.open(now=datetime.now(UTC)):
            if wait_s > 0:
                self.ask_later(self._request(ask), wait_s)
            else:
                yield self._request(ask)

    def _hear_again(self, replay: Replay, seen: Observation) -> None:
        if replay.answered(seen) is not None:
            replay.ask(self._asks(self._conversation.hear(seen)))
