"""Asks about every ARK: its object, its metadata, and what a name that can't exist is told."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from scrapy import Request
from scrapy.http import Response
from twisted.python.failure import Failure

from crawler.answers import read_answer
from crawler.inflection import judge_metadata
from crawler.middlewares import chain_of
from crawler.observations import DESCRIBED, MetadataOutcome, Observation, Question
from crawler.resolving import INFLECTED, SUCCESSES, asked_url, control_url, next_question, resolver_of
from crawler.spiders.auditing import AuditSpider
from extractors.ark import Ark

#: Flags of a response that was not read to its end.
_INCOMPLETE = frozenset({"download_stopped", "dataloss", "body-timeout", "undecodable"})


@dataclass(slots=True)
class Case:
    """One ARK at one URL, and what has been answered so far."""

    ark: Ark
    request_url: str
    answers: dict[Question, Observation] = field(default_factory=dict)

    @property
    def neighbourhood(self) -> tuple[str, str]:
        """What a control speaks for: the resolver and the NAAN."""
        return resolver_of(self.request_url), self.ark.naan


class ArksSpider(AuditSpider):
    """One chain for each question; the next question depends on the answers so far."""

    name = "arks"

    def __init__(self, *, targets: Iterable[tuple[Ark, str]], legacy: bool = True, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._targets = targets
        self._legacy = legacy
        self._controls: set[tuple[tuple[str, str], Question]] = set()

    async def start(self) -> AsyncIterator[Request]:
        for ark, url in self._targets:
            if not ark.is_skipped:
                yield self._ask(Case(ark, url), Question.OBJECT, asked_url(url, Question.OBJECT))

    def _ask(self, case: Case, question: Question, url: str) -> Request:
        return Request(
            url,
            callback=self.answered,
            errback=self.failed,
            cb_kwargs={"case": case, "question": question, "asked": url},
            dont_filter=True,  # two ARKs may land on one page, and a loop comes by twice
            priority=0 if question is Question.OBJECT else 1,  # finish what was begun
            meta={
                "verbatim_url": True,
                "cookiejar": f"{question} {url}",  # cookies live inside one chain: some hosts loop without them
                "text_only": True,
                "body_limit": self.settings.getint("ARKAUDIT_BODY_LIMIT"),
            },
        )

    async def answered(
        self, response: Response, case: Case, question: Question, asked: str
    ) -> AsyncIterator[Observation | Request]:
        request = response.request
        assert request is not None
        for outcome in self._observed(case, question, asked, request, response):
            yield outcome

    async def failed(self, failure: Failure) -> AsyncIterator[Observation | Request]:
        request: Request = failure.request  # type: ignore[attr-defined]
        for outcome in self._observed(**request.cb_kwargs, request=request, response=None):
            yield outcome

    def _observed(
        self, case: Case, question: Question, asked: str, request: Request, response: Response | None
    ) -> Iterator[Observation | Request]:
        """The observation, and the requests that it calls for."""
        observation = observe(case, question, asked, request, response)
        yield observation
        if question in (Question.CONTROL, Question.CONTROL_INFO):
            return
        case.answers[question] = observation
        described = self._is_described(case)
        if question in (Question.OBJECT, Question.HYPHENS) and observation.status in SUCCESSES:
            yield from self._control(case, Question.CONTROL)
        if question is Question.INFO and described:
            yield from self._control(case, Question.CONTROL_INFO)
        following = next_question(case.answers, described=described, legacy=self._legacy)
        if following is not None:
            yield self._ask(case, following, asked_url(case.request_url, following))

    def _is_described(self, case: Case) -> bool:
        inflected = [case.answers[each] for each in case.answers if each in INFLECTED]
        verdicts = (judge_metadata(each, object_answer=case.answers[Question.OBJECT]) for each in inflected)
        return any(MetadataOutcome(verdict.outcome) in DESCRIBED for verdict in verdicts)

    def _control(self, case: Case, question: Question) -> Iterator[Request]:
        """The control's request, once a neighbourhood."""
        if (case.neighbourhood, question) in self._controls:
            return
        self._controls.add((case.neighbourhood, question))
        url = control_url(case.request_url, case.ark)
        asked_for = Question.INFO if question is Question.CONTROL_INFO else Question.OBJECT
        yield self._ask(case, question, asked_url(url, asked_for))


def observe(case: Case, question: Question, asked: str, request: Request, response: Response | None) -> Observation:
    """The observation of *question*: the chain that *request* ended, and what its last answer says."""
    hops, end, _ = chain_of(request)
    body = b"" if response is None else response.body
    content_type = hops[-1].headers.get("Content-Type") if hops else None
    answer = read_answer(body, content_type)
    return Observation(
        ark=str(case.ark),
        request_url=case.request_url,
        question=question,
        asked_url=asked,
        hops=hops,
        end=end,
        media_type=answer.media_type,
        title=answer.title,
        text=answer.text,
        body_bytes=None if response is None else len(body),
        body_sha256=hashlib.sha256(body).hexdigest() if body else None,
        body_complete=response is not None and not _INCOMPLETE.intersection(response.flags),
        record=answer.record,
    )
