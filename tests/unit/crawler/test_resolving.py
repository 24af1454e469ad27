"""Decisions about requests: the request target, the target of a redirect, and the next step."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.model.observations import ChainEnd, Hop, Observation, Question
from crawler.model.resolving import (
    BadLocation,
    Follow,
    Stop,
    next_step,
    request_target,
    request_url,
    requests_sent,
    resolved_location,
    sendable,
    url_fault,
)
from extractors.model.ark import Ark
from tests.vectors import vectors

URL = "https://n2t.net/ark:/12x45/x5"


@pytest.mark.parametrize("vector", vectors("locations"))
def test_location_headers_follow_vectors(vector: dict[str, Any]) -> None:
    if vector.get("bad"):
        with pytest.raises(BadLocation):
            resolved_location(vector["base"], vector["location"])
    else:
        assert resolved_location(vector["base"], vector["location"]) == vector["means"]


@given(st.text())
def test_no_location_is_too_odd_for_a_chain(location: str) -> None:
    assert isinstance(next_step([URL], 302, location, max_hops=5), Follow | Stop)


@given(st.text())
def test_request_targets_are_printable_ascii(tail: str) -> None:
    target = request_target(sendable("https://n2t.net/" + tail))
    assert all("!" <= char <= "~" for char in target)
    assert "#" not in target


@pytest.mark.parametrize("vector", vectors("sendable"))
def test_request_targets_follow_vectors(vector: dict[str, Any]) -> None:
    assert sendable(vector["url"]) == vector["sent"]
    assert sendable(vector["sent"]) == vector["sent"]
    assert (url_fault(vector["sent"]) is None) != vector.get("impossible", False)


@given(st.text(), st.text())
def test_no_url_is_too_odd_to_be_made_sendable(authority: str, tail: str) -> None:
    url = request_url(f"https://{authority}/ark:/12x45/{tail}", f"https://{authority}/", "https://n2t.net/")
    assert all("!" <= char <= "~" for char in url)
    assert sendable(url) == url
    url_fault(url)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_followed(status: int) -> None:
    assert next_step([URL], status, "/y", max_hops=5) == Follow("https://n2t.net/y")


@pytest.mark.parametrize("status", [200, 204, 300, 304, 404, 500, 999])
def test_other_statuses_end_the_chain(status: int) -> None:
    assert next_step([URL], status, "/y", max_hops=5) == Stop(ChainEnd.ANSWERED)


@pytest.mark.parametrize(
    ("end", "locations"),
    [
        pytest.param(ChainEnd.BAD_REDIRECT, [None, "", "   "], id="nowhere"),
        pytest.param(ChainEnd.BAD_REDIRECT, ["http:", "http:/x", "https:x"], id="a web scheme without a host"),
        pytest.param(
            ChainEnd.SKIPPED,
            ["/ark:/12345/x5", "https://n2t.net/ARK:99999/fk4", "/ark:/%39%39999/fk4", "/ark:/12345/id", "/ark:99999"],
            id="an example or a test",
        ),
    ],
)
def test_redirects_that_are_not_followed(end: ChainEnd, locations: list[str | None]) -> None:
    for location in locations:
        step = next_step([URL], 302, location, max_hops=5)
        assert isinstance(step, Stop), location
        assert step.end is end, location


def test_a_loop_is_seen_by_its_url_and_a_question_mark_is_no_loop() -> None:
    assert next_step([URL], 302, URL, max_hops=5) == Stop(ChainEnd.LOOP, f"{URL} redirects to itself")
    assert next_step([URL], 302, URL + "?", max_hops=5) == Follow(URL + "?")


def test_url_may_repeat_after_a_new_cookie() -> None:
    other = "https://n2t.net/login"
    assert next_step([URL], 302, URL, max_hops=5, cookie_at=0) == Follow(URL)
    assert next_step([URL, other], 302, URL, max_hops=5, cookie_at=1) == Follow(URL)
    assert next_step([URL, URL], 302, URL, max_hops=5, cookie_at=0) == Stop(ChainEnd.LOOP, f"{URL} redirects to itself")


def test_five_redirects_are_allowed_where_five_are_allowed() -> None:
    urls = [f"https://n2t.net/{number}" for number in range(6)]
    assert isinstance(next_step(urls[:5], 302, "/next", max_hops=5), Follow)
    step = next_step(urls, 302, "/next", max_hops=5)
    assert isinstance(step, Stop)
    assert step.end is ChainEnd.TOO_MANY_REDIRECTS


def observation(
    question: Question, *, status: int | None = 200, end: ChainEnd = ChainEnd.ANSWERED, url: str = URL
) -> Observation:
    hop = Hop(url, "GET", "2026-11-21T00:00:00.000+00:00", status)
    return Observation(Ark.parse("ark:12x45/x5"), url, question, url, (hop,), end)


def test_requests_held_back_by_our_rules_count_as_unsent() -> None:
    sent = observation(Question.OBJECT)
    held = observation(Question.INFO, status=None, end=ChainEnd.ROBOTS)
    assert requests_sent([sent, held]) == 1
    dead = replace(sent, hops=(*sent.hops, replace(sent.hops[0], status=None, sent=False)), end=ChainEnd.REFUSED)
    assert requests_sent([dead]) == 1
