"""The commands `identity`, `registry` and `store`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from arkaudit.commands.options import (
    FILE,
    asking_options,
    config_of,
    file_option,
    required_config_option,
    store_option,
    table_option,
)
from extractors.model.errors import UserMistake


@click.group()
def identity() -> None:
    """Make a key that signs requests, and a page that tells operators of hosts about the audit.

    \b
    arkaudit identity new key.pem                 make the key, for [identity] in the configuration
    arkaudit identity page -c arkaudit.toml       write the page and the directory of keys, for your web server
    """


@identity.command("new", short_help="Make a key that signs requests.")
@click.argument("file", type=FILE)
def identity_new(file: Path) -> None:
    """Make a private key (Ed25519) that only you can read, and print its thumbprint. Existing files are kept.

    \b
    arkaudit identity new key.pem
    """
    from crawler.wire.identity import RequestSigner, new_key

    click.echo(RequestSigner(new_key(file)).keyid)


@identity.command("page", short_help="Write a page about the audit, and the directory of keys.")
@file_option("--out", default=Path("identity-page"), show_default=True, help="The folder for the files.")
@required_config_option
def identity_page(out: Path, config_file: Path) -> None:
    """Write the files to publish: a page for operators of audited hosts, and the directory of keys.

    \b
    arkaudit identity page -c arkaudit.toml --out public/
    """
    from arkaudit.output.exits import say
    from crawler.model.durable_files import durable_file, make_folder
    from crawler.wire.identity import DIRECTORY_PATH, DIRECTORY_TYPE
    from reports.page import template

    config = config_of(config_file, {})
    if config.identity is None:
        raise UserMistake("set key and agent under [identity] in the configuration")
    # A URL alone would be the address of this page.
    address = re.search(r"(?<![^\s:;,<>()])[^\s:;,<>()@]++@[^\s;,<>()]+", config.politeness.contact or "")
    if address is None:
        raise UserMistake(
            "the page needs an e-mail address: set politeness.contact in the configuration, "
            'for example to "https://library.example/arkaudit/; you@library.example"'
        )
    signer = config.identity.signer
    page = template("identity.html.j2").render(config=config, signer=signer, address=address[0])
    files = {"index.html": page, DIRECTORY_PATH: signer.directory}
    try:
        for name, text in files.items():
            make_folder((out / name).parent)
            with durable_file(out / name) as file:
                file.write(text.encode())
    except OSError as problem:
        raise UserMistake(f"{problem.filename} can't be written: {problem.strerror}") from None
    say(
        f"{out}: publish index.html, name its URL in politeness.contact, and publish {DIRECTORY_PATH} at "
        f"{config.identity.agent}, with the media type {DIRECTORY_TYPE}"
    )


@click.group()
def registry() -> None:
    """Look up who assigns ARKs under a NAAN or shoulder, and where they resolve, in the public NAAN registry.

    \b
    arkaudit registry update                      fetch the newest copy
    arkaudit registry show 12148                  show the entry of a NAAN
    """


@registry.command("update", short_help="Fetch the newest copy of the NAAN registry.")
@click.argument("source", metavar="[URL|FILE]", required=False)
@asking_options
def registry_update(source: str | None, config_file: Path | None, **options: Any) -> None:
    """Update the copy in the user's cache from the public registry, or from a URL or file.

    Invalid data never replaces the copy. The environment variable ARKAUDIT_CACHE names another folder for the cache.

    \b
    arkaudit registry update
    arkaudit registry update naan_records.json
    """

    from arkaudit.upkeep.naan_registry import update_copy

    update_copy(source, config_of(config_file, options))


@registry.command("show", short_help="Show the registry's entry for a NAAN, a shoulder or an ARK.")
@click.argument("asked", metavar="NAAN|NAAN/SHOULDER|ARK")
@table_option
def registry_show(asked: str, form: str) -> None:
    """Print the organization, start and resolver of a NAAN or shoulder, and the age of the copy.

    Exits with 1 if the registry has no entry. Without a copy, only a few well-known NAANs are known.

    \b
    arkaudit registry show 12148
    arkaudit registry show 99166/w6
    arkaudit registry show ark:/12148/btv1b8449691v --format json
    """
    from arkaudit.upkeep.naan_registry import show

    show(asked, form)


@click.group()
def store() -> None:
    """Check and prune stores.

    \b
    arkaudit store check --store audit.db
    arkaudit store prune --store audit.db --keep 12-runs
    """


@store.command("check", short_help="Look for damage and contradictions in a store.")
@store_option
def store_check(store_file: Path) -> None:
    """Look for damage and contradictions in a store, and print them; exits with 1 if there are any.

    \b
    arkaudit store check --store audit.db
    """
    from arkaudit.upkeep.stores import check_store

    check_store(store_file)


class _Keep(click.ParamType[Any]):
    """The runs to keep: a number of runs or of days."""

    name = "N-runs|N-days"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, int | None]:
        match = re.fullmatch(r"([1-9][0-9]{0,5})[- ]?(run|day)s?", str(value).strip())
        if match is None:
            self.fail(f"{value!r} is not a number of runs or days, such as 12-runs or 365-days", param, ctx)
        return {"runs": None, "days": None} | {f"{match[2]}s": int(match[1])}


@store.command("prune", short_help="Remove the answers of old runs, not their verdicts.")
@store_option
@click.option(
    "--keep", type=_Keep(), required=True, help="Runs to leave whole: the last N, or those of the last N days."
)
def store_prune(store_file: Path, keep: dict[str, int | None]) -> None:
    """Remove the answers of old runs from a store. The last run is always kept.

    Verdicts, events, citations and the evidence of failures stay, as do the digests that the history needs.

    \b
    arkaudit store prune --store audit.db --keep 12-runs
    arkaudit store prune --store audit.db --keep 365-days
    """
    from arkaudit.upkeep.stores import prune_store

    prune_store(store_file, **keep)
