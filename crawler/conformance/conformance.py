"""Pure: the requirements of a conformance test as rows of data, and the outcome of each for a resolver."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files

from crawler.answers.facts import AnswerFacts
from crawler.conformance.expectations import EXPECTATIONS, Answers
from crawler.model.observations import Observation, Question


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
        Requirement(
            f"{section['number']}/{at}", section["title"], **{**row, "level": Level(row["level"])}
        )
        for section in tomllib.loads(text)["section"]
        for at, row in enumerate(section["requirement"], 1)
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


def results(
    observations: Iterable[Observation], only: Sequence[str] = ()
) -> Iterator[RequirementResult]:
    """The outcomes of all requirements, or of those in the sections *only*, by what was observed of each ARK."""
    by_ark: dict[str, dict[Question, AnswerFacts]] = {}
    for observation in observations:  # the last attempt counts
        by_ark.setdefault(observation.request_url, {})[observation.question] = AnswerFacts(
            observation
        )
    tested = [Answers(answers) for answers in by_ark.values()]
    for requirement in requirements():
        if not only or any(map(requirement.is_in, only)):
            found = [_result(requirement, answers) for answers in tested]
            yield _combined(requirement, found)


def _result(requirement: Requirement, answers: Answers) -> RequirementResult:
    questions, expectation = EXPECTATIONS[requirement.name]
    if any(question not in answers.by_question for question in questions):
        return RequirementResult(requirement, RequirementOutcome.NOT_ASKED, ())
    finding = expectation(answers)
    outcome = {True: RequirementOutcome.PASSES, None: RequirementOutcome.NOT_APPLICABLE}.get(
        finding.is_met, _UNMET[requirement.level]
    )
    rests_on = tuple(answers[question].seen for question in questions)
    return RequirementResult(requirement, outcome, (finding.reason,), rests_on)


def _combined(requirement: Requirement, of_arks: Sequence[RequirementResult]) -> RequirementResult:
    """The worst outcome that the ARKs have, with its reasons."""
    for outcome in _WORST_FIRST:
        same = [result for result in of_arks if result.outcome is outcome]
        if same:
            reasons = dict.fromkeys(reason for result in same for reason in result.reasons)
            observations = (seen for result in same for seen in result.observations)
            return RequirementResult(
                requirement, outcome, tuple(reasons)[:_MOST_REASONS], tuple(observations)
            )
    return RequirementResult(requirement, RequirementOutcome.NOT_ASKED, ())


def score(found: Iterable[RequirementResult]) -> tuple[int, int]:
    """Return how many requirements are met, of those of which it could be told; what may be left out does not count."""
    counted: Mapping[bool, list[RequirementResult]] = {True: [], False: []}
    for result in found:
        if result.outcome in (
            RequirementOutcome.PASSES, RequirementOutcome.FAILS, RequirementOutcome.WARNS,
        ):  # fmt: skip
            counted[result.outcome is RequirementOutcome.PASSES].append(result)
    return len(counted[True]), len(counted[True]) + len(counted[False])
