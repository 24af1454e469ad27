"""A disk that fails at any change, is full, or loses power: files are whole, or name the missing parts."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.real.features.datasets.dataset_world import write_documents
from tests.real.loopback import clean_environment, run_command
from tests.real.waiting import PATIENCE_S

ROOT = Path(__file__).parents[4]


def test_files_stay_whole_after_any_disk_failure_and_each_command_resumes(tmp_path: Path) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("needs Linux and a C compiler")
    # A library that makes file changes fail, next to documents and their store.
    library, source = tmp_path / "faults.so", Path(__file__).with_name("faults.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    write_documents(tmp_path / "papers")
    done = run_command("crawl", tmp_path / "papers", "--store", tmp_path / "made.db", "--only-routed")
    assert done.returncode == 0, done.stderr
    done = subprocess.run(
        [sys.executable, "-m", "tests.real.features.datasets.disk_faults", tmp_path],
        env={**clean_environment(), "LD_PRELOAD": str(library)},
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=9 * PATIENCE_S,  # for sixty commands
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []
