"""Memory and time of judging a run, for each further ARK.

A generated run of one resolver is judged from its store in a child process, once with few ARKs and once with many. Only
the list of ARKs and their final URLs should grow; observations are in memory for a few ARKs at a time.

    python -m tools.benchmarks.judging [FEW [MANY]]
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from tools.benchmarks.stores import make_store

FEW, MANY = "5000", "50000"
MOST_BYTES = 2_500


def main(arguments: Sequence[str] = ()) -> int:
    """Print a line; return 1 if an ARK takes too much memory."""
    few, many = (int(each) for each in [*arguments, *(FEW, MANY)[len(arguments) :]])
    (few_bytes, _), (many_bytes, many_s) = _judge_in_child(few), _judge_in_child(many)
    each = (many_bytes - few_bytes) / (many - few)
    print(
        f"judging: {each:.0f} bytes of memory for each more ARK (at most {MOST_BYTES}): {many_bytes / 1e6:.0f} MB at "
        f"most for {many}, {few_bytes / 1e6:.0f} MB for {few}; {many_s / many * 1000:.2f} ms each"
    )
    return int(each > MOST_BYTES)


def _judge_in_child(arks: int) -> tuple[int, float]:
    """Judge a run of *arks*, and return the maximum memory in bytes and the time in seconds."""
    with tempfile.TemporaryDirectory(prefix="arkaudit-judging-") as folder:
        store = make_store(Path(folder, "audit.db"), arks=arks)
        spawning = get_context("spawn")
        ours, theirs = spawning.Pipe()
        process = spawning.Process(target=_judge, args=(store, theirs))
        process.start()
        seconds = ours.recv()
        _, status, used = os.wait4(process.pid or 0, 0)
        if status:
            raise SystemExit(f"judging: it ended with {os.waitstatus_to_exitcode(status)}")
    return used.ru_maxrss * 1024, seconds


def _judge(path: Path, connection: Connection) -> None:
    from crawler.spiders.runs import judge_run
    from crawler.store.store import Store

    with Store.open(path) as store:
        started = time.perf_counter()
        judge_run(store, 1, store.cited_targets(1))
        connection.send(time.perf_counter() - started)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
