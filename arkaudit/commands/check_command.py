"""Resolve ARKs that are named one by one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from arkaudit.exits import EXIT_INTERRUPTED, INTERRUPTED, end, errors, exit_on, say
from arkaudit.options import config_of, dry_run_option, fail_on_option, inventory_option, request_options, resume_option
from extractors.shared_errors import UserMistake


@click.command()
@click.argument("arks", metavar="ARK|URL…", nargs=-1)
@click.option(
    "--from",
    "from_file",
    type=click.Path(path_type=Path, allow_dash=True),
    help="Read them from a file, one a line.",
)
@inventory_option
@click.option(
    "--format", "form", type=click.Choice(["jsonl", "table"]), help="[default: jsonl; plain text with --explain]"
)
@click.option("--explain", is_flag=True, help="Tell each step: what was asked, what came back, what it means.")
@click.option("--conformance", is_flag=True, help="Ask each resolver for one ARK in up to ten other forms as well.")
@dry_run_option
@click.option("--store", "store_file", type=click.Path(path_type=Path), help="Keep every request and answer here.")
@resume_option
@click.option("--due", is_flag=True, help="Check what is due in the store, longest ago first.  [store: audit.db]")
@click.option("--limit", type=click.IntRange(min=1), help="With --due: so many ARKs at most.")
@fail_on_option
@request_options
def check(
    arks: tuple[str, ...],
    from_file: Path | None,
    inventory: Path | None,
    form: str | None,
    explain: bool,
    conformance: bool,
    dry_run: bool,
    store_file: Path | None,
    resume: bool | None,
    due: bool,
    limit: int | None,
    fail_on: tuple[str, ...],
    config_file: Path | None,
    **options: Any,
) -> None:
    """Resolve ARKs and test the three services: the object, its metadata, the provider's commitment.

    \b
    arkaudit check ark:12148/btv1b8449691v
    arkaudit check ark:12148/btv1b8449691v --explain --conformance
    arkaudit check --from arks.txt --format table --store audit.db
    arkaudit check --inventory ours.csv --store audit.db
    arkaudit check --due --store audit.db -c arkaudit.toml
    """  # fmt: skip
    if explain and form == "table":
        raise UserMistake("an explanation does not fit into a table: give --explain alone, or with --format jsonl")
    config = config_of(config_file, {**options, "conformance": conformance, "conformance_from": 1})
    asked = [*arks, *_lines(from_file), *_inventoried(inventory)]
    if due and asked:
        raise UserMistake("--due takes its ARKs from the store")
    if not due and not asked:
        empty = [str(file) for file in (from_file, inventory) if file is not None]
        raise UserMistake(
            f"nothing to check: there is no ARK in {' and '.join(empty)}"
            if empty
            else "nothing to check: give ARKs, --from FILE, --inventory FILE, or --due"
        )
    if due:
        from arkaudit.due import due_now

        store_file = store_file or config.store or Path("audit.db")
        again = due_now(store_file, config, limit=limit, is_dry=dry_run)
        if not again:
            return
    if dry_run:
        from arkaudit.dry_run import tell_of_check, tell_of_due

        tell_of_due(again, config) if due else tell_of_check(asked, config)
        return
    from rich.console import Console

    from arkaudit.checking import CheckResult, checked, checked_again
    from arkaudit.explaining import print_explanations
    from arkaudit.output_rows import print_verdicts, write_jsonl

    done: CheckResult
    if due:
        assert store_file is not None
        done = checked_again(again, config, store_file, explain=explain, console=errors())
    else:
        done = checked(asked, config, store_file, explain=explain, resume=resume, console=errors())
    if form == "table":
        print_verdicts(done.rows, Console())
    elif explain and form is None:
        print_explanations(done.rows, Console())
    else:
        write_jsonl(done.rows, sys.stdout)
    if done.was_interrupted:
        end(EXIT_INTERRUPTED, INTERRUPTED)
    if done.known:
        say(done.known)
    exit_on(fail_on, done.raised)


def _lines(path: Path | None) -> list[str]:
    if path is None:
        return []
    try:
        text = sys.stdin.read() if str(path) == "-" else path.read_text("utf-8-sig", "replace")
    except OSError as problem:
        raise UserMistake(f"{path} can't be read: {problem.strerror}") from None
    return [line.strip() for line in text.splitlines() if line.strip()]


def _inventoried(path: Path | None) -> list[str]:
    """The ARKs of an inventory."""
    if path is None:
        return []
    from arkaudit.reporting import listed_in

    listed = listed_in(path)
    return [] if listed is None else listed["ark"].tolist()
