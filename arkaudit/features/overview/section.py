"""The section ``overview`` of the configuration."""

from __future__ import annotations

from arkaudit.configuration.config import Section
from arkaudit.configuration.setting_values import FilePath


class Overview(Section):
    """Options for the overview of all audits."""

    out: FilePath | None = None
    """The folder of its files. The scheduler writes them after each run."""

    def check(self) -> None:
        """Look at the folder. Raises `UserMistake`."""
        from reports.exports import check_out

        if self.out is not None:
            check_out(self.out, ())
