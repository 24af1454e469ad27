"""Outcomes of requirements by given answers."""

from typing import Any

import pytest

from arkaudit.features.conform.expectations import EXPECTATIONS, Answers
from arkaudit.features.conform.requirements import requirements
from crawler.model.observations import Question
from tests.unit.crawler.test_verdict import facts
from tests.vectors import vectors

#: Requirements that one resolver breaks together: none of them changes how another is judged.
TOGETHER = (
    "label-forms passthrough description-of-nothing thump-status",
    "label-case ancestor few-hops media-type",
    "naan-case final-slash temporary-redirect kernel",
    "naan-length final-period not-just-related policy",
    "length hyphens caching where",
    "look-alikes escapes front-page erc-order",
    "odd-octets name-case tombstone policy-says-something",
    "doubled-slash unknown-naan query double",
    "unknown-name head cors single",
    "https accept describes-link erc",
    "access over-long",
    "description",
    "rate",
)


@pytest.mark.parametrize("vector", vectors("conform"))
def test_conformance_follows_from_answers(vector: dict[str, Any]) -> None:
    told = {Question(name): facts(Question(name), of) for name, of in vector["answers"].items()}
    _, expectation = EXPECTATIONS[vector["requirement"]][0]
    assert expectation(Answers(told)).is_met is vector["is_met"]


def test_each_requirement_has_an_expectation() -> None:
    assert {requirement.name for requirement in requirements()} == set(EXPECTATIONS)
    assert sorted(" ".join(TOGETHER).split()) == sorted(EXPECTATIONS)
