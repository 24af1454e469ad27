"""Several asynchronous iterators run at a time, whose items come out in the order in which the iterators were begun."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Coroutine
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")

#: Items that one iterator may have waiting while those before it are not at their end.
_MOST_WAITING = 256


class ReadAhead(Generic[T]):
    """Runs at most so many iterators at a time; items of others may be put between theirs.

    Each iterator runs in a task of its own from `begin` on, and `items` gives what they give. It ends, or raises what
    one of them has raised, after `end`.

    >>> async def numbers(first: int) -> AsyncIterator[int]:
    ...     for number in range(first, first + 2):
    ...         yield number
    >>> async def read() -> list[int]:
    ...     ahead = ReadAhead(2)
    ...     async def begin() -> None:
    ...         for first in (1, 10, 20):
    ...             await ahead.begin(numbers(first))
    ...         await ahead.end()
    ...     return [number async for number in ahead.items(begin())]
    >>> asyncio.run(read())
    [1, 2, 10, 11, 20, 21]
    """

    def __init__(self, most: int) -> None:
        self._slots = asyncio.Semaphore(most)
        self._out: asyncio.Queue[_Given[T] | _End] = asyncio.Queue(maxsize=1)
        self._last = asyncio.Event()
        self._last.set()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def is_reading(self) -> bool:
        """True if an iterator is not at its end."""
        return not self._last.is_set()

    async def begin(self, iterator: AsyncIterator[T]) -> None:
        """Run *iterator*, as soon as there is a slot for it."""
        await self._slots.acquire()
        before, self._last = self._last, asyncio.Event()
        task = asyncio.create_task(self._run(iterator, before, self._last))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def put(self, item: T) -> None:
        """Let *item* come out now, before what the iterators give next."""
        await self._out.put(_Given(item))

    async def end(self) -> None:
        """Wait until all iterators are at their ends; nothing is begun any more."""
        await self._last.wait()
        await self._out.put(_End(None))

    async def items(self, beginning: Coroutine[Any, Any, None]) -> AsyncIterator[T]:
        """Give all items; *beginning* begins the iterators, and calls `end`."""
        task = asyncio.create_task(self._begun(beginning))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            while isinstance(found := await self._out.get(), _Given):
                yield found.value
            if found.failure is not None:
                raise found.failure
        finally:
            self.close()

    def close(self) -> None:
        """End all iterators where they are: nobody takes their items any more."""
        for each in self._tasks:
            each.cancel()

    async def _begun(self, beginning: Coroutine[Any, Any, None]) -> None:
        try:
            await beginning
        except Exception as failure:
            await self._out.put(_End(failure))

    async def _run(self, iterator: AsyncIterator[T], before: asyncio.Event, end: asyncio.Event) -> None:
        waiting: deque[T] = deque()
        try:
            async for item in iterator:
                waiting.append(item)
                if len(waiting) >= _MOST_WAITING:
                    await before.wait()
                if before.is_set():
                    await self._put_all(waiting)
            await before.wait()
            await self._put_all(waiting)
        except Exception as failure:
            await before.wait()
            await self._put_all(waiting)
            await self._out.put(_End(failure))
        finally:
            self._slots.release()
            end.set()

    async def _put_all(self, waiting: deque[T]) -> None:
        while waiting:
            await self._out.put(_Given(waiting.popleft()))


@dataclass(frozen=True, slots=True)
class _Given(Generic[T]):
    value: T


@dataclass(frozen=True, slots=True)
class _End:
    failure: Exception | None
