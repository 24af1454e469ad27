"""Each step of an explanation holds the question, the answer and the conclusion, and nothing more."""

from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from arkaudit.features.conform.spellings import SPELLINGS
from arkaudit.features.explain.explanation import Step, explanation, lines
from crawler.answers.facts import AnswerFacts
from crawler.model.observations import ACCESS, ChainEnd, Family, ObjectOutcome, Question
from crawler.verdicts.verdict import judge
from tests.unit.crawler.test_verdict import URL, observation
from tests.vectors import vectors

Q = Question


@pytest.mark.parametrize("vector", vectors("meanings"))
def test_meaning(vector: dict[str, Any]) -> None:
    step = Step.from_observation(observation(Question(vector["question"]), vector["told"]))
    assert vector["means"] in step.means
    assert step.came


def test_every_question_has_words_and_every_answer_a_meaning() -> None:
    questions = set(Question) - (set(SPELLINGS) - set(ACCESS))
    answers: list[dict[str, Any]] = [
        *({"chain": [status]} for status in (200, 204, 300, 400, 401, 404, 405, 410, 418, 451, 500, 599, 999)),
        *({"end": end.value} for end in ChainEnd if end is not ChainEnd.ANSWERED),
    ]
    for question, told in product(questions, answers):
        step = Step.from_observation(observation(question, told))
        assert step.asked.endswith(".")
        assert step.means.endswith(".")
        assert "{" not in step.asked


def test_further_attempts_and_readings_are_named() -> None:
    again = Step.from_observation(observation(Q.OBJECT, {"chain": [503], "attempt": 2}))
    assert again.asked == "We asked r.example for the object, once more: the failure may be temporary (attempt 2)."
    other = Step.from_observation(observation(Q.OBJECT, {"text": "Map"}, URL + "y"), is_other_reading=True)
    assert other.asked == "We asked r.example for ark:12x45/x5y, which may have been meant."


def test_answers_in_a_row_that_are_the_same_page_are_one_step() -> None:
    page = {"type": "text/html", "body": "<title>Map</title><p>A map of the harbour"}
    seen = [
        replace(observation(question, page), body_sha256="a") for question in (Q.OBJECT, Q.INFO, Q.DOUBLE, Q.SINGLE)
    ]
    control = replace(observation(Q.CONTROL, page, URL + "zz"), body_sha256="a")
    verdict = judge({each.question: AnswerFacts.from_observation(each) for each in seen})
    steps = [step for step in explanation(verdict, [control, *seen]) if "url" in step]
    assert [step["url"] for step in steps] == [control.asked_url, seen[0].asked_url, seen[1].asked_url]
    assert steps[2]["came"][-2:] == tuple(f"{each.asked_url} was answered with the same page." for each in seen[2:])


def test_every_failure_has_advice_of_its_own() -> None:
    verdict = judge({Q.OBJECT: AnswerFacts.from_observation(observation(Q.OBJECT, {"chain": [404]}))})
    for outcome in (each for each in ObjectOutcome if each.family is Family.FAILS):
        judged = replace(verdict, object=replace(verdict.object, outcome=outcome))
        said = explanation(judged, [])[-1]["conclusion"]
        assert said.startswith("What to do: ")
        assert "nothing shows that the ARK is at fault" not in said


def test_working_spelling_is_advised_also_without_its_observation() -> None:
    seen = [
        observation(Q.OBJECT, {"chain": [404]}, URL.replace("x5", "x-5")),
        observation(Q.HYPHENS, {"text": "Map", "asked": URL}, URL.replace("x5", "x-5")),
    ]
    verdict = judge({each.question: AnswerFacts.from_observation(each) for each in seen})
    assert explanation(verdict, seen)[-1]["conclusion"].startswith(f"What to do: cite {URL};")
    assert explanation(verdict, [])[-1]["conclusion"].startswith("What to do: ")  # a pruned store


def test_every_outcome_has_advice_after_every_kind_of_answer() -> None:
    bodies = ("<title>Map</title><p>A map of the harbour", "<title>Viewer</title><div id=app></div><script src=a.js>")
    answers: list[dict[str, Any]] = [{"type": "text/html", "body": body} for body in bodies]
    verdict = judge({Q.OBJECT: AnswerFacts.from_observation(observation(Q.OBJECT, answers[0]))})
    for outcome, told in product(ObjectOutcome, [*answers, {"chain": [404]}, {"end": ChainEnd.TIMEOUT.value}]):
        judged = replace(verdict, object=replace(verdict.object, outcome=outcome))
        said = explanation(judged, [observation(Q.OBJECT, told)])[-1]["conclusion"]
        assert said.startswith("What to do: "), (outcome, told)
        assert said.endswith("."), (outcome, told)


def test_step_shows_the_time_by_which_an_operator_finds_the_request_in_a_log() -> None:
    asked = observation(Q.OBJECT, {"chain": [404]})
    hops = (replace(asked.hops[0], at="2026-11-30T20:27:14.482+00:00"),)
    parts = explanation(judge({Q.OBJECT: AnswerFacts.from_observation(asked)}), [replace(asked, hops=hops)])
    row = {"ark": str(asked.ark), "explanation": parts}
    assert f"   2026-11-30 20:27:14 UTC: {asked.asked_url}" in list(lines(row, 80))


def test_a_malformed_time_of_a_foreign_store_is_left_out() -> None:
    asked = observation(Q.OBJECT, {"chain": [404]})
    hops = (replace(asked.hops[0], at="\x1b[2Jyesterday"),)
    parts = explanation(judge({Q.OBJECT: AnswerFacts.from_observation(asked)}), [replace(asked, hops=hops)])
    assert f"   {asked.asked_url}" in list(lines({"ark": str(asked.ark), "explanation": parts}, 80))
