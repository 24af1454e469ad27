"""Compare the reports of two checkouts on some stores, byte for byte in every format, after changes for speed.

`python -m tools.benchmarks.same_reports OTHER STORE...` compares this checkout with the one in the folder OTHER. The reports
cover the whole audit, the first and the last run, changes since the first run, another language, and one NAAN.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

#: Size in bytes from which stores are not reported in formats that need a Python value for each cell.
LARGE = 200_000_000
_SLOW = ("json", "xlsx", "markdown")
_HERE = Path(__file__).parents[2]


def main() -> int:
    """Print the files that differ; return 1 if there are any."""
    other, *stores = map(Path, sys.argv[1:])
    differing = 0
    for store in stores:
        ours, theirs = (_reports_of(checkout, store.resolve()) for checkout in (_HERE, other))
        differing += ours != theirs
        names = [name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name)]
        print(f"{store}: {len(ours)} files", *(f"{name} differs" for name in sorted(names)), sep="; ", flush=True)
    return int(differing > 0)


def _reports_of(checkout: Path, store: Path) -> Mapping[str, str]:
    """Return the digest of each file that the code in *checkout* makes."""
    command = [sys.executable, "-P", __file__, "--digests", str(store)]
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    done = subprocess.run(command, cwd=checkout, env=environment, check=True, capture_output=True, text=True)
    found: dict[str, str] = json.loads(done.stdout)
    return found


def digests(name: str) -> Iterator[tuple[str, str]]:
    """Yield title and digest of each file of each report about a store."""
    from reports.exports import FORMATS, write_report
    from reports.store.frames import load_frames
    from reports.tables.report_tables import Report

    store = Path(name)
    formats = [form for form in FORMATS if store.stat().st_size < LARGE or form not in _SLOW]
    for title, loading, choice, language_choice in _ways(store):
        try:
            report = Report.from_frames(_part(load_frames(store, **loading), choice), choice, language_choice)
        except Exception as problem:
            yield title, f"{type(problem).__name__}: {problem}"
            continue
        with tempfile.TemporaryDirectory() as folder:
            for path in write_report(report, Path(folder), formats).files:
                digest = hashlib.sha256(path.read_bytes()).hexdigest()
                yield f"{title}: {path.relative_to(folder)}", digest


def _part(frames: Any, choice: Any) -> Any:
    from reports.tables.filters import select_part

    return select_part(frames, choice)


def _ways(store: Path) -> Iterator[tuple[str, Mapping[str, Any], Any, Any]]:
    import sqlite3
    from contextlib import closing

    from reports.languages import LanguageChoice
    from reports.tables.filters import Choice

    every, english = Choice(), LanguageChoice()
    yield "as it stands", {}, every, english
    if store.stat().st_size >= LARGE:
        return
    with closing(sqlite3.connect(f"{store.as_uri()}?mode=ro", uri=True)) as raw:
        runs = [run for (run,) in raw.execute("SELECT run_id FROM run ORDER BY run_id")]
        naans = tuple(naan for (naan,) in raw.execute("SELECT naan FROM ark ORDER BY ark_id LIMIT 1"))
    yield "in German", {}, every, LanguageChoice.parse("de")
    yield "one NAAN", {}, Choice(naans=naans), english
    for run in dict.fromkeys((runs[0], runs[-1])) if runs else ():
        yield f"run {run} alone", {"run_id": run}, every, english
    if len(runs) > 1:
        yield "since the first run", {"run_id": runs[-1], "since": runs[0]}, every, english


if __name__ == "__main__":
    if sys.argv[1:2] == ["--digests"]:
        print(json.dumps(dict(digests(sys.argv[2]))))
        sys.exit(0)
    sys.exit(main())
