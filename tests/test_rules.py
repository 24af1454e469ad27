"""The rules of verdicts: complete, each reached, and the page about them as it should be."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawler.model.observations import CommitmentOutcome, MetadataOutcome, ObjectOutcome
from crawler.verdicts.verdict import WITHOUT_RULES
from deploy.rule_page import SERVICES, TABLES, page
from tests.test_verdict import judgements

PAGE = Path(__file__).parent.parent / "docs" / "verdicts.md"


def test_the_page_about_verdicts_is_current() -> None:
    assert PAGE.read_text("utf-8") == page(), "run: python -m deploy.rule_page docs/verdicts.md"


@pytest.mark.parametrize("outcome", [*ObjectOutcome, *MetadataOutcome, *CommitmentOutcome], ids=repr)
def test_every_outcome_has_a_rule(outcome: ObjectOutcome | MetadataOutcome | CommitmentOutcome) -> None:
    letters = next(letters for _, outcomes, letters in SERVICES if isinstance(outcome, outcomes))
    ruled = {rule.outcome for letter in letters for rule in TABLES[letter].rules}
    assert outcome in ruled | {each for each, _ in WITHOUT_RULES}


def test_every_rule_is_reached_by_a_vector() -> None:
    _, decided = judgements()
    missed = [
        (table.title, rule.when)
        for table in TABLES.values()
        for rule in table.rules
        if not decided[table.title, rule.when]
    ]
    assert missed == []


def test_conditions_distinguish_the_rules_of_a_table() -> None:
    for table in TABLES.values():
        conditions = [rule.when for rule in table.rules]
        assert len(set(conditions)) == len(conditions), table.title
