"""Keep one issue on GitHub or GitLab up to date with the failing ARKs of an audit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from arkaudit.hooks import hookimpl

if TYPE_CHECKING:
    from arkaudit.configuration.config import Section


@hookimpl
def settings() -> Mapping[str, type[Section]]:
    """Return the setting ``issue`` of the section ``notify``."""
    from arkaudit.features.living_issue.section import IssueNotice

    return {"notify": IssueNotice}
