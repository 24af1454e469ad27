"""The command `dataset`."""

from __future__ import annotations

import re
from pathlib import Path

import click

from arkaudit.commands.options import config_of, from_places_option, listed_places, optional_config_option
from extractors.model.budget import core_count
from extractors.model.errors import UserMistake


@click.group()
def dataset() -> None:
    """Make a dataset of the ARKs that very many documents cite.

    \b
    arkaudit dataset make papers/ --out dataset/
    arkaudit check --from dataset/ --store audit.db      check the ARKs that it cites
    """


def _check_workers(_: click.Context, __: click.Parameter, workers: str | None) -> str | None:
    """Return *workers*, None, a number or the address of a scheduler. Raises `click.BadParameter` for other texts."""
    if workers is None or re.fullmatch(r"[1-9]\d{0,2}|[a-z]+://[^\s/]+", workers):
        return workers
    raise click.BadParameter(f"{workers!r} is neither a number from 1 to 999 nor the address of a scheduler (tcp://…)")


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
@optional_config_option
def dataset_make(
    places: tuple[str, ...],
    from_file: str | None,
    out: str,
    part_size: int,
    workers: str | None,
    config_file: Path | None,
) -> None:
    """Find and repair the ARKs that documents cite, and write them as Parquet files. The same command resumes.

    Documents are files, folders or objects (s3://…). Exits with 3 if all of them are unreadable, or parts failed.

    \b
    arkaudit dataset make papers/ --out dataset/
    arkaudit dataset make --from list.txt.gz --out dataset/ --workers 8
    """
    from arkaudit.features.datasets.making import make_dataset

    places = (*places, *listed_places(from_file))
    if not places:
        raise UserMistake("nothing to read: give files or folders, or --from FILE")
    config = config_of(config_file, {})
    make_dataset(
        places,
        out,
        workers=workers or str(config.jobs or core_count()),
        part_bytes=part_size * 2**20,
        declared=config.check_characters,
    )
