"""Whether and when a question is asked again: a table, and the forms of a Retry-After."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.model.addresses import AddressGuard, Routes
from crawler.model.observations import ChainEnd, Hop, Observation, Question
from crawler.model.resolving import LONGEST_PAUSE_S, Patience, attempt_wait_s, retry_after_s
from crawler.wire.endpoints import GuardedEndpoint, LookUpNotBegun, NameNotFound, NameServerSilent
from crawler.wire.failures import failure_kind, failure_text
from crawler.wire.middlewares import exception_names, failure_words
from extractors.model.ark import Ark
from tests.vectors import vectors

NOON = "2026-11-21T12:00:00.000+00:00"

URL = "https://n2t.net/ark:/12x45/x5"

PATIENCE = Patience(attempts=3, backoff_s=2.0, longest_wait_s=60.0)


def answer(
    told: str | int, attempt: int, retry_after: str | None, question: str, *, is_sent: bool = True
) -> Observation:
    headers = {"Retry-After": retry_after} if retry_after is not None else {}
    status = told if isinstance(told, int) else None
    hop = Hop(URL, "GET", NOON, status, headers=headers, sent=is_sent)
    end = ChainEnd.ANSWERED if isinstance(told, int) else ChainEnd(told)
    return Observation(Ark.parse("ark:12x45/x5"), URL, Question(question), URL, (hop,), end, attempt=attempt)


@pytest.mark.parametrize("vector", vectors("attempts"))
def test_whether_and_when_a_question_is_put_again(vector: dict[str, Any]) -> None:
    seen = answer(
        vector["told"],
        vector.get("attempt", 1),
        vector.get("retry_after"),
        vector.get("question", "object"),
        is_sent=vector.get("sent", True),
    )
    assert attempt_wait_s(seen, PATIENCE) == vector["wait_s"]


def test_every_status_and_end_that_may_pass_is_named() -> None:
    statuses = {status for status in range(100, 1000) if attempt_wait_s(answer(status, 1, None, "object"), PATIENCE)}
    ends = {end for end in ChainEnd if attempt_wait_s(answer(end.value, 1, None, "object"), PATIENCE)}
    assert statuses == {429, 502, 503, 504}
    assert ends == {ChainEnd.TIMEOUT, ChainEnd.RESET}


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("0", 0), ("120", 120), (" 7 ", 7), ("3s", 3), ("1m", 60), ("1m30s", 90), ("1M 30S", 90), ("2h", 7200),
        ("Sat, 21 Nov 2026 12:00:30 GMT", 30), ("Saturday, 21-Nov-26 12:00:30 GMT", 30),
        ("Sat, 21 Nov 2026 11:00:00 GMT", 0), ("Sat, 21 Nov 2026 13:00:30 +0100", 30),
        ("", None), ("soon", None), ("-5", None), ("3d", None), ("1.5", 1.5), (None, None),
        ("9" * 10, LONGEST_PAUSE_S), ("9" * 400, LONGEST_PAUSE_S), ("9" * 5000, LONGEST_PAUSE_S), ("0" * 30 + "7", 7),
        ("999999999", LONGEST_PAUSE_S), ("99999999999h", LONGEST_PAUSE_S), ("120, 3600", 120),
        ("Fri, 31 Dec 9999 23:59:59 GMT", LONGEST_PAUSE_S), ("Fri, 31 Dec 99999 23:59:59 GMT", LONGEST_PAUSE_S),
    ],
)  # fmt: skip
def test_retry_after_is_parsed(header: str | None, seconds: float | None) -> None:
    assert retry_after_s(header, at=NOON) == seconds


@given(st.text())
def test_no_retry_after_is_too_odd(header: str) -> None:
    assert (retry_after_s(header, at=NOON) or 0) >= 0


def test_the_waits_of_one_question_are_bounded() -> None:
    waits = [attempt_wait_s(answer(503, attempt, None, "object"), Patience(10, 2.0, 60.0)) for attempt in range(1, 11)]
    assert waits == [2, 4, 8, 16, 32, None, None, None, None, None]


@pytest.mark.parametrize(
    ("failure", "wait_s"),
    [(NameServerSilent("25 seconds"), 2.0), (LookUpNotBegun("25 seconds"), 2.0), (NameNotFound("r.example"), None)],
)
def test_a_look_up_that_took_too_long_is_repeated(failure: Exception, wait_s: float | None) -> None:
    failure.__cause__ = NameServerSilent("25 seconds")  # as it is raised
    kind = failure_kind(list(exception_names(failure)))
    hop = Hop(URL, "GET", NOON, error=failure_text(kind, failure_words(failure)))
    seen = Observation(Ark.parse("ark:12x45/x5"), URL, Question.OBJECT, URL, (hop,), kind.end)
    assert attempt_wait_s(seen, PATIENCE) == wait_s
    assert (kind.end is ChainEnd.UNDETERMINED) is isinstance(failure, LookUpNotBegun)


def test_an_address_is_no_name_to_look_up() -> None:
    class NoNames:
        def connectTCP(self, host: str, port: int, *_: Any, **__: Any) -> None:
            connected.append((host, port))

        @property
        def nameResolver(self) -> Any:
            raise AssertionError("it was looked up")

    connected: list[tuple[str, int]] = []
    guard = AddressGuard.for_networks(["0.0.0.0/0", "::/0"])
    for host in ("192.0.2.7", "2001:db8::7", "0x7f.1"):
        endpoint = GuardedEndpoint(NoNames(), host, 80, guard=guard, routes=Routes(), timeout=5, bind=None)
        if host.startswith("0x"):
            with pytest.raises(AssertionError, match="looked up"):
                endpoint.connect(None)
        else:
            endpoint.connect(None)
    assert connected == [("192.0.2.7", 80), ("2001:db8::7", 80)]
