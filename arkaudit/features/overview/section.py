"""The section ``overview`` of the configuration."""

from __future__ import annotations

from arkaudit.configuration.setting_values import FilePath
from arkaudit.configuration.settings import Section


class Overview(Section):
    """Options for the overview of all audits."""

    out: FilePath | None = None
    """The scheduler writes the page about all audits there (docs/scheduling.md)."""

    def check(self) -> None:
        """Raise `UserMistake` if the page can't be written into the folder."""
        from reports.exports import check_out

        if self.out is not None:
            check_out(self.out, ())
