"""Several processes that may be killed, as one executor of the standard library: each call runs in one that is free."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from queue import LifoQueue
from typing import Any, ParamSpec, TypeVar

from extractors.processes.worker import SharedValues, Worker

P = ParamSpec("P")
R = TypeVar("R")


class WorkerExecutor(Executor):
    """So many killable processes; each starts with the first call for which no other is free.

    A call raises the `WorkerError` that says how its process ended; the next call finds a new one.

    >>> with WorkerExecutor(2, timeout_s=30) as executor:
    ...     [executor.submit(int, "42").result(), executor.submit(len, "abc").result()]
    [42, 3]
    """

    def __init__(self, jobs: int, *, timeout_s: float = 60.0, memory_bytes: int = 2 * 2**30, cpu_s: int = 60) -> None:
        self.jobs = jobs
        self._workers = [
            Worker(callable, timeout_s=timeout_s, memory_bytes=memory_bytes, cpu_s=cpu_s) for _ in range(jobs)
        ]
        self._free: LifoQueue[Worker[..., bool]] = LifoQueue()  # the one that was at work last has been started
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
