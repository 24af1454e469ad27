"""The requirements of a conformance test, and their outcomes for a resolver; also the comparison of two resolvers.

No I/O, except that the requirements are read from the package.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files

from arkaudit.features.conform.expectations import EXPECTATIONS, Answers
from arkaudit.features.conform.plan import NamedArk
from crawler.answers.facts import AnswerFacts
from crawler.model.observations import ChainEnd, Observation, Question
from crawler.model.resolving import with_other_label
from crawler.verdicts.verdict import JUDGING_CPU_S, TOO_LONG_TO_JUDGE
from extractors.model.ark import Ark
from extractors.model.budget import OverBudget, cpu_limit
from extractors.model.urls import authority_of


class Level(StrEnum):
    """The level of a requirement (RFC 2119)."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    MAY = "MAY"


class RequirementOutcome(StrEnum):
    """The outcome of a requirement for a resolver."""

    PASSES = "passes"
    FAILS = "fails"
    """A MUST is violated."""
    WARNS = "warns"
    """A SHOULD is violated."""
    NOT_APPLICABLE = "not-applicable"
    """The requirement can't be tested by these ARKs, or is optional and not supported."""
    NOT_ASKED = "not-asked"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One requirement of the suite."""

    number: str
    """The number of the section, and the position in it: ``3.2/1``."""
    section: str
    """The title of the section."""
    name: str
    level: Level
    question: str
    failure: str
    remedy: str

    def is_in(self, section: str) -> bool:
        """Return True if the requirement belongs to *section* (``3`` or ``3.2``) or has this number (``3.2/1``)."""
        own_section = self.number.partition("/")[0]
        return section in (self.number, own_section) or own_section.startswith(f"{section}.")


@dataclass(frozen=True, slots=True)
class RequirementResult:
    """The outcome of a requirement, with its evidence."""

    requirement: Requirement
    outcome: RequirementOutcome
    reasons: tuple[str, ...]
    """At most three reasons, from the ARKs with this outcome."""
    observations: tuple[Observation, ...] = ()
    """The answers that support the outcome."""


@cache
def requirements() -> tuple[Requirement, ...]:
    """Return the requirements in the order of the specification (draft-kunze-ark-38)."""
    text = files(__package__).joinpath("requirements.toml").read_text("utf-8")
    return tuple(
        Requirement(f"{section['number']}/{position}", section["title"], **{**row, "level": Level(row["level"])})
        for section in tomllib.loads(text)["section"]
        for position, row in enumerate(section["requirement"], 1)
    )


def questions_of(sections: Sequence[str]) -> frozenset[Question]:
    """Return the questions that requirements of these *sections* depend on; without sections, those of all."""
    return frozenset(
        question
        for requirement in requirements()
        if not sections or any(map(requirement.is_in, sections))
        for questions, _ in EXPECTATIONS[requirement.name]
        for question in questions
    )


#: The number of reasons given for one outcome.
_MOST_REASONS = 3
#: The outcome for a resolver is the first of these that occurs among its ARKs.
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


def results(observations: Iterable[Observation], sections: Sequence[str] = ()) -> Iterator[RequirementResult]:
    """Yield the outcomes of all requirements, or of those in *sections*, from the *observations* of all ARKs."""
    facts_by_url: dict[str, dict[Question, AnswerFacts]] = {}
    for observation in observations:  # the last attempt replaces earlier ones
        facts_by_url.setdefault(observation.request_url, {})[observation.question] = AnswerFacts.from_observation(
            observation
        )
    for url in list(facts_by_url):
        if with_other_label(url) in facts_by_url and not facts_by_url[url][Question.OBJECT].is_reached:
            del facts_by_url[url]  # the resolver knows only the other form, which was tested instead
    tested_requirements = [
        requirement for requirement in requirements() if not sections or any(map(requirement.is_in, sections))
    ]
    results_by_ark = [_results_in_time(tested_requirements, Answers(answers)) for answers in facts_by_url.values()]
    for number, requirement in enumerate(tested_requirements):
        ark_results = [results_of_ark[number] for results_of_ark in results_by_ark]
        outcomes = {result.outcome for result in ark_results}
        worst_outcome = min(outcomes, key=_WORST_FIRST.index, default=RequirementOutcome.NOT_ASKED)
        worst_results = [result for result in ark_results if result.outcome is worst_outcome]
        reasons = dict.fromkeys(reason for result in worst_results for reason in result.reasons)
        worst_observations = tuple(answer for result in worst_results for answer in result.observations)
        yield RequirementResult(requirement, worst_outcome, tuple(reasons)[:_MOST_REASONS], worst_observations)


def _results_in_time(tested_requirements: Sequence[Requirement], answers: Answers) -> list[RequirementResult]:
    """Return the results of one ARK; requirements beyond the limit of CPU time are not applicable."""
    ark_results: list[RequirementResult] = []
    with suppress(OverBudget), cpu_limit(JUDGING_CPU_S):
        for requirement in tested_requirements:
            ark_results.append(_result(requirement, answers))
    time_limit_result = (RequirementOutcome.NOT_APPLICABLE, (TOO_LONG_TO_JUDGE,))
    return ark_results + [
        RequirementResult(requirement, *time_limit_result) for requirement in tested_requirements[len(ark_results) :]
    ]


def _result(requirement: Requirement, answers: Answers) -> RequirementResult:
    for questions, expectation in EXPECTATIONS[requirement.name]:
        if answers.by_question.keys() >= set(questions):
            finding = expectation(answers)
            outcome = {True: RequirementOutcome.PASSES, None: RequirementOutcome.NOT_APPLICABLE}
            judged_answers = tuple(answers[question] for question in questions)
            return RequirementResult(
                requirement, outcome.get(finding.is_met, _UNMET[requirement.level]), (finding.reason,), judged_answers
            )
    return RequirementResult(requirement, RequirementOutcome.NOT_ASKED, ())


def score(outcomes: Iterable[RequirementResult]) -> tuple[int, int]:
    """Return the number of *outcomes* that pass, and the number of those that pass, fail or warn."""
    is_met_by_outcome = {
        RequirementOutcome.PASSES: True,
        RequirementOutcome.FAILS: False,
        RequirementOutcome.WARNS: False,
    }
    verdicts = [is_met_by_outcome[result.outcome] for result in outcomes if result.outcome in is_met_by_outcome]
    return sum(verdicts), len(verdicts)


# -- the comparison of two resolvers, name by name


@dataclass(frozen=True, slots=True)
class Comparison:
    """The answers of two resolvers for one ARK."""

    ark: Ark
    subject: str
    """The difference: ``target``, ``status`` or ``metadata``; or ``same``, or ``not compared``."""
    old: str
    new: str

    @property
    def is_difference(self) -> bool:
        """True if the answers differ."""
        return self.subject not in (SAME, NOT_COMPARED)


SAME, NOT_COMPARED = "same", "not compared"


def compare(
    observations: Iterable[Observation], arks: Iterable[NamedArk], *, old_resolver: str, new_resolver: str
) -> list[Comparison]:
    """Return the comparison of both resolvers for each ARK: differences first, then as in *arks*."""
    answers: dict[tuple[str, Question], Observation] = {}
    for observation in observations:  # the last attempt replaces earlier ones
        answers[observation.request_url, observation.question] = observation
    rows = []
    for written_ark in arks:
        row = Comparison(written_ark.ark, NOT_COMPARED, TOO_LONG_TO_JUDGE, TOO_LONG_TO_JUDGE)
        with suppress(OverBudget), cpu_limit(JUDGING_CPU_S):
            row = _comparison(
                written_ark.ark, answers, written_ark.url_at(old_resolver), written_ark.url_at(new_resolver)
            )
        rows.append(row)
    return sorted(rows, key=lambda comparison: not comparison.is_difference)


def no_comparison_reason(comparisons: Sequence[Comparison]) -> str | None:
    """Return a message with both answers for the first ARK if no ARK could be compared.

    None if an ARK could be compared, or if there is no ARK.
    """
    if not comparisons or any(row.subject != NOT_COMPARED for row in comparisons):
        return None
    return f"{comparisons[0].ark}: {comparisons[0].old} by the old resolver, {comparisons[0].new} by the new one"


def _comparison(
    ark: Ark, answers: Mapping[tuple[str, Question], Observation], old_url: str, new_url: str
) -> Comparison:
    old_answer, new_answer = (answers.get((url, Question.OBJECT)) for url in (old_url, new_url))
    if old_answer is None or new_answer is None or not _is_comparable(old_answer) or not _is_comparable(new_answer):
        return Comparison(ark, NOT_COMPARED, _status_words(old_answer), _status_words(new_answer))
    if (old_answer.end, old_answer.status) != (new_answer.end, new_answer.status):
        return Comparison(ark, "status", _status_words(old_answer), _status_words(new_answer))
    destinations = [_destination(answer, url) for answer, url in ((old_answer, old_url), (new_answer, new_url))]
    if destinations[0] != destinations[1]:
        return Comparison(ark, "target", *destinations)
    old_answer, new_answer = (answers.get((url, Question.INFO)) for url in (old_url, new_url))
    if old_answer is not None and new_answer is not None and _is_comparable(old_answer) and _is_comparable(new_answer):
        if old_answer.record != new_answer.record:
            return Comparison(ark, "metadata", _record(old_answer), _record(new_answer))
        return Comparison(ark, SAME, *destinations)
    return Comparison(ark, NOT_COMPARED, f"?info: {_status_words(old_answer)}", f"?info: {_status_words(new_answer)}")


def _is_comparable(answer: Observation) -> bool:
    """Return True if an answer can be compared: the resolver neither failed nor refused access."""
    facts = AnswerFacts.from_observation(answer)
    has_answer = facts.is_answered or answer.end is ChainEnd.NON_WEB
    return has_answer and not facts.is_failing and not facts.refuses_access


def _status_words(answer: Observation | None) -> str:
    if answer is None:
        return "not asked"
    return str(answer.status) if answer.end is ChainEnd.ANSWERED else answer.end.value


def _destination(answer: Observation, url: str) -> str:
    """Return the final URL of an answer for *url*; for a page of the resolver itself, its title in words."""
    is_own = authority_of(answer.final_url) == authority_of(url)
    return f"its own page “{answer.title or ''}”" if is_own else answer.final_url


def _record(answer: Observation) -> str:
    stories = (answer.record or {}).values()
    return "; ".join(f"{key}: {value}" for story in stories for key, value in story.items()) or "none"
