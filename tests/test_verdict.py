"""The decision table: from answers to a verdict, without a network."""

from __future__ import annotations

from typing import Any

import pytest

from crawler.answers import read_answer
from crawler.observations import (
    FAMILY_OF,
    GRAVITY,
    ChainEnd,
    Family,
    Hop,
    ObjectOutcome,
    Observation,
    Question,
)
from crawler.verdict import OUTCOME_OF_END, judge, skipped, status_outcome
from tests.vectors import vectors

URL = "https://r.example/ark:12x45/x5"


def observation(question: Question, told: dict[str, Any]) -> Observation:
    """An observation from a vector's few words; by default one answer of 200."""
    asked = told.get("asked", URL + ("" if question is Question.OBJECT else question.value.replace("hyphens", "")))
    if "end" in told:
        hop = Hop(asked, "GET", "", None, error=told["end"])
        return Observation("ark:12x45/x5", URL, question, asked, (hop,), ChainEnd(told["end"]))
    chain = told.get("chain", [200])
    urls = told.get("urls", [asked, *(f"https://land.example/{number}" for number in range(1, len(chain)))])
    headers = told.get("headers", {})
    hops = tuple(Hop(url, "GET", "", status, headers=headers) for url, status in zip(urls, chain, strict=True))
    answer = read_answer(told.get("body", "").encode(), told.get("type", "text/plain"))
    return Observation(
        "ark:12x45/x5", URL, question, asked, hops, ChainEnd.ANSWERED,
        media_type=told.get("type", "text/html"),
        title=told.get("title"),
        text=told.get("text", answer.text),
        record=answer.record,
    )  # fmt: skip


@pytest.mark.parametrize("vector", vectors("verdicts"))
def test_verdict(vector: dict[str, Any]) -> None:
    answers = {Question(name): observation(Question(name), told) for name, told in vector["answers"].items()}
    controls = {
        name: observation(question, vector[name])
        for name, question in (("control", Question.CONTROL), ("control_info", Question.CONTROL_INFO))
        if name in vector
    }
    verdict = judge(answers, **controls)
    told = {service: getattr(verdict, service).outcome for service in ("object", "metadata", "commitment")}
    assert told == {service: vector[service] for service in told}
    assert verdict.object.evidence, "a verdict without a reason"


def test_every_end_of_a_chain_has_an_outcome() -> None:
    assert set(OUTCOME_OF_END) == set(ChainEnd) - {ChainEnd.ANSWERED}


def test_every_outcome_has_a_family_and_what_does_not_work_a_gravity() -> None:
    assert set(FAMILY_OF) == set(ObjectOutcome)
    unworking = {outcome for outcome, family in FAMILY_OF.items() if family is not Family.WORKS}
    assert set(GRAVITY) == unworking - {ObjectOutcome.SKIPPED}
    assert len(set(GRAVITY)) == len(GRAVITY)


def test_every_status_has_an_outcome_and_only_success_works() -> None:
    working = {status for status in range(100, 1000) if FAMILY_OF[status_outcome(status)] is Family.WORKS}
    assert working == {200, 203, 204, 206, 226, 304}


def test_a_skipped_ark_cost_nothing_and_says_why() -> None:
    verdict = skipped("ark:12345/x5", URL, "NAAN 12345 is for examples")
    assert (verdict.object.outcome, verdict.requests, verdict.hops) == ("skipped", 0, ())
    assert verdict.object.evidence == ("NAAN 12345 is for examples",)


def test_the_hyphens_of_a_name_are_named_as_the_resolvers_fault() -> None:
    answers = {
        Question.OBJECT: observation(Question.OBJECT, {"chain": [404]}),
        Question.HYPHENS: observation(Question.HYPHENS, {"text": "x", "asked": URL}),
    }
    assert judge(answers).remarks == ("the resolver takes hyphens for part of the name",)
