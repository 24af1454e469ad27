"""The setting ``issue`` in the section ``notify`` of the configuration."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Annotated

from arkaudit.configuration.setting_values import checked_by, with_extra
from arkaudit.configuration.settings import Section, setting
from arkaudit.features.living_issue.address import IssueAddress
from arkaudit.hooks import Channel


def _issue_address(text: str) -> IssueAddress:
    return IssueAddress.parse(with_extra(text, "requests", "requests", "notify"))


class IssueNotice(Section):
    """Options for the issue about failing ARKs."""

    issue: Annotated[str, checked_by(_issue_address)] | None = setting(
        None, "Keep an issue about failing ARKs there, e.g. github:owner/repo.", "--issue", metavar="SERVICE:REPOSITORY"
    )

    def check(self) -> None:
        """Raise `UserMistake` if the token would be sent to the API unencrypted."""
        super().check()
        if self.issue:
            IssueAddress.parse(self.issue).api_url()

    def variables(self) -> Iterator[str]:
        """Yield the name of the environment variable with the token."""
        yield from super().variables()
        if self.issue:
            yield IssueAddress.parse(self.issue).token_variable

    def channels(self) -> Iterator[Channel]:
        """Yield the channel that updates the issue, if one is configured."""
        from arkaudit.features.living_issue.issue import keep_issue

        yield from super().channels()
        if self.issue:
            keep = partial(keep_issue, self.issue)
            yield Channel(f"update the issue at {self.issue}", self.issue, keep, is_updated=True)
