"""Keep and show a copy of the NAAN registry."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.console import Console

from arkaudit.options import config_of, request_options


@click.group()
def registry() -> None:
    """Show who assigns ARKs under a NAAN or shoulder, and where they resolve: a copy of the public NAAN registry.

    \b
    arkaudit registry update                      fetch the newest copy
    arkaudit registry show 12148                  what it says of a NAAN
    """


@registry.command("update", short_help="Fetch the newest copy of the NAAN registry.")
@click.argument("source", metavar="[URL|FILE]", required=False)
@request_options
def registry_update(source: str | None, config_file: Path | None, **options: Any) -> None:
    """Bring the copy in the user's cache up to date, from the public registry or from a URL or file.

    What is no registry never replaces the copy. The environment variable ARKAUDIT_CACHE says where else to keep it.

    \b
    arkaudit registry update
    arkaudit registry update naan_records.json
    """

    from arkaudit.naan_registry import bring_up_to_date

    bring_up_to_date(source, config_of(config_file, options))


@registry.command("show", short_help="What the registry says of a NAAN, a shoulder or an ARK.")
@click.argument("asked", metavar="NAAN|NAAN/SHOULDER|ARK")
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
def registry_show(asked: str, form: str) -> None:
    """Print who assigns under a NAAN or shoulder since when, where it resolves, and how old that knowledge is.

    Exits with 1 when the registry has nothing about it. Without a copy, a few well-known NAANs are built in.

    \b
    arkaudit registry show 12148
    arkaudit registry show 99166/w6
    arkaudit registry show ark:/12148/btv1b8449691v --format json
    """

    from arkaudit.naan_registry import show

    show(asked, form, Console())
