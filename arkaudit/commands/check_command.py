"""Resolve ARKs that are named one by one."""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from arkaudit.exits import after_check, checked_words, end_interrupted, exit_on, tell_ending
from arkaudit.options import (
    GroupedCommand,
    config_of,
    dry_run_option,
    fail_on_option,
    inventory_option,
    request_options,
    resume_option,
)
from extractors.model.errors import UserMistake

if TYPE_CHECKING:
    from arkaudit.datasets.documents import DatasetDocuments
    from crawler.history.triaging import KnownSelection


@click.command(cls=GroupedCommand)
@click.argument("arks", metavar="ARK|URL…", nargs=-1)
@click.option(
    "--from",
    "from_file",
    metavar="FILE|DATASET",
    help="Read them from a file, line by line, or from a dataset (arkaudit extract --out).",
)
@inventory_option
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "table"]),
    help="[default: jsonl; plain text with --explain]",
)
@click.option(
    "--explain", is_flag=True, help="Say each step: what was asked, what came back, what it means."
)
@click.option(
    "--conformance",
    is_flag=True,
    help="Ask each resolver for one ARK in up to ten other forms as well.",
)
@dry_run_option
@click.option(
    "--store",
    "store_file",
    type=click.Path(path_type=Path),
    help="Keep every request and answer here.",
)
@resume_option
@click.option(
    "--due",
    is_flag=True,
    help="Check what is due in the store, longest ago first.  [store: audit.db]",
)
@click.option(
    "--naan",
    "naans",
    multiple=True,
    metavar="NAAN",
    help="What the store knows under this NAAN. Repeatable.",
)
@click.option(
    "--prefix",
    "prefixes",
    multiple=True,
    metavar="ARK",
    help="… of ARKs that begin so. Repeatable.",
)
@click.option(
    "--host",
    "hosts",
    multiple=True,
    metavar="HOST",
    help="… of what this host is asked first. Repeatable.",
)
@click.option(
    "--limit", type=click.IntRange(min=1), help="With --due, --naan …: so many ARKs at most."
)
@fail_on_option
@request_options
def check(
    arks: tuple[str, ...],
    from_file: str | None,
    inventory: Path | None,
    form: str | None,
    explain: bool,
    conformance: bool,
    dry_run: bool,
    store_file: Path | None,
    resume: bool | None,
    due: bool,
    naans: tuple[str, ...],
    prefixes: tuple[str, ...],
    hosts: tuple[str, ...],
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
    arkaudit check --from dataset/ --store audit.db
    arkaudit check --inventory ours.csv --store audit.db
    arkaudit check --due --store audit.db -c arkaudit.toml
    arkaudit check --naan 12148 --store audit.db
    arkaudit check --inventory ours.csv --prefix ark:12148/bpt6
    """  # fmt: skip
    from crawler.spiders.seeds import parted

    if explain and form == "table":
        raise UserMistake(
            "an explanation does not fit into a table: give --explain alone, or with --format jsonl"
        )
    config = config_of(config_file, {**options, "conformance": conformance, "conformance_from": 1})
    dataset = _dataset(from_file)
    selection = _selection(naans, prefixes, hosts)
    from_lines = {} if dataset is not None else _lines(from_file)
    listed = _inventoried(inventory, selection)
    asked = [text for given in (*arks, *from_lines.values()) for text in parted(given)] + listed
    of_store = due or (bool(selection) and inventory is None)
    if of_store and (asked or dataset is not None):
        raise UserMistake(
            f"{'--due takes its' if due else '--naan, --prefix and --host take their'} ARKs from the store"
        )
    if selection and inventory is not None and (arks or from_file is not None or hosts):
        raise UserMistake(
            "--naan and --prefix choose from the inventory alone"
            if not hosts
            else "--host is for a store"
        )
    if dataset is not None and (arks or inventory is not None):
        raise UserMistake(
            f"{from_file} is a dataset, which is checked alone: check the other ARKs by another command"
        )
    if not of_store and not asked and not (dataset is not None and dataset.has_arks):
        empty = [str(file) for file in (from_file, inventory) if file is not None]
        raise UserMistake(
            f"nothing to check: there is no ARK in {' and '.join(empty)}"
            + (f" of {selection.words}" if selection else "")
            if empty
            else "nothing to check: give ARKs, --from FILE, --inventory FILE, or --due"
        )
    if of_store:
        from arkaudit.due import due_now, selected_now

        store_file = store_file or config.store or Path("audit.db")
        if due:
            again = due_now(store_file, config, selection=selection, limit=limit, is_dry=dry_run)
        else:
            again = selected_now(store_file, config, selection, limit=limit, is_dry=dry_run)
        if not again:
            return
    if dry_run:
        from arkaudit.forecast import tell_of_check, tell_of_dataset, tell_of_due

        if dataset is not None:
            tell_of_dataset(dataset, config)
        else:
            tell_of_due(again, config) if of_store else tell_of_check(asked, config)
        return
    from rich.console import Console

    from arkaudit.checking import checked, checked_again, checked_dataset
    from arkaudit.explaining import print_explanations
    from arkaudit.output_rows import print_verdicts, write_jsonl
    from arkaudit.triage_commands import tell_idle_in

    if of_store:
        assert store_file is not None
        done = checked_again(again, config, store_file, explain=explain)
    elif dataset is not None:
        done = checked_dataset(dataset, config, store_file, explain=explain, resume=resume)
    else:
        lines: defaultdict[str, list[str]] = defaultdict(list)
        for number, line in from_lines.items():
            for text in parted(line):
                lines[text].append(f"{from_file}:{number}")
        for text in listed:
            lines[text].append(str(inventory))
        done = checked(asked, config, store_file, lines=lines, explain=explain, resume=resume)
    if form == "table":
        print_verdicts(done.rows, Console())
    elif explain and form is None:
        print_explanations(done.rows, Console())
    else:
        write_jsonl(done.rows, sys.stdout)
    if done.was_interrupted:
        end_interrupted(can_go_on=store_file is not None)
    if store_file is not None:
        tell_idle_in(store_file, config)
    total = checked_words(done.families, done.lines_without_ark, done.known)
    hint = after_check(done.first_failing, store_file, config_file, is_explained=explain)
    tell_ending(done.faults, done.fault_count, total, hint)
    exit_on(fail_on, done.raised)


def _dataset(source: str | None) -> DatasetDocuments | None:
    """The dataset at *source*; None for what is none."""
    if source is None or not ("://" in source or Path(source).is_dir()):
        return None
    from arkaudit.datasets.documents import DatasetDocuments

    return DatasetDocuments.at(source)


def _lines(source: str | None) -> dict[int, str]:
    """The lines of a file that are not empty, by their numbers."""
    if source is None:
        return {}
    try:
        text = sys.stdin.read() if source == "-" else Path(source).read_text("utf-8-sig", "replace")
    except OSError as problem:
        raise UserMistake(f"{source} can't be read: {problem.strerror}") from None
    return {
        number: line.strip()
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip()
    }


def _inventoried(path: Path | None, selection: KnownSelection) -> list[str]:
    """The ARKs of an inventory that are selected."""
    if path is None:
        return []
    from arkaudit.reporting import listed_in

    listed = listed_in(path)
    assert listed is not None
    return [
        ark
        for ark in listed["ark"]
        if selection.names(ark, ark.partition(":")[2].partition("/")[0])
    ]


def _selection(
    naans: tuple[str, ...], prefixes: tuple[str, ...], hosts: tuple[str, ...]
) -> KnownSelection:
    from crawler.history.triaging import KnownSelection, beginning_of

    try:
        beginnings = tuple(map(beginning_of, prefixes))
    except ValueError as problem:
        raise UserMistake(str(problem)) from None
    return KnownSelection(
        tuple(naan.lower() for naan in naans), beginnings, tuple(host.lower() for host in hosts)
    )
