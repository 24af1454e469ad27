"""A page about all named audits of a configuration, and a feed of the changes of each."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from arkaudit.hooks import hookimpl

if TYPE_CHECKING:
    from arkaudit.configuration.config import Config, Section


@hookimpl
def commands() -> Mapping[str, tuple[str, str]]:
    """Return the command `overview`."""
    return {"overview": (f"{__name__}.command:overview", "Write a page about all audits of a configuration.")}


@hookimpl
def settings() -> Mapping[str, type[Section]]:
    """Return the section ``overview``."""
    from arkaudit.features.overview.section import Overview

    return {"overview": Overview}


@hookimpl
def after_run(config: Config, config_file: Path) -> None:
    """Write the overview of all audits in *config_file* in a process of its own, if the configuration has a folder."""
    from arkaudit.commands.schedule_command import OWN_PROCESS
    from arkaudit.features.overview.section import Overview

    section = config.section(Overview)
    if section is not None and section.out is not None:
        command = [*OWN_PROCESS, "overview", "--quiet", "-c", str(config_file)]
        subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False)
