"""Pure: which questions of a run are open, when it is gone through once more with the answers that the store has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from crawler.model.observations import Observation, Question
from crawler.spiders.conversation import Ask

#: What an observation is unique by within a run: the URL of the object question, the question, and the attempt.
Key = tuple[str, Question, int]


class Replay:
    """The questions that were asked in a replay, until their answers come by."""

    def __init__(self) -> None:
        self._asked: dict[Key, Ask] = {}
        self._early: dict[Key, None] = {}
        """Answers that came by before their question."""

    def ask(self, asks: Iterable[Ask]) -> None:
        """Await the answers of *asks*."""
        self._asked |= {ask.key: ask for ask in asks}

    def awaits(self, seen: Observation) -> bool:
        """Return whether somebody has asked what *seen* answers."""
        return _key(seen) in self._asked

    def answered(self, seen: Observation) -> Ask | None:
        """The question that *seen* answers; None when nobody has put it, or not yet."""
        ask = self._asked.pop(_key(seen), None)
        if ask is None:
            self._early[_key(seen)] = None
        return ask

    def answers_to_find(self) -> list[Key]:
        """The questions that were asked after their answers had come by: these are to be had again."""
        return [key for key in self._asked if key in self._early]

    def open(self, *, now: datetime) -> Iterator[tuple[Ask, float]]:
        """Return what has no answer, in the order in which it was asked, with the seconds that it must still wait."""
        for ask in self._asked.values():
            since = ask.after.at if ask.wait_s and ask.after is not None else ""
            passed_s = (now - datetime.fromisoformat(since)).total_seconds() if since else 0.0
            yield ask, ask.wait_s - passed_s


def _key(seen: Observation) -> Key:
    return seen.request_url, seen.question, seen.attempt
