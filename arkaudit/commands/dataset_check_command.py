"""Look after a dataset."""

from __future__ import annotations

import click


@click.group()
def dataset() -> None:
    """Look after a dataset, which `extract --out` makes: is it what was written?

    \b
    arkaudit dataset check dataset/
    """


@dataset.command("check", short_help="Whether a dataset is what was written.")
@click.argument("place", metavar="DATASET")
def dataset_check(place: str) -> None:
    """Read each file of a dataset (a folder, or s3://…) and report what is missing or damaged; exits with 1 if any is.

    The same `arkaudit extract … --out DATASET` makes again what this reports.

    \b
    arkaudit dataset check dataset/
    """
    from arkaudit.datasets.command import check_dataset

    check_dataset(place)
