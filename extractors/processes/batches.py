"""Documents read in batches by an executor, several at a time, with the results in the order of the documents."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from typing import Generic, TypeVar

from extractors.archives.members import ArchiveMember
from extractors.processes.worker import WorkerError
from extractors.processes.worker_executor import WorkerExecutor

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
    started for it. What *read_here* has a result of is not sent anywhere.
    """

    def __init__(
        self,
        executor: WorkerExecutor,
        read: Callable[[Sequence[P]], list[S]],
        failed: Callable[[P, WorkerError], S],
        *,
        stays_here: Callable[[Sequence[P]], bool] = lambda batch: False,
        read_here: Callable[[P], S | None] = lambda item: None,
    ) -> None:
        self._executor = executor
        self._read = read
        self._failed = failed
        self._stays_here = stays_here
        self._read_here = read_here
        self.has_started = False
        """Whether other processes were asked."""
        self._ahead: deque[_Batch[P, S]] = deque()

    def results(self, items: Iterable[P], weight: Callable[[P], int]) -> Iterator[list[S]]:
        """Give the results of *items*, batch by batch, in their order."""
        for some in batches(items, weight):
            batch = _Batch([self._read_here(item) for item in some], some)
            is_here = not batch.left or (not self.has_started and self._stays_here(some))
            self.has_started = self.has_started or not is_here
            if not is_here:
                batch.begun = self._executor.submit(self._read, batch.left)
            self._ahead.append(batch)
            while self._ahead and (len(self._ahead) > self._executor.jobs * AHEAD or self._ahead[0].is_done):
                yield self._next()
        while self._ahead:
            yield self._next()

    def finished(self) -> Iterator[list[S]]:
        """Give the results that are there, and were not given yet, when the reading has been interrupted."""
        for batch in self._ahead:
            begun = batch.begun
            if batch.left and (begun is None or not begun.done() or begun.exception() is not None):
                return
            yield batch.with_results(begun.result() if begun is not None else [])

    def _next(self) -> list[S]:
        batch = self._ahead[0]
        results = batch.with_results(self._results(batch.left, batch.begun))
        self._ahead.popleft()  # not before: an interrupt must not lose it
        return results

    def _results(self, items: list[P], begun: Future[list[S]] | None) -> list[S]:
        if begun is None:
            return self._read(items) if items else []
        try:
            return begun.result()
        except WorkerError as failure:
            if len(items) == 1:
                return [self._failed(items[0], failure)]
        alone = [([item], self._executor.submit(self._read, [item])) for item in items]
        return [result for item, reading in alone for result in self._results(item, reading)]


class _Batch(Generic[P, S]):
    """A batch that is being read."""

    def __init__(self, here: list[S | None], items: Sequence[P]) -> None:
        self._here = here
        """The results that were had here; None for one that was not."""
        self.left = [item for item, result in zip(items, here, strict=True) if result is None]
        """What is to be read elsewhere."""
        self.begun: Future[list[S]] | None = None

    @property
    def is_done(self) -> bool:
        """True if its results are there, or are made when they are asked for."""
        return self.begun is None or self.begun.done()

    def with_results(self, of_left: Sequence[S]) -> list[S]:
        """Return all its results in their order, given those of what was left."""
        following = iter(of_left)
        return [next(following) if result is None else result for result in self._here]


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
