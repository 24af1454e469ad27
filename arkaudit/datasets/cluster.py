"""The engine that works on the parts of a dataset in many processes, of this machine or of many: Dask.

Only `submit` and `gather` are used of it, so that another engine is another module like this one. Whatever reaches
a scheduler runs code on its workers: ours is on loopback, and talks only to those that have its key.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from itertools import islice
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from arkaudit.datasets.build import Answer, Call, own_worker
from arkaudit.datasets.plan import difference, fingerprint
from arkaudit.datasets.storage import reason_of
from arkaudit.exits import say
from crawler.model.addresses import addresses_in
from extractors.model.errors import ArkauditError, PartsFailed, UserMistake
from reports.languages.display import counted

if TYPE_CHECKING:
    from distributed import Client

#: A part is given up when so many workers have ended over it.
LOSSES = 3
_CONNECT_S = 10
_GONE = "the scheduler is gone"
#: Seconds between two looks whether the scheduler is there, and how many workers it has; and how long it may be silent.
_LOOK_EVERY_S = 5.0
_SILENT_S = 60.0
_ANSWERS_WITHIN_S = 10.0
#: Seconds to wait for an answer before the next look.
_WAIT_S = 0.5
#: Seconds without a worker after which that is said, and said again.
_ALONE_S = 20.0


class SchedulerLost(PartsFailed):
    """Raised when the scheduler is gone."""


class AnotherWorker(ArkauditError):
    """Raised by a worker that would find other things than the driver."""


@contextmanager
def local_engine(workers: int) -> Iterator[DaskEngine]:
    """Start so many workers on this machine, and give an engine that uses them. Raises `UserMistake` without Dask."""
    _require_dask()
    import dask
    from distributed import Client, LocalCluster

    settings = {
        "distributed.worker.daemon": False,
        "distributed.scheduler.allowed-failures": LOSSES - 1,
        "distributed.scheduler.http.routes": [],  # there is nothing to be seen
        "distributed.worker.http.routes": [],
        "distributed.worker.profile.enabled": False,  # a look at the stack each 10 ms, for a dashboard that isn't there
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
            security=True,  # keys of its own, which other users of this machine don't have
            memory_limit=0,  # what a document may take is limited in its own process
            preload=[__name__],
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield DaskEngine(client)


def dask_setup(_: object) -> None:
    """Make a worker of this machine deaf to Ctrl-C, which is for the driver; Dask calls it by this name."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def remote_engine(address: str) -> Iterator[DaskEngine]:
    """Give an engine that uses the workers of a scheduler. Raises `UserMistake` where it can't be used.

    Keys for ``tls://`` are those of Dask's own configuration.
    """
    _require_dask()
    from distributed import Client

    if not address.startswith(("tls://", "wss://", "inproc://")) and not _is_this_machine(address):
        words = (
            "without TLS, so that everybody who reaches it can run code there and here: use tls:// (docs/scaling.md)"
        )
        say(f"the scheduler {address} is on another machine and {words}", level=logging.WARNING)

    try:
        client = Client(address, timeout=_CONNECT_S)
    except (OSError, TimeoutError, ValueError, TypeError) as problem:
        raise UserMistake(f"there is no Dask scheduler at {address} that can be used: {reason_of(problem)}") from None
    with client:
        _check(client)
        yield DaskEngine(client)


def _is_this_machine(address: str) -> bool:
    """Return whether a scheduler is at an address of this machine alone.

    >>> [_is_this_machine(address) for address in ("tcp://127.0.0.1:8786", "localhost:8786", "tcp://10.0.0.7:8786")]
    [True, True, False]
    """
    host = urlsplit(address if "://" in address else f"tcp://{address}").hostname or ""
    addresses = addresses_in(host)
    return host == "localhost" or (bool(addresses) and all(resolved.is_loopback for resolved in addresses))


class WorkerWatch:
    """Notices when a cluster has no worker any more: its parts wait then, which looks like work that takes long.

    >>> watch = WorkerWatch()
    >>> [watch.seen(workers, at_s) for workers, at_s in ((2, 0), (0, 10), (0, 35), (0, 40), (3, 50))]
    [None, None, 'the cluster has no worker: waiting for one', None, 'the cluster has 3 workers again']
    """

    def __init__(self) -> None:
        self._said_at: float | None = None
        self._is_said = False

    def seen(self, workers: int, at_s: float) -> str | None:
        """Return what is to be said at a moment, in seconds, at which there are so many workers."""
        if workers:
            was_said, self._said_at, self._is_said = self._is_said, None, False
            return f"the cluster has {counted(workers, 'worker')} again" if was_said else None
        if self._said_at is None:
            self._said_at = at_s
        if at_s - self._said_at < _ALONE_S:
            return None
        self._said_at, self._is_said = at_s, True
        return "the cluster has no worker: waiting for one"


