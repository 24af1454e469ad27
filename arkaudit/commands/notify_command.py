"""Notify people of what a run has changed."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from arkaudit.exits import EXIT_FINDING
from arkaudit.options import audit_option, config_of


@click.command()
@click.option(
    "-c", "--config", "config_file", type=click.Path(path_type=Path), required=True, help="The configuration."
)
@audit_option
@click.option("--store", "store_file", type=click.Path(path_type=Path), help="[default: the configuration's]")
@click.option("--run", "run_id", type=int, help="The run to report.  [default: the newest]")
@click.option("--dry-run", is_flag=True, help="Only say what would be sent, and to whom.")
def notify(config_file: Path, audit: str | None, store_file: Path | None, run_id: int | None, dry_run: bool) -> None:
    """Notify people of what a run has changed, as the configuration says; of nothing, if nothing has.

    A run does this itself at its end; this is to try it out, and to send again what could not be sent then.

    \b
    arkaudit notify -c arkaudit.toml --audit theses --dry-run
    """
    from arkaudit.notification import send_news_again

    if not send_news_again(config_of(config_file, {}, audit=audit), store_file, run_id, is_dry=dry_run):
        sys.exit(EXIT_FINDING)
