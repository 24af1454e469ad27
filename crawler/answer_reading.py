"""Reads what answers say, the large ones in other processes: many at a time, while hosts are asked on.

Where an answer is read makes no difference to what is read in it. The order in which answers are heard is that in which
they came, whichever was read first: `crawler.spiders.arks_spider` sees to that.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import Future

from crawler.answers.answer import MOST_READ, Answer, read_answer, unread_answer
from extractors.ark import Ark
from extractors.worker import WorkerDied, WorkerError
from extractors.worker_executor import WorkerExecutor

#: Smaller answers are read here: to send one to a process takes this one as long as to read one of 2 kB, and from here
#: on no more than a third of the reading.
LARGE_BYTES = 2**13
#: So many bytes of large answers are read here first, which takes as long as to start a process: a short check starts
#: none.
FIRST_BYTES = 2**21


class AnswerReader:
    """Reads answers here or, with an *executor*, the large ones of a long check in its processes."""

    def __init__(self, executor: WorkerExecutor | None = None) -> None:
        self._executor = executor
        self._left = FIRST_BYTES
        """Bytes of large answers that are still to be read here."""

    def begin(self, body: bytes, content_type: str | None, ark: Ark | None = None) -> AnswerReading:
        """Begin to read an answer, as `crawler.answers.answer.read_answer` does."""
        executor = self._executor if len(body) >= LARGE_BYTES else None
        if executor is not None and self._left > 0:
            self._left -= len(body)
            executor = None
        return AnswerReading(body[:MOST_READ], content_type, ark, executor)


class AnswerReading:
    """One answer that is being read."""

    def __init__(self, body: bytes, content_type: str | None, ark: Ark | None, executor: WorkerExecutor | None) -> None:
        self._asked = body, content_type, ark
        self._executor = executor
        self._begun = self._begin() if executor is not None else None

    async def answer(self) -> Answer:
        """What was read; an answer over which its process has ended has nothing in it but the reason.

        One whose process was killed is read once more: that may have been somebody who was short of memory.
        """
        if self._begun is None:
            return read_answer(*self._asked)
        try:
            try:
                return await asyncio.wrap_future(self._begun)
            except WorkerDied:
                return await asyncio.wrap_future(self._begin())
        except WorkerError as failure:
            return unread_answer(self._asked[1], f"its reader ended: {failure}")

    def _begin(self) -> Future[Answer]:
        assert self._executor is not None
        return self._executor.submit(read_answer, *self._asked)
