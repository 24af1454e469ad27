"""Time of the overview of 200 audits after a run of one of them, by the clock, and of the first one."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from arkaudit.features.overview.status import status_of
from arkaudit.features.overview.writing import status_key, store_status
from reports.store.frames import load_frames
from reports.tables.report_tables import Report
from tools.benchmarks.stores import make_store

AUDITS = 200
ARKS = 20
MOST_S = 10.0


def main() -> int:
    """Print the times; return 1 if the bound is exceeded."""
    with tempfile.TemporaryDirectory() as name:
        config = Path(name) / "arkaudit.toml"
        names = [f"a{number}" for number in range(AUDITS)]
        config.write_text("".join(f"[audits.{audit}]\n" for audit in names))
        store = make_store(config.parent / "store.db", arks=ARKS, runs=3)
        (config.parent / ".arkaudit").mkdir()
        begun = time.perf_counter()
        status = status_of(Report.from_frames(load_frames(store)), store)
        reading_s = time.perf_counter() - begun
        assert status is not None
        for audit in names:
            copy = Path(shutil.copy(store, store.with_name(f"{audit}.db")))
            if audit != names[-1]:
                key = status_key(copy, None)
                assert key is not None
                store_status(audit, config, key, status)
        begun = time.perf_counter()
        command = [sys.executable, "-m", "arkaudit", "overview", "-c", str(config), "--out", f"{name}/site"]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        taken_s = time.perf_counter() - begun
    print(
        f"overview: {AUDITS} audits after a run of one of them in {taken_s:.1f} s (bound {MOST_S:.0f}); "
        f"a store is read in {reading_s:.1f} s, which the run of an audit does for the overview"
    )
    return int(taken_s > MOST_S)


if __name__ == "__main__":
    sys.exit(main())
