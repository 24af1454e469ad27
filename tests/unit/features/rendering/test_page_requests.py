"""Decisions on each request of a page in a browser, and on each answer, made without a browser."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arkaudit.features.rendering.page_requests import (
    PageRequest,
    Treatment,
    fault_of_answer,
    headers_for_browser,
    may_read,
    treatment,
)
from crawler.model.observations import ChainEnd, Hop
from extractors.model.urls import origin_of
from tests.vectors import vectors

PAGE, API = "https://x.example", "https://api.example/x"


@pytest.mark.parametrize("vector", vectors("page_requests"))
def test_page_requests_follow_vectors(vector: dict[str, Any]) -> None:
    asked = PageRequest(
        vector["url"], vector["method"], vector["kind"], vector.get("headers", {}), vector.get("in_frame", False)
    )
    how, why = treatment(asked)
    assert how.value == vector["becomes"]
    assert vector.get("says", "") in why
    assert bool(why) == (how is Treatment.WITHHELD)
    assert len(why) < 600


@given(st.text(), st.text(max_size=8), st.text(max_size=12), st.booleans())
def test_any_request_becomes_something(url: str, method: str, kind: str, in_frame: bool) -> None:
    how, _ = treatment(PageRequest(url, method, kind, {}, in_frame))
    assert how is not Treatment.ASKED or (method == "GET" and url.lower().startswith(("http://", "https://")))


@pytest.mark.parametrize(
    ("status", "is_fault"),
    [(200, False), (204, False), (400, False), (404, False), (410, False)]
    + [(status, True) for status in (401, 403, 429, 451, 500, 503, 599, 999)],
)
def test_a_status_that_is_about_us_or_about_today_is_a_fault(status: int, is_fault: bool) -> None:
    assert (fault_of_answer(API, ChainEnd.ANSWERED, "", status) is not None) == is_fault


@pytest.mark.parametrize("end", [end for end in ChainEnd if end is not ChainEnd.ANSWERED])
def test_an_end_without_an_answer_is_a_fault(end: ChainEnd) -> None:
    assert end.value in (fault_of_answer(API, end, "", None) or "")


@pytest.mark.parametrize(
    ("kind", "asking", "allows", "by_way_of", "is_read"),
    [
        pytest.param("fetch", None, False, None, True, id="of its own origin"),
        pytest.param("fetch", PAGE, False, None, False, id="of another origin, which doesn't allow it"),
        pytest.param("fetch", PAGE, True, None, True, id="of another origin, which allows it"),
        pytest.param("fetch", None, False, "https://else.example/x", False, id="redirects lead to another origin"),
        pytest.param("script", PAGE, False, None, True, id="a script of another origin"),
    ],
)
def test_a_page_reads_what_its_origin_may_read(
    kind: str, asking: str | None, allows: bool, by_way_of: str | None, is_read: bool
) -> None:
    asked = PageRequest(API, "GET", kind, {} if asking is None else {"origin": asking})
    hops = tuple(Hop(url, "GET", "") for url in (API, by_way_of) if url)
    assert may_read(asked, {"access-control-allow-origin": "*"} if allows else {}, hops) == is_read


def test_the_browser_gets_no_cookie_and_nothing_that_was_true_on_the_wire_alone() -> None:
    headers = {"set-cookie": "a=b", "content-encoding": "br", "content-length": "5", "content-type": "text/html"}
    assert headers_for_browser(headers) == {"content-type": "text/html"}


@given(st.text())
def test_any_text_has_an_origin_or_none(url: str) -> None:
    assert isinstance(origin_of(url), str)
