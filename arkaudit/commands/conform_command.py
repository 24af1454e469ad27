"""Test whether a resolver of ARKs does what the specification asks for."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from arkaudit.commands.check_command import lines_of
from arkaudit.exits import EXIT_FINDING
from arkaudit.options import GroupedCommand, config_of, request_options, resume_option
from extractors.model.errors import UserMistake


@click.command(cls=GroupedCommand)
@click.argument("tested", metavar="RESOLVER")
@click.option(
    "--ark", "arks", multiple=True, metavar="ARK", help="An ARK that is there. Repeatable."
)
@click.option("--from", "from_file", type=click.Path(path_type=Path), metavar="FILE",
              help="Take such ARKs from a file, one a line.")  # fmt: skip
@click.option(
    "--gone", multiple=True, metavar="ARK", help="An ARK whose object is gone. Repeatable."
)
@click.option(
    "--only", multiple=True, metavar="SECTION", help="Only this section, as 5.1. Repeatable."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "junit", "html", "md", "badge"]),
    default="text",
    show_default=True,
)
@click.option(
    "--against",
    "old",
    metavar="RESOLVER",
    help="Ask another resolver for each ARK as well, and say what differs (text, json).",
)
@click.option("--fail", is_flag=True, help="Exit with 1 when something that must be met is not.")
@click.option("--dry-run", is_flag=True, help="Print the requests, and send nothing.")
@click.option(
    "--store",
    "store_file",
    type=click.Path(path_type=Path),
    help="Keep every request and answer here.",
)
@resume_option
@request_options
def conform(
    tested: str,
    arks: tuple[str, ...],
    from_file: str | None,
    gone: tuple[str, ...],
    only: tuple[str, ...],
    form: str,
    old: str | None,
    fail: bool,
    dry_run: bool,
    store_file: Path | None,
    resume: bool | None,
    config_file: Path | None,
    **options: Any,
) -> None:
    """Test whether a resolver of ARKs does what draft-kunze-ark asks for, section by section.

    \b
    arkaudit conform https://ark.example.org/ --ark ark:98765/x1
    arkaudit conform https://ark.example.org/ --from names.txt --gone ark:98765/x2 --only 5.1
    arkaudit conform https://new.example.org/ --against https://old.example.org/ --from names.txt
    arkaudit conform http://127.0.0.1:8000/ --ark ark:98765/x1 --only-routed --delay 0
    """  # fmt: skip
    from arkaudit.conforming import ConformanceTest, conform, conform_against
    from reports.conformance_report import COMPARISON_FORMATS, FORMATS, ConformanceReport

    config = config_of(config_file, options)
    lines = lines_of(from_file).values()
    test = ConformanceTest.of(tested, [*arks, *lines], gone)
    if dry_run:
        for probe in test.probes():
            headers = "".join(f" {name}: {value}" for name, value in probe.headers.items())
            click.echo(f"{probe.question.value}: {probe.method} {probe.url}{headers}")
        return
    if old is not None:
        if form not in COMPARISON_FORMATS or gone or only:
            raise UserMistake("--against compares ARKs that are there, as text or json")
        compared = conform_against(test, old, config, store_file, resume=resume)
        click.echo(COMPARISON_FORMATS[form](compared, old, tested), nl=False)
        if fail and any(comparison.is_difference for comparison in compared):
            sys.exit(EXIT_FINDING)
        return
    found = conform(test, config, store_file, only=only, resume=resume)
    report = ConformanceReport(test.resolver, found)
    click.echo(FORMATS[form](report), nl=False)
    if fail and report.fails:
        sys.exit(EXIT_FINDING)
