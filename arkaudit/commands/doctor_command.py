"""Look at what an audit needs."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.option(
    "-c",
    "--config",
    "config_file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="The configuration.  [default: arkaudit.toml, if there is one]",
)
@click.option(
    "--store",
    type=click.Path(path_type=Path, exists=True),
    help="A store.  [default: those of the configuration]",
)
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
def doctor(config_file: Path | None, store: Path | None, form: str) -> None:
    """Say what is installed, configured and reachable on this machine, and what is missing.

    No request is sent. Exits with 1 when an audit would fail.

    \b
    arkaudit doctor
    arkaudit doctor -c arkaudit.toml
    """

    from arkaudit.doctor import examine

    examine(config_file, store, show=form)
