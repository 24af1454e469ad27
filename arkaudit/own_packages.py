"""Import arkaudit's own `crawler`, `extractors` and `reports`, even if other modules have these names.

The names are common. A `reports.py` next to a notebook comes first on Python's path.
"""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path

#: In the order of their imports.
NAMES = ("extractors", "crawler", "reports")
HOME = Path(__file__).resolve().parents[1]

REMEDIES = "rename it, or install arkaudit in an environment of its own (venv, pipx) or use the container"


def import_own_packages() -> None:
    """Import `NAMES` from the folder of arkaudit. Raises ImportError if a module of another project has such a name."""
    for name in NAMES:
        module = sys.modules.get(name)
        if module is None:
            spec = PathFinder.find_spec(name, [str(HOME)])
            if spec is None or spec.loader is None:
                raise ImportError(f"the installation of arkaudit is incomplete: {HOME / name} is missing")
            module = sys.modules[name] = module_from_spec(spec)
            spec.loader.exec_module(module)
        elif not _is_ours(name, file := getattr(module, "__file__", None)):
            foreign_module = file or "another module"
            raise ImportError(
                f"arkaudit has a package named {name}, and {foreign_module} has the same name: {REMEDIES}"
            )


def _is_ours(name: str, file: str | None) -> bool:
    return file is not None and Path(file).resolve() == HOME / name / "__init__.py"
