"""The rules of verdicts: complete, each reached, and the page about them as it should be."""

import ast
import re
from pathlib import Path

import pytest

from crawler.answers.facts import status_outcome
from crawler.model.observations import CommitmentOutcome, MetadataOutcome, ObjectOutcome
from crawler.model.resolving import REFUSING_STATUSES, statuses_in_words
from crawler.verdicts.verdict import OUTCOMES_WITHOUT_RULES
from tests.unit.crawler.test_verdict import judgements
from tools.documentation.rule_page import SERVICES, TABLES

PAGE = Path(__file__).parents[3] / "docs" / "verdicts.md"


@pytest.mark.parametrize("outcome", [*ObjectOutcome, *MetadataOutcome, *CommitmentOutcome], ids=repr)
def test_every_outcome_has_a_rule(outcome: ObjectOutcome | MetadataOutcome | CommitmentOutcome) -> None:
    letters = next(letters for _, outcomes, letters in SERVICES if isinstance(outcome, outcomes))
    ruled = {rule.outcome for letter in letters for rule in TABLES[letter].rules}
    assert outcome in ruled | {each for each, _ in OUTCOMES_WITHOUT_RULES}


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


def test_refusing_statuses_are_declared_once() -> None:
    """A status that is added to the constant counts everywhere, and is named in the rules."""
    assert {status_outcome(status) for status in REFUSING_STATUSES} == {ObjectOutcome.BLOCKED}
    words = [rule.when for table in TABLES.values() for rule in table.rules if rule.outcome.value == "blocked"]
    assert sum(statuses_in_words(REFUSING_STATUSES) in condition for condition in words) == 3
    lists = [
        str(path)
        for package in ("arkaudit", "crawler", "reports", "tools/documentation")
        for path in Path(__file__).parents[3].joinpath(package).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if (isinstance(node, ast.Set | ast.List | ast.Tuple) and "429" in ast.unparse(node).split(", "))
        or (isinstance(node, ast.Constant) and re.search(r"\b403\b.*\b429\b", str(node.value)))
        if {"403", "429"} <= set(re.findall(r"\d+", ast.unparse(node)))
    ]
    assert len(lists) == 1, lists
