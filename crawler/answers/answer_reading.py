"""Read answers within a budget, so that a costly one affects no other answer.

Short answers are read in this process with less than a second of CPU time, all others in a process that can be killed.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from crawler.answers.answer import MOST_BODY_BYTES, Answer, read_answer
from extractors.isolated import INLINE_CPU_S
from extractors.model.ark import Ark
from extractors.model.budget import OverBudget, can_limit_cpu, cpu_limit
from extractors.processes.worker import WorkerDied, WorkerError, WorkerExecutor, WorkerOutOfMemory, WorkerTimeout

#: Limits of CPU time and memory for reading an answer.
READING_CPU_S = 5
READING_BYTES = 2**30
#: The limit of elapsed time, for a reader that hangs. It is long enough for a busy machine.
READING_S = 600.0
#: Maximum number of bytes of an answer that is read in this process, because starting another one takes longer. All
#: code for such short answers can be interrupted by a limit of CPU time, or needs little time and memory.
INLINE_BYTES = 2**14
#: After this number of answers beyond the limits, no further answer of a host is read in this run.
MOST_OVERRUNS = 3
#: Seconds to wait for each answer after a run was stopped.
GRACE_S = 1.0
#: Maximum number of answers that are read by one call, and the seconds to collect them: each call has a cost.
_MOST_AT_ONCE, _GATHERING_S = 16, 0.1

#: An unread answer: its body, its Content-Type, and the ARK that it is about.
UnreadBody = tuple[bytes, str | None, Ark | None]


class ReadingStopped(Exception):
    """Raised for an answer that was not read because the run was stopped."""


def read_answers(bodies: Sequence[UnreadBody]) -> list[Answer]:
    """Return the facts about each of *bodies*, in their order. It is importable, so that the process that reads answers
    can run it.
    """
    return [read_answer(*body) for body in bodies]


@dataclass(frozen=True, slots=True)
class _WaitingBody:
    """A body that waits to be read, its host, and the future that gets the facts about it."""

    unread: UnreadBody
    host: str
    result: asyncio.Future[Answer]

    def set_result(self, answer: Answer) -> None:
        """Set *answer* as the result, unless there is one already."""
        if not self.result.done():
            self.result.set_result(answer)


class AnswerReader:
    """Reads the answers of a run; long ones in order, in one process that starts with the first of them."""

    def __init__(
        self,
        read: Callable[[Sequence[UnreadBody]], list[Answer]] = read_answers,
        *,
        cpu_s: int = READING_CPU_S,
        inline_bytes: int = INLINE_BYTES if can_limit_cpu() else 0,
    ) -> None:
        """Prepare to read: bodies of at most *inline_bytes* octets in this process, others in a process with *cpu_s*
        seconds for each call.

        *read* is importable, because the other process runs it too.
        """
        self._read = read
        self._inline_bytes = inline_bytes
        self._inline_overruns = Counter[str]()
        self._cpu_s = cpu_s
        self._executor = WorkerExecutor(1, timeout_s=READING_S, memory_bytes=READING_BYTES, cpu_s=cpu_s)
        self._waiting: deque[_WaitingBody] = deque()
        self._reading: asyncio.Task[None] | None = None
        self._overruns = Counter[str]()
        """The number of answers beyond the limits, by host."""
        self._is_started = self._is_closed = False
        self._stopping = asyncio.Event()

    async def read(self, body: bytes, content_type: str | None, ark: Ark | None = None, *, host: str) -> Answer:
        """Return the facts about a body that *host* sent; `Answer.fault` gives the reason if it was not read.

        Raises ReadingStopped if the reader was closed before.
        """
        if not body or (len(body) <= self._inline_bytes and self._inline_overruns[host] < MOST_OVERRUNS):
            try:
                with cpu_limit(INLINE_CPU_S):
                    return self._read([(body, content_type, ark)])[0]
            except (OverBudget, Exception):
                # The other process reports the reason.
                self._inline_overruns[host] += 1
        result: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append(_WaitingBody((body[:MOST_BODY_BYTES], content_type, ark), host, result))
        if self._reading is None:
            self._reading = asyncio.create_task(self._read_waiting())
        return await result

    async def _read_waiting(self) -> None:
        """Read all waiting answers, some at a time. If this fails, each of these gets the failure."""
        while self._waiting:
            waiting_answers = [self._waiting.popleft() for _ in range(min(_MOST_AT_ONCE, len(self._waiting)))]
            try:
                await self._read_together(waiting_answers)
            except BaseException as failure:
                for waiting in waiting_answers:
                    if not waiting.result.done():
                        waiting.result.set_exception(failure)
            await asyncio.sleep(_GATHERING_S)
        self._reading = None

    async def _read_together(self, waiting_answers: Sequence[_WaitingBody]) -> None:
        """Read answers in one call of the process, or each alone if that call failed."""
        refused_answers = [waiting for waiting in waiting_answers if self._overruns[waiting.host] >= MOST_OVERRUNS]
        for waiting in refused_answers:
            fault = f"{MOST_OVERRUNS} answers of {waiting.host} took too much time or memory before"
            waiting.set_result(Answer(None, fault=fault))
        unread_answers = [waiting for waiting in waiting_answers if not waiting.result.done()]
        if not unread_answers:
            return
        if self._is_closed:
            raise ReadingStopped
        try:
            answers = await self._result_of_process([waiting.unread for waiting in unread_answers])
        except (WorkerError, OSError) as failure:
            if self._is_closed:
                raise ReadingStopped from failure
            if len(unread_answers) > 1:
                for waiting in unread_answers:
                    await self._read_together([waiting])
                return
            self._overruns[unread_answers[0].host] += 1
            answers = [Answer(None, fault=self._reason(failure))]
        for waiting, answer in zip(unread_answers, answers, strict=True):
            waiting.set_result(answer)

    async def _result_of_process(self, bodies: Sequence[UnreadBody]) -> list[Answer]:
        """Return the facts about *bodies* from the process. Its start does not count towards the time limit."""
        if not self._is_started:
            await asyncio.wrap_future(self._executor.submit(self._read, []))
            self._is_started = True
        call: asyncio.Future[Any] = asyncio.wrap_future(self._executor.submit(self._read, bodies))
        stopping: asyncio.Future[Any] = asyncio.ensure_future(self._stopping.wait())
        await asyncio.wait({call, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        await asyncio.wait({call}, timeout=GRACE_S)
        if not call.done():
            self.close()
        answers: list[Answer] = await call
        return answers

    def stop(self) -> None:
        """Wait for each further answer only `GRACE_S` seconds, then close the reader."""
        self._stopping.set()

    def close(self) -> None:
        """End the process, even while it reads."""
        self._is_closed = True
        self._executor.shutdown(wait=False)

    def _reason(self, failure: Exception) -> str:
        """Return the reason why an answer was not read, in words."""
        match failure:
            case WorkerTimeout():
                return f"that took more than {self._cpu_s} s of CPU time"
            case WorkerOutOfMemory():
                return f"that took more than {READING_BYTES // 2**20} MiB of memory"
            case WorkerDied():
                return f"its reader ended ({failure})"
        return f"its reader failed ({failure})"
