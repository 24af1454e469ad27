"""The commands `registry` and `store`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from arkaudit.commands.options import asking_options, config_of, store_option, table_option


@click.group()
def registry() -> None:
    """Look up who assigns ARKs under a NAAN or shoulder, and where they resolve, in the public NAAN registry.

    \b
    arkaudit registry update                      fetch the newest copy
    arkaudit registry show 12148                  show the entry of a NAAN
    """


@registry.command("update", short_help="Fetch the newest copy of the NAAN registry.")
@click.argument("source", metavar="[URL|FILE]", required=False)
@asking_options
def registry_update(source: str | None, config_file: Path | None, **options: Any) -> None:
    """Update the copy in the user's cache from the public registry, or from a URL or file.

    Invalid data never replaces the copy. The environment variable ARKAUDIT_CACHE names another folder for the cache.

    \b
    arkaudit registry update
    arkaudit registry update naan_records.json
    """

    from arkaudit.upkeep.naan_registry import update_copy

    update_copy(source, config_of(config_file, options))


@registry.command("show", short_help="Show the registry's entry for a NAAN, a shoulder or an ARK.")
@click.argument("asked", metavar="NAAN|NAAN/SHOULDER|ARK")
@table_option
def registry_show(asked: str, output_format: str) -> None:
    """Print the organization, start and resolver of a NAAN or shoulder, and the age of the copy.

    Exits with 1 if the registry has no entry. Without a copy, only a few well-known NAANs are known.

    \b
    arkaudit registry show 12148
    arkaudit registry show 99166/w6
    arkaudit registry show ark:/12148/btv1b8449691v --format json
    """
    from arkaudit.upkeep.naan_registry import show

    show(asked, output_format)


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
    from arkaudit.upkeep.stores import check_store

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
    from arkaudit.upkeep.stores import prune_store

    prune_store(store_file, **keep)
