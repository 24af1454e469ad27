"""Pure: sort the observations of a run by what they are about: one ARK at one URL, or what many ARKs share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from crawler.answers.facts import AnswerFacts
from crawler.answers.likeness import common_length
from crawler.asking.probes import landing_pattern, place_of
from crawler.asking.questions import reached_answer, seems_absent
from crawler.model.observations import ACCESS, CONFORMANCE, Observation, Question
from crawler.verdicts.readings import CandidateReading, Form
from extractors.model.ark import Ark
from extractors.model.normalize import NotAnArk
from extractors.model.urls import origin_of

K = TypeVar("K")

_CONTROLS = (Question.CONTROL, Question.CONTROL_ELSEWHERE, Question.CONTROL_INFO, Question.CONTROL_RENDERED)
#: Questions whose answers bear on many ARKs, next to the one for which they were put.
SHARED = frozenset(
    {
        *_CONTROLS,
        Question.CONTROL_AGAIN,
        Question.CONTROL_OTHER,
        Question.CONTROL_LANDING,
        Question.POLICY_LINK,
        Question.WELL_KNOWN,
    }
)


@dataclass(slots=True)
class AnswerSet:
    """The answers about one ARK at one URL; the last attempt at each question is the answer."""

    last: dict[Question, AnswerFacts] = field(default_factory=dict)
    earlier: list[Observation] = field(default_factory=list)
    """The attempts before those."""

    def add(self, observation: Observation) -> None:
        """Keep *observation*, whatever the order of the attempts."""
        last_answer = self.last.get(observation.question)
        if last_answer is None or observation.attempt >= last_answer.seen.attempt:
            self.earlier += [last_answer.seen] if last_answer is not None else []
            self.last[observation.question] = AnswerFacts(observation)
        else:
            self.earlier.append(observation)

    @property
    def answer(self) -> AnswerFacts | None:
        """The answer by which the object was reached, or else the first; None where nothing was asked."""
        return reached_answer(self.last) or self.last.get(Question.OBJECT)


@dataclass(frozen=True, slots=True)
class AnswerSets:
    """The observations of a run, or those about some of its ARKs with what many share."""

    about: dict[str, AnswerSet]
    """By the URL of the object question."""
    policies: dict[str, AnswerFacts]
    """The last answers for pages where commitments are in full, by the URL asked."""
    paths: dict[str, AnswerFacts]
    """The last answers for what a host says of its resolver's path, by the origin asked."""
    _landings: dict[str, AnswerFacts]
    """The last answers for what can't exist where redirects have led, by the pattern of the URL asked."""
    _controls: dict[tuple[str, str, Question], list[AnswerFacts]]
    controls_again: dict[str, list[AnswerFacts]]
    """The answers to controls that were asked again, by the resolver."""
    _other_landings: dict[str, AnswerFacts]
    """The last answers to second controls at landing hosts, by the pattern of the URL asked."""

    @classmethod
    def of(cls, observations: Iterable[Observation]) -> AnswerSets:
        """Sort *observations*, which may come in any order."""
        answer_sets = cls({}, {}, {}, {}, {}, {}, {})
        for observation in observations:
            answer_sets.add(observation)
        return answer_sets

    def add(self, observation: Observation) -> None:
        """Sort one more of them in, which may come in any order."""
        if observation.question in _CONTROLS:
            question = Question.CONTROL if observation.question is Question.CONTROL_ELSEWHERE else observation.question
            key = place_of(observation.asked_url), _invented(observation).naan, question
            self._controls.setdefault(key, []).append(AnswerFacts(observation))
        elif observation.question is Question.CONTROL_AGAIN:
            self.controls_again.setdefault(place_of(observation.asked_url), []).append(AnswerFacts(observation))
        elif observation.question is Question.CONTROL_OTHER:
            key = place_of(observation.asked_url), _invented(observation).naan, observation.question
            self._controls.setdefault(key, []).append(AnswerFacts(observation))
            _keep_last(self._other_landings, landing_pattern(observation.asked_url), observation)
        elif observation.question is Question.CONTROL_LANDING:
            _keep_last(self._landings, landing_pattern(observation.asked_url), observation)
        elif observation.question is Question.POLICY_LINK:
            _keep_last(self.policies, observation.asked_url, observation)
        elif observation.question is Question.WELL_KNOWN:
            _keep_last(self.paths, origin_of(observation.asked_url), observation)
        elif observation.question in ACCESS or observation.question not in CONFORMANCE:
            self.about.setdefault(observation.request_url, AnswerSet()).add(observation)

    def with_those_about(self, observations: Iterable[Observation]) -> AnswerSets:
        """The answers of *observations* about single ARKs, with what many share as it is here."""
        return replace(self, about=AnswerSets.of(observations).about)

    def answer(self, url: str) -> AnswerFacts | None:
        """The answer for the object at *url*, as far as there is one."""
        return self.about[url].answer if url in self.about else None

    def form(self, reading: CandidateReading) -> Form:
        """Return a reading with the answer about it, and what a name that can't exist got next to that."""
        answer = self.answer(reading.url)
        if answer is None:
            return Form(reading)
        control = self.control(reading.ark, answer.asked_url, Question.CONTROL)
        return Form(reading, answer, control)

    def landing(self, url: str) -> AnswerFacts | None:
        """Return what was answered for what can't exist where redirects have led, next to what is at *url*."""
        return self._landings.get(landing_pattern(url)) if self._landings else None

    def other_controls(self, ark: Ark, answer: AnswerFacts) -> tuple[AnswerFacts, ...]:
        """Return the answers to the second controls for *ark*: at its resolver, and where redirects led *answer*."""
        found = [self.control(ark, answer.asked_url, Question.CONTROL_OTHER)]
        if answer.is_redirected:
            found.append(self._other_landings.get(landing_pattern(answer.final_url)))
        return tuple(control for control in found if control is not None)

    def control(self, ark: Ark, url: str, question: Question) -> AnswerFacts | None:
        """Return what was answered for a name that can't exist, next to *ark* where it was asked for at *url*.

        Of the controls of that resolver and NAAN it is the one whose name has most of its beginning in common with
        the ARK's: that of its own shoulder where one was asked; another shoulder's is better than none. Of several
        attempts the last counts.
        """
        candidates = self._controls.get((place_of(url), ark.naan, question), [])
        return max(
            candidates,
            key=lambda candidate: (common_length(_invented(candidate.seen).name, ark.name), candidate.seen.attempt),
            default=None,
        )


def is_about_resolver(question: Question, asked: AnswerFacts | None) -> bool:
    """Return whether *question* was put to learn how the resolver treats other forms of an ARK that it had answered
    for.

    *asked* is the answer for the object, as far as there is one. Where that is a success for what may not be there,
    another form was asked for in the hope of the object.
    """
    if question not in CONFORMANCE:
        return False
    return question not in ACCESS or (asked is not None and asked.is_reached and not seems_absent(asked))


def _keep_last(answers: dict[K, AnswerFacts], key: K, observation: Observation) -> None:
    before = answers.get(key)
    if before is None or observation.attempt >= before.seen.attempt:
        answers[key] = AnswerFacts(observation)


def _invented(observation: Observation) -> Ark:
    """The name that a control asked for; the ARK that it is compared with where its URL holds none."""
    try:
        return Ark.parse(observation.asked_url)
    except NotAnArk:
        return observation.ark
