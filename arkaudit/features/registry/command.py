"""The command `registry`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from arkaudit.commands.options import asking_options, config_of, table_option


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
    from arkaudit.features.registry.entries import update_copy

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
    from arkaudit.features.registry.entries import show

    show(asked, output_format)
