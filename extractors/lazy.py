"""Names of a package that are imported when they are first used (PEP 562), so that one of them costs no other."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and `__dir__` of *package*, each of whose names is in the module that *homes* gives.

    >>> get, names = lazy_names("extractors", {"Ark": "extractors.ark"})
    >>> get("Ark").__name__, "Ark" in names()
    ('Ark', True)
    >>> get("Arc")
    Traceback (most recent call last):
    ...
    AttributeError: module 'extractors' has no attribute 'Arc'
    """

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)  # so that the next use finds it without asking here
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return get, names
