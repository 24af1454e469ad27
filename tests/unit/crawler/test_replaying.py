"""Replaying a run asks the questions that its answers leave open, and no settled ones."""

from datetime import UTC, datetime

from crawler.answers.answer import read_answer
from crawler.asking.target import QuestionToSend
from crawler.model.observations import ChainEnd, Hop, Observation, Question
from crawler.spiders.arks_spider import Replay
from extractors.model.ark import Ark

URL = "https://n2t.net/ark:/12x45/x5"
BEFORE = "2026-11-21T12:00:00.000+00:00"
NOW = datetime(2026, 11, 21, 12, 0, 30, tzinfo=UTC)


def observation_of(ask: QuestionToSend, hops: tuple[Hop, ...] = (), body: str = "") -> Observation:
    """Return the answer to a question, as it is read from a body."""
    answer = read_answer(body.encode(), "text/html" if body.startswith("<") else "text/plain", ask.ark)
    return Observation(
        ask.ark, ask.request_url, ask.question, ask.url, hops, ChainEnd.ANSWERED,
        attempt=ask.attempt, media_type=answer.media_type, title=answer.title, text=answer.text,
        record=answer.record, similarity=answer.similarity, facts=answer.facts,
    )  # fmt: skip


def ask_of(question: Question, attempt: int = 1, url: str = URL, wait_s: float = 0.0) -> QuestionToSend:
    ark = Ark.parse("ark:12x45/x5")
    hop = Hop(url, "GET", BEFORE, 503)
    before = Observation(ark, url, question, url, (hop,), ChainEnd.ANSWERED, attempt=attempt - 1)
    return QuestionToSend(ark, url, question, url, before if attempt > 1 else None, wait_s)


def seen(question: Question, attempt: int = 1, url: str = URL) -> Observation:
    return observation_of(ask_of(question, attempt, url))


def test_unanswered_questions_stay_open_in_order() -> None:
    replay = Replay()
    asked = [ask_of(Question.OBJECT), ask_of(Question.INFO), ask_of(Question.DOUBLE), ask_of(Question.OBJECT, 2)]
    replay.expect(asked)
    assert replay.take(seen(Question.INFO)) is asked[1]
    assert [each for each, _ in replay.open(now=NOW)] == [asked[0], asked[2], asked[3]]


def test_attempts_and_urls_are_distinguished() -> None:
    replay = Replay()
    replay.expect([ask_of(Question.OBJECT, 1), ask_of(Question.OBJECT, 2), ask_of(Question.OBJECT, url=URL + "y")])
    assert replay.awaits(seen(Question.OBJECT, 2))
    assert not replay.awaits(seen(Question.OBJECT, 3))
    assert replay.take(seen(Question.OBJECT, 3)) is None
    assert len(list(replay.open(now=NOW))) == 3


def test_early_answer_is_found_by_its_question() -> None:
    replay = Replay()
    assert replay.take(seen(Question.INFO)) is None
    assert replay.answers_to_find() == []
    replay.expect([ask_of(Question.INFO), ask_of(Question.DOUBLE)])
    assert replay.answers_to_find() == [(URL, Question.INFO, 1)]


def test_a_pause_that_a_host_asked_for_is_kept_as_far_as_it_is_not_over() -> None:
    replay = Replay()
    replay.expect([ask_of(Question.OBJECT, 2, wait_s=40)])
    replay.expect([ask_of(Question.INFO, 2, wait_s=4)])
    assert [wait_s for _, wait_s in replay.open(now=NOW)] == [10, -26]
