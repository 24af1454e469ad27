"""Which reading of a damaged ARK lives, and which is asked about next."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.answers.facts import AnswerFacts
from crawler.model.observations import Question
from crawler.verdicts.readings import (
    CandidateReading,
    Form,
    FormState,
    arbitrate,
    evidence_of_targets,
    intended_ark,
    next_form,
)
from extractors.model.ark import Ark
from extractors.model.check_characters import check_character
from tests.unit.crawler.test_verdict import facts
from tests.vectors import vectors


def answer_about(ark: str, told: dict[str, Any] | None) -> AnswerFacts | None:
    """Return the answer to the object question about *ark*, None while it has not been asked."""
    return None if told is None else facts(Question.OBJECT, told, f"https://r.example/{ark}")


def form(ark: str, told: dict[str, Any] | None, control: AnswerFacts | None = None) -> Form:
    return Form(CandidateReading(Ark.parse(ark), f"https://r.example/{ark}"), answer_about(ark, told), control)


@pytest.mark.parametrize("vector", vectors("arbitration"))
def test_arbitration(vector: dict[str, Any]) -> None:
    control = facts(Question.CONTROL, vector["control"]) if "control" in vector else None
    forms = [form(ark, told, control) for ark, told in vector["forms"]]
    following = next_form(forms)
    decided = arbitrate(forms)
    assert (following and str(following.ark)) == vector["next"]
    assert (decided.reading and str(decided.reading.ark)) == vector["lives"]
    assert vector.get("says", "") in " ".join(decided.evidence)


@given(st.lists(st.sampled_from([{"chain": [404]}, {"text": "Map"}, {"chain": [403]}, {"end": "dns"}]), max_size=6))
def test_asking_ends_and_asks_nothing_twice(answers: list[dict[str, Any]]) -> None:
    names = [f"ark:12x45/x5{'b' * number}" for number in range(len(answers))]
    forms = [form(name, None) for name in names]
    for _ in answers:
        following = next_form(forms)
        if following is None:
            break
        at = forms.index(following)
        assert forms[at].state is FormState.UNASKED
        forms[at] = form(names[at], answers[at])
    assert next_form(forms) is None
    living = arbitrate(forms).reading
    assert living in (None, *(each.reading for each in forms if each.state is FormState.LIVES))


def test_a_suggestion_that_resolves_may_have_been_meant() -> None:
    failing, living, unasked = (form(ark, told) for ark, told in (
        ("ark:12x45/x5l", {"chain": [404]}), ("ark:12x45/x51", {"text": "Map"}), ("ark:12x45/x5i", None),
    ))  # fmt: skip
    intended = intended_ark([failing], [unasked, living])
    assert intended is not None
    assert intended.ark == living.ark
    assert intended_ark([failing], [unasked]) is None
    assert intended_ark([form("ark:12x45/x5l", {"end": "dns"})], [living]) is None


def test_likely_names_teach_no_zone():
    names = [f"x6{number}" + check_character(f"54321/x6{number}") for number in range(100, 125)]
    targets = [(Ark("54321", name), f"https://n2t.net/ark:54321/{name}") for name in names]
    assert evidence_of_targets(targets, {}).zones.learned
    assert not evidence_of_targets(targets, {url for _, url in targets}).zones.learned
