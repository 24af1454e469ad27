"""Lazy imports of a package's names (PEP 562): a name costs nothing until it is used."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def lazy_names(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return the `__getattr__`, `__dir__` and `__all__` of *package* for the names in the stub next to its *file*.

    >>> import extractors
    >>> get, names, exported = lazy_names("extractors", extractors.__file__)
    >>> get("Ark").__name__, "Ark" in names(), "Ark" in exported
    ('Ark', True, True)
    >>> get("Arc")
    Traceback (most recent call last):
    ...
    AttributeError: module 'extractors' has no attribute 'Arc'
    """
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text("utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    homes = {alias.name: str(node.module) for node in imports for alias in node.names}

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)  # later uses skip this function
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return get, names, sorted(homes)
