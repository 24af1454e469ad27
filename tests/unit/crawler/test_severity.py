"""The severities of ``--fail-on``: three separate orders, without a rank between them."""

import re
from pathlib import Path
from typing import Any

import pytest

from crawler.history.ark_status import ArkState, EventKind
from crawler.model.observations import FAMILY_OF, Family, ObjectOutcome
from reports.tables.wording import EVENT_SEVERITY, FORMATS, ONLY, SEVERITY, reached_tokens
from tests.vectors import vectors


def test_every_event_has_its_gravity_and_no_state_or_outcome_that_is_well_has_one() -> None:
    assert set(EVENT_SEVERITY) == set(EventKind)
    assert set(SEVERITY["state"]) == {str(state) for state in ArkState} - {"healthy", "skipped"}
    works = {str(outcome) for outcome, family in FAMILY_OF.items() if family is Family.WORKS}
    assert set(SEVERITY["outcome"]) == {str(outcome) for outcome in ObjectOutcome} - works - {"skipped"}


@pytest.mark.parametrize("vector", vectors("fail_on"))
def test_outcomes_are_ranked_within_their_kind(vector: dict[str, Any]) -> None:
    assert bool(reached_tokens(vector["fail_on"], vector["found"])) is vector["reached"]


def test_each_token_includes_itself_and_the_one_before_it() -> None:
    for tokens in SEVERITY.values():
        for before, token in zip(("", *tokens), tokens, strict=False):
            assert reached_tokens([token], [token]) == [token]
            assert not before or reached_tokens([token], [before]) == [before]


def test_ark_outcomes_of_fail_on_can_be_chosen() -> None:
    assert {token for kind, tokens in SEVERITY.items() for token in tokens if kind != "document"} <= set(ONLY)


REPORTS = (Path(__file__).parents[3] / "docs" / "reports.md").read_text("utf-8")


@pytest.mark.parametrize("kind", list(SEVERITY))
def test_the_documentation_has_the_tokens_in_their_order(kind: str) -> None:
    [row] = re.findall(rf"^\| {kind} \| (.*) \|$", REPORTS, re.MULTILINE)
    assert tuple(re.findall("`([a-z0-9-]+)`", row)) == SEVERITY[kind]


def test_the_documentation_has_every_format() -> None:
    told = REPORTS.partition("## Formats")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `([a-z-]+)` \|", told, re.MULTILINE) == list(FORMATS)
