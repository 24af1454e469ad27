"""Time and memory of a report over a year of audits of 200,000 ARKs, on one core, and time of a check with nothing due.

The report has all tables, the page and the CSV files. `python -m tools.benchmarks.history STORE` makes the store, or
uses an existing one. `python -m tools.benchmarks.history --ten-times STORE OUT` measures a report of
10,000,000 observations of 2,000,000 ARKs, which takes some 8 GB and has no bound.
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

from tools.benchmarks.years import make, multiply

MOST_S = 45.0
MOST_BYTES = 1_300_000_000
#: Bound on the CPU time of a check with nothing due: 0.8 s to start, 0.9 to read 200,000 ARKs, the rest to decide.
MOST_DUE_S = 2.5


def main() -> int:
    """Print the times; return 1 if a bound is exceeded."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder, "audit.db")
        if not store.exists():
            make(store)
        report = _measure("report", store, Path(folder, "report"))
        due = _nothing_due(store, Path(folder))
    slowest = sorted(report["tables"].items(), key=lambda each: -each[1])[:4]
    parts = ", ".join(f"{name} {seconds:.1f}" for name, seconds in slowest)
    tables = f"tables {sum(report['tables'].values()):.1f} with {parts}"
    stages = f"reading {report['load']:.1f}, {tables}, page and CSV {report['files']:.1f}"
    print(
        f"history: all {len(report['tables'])} tables, the page and the CSV files over 1,000,000 observations of "
        f"200,000 ARKs in {report['seconds']:.1f} s (bound {MOST_S:.0f}; {stages}) and "
        f"{report['bytes'] / 1e6:,.0f} MB (bound {MOST_BYTES / 1e6:,.0f}); "
        f"a check with nothing due takes {due:.1f} s (bound {MOST_DUE_S:.1f})"
    )
    return int(report["seconds"] > MOST_S or report["bytes"] > MOST_BYTES or due > MOST_DUE_S)


def _measure(part: str, *paths: Path) -> dict[str, Any]:
    """Measure one part in a child process on one core, and return its figures."""
    command = [sys.executable, "-m", "tools.benchmarks.history", f"--{part}", *map(str, paths)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _report(store: Path, out: Path) -> dict[str, Any]:
    from reports.exports import write_report
    from reports.store.frames import load_frames
    from reports.tables.report_tables import Report, Tables

    tables: dict[str, float] = {}

    class TimedTables(Tables):
        """Tables that record the time of each."""

        def __getitem__(self, name: str) -> Any:
            before = _clock()
            found = super().__getitem__(name)
            tables[name] = tables.get(name, 0.0) + _clock() - before
            return found

    begun = _clock()
    frames = load_frames(store)
    loaded = _clock()
    write_report(Report(frames, TimedTables(frames)), out, ("csv", "html"))
    return {
        "load": loaded - begun,
        "tables": tables,
        "files": _clock() - loaded - sum(tables.values()),
        "seconds": _clock() - begun,
        "bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def _ten_times(store: Path, out: Path) -> dict[str, Any]:
    """Return the figures of a report over a tenfold store, which is made if it does not exist."""
    if not store.exists():
        make(store)
        multiply(store, 10)
    return _report(store, out)


def _nothing_due(store: Path, folder: Path) -> float:
    config = folder / "arkaudit.toml"
    config.write_text("[recheck]\n" + "".join(f"{state} = 3650\n" for state in _STATES))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "arkaudit", "recheck", "--only-routed", "--store", str(store), "-c", str(config)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "no ARK is due" in done.stderr, done.stderr
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


_STATES = ("healthy", "failing", "confirmed_broken", "blocked", "undetermined")
_clock = time.process_time
PARTS: Mapping[str, Callable[..., dict[str, Any]]] = {"--report": _report, "--ten-times": _ten_times}


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in PARTS:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        print(json.dumps(PARTS[sys.argv[1]](*map(Path, sys.argv[2:]))))
        sys.exit(0)
    sys.exit(main())
