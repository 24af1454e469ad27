"""Group the observations of a run: those about one ARK at one URL, and those that many ARKs share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from crawler.answers.facts import AnswerFacts
from crawler.answers.likeness import common_length
from crawler.answers.object_facts import ControlContrast, ObjectFacts
from crawler.asking.probes import landing_pattern, resolver_or_host
from crawler.asking.questions import reached_answer
from crawler.model.observations import Observation, Question
from crawler.verdicts.readings import CandidateReading, Form
from extractors.model.ark import Ark
from extractors.model.normalize import NotAnArk
from extractors.model.urls import origin_of

K = TypeVar("K")

_CONTROLS = (Question.CONTROL, Question.CONTROL_ELSEWHERE, Question.CONTROL_INFO, Question.CONTROL_RENDERED)
#: Questions whose answers concern many ARKs, not only the one for which they were asked.
SHARED = frozenset(
    {
        *_CONTROLS,
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

    last: dict[Question, AnswerFacts] = field(default_factory=dict)
    earlier: list[Observation] = field(default_factory=list)
    """The earlier attempts."""

    def add(self, observation: Observation) -> None:
        """Keep *observation*, in any order of the attempts."""
        last_answer = self.last.get(observation.question)
        if last_answer is None or observation.attempt >= last_answer.attempt:
            self.earlier += [last_answer] if last_answer is not None else []
            self.last[observation.question] = AnswerFacts(observation)
        else:
            self.earlier.append(observation)

    @property
    def answer(self) -> AnswerFacts | None:
        """The answer that reached the object, or else the first one; None if nothing was asked."""
        return reached_answer(self.last) or self.last.get(Question.OBJECT)


@dataclass(frozen=True, slots=True)
class AnswerSets:
    """The observations of a run, or those about some of its ARKs together with the shared ones."""

    about: dict[str, AnswerSet]
    """Answers about single ARKs, by the URL of the object question."""
    policies: dict[str, AnswerFacts]
    """The last answers for pages with the full text of a commitment, by the URL asked."""
    paths: dict[str, AnswerFacts]
    """The last answers about the path of a host's resolver, by the origin asked."""
    _landings: dict[str, AnswerFacts]
    """The last answers of landing hosts to controls, by the pattern of the URL asked."""
    _controls: dict[tuple[str, str, Question], list[AnswerFacts]]
    controls_again: dict[str, list[AnswerFacts]]
    """The answers to controls that were requested again, by resolver."""
    _other_landings: dict[str, AnswerFacts]
    """The last answers of landing hosts to second controls, by the pattern of the URL asked."""

    @classmethod
    def from_observations(cls, observations: Iterable[Observation]) -> AnswerSets:
        """Group *observations*, which may come in any order."""
        answer_sets = cls({}, {}, {}, {}, {}, {}, {})
        for observation in observations:
            answer_sets.add(observation)
        return answer_sets

    def add(self, observation: Observation) -> None:
        """Add one observation; they may come in any order."""
        if observation.question in _CONTROLS:
            question = Question.CONTROL if observation.question is Question.CONTROL_ELSEWHERE else observation.question
            key = resolver_or_host(observation.asked_url), _control_ark(observation).naan, question
            self._controls.setdefault(key, []).append(AnswerFacts(observation))
        elif observation.question is Question.CONTROL_AGAIN:
            self.controls_again.setdefault(resolver_or_host(observation.asked_url), []).append(AnswerFacts(observation))
        elif observation.question is Question.CONTROL_OTHER:
            key = resolver_or_host(observation.asked_url), _control_ark(observation).naan, observation.question
            self._controls.setdefault(key, []).append(AnswerFacts(observation))
            _keep_last(self._other_landings, landing_pattern(observation.asked_url), observation)
        elif observation.question in (Question.CONTROL_LANDING, Question.CONTROL_EVERY_PART):
            is_every = observation.question is Question.CONTROL_EVERY_PART
            _keep_last(self._landings, landing_pattern(observation.asked_url, every=is_every), observation)
        elif observation.question is Question.POLICY_LINK:
            _keep_last(self.policies, observation.asked_url, observation)
        elif observation.question is Question.WELL_KNOWN:
            _keep_last(self.paths, origin_of(observation.asked_url), observation)
        else:
            self.about.setdefault(observation.request_url, AnswerSet()).add(observation)

    def with_those_about(self, observations: Iterable[Observation]) -> AnswerSets:
        """Return the answers of *observations* about single ARKs, with the shared answers of this group."""
        return replace(self, about=AnswerSets.from_observations(observations).about)

    def answer(self, url: str) -> AnswerFacts | None:
        """Return the answer for the object at *url*, or None."""
        return self.about[url].answer if url in self.about else None

    def form(self, reading: CandidateReading) -> Form:
        """Return a reading with its answer and the answer to its control."""
        answer = self.answer(reading.url)
        if answer is None:
            return Form(reading)
        control = self.control(reading.ark, answer.asked_url, Question.CONTROL)
        return Form(reading, answer, control)

    def control_at_landing_host(self, answer: AnswerFacts) -> AnswerFacts | None:
        """Return the answer to the control at the host where the redirects of *answer* ended, or None.

        If that control got the object's page, the one with every part of the address changed counts.
        """
        if not self._landings:
            return None
        control, other = (
            self._landings.get(landing_pattern(answer.final_url, every=is_every)) for is_every in (False, True)
        )
        if control is None or other is None:
            return control or other
        is_needed = ObjectFacts(answer, control).reply is ControlContrast.THE_SAME
        return other if is_needed and ObjectFacts(answer, other).reply is not ControlContrast.NOTHING else control

    def other_controls(self, ark: Ark, answer: AnswerFacts) -> tuple[AnswerFacts, ...]:
        """Return the answers to the second controls of *ark*, at its resolver and at the landing host of *answer*."""
        found = [self.control(ark, answer.asked_url, Question.CONTROL_OTHER)]
        if answer.is_redirected:
            found.append(self._other_landings.get(landing_pattern(answer.final_url)))
        return tuple(control for control in found if control is not None)

    def control(self, ark: Ark, url: str, question: Question) -> AnswerFacts | None:
        """Return the answer to the control of *ark*, which was requested at *url*.

        Of several controls at that resolver and NAAN, choose the one whose name shares the longest beginning with the
        ARK: the control of its own shoulder if there is one, or else of another shoulder. Of several attempts the last
        counts.
        """
        candidates = self._controls.get((resolver_or_host(url), ark.naan, question), [])
        return max(
            candidates,
            key=lambda candidate: (common_length(_control_ark(candidate).name, ark.name), candidate.attempt),
            default=None,
        )


def _keep_last(answers: dict[K, AnswerFacts], key: K, observation: Observation) -> None:
    before = answers.get(key)
    if before is None or observation.attempt >= before.attempt:
        answers[key] = AnswerFacts(observation)


def _control_ark(observation: Observation) -> Ark:
    """Return the name that a control requested, or its ARK if the URL contains none."""
    try:
        return Ark.parse(observation.asked_url)
    except NotAnArk:
        return observation.ark
