"""Which questions of a run are open, when it is gone through once more with the answers that the store has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from crawler.observations import Observation, Question

if TYPE_CHECKING:
    from scrapy import Request

#: What an observation is unique by within a run: the URL of the object question, the question, and the attempt.
Key = tuple[str, Question, int]


@dataclass(frozen=True, slots=True)
class _Asked:
    request: Request
    wait_s: float = 0.0
    since: str = ""
    """The moment from which it is waited, ISO 8601."""


class Replay:
    """The questions that were asked in a replay, until their answers come by."""

    def __init__(self) -> None:
        self._asked: dict[Key, _Asked] = {}
        self._early: dict[Key, None] = {}
        """Answers that came by before their question."""

    def ask(self, requests: Iterable[Request]) -> None:
        """Await the answers of *requests*."""
        for request in requests:
            self._asked[_key_of(request)] = _Asked(request)

    def ask_later(self, request: Request, *, wait_s: float, since: str) -> None:
        """Await the answer of *request*, which is not to be sent before so many seconds *since* a moment."""
        self._asked[_key_of(request)] = _Asked(request, wait_s, since)

    def awaits(self, seen: Observation) -> bool:
        """Whether somebody has asked what *seen* answers."""
        return _key(seen) in self._asked

    def answered(self, seen: Observation) -> Request | None:
        """The request that *seen* answers; None when nobody has asked, or not yet."""
        asked = self._asked.pop(_key(seen), None)
        if asked is None:
            self._early[_key(seen)] = None
            return None
        return asked.request

    def answers_to_find(self) -> list[Key]:
        """The questions that were asked after their answers had come by: these are to be had again."""
        return [key for key in self._asked if key in self._early]

    def open(self, *, now: datetime) -> Iterator[tuple[Request, float]]:
        """What has no answer, in the order in which it was asked, with the seconds that it must still wait."""
        for asked in self._asked.values():
            passed_s = (now - datetime.fromisoformat(asked.since)).total_seconds() if asked.since else 0.0
            yield asked.request, asked.wait_s - passed_s


def _key(seen: Observation) -> Key:
    return seen.request_url, seen.question, seen.attempt


def _key_of(request: Request) -> Key:
    told = request.cb_kwargs
    return told["case"].request_url, told["question"], told["attempt"]