class DaskEngine:
    """Gives each worker a call, and lets another one wait for it, as long as there are any."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._workers = 1
        self._looked_at = -_LOOK_EVERY_S
        self._seen_at = time.monotonic()
        self._watch = WorkerWatch()
        self._look()

    def answers(self, calls: Iterable[Call]) -> Iterator[Answer]:
        """Give the answer to each of *calls* as it comes. Raises `SchedulerLost`, and `UserMistake` for odd workers."""
        left = iter(calls)
        futures: dict[Any, Call] = {}
        fetched: SimpleQueue[tuple[Any, Any]] = SimpleQueue()

        async def fetch(future: Any) -> None:
            """Wait for a result, or for what was raised instead: something comes of each future, whatever happens."""
            try:
                fetched.put((future, await self._client.gather(future, asynchronous=True)))
            except BaseException as problem:  # CancelledError is no Exception
                fetched.put((future, problem))

        def submit() -> None:
            for call in islice(left, max(0, 2 * self._workers - len(futures))):
                # never a name that was used before, for a scheduler remembers what has failed
                key = f"{call.method}-{call.key}-{time.monotonic_ns():x}"
                future = self._client.submit(answer_as, call, fingerprint(), key=key, pure=False)
                futures[future] = call
                self._client.loop.add_callback(fetch, future)

        submit()
        try:
            while futures:
                answers = []
                for future, result in _waited_for(fetched):
                    if is_of_connection(result, future.status):
                        self._look(now=True)
                        self._client.loop.add_callback(fetch, future)
                    else:
                        answers.append(_answer(futures.pop(future), result))
                self._look()
                submit()  # first, so that no worker waits for what is made of the answers
                yield from answers
        finally:
            for future in futures:
                future.release()

    def _look(self, *, now: bool = False) -> None:
        """Look whether the scheduler is there, and how many workers it has, now and then, or *now*."""
        at = time.monotonic()
        if not now and at - self._looked_at < (_LOOK_EVERY_S if self._workers > 1 else 1):
            return
        self._looked_at = at
        try:
            workers = self._client.sync(self._client.scheduler.ncores, callback_timeout=_ANSWERS_WITHIN_S)
        except TimeoutError:  # it may be busy; TimeoutError is an OSError
            if self._client.status != "running" or time.monotonic() - self._seen_at > _SILENT_S:
                raise SchedulerLost(_GONE) from None
        except OSError:
            raise SchedulerLost(_GONE) from None
        else:
            self._workers = max(1, sum(workers.values()))
            self._seen_at = time.monotonic()
            if (words := self._watch.seen(len(workers), self._seen_at)) is not None:
                say(words, level=logging.WARNING)


def answer_as(call: Call, expected: tuple[str, ...]) -> Any:
    """Return the commit record of a part, done in a worker that is as its driver is. Raises `AnotherWorker`."""
    if fingerprint() != expected:
        raise AnotherWorker(difference(expected, fingerprint()))
    return own_worker().record(call)


def _check(client: Client) -> None:
    """Raise `UserMistake` where a worker would find other things than we do. Later ones are checked as they work."""
    try:
        fingerprints: dict[str, tuple[str, ...]] = client.run(fingerprint, on_error="raise")
    except ModuleNotFoundError as problem:
        raise UserMistake(f"a worker of the cluster has no arkaudit: {problem}") from None
    except (OSError, TimeoutError) as problem:
        raise UserMistake(f"the workers of the cluster can't be reached: {reason_of(problem)}") from None
    for worker, versions in fingerprints.items():
        if versions != fingerprint():
            raise UserMistake(f"the worker {worker} has {difference(fingerprint(), versions)}")


def _waited_for(fetched: SimpleQueue[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
    """What was fetched; waits a little where nothing was."""
    with suppress(Empty):
        yield fetched.get(timeout=_WAIT_S)
        while True:
            yield fetched.get_nowait()


def is_of_connection(result: Any, status: str) -> bool:
    """Return whether fetching failed, and not the work: the result may be there yet, or be made once more.

    *status* is the future's. A client that loses its scheduler cancels every future, also one whose result it was
    just fetching: what is fetched again then says that it was cancelled, and no part is blamed.

    >>> [is_of_connection(ConnectionResetError(), status) for status in ("finished", "cancelled", "error")]
    [True, True, False]
    >>> [is_of_connection(CancelledError(), status) for status in ("lost", "cancelled", "error")]
    [True, False, False]
    """
    if isinstance(result, CancelledError | asyncio.CancelledError):
        return status not in ("error", "cancelled")
    return isinstance(result, OSError) and status != "error"


def _answer(call: Call, result: Any) -> Answer:
    """What became of a call with this *result*, or with an exception instead."""
    from distributed import KilledWorker

    if not isinstance(result, BaseException):
        return Answer(call, result)
    if isinstance(result, CancelledError | asyncio.CancelledError):
        raise SchedulerLost(_GONE) from None
    if isinstance(result, KilledWorker):
        return Answer(call, lost=f"{result.allowed_failures + 1} workers have ended over it")
    if isinstance(result, AnotherWorker | ModuleNotFoundError):
        raise UserMistake(f"a worker of the cluster can't take part: {result}")
    return Answer(call, failed=reason_of(result))


def _require_dask() -> None:
    if find_spec("distributed") is None:
        raise UserMistake("--workers needs Dask: pip install 'arkaudit[cluster]'; without it, --jobs uses all cores")
    import distributed

    for name in (distributed.__name__, "tornado.application", *logging.root.manager.loggerDict):
        if name.partition(".")[0] in (distributed.__name__, "tornado"):  # what it means is said here, in one line
            logging.getLogger(name).setLevel(logging.CRITICAL)
