"""Look after what is kept: `store` and `dataset`."""

from __future__ import annotations

from pathlib import Path

import click

from arkaudit.options import store_option


@click.group()
def store() -> None:
    """Look after a store: is it whole, may others read it, what do two of them know together.

    \b
    arkaudit store check --store audit.db
    arkaudit store export --store audit.db --out parquet/
    arkaudit store import other.db --store audit.db
    """


@store.command("check", short_help="Whether a store is whole.")
@store_option
def store_check(store_file: Path) -> None:
    """Look through a store for damage and contradictions, and report each; exits with 1 if there is any.

    \b
    arkaudit store check --store audit.db
    """
    from arkaudit.stores import check_store

    check_store(store_file)


@store.command("export", short_help="Each run as Parquet, for other tools.")
@store_option
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, help="The folder for the files."
)
def store_export(store_file: Path, out: Path) -> None:
    """Write each run as Parquet files, TABLE/run=KEY/part.parquet, sorted by NAAN and ARK; what is there stays.

    \b
    arkaudit store export --store audit.db --out parquet/
    """
    from arkaudit.stores import export_store

    export_store(store_file, out)


@store.command("import", short_help="Bring the runs of another store in.")
@click.argument("other", metavar="OTHER", type=click.Path(path_type=Path))
@store_option
def store_import(other: Path, store_file: Path) -> None:
    """Bring in the runs of another store that are not there yet; twice does no harm.

    \b
    arkaudit store import other.db --store audit.db
    """
    from arkaudit.stores import import_store

    import_store(other, store_file)


# Look after a dataset.


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
