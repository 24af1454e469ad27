"""The tests themselves leave no files on the disk."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_processes_of_a_test_run_leave_no_cache_behind(tmp_path: Path) -> None:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    one = "tests/real/crawler/test_resuming.py::test_document_lost_to_an_internal_fault_is_requested_again_twice_then_settled"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "1", "-p", "no:cacheprovider", one],
        cwd=ROOT, env={**inherited, "TMPDIR": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "1 passed" in done.stdout, done.stdout + done.stderr
    assert list(tmp_path.glob("arkaudit-*")) == []
