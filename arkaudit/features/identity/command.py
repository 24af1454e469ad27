"""The command `identity`."""

from __future__ import annotations

import re
from pathlib import Path

import click

from arkaudit.commands.options import FILE, config_of, file_option, required_config_option
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
    from arkaudit.features.identity.signing import RequestSigner, new_key

    click.echo(RequestSigner(new_key(file)).keyid)


@identity.command("page", short_help="Write a page about the audit, and the directory of keys.")
@file_option("--out", default=Path("identity-page"), show_default=True, help="The folder for the files.")
@required_config_option
def identity_page(out: Path, config_file: Path) -> None:
    """Write the files to publish: a page for operators of audited hosts, and the directory of keys.

    \b
    arkaudit identity page -c arkaudit.toml --out public/
    """
    from arkaudit.features.identity.section import Identity
    from arkaudit.features.identity.signing import DIRECTORY_PATH, DIRECTORY_TYPE
    from arkaudit.output.exits import say
    from crawler.model.durable_files import durable_file, make_folder
    from reports.languages.templates import template

    config = config_of(config_file, {})
    section = config.section(Identity)
    if section is None:
        raise UserMistake("set key and agent under [identity] in the configuration")
    # A URL alone would be the address of this page.
    address = re.search(r"(?<![^\s:;,<>()])[^\s:;,<>()@]++@[^\s;,<>()]+", config.politeness.contact or "")
    if address is None:
        raise UserMistake(
            "the page needs an e-mail address: set politeness.contact in the configuration, "
            'for example to "https://library.example/arkaudit/; you@library.example"'
        )
    signer = section.signer
    page = template("identity.html.j2", __package__).render(config=config, signer=signer, address=address[0])
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
        f"{section.agent}, with the media type {DIRECTORY_TYPE}"
    )
