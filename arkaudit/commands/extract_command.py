"""Print the ARKs that documents cite."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click

from arkaudit import logs
from arkaudit.document_findings import report_findings
from arkaudit.exits import NEVER, end_unread, errors, exit_on
from arkaudit.options import config_of, cores, jobs_option, request_options
from crawler.outcomes import DocumentOutcome
from extractors.shared_errors import UserMistake

if TYPE_CHECKING:
    from extractors.documents import Document

R = TypeVar("R")


@click.command()
@click.argument("places", metavar="PATH|URL…", nargs=-1, required=True)
@click.option("--format", "form", type=click.Choice(["jsonl", "csv", "table"]), default="jsonl", show_default=True)
@click.option(
    "--findings",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write what went wrong with documents here, as JSON Lines.",
)
@click.option(
    "--fail-on",
    type=click.Choice([NEVER, DocumentOutcome.UNREADABLE.value]),
    multiple=True,
    help="Exit with 1 when a document could not be read.",
)
@jobs_option
@request_options
def extract(
    places: tuple[str, ...],
    form: str,
    findings: Path | None,
    fail_on: tuple[str, ...],
    jobs: int | None,
    config_file: Path | None,
    **options: Any,
) -> None:
    """Print the ARKs that documents cite, repaired, with where and how they are written.

    Files, folders, URLs, or - for standard input. Exits with 3 when nothing of all that could be read.

    \b
    arkaudit extract thesis.pdf
    arkaudit extract --format csv papers/ > arks.csv
    """
    from arkaudit import output_rows as rows
    from arkaudit.extracting import documents
    from crawler.seeds import Seeds

    seeds = Seeds.of(place for place in places if place != "-")
    is_plain = config_file is None and all(value in (None, ()) for value in options.values())
    config = None
    if is_plain and not seeds.urls:
        logs.start(None, errors)  # what a configuration takes to load costs more than reading a small file
    else:
        config = config_of(config_file, options)
    processes = jobs or (config.jobs if config is not None else None) or cores()
    unread: list[str] = []
    is_read = False
    with ExitStack() as stack:
        to_findings = stack.enter_context(_writable(findings)) if findings else None

        def read(render: Callable[[Document], R]) -> Iterator[R]:
            nonlocal is_read
            for each in documents(seeds, render, standard_input="-" in places, jobs=processes, config=config):
                document = each.summary
                report_findings(document.name, document.findings, to_findings)
                if document.is_unreadable:
                    unread.append(document.name)
                elif not document.is_folder:
                    is_read = True
                yield each.value

        if form == "table":
            from rich.console import Console

            rows.print_mentions(chain.from_iterable(read(rows.mention_rows)), Console())
        elif form == "csv":
            rows.write(rows.csv_line(rows.MENTION_COLUMNS), sys.stdout)
            rows.write_all(read(partial(rows.mention_csv_lines, is_terminal=sys.stdout.isatty())), sys.stdout)
        else:
            rows.write_all(read(partial(rows.mention_lines, is_utf8=rows.is_utf8(sys.stdout))), sys.stdout)
    if not is_read:
        end_unread("nothing", unread)
    exit_on(fail_on, [DocumentOutcome.UNREADABLE.value for _ in unread])


def _writable(path: Path) -> TextIO:
    try:
        return path.open("w", encoding="utf-8")
    except OSError as problem:
        raise UserMistake(f"{path} can't be written: {problem.strerror}") from None
