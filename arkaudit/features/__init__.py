"""Features: each is a folder with its commands and all that only they need. Without the folder, the rest works.

A feature imports the core, but no other feature. Its package has `COMMANDS`: for each name of a command, the module of
the command in the folder, and the line in the list of commands.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules


def feature_commands() -> dict[str, tuple[str, str]]:
    """Return the commands of all features: the module of each, and the line in the list of commands.

    >>> feature_commands()["fix"][0]
    'arkaudit.features.fix.command'
    """
    commands: dict[str, tuple[str, str]] = {}
    for feature in iter_modules(__path__):
        package = import_module(f"{__name__}.{feature.name}")
        commands |= {name: (f"{package.__name__}.{module}", line) for name, (module, line) in package.COMMANDS.items()}
    return commands
