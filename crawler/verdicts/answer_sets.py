"""Group the observations of a run: those about one ARK at one URL, and those that many ARKs share."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from crawler.answers.facts import AnswerFacts
from crawler.answers.likeness import common_length
from crawler.answers.object_facts import ControlContrast, ObjectFacts, reached_answer
from crawler.answers.probes import landing_pattern, resolver_or_host
from crawler.model.observations import Observation, Question
from crawler.verdicts.readings import CandidateReading, Form
from extractors.model.ark import Ark
from extractors.model.normalize import NotAnArk
from extractors.model.urls import origin_of

#: Questions whose answers concern many ARKs, not only the one for which they were asked.
SHARED = frozenset(
    {
        Question.CONTROL,
        Question.CONTROL_ELSEWHERE,
        Question.CONTROL_INFO,
        Question.CONTROL_RENDERED,
        Question.CONTROL_AGAIN,
        Question.CONTROL_OTHER,
        Question.CONTROL_LANDING,
        Question.CONTROL_EVERY_PART,
        Question.POLICY_LINK,
        Question.WELL_KNOWN,
    }
)


@dataclass(slots=True)
class AnswerSet:
    """The answers about one ARK at one URL; the last attempt at each question is its answer."""

    last_answers: dict[Question, AnswerFacts] = field(default_factory=dict)
    earlier_attempts: list[Observation] = field(default_factory=list)
    """The attempts that a later attempt at the same question replaced."""

    def add(self, observation: Observation) -> None:
        """Add *observation* to the last answers or, if a later attempt is there, to the earlier attempts."""
        last_answer = self.last_answers.get(observation.question)
        if last_answer is None or observation.attempt >= last_answer.attempt:
            self.earlier_attempts += [last_answer] if last_answer is not None else []
            self.last_answers[observation.question] = AnswerFacts.from_observation(observation)
        else:
            self.earlier_attempts.append(observation)

    @property
    def answer(self) -> AnswerFacts | None:
        """The answer that reached the object, or else that to the object question; None without one."""
        return reached_answer(self.last_answers) or self.last_answers.get(Question.OBJECT)


@dataclass(frozen=True, slots=True)
class AnswerSets:
    """The observations of a run, or those about some of its ARKs together with the shared ones."""

    by_url: dict[str, AnswerSet] = field(default_factory=dict)
    """Answers about single ARKs, by the URL of the object question."""
    _shared: dict[tuple[Question, Hashable], list[AnswerFacts]] = field(default_factory=dict)
    """Answers about many ARKs, by the keys of `_shared_keys`."""

    @classmethod
    def from_observations(cls, observations: Iterable[Observation]) -> AnswerSets:
        """Group *observations*, which may come in any order."""
        answer_sets = cls()
        for observation in observations:
            if observation.question not in SHARED:
                answer_sets.by_url.setdefault(observation.request_url, AnswerSet()).add(observation)
                continue
            answer = AnswerFacts.from_observation(observation)
            for key in _shared_keys(answer):
                answer_sets._shared.setdefault(key, []).append(answer)
        return answer_sets

    def with_those_about(self, observations: Iterable[Observation]) -> AnswerSets:
        """Return the shared answers of these sets, with the answers of *observations* about single ARKs."""
        return replace(self, by_url=AnswerSets.from_observations(observations).by_url)

    def answer(self, url: str) -> AnswerFacts | None:
        """Return the answer for the object at *url*, or None."""
        return self.by_url[url].answer if url in self.by_url else None

    def form(self, reading: CandidateReading) -> Form:
        """Return *reading* with its answer and the answer to its control, if they were requested."""
        answer = self.answer(reading.url)
        if answer is None:
            return Form(reading)
        control = self.control(reading.ark, answer.asked_url, Question.CONTROL)
        return Form(reading, answer, control)

    def answers_about(self, question: Question, subject: Hashable) -> list[AnswerFacts]:
        """Return the answers to a shared question about a *subject* (`_shared_keys`)."""
        return self._shared.get((question, subject), [])

    def last_answer(self, question: Question, subject: Hashable) -> AnswerFacts | None:
        """Return the last attempt at a shared question about a *subject*, or None."""
        return max(reversed(self.answers_about(question, subject)), key=lambda answer: answer.attempt, default=None)

    def policy_answers(self) -> dict[str, AnswerFacts]:
        """Return the last answers for pages with the full text of a commitment, by the URL requested."""
        policy_urls = [subject for question, subject in self._shared if question is Question.POLICY_LINK]
        return {
            str(url): answer
            for url in policy_urls
            if (answer := self.last_answer(Question.POLICY_LINK, url)) is not None
        }

    def control_at_landing_host(self, answer: AnswerFacts) -> AnswerFacts | None:
        """Return the answer to the control at the host where the redirects of *answer* ended, or None.

        If that control got the object's page, the one with every part of the address changed counts.
        """
        control = self.last_answer(Question.CONTROL_LANDING, landing_pattern(answer.final_url))
        every_part_control = self.last_answer(
            Question.CONTROL_EVERY_PART, landing_pattern(answer.final_url, every=True)
        )
        if control is None or every_part_control is None:
            return control or every_part_control
        is_needed = ObjectFacts(answer, control).control_contrast is ControlContrast.THE_SAME
        return (
            every_part_control
            if is_needed and ObjectFacts(answer, every_part_control).control_contrast is not ControlContrast.NOTHING
            else control
        )

    def second_controls(self, ark: Ark, answer: AnswerFacts) -> list[AnswerFacts]:
        """Return the answers to the second controls of *ark*, at its resolver and at the landing host of *answer*."""
        controls = [self.control(ark, answer.asked_url, Question.CONTROL_OTHER)]
        if answer.is_redirected:
            controls.append(self.last_answer(Question.CONTROL_OTHER, landing_pattern(answer.final_url)))
        return [control for control in controls if control is not None]

    def control(self, ark: Ark, url: str, question: Question) -> AnswerFacts | None:
        """Return the answer to the control of *ark*, which was requested at *url*.

        Of several controls at that resolver and NAAN, choose the one whose name shares the longest beginning with the
        ARK: the control of its own shoulder if there is one, or else of another shoulder. Of several attempts the last
        counts.
        """
        return max(
            self.answers_about(question, (resolver_or_host(url), ark.naan)),
            key=lambda candidate: (common_length(_control_ark(candidate).name, ark.name), candidate.attempt),
            default=None,
        )


def _shared_keys(answer: AnswerFacts) -> Iterator[tuple[Question, Hashable]]:
    """Yield the keys of an answer that concerns many ARKs: its question with a subject.

    The subject is a URL, an address pattern, an origin, a resolver, or a resolver with a NAAN.
    """
    question, url = answer.question, answer.asked_url
    match question:
        case Question.CONTROL_LANDING:
            yield question, landing_pattern(url)
        case Question.CONTROL_EVERY_PART:
            yield question, landing_pattern(url, every=True)
        case Question.POLICY_LINK:
            yield question, url
        case Question.WELL_KNOWN:
            yield question, origin_of(url)
        case Question.CONTROL_AGAIN:
            yield question, resolver_or_host(url)
        case _:
            is_elsewhere = question is Question.CONTROL_ELSEWHERE
            yield Question.CONTROL if is_elsewhere else question, (resolver_or_host(url), _control_ark(answer).naan)
            if question is Question.CONTROL_OTHER:
                yield question, landing_pattern(url)


def _control_ark(observation: Observation) -> Ark:
    """Return the name that a control requested, or its ARK if the URL contains none."""
    try:
        return Ark.parse(observation.asked_url)
    except NotAnArk:
        return observation.ark
