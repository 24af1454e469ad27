"""A run that is gone through once more asks what its answers leave open, and nothing that they settle."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace

from scrapy import Request

from crawler.observations import ChainEnd, Observation, Question
from crawler.spiders.replaying import Replay
from extractors.ark import Ark

URL = "https://n2t.net/ark:/12x45/x5"
NOW = datetime(2026, 11, 21, 12, 0, 30, tzinfo=UTC)


def request(question: Question, attempt: int = 1, url: str = URL) -> Request:
    case = SimpleNamespace(request_url=url)
    return Request(url, cb_kwargs={"case": case, "question": question, "asked": url, "attempt": attempt})


def seen(question: Question, attempt: int = 1, url: str = URL) -> Observation:
    return Observation(Ark.parse("ark:12x45/x5"), url, question, url, (), ChainEnd.ANSWERED, attempt=attempt)


def test_what_has_no_answer_is_open_in_the_order_in_which_it_was_asked() -> None:
    replay = Replay()
    asked = [request(Question.OBJECT), request(Question.INFO), request(Question.DOUBLE), request(Question.OBJECT, 2)]
    replay.ask(asked)
    assert replay.answered(seen(Question.INFO)) is asked[1]
    assert [each for each, _ in replay.open(now=NOW)] == [asked[0], asked[2], asked[3]]


def test_attempts_and_urls_are_told_apart() -> None:
    replay = Replay()
    replay.ask([request(Question.OBJECT, 1), request(Question.OBJECT, 2), request(Question.OBJECT, url=URL + "y")])
    assert replay.awaits(seen(Question.OBJECT, 2))
    assert not replay.awaits(seen(Question.OBJECT, 3))
    assert replay.answered(seen(Question.OBJECT, 3)) is None
    assert len(list(replay.open(now=NOW))) == 3


def test_an_answer_that_comes_by_before_its_question_is_found_when_it_is_asked() -> None:
    replay = Replay()
    assert replay.answered(seen(Question.INFO)) is None
    assert replay.answers_to_find() == []
    replay.ask([request(Question.INFO), request(Question.DOUBLE)])
    assert replay.answers_to_find() == [(URL, Question.INFO, 1)]


def test_a_pause_that_a_host_asked_for_is_kept_as_far_as_it_is_not_over() -> None:
    replay = Replay()
    replay.ask_later(request(Question.OBJECT, 2), wait_s=40, since="2026-11-21T12:00:00.000+00:00")
    replay.ask_later(request(Question.INFO, 2), wait_s=4, since="2026-11-21T12:00:00.000+00:00")
    assert [wait_s for _, wait_s in replay.open(now=NOW)] == [10, -26]
