"""Asks about every ARK: its object, its metadata, and what a name that can't exist is told. It decides nothing."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from scrapy import Request
from scrapy.http import Response
from twisted.python.failure import Failure

from crawler.answers.facts import AnswerFacts
from crawler.asking.controls import ENOUGH_NAMES, Neighbourhood, Shoulders, control_url, place_of
from crawler.asking.paths import origin_of, resolver_path
from crawler.asking.questions import AskingContext, Places, next_question, question_url, reached
from crawler.attempts import Patience, next_attempt
from crawler.crawl_requests import CrawlRequest
from crawler.observations import ACCESS, CONFORMANCE, Observation, Question
from crawler.resolving import INFLECTED, INFLECTIONS, label_of, names_skipped_ark, sendable, url_fault
from crawler.spiders.auditing import AuditSpider
from crawler.spiders.observing import observe
from crawler.spiders.replaying import Replay
from crawler.storage.feeding import Bounds
from crawler.storage.frontier_rows import SettledEntry
from crawler.verdicts.answer_sets import is_about_resolver
from crawler.verdicts.closed import ClosedCollection, closed_for
from crawler.verdicts.readings import AwaitedReading, CandidateReading, learned, meant_by, next_reading, readings_of
from crawler.verdicts.spellings import SHOULDERS_A_RESOLVER, forms
from crawler.verdicts.verdict import Description, described_by
from extractors.ark import Ark
from extractors.naan import Registry
from extractors.normalize import LABEL

Target = tuple[Ark, str]

#: So many ARKs are open at a host at a time: enough that it is asked without a break while some wait for others.
ARKS_A_HOST = 100
#: Characters of the address of a policy, beyond which it is none.
LONGEST_POLICY = 2000
#: So many ARKs are asked for in the other label form in vain before a resolver counts as indifferent to it.
LABELS_TRIED = 3
_PRIORITY = {Question.OBJECT: 0, **dict.fromkeys(set(CONFORMANCE) - set(ACCESS), -1)}
_DESCRIPTIVE = frozenset(INFLECTED)
#: Questions that are put for many ARKs at once.
_SHARED = frozenset({Question.CONTROL, Question.CONTROL_INFO, Question.POLICY_LINK})


def is_worth_asking(policy: str) -> bool:
    """Whether the address of a policy may be asked, whoever has written it into a record."""
    return len(policy) <= LONGEST_POLICY and url_fault(sendable(policy)) is None and not names_skipped_ark(policy)


@dataclass(slots=True)
class Case:
    """One ARK at one URL, and what has been answered so far."""

    ark: Ark
    request_url: str
    first_url: str
    """Where the object is asked for: there, or straight at the registry's target."""
    places: Places
    readings: tuple[CandidateReading, ...] = ()
    """What its mention may stand for, itself first; empty when it is just a reading of another's."""
    meant: tuple[CandidateReading, ...] = ()
    """What may have been meant, where its check character fails."""
    is_guess: bool = False
    """Whether it is no more than what may have been meant: nothing is asked but whether it lives."""
    answers: dict[Question, AnswerFacts] = field(default_factory=dict)
    open: int = 0
    """Questions that are on their way, and answers about others that it waits for."""

    @property
    def answer(self) -> AnswerFacts | None:
        """The answer by which the object was reached, or else the first; None while that is on its way."""
        return reached(self.answers) or self.answers.get(Question.OBJECT)

    def waits_for(self, url: str) -> bool:
        """Whether the answer at *url* is about a reading of this one."""
        return url != self.request_url and any(each.url == url for each in (*self.readings, *self.meant))


@dataclass(slots=True)
class Resolver:
    """What was learned in this run of one resolver."""

    labels_taken: set[str] = field(default_factory=set)
    labels_tried: Counter[str] = field(default_factory=Counter)
    sampled: int = 0
    """How many of its shoulders have been looked at for conformance."""


