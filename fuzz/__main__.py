"""Runs one target, or all in turn: ``python -m fuzz SECONDS [TARGET…]``. What fails is kept beside the corpus."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
#: Names of the targets, without what they import: only the process that runs one may, so that it is instrumented.
NAMES = (
    "find",
    "readers",
    "answers",
    "headers",
    "robots",
    "archives",
    "stores",
    "cells",
    "ledgers",
    "toml",
    "redaction",
)
_MOST_MB = 2048


def main() -> int:
    """Run each target in a process of its own; returns 1 if any has failed."""
    seconds, names = int(sys.argv[1]), sys.argv[2:] or NAMES
    failed = []
    for name in names:
        found = HERE / "found" / name
        found.mkdir(parents=True, exist_ok=True)
        limits = (f"-max_total_time={seconds}", f"-rss_limit_mb={_MOST_MB}", "-timeout=30", "-max_len=4096")
        where = (f"-artifact_prefix={HERE / 'found'}/{name}-", str(found), str(HERE / "corpus" / name))
        done = subprocess.run([sys.executable, "-m", "fuzz.one", name, *limits, *where], cwd=HERE.parent, check=False)
        failed += [name] if done.returncode else []
    print(f"failed: {', '.join(failed)}; see fuzz/found" if failed else "nothing has failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
