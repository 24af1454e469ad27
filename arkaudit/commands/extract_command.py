"""The command `extract`."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from arkaudit.commands.options import (
    config_of,
    flag,
    from_places_option,
    jobs_option,
    listed_places,
    repeatable,
    request_options,
    setting_options,
)
from arkaudit.output.exits import NEVER, end_unread, errors, exit_on, hint_after_extract, print_ending, say
from crawler.model.outcomes import MISTYPED, DocumentOutcome
from extractors.model.budget import core_count
from extractors.model.errors import UserMistake

if TYPE_CHECKING:
    from extractors.documents import Document


@click.command()
@click.argument("places", metavar="PATH|URL…", nargs=-1)
@from_places_option
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["jsonl", "csv", "table", "none"]),
    help="Format of the mentions.  [default: a table on a terminal, else jsonl]",
)
@flag("--all-columns", help="With --format csv: all columns of a mention.")
@flag("--unique", help="Print only the distinct ARKs, one per line.")
@click.option(
    "--findings",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write problems with documents to this file, as JSON Lines.",
)
@repeatable(
    "--fail-on",
    type=click.Choice([NEVER, DocumentOutcome.UNREADABLE.value, MISTYPED]),
    help="Exit with 1 if a document or a part of it is unreadable, or cites a mistyped ARK. Repeatable.",
)
@setting_options("known")
@jobs_option
@request_options
def extract(
    places: tuple[str, ...],
    from_file: str | None,
    output_format: str | None,
    all_columns: bool,
    unique: bool,
    findings: Path | None,
    fail_on: tuple[str, ...],
    jobs: int | None,
    config_file: Path | None,
    **options: Any,
) -> None:
    """Find and repair the ARKs that documents cite, and print them with their place and spelling.

    Documents are files, folders, URLs, or - for standard input. Exits with 3 if all of them are unreadable.

    \b
    arkaudit extract thesis.pdf
    arkaudit extract --unique papers/ > arks.txt
    arkaudit extract --format csv papers/ > arks.csv
    git diff --name-only -z main -- '*.md' | arkaudit extract --from -
    """  # fmt: skip
    from arkaudit.audits.extracting import CountedDocument, ExtractTotal, documents, report_findings
    from arkaudit.output import logs
    from crawler.spiders.seeds import Seeds
    from reports.store.known_problems import NOTHING_KNOWN

    places = (*places, *listed_places(from_file))
    if from_file == "-" and "-" in places:
        raise UserMistake("standard input is the list of documents (--from -), so it can't be a document too")
    if from_file == "-" and not places:
        say("nothing to read: standard input names no document")
        return
    if not places:
        raise UserMistake("nothing to read: give files, folders or URLs, or --from FILE")
    if unique and output_format:
        raise UserMistake("--unique is a format of its own: give it without --format")
    if all_columns and output_format != "csv":
        raise UserMistake("--all-columns is for --format csv")
    seeds = Seeds.parse(path for path in places if path != "-")
    has_defaults = config_file is None and all(value in (None, ()) for value in options.values())
    config = None
    if has_defaults and not seeds.urls:
        # Importing the configuration takes longer than reading a small file.
        logs.start_log(None, errors)
    else:
        config = config_of(config_file, {**options, "crawl.depth": 0})
    process_count = jobs or (config.jobs if config is not None else None) or core_count()
    total = ExtractTotal(config.known_list if config is not None else NOTHING_KNOWN, datetime.now(UTC).date())
    with ExitStack() as stack:
        try:
            findings_file = stack.enter_context(findings.open("w", encoding="utf-8")) if findings else None
        except OSError as problem:
            raise UserMistake(f"{findings} can't be written: {problem.strerror}") from None

        def rendered_documents(render: Callable[[Document], Any]) -> Iterator[Any]:
            """Yield the result of *render* for the documents, after they were counted and their findings reported."""
            counting_render = partial(CountedDocument.from_document, render)
            for result in documents(
                seeds, counting_render, standard_input="-" in places, jobs=process_count, config=config
            ):
                summary = result.summary
                report_findings(summary.name, summary.findings, findings_file)
                total.add(summary, result.value)
                yield result.value.rendered

        default_form = "table" if sys.stdout.isatty() else "jsonl"
        _print_mentions(
            "unique" if unique else output_format or default_form, rendered_documents, all_columns=all_columns
        )
    if not total.read_count:
        end_unread("nothing", total.unread_names)
    is_failing = MISTYPED in fail_on
    for mistyped_ark in total.mistyped_arks if is_failing else ():
        say(mistyped_ark.message, level=logging.WARNING)
    faults = [] if is_failing else total.faults
    print_ending(
        faults,
        0 if is_failing else len(total.mistyped_arks),
        total.message,
        hint_after_extract(places, config_file) if total.citation_count else None,
    )
    exit_on(fail_on, total.tokens)


def _print_mentions(
    output_format: str, rendered_documents: Callable[[Callable[[Document], Any]], Iterable[Any]], *, all_columns: bool
) -> None:
    """Print the mentions of documents as *output_format*: ``table``, ``csv``, ``jsonl``, ``unique`` (distinct ARKs) or ``none``.

    *rendered_documents* returns the result of a function for each document.
    """
    from arkaudit.output import output_rows as rows
    from extractors.documents import mention_rows
    from extractors.mentions.rows import ALL_COLUMNS, MAIN_COLUMNS

    if output_format == "table":
        from rich.console import Console

        rows.print_mentions(chain.from_iterable(rendered_documents(mention_rows)), Console())
    elif output_format == "csv":
        columns = ALL_COLUMNS if all_columns else MAIN_COLUMNS
        csv_lines = partial(rows.mention_csv_lines, columns=columns, is_terminal=sys.stdout.isatty())
        rows.write(rows.csv_line(columns), sys.stdout)
        rows.write_all(rendered_documents(csv_lines), sys.stdout)
    elif output_format == "jsonl":
        json_lines = partial(rows.mention_lines, is_utf8=rows.is_utf8(sys.stdout))
        rows.write_all(rendered_documents(json_lines), sys.stdout)
    else:
        arks = dict.fromkeys(chain.from_iterable(rendered_documents(rows.distinct_arks)))
        rows.write_all((f"{ark}\n" for ark in arks if output_format == "unique"), sys.stdout)
