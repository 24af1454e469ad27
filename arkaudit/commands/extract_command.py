"""The command `extract`."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click
from click.core import ParameterSource

from arkaudit.commands.options import asked_level, config_of, flag, jobs_option, repeatable, request_options
from arkaudit.output.exits import EXIT_FINDING, NEVER, after_extract, end_unread, errors, exit_on, print_ending, say
from crawler.model.outcomes import DocumentOutcome
from extractors.model.budget import cores
from extractors.model.errors import UserMistake

if TYPE_CHECKING:
    from extractors.documents import Document


_MOST_WORKERS = 256
#: The value of --fail-on for ARKs with a wrong check character.
_MISTYPED = "mistyped"


@click.command()
@click.argument("places", metavar="PATH|URL…", nargs=-1)
@click.option(
    "--from",
    "from_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Read paths or URLs from a file, one per line; it may be compressed (.gz).",
)
@click.option(
    "--out", metavar="FOLDER|s3://…", help="Make a dataset (Parquet, for very many documents) there, or resume it."
)
@click.option(
    "--part-size", type=click.IntRange(min=1), metavar="MB", help="With --out: size of a part.  [default: 128]"
)
@click.option(
    "--workers",
    callback=lambda _, __, given: _workers(given),
    metavar="N|ADDRESS",
    help="With --out: number of Dask workers on this machine, or a scheduler (tcp://…, tls://…).",
)
@flag("--dry-run", help="With --out: print the number and size of the files without reading them.")
@click.option(
    "--format",
    "form",
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
    type=click.Choice([NEVER, DocumentOutcome.UNREADABLE.value, _MISTYPED]),
    help="Exit with 1 if a document or a part of it is unreadable, or cites a mistyped ARK. Repeatable.",
)
@jobs_option
@request_options
def extract(
    places: tuple[str, ...],
    from_file: Path | None,
    out: str | None,
    part_size: int | None,
    workers: str | None,
    dry_run: bool,
    form: str | None,
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
    arkaudit extract papers/ --out dataset/
    """
    from arkaudit.audits.extracting import CountedDocument, ExtractTotal, documents, report_findings
    from arkaudit.output import logs
    from arkaudit.output import output_rows as rows
    from crawler.spiders.seeds import Seeds
    from extractors.documents import MAIN_COLUMNS, MENTION_COLUMNS, mention_rows

    if from_file is not None:
        from arkaudit.datasets.command import lines_of

        places = (*places, *lines_of(from_file))
    if not places:
        raise UserMistake("nothing to read: give files, folders or URLs, or --from FILE")
    if out is not None:
        _extract_into(out, places, part_size, workers, dry_run, fail_on, jobs, config_file, options)
        return
    for given, name in ((part_size, "--part-size"), (workers, "--workers"), (dry_run, "--dry-run")):
        if given:
            raise UserMistake(f"{name} is for datasets: it needs --out")
    if unique and form:
        raise UserMistake("--unique is a format of its own: give it without --format")
    if all_columns and form != "csv":
        raise UserMistake("--all-columns is for --format csv")
    form = "unique" if unique else form or ("table" if sys.stdout.isatty() else "jsonl")
    seeds = Seeds.of(path for path in places if path != "-")
    is_plain = config_file is None and asked_level() is None and all(value in (None, ()) for value in options.values())
    config = None
    if is_plain and not seeds.urls:
        # Importing the configuration takes longer than reading a small file.
        logs.start(None, errors)
    else:
        config = config_of(config_file, options)
    processes = jobs or (config.jobs if config is not None else None) or cores()
    total = ExtractTotal()
    with ExitStack() as stack:
        to_findings = stack.enter_context(_writable(findings)) if findings else None

        def read(render: Callable[[Document], Any]) -> Iterator[Any]:
            counted = partial(CountedDocument.of, render)
            for rendered in documents(seeds, counted, standard_input="-" in places, jobs=processes, config=config):
                document = rendered.summary
                report_findings(document.name, document.findings, to_findings)
                total.in_part += document.is_read_in_part
                if document.is_unreadable:
                    total.unread.append(document.name)
                elif not document.is_folder:
                    total.read += 1
                    total.empty += any(finding.kind == "empty" for finding in document.findings)
                total.add(rendered.value)
                yield rendered.value.made

        if form == "table":
            from rich.console import Console

            rows.print_mentions(chain.from_iterable(read(mention_rows)), Console())
        elif form == "csv":
            columns = MENTION_COLUMNS if all_columns else MAIN_COLUMNS
            lines = partial(rows.mention_csv_lines, columns=columns, is_terminal=sys.stdout.isatty())
            rows.write(rows.csv_line(columns), sys.stdout)
            rows.write_all(read(lines), sys.stdout)
        elif form in ("unique", "none"):
            arks = dict.fromkeys(chain.from_iterable(read(rows.distinct_arks)))
            rows.write_all((f"{ark}\n" for ark in (arks if unique else ())), sys.stdout)
        else:
            rows.write_all(read(partial(rows.mention_lines, is_utf8=rows.is_utf8(sys.stdout))), sys.stdout)
    if not total.read:
        end_unread("nothing", total.unread)
    is_failing = _MISTYPED in fail_on and bool(total.mistyped)
    for mistyped in total.mistyped if is_failing else ():
        say(mistyped.words, level=logging.WARNING)
    faults = [] if is_failing else total.faults
    print_ending(
        faults,
        0 if is_failing else len(total.mistyped),
        total.words,
        after_extract(places, config_file) if total.citations else None,
    )
    unread = [DocumentOutcome.UNREADABLE.value] * (len(total.unread) + total.in_part + total.empty)
    exit_on([token for token in fail_on if token != _MISTYPED], unread)
    if is_failing:
        sys.exit(EXIT_FINDING)


