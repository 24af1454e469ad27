"""Documents read in batches by an executor, several at a time, with the results in the order of the documents."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

from extractors.archives.members import ArchiveMember
from extractors.worker import WorkerError
from extractors.worker_executor import WorkerExecutor

P = TypeVar("P")
S = TypeVar("S")

#: A batch is full with so many bytes, or documents; a PDF takes about so many times longer than a text.
BATCH_BYTES = 2**18
BATCH_DOCUMENTS = 64
_PDF_WEIGHT = 16
#: So many batches a process are under way at most: one that is read, and some that wait.
AHEAD = 3


class BatchReading(Generic[P, S]):
    """Reads what it is given in batches (*read*, a function of a module), in the processes of an executor.

    A process that ends over a batch costs nothing: each of its documents is read alone then, and *failed* makes the
    result of one over which a process ends again. Where *stays_here* says so of a first and only batch, no process is
    started for it.
    """

    def __init__(
        self,
        executor: WorkerExecutor,
        read: Callable[[Sequence[P]], list[S]],
        failed: Callable[[P, WorkerError], S],
        *,
        stays_here: Callable[[Sequence[P]], bool] = lambda batch: False,
    ) -> None:
        self._executor = executor
        self._read = read
        self._failed = failed
        self._stays_here = stays_here
        self.has_started = False
        """Whether other processes were asked."""
        self._ahead: deque[tuple[list[P], Future[list[S]] | None]] = deque()

    def results(self, items: Iterable[P], weight: Callable[[P], int]) -> Iterator[list[S]]:
        """Give the results of *items*, batch by batch, in their order."""
        for batch in batches(items, weight):
            is_here = not self.has_started and self._stays_here(batch)
            self.has_started = self.has_started or not is_here
            self._ahead.append((batch, None if is_here else self._executor.submit(self._read, batch)))
            while self._ahead and (len(self._ahead) > self._executor.jobs * AHEAD or _is_done(self._ahead[0][1])):
                yield self._next()
        while self._ahead:
            yield self._next()

    def finished(self) -> Iterator[list[S]]:
        """Give the results that are there, and were not given yet, when the reading has been interrupted."""
        for _, begun in self._ahead:
            if begun is None or not begun.done() or begun.exception() is not None:
                return
            yield begun.result()

    def _next(self) -> list[S]:
        results = self._results(*self._ahead[0])
        self._ahead.popleft()  # not before: an interrupt must not lose it
        return results

    def _results(self, batch: list[P], begun: Future[list[S]] | None) -> list[S]:
        if begun is None:
            return self._read(batch)
        try:
            return begun.result()
        except WorkerError as failure:
            if len(batch) == 1:
                return [self._failed(batch[0], failure)]
        alone = [([item], self._executor.submit(self._read, [item])) for item in batch]
        return [result for item, reading in alone for result in self._results(item, reading)]


def batches(items: Iterable[P], weight: Callable[[P], int]) -> Iterator[list[P]]:
    """Return *items* in lists that are full, but for the last one.

    >>> [len(batch) for batch in batches(["a"] * 100, len)]
    [64, 36]
    """
    batch: list[P] = []
    total = 0
    for item in items:
        batch.append(item)
        total += weight(item)
        if total >= BATCH_BYTES or len(batch) >= BATCH_DOCUMENTS:
            yield batch
            batch, total = [], 0
    if batch:
        yield batch


def part_weight(part: object) -> int:
    """Return how much work a document is, in bytes of text; anything else is none."""
    if not isinstance(part, ArchiveMember):
        return 0
    return len(part.data) * (_PDF_WEIGHT if b"%PDF-" in part.data[:1024] else 1)


def _is_done(future: Future[Any] | None) -> bool:
    return future is None or future.done()
