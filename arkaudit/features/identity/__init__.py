"""Sign requests, so that hosts can verify who asks; make the key, and the page about the audit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from arkaudit.hooks import hookimpl

if TYPE_CHECKING:
    from arkaudit.configuration.config import Config, Section


@hookimpl
def commands() -> Mapping[str, tuple[str, str]]:
    """Return the command `identity`."""
    line = "Make a key that signs requests, and a page about the audit."
    return {"identity": (f"{__name__}.command:identity", line)}


@hookimpl
def settings() -> Mapping[str, type[Section]]:
    """Return the section ``identity``."""
    from arkaudit.features.identity.section import Identity

    return {"identity": Identity}


@hookimpl
def scrapy_settings(config: Config) -> Mapping[str, object]:
    """Return the Scrapy setting with the signer of requests; empty if no identity is configured."""
    from arkaudit.features.identity.section import Identity

    identity = config.section(Identity)
    return {"ARKAUDIT_SIGNER": identity.signer} if identity is not None else {}
