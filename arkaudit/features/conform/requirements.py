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
    """It can't be tested here, or it is optional and not supported."""
    NOT_ASKED = "not-asked"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One requirement of the suite."""

    number: str
    """Its section, and its position there: ``3.2/1``."""
    section: str
    """The title of the section."""
    name: str
    level: Level
    question: str
    failure: str
    remedy: str

    def is_in(self, section: str) -> bool:
        """Return True if the requirement belongs to *section* (``3`` or ``3.2``) or has this number (``3.2/1``)."""
        own = self.number.partition("/")[0]
        return section in (self.number, own) or own.startswith(f"{section}.")


@dataclass(frozen=True, slots=True)
class RequirementResult:
    """The outcome of a requirement, with its evidence."""

    requirement: Requirement
    outcome: RequirementOutcome
    reasons: tuple[str, ...]
    """At most three reasons, from the ARKs with this outcome."""
    observations: tuple[Observation, ...] = ()
    """The answers that support it."""


@cache
def requirements() -> tuple[Requirement, ...]:
    """Return the requirements in the order of the specification (draft-kunze-ark-38)."""
    text = files(__package__).joinpath("requirements.toml").read_text("utf-8")
    return tuple(
        Requirement(f"{section['number']}/{at}", section["title"], **{**row, "level": Level(row["level"])})
        for section in tomllib.loads(text)["section"]
        for at, row in enumerate(section["requirement"], 1)
    )


def questions_of(only: Sequence[str]) -> frozenset[Question]:
    """Return the questions that the requirements of the sections *only* depend on; without sections, those of all."""
    return frozenset(
        question
        for requirement in requirements()
        if not only or any(map(requirement.is_in, only))
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


def results(observations: Iterable[Observation], only: Sequence[str] = ()) -> Iterator[RequirementResult]:
    """Yield the outcomes of all requirements, or of those in the sections *only*, from the observations of each ARK."""
    by_ark: dict[str, dict[Question, AnswerFacts]] = {}
    for observation in observations:  # the last attempt replaces earlier ones
        by_ark.setdefault(observation.request_url, {})[observation.question] = AnswerFacts.from_observation(observation)
    for url in list(by_ark):
        if with_other_label(url) in by_ark and not by_ark[url][Question.OBJECT].is_reached:
            del by_ark[url]  # the resolver knows only the other form, which was tested instead
    wanted = [requirement for requirement in requirements() if not only or any(map(requirement.is_in, only))]
    of_arks = [_results_in_time(wanted, Answers(answers)) for answers in by_ark.values()]
    for number, requirement in enumerate(wanted):
        of_requirement = [of_ark[number] for of_ark in of_arks]
        outcomes = {result.outcome for result in of_requirement}
        worst = min(outcomes, key=_WORST_FIRST.index, default=RequirementOutcome.NOT_ASKED)
        same = [result for result in of_requirement if result.outcome is worst]
        reasons = dict.fromkeys(reason for result in same for reason in result.reasons)
        observations_ = tuple(answer for result in same for answer in result.observations)
        yield RequirementResult(requirement, worst, tuple(reasons)[:_MOST_REASONS], observations_)


def _results_in_time(wanted: Sequence[Requirement], answers: Answers) -> list[RequirementResult]:
    """Return the results of one ARK; a requirement beyond the limit of CPU time can't be tested by it."""
    done: list[RequirementResult] = []
    with suppress(OverBudget), cpu_limit(JUDGING_CPU_S):
        for requirement in wanted:
            done.append(_result(requirement, answers))
    untested = (RequirementOutcome.NOT_APPLICABLE, (TOO_LONG_TO_JUDGE,))
    return done + [RequirementResult(requirement, *untested) for requirement in wanted[len(done) :]]


def _result(requirement: Requirement, answers: Answers) -> RequirementResult:
    for questions, expectation in EXPECTATIONS[requirement.name]:
        if answers.by_question.keys() >= set(questions):
            finding = expectation(answers)
            outcome = {True: RequirementOutcome.PASSES, None: RequirementOutcome.NOT_APPLICABLE}
            rests_on = tuple(answers[question] for question in questions)
            return RequirementResult(
                requirement, outcome.get(finding.is_met, _UNMET[requirement.level]), (finding.reason,), rests_on
            )
    return RequirementResult(requirement, RequirementOutcome.NOT_ASKED, ())


