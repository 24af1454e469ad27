"""A feature is a folder: without it, the other commands, an audit and the import contracts work."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.real.library import Web
from tests.real.loopback import ON_LOOPBACK, clean_environment
from tests.real.waiting import PATIENCE_S
from tests.unit.arkaudit.test_features import COMMANDS_OF, ROOT

PACKAGES = ("arkaudit", "crawler", "extractors", "reports")

FEATURE_COMMANDS = set().union(*COMMANDS_OF.values())


def run(folder: Path, *arguments: str | Path, module: str = "arkaudit") -> subprocess.CompletedProcess[str]:
    environment: Mapping[str, str] = {**clean_environment(), "PYTHONPATH": os.fspath(folder)}
    command = [sys.executable, "-P", "-m", module, *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )


@pytest.fixture(params=sorted(COMMANDS_OF))
def without_feature(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, str]:
    """Return a copy of the packages without a feature, and the name of the feature."""
    for name in PACKAGES:
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.rmtree(tmp_path / "arkaudit/features" / request.param)
    return tmp_path, request.param


def test_rest_works_without_a_feature(without_feature: tuple[Path, str]) -> None:
    folder, feature = without_feature
    listed = run(folder, "--help")
    names = {line.split()[0] for line in listed.stdout.partition("Commands:\n")[2].splitlines() if line[2:3].strip()}
    assert {"check", "crawl", "extract", "report", "run"} <= names
    assert names & FEATURE_COMMANDS == FEATURE_COMMANDS - COMMANDS_OF[feature]
    for name in COMMANDS_OF[feature]:
        refused = run(folder, name)
        assert (refused.returncode, "Traceback" in refused.stderr) == (2, False)
    with Web({"library.example": {"/": "<p>See http://library.example/ark:/98765/x5"}}) as web:
        seed = "http://library.example/"
        audit = run(folder, "run", seed, *ON_LOOPBACK, *web.routes, "--store", "audit.db", "--out", "report")
    assert audit.returncode == 0, audit.stderr
    assert "ark:98765/x5" in (folder / "report/tables/arks.csv").read_text()


def test_import_contracts_hold_without_a_feature(without_feature: tuple[Path, str]) -> None:
    folder, _ = without_feature
    checked = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=folder,
        env={**clean_environment(), "PYTHONPATH": os.fspath(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
