"""A disk that fails at any change, is full, or loses power: files are whole, or name the missing parts."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.dataset_world import write_documents
from tests.loopback import clean_environment, run_command
from tests.waiting import PATIENCE_S

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a library that makes file changes fail, in a folder with documents and their store."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("needs Linux and a C compiler")
    folder = tmp_path_factory.mktemp("faults")
    source = ROOT / "tests" / "faults.c"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", folder / "faults.so", source, "-ldl"], check=True)
    write_documents(folder / "papers")
    done = run_command("crawl", folder / "papers", "--store", folder / "made.db", "--only-routed")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("scenario", ["store", "dataset", "report", "triage", "fix"])
def test_files_stay_whole_after_any_disk_failure_and_the_command_resumes(scenario: str, faults: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.disk_faults", faults, scenario],
        env={**clean_environment(), "LD_PRELOAD": str(faults / "faults.so")},
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=5 * PATIENCE_S,  # for twenty commands
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []
