"""Pure: the requirements of a conformance test as rows of data, and the outcome of each for a resolver.

And what differs between two resolvers.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from urllib.parse import urlsplit

from crawler.answers.facts import AnswerFacts
from crawler.conformance.expectations import EXPECTATIONS, Answers
from crawler.conformance.plan import NamedArk
from crawler.model.observations import ChainEnd, ObjectOutcome, Observation, Question
from extractors.model.ark import Ark


class Level(StrEnum):
    """How much a requirement binds (RFC 2119)."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    MAY = "MAY"


class RequirementOutcome(StrEnum):
    """The outcome of a requirement for a resolver."""

    PASSES = "passes"
    FAILS = "fails"
    """What must be is not."""
    WARNS = "warns"
    """What should be is not."""
    NOT_APPLICABLE = "not-applicable"
    """Nothing can be told of it here, or it may be left out and is."""
    NOT_ASKED = "not-asked"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One row of the suite."""

    number: str
    """Its section, and its place there: ``3.2/1``."""
    section: str
    """The title of the section."""
    name: str
    level: Level
    question: str
    failure: str
    remedy: str

    def is_in(self, section: str) -> bool:
        """Return whether it belongs to *section*, a number such as ``3`` or ``3.2``, or is ``3.2/1`` itself."""
        own = self.number.partition("/")[0]
        return section in (self.number, own) or own.startswith(f"{section}.")


@dataclass(frozen=True, slots=True)
class RequirementResult:
    """The outcome of a requirement, and what it rests on."""

    requirement: Requirement
    outcome: RequirementOutcome
    reasons: tuple[str, ...]
    """Why, for each ARK for which the outcome is this one, at most three."""
    observations: tuple[Observation, ...] = ()
    """The answers that it rests on."""


@cache
def requirements() -> tuple[Requirement, ...]:
    """The requirements, in the order of the specification (draft-kunze-ark-38)."""
    text = files("crawler.conformance").joinpath("requirements.toml").read_text("utf-8")
    return tuple(
        Requirement(f"{section['number']}/{at}", section["title"], **{**row, "level": Level(row["level"])})
        for section in tomllib.loads(text)["section"]
        for at, row in enumerate(section["requirement"], 1)
    )


def questions_of(only: Sequence[str]) -> frozenset[Question]:
    """The questions whose answers the requirements of the sections *only* rest on; of all, if there are none."""
    return frozenset(
        question
        for requirement in requirements()
        if not only or any(map(requirement.is_in, only))
        for questions, _ in EXPECTATIONS[requirement.name]
        for question in questions
    )


#: So many reasons are given for one outcome.
_MOST_REASONS = 3
#: The outcome for a resolver is the first of these that one of the ARKs has.
_WORST_FIRST = (
    RequirementOutcome.FAILS,
    RequirementOutcome.WARNS,
    RequirementOutcome.PASSES,
    RequirementOutcome.NOT_APPLICABLE,
    RequirementOutcome.NOT_ASKED,
)
_UNMET = {
    Level.MUST: RequirementOutcome.FAILS,
    Level.SHOULD: RequirementOutcome.WARNS,
    Level.MAY: RequirementOutcome.NOT_APPLICABLE,
}


def results(observations: Iterable[Observation], only: Sequence[str] = ()) -> Iterator[RequirementResult]:
    """The outcomes of all requirements, or of those in the sections *only*, by what was observed of each ARK."""
    by_ark: dict[str, dict[Question, AnswerFacts]] = {}
    for observation in observations:  # the last attempt counts
        by_ark.setdefault(observation.request_url, {})[observation.question] = AnswerFacts(observation)
    tested = [Answers(answers) for answers in by_ark.values()]
    for requirement in requirements():
        if not only or any(map(requirement.is_in, only)):
            of_arks = [_result(requirement, answers) for answers in tested]
            yield _combined(requirement, of_arks)


def _result(requirement: Requirement, answers: Answers) -> RequirementResult:
    for questions, expectation in EXPECTATIONS[requirement.name]:
        if answers.by_question.keys() >= set(questions):
            finding = expectation(answers)
            outcome = {True: RequirementOutcome.PASSES, None: RequirementOutcome.NOT_APPLICABLE}
            rests_on = tuple(answers[question].seen for question in questions)
            return RequirementResult(
                requirement, outcome.get(finding.is_met, _UNMET[requirement.level]), (finding.reason,), rests_on
            )
    return RequirementResult(requirement, RequirementOutcome.NOT_ASKED, ())


def _combined(requirement: Requirement, of_arks: Sequence[RequirementResult]) -> RequirementResult:
    """The worst outcome that the ARKs have, with its reasons."""
    for outcome in _WORST_FIRST:
        same = [result for result in of_arks if result.outcome is outcome]
        if same:
            reasons = dict.fromkeys(reason for result in same for reason in result.reasons)
            observations = (answer for result in same for answer in result.observations)
            return RequirementResult(requirement, outcome, tuple(reasons)[:_MOST_REASONS], tuple(observations))
    return RequirementResult(requirement, RequirementOutcome.NOT_ASKED, ())


def score(outcomes: Iterable[RequirementResult]) -> tuple[int, int]:
    """Return how many requirements are met, of those of which it could be told; what may be left out does not count."""
    is_met = {RequirementOutcome.PASSES: True, RequirementOutcome.FAILS: False, RequirementOutcome.WARNS: False}
    counted = [is_met[result.outcome] for result in outcomes if result.outcome in is_met]
    return sum(counted), len(counted)


# -- one resolver held against another, name by name


@dataclass(frozen=True, slots=True)
class Comparison:
    """What one resolver answers for a name, and the other."""

    ark: Ark
    subject: str
    """What differs: ``target``, ``status`` or ``metadata``; ``same`` where nothing does; ``not compared``."""
    old: str
    new: str

    @property
    def is_difference(self) -> bool:
        """True if something differs."""
        return self.subject not in (SAME, NOT_COMPARED)


SAME, NOT_COMPARED = "same", "not compared"


def compare(observations: Iterable[Observation], arks: Iterable[NamedArk], *, old: str, new: str) -> list[Comparison]:
    """The comparison of each ARK, those that differ first; else in the order of *arks*."""
    answers: dict[tuple[str, Question], Observation] = {}
    for observation in observations:  # the last attempt counts
        answers[observation.request_url, observation.question] = observation
    rows = [_compared(named.ark, answers, named.url_at(old), named.url_at(new)) for named in arks]
    return sorted(rows, key=lambda comparison: not comparison.is_difference)


def untold(compared: Sequence[Comparison]) -> str | None:
    """Return why none of the names could be compared, if that is so: what was answered for the first."""
    if not compared or any(row.subject != NOT_COMPARED for row in compared):
        return None
    return f"{compared[0].ark}: {compared[0].old} by the old resolver, {compared[0].new} by the new one"


def _compared(ark: Ark, answers: Mapping[tuple[str, Question], Observation], old: str, new: str) -> Comparison:
    was, now = (answers.get((url, Question.OBJECT)) for url in (old, new))
    if was is None or now is None or not _tells(was) or not _tells(now):
        return Comparison(ark, NOT_COMPARED, _words(was), _words(now))
    if (was.end, was.status) != (now.end, now.status):
        return Comparison(ark, "status", _words(was), _words(now))
    places = [_place(answer, url) for answer, url in ((was, old), (now, new))]
    if places[0] != places[1]:
        return Comparison(ark, "target", *places)
    was, now = (answers.get((url, Question.INFO)) for url in (old, new))
    if was is not None and now is not None and _tells(was) and _tells(now):
        if was.record != now.record:
            return Comparison(ark, "metadata", _record(was), _record(now))
        return Comparison(ark, SAME, *places)
    return Comparison(ark, NOT_COMPARED, f"?info: {_words(was)}", f"?info: {_words(now)}")


def _tells(answer: Observation) -> bool:
    """Return whether an answer says what its resolver knows, and not that it was not up to answering, or kept us out."""
    facts = AnswerFacts(answer)
    is_refused = facts.outcome is ObjectOutcome.BLOCKED or facts.challenge is not None
    is_told = facts.is_answered or answer.end is ChainEnd.NON_WEB
    return is_told and not facts.is_failing and not is_refused


def _words(answer: Observation | None) -> str:
    if answer is None:
        return "not asked"
    return str(answer.status) if answer.end is ChainEnd.ANSWERED else answer.end.value


def _place(answer: Observation, url: str) -> str:
    """Return where a resolver has led; of one that answers itself its page, for its own address differs."""
    is_own = urlsplit(answer.final_url).netloc == urlsplit(url).netloc
    return f"its own page “{answer.title or ''}”" if is_own else answer.final_url


def _record(answer: Observation) -> str:
    stories = (answer.record or {}).values()
    return "; ".join(f"{key}: {value}" for story in stories for key, value in story.items()) or "none"
