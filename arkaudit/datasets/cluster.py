"""The Dask engine, which makes a dataset in processes of one machine or of many.

It only uses `submit` and `gather`, so that another engine would be a module like this one. A client of a scheduler can
run code on its workers. Therefore a local scheduler listens on loopback, and requires its key.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from itertools import islice
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from arkaudit.datasets.build import Answer, Call, own_worker
from arkaudit.datasets.plan import difference, fingerprint
from arkaudit.datasets.storage import reason_of
from arkaudit.output.exits import say
from crawler.model.addresses import addresses_in
from extractors.model.check_characters import DECLARED, declare
from extractors.model.errors import DatasetError, UserMistake
from extractors.model.urls import split_url

if TYPE_CHECKING:
    from distributed import Client

#: Number of workers that a part may kill before it is given up.
LOSSES = 3
_CONNECT_S = 10
_GONE = "the scheduler is gone"
#: Seconds between two checks of the scheduler and its number of workers, and the limit on its silence.
_LOOK_EVERY_S = 5.0
_SILENT_S = 60.0
_ANSWERS_WITHIN_S = 10.0
#: Seconds to wait for an answer before the next check.
_WAIT_S = 0.5
#: Seconds without a worker before each warning: the parts wait.
_ALONE_S = 20.0


@contextmanager
def local_engine(workers: int) -> Iterator[DaskEngine]:
    """Start *workers* processes on this machine, and give their engine. Raises `UserMistake` without Dask."""
    _require_dask()
    import dask
    from distributed import Client, LocalCluster

    settings = {
        "distributed.worker.daemon": False,
        "distributed.scheduler.allowed-failures": LOSSES - 1,
        "distributed.scheduler.http.routes": [],
        "distributed.worker.http.routes": [],
        # The profile of a dashboard, which there is not, would be taken every 10 ms.
        "distributed.worker.profile.enabled": False,
        "distributed.admin.tick.interval": "500ms",
        "distributed.admin.system-monitor.interval": "5s",
    }
    with (
        dask.config.set(settings),
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            # New keys, which other users of this machine don't have.
            security=True,
            # The processes for documents have limits of their own.
            memory_limit=0,
            preload=[__name__],
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield DaskEngine(client)


def dask_setup(_: object) -> None:
    """Ignore Ctrl-C in a local worker, because it is meant for the driver. Dask calls this function by its name."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def remote_engine(address: str) -> Iterator[DaskEngine]:
    """Give an engine for the workers of a scheduler. Raises `UserMistake` if it is unusable.

    Keys for ``tls://`` come from Dask's configuration.
    """
    _require_dask()
    from distributed import Client

    if not address.startswith(("tls://", "wss://", "inproc://")) and not _is_this_machine(address):
        words = "without TLS: all programs that reach it can run code there and here; use tls:// (docs/scaling.md)"
        say(f"the scheduler {address} is on another machine and {words}", level=logging.WARNING)

    try:
        client = Client(address, timeout=_CONNECT_S)
    except (OSError, TimeoutError, ValueError, TypeError) as problem:
        raise UserMistake(f"the Dask scheduler at {address} can't be used: {reason_of(problem)}") from None
    with client:
        yield DaskEngine(client)


def _is_this_machine(address: str) -> bool:
    """Return True if a scheduler listens on loopback only.

    >>> [_is_this_machine(address) for address in ("tcp://127.0.0.1:8786", "localhost:8786", "tcp://10.0.0.7:8786")]
    [True, True, False]
    """
    host = split_url(address if "://" in address else f"tcp://{address}").hostname
    addresses = addresses_in(host)
    return host == "localhost" or (bool(addresses) and all(resolved.is_loopback for resolved in addresses))