class ArksSpider(AuditSpider):
    """One chain for each question; the next question depends on the answers so far."""

    name = "arks"

    def __init__(
        self,
        *,
        targets: Iterable[Target],
        readings: Mapping[str, Sequence[CandidateReading]] | None = None,
        registry: Registry | None = None,
        resolver: str = "https://n2t.net/",
        direct: bool = False,
        legacy: bool = True,
        conformance: bool = True,
        conformance_from: int = ENOUGH_NAMES,
        closed: Sequence[ClosedCollection] = (),
        patience: Patience | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(bounds=Bounds(per_host=ARKS_A_HOST), **kwargs)
        self.frontier.add(CrawlRequest.to_ark(ark, url) for ark, url in targets if not ark.is_skipped)
        self._registry = registry or Registry.builtin()
        self._resolver = resolver
        self._direct = direct
        self._legacy = legacy
        self._patience = patience or Patience()
        self._closed = closed
        self._evidence = learned(self._targets())
        self._shoulders = Shoulders.among((ark for ark, _ in self._targets()), self._registry)
        self._readings = readings or {}
        self._cases: dict[str, Case] = {}
        """Those that are open, and those that were opened as other readings."""
        self._let_go: set[int] = set()
        """Hashes of the URLs of cases that were settled: the store has their answers."""
        self._replay: Replay | None = None
        self._waiting: dict[str, Case] = {}
        """Cases whose next question depends on the answer about another reading."""
        self._controls: dict[Neighbourhood, AnswerFacts] = {}
        self._paths: dict[str, str | None] = {}
        """The path of a host's resolver by its own word, None for hosts that say nothing."""
        self._waiting_for_path: dict[str, list[Case]] = {}
        self._policies: set[str] = set()
        neighbours = Counter(self._shoulders.neighbourhood(url, ark) for ark, url in self._targets())
        self._speakers: dict[Neighbourhood, Ark] = {}
        """The first target of each neighbourhood, in their order: its control has that one's shape, whoever asks."""
        for ark, url in self._targets():
            self._speakers.setdefault(self._shoulders.neighbourhood(url, ark), ark)
        self._to_sample = {each for each, arks in neighbours.items() if conformance and arks >= conformance_from}
        self._resolvers: defaultdict[str, Resolver] = defaultdict(Resolver)
        self._asked: set[tuple[Neighbourhood, Question]] = set()
        self._one_answer = asyncio.Lock()
        """One answer is read at a time, and between two the event loop comes round: hosts are asked when it is time."""

    def _targets(self) -> Iterator[Target]:
        return (
            (crawl_request.ark, crawl_request.url)
            for crawl_request in self.frontier.requests()
            if crawl_request.ark is not None
        )

    async def begin(self) -> AsyncIterator[Request]:
        async for request in self._replayed():
            yield request
        async for entry in self.feed.entries():
            if entry.crawl_request.ark is not None:
                for request in self._begin(entry.crawl_request.ark, entry.crawl_request.url):
                    yield request

    def _begin(self, ark: Ark, url: str) -> Iterator[Request]:
        """The first question about a target; one that was asked about as another's reading goes on from there."""
        if hash(url) in self._let_go:
            self.record(SettledEntry(self.name, url))
            return
        readings = readings_of(ark, url, self._readings.get(url, ()))
        case = self._cases.get(url)
        if case is None:
            yield self._open(ark, url, readings)
            return
        if case.readings:
            return  # a replay has begun it
        case.readings, case.meant, case.is_guess = readings, meant_by(readings[0], self._evidence), False
        if Question.OBJECT in case.answers:
            yield from self._next(case, described_by(case.answers))
        self._settle(case)

    def _open(
        self, ark: Ark, url: str, readings: tuple[CandidateReading, ...] = (), *, is_guess: bool = False
    ) -> Request:
        self._cases[url] = self._case(ark, url, readings, is_guess=is_guess)
        return self._ask(self._cases[url], Question.OBJECT, self._cases[url].first_url)

    def _case(self, ark: Ark, url: str, readings: tuple[CandidateReading, ...] = (), *, is_guess: bool = False) -> Case:
        places = Places.of(ark, url, registry=self._registry, global_resolver=self._resolver)
        first_url = url
        if self._direct and places.at_registry and not places.at_global:
            first_url, places = places.at_registry, Places(at_global=url, is_target=True)
        meant = meant_by(readings[0], self._evidence) if readings else ()
        return Case(ark, url, first_url, places, readings, meant, is_guess)

    def _settle(self, case: Case) -> None:
        """Let go of a target about which nothing is left to ask."""
        if case.readings and not case.open and self._cases.get(case.request_url) is case:
            self.record(SettledEntry(self.name, case.request_url))
            self._let_go.add(hash(case.request_url))
            del self._cases[case.request_url]

    def _case_at(self, reading: CandidateReading) -> Case | None:
        """The case of a reading that was asked about, from the store if it was let go."""
        case = self._cases.get(reading.url)
        if case is None and hash(reading.url) in self._let_go:
            self.recorder.commit()
            case = self._case(reading.ark, reading.url)
            seen_there = self.store.observations_at(self.run_id, reading.url)
            case.answers = {seen.question: AnswerFacts(seen) for seen in seen_there}
        return case

    # -- asking, and what is heard

    def _ask(self, case: Case, question: Question, url: str, *, after: Observation | None = None) -> Request:
        """Every question goes through here, its answer through `_heard`; *after* is what the attempt before gave."""
        case.open += 1
        attempt = 1 if after is None else after.attempt + 1
        return Request(
            sendable(url),
            callback=self.answered,
            errback=self.failed,
            cb_kwargs={"case": case, "question": question, "asked": url, "attempt": attempt, "after": after},
            dont_filter=True,  # two ARKs may land on one page, and a loop comes by twice
            priority=_PRIORITY.get(question, 1),  # finish what was begun
            meta={
                "verbatim_url": True,
                "text_only": True,
                "body_limit": self.settings.getint("ARKAUDIT_BODY_LIMIT"),
            },
        )

    async def answered(
        self, response: Response, case: Case, question: Question, asked: str, attempt: int, after: Observation | None
    ) -> AsyncIterator[Observation | Request]:
        request = response.request
        assert request is not None
        async with self._one_answer:
            outcomes = self._observed(case, question, asked, attempt, after, request, response)
        for outcome in outcomes:
            yield outcome

    async def failed(self, failure: Failure) -> AsyncIterator[Observation | Request]:
        request: Request = failure.request  # type: ignore[attr-defined]
        for outcome in self._observed(**request.cb_kwargs, request=request, response=None):
            yield outcome

    def _observed(
        self,
        case: Case,
        question: Question,
        asked: str,
        attempt: int,
        after: Observation | None,
        request: Request,
        response: Response | None,
    ) -> list[Observation | Request]:
        """The observation, and the requests that it calls for; it is recorded in the order of these decisions."""
        seen = observe(case.ark, case.request_url, question, asked, attempt, request, response)
        if after is not None and not any(hop.sent for hop in seen.hops):
            return [*self._heard(case, after, is_last=True)]  # nothing was asked again: what was seen before stands
        self.record(seen)
        return [seen, *self._heard(case, seen)]

    def _heard(self, case: Case, seen: Observation, *, is_last: bool = False) -> list[Request]:
        """What an answer calls for. What is asked in a run depends on the answers, in their order, and nothing else."""
        case.open -= 1
        following = list(self._following(case, seen, is_last=is_last))
        self._settle(case)
        return following

    def _following(self, case: Case, seen: Observation, *, is_last: bool) -> Iterator[Request]:
        """The same once more, or the next questions."""
        question, asked = seen.question, seen.asked_url
        wait_s = None if is_last else next_attempt(seen, self._patience)
        if wait_s is not None:
            self._ask_again(self._ask(case, question, asked, after=seen), wait_s, seen)
            return
        if question is Question.CONTROL:
            self._controls[self._neighbourhood(case)] = AnswerFacts(seen)
            yield from self._go_on_with(list(self._waiting.values()))
        if question is Question.WELL_KNOWN:
            yield from self._heard_of_path(origin_of(asked), resolver_path(seen))
            return
        if question in _SHARED or is_about_resolver(question, case.answers.get(Question.OBJECT)):
            return
        case.answers[question] = AnswerFacts(seen)
        self._learn(question, case.answers[question])
        described = described_by(case.answers)
        yield from self._about_resolver(case, question, described)
        yield from self._next(case, described)
        yield from self._go_on_with([each for each in self._waiting.values() if each.waits_for(case.request_url)])

    def _go_on_with(self, waiting: Iterable[Case]) -> Iterator[Request]:
        for case in waiting:
            if self._waiting.pop(case.request_url, None) is not None:
                yield from self._go_on(case)

    def _go_on(self, case: Case) -> Iterator[Request]:
        """The next question about an ARK that waited for the answer about another."""
        case.open -= 1
        yield from self._next(case, described_by(case.answers))
        self._settle(case)

    def _ask_again(self, request: Request, wait_s: float, seen: Observation) -> None:
        if self._replay is None:
            self.ask_later(request, wait_s)
        else:
            self._replay.ask_later(request, wait_s=wait_s, since=seen.at)

    def _next(self, case: Case, described: Description) -> Iterator[Request]:
        """The next question about an ARK: the spellings that mean the same, other readings, other places, metadata."""
        following = next_question(case.answers, self._known(case, described), case.places, first_url=case.first_url)
        if following is not Question.HYPHENS and not _DESCRIPTIVE.intersection(case.answers):
            reading = self._reading(case)
            if reading is not None:
                case.open += case.request_url not in self._waiting
                self._waiting[case.request_url] = case
                if isinstance(reading, CandidateReading):
                    yield self._open(reading.ark, reading.url, is_guess=reading in case.meant)
                return
        if following is None or case.is_guess or (not case.readings and reached(case.answers) is None):
            return
        if following is Question.OTHER_LABEL:
            self._resolvers[place_of(case.first_url)].labels_tried[label_of(case.first_url)] += 1
        if following is Question.WELL_KNOWN:
            waiting = self._waiting_for_path.setdefault(origin_of(case.first_url), [])
            waiting.append(case)
            case.open += 1
            if len(waiting) > 1:
                return
        if following is Question.DOUBLE and described.by is not None:
            self._asked.add((self._neighbourhood(case), Question.DOUBLE))
        own_path = self._paths.get(origin_of(case.first_url))
        url = question_url(following, case.first_url, case.answers, case.places, own_path=own_path)
        yield self._ask(case, following, url)

    def _heard_of_path(self, origin: str, path: str | None) -> Iterator[Request]:
        """Go on with all that waited for the path of a host's resolver."""
        self._paths[origin] = path
        for case in self._waiting_for_path.pop(origin, []):
            yield from self._go_on(case)

    def _reading(self, case: Case) -> CandidateReading | AwaitedReading | None:
        """The reading of a case's mention that is to be asked about before anything else."""
        begun = [known for each in (*case.readings, *case.meant) if (known := self._case_at(each)) is not None]
        if len(case.readings) + len(case.meant) > 1 and any(map(self._awaits_control, begun)):
            return AwaitedReading()
        heard = {each.request_url: each.answer for each in begun}
        controls = {each.request_url: self._controls.get(self._neighbourhood(each)) for each in begun}
        return next_reading(case.readings, case.meant, heard, controls)

    # -- what was observed before the run was interrupted

    async def _replayed(self) -> AsyncIterator[Request]:
        """Go on from the answers that the store has, in the order in which they came; ask only what they leave open.

        So a run that is resumed decides what it would have decided without the interruption.
        """
        self._replay = replay = Replay()
        for number, seen in enumerate(self.store.observations(self.run_id)):
            if not replay.awaits(seen):
                replay.ask(self._begun_by(seen))
            self._hear_again(replay, seen)
            if number % 100 == 0:
                await asyncio.sleep(0)
        while late := replay.answers_to_find():
            for url, question, attempt in late:
                [seen] = self.store.observations_at(self.run_id, url, question, attempt)
                self._hear_again(replay, seen)
        self._replay = None
        self.recorder.commit()
        for request, wait_s in replay.open(now=datetime.now(UTC)):
            if wait_s > 0:
                self.ask_later(request, wait_s)
            else:
                yield request

    def _begun_by(self, seen: Observation) -> Iterator[Request]:
        """The first questions about the target that *seen* is about, if it is one that was not begun yet."""
        crawl_request = self.frontier.find(seen.request_url)
        return (
            self._begin(crawl_request.ark, crawl_request.url)
            if crawl_request is not None and crawl_request.ark is not None
            else iter(())
        )

    def _hear_again(self, replay: Replay, seen: Observation) -> None:
        request = replay.answered(seen)
        if request is not None:
            replay.ask(self._heard(request.cb_kwargs["case"], seen))

    def _awaits_control(self, case: Case) -> bool:
        """Whether it is still open what the answer about a case is worth."""
        neighbourhood = self._neighbourhood(case)
        is_asked = (neighbourhood, Question.CONTROL) in self._asked and neighbourhood not in self._controls
        return is_asked and reached(case.answers) is not None

    # -- what is known of a resolver, and asked about it

    def _learn(self, question: Question, answer: AnswerFacts) -> None:
        """Which label forms a resolver takes: the one that it was seen to take is not tried otherwise again."""
        if question in (Question.OBJECT, Question.OTHER_LABEL) and answer.is_reached:
            asked_url = answer.seen.asked_url
            self._resolvers[place_of(asked_url)].labels_taken.add(label_of(asked_url))

    def _known(self, case: Case, described: Description) -> AskingContext:
        neighbourhood, label = self._neighbourhood(case), label_of(case.first_url)
        resolver = self._resolvers[place_of(case.first_url)]
        is_in_vain = resolver.labels_tried[label] >= LABELS_TRIED and not resolver.labels_taken
        return AskingContext(
            described=described.by is not None,
            stated=described.states_commitment,
            legacy=self._legacy,
            has_asked_both=(neighbourhood, Question.DOUBLE) in self._asked,
            own_path=self._paths.get(origin_of(case.first_url)),
            has_asked_path=origin_of(case.first_url) in self._paths,
            takes_label=label in resolver.labels_taken or is_in_vain,
        )

    def _neighbourhood(self, case: Case) -> Neighbourhood:
        living = reached(case.answers)
        return self._shoulders.neighbourhood(living.seen.asked_url if living else case.first_url, case.ark)

    def _about_resolver(self, case: Case, question: Question, described: Description) -> Iterator[Request]:
        """The control, once a neighbourhood; the question that was answered with a description, of the control too;
        and the other forms of one ARK."""
        living, neighbourhood = reached(case.answers), self._neighbourhood(case)
        telling = living or self._refusal_as_expected(case)
        is_labelled = telling is not None and LABEL.search(telling.seen.asked_url) is not None
        shaped_by = self._speakers.get(neighbourhood, case.ark) if is_labelled else case.ark
        control = control_url(telling.seen.asked_url, shaped_by, self._registry) if telling else None
        if control is None:
            return
        if question in ACCESS and self._is_first(neighbourhood, Question.CONTROL):
            yield self._ask(case, Question.CONTROL, control)
        if question in INFLECTED and described.by is question and self._is_first(neighbourhood, Question.CONTROL_INFO):
            yield self._ask(case, Question.CONTROL_INFO, control + INFLECTIONS[question])
        policy = described.policy_url
        if policy is not None and policy not in self._policies and is_worth_asking(policy):
            self._policies.add(policy)
            yield self._ask(case, Question.POLICY_LINK, policy)
        resolver = self._resolvers[neighbourhood.place]
        is_sample = question is Question.OBJECT and living is not None and neighbourhood in self._to_sample
        if is_sample and resolver.sampled < SHOULDERS_A_RESOLVER:
            self._to_sample.discard(neighbourhood)
            resolver.sampled += 1
            for form, url in forms(case.first_url, case.ark):
                yield self._ask(case, form, url)

    def _refusal_as_expected(self, case: Case) -> AnswerFacts | None:
        """The answer for an object that is meant to be closed, and is: a control tells whether it is known at all."""
        answer = case.answers[Question.OBJECT]
        return answer if closed_for(case.ark, self._closed) and answer.asks_for_a_right else None

    def _is_first(self, neighbourhood: Neighbourhood, question: Question) -> bool:
        is_first = (neighbourhood, question) not in self._asked
        self._asked.add((neighbourhood, question))
        return is_first
