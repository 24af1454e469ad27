"""The conversation with resolvers about all ARKs of a run: an answer comes in, and the next questions go out. No I/O.

The questions depend only on the answers and their order, so the same answers lead to the same questions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn

from crawler.answers.facts import AnswerFacts
from crawler.asking.questions import FallbackUrls
from crawler.asking.shared import AskingRules, Fact, SharedFacts, Target
from crawler.asking.target import OpenTarget, QuestionToSend
from crawler.model.observations import Observation, Question
from crawler.model.resolving import attempt_wait_s
from crawler.verdicts.readings import CandidateReading, evidence_of_targets, readings_of, suggested_readings
from crawler.verdicts.verdict import JUDGING_CPU_S
from extractors.model.ark import Ark
from extractors.model.budget import OverBudget, cpu_limit


@dataclass(frozen=True, slots=True)
class FinishedTarget:
    """A target without further questions."""

    request_url: str


Outgoing = QuestionToSend | FinishedTarget


def _raise_bug(bug: Exception) -> NoReturn:
    raise bug


class Conversation:
    """Continues the questions about each target of a run: call `begin` for each, and `on_answer` for each answer."""

    def __init__(
        self,
        targets: Callable[[], Iterable[Target]],
        rules: AskingRules,
        readings: Mapping[str, Sequence[CandidateReading]] | None = None,
        *,
        recall: Callable[[str], Iterable[Observation]] = lambda url: (),
        on_bug: Callable[[Exception], None] = _raise_bug,
    ) -> None:
        """Learn the shoulders, and the evidence for mistyped names, from all *targets*.

        *readings* are the alternative readings of targets, by request URL. *recall* returns the observations at the URL
        of a finished target, which are not kept here. *on_bug* gets an exception in the questions about a target.
        """
        self._rules = rules
        self._recall = recall
        self._on_bug = on_bug
        self._readings = readings or {}
        self._evidence = evidence_of_targets(targets(), self._readings, rules.declared)
        self._shared = SharedFacts(targets, rules)
        self._targets: dict[str, OpenTarget] = {}
        """The unfinished targets by request URL, and those opened as other readings of a mention."""
        self._finished: set[int] = set()
        """Hashes of the URLs of finished targets."""
        self._waiting: defaultdict[Fact, list[OpenTarget]] = defaultdict(list)
        """The targets that wait for each fact."""
        self._outgoing: list[Outgoing] = []

    def begin(self, ark: Ark, url: str) -> list[Outgoing]:
        """Begin the target *ark* at *url*, and return the questions to send.

        The list is empty if the target has begun. If it is finished, the list has only its `FinishedTarget`.
        """
        if hash(url) in self._finished:
            return [FinishedTarget(url)]
        target = self._targets.get(url) or self._open(ark, url)
        if target.readings:
            return []  # a replay has begun it
        target.readings, target.is_guess = readings_of(ark, url, self._readings.get(url, ())), False
        target.suggested = suggested_readings(target.readings[0], self._evidence)
        if target.steps is None:
            self._continue(target)
        return self.go_on()

    def on_answer(self, observation: Observation, *, is_last: bool = False) -> list[Outgoing]:
        """Take an answer, and return the questions to send next.

        After a temporary failure, this is only the next attempt at the same question, unless *is_last*.

        Raises `OverBudget` if the decision takes too long; then `go_on` returns the next questions.
        """
        target = self._targets.get(observation.request_url)
        if target is None:
            return []  # it was closed
        wait_s = None if is_last else attempt_wait_s(observation, self._rules.patience)
        if wait_s is not None:
            question, url = observation.question, observation.asked_url
            return [QuestionToSend(target.ark, target.request_url, question, url, observation, wait_s)]
        self._continue(target, AnswerFacts.from_observation(observation))
        return self.go_on()

    def on_lost(self, url: str) -> list[Outgoing]:
        """Close the target at *url*, whose answer never comes, and return questions about targets that waited for it."""
        self._close(url)
        return self.go_on()

    def go_on(self) -> list[Outgoing]:
        """Continue the targets that waited for facts that have changed, and return all questions to send."""
        while self._shared.changed_facts:
            for target in self._waiting.pop(self._shared.changed_facts.pop(0), ()):
                if target.steps is not None:
                    with suppress(OverBudget):
                        self._continue(target)
        outgoing, self._outgoing = self._outgoing, []
        return outgoing

    # -- targets

    def _open(self, ark: Ark, url: str) -> OpenTarget:
        target = self._targets[url] = self._new_target(ark, url)
        return target

    def _new_target(self, ark: Ark, url: str) -> OpenTarget:
        fallbacks = FallbackUrls.for_ark(ark, url, registry=self._rules.registry, global_resolver=self._rules.resolver)
        first_url = url
        if self._rules.direct and fallbacks.at_registry and not fallbacks.at_global:
            first_url, fallbacks = fallbacks.at_registry, FallbackUrls(at_global=url, is_target=True)
        return OpenTarget(ark, url, first_url, fallbacks, self._shared, self._find)

    def _find(self, reading: CandidateReading) -> OpenTarget | None:
        """Return the target of a reading, with recalled answers if it is finished; None if there is none."""
        target = self._targets.get(reading.url)
        if target is None and hash(reading.url) in self._finished:
            target = self._new_target(reading.ark, reading.url)
            target.is_settled = True
            for observation in self._recall(reading.url):
                target.answers[observation.question] = AnswerFacts.from_observation(observation)
        return target

    def _continue(self, target: OpenTarget, answer: AnswerFacts | None = None) -> None:
        """Continue the generator of a target with *answer*, or begin one, up to the next question, reading or fact.

        Questions are added to the outgoing ones. A target whose generator ends is finished. Raises `OverBudget`.
        """
        steps, target.steps = target.steps or target.ask(), None  # it has ended if it is interrupted
        try:
            with cpu_limit(JUDGING_CPU_S):
                step = next(steps) if answer is None else steps.send(answer)
        except StopIteration:
            self._finish(target)
            return
        except OverBudget:
            self._finish(target)  # its verdict takes too long, too
            raise
        except Exception as bug:
            self._close(target.request_url)
            self._on_bug(bug)
            return
        target.steps = steps
        if isinstance(step, QuestionToSend):
            self._outgoing.append(step)
        elif isinstance(step, CandidateReading):
            self._waiting[Question.OBJECT, step.url].append(target)
            reading_target = self._open(step.ark, step.url)
            reading_target.is_guess = step in target.suggested
            self._continue(reading_target)
        else:
            self._waiting[step].append(target)

    def _finish(self, target: OpenTarget) -> None:
        """Drop a target without further questions, unless it is only a reading of another one."""
        target.is_settled = True
        self._shared.changed_facts.append((Question.OBJECT, target.request_url))
        if target.readings:
            self._finished.add(hash(target.request_url))
            del self._targets[target.request_url]
            self._outgoing.append(FinishedTarget(target.request_url))

    def _close(self, url: str) -> None:
        """Drop the target at *url* without an outcome, and all targets that wait for its object."""
        target = self._targets.pop(url, None)
        if target is not None and target.steps is not None:
            target.steps.close()
            target.steps = None
        for waiting_target in self._waiting.pop((Question.OBJECT, url), ()):
            self._close(waiting_target.request_url)