def _extract_into(
    out: str,
    places: Sequence[str],
    part_size: int | None,
    workers: str | None,
    dry_run: bool,
    fail_on: Sequence[str],
    jobs: int | None,
    config_file: Path | None,
    options: dict[str, Any],
) -> None:
    """Make a dataset."""
    from arkaudit.datasets.command import make_dataset, print_amount
    from arkaudit.datasets.plan import PART_BYTES

    if _MISTYPED in fail_on:
        raise UserMistake(f"--fail-on {_MISTYPED} is not for datasets: their mentions have the column 'check'")
    context = click.get_current_context()
    for name, option in (("form", "--format"), ("unique", "--unique"), ("findings", "--findings")):
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise UserMistake(f"{option} is not for datasets: they are Parquet, and have a table of findings")
    if workers and jobs:
        raise UserMistake("give either --jobs (processes on this machine) or --workers (Dask)")
    if "-" in places:
        raise UserMistake("a dataset is made of files, not of standard input")
    config = config_of(config_file, options)
    part_bytes = part_size * 2**20 if part_size else PART_BYTES
    if dry_run:
        print_amount(places, out, part_bytes=part_bytes)
        return
    made = make_dataset(places, out, jobs=jobs or config.jobs or cores(), workers=workers, part_bytes=part_bytes)
    if not made.manifest.inputs.files or 0 < made.unreadable == made.manifest.tables["documents"].rows:
        end_unread("nothing", made.first_unreadable)
    exit_on(fail_on, [DocumentOutcome.UNREADABLE.value] * bool(made.unreadable))


def _workers(given: str | None) -> str | None:
    """Return *given* if it is a number of workers or the address of a scheduler. Raises `click.BadParameter`."""
    if (
        given is None
        or re.fullmatch(r"[a-z]+://[^\s/]+", given)
        or (given.isdecimal() and 0 < int(given) <= _MOST_WORKERS)
    ):
        return given
    raise click.BadParameter(
        f"{given!r} is neither a number from 1 to {_MOST_WORKERS} nor the address of a scheduler (tcp://…)"
    )


def _writable(path: Path) -> TextIO:
    try:
        return path.open("w", encoding="utf-8")
    except OSError as problem:
        raise UserMistake(f"{path} can't be written: {problem.strerror}") from None
