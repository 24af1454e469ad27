"""The command `overview`."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

import click

from arkaudit.commands.options import audits_option, file_option
from arkaudit.output.exits import say
from extractors.model.errors import UserMistake


@click.command()
@audits_option
@file_option("--out", help="The folder of the page.  [default: `out` of the section `overview`]")
def overview(config_file: Path, out: Path | None) -> None:
    """Write a page with a row for each named audit: its verdict, its trend, the age of its last check, its last change.

    Each audit also gets an Atom feed of its changes. No request is sent.

    \b
    arkaudit overview -c arkaudit.toml --out site
    """
    from arkaudit.configuration.config_files import load_audits
    from arkaudit.features.overview.section import Overview
    from arkaudit.features.overview.writing import write_overview

    audits = load_audits(config_file)
    section = audits[None].section(Overview)
    if out is None and section is not None:
        out = section.out
    if out is None:
        raise UserMistake("name the folder of the overview by --out, or by out in the section [overview]")
    code = write_overview(audits, config_file, out, datetime.now(UTC))
    say(f"the overview is at {out / 'index.html'}")
    sys.exit(code)
