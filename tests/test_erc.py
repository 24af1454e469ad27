"""Records: ANVL, ERC and JSON."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.answers import read_answer
from crawler.erc import MISSING, display, missing_code, parse_record
from tests.vectors import vectors


@pytest.mark.parametrize("vector", vectors("records"))
def test_record(vector: dict[str, Any]) -> None:
    assert parse_record(vector.get("type", "text/plain"), vector["text"]) == vector["record"]


@given(
    st.binary(),
    st.sampled_from(["text/plain", "application/json", "text/html", "application/xml; charset=nonsense", None, ""]),
)
def test_no_body_is_too_odd_to_be_read(body: bytes, content_type: str | None) -> None:
    read_answer(body, content_type)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("a %! b", "a | b"),
        ("100%%", "100%"),
        ("%{ http://a.b/\n c %}", "http://a.b/c"),
        ("%5F", "%5F"),
        (", Madonna", "Madonna"),
        (",", ","),
    ],
)
def test_display_form(written: str, shown: str) -> None:
    assert display(written) == shown


@pytest.mark.parametrize("code", sorted(MISSING))
def test_codes_of_missing_values(code: str) -> None:
    assert missing_code(f"(:{code}) in words") == code
