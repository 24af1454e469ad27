"""The commands `report` and `history`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from arkaudit.commands.options import (
    GroupedCommand,
    WordChoice,
    audit_option,
    choice_options,
    config_of,
    config_option,
    fail_on_option,
    file_option,
    format_option,
    lang_option,
    setting_options,
    store_file_option,
)
from arkaudit.output.exits import exit_on
from extractors.model.errors import UserMistake
from reports.remediation.targets import LAYOUTS


@click.command(cls=GroupedCommand)
@store_file_option(help="[default: audit.db]")
@file_option("--out", help="Write the report into this folder; - for standard output.")
@click.option("--run", "run_id", type=int, help="Report only this run.  [default: the current state of the audit]")
@click.option("--since", type=int, metavar="RUN", help="A run to compare with.  [default: the previous one]")
@choice_options
@setting_options("inventory")
@format_option
@lang_option
@click.option(
    "--targets-for",
    type=WordChoice(LAYOUTS),
    metavar="LAYOUT",
    help="The layout of targets.csv, new targets for ARKs whose landing pages have moved: a table, or as the batch "
    "updates of ezid or arklet take it.  [default: table]",
)
@fail_on_option
@setting_options("known")
@config_option(help="A configuration with store, inventory, known problems and language.")
@audit_option
def report(
    store_file: Path | None,
    out: Path | None,
    run_id: int | None,
    since: int | None,
    naans: tuple[str, ...],
    documents: tuple[str, ...],
    only: tuple[str, ...],
    formats: tuple[str, ...],
    targets_for: str | None,
    fail_on: tuple[str, ...],
    config_file: Path | None,
    audit: str | None,
    **options: Any,
) -> None:
    """Write a report from a store: tables and a page with causes of failures, NAANs, hosts, documents and all ARKs.

    The report covers the newest finished run that read documents, with every later check of its ARKs; --run limits it
    to one run.

    \b
    arkaudit report --store audit.db --out report
    arkaudit report --since 3 --only confirmed --format md --out -
    arkaudit report --naan 12148 --fail-on confirmed-broken
    arkaudit report --inventory inventory.csv --out report --lang fr
    """
    from arkaudit.output.reporting import report_on

    config = config_of(config_file, options, audit=audit)
    store_file = store_file or config.store or Path("audit.db")
    from reports.tables.filters import Choice

    if targets_for is not None and (out is None or out == Path("-")):
        raise UserMistake("--targets-for writes targets.csv into a folder: name it by --out")
    choice = Choice(naans=naans, documents=documents, only=only)
    summary = report_on(
        config, store_file, out, formats=formats, run_id=run_id, since=since, choice=choice, targets_for=targets_for
    )
    exit_on(fail_on, summary.tokens, is_whole=summary.is_whole, store_file=store_file)
