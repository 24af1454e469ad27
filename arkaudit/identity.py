"""The identity of those who audit: a key, and the page and directory of keys by which hosts learn who asks."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, PackageLoader

from arkaudit.config import Config
from arkaudit.exits import say
from crawler.wire.identity import DIRECTORY_PATH, DIRECTORY_TYPE, RequestSigner, new_key
from extractors.model.errors import UserMistake


def make_key(file: Path) -> str:
    """Make a key in *file*, and return its thumbprint. Raises `crawler.wire.identity.KeyUnusable`."""
    return RequestSigner(new_key(file)).keyid


def write_page(config: Config, folder: Path) -> None:
    """Write into *folder* what hosts find at the addresses that requests name. Raises `UserMistake`."""
    if config.identity is None:
        raise UserMistake("there is no [identity] in the configuration, with a key and an address")
    if config.is_anonymous:
        raise UserMistake("the page says who asks: set politeness.contact in the configuration")
    environment = Environment(
        loader=PackageLoader("reports.page"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    signer = config.identity.signer
    page = environment.get_template("identity.html.j2").render(
        config=config,
        signer=signer,
        mailto="mailto:" if "://" not in (config.politeness.contact or "") else "",
    )
    files = {"index.html": page + "\n", DIRECTORY_PATH: signer.directory}
    try:
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, "utf-8")
    except OSError as problem:
        raise UserMistake(f"{problem.filename} can't be written: {problem.strerror}") from None
    say(
        f"{folder}: publish index.html where your contact leads, and {DIRECTORY_PATH} at "
        f"{config.identity.agent}, with the media type {DIRECTORY_TYPE}"
    )
