"""Each step of an explanation holds the question, the answer and the conclusion, and nothing more."""

from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from arkaudit.output.explaining import _ADVICE, _ASKED, Step, explanation
from crawler.answers.facts import AnswerFacts
from crawler.model.observations import ACCESS, CONFORMANCE, ChainEnd, Family, ObjectOutcome, Question
from crawler.verdicts.verdict import judge
from tests.test_verdict import URL, observation

Q = Question
MEANINGS: list[tuple[str, Question, dict[str, Any], str]] = [
    ("an object that answers", Q.OBJECT, {"text": "Map"}, "the conclusions below judge whether it is the object"),
    ("the resolver's own 404", Q.OBJECT, {"chain": [404]}, "It is the resolver itself, r.example, that does not have"),
    (
        "a 404 behind a redirect",
        Q.OBJECT,
        {"chain": [302, 404]},
        "It is land.example, where the resolver sent us, that",
    ),
    ("gone, perhaps with reasons", Q.OBJECT, {"chain": [410]}, "The conclusions below judge whether it gives a reason"),
    ("a server's fault", Q.OBJECT, {"chain": [503]}, "The fault is the server's"),
    ("too many questions", Q.OBJECT, {"chain": [429]}, "gets too many requests"),
    ("no right to see it", Q.OBJECT, {"chain": [403]}, "a person with the right to see it"),
    ("programs kept out", Q.OBJECT, {"chain": [999]}, "a person with a browser may see more"),
    ("no answer", Q.OBJECT, {"end": "timeout"}, "no answer today, which proves nothing about the ARK"),
    ("robots.txt", Q.OBJECT, {"end": "robots"}, "asks programs to stay away"),
    ("a circle", Q.OBJECT, {"end": "loop"}, "The fault is in the redirects"),
    ("out of the web", Q.OBJECT, {"end": "non-web"}, "leads out of the web"),
    ("another resolver's 404", Q.AT_GLOBAL, {"chain": [404]}, "It is the resolver itself, global.example,"),
    ("a control that is refused", Q.CONTROL, {"chain": [404]}, "distinguishes names"),
    ("a control that is answered", Q.CONTROL, {"text": "Map"}, "an answer alone proves nothing"),
    ("a control that is blocked", Q.CONTROL, {"chain": [403]}, "does not show whether the host distinguishes names"),
    ("a control's record", Q.CONTROL_INFO, {"body": "erc:\nwho: A\n"}, "a description needs other evidence"),
    ("no record for a control", Q.CONTROL_INFO, {"chain": [404]}, "a description from this host is evidence"),
    ("a record", Q.INFO, {"body": "erc:\nwho: A\nwhat: B\n"}, "a record that programs can read"),
    ("no record", Q.DOUBLE, {"type": "text/html", "body": "<p>x"}, "This is not a record"),
    ("no description", Q.SINGLE, {"chain": [404]}, "no description at this address"),
    ("no path of its own", Q.WELL_KNOWN, {"chain": [404]}, "does not name its resolver"),
    ("a path of its own", Q.WELL_KNOWN, {"type": "text/plain", "body": "/ids/"}, "Its resolver is under /ids/"),
    ("a promise's page", Q.POLICY_LINK, {"text": "Promise"}, "that page exists"),
    ("no promise's page", Q.POLICY_LINK, {"chain": [404]}, "the full promise can't be read"),
]


@pytest.mark.parametrize(
    ("question", "told", "means"), [case[1:] for case in MEANINGS], ids=[case[0] for case in MEANINGS]
)
def test_meaning(question: Question, told: dict[str, Any], means: str) -> None:
    step = Step.from_observation(observation(question, told))
    assert means in step.means
    assert step.came


def test_every_question_has_words_and_every_answer_a_meaning() -> None:
    assert set(_ASKED) == set(Question) - (set(CONFORMANCE) - set(ACCESS))
    answers: list[dict[str, Any]] = [
        *({"chain": [status]} for status in (200, 204, 300, 400, 401, 404, 405, 410, 418, 451, 500, 599, 999)),
        *({"end": end.value} for end in ChainEnd if end is not ChainEnd.ANSWERED),
    ]
    for question, told in product(_ASKED, answers):
        step = Step.from_observation(observation(question, told))
        assert step.asked.endswith(".")
        assert step.means.endswith(".")
        assert "{" not in step.asked


def test_further_attempts_and_readings_are_named() -> None:
    again = Step.from_observation(observation(Q.OBJECT, {"chain": [503], "attempt": 2}))
    assert again.asked == "We asked r.example for the object, once more: the failure may be temporary (attempt 2)."
    other = Step.from_observation(observation(Q.OBJECT, {"text": "Map"}, URL + "y"), is_for_another=True)
    assert other.asked == "We asked r.example for ark:12x45/x5y, which may have been meant."


def test_answers_in_a_row_that_are_the_same_page_are_one_step() -> None:
    page = {"type": "text/html", "body": "<title>Map</title><p>A map of the harbour"}
    seen = [
        replace(observation(question, page), body_sha256="a") for question in (Q.OBJECT, Q.INFO, Q.DOUBLE, Q.SINGLE)
    ]
    control = replace(observation(Q.CONTROL, page, URL + "zz"), body_sha256="a")
    verdict = judge({each.question: AnswerFacts(each) for each in seen})
    steps = [step for step in explanation(verdict, [control, *seen]) if "url" in step]
    assert [step["url"] for step in steps] == [control.asked_url, seen[0].asked_url, seen[1].asked_url]
    assert steps[2]["came"][-2:] == tuple(f"{each.asked_url} was answered with the same page." for each in seen[2:])


def test_every_failure_has_advice_of_its_own() -> None:
    """The general advice says that nothing shows that the ARK is at fault."""
    assert {outcome for outcome in ObjectOutcome if outcome.family is Family.FAILS} <= _ADVICE.keys()
