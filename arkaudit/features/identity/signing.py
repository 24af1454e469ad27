"""Signs requests with a key of the operator, so that hosts can verify who asks.

HTTP Message Signatures (RFC 9421) in the profile of Web Bot Auth (draft-ietf-webbotauth-httpsig-protocol-01, which
replaces draft-meunier-web-bot-auth-architecture). A host that knows the public key may admit the request.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import stat
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

from crawler.model.durable_files import durable_file
from extractors.model.errors import UserMistake
from extractors.model.files import read_whole

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

#: The validity of a signature in seconds: enough for a slow handshake.
LIFETIME_S = 60
#: The path of the directory of keys on its host.
DIRECTORY_PATH = ".well-known/http-message-signatures-directory"
DIRECTORY_TYPE = "application/http-message-signatures-directory+json"
_LABEL = "sig1"
_MOST_BYTES = 2**16


class KeyUnusable(UserMistake, ValueError):
    """Raised for a file that can't be created or used as a private key; the message is one line."""


def new_key(path: Path) -> Ed25519PrivateKey:
    """Return a new key, and write it atomically to *path*, a file that only its owner can read.

    Raises `KeyUnusable` if the file exists or can't be written.
    """
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    try:
        with durable_file(path, replaces=False, mode=0o600) as file:
            file.write(pem)
    except FileExistsError:
        raise KeyUnusable(f"{path} exists already, and a key is never overwritten") from None
    except OSError as problem:
        raise KeyUnusable(f"{path} can't be created: {problem.strerror}") from None
    return key


def read_key(path: Path) -> Ed25519PrivateKey:
    """Return the key in the file at *path* (Ed25519, PEM). Raises `KeyUnusable`, also if other users can read the file."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        pem = read_whole(path, _MOST_BYTES)
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError as problem:
        raise KeyUnusable(f"the key {path} can't be read: {problem.strerror}") from None
    if mode & 0o077:
        raise KeyUnusable(f"others can read the key {path} (mode {mode:o}): chmod 600 {path}")
    try:
        key = load_pem_private_key(pem, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):  # a key with a password raises TypeError
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise KeyUnusable(f"{path} is not an Ed25519 private key in PEM without a password")
    return key


@dataclass(frozen=True)
class RequestSigner:
    """Signs requests with a key that is never shown."""

    key: Ed25519PrivateKey = field(repr=False)
    agent: str = ""
    """The https address of the directory of keys, for the header Signature-Agent."""

    @cached_property
    def jwk(self) -> dict[str, str]:
        """The public key as a JWK (RFC 8037, 2), its members sorted by name."""
        return {"crv": "Ed25519", "kty": "OKP", "x": _base64url(self.key.public_key().public_bytes_raw())}

    @cached_property
    def keyid(self) -> str:
        """The thumbprint of the key (RFC 7638; RFC 8037, A.3)."""
        members = json.dumps(self.jwk, separators=(",", ":"))
        return _base64url(hashlib.sha256(members.encode()).digest())

    def __str__(self) -> str:
        """Return the thumbprint of the key and the address of its directory."""
        return f"{self.keyid} at {self.agent}"

    @property
    def directory(self) -> str:
        """The directory of keys (RFC 7517, 5), as JSON."""
        return json.dumps({"keys": [{**self.jwk, "kid": self.keyid, "use": "sig"}]}) + "\n"

    def headers(self, origin: str) -> dict[str, str]:
        """Return the headers that sign one request to *origin* (``https://HOST[:PORT]/``), with a new nonce.

        Only the authority is signed: the library accepts only URLs of RFC 3986, and the URL of an ARK may not be one.
        """
        from http_message_signatures import HTTPMessageSigner, MappingKeyResolver, algorithms

        created_at = datetime.now(UTC)
        headers = {"Signature-Agent": f'{_LABEL}="{self.agent}"'}
        keys = MappingKeyResolver(public_keys={}, private_keys={self.keyid: self.key})
        HTTPMessageSigner(signature_algorithm=algorithms.ED25519, key_resolver=keys).sign(
            SimpleNamespace(method="GET", url=origin, headers=headers),
            key_id=self.keyid,
            created=created_at,
            expires=created_at + timedelta(seconds=LIFETIME_S),
            nonce=base64.b64encode(secrets.token_bytes(64)).decode(),
            label=_LABEL,
            tag="web-bot-auth",
            covered_component_ids=("@authority", f'"signature-agent";key="{_LABEL}"'),
        )
        return headers


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
