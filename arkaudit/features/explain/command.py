"""The command `explain`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from arkaudit.commands.options import GroupedCommand, config_of, request_options, store_file_option
from arkaudit.output.exits import EXIT_FINDING, end_interrupted, say
from extractors.model.errors import UserMistake


@click.command(cls=GroupedCommand)
@click.argument("arks", metavar="ARK|URL…", nargs=-1, required=True)
@store_file_option(help="Explain the last check in this store, and list all of them. No request is sent.")
@click.option("--format", "output_format", type=click.Choice(["text", "jsonl"]), default="text", show_default=True)
@request_options
def explain(
    arks: tuple[str, ...], store_file: Path | None, output_format: str, config_file: Path | None, **options: Any
) -> None:
    """Explain the verdict on an ARK step by step: each request, its answer, and what the answer means.

    The ARK is checked now, or with --store its stored checks are shown: citations, checks, events, status over time, and
    the requests of the last check. Exits with 1 if the store does not have the ARK.

    \b
    arkaudit explain ark:12148/btv1b8449691v
    arkaudit explain ark:12148/btv1b8449691v --store audit.db
    """
    if store_file is not None:
        _explain_stored(arks, store_file, output_format)
        return
    from rich.console import Console

    from arkaudit.audits.checking import check_lines
    from arkaudit.features.explain.explanation import explain_run, print_explanations
    from arkaudit.output.output_rows import write_jsonl

    result = check_lines(
        arks, config_of(config_file, options), None, places_by_text=None, explain=explain_run, resume=None
    )
    if output_format == "text":
        print_explanations(result.rows, Console())
    else:
        write_jsonl(result.rows, sys.stdout)
    if result.interruption is not None:
        end_interrupted(is_resumable=False, is_by_time=result.interruption.is_by_time)


def _explain_stored(arks: tuple[str, ...], store_file: Path, output_format: str) -> None:
    """Print history and last checks of ARKs in a store; exit with 1 if it lacks any of them."""
    from rich.console import Console

    from arkaudit.features.explain.explanation import print_explanations, print_history
    from arkaudit.features.explain.history import load_ark_history
    from arkaudit.features.explain.stored_checks import last_checks
    from arkaudit.output.output_rows import write_jsonl
    from extractors.model.ark import Ark
    from extractors.model.normalize import NotAnArk
    from reports.languages.display import escape_invisible

    parsed_arks = []
    for text in arks:
        try:
            parsed_arks.append(Ark.parse(text))
        except NotAnArk:
            raise UserMistake(f"{escape_invisible(repr(text))} is not an ARK") from None
    is_missing = False
    for ark in parsed_arks:
        history = load_ark_history(store_file, ark)
        if history is None:
            say(escape_invisible(f"{store_file} has no ARK {ark}"))
            is_missing = True
            continue
        checks = last_checks(store_file, ark)
        if output_format == "jsonl":
            write_jsonl([history | {"last_checks": checks}], sys.stdout)
        else:
            console = Console()
            print_history(history, console)
            print_explanations(checks, console)
    if is_missing:
        sys.exit(EXIT_FINDING)