def score(outcomes: Iterable[RequirementResult]) -> tuple[int, int]:
    """Return the number of requirements that are met, and the number of those that pass, fail or warn."""
    is_met = {RequirementOutcome.PASSES: True, RequirementOutcome.FAILS: False, RequirementOutcome.WARNS: False}
    counted = [is_met[result.outcome] for result in outcomes if result.outcome in is_met]
    return sum(counted), len(counted)


# -- the comparison of two resolvers, name by name


@dataclass(frozen=True, slots=True)
class Comparison:
    """The answers of two resolvers for one name."""

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


def compare(observations: Iterable[Observation], arks: Iterable[NamedArk], *, old: str, new: str) -> list[Comparison]:
    """Return the comparison of each ARK, differences first, otherwise in the order of *arks*."""
    answers: dict[tuple[str, Question], Observation] = {}
    for observation in observations:  # the last attempt replaces earlier ones
        answers[observation.request_url, observation.question] = observation
    rows = []
    for named in arks:
        row = Comparison(named.ark, NOT_COMPARED, TOO_LONG_TO_JUDGE, TOO_LONG_TO_JUDGE)
        with suppress(OverBudget), cpu_limit(JUDGING_CPU_S):
            row = _compare_one(named.ark, answers, named.url_at(old), named.url_at(new))
        rows.append(row)
    return sorted(rows, key=lambda comparison: not comparison.is_difference)


def why_nothing_compared(compared: Sequence[Comparison]) -> str | None:
    """Return the answers for the first name if no name at all could be compared, else None."""
    if not compared or any(row.subject != NOT_COMPARED for row in compared):
        return None
    return f"{compared[0].ark}: {compared[0].old} by the old resolver, {compared[0].new} by the new one"


def _compare_one(ark: Ark, answers: Mapping[tuple[str, Question], Observation], old: str, new: str) -> Comparison:
    was, now = (answers.get((url, Question.OBJECT)) for url in (old, new))
    if was is None or now is None or not _is_comparable(was) or not _is_comparable(now):
        return Comparison(ark, NOT_COMPARED, _words(was), _words(now))
    if (was.end, was.status) != (now.end, now.status):
        return Comparison(ark, "status", _words(was), _words(now))
    places = [_destination(answer, url) for answer, url in ((was, old), (now, new))]
    if places[0] != places[1]:
        return Comparison(ark, "target", *places)
    was, now = (answers.get((url, Question.INFO)) for url in (old, new))
    if was is not None and now is not None and _is_comparable(was) and _is_comparable(now):
        if was.record != now.record:
            return Comparison(ark, "metadata", _record(was), _record(now))
        return Comparison(ark, SAME, *places)
    return Comparison(ark, NOT_COMPARED, f"?info: {_words(was)}", f"?info: {_words(now)}")


def _is_comparable(answer: Observation) -> bool:
    """Return True if an answer can be compared: the resolver neither failed nor refused access."""
    facts = AnswerFacts.from_observation(answer)
    has_answer = facts.is_answered or answer.end is ChainEnd.NON_WEB
    return has_answer and not facts.is_failing and not facts.keeps_out


def _words(answer: Observation | None) -> str:
    if answer is None:
        return "not asked"
    return str(answer.status) if answer.end is ChainEnd.ANSWERED else answer.end.value


def _destination(answer: Observation, url: str) -> str:
    """Return the final URL; for a page of the resolver itself its title, because its address differs."""
    is_own = authority_of(answer.final_url) == authority_of(url)
    return f"its own page “{answer.title or ''}”" if is_own else answer.final_url


def _record(answer: Observation) -> str:
    stories = (answer.record or {}).values()
    return "; ".join(f"{key}: {value}" for story in stories for key, value in story.items()) or "none"
