"""Run named audits when they are due."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

import click

from arkaudit.exits import EXIT_FINDING, say
from arkaudit.options import audit_option, config_of


@click.group()
def schedule() -> None:
    """Run the named audits of a configuration when they are due: never two of one at once, a missed one once.

    \b
    arkaudit schedule list -c arkaudit.toml
    arkaudit schedule due -c arkaudit.toml        run what is due, and end: for cron, systemd, Kubernetes, CI
    arkaudit schedule run -c arkaudit.toml        stay, and run each when its time comes
    """


_SCHEDULED = click.option(
    "-c",
    "--config",
    "config_file",
    type=click.Path(path_type=Path),
    default=Path("arkaudit.toml"),
    show_default=True,
    help="The configuration with the audits.",
)


@schedule.command("list", short_help="When each audit runs next, and how its last run ended.")
@_SCHEDULED
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
def schedule_list(config_file: Path, form: str) -> None:
    """Print when each audit runs next, and how its last run ended."""
    from arkaudit.output_rows import whole, write
    from arkaudit.schedules import scheduler as listing
    from arkaudit.schedules.scheduler import planned_in

    planned = listing.rows(planned_in(config_file), datetime.now(UTC))
    if form == "json":
        write(json.dumps(planned, indent=2) + "\n", sys.stdout)
    else:
        from rich.console import Console

        console = Console()
        with whole(console):
            console.print(listing.table(planned))


@schedule.command("due", short_help="Run what is due now, and end.")
@_SCHEDULED
@click.option("--dry-run", is_flag=True, help="Only say what would run.")
def schedule_due(config_file: Path, dry_run: bool) -> None:
    """Run what is due now, one audit after the other, and end with the greatest of their exit codes.

    An audit is due when a moment of its schedule has passed since it last began, or since its schedule was first seen;
    however many have passed, it runs once. A run that did not come to its end goes on first.
    """
    from arkaudit.schedules.scheduler import Runs, planned_in, run_due, until_stopped

    audits = planned_in(config_file)
    if dry_run:
        for audit in audits:
            due = audit.due(datetime.now(UTC))
            if due is not None:
                say(f"{audit.name}: due since {due.moment:%Y-%m-%d %H:%M} UTC")
        return
    runs = Runs(config_file)
    with until_stopped(runs):
        codes = run_due(audits, runs, now=lambda: datetime.now(UTC))
    sys.exit(max(codes, default=0, key=abs))


@schedule.command("run", short_help="Stay, and run each audit when its time comes.")
@_SCHEDULED
def schedule_run(config_file: Path) -> None:
    """Stay, and run each audit when its time comes; first what was missed, or did not come to its end.

    A signal (Ctrl-C, or what a service manager sends) lets what runs finish what it has in flight; it goes on when
    this is started again.
    """
    from arkaudit.schedules.scheduler import Runs, planned_in, serve

    serve(planned_in(config_file), Runs(config_file))


# Notify people of what a run has changed.


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
