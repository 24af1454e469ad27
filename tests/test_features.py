"""A feature is a folder: without it, the other commands, an audit and the import contracts work."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

import pytest

import arkaudit.hooks as hooks_module
from arkaudit.hooks import FEATURES as PLACE
from arkaudit.hooks import PROJECT, plugins
from tests.library import Web
from tests.loopback import ON_LOOPBACK, clean_environment
from tests.waiting import PATIENCE_S

ROOT = Path(__file__).parents[1]
PACKAGES = ("arkaudit", "crawler", "extractors", "reports")
COMMANDS_OF = {
    name.removeprefix(f"{PLACE}."): set(feature.commands() if hasattr(feature, "commands") else ())
    for name, feature in plugins().list_name_plugin()
}
FEATURE_COMMANDS = set().union(*COMMANDS_OF.values())


@pytest.mark.parametrize("feature", COMMANDS_OF)
def test_feature_implements_hooks_and_is_on_the_map(feature: str) -> None:
    module = import_module(f"{PLACE}.{feature}")
    hooks = {name for name in vars(hooks_module) if hasattr(getattr(hooks_module, name), f"{PROJECT}_spec")}
    named = {name for name in hooks & vars(module).keys() if getattr(module, name).__module__ == module.__name__}
    assert named, f"{module.__name__} implements no hook of arkaudit/hooks.py"
    unmarked = [name for name in named if not hasattr(getattr(module, name), f"{PROJECT}_impl")]
    assert unmarked == [], "mark them by @hookimpl"
    assert f"`{feature}/`" in (ROOT / "ARCHITECTURE.md").read_text(), "name its folder in ARCHITECTURE.md"


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
