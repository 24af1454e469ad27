"""Addresses of issues, and the part of the text of an issue that arkaudit writes."""

from typing import Any

import pytest

from arkaudit.features.living_issue.address import IssueAddress
from arkaudit.features.living_issue.issue import IssueSection
from tests.vectors import vectors


@pytest.mark.parametrize("vector", vectors("issue_addresses"))
def test_address(vector: dict[str, Any]) -> None:
    if "url" not in vector:
        with pytest.raises(ValueError, match=vector["fault"]):
            IssueAddress.parse(vector["text"])
        return
    assert IssueAddress.parse(vector["text"]).issues_url(vector.get("environment", {})) == vector["url"]


def test_text_after_a_deleted_mark_stays() -> None:
    begin = "<!-- arkaudit:begin audit=theses -->"
    found = IssueSection.find(f"a\n{begin}\nb", "theses")
    assert found == IssueSection((2, 2 + len(begin)), was_closed=False, ticked_causes=frozenset())
    assert IssueSection.find(f"a `{begin}`", "theses") is None
    assert IssueSection.find(begin, "maps") is None
