"""Look after what an audit needs and keeps: `doctor`, `demo`, `identity`, `registry`, `store` and `dataset`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from arkaudit.options import (
    FILE,
    asking_options,
    config_of,
    file_option,
    lang_option,
    required_config_option,
    store_option,
    table_option,
)
from extractors.model.errors import UserMistake


@click.command()
@click.option(
    "-c",
    "--config",
    "config_file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="The configuration.  [default: arkaudit.toml, if there is one]",
)
@click.option(
    "--store", type=click.Path(path_type=Path, exists=True), help="A store.  [default: those of the configuration]"
)
@table_option
def doctor(config_file: Path | None, store: Path | None, form: str) -> None:
    """Say what is installed, configured and reachable on this machine, and what is missing.

    No request is sent. Exits with 1 when an audit would fail.

    \b
    arkaudit doctor
    arkaudit doctor -c arkaudit.toml
    """

    from arkaudit.doctor import examine

    examine(config_file, store, show=form)


# Show the whole audit at work on this machine.


@click.command()
@file_option("--out", default=Path("demo-report"), show_default=True, help="Where the report goes.")
@lang_option
def demo(out: Path, lang: str | None) -> None:
    """Run the whole audit on real documents over a web on this machine's loopback; no network is needed.

    \b
    pip install 'arkaudit[demo]'
    arkaudit demo
    """
    try:
        from arkaudit.demo.show import show
    except ModuleNotFoundError as missing:
        raise UserMistake(f"the demo needs {missing.name}: pip install 'arkaudit[demo]'") from None
    from rich.console import Console

    sys.exit(show(out, Console(), lang=lang))


# Make what hosts can verify of who asks.


@click.group()
def identity() -> None:
    """Make a key that signs requests, and the page by which hosts learn who asks and how to let them in.

    \b
    arkaudit identity new key.pem                 the key, for [identity] in the configuration
    arkaudit identity page -c arkaudit.toml       the page and the directory of keys, to be published
    """


@identity.command("new", short_help="Make a key that signs requests.")
@click.argument("file", type=FILE)
def identity_new(file: Path) -> None:
    """Make a private key (Ed25519) that only you can read, and print its thumbprint; what is there is never overwritten.

    \b
    arkaudit identity new key.pem
    """
    from crawler.wire.identity import RequestSigner, new_key

    click.echo(RequestSigner(new_key(file)).keyid)


@identity.command("page", short_help="Write the page about who asks, and the directory of keys.")
@file_option("--out", default=Path("identity-page"), show_default=True, help="The folder for the files.")
@required_config_option
def identity_page(out: Path, config_file: Path) -> None:
    """Write what is to be published: a page for those whose hosts are asked, and the directory of keys.

    \b
    arkaudit identity page -c arkaudit.toml --out public/
    """
    from arkaudit.exits import say
    from crawler.model.durable_files import durable_file, make_folder
    from crawler.wire.identity import DIRECTORY_PATH, DIRECTORY_TYPE
    from reports.page import template

    config = config_of(config_file, {})
    if config.identity is None:
        raise UserMistake("there is no [identity] in the configuration, with a key and an address")
    if config.is_anonymous:
        raise UserMistake("the page says who asks: set politeness.contact in the configuration")
    signer = config.identity.signer
    page = template("identity.html.j2").render(
        config=config, signer=signer, mailto="mailto:" if "://" not in (config.politeness.contact or "") else ""
    )
    files = {"index.html": page, DIRECTORY_PATH: signer.directory}
    try:
        for name, text in files.items():
            make_folder((out / name).parent)
            with durable_file(out / name) as file:
                file.write(text.encode())
    except OSError as problem:
        raise UserMistake(f"{problem.filename} can't be written: {problem.strerror}") from None
    say(
        f"{out}: publish index.html where your contact leads, and {DIRECTORY_PATH} at "
        f"{config.identity.agent}, with the media type {DIRECTORY_TYPE}"
    )


# Keep and show a copy of the NAAN registry.


@click.group()
def registry() -> None:
    """Show who assigns ARKs under a NAAN or shoulder, and where they resolve: a copy of the public NAAN registry.

    \b
    arkaudit registry update                      fetch the newest copy
    arkaudit registry show 12148                  what it says of a NAAN
    """


@registry.command("update", short_help="Fetch the newest copy of the NAAN registry.")
@click.argument("source", metavar="[URL|FILE]", required=False)
@asking_options
def registry_update(source: str | None, config_file: Path | None, **options: Any) -> None:
    """Bring the copy in the user's cache up to date, from the public registry or from a URL or file.

    What is no registry never replaces the copy. The environment variable ARKAUDIT_CACHE says where else to keep it.

    \b
    arkaudit registry update
    arkaudit registry update naan_records.json
    """

    from arkaudit.naan_registry import bring_up_to_date

    bring_up_to_date(source, config_of(config_file, options))


@registry.command("show", short_help="What the registry says of a NAAN, a shoulder or an ARK.")
@click.argument("asked", metavar="NAAN|NAAN/SHOULDER|ARK")
@table_option
def registry_show(asked: str, form: str) -> None:
    """Print who assigns under a NAAN or shoulder since when, where it resolves, and how old that knowledge is.

    Exits with 1 when the registry has nothing about it. Without a copy, a few well-known NAANs are built in.

    \b
    arkaudit registry show 12148
    arkaudit registry show 99166/w6
    arkaudit registry show ark:/12148/btv1b8449691v --format json
    """
    from arkaudit.naan_registry import show

    show(asked, form)


# Look after a store.


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
@file_option("--out", required=True, help="The folder for the files.")
def store_export(store_file: Path, out: Path) -> None:
    """Write each run as Parquet files, TABLE/run=KEY/part.parquet, sorted by NAAN and ARK; what is there stays.

    \b
    arkaudit store export --store audit.db --out parquet/
    """
    from arkaudit.stores import export_store

    export_store(store_file, out)


@store.command("import", short_help="Bring the runs of another store in.")
@click.argument("other", metavar="OTHER", type=FILE)
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
