"""Run the given targets, or all, one by one: ``python -m tools.fuzzing SECONDS [TARGET…]``. Failing inputs are kept."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
#: Names of the targets. Their module must only be imported in the process that instruments it.
NAMES = (
    "find",
    "readers",
    "answers",
    "headers",
    "robots",
    "archives",
    "stores",
    "cells",
    "last_runs",
    "toml",
    "redaction",
)
_MOST_MB = 2048


def main() -> int:
    """Run each target in its own process, and return 1 if one failed."""
    seconds, names = int(sys.argv[1]), sys.argv[2:] or NAMES
    failed = []
    for name in names:
        found = HERE / "found" / name
        found.mkdir(parents=True, exist_ok=True)
        limits = (f"-max_total_time={seconds}", f"-rss_limit_mb={_MOST_MB}", "-timeout=30", "-max_len=4096")
        where = (f"-artifact_prefix={HERE / 'found'}/{name}-", str(found), str(HERE / "corpus" / name))
        done = subprocess.run(
            [sys.executable, "-m", "tools.fuzzing.one", name, *limits, *where], cwd=HERE.parents[1], check=False
        )
        failed += [name] if done.returncode else []
    print(f"failed: {', '.join(failed)}; see tools/fuzzing/found" if failed else "no target failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
