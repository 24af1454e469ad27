"""Dask workers of this machine, or of a scheduler that runs elsewhere.

A client of a scheduler can run code on its workers. Therefore a local scheduler listens on loopback, and requires its
key.
"""

from __future__ import annotations

import atexit
import logging
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

from arkaudit.features.datasets.storage import reason_of
from arkaudit.output.exits import say
from extractors.isolated import document_executor
from extractors.model.errors import UserMistake
from extractors.processes.worker import WorkerExecutor

if TYPE_CHECKING:
    from distributed import Client

_CONNECT_S = 10
_ON_THIS_MACHINE = ("inproc://", "tcp://127.", "tcp://localhost:")


def require_dask() -> None:
    """Raise `UserMistake` if Dask is missing; else silence its loggers, because this program reports in one line."""
    if find_spec("distributed") is None:
        raise UserMistake("a dataset is made by Dask: pip install 'arkaudit[dataset]'")
    import distributed

    for name in (distributed.__name__, "tornado.application", *logging.root.manager.loggerDict):
        if name.partition(".")[0] in (distributed.__name__, "tornado"):
            logging.getLogger(name).setLevel(logging.CRITICAL)


@contextmanager
def local_client(workers: int) -> Iterator[Client]:
    """Yield the client of *workers* processes on this machine; if *workers* is 1, of a thread of this process."""
    import dask
    from distributed import Client, LocalCluster

    settings = {
        "distributed.worker.daemon": False,
        # Parts wait at the scheduler, so that a part that ends a worker is the only one there.
        "distributed.scheduler.worker-saturation": 1.0,
        "distributed.scheduler.http.routes": [],
        "distributed.worker.http.routes": [],
        # The profile of a dashboard, which there is not, would be taken every 10 ms.
        "distributed.worker.profile.enabled": False,
    }
    has_own_processes = workers > 1
    with (
        dask.config.set(settings),
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=has_own_processes,
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            # New keys, which other users of this machine don't have.
            security=has_own_processes or None,
            # The processes for documents have limits of their own.
            memory_limit=0,
            preload=[__name__] * has_own_processes,
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,
    ):
        try:
            yield client
        finally:
            if not has_own_processes:
                # After Ctrl-C the thread would wait for its document.
                document_process().shutdown(cancel_futures=True)
                document_process.cache_clear()


def dask_setup(_: object) -> None:
    """Ignore Ctrl-C in a local worker; the process that started it handles it. Dask calls this function by its name."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@cache
def document_process() -> WorkerExecutor:
    """Return the process that reads documents for this worker, and can be killed."""
    executor = document_executor(1)
    atexit.register(executor.shutdown, cancel_futures=True)
    return executor


@contextmanager
def remote_client(address: str) -> Iterator[Client]:
    """Yield a client of the scheduler at *address*, such as ``tcp://HOST:PORT``. Raises `UserMistake` if it is unusable.

    Keys for ``tls://`` come from Dask's configuration.
    """
    from distributed import Client

    if not address.startswith(("tls://", "wss://", *_ON_THIS_MACHINE)):
        risk = "without TLS: all programs that reach it can run code there and here; use tls:// (docs/scaling.md)"
        say(f"the scheduler {address} is on another machine and {risk}", level=logging.WARNING)
    try:
        client = Client(address, timeout=_CONNECT_S)
    except (OSError, TimeoutError, ValueError, TypeError) as problem:
        raise UserMistake(f"the Dask scheduler at {address} can't be used: {reason_of(problem)}") from None
    with client:
        if not client.nthreads():
            say("the cluster has no worker: waiting for one", level=logging.WARNING)
        yield client
