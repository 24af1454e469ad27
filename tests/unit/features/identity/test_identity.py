"""Signatures of requests by the vectors of RFC 9421 and the drafts."""

import base64
import json
import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ed25519
from hypothesis import given
from hypothesis import strategies as st

from arkaudit.features.identity.signing import RequestSigner
from tests.vectors import vectors

AGENT = "https://library.example/.well-known/http-message-signatures-directory"

#: RFC 9421, B.1.4: a key for tests.
TEST_KEY = ed25519.Ed25519PrivateKey.from_private_bytes(
    base64.urlsafe_b64decode("n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU=")
)


def signature_base(inputs: str, derived: dict[str, str], fields: dict[str, str]) -> str:
    """Return the signature base (RFC 9421, 2.5) of one member of Signature-Input, written out."""
    parameters = inputs.partition("=")[2]
    lines = []
    for name, key in re.findall(r'"([^"]+)"(?:;key="(\w+)")?', parameters[: parameters.index(")")]):
        value = derived[name] if name.startswith("@") else fields[name]
        if key:
            value = next(part.removeprefix(f"{key}=") for part in value.split(", ") if part.startswith(f"{key}="))
        lines.append(f'"{name}"' + (f';key="{key}"' if key else "") + f": {value}")
    return "\n".join([*lines, f'"@signature-params": {parameters}'])


def signature_bytes(header: str) -> bytes:
    return base64.b64decode(header.partition("=:")[2].removesuffix(":"), validate=True)


class Verifier:
    """A host that lets only signed requests in, by a directory of keys."""

    def __init__(self, directory: dict[str, Any], *, clock: Callable[[], float] = time.time) -> None:
        self.keys = {row["kid"]: base64.urlsafe_b64decode(row["x"] + "=") for row in directory["keys"]}
        self.clock = clock
        self.nonces: list[str] = []

    def refusal(self, head: str) -> str:
        """Return the reason why the request with this head is refused; empty if it is admitted."""
        _, *lines = head.strip().split("\r\n")
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        if not {"signature", "signature-input", "signature-agent"} <= fields.keys():
            return "it is not signed"
        inputs = fields["signature-input"]
        told = dict(re.findall(r';(\w+)="?([^";]+)"?', inputs[inputs.index(")") :]))
        if fields["signature-agent"] != f'sig1="{AGENT}"' or told["keyid"] not in self.keys:
            return "it is a stranger's"
        if not inputs.startswith('sig1=("@authority" "signature-agent";key="sig1");'):
            return "too little is signed"
        if (told["tag"], told["alg"]) != ("web-bot-auth", "ed25519"):
            return "it is of another profile"
        if not int(told["created"]) - 2 <= self.clock() <= int(told["expires"]):
            return "it is not valid now"
        if int(told["expires"]) - int(told["created"]) > 60 or len(told["nonce"]) < 64:
            return "it is valid for too long, or its nonce is short"
        if told["nonce"] in self.nonces:
            return "it was seen before"
        self.nonces.append(told["nonce"])
        base = signature_base(inputs, {"@authority": fields["host"].lower()}, fields)
        key = ed25519.Ed25519PublicKey.from_public_bytes(self.keys[told["keyid"]])
        try:
            key.verify(signature_bytes(fields["signature"]), base.encode())
        except (InvalidSignature, ValueError):
            return "its signature is wrong"
        return ""


@pytest.mark.parametrize("row", vectors("signatures"))
def test_the_vectors_of_the_rfc_and_the_drafts_hold(row: dict[str, Any]) -> None:
    derived = {"@authority": row["authority"], "@method": row.get("method", "GET"), "@path": row.get("path", "/")}
    base = signature_base(row["input"], derived, row["fields"])
    assert TEST_KEY.sign(base.encode()) == signature_bytes(row["signature"])
    if "keyid=" in row["input"] and "test-key" not in row["input"]:
        assert f'keyid="{RequestSigner(TEST_KEY).keyid}"' in row["input"]


@given(
    name=st.from_regex(r"[a-z0-9]([a-z0-9_-]{0,20}[a-z0-9])?(\.[a-z]{2,9}){1,3}", fullmatch=True),
    port=st.one_of(st.just(""), st.integers(1, 65535).map(lambda number: f":{number}")),
)
def test_signatures_verify_for_any_host(name: str, port: str) -> None:
    signer = RequestSigner(TEST_KEY, AGENT)
    authority = f"{name}{port}"
    headers = signer.headers(f"https://{authority}/")
    expected = authority.removesuffix(":443") if port == ":443" else authority
    lines = [f"{name}: {value}" for name, value in {"Host": expected, **headers}.items()]
    head = "\r\n".join(["GET / HTTP/1.1", *lines, "", ""])
    verifier = Verifier(json.loads(signer.directory))
    assert verifier.refusal(head) == ""
    assert verifier.refusal(head) == "it was seen before"
    other = head.replace(f"Host: {expected}", "Host: other.example")
    assert Verifier(json.loads(signer.directory)).refusal(other) == "its signature is wrong"
