"""Features implement hooks, and ARCHITECTURE.md names each."""

from importlib import import_module
from pathlib import Path

import pytest

import arkaudit.hooks as hooks_module
from arkaudit.hooks import FEATURES as PLACE
from arkaudit.hooks import PROJECT, plugins

ROOT = Path(__file__).parents[3]

COMMANDS_OF = {
    name.removeprefix(f"{PLACE}."): set(feature.commands() if hasattr(feature, "commands") else ())
    for name, feature in plugins().list_name_plugin()
}


@pytest.mark.parametrize("feature", COMMANDS_OF)
def test_feature_implements_hooks_and_is_on_the_map(feature: str) -> None:
    module = import_module(f"{PLACE}.{feature}")
    hooks = {name for name in vars(hooks_module) if hasattr(getattr(hooks_module, name), f"{PROJECT}_spec")}
    named = {name for name in hooks & vars(module).keys() if getattr(module, name).__module__ == module.__name__}
    assert named, f"{module.__name__} implements no hook of arkaudit/hooks.py"
    unmarked = [name for name in named if not hasattr(getattr(module, name), f"{PROJECT}_impl")]
    assert unmarked == [], "mark them by @hookimpl"
    assert f"`{feature}/`" in (ROOT / "ARCHITECTURE.md").read_text(), "name its folder in ARCHITECTURE.md"
