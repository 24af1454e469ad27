"""Several processes that may be killed, as one executor of the standard library, and documents read by it in batches.

Each call runs in a process that is free; the results of batches come in the order of the documents.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from queue import LifoQueue
from typing import Any, Generic, ParamSpec, TypeVar

from extractors.archives.members import ArchiveMember
from extractors.processes.worker import SharedValues, Worker, WorkerError

P = ParamSpec("P")
R = TypeVar("R")


class WorkerExecutor(Executor):
    """So many killable processes; each starts with the first call for which no other is free.

    A call raises the `WorkerError` that says how its process ended; the next call finds a new one.

    >>> with WorkerExecutor(2, timeout_s=30) as executor:
    ...     [executor.submit(int, "42").result(), executor.submit(len, "abc").result()]
    [42, 3]
    """

    def __init__(
        self, jobs: int, *, timeout_s: float = 60.0, memory_bytes: int = 2 * 2**30, cpu_s: int = 60
    ) -> None:
        self.jobs = jobs
        self._workers = [
            Worker(callable, timeout_s=timeout_s, memory_bytes=memory_bytes, cpu_s=cpu_s)
            for _ in range(jobs)
        ]
        self._free: LifoQueue[Worker[..., bool]] = (
            LifoQueue()
        )  # the one that was at work last has been started
        for worker in self._workers:
            self._free.put(worker)
        self._threads = ThreadPoolExecutor(jobs, thread_name_prefix="worker")
        self._values: dict[str, Any] = {}

    def share(self, name: str, value: Any) -> None:
        """Let each process have *value*, which calls find with `shared`; it is sent once, before its next call."""
        self._values = {**self._values, name: value}
        values = SharedValues.of(self._values)
        for worker in self._workers:
            worker.share(values)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.shutdown(cancel_futures=kind is not None)

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Run an importable function in one of the processes; what it returns comes back as plain data."""
        return self._threads.submit(self._call, fn, args, kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes: when what was submitted is done, or at once, if it is not waited for."""
        if not wait or cancel_futures:
            for worker in self._workers:
                worker.close()
        self._threads.shutdown(wait=wait, cancel_futures=cancel_futures)
        for worker in self._workers:
            worker.close()

    def _call(self, fn: Callable[..., R], args: Any, kwargs: Any) -> R:
        worker = self._free.get()  # there are as many threads as processes: one is free
        try:
            result: R = worker.call_other(fn, *args, **kwargs)
            return result
        finally:
            self._free.put(worker)


# Documents in batches.

T = TypeVar("T")
S = TypeVar("S")

#: A batch is full with so many bytes, or documents; a PDF takes about so many times longer than a text.
BATCH_BYTES = 2**18
BATCH_DOCUMENTS = 64
_PDF_WEIGHT = 16
#: So many batches a process are under way at most: one that is read, and some that wait.
AHEAD = 3


class BatchReading(Generic[T, S]):
    """Reads what it is given in batches (*read*, a function of a module), in the processes of an executor.

    A process that ends over a batch costs nothing: each of its documents is read alone then, and *failed* makes the
    result of one over which a process ends again. Where *stays_here* says so of a first and only batch, no process is
    started for it. What *read_here* has a result of is not sent anywhere.
    """

    def __init__(
        self,
        executor: WorkerExecutor,
        read: Callable[[Sequence[T]], list[S]],
        failed: Callable[[T, WorkerError], S],
        *,
        stays_here: Callable[[Sequence[T]], bool] = lambda batch: False,
        read_here: Callable[[T], S | None] = lambda item: None,
    ) -> None:
        self._executor = executor
        self._read = read
        self._failed = failed
        self._stays_here = stays_here
        self._read_here = read_here
        self.has_started = False
        """Whether other processes were asked."""
        self._ahead: deque[_Batch[T, S]] = deque()

    def results(self, items: Iterable[T], weight: Callable[[T], int]) -> Iterator[list[S]]:
        """Give the results of *items*, batch by batch, in their order."""
        for some in batches(items, weight):
            batch = _Batch([self._read_here(item) for item in some], some)
            is_here = not batch.left or (not self.has_started and self._stays_here(some))
            self.has_started = self.has_started or not is_here
            if not is_here:
                batch.begun = self._executor.submit(self._read, batch.left)
            self._ahead.append(batch)
            while self._ahead and (
                len(self._ahead) > self._executor.jobs * AHEAD or self._ahead[0].is_done
            ):
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

    def _results(self, items: list[T], begun: Future[list[S]] | None) -> list[S]:
        if begun is None:
            return self._read(items) if items else []
        try:
            return begun.result()
        except WorkerError as failure:
            if len(items) == 1:
                return [self._failed(items[0], failure)]
        alone = [([item], self._executor.submit(self._read, [item])) for item in items]
        return [result for item, reading in alone for result in self._results(item, reading)]


class _Batch(Generic[T, S]):
    """A batch that is being read."""

    def __init__(self, here: list[S | None], items: Sequence[T]) -> None:
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


def batches(items: Iterable[T], weight: Callable[[T], int]) -> Iterator[list[T]]:
    """Return *items* in lists that are full, but for the last one.

    >>> [len(batch) for batch in batches(["a"] * 100, len)]
    [64, 36]
    """
    batch: list[T] = []
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