class DaskEngine:
    """Runs calls on Dask workers, and keeps one more queued per worker."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._workers = 1
        self._looked_at = -_LOOK_EVERY_S
        self._answered_at = self._had_workers_at = time.monotonic()
        self._look()

    def answers(self, calls: Iterable[Call]) -> Iterator[Answer]:
        """Yield answers as they come. Raises `DatasetError`, and `UserMistake` for workers of other versions."""
        left = iter(calls)
        futures: dict[Any, Call] = {}
        fetched: SimpleQueue[tuple[Any, Any]] = SimpleQueue()

        async def fetch(future: Any) -> None:
            """Queue the result of a future, or its exception."""
            try:
                fetched.put((future, await self._client.gather(future, asynchronous=True)))
            # CancelledError is not an Exception.
            except BaseException as problem:
                fetched.put((future, problem))

        def submit() -> None:
            for call in islice(left, max(0, 2 * self._workers - len(futures))):
                # A new key each time, because a scheduler remembers failed ones.
                key = f"{call.method}-{call.key}-{time.monotonic_ns():x}"
                future = self._client.submit(answer_as, call, dict(DECLARED), fingerprint(), key=key, pure=False)
                futures[future] = call
                self._client.loop.add_callback(fetch, future)

        submit()
        try:
            while futures:
                results, answers = [], []
                with suppress(Empty):
                    results.append(fetched.get(timeout=_WAIT_S))
                    while True:
                        results.append(fetched.get_nowait())
                for future, result in results:
                    if is_of_connection(result, future.status):
                        self._look(now=True)
                        self._client.loop.add_callback(fetch, future)
                    else:
                        answers.append(_answer(futures.pop(future), result))
                self._look()
                # Before the answers are processed, so that workers do not wait for that.
                submit()
                yield from answers
        finally:
            for future in futures:
                future.release()

    def _look(self, *, now: bool = False) -> None:
        """Check the scheduler and its number of workers from time to time, or *now*. Raises `DatasetError`."""
        at = time.monotonic()
        if not now and at - self._looked_at < (_LOOK_EVERY_S if self._workers > 1 else 1):
            return
        self._looked_at = at
        try:
            workers = self._client.sync(self._client.scheduler.ncores, callback_timeout=_ANSWERS_WITHIN_S)
        # It may be busy. TimeoutError is an OSError.
        except TimeoutError:
            if self._client.status != "running" or time.monotonic() - self._answered_at > _SILENT_S:
                raise DatasetError(_GONE) from None
        except OSError:
            raise DatasetError(_GONE) from None
        else:
            self._workers = max(1, sum(workers.values()))
            self._answered_at = time.monotonic()
            is_late = self._answered_at - self._had_workers_at >= _ALONE_S
            if not workers and is_late:
                say("the cluster has no worker: waiting for one", level=logging.WARNING)
            if workers or is_late:
                self._had_workers_at = self._answered_at


def answer_as(call: Call, declared: Mapping[str, bool], expected: tuple[str, ...]) -> Any:
    """Run *call* in a worker with the driver's declarations, and return its result.

    Raises `UserMistake` if its versions differ from *expected*.
    """
    declare(declared)
    if fingerprint() != expected:
        raise UserMistake(difference(expected, fingerprint()))
    return own_worker().result(call)


def is_of_connection(result: Any, status: str) -> bool:
    """Return True if only the transfer of a result failed, so that it has to be fetched again.

    *status* is the future's. A client that loses its scheduler cancels every future, also during a transfer. A second
    transfer then fails by cancellation, and no part is blamed.

    >>> [is_of_connection(ConnectionResetError(), status) for status in ("finished", "cancelled", "error")]
    [True, True, False]
    >>> [is_of_connection(CancelledError(), status) for status in ("lost", "cancelled", "error")]
    [True, False, False]
    """
    if isinstance(result, CancelledError | asyncio.CancelledError):
        return status not in ("error", "cancelled")
    return isinstance(result, OSError) and status != "error"


def _answer(call: Call, result: Any) -> Answer:
    """Return the answer for a call from its result or exception. Raises `DatasetError` and `UserMistake`."""
    from distributed import KilledWorker

    if not isinstance(result, BaseException):
        return Answer(call, result)
    if isinstance(result, CancelledError | asyncio.CancelledError):
        raise DatasetError(_GONE) from None
    if isinstance(result, KilledWorker):
        return Answer(call, lost=f"it ended {result.allowed_failures + 1} workers")
    if isinstance(result, UserMistake | ModuleNotFoundError):
        raise UserMistake(f"a worker of the cluster can't be used: {result}")
    return Answer(call, failed=reason_of(result))


def _require_dask() -> None:
    if find_spec("distributed") is None:
        raise UserMistake("--workers needs Dask: pip install 'arkaudit[cluster]'; without it, --jobs uses all cores")
    import distributed

    for name in (distributed.__name__, "tornado.application", *logging.root.manager.loggerDict):
        # This module reports problems in one line.
        if name.partition(".")[0] in (distributed.__name__, "tornado"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
