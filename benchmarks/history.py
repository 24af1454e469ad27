"""A report over a year of audits of 200,000 ARKs: its tables in time and memory, on one core; and what is due, at once.

Reading is measured apart, beside the same columns from Parquet files: which of the two the reports should read.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.years import make

MOST_S = 60.0
MOST_BYTES = 2_000_000_000
#: A check with nothing due may take so long, of the processor's time: other programs run beside it.
MOST_DUE_S = 2.0


def main() -> int:
    """Prints where the time goes; 1 if a bound is missed."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder, "audit.db")
        if not store.exists():
            make(store)
        tables = _measured("tables", store)
        reading = _measured("reading", store, Path(folder, "parquet"))
        due = _nothing_due(store, Path(folder))
    slowest = sorted(tables["tables"].items(), key=lambda each: -each[1])[:4]
    told = ", ".join(f"{name} {seconds:.1f}" for name, seconds in slowest)
    print(
        f"history: all {len(tables['tables'])} tables over 1,000,000 observations of 200,000 ARKs in "
        f"{tables['seconds']:.1f} s (bound {MOST_S:.0f}; reading {tables['load']:.1f}, then {told}) and "
        f"{tables['bytes'] / 1e6:,.0f} MB (bound {MOST_BYTES / 1e6:,.0f}); a run and all verdicts are read in "
        f"{reading['sqlite']:.1f} s from SQLite, {reading['parquet']:.1f} s from Parquet that took "
        f"{reading['export']:.0f} s to write; nothing due is said in {due:.1f} s (bound {MOST_DUE_S:.0f})"
    )
    return int(tables["seconds"] > MOST_S or tables["bytes"] > MOST_BYTES or due > MOST_DUE_S)


def _measured(part: str, *paths: Path) -> dict[str, Any]:
    """What a process of its own, on one core, says of one part."""
    command = [sys.executable, "-m", "benchmarks.history", f"--{part}", *map(str, paths)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _tables(store: Path) -> dict[str, Any]:
    from reports.frames import load_frames
    from reports.tables import TABLES

    begun = _clock()
    frames = load_frames(store)
    loaded = _clock()
    seconds: Mapping[str, float] = {table.name: _taken(lambda table=table: table.function(frames)) for table in TABLES}
    return {
        "load": loaded - begun,
        "tables": seconds,
        "seconds": _clock() - begun,
        "bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def _reading(store: Path, parquet: Path) -> dict[str, float]:
    import pyarrow.parquet as pq

    from reports.frames import read
    from reports.parquet import export
    from reports.timelines import timeline

    export_s = _taken(lambda: export(store, parquet))
    newest = max((parquet / "observation").iterdir())
    observed = ["ark", "request_url", "question", "attempt", "at", "status", "final_url", "hop_count", "media_type"]

    def from_sqlite(connection: Any) -> None:
        timeline(connection, 12)
        rows = connection.exec_driver_sql(
            "SELECT ark, request_url, question, attempt, at, status, final_url, hop_count, media_type"
            " FROM observation JOIN ark USING (ark_id) WHERE run_id = 12"
        )
        rows.all()

    def from_parquet() -> None:
        pq.read_table(parquet / "verdict", columns=["ark", "request_url", "object", "run"]).to_pandas()
        pq.read_table(newest, columns=observed).to_pandas()

    return {
        "export": export_s,
        "sqlite": _taken(lambda: read(store, from_sqlite)),
        "parquet": _taken(from_parquet),
    }


def _nothing_due(store: Path, folder: Path) -> float:
    config = folder / "arkaudit.toml"
    config.write_text("[recheck]\n" + "".join(f"{state} = 3650\n" for state in _STATES))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "arkaudit", "check", "--due", "--only-routed", "--store", store, "-c", config]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "nothing is due" in done.stderr, done.stderr
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


_STATES = ("healthy", "failing", "confirmed_broken", "blocked", "undetermined")
_clock = time.process_time
PARTS: Mapping[str, Callable[..., dict[str, Any]]] = {"--tables": _tables, "--reading": _reading}


def _taken(work: Callable[[], object]) -> float:
    begun = _clock()
    work()
    return _clock() - begun


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in PARTS:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        print(json.dumps(PARTS[sys.argv[1]](*map(Path, sys.argv[2:]))))
        sys.exit(0)
    sys.exit(main())
