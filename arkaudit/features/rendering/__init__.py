"""Render pages that need JavaScript in a Chromium that opens no connection: arkaudit answers all its requests."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from arkaudit.hooks import hookimpl

if TYPE_CHECKING:
    from arkaudit.configuration.config import Config, Section


@hookimpl
def settings() -> Mapping[str, type[Section]]:
    """Return the section ``render``."""
    from arkaudit.features.rendering.section import Render

    return {"render": Render}


@hookimpl
def scrapy_settings(config: Config) -> Mapping[str, object]:
    """Return the function that starts the renderer of a run, if rendering is enabled."""
    from arkaudit.features.rendering.section import Render

    section = config.section(Render)
    program = section.program if section is not None else None
    if section is None or program is None:
        return {}
    from arkaudit.features.rendering.page_renderer import PageRenderer

    return {"ARKAUDIT_RENDERER": partial(PageRenderer, program, section)}
