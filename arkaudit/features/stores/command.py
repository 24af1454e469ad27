"""The command `store`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from arkaudit.commands.options import store_option


@click.group()
def store() -> None:
    """Check and prune stores.

    \b
    arkaudit store check --store audit.db
    arkaudit store prune --store audit.db --keep 12-runs
    """


@store.command("check", short_help="Look for damage and contradictions in a store.")
@store_option
def store_check(store_file: Path) -> None:
    """Look for damage and contradictions in a store, and print them; exits with 1 if there are any.

    \b
    arkaudit store check --store audit.db
    """
    from arkaudit.features.stores.checks import check_store

    check_store(store_file)


class _RunsToKeep(click.ParamType[Any]):
    """The runs to keep: a number of runs or of days."""

    name = "N-runs|N-days"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, int | None]:
        match = re.fullmatch(r"([1-9][0-9]{0,5})[- ]?(run|day)s?", str(value).strip())
        if match is None:
            self.fail(f"{value!r} is not a number of runs or days, such as 12-runs or 365-days", param, ctx)
        return {"runs": None, "days": None} | {f"{match[2]}s": int(match[1])}


@store.command("prune", short_help="Remove the answers of old runs, not their verdicts.")
@store_option
@click.option(
    "--keep", type=_RunsToKeep(), required=True, help="Runs to leave whole: the last N, or those of the last N days."
)
def store_prune(store_file: Path, keep: dict[str, int | None]) -> None:
    """Remove the answers of old runs from a store. The last run is always kept.

    Verdicts, events, citations and the evidence of failures stay, as do the digests that the history needs.

    \b
    arkaudit store prune --store audit.db --keep 12-runs
    arkaudit store prune --store audit.db --keep 365-days
    """
    from arkaudit.features.stores.checks import prune_store

    prune_store(store_file, **keep)
