"""The command `dataset`."""

from __future__ import annotations

import re
from pathlib import Path

import click

from arkaudit.commands.options import (
    config_of,
    flag,
    from_places_option,
    listed_places,
    optional_config_option,
    repeatable,
)
from arkaudit.output.exits import NEVER, end_unread, exit_on
from crawler.model.outcomes import DocumentOutcome
from extractors.model.budget import cores
from extractors.model.errors import UserMistake

_MOST_WORKERS = 256


@click.group()
def dataset() -> None:
    """Make a dataset of the ARKs that very many documents cite, or verify one.

    \b
    arkaudit dataset make papers/ --out dataset/
    arkaudit dataset check dataset/
    arkaudit check --from dataset/ --store audit.db      check the ARKs that it cites
    """


def _check_workers(_: click.Context, __: click.Parameter, given: str | None) -> str | None:
    """Return *given* if it is a number of workers or the address of a scheduler. Raises `click.BadParameter`."""
    if given is None or re.fullmatch(r"[a-z]+://[^\s/]+", given):
        return given
    if given.isdecimal() and 0 < int(given) <= _MOST_WORKERS:
        return given
    raise click.BadParameter(
        f"{given!r} is neither a number from 1 to {_MOST_WORKERS} nor the address of a scheduler (tcp://…)"
    )


@dataset.command("make", short_help="Make a dataset of documents, or resume it.")
@click.argument("places", metavar="PATH…", nargs=-1)
@from_places_option
@click.option("--out", metavar="FOLDER|s3://…", required=True, help="Make the dataset there, or resume it.")
@click.option(
    "--part-size", type=click.IntRange(min=1), default=128, show_default=True, metavar="MB", help="Size of a part."
)
@click.option(
    "--workers",
    callback=_check_workers,
    metavar="N|ADDRESS",
    help="Number of processes on this machine, or a Dask scheduler (tcp://…, tls://…).  [default: one for each core]",
)
@flag("--dry-run", help="Print the number and size of the files without reading them.")
@repeatable(
    "--fail-on",
    type=click.Choice([NEVER, DocumentOutcome.UNREADABLE.value]),
    help="Exit with 1 if a document is unreadable.",
)
@optional_config_option
def dataset_make(
    places: tuple[str, ...],
    from_file: str | None,
    out: str,
    part_size: int,
    workers: str | None,
    dry_run: bool,
    fail_on: tuple[str, ...],
    config_file: Path | None,
) -> None:
    """Find and repair the ARKs that documents cite, and write them as Parquet files. The same command resumes.

    Documents are files, folders or objects (s3://…). Exits with 3 if all of them are unreadable, or parts failed.

    \b
    arkaudit dataset make papers/ --out dataset/
    arkaudit dataset make --from list.txt.gz --out dataset/ --workers 8
    """
    from arkaudit.features.datasets.making import make_dataset, print_amount

    places = (*places, *listed_places(from_file))
    if not places:
        raise UserMistake("nothing to read: give files or folders, or --from FILE")
    if "-" in places:
        raise UserMistake("a dataset is made of files, not of standard input")
    part_bytes = part_size * 2**20
    config = config_of(config_file, {})
    if dry_run:
        print_amount(places, out, part_bytes=part_bytes)
        return
    made = make_dataset(places, out, workers=workers or str(config.jobs or cores()), part_bytes=part_bytes)
    if not made.files or 0 < made.unreadable == made.manifest.tables["documents"].rows:
        end_unread("nothing", made.first_unreadable)
    exit_on(fail_on, [DocumentOutcome.UNREADABLE.value] * bool(made.unreadable))


@dataset.command("check", short_help="Verify the checksums of a dataset.")
@click.argument("place", metavar="DATASET")
def dataset_check(place: str) -> None:
    """Verify each file of a dataset (a folder, or s3://…), and print missing and damaged ones.

    Exits with 1 if there are any. The same `arkaudit dataset make … --out DATASET` makes them again.

    \b
    arkaudit dataset check dataset/
    """
    from arkaudit.features.datasets.making import check_dataset

    check_dataset(place)
