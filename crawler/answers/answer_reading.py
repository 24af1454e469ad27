"""Reads answers within a budget: one that takes too much time or memory costs nothing but itself.

A short one is read here, for less than a second of CPU time. All others are read in a process that can be killed.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from crawler.answers.answer import MOST_READ, Answer, read_answer
from extractors.isolated import INLINE_CPU_S
from extractors.model.ark import Ark
from extractors.model.budget import OverBudget, can_limit_cpu, cpu_limit
from extractors.processes.worker import WorkerDied, WorkerError, WorkerExecutor, WorkerOutOfMemory, WorkerTimeout

#: The CPU time in which an answer is read, and the memory.
READING_CPU_S = 5
READING_BYTES = 2**30
#: The same by the clock, for a reader that waits for ever: so long that a busy machine can't come near it.
READING_S = 600.0
#: Bytes of an answer that is read in this process: to start another one takes longer than most checks. All that reads
#: so few bytes is Python, which a limit of CPU time interrupts, or takes time and memory as they allow.
INLINE_BYTES = 2**14
#: Of a host with so many answers that took too much, no further one is read in this run.
MOST_OVERRUNS = 3
#: Once a run is stopped, no answer is waited for longer than that by the clock, in seconds.
GRACE_S = 1.0
#: Answers that are read by one call: those that came in the seconds after the one before, for each call has its cost.
_AT_ONCE, _GATHERING_S = 16, 0.1

#: What is known of an answer that is to be read: its body, its Content-Type, the ARK that it is about.
Unread = tuple[bytes, str | None, Ark | None]


class ReadingStopped(Exception):
    """Raised for an answer that was not read because the run was stopped."""


def read_answers(bodies: Sequence[Unread]) -> list[Answer]:
    """Return what is kept of each body; runs in the process for answers."""
    return [read_answer(*body) for body in bodies]


@dataclass(frozen=True, slots=True)
class _Waiting:
    """An answer that waits to be read."""

    unread: Unread
    host: str
    result: asyncio.Future[Answer]

    def done(self, answer: Answer) -> None:
        if not self.result.done():
            self.result.set_result(answer)


class AnswerReader:
    """Reads the answers of a run; long ones in their order, in one process that is started with the first of them."""

    def __init__(
        self,
        read: Callable[[Sequence[Unread]], list[Answer]] = read_answers,
        *,
        cpu_s: int = READING_CPU_S,
        inline_bytes: int = INLINE_BYTES if can_limit_cpu() else 0,
    ) -> None:
        """*read* is an importable function; an answer of more than *inline_bytes* has *cpu_s* seconds of CPU time."""
        self._read = read
        self._inline_bytes = inline_bytes
        self._inline_overruns = Counter[str]()
        self._cpu_s = cpu_s
        self._executor = WorkerExecutor(1, timeout_s=READING_S, memory_bytes=READING_BYTES, cpu_s=cpu_s)
        self._waiting: deque[_Waiting] = deque()
        self._reading: asyncio.Task[None] | None = None
        self._overruns = Counter[str]()
        """How many answers of a host took too much."""
        self._is_started = self._is_closed = False
        self._stopping = asyncio.Event()

    async def read(self, body: bytes, content_type: str | None, ark: Ark | None = None, *, host: str) -> Answer:
        """Return what is kept of a body that *host* has sent; `Answer.fault` says why nothing is.

        Raises ReadingStopped if the reader was closed before.
        """
        if not body or (len(body) <= self._inline_bytes and self._inline_overruns[host] < MOST_OVERRUNS):
            try:
                with cpu_limit(INLINE_CPU_S):
                    return self._read([(body, content_type, ark)])[0]
            except (OverBudget, Exception):
                # The other process finds out why, and says so.
                self._inline_overruns[host] += 1
        result: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting((body[:MOST_READ], content_type, ark), host, result))
        if self._reading is None:
            self._reading = asyncio.create_task(self._read_waiting())
        return await result

    async def _read_waiting(self) -> None:
        while self._waiting:
            some = [self._waiting.popleft() for _ in range(min(_AT_ONCE, len(self._waiting)))]
            try:
                await self._read_some(some)
            except BaseException as failure:
                for waiting in some:
                    if not waiting.result.done():
                        waiting.result.set_exception(failure)
            await asyncio.sleep(_GATHERING_S)
        self._reading = None

    async def _read_some(self, some: Sequence[_Waiting]) -> None:
        """Read some answers at once; each alone where the process ended over them."""
        given_up = [waiting for waiting in some if self._overruns[waiting.host] >= MOST_OVERRUNS]
        for waiting in given_up:
            words = f"{MOST_OVERRUNS} answers of {waiting.host} took too much time or memory before"
            waiting.done(Answer(None, fault=words))
        left = [waiting for waiting in some if not waiting.result.done()]
        if not left:
            return
        if self._is_closed:
            raise ReadingStopped
        try:
            answers = await self._called([waiting.unread for waiting in left])
        except (WorkerError, RuntimeError, OSError) as failure:  # RuntimeError: it was closed
            if self._is_closed:
                raise ReadingStopped from failure
            if len(left) > 1:
                for waiting in left:
                    await self._read_some([waiting])
                return
            self._overruns[left[0].host] += 1
            answers = [Answer(None, fault=self._words(failure))]
        for waiting, answer in zip(left, answers, strict=True):
            waiting.done(answer)

    async def _called(self, bodies: Sequence[Unread]) -> list[Answer]:
        """Return what the process makes of *bodies*; its start doesn't count."""
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
        """Read what has come and what is still to come, but wait for no answer for long: then nothing more is read."""
        self._stopping.set()

    def close(self) -> None:
        """End the process, whatever it reads."""
        self._is_closed = True
        self._executor.shutdown(wait=False)

    def _words(self, failure: Exception) -> str:
        """Return why an answer was not read, in words."""
        match failure:
            case WorkerTimeout():
                return f"that took more than {self._cpu_s} s of CPU time"
            case WorkerOutOfMemory():
                return f"that took more than {READING_BYTES // 2**20} MiB of memory"
            case WorkerDied():
                return f"its reader ended ({failure})"
        return f"its reader failed ({failure})"
