"""The limits in `docs/security.md` are true: each value is compared with the one in the code."""

import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from arkaudit.configuration.config_files import models

PAGE = (Path(__file__).parents[3] / "docs" / "security.md").read_text("utf-8")
_ROW = re.compile(r"^\| (?P<what>[^|]+) \| (?P<most>[\d,]+)(?: (?P<unit>[A-Za-z]+))? \| `(?P<where>[\w.]+)` \|$", re.M)
_UNITS = {None: 1, "s": 1, "times": 1, "characters": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
LIMITS = [
    pytest.param(int(row["most"].replace(",", "")) * _UNITS[row["unit"]], row["where"], id=row["what"].strip(" —"))
    for row in _ROW.finditer(PAGE)
]


def value_of(where: str) -> Any:
    """Return the default of a setting of the configuration, or the value of a name in a module."""
    section, _, name = where.partition(".")
    if where.islower() and hasattr(config := models()["Config"](), section):
        return getattr(getattr(config, section), name)
    path, rest = where.split("."), list[str]()
    while module_at(path) is None:
        rest.insert(0, path.pop())
    value: Any = import_module(".".join(path))
    for name in rest:
        value = getattr(value() if isinstance(value, type) else value, name)
    return value


def module_at(path: list[str]) -> Any:
    """Return the module at a dotted path, if there is one."""
    try:
        return find_spec(".".join(path))
    except ModuleNotFoundError:  # the parent is no package
        return None


@pytest.mark.parametrize(("most", "where"), LIMITS)
def test_limit_matches_the_page(most: int, where: str) -> None:
    assert value_of(where) == most


def test_every_row_of_the_page_is_compared() -> None:
    table = PAGE.partition("| what | at most | where |\n|---|---|---|\n")[2].partition("\n\n")[0]
    assert len(table.splitlines()) == len(LIMITS) > 20


def test_the_tests_that_the_page_names_are_there() -> None:
    for name in set(re.findall(r"`(tests/[\w/.]+)`", PAGE)):
        assert (Path(__file__).parents[3] / name).exists(), name
