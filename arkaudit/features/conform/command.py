"""The command `conform`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from arkaudit.commands.options import (
    GroupedCommand,
    asking_options,
    config_of,
    flag,
    lines_of,
    repeatable,
    resume_option,
    store_file_option,
)
from arkaudit.output.exits import EXIT_FINDING, end
from extractors.model.errors import EXIT_UNFINISHED, UserMistake


@click.command(cls=GroupedCommand)
@click.argument("tested", metavar="RESOLVER")
@repeatable("--ark", "arks", metavar="ARK", help="A working ARK. Repeatable.")
@click.option("--from", "from_file", metavar="FILE", help="Read working ARKs from a file, one per line.")
@repeatable("--gone", metavar="ARK", help="An ARK whose object is gone. Repeatable.")
@repeatable("--only", "sections", metavar="SECTION", help="Only this section, such as 5.1. Repeatable.")
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "json", "junit", "html", "md"]),
    default="text",
    show_default=True,
)
@click.option(
    "--against",
    "old",
    metavar="RESOLVER",
    help="Compare with another resolver, which is asked for the same ARKs (text, json).",
)
@flag("--own", help="The resolver is yours: also ask it for 100 names within a minute.")
@flag("--fail", help="Exit with 1 if a mandatory requirement is not met, or the resolvers differ.")
@flag("--dry-run", help="Print the requests without sending them.")
@store_file_option(help="Keep every request and answer in this file.")
@resume_option
@asking_options
def conform(
    tested: str,
    arks: tuple[str, ...],
    from_file: str | None,
    gone: tuple[str, ...],
    sections: tuple[str, ...],
    output_format: str,
    old: str | None,
    own: bool,
    fail: bool,
    dry_run: bool,
    store_file: Path | None,
    resume: bool | None,
    config_file: Path | None,
    **options: Any,
) -> None:
    """Test whether a resolver of ARKs conforms to draft-kunze-ark, section by section.

    \b
    arkaudit conform https://ark.example.org/ --ark ark:98765/x1
    arkaudit conform https://ark.example.org/ --from names.txt --gone ark:98765/x2 --only 5.1
    arkaudit conform https://new.example.org/ --against https://old.example.org/ --from names.txt
    arkaudit conform http://127.0.0.1:8000/ --ark ark:98765/x1 --only-routed --delay 0
    """  # fmt: skip
    from arkaudit.features.conform.probing import ComparisonTest, answers, conformance_test, with_own_resolver
    from arkaudit.features.conform.report import COMPARISON_FORMATS, FORMATS, ConformanceReport
    from arkaudit.features.conform.requirements import compare, no_comparison_reason, results

    if old is not None and (output_format not in COMPARISON_FORMATS or gone or sections or own):
        raise UserMistake("--against compares working ARKs, as text or json, without --gone, --only and --own")
    config = config_of(config_file, {**options, "resolver": tested})
    config = with_own_resolver(config, tested) if own else config
    ark_texts = [*arks, *lines_of(from_file).values()]
    comparison = ComparisonTest.parse(tested, old, ark_texts) if old is not None else None
    test = comparison or conformance_test(tested, ark_texts, gone, sections, is_own=own)
    if dry_run:
        for probe in test.probes:
            headers = "".join(f" {name}: {value}" for name, value in probe.headers.items())
            click.echo(f"{probe.question.value}: {probe.method} {probe.url}{headers}")
        return
    no_answer_reason = None
    with answers(test, config, store_file, resume=resume) as observations:
        if comparison is not None:
            comparisons = compare(
                observations, comparison.arks, old_resolver=comparison.old_resolver, new_resolver=tested
            )
            text = COMPARISON_FORMATS[output_format](comparisons, comparison.old_resolver, tested)
            is_failing = any(row.is_difference for row in comparisons)
            no_answer_reason = no_comparison_reason(comparisons)
        else:
            report = ConformanceReport(tested, list(results(observations, sections)))
            text, is_failing = FORMATS[output_format](report), report.is_failing
            no_answer_reason = report.no_answer_reason
    # A table without an answer would hide the reason; programs still get their document.
    if no_answer_reason is None or output_format != "text":
        click.echo(text, nl=False)
    if no_answer_reason is not None:
        end(EXIT_UNFINISHED, f"nothing could be tested: {no_answer_reason}")
    if fail and is_failing:
        sys.exit(EXIT_FINDING)
