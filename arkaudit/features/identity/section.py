"""The section ``identity`` of the configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

from arkaudit.configuration.setting_values import FilePath, checked_by, http_page, printable, resolver_url, with_extra
from arkaudit.configuration.settings import Section
from arkaudit.features.identity.signing import RequestSigner, read_key


def _directory_url(text: str) -> str:
    if not http_page(resolver_url(text, "a directory of keys")).startswith("https://"):
        raise ValueError(f"the directory of keys needs an https address, not {text!r}")
    return printable(text)


def _check_key_file(path: Path) -> None:
    """Raise ValueError if there is no usable key at *path*, or the library for signatures is missing."""
    read_key(with_extra(path, "http_message_signatures", "http-message-signatures", "identity"))


class Identity(Section):
    """Options for signed requests, which let hosts verify the sender (RFC 9421, Web Bot Auth)."""

    key: Annotated[FilePath, checked_by(_check_key_file)]
    """Made by `arkaudit identity new`; needs the extra `identity`."""
    agent: Annotated[str, AfterValidator(_directory_url)]
    """Where hosts find its public key."""

    @property
    def signer(self) -> RequestSigner:
        """The signer of requests. Raises `KeyUnusable` if the file is missing."""
        return RequestSigner(read_key(self.key), self.agent)
