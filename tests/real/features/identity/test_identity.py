"""Signed requests as a host sees them, verified by code that shares nothing with the signer."""

import base64
import hashlib
import json
import stat
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import trustme
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from arkaudit.features.identity.signing import KeyUnusable, new_key, read_key
from tests.real.loopback import ON_LOOPBACK, RawServer, json_lines, outcomes, reply, run_command
from tests.unit.features.identity.test_identity import AGENT, TEST_KEY, Verifier

ARK = "ark:/98765/x5"


def test_a_key_is_its_owners_alone_and_never_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "key.pem"
    done = run_command("identity", "new", file)
    key = read_key(file)
    x = base64.urlsafe_b64encode(key.public_key().public_bytes_raw()).decode().rstrip("=")
    members = f'{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}'
    thumbprint = base64.urlsafe_b64encode(hashlib.sha256(members.encode()).digest())
    assert (done.returncode, done.stdout) == (0, thumbprint.decode().rstrip("=") + "\n")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    before = file.read_bytes()
    again = run_command("identity", "new", file)
    assert (again.returncode, again.stdout, file.read_bytes()) == (2, "", before)
    assert again.stderr == f"arkaudit: {file} exists already, and a key is never overwritten\n"
    assert [path.name for path in tmp_path.iterdir()] == ["key.pem"]


def pem(key: Any, password: bytes | None = None) -> bytes:
    hidden = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    data: bytes = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, hidden)
    return data


#: A key (PKCS #8) of an unregistered algorithm, 1.3.6.1.4.1.99999.1.
UNKNOWN_KEY = b"""-----BEGIN PRIVATE KEY-----
%s
-----END PRIVATE KEY-----
""" % base64.b64encode(bytes.fromhex("3014020100300b06092b06010401868d1f0104020400"))


@pytest.mark.parametrize(
    ("content", "mode", "words"),
    [
        pytest.param(None, 0o600, "can't be read: No such file", id="none"),
        pytest.param(pem(TEST_KEY), 0o640, "others can read", id="readable by a group"),
        pytest.param(pem(TEST_KEY), 0o604, "others can read", id="readable by all"),
        pytest.param(pem(TEST_KEY, b"x"), 0o600, "is not an Ed25519", id="with a password"),
        pytest.param(pem(rsa.generate_private_key(65537, 2048)), 0o600, "is not an Ed25519", id="of another kind"),
        pytest.param(b"\x00 no key", 0o600, "is not an Ed25519", id="no key at all"),
        pytest.param(UNKNOWN_KEY, 0o600, "is not an Ed25519", id="of an unknown algorithm"),
    ],
)
def test_a_key_that_can_not_be_used_is_one_line(content: bytes | None, mode: int, words: str, tmp_path: Path) -> None:
    file = tmp_path / "key.pem"
    if content is not None:
        file.write_bytes(content)
        file.chmod(mode)
    with pytest.raises(KeyUnusable, match=words):
        read_key(file)
    (tmp_path / "arkaudit.toml").write_text(f'[identity]\nkey = "key.pem"\nagent = "{AGENT}"\n')
    done = run_command("check", "-c", tmp_path / "arkaudit.toml", *ON_LOOPBACK, ARK)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "identity.key: " in done.stderr
    assert words in done.stderr


@pytest.mark.parametrize(
    "agent", ["http://library.example/", "library.example", "https://me:pw@library.example/", "https://é.example/"]
)  # fmt: skip
def test_the_directory_of_keys_is_at_an_https_address(agent: str, tmp_path: Path) -> None:
    new_key(tmp_path / "key.pem")
    (tmp_path / "arkaudit.toml").write_text(f'[identity]\nkey = "key.pem"\nagent = "{agent}"\n')
    done = run_command("check", "-c", tmp_path / "arkaudit.toml", *ON_LOOPBACK, ARK)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "identity.agent: " in done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a configuration, an identity, and its published files."""
    new_key(tmp_path / "key.pem")
    (tmp_path / "arkaudit.toml").write_text(
        f'[politeness]\ncontact = "ada@library.example"\n[identity]\nkey = "key.pem"\nagent = "{AGENT}"\n'
    )
    done = run_command("identity", "page", "-c", tmp_path / "arkaudit.toml", "--out", tmp_path / "public")
    assert done.returncode == 0, done.stderr
    assert "application/http-message-signatures-directory+json" in done.stderr
    return tmp_path


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('[politeness]\ncontact = "ada@library.example"\n', "under [identity]"),
        (f'[identity]\nkey = "key.pem"\nagent = "{AGENT}"\n', "the page needs an e-mail address"),
        (
            f'politeness.contact = "https://library.example/about/"\n[identity]\nkey = "key.pem"\nagent = "{AGENT}"\n',
            "the page needs an e-mail address",
        ),
    ],
)
def test_a_page_without_an_identity_or_a_contact_is_a_mistake(content: str, words: str, tmp_path: Path) -> None:
    new_key(tmp_path / "key.pem")
    (tmp_path / "arkaudit.toml").write_text(content)
    done = run_command("identity", "page", "-c", tmp_path / "arkaudit.toml", "--out", tmp_path / "public")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert words in done.stderr
    assert not (tmp_path / "public").exists()


def published_files(folder: Path) -> dict[str, Any]:
    directory = folder / "public/.well-known/http-message-signatures-directory"
    keys: dict[str, Any] = json.loads(directory.read_text())
    return keys


def test_identity_page_names_the_client_and_how_to_allow_it(folder: Path) -> None:
    page = (folder / "public/index.html").read_text()
    [key] = published_files(folder)["keys"]
    for words in (
        '<a href="mailto:ada@library.example">', AGENT, key["kid"], "Disallow: /", "Crawl-delay", "<code>/ark:</code>",
        "our address", "only waits",
    ):  # fmt: skip
        assert words.lower() in page.lower(), words
    assert key["use"] == "sig"
    assert "d" not in key


class Door:
    """Hosts on loopback that answer 403 to whatever isn't signed."""

    def __init__(self, verifier: Verifier) -> None:
        self.verifier = verifier
        self.refusals: list[str] = []
        self.servers: list[RawServer] = []

    def server(self, respond: Callable[[str], bytes], tls: trustme.LeafCert | None = None) -> RawServer:
        def respond_if_signed(target: str) -> bytes:
            self.refusals.append(self.verifier.refusal(server.heads[-1]))
            return reply("403 Forbidden") if self.refusals[-1] else respond(target)

        server = RawServer(respond_if_signed, tls=tls)
        self.servers.append(server)
        return server


def check_signature(door: Door, folder: Path, *arguments: str | Path) -> list[dict[str, Any]]:
    """Return the rows of a check whose ARK is redirected to another host and port, over TLS."""

    def resolver(target: str) -> bytes:
        if target == f"/{ARK}":
            return reply("302 Found", Location="https://Landing.example:8443/object")
        return reply("404 Not Found")

    with ExitStack() as stack:
        first = stack.enter_context(door.server(resolver))
        page = reply(body="<title>A map</title>A map of Lyon, drawn in 1702.")
        second = stack.enter_context(
            door.server(
                lambda target: page if target == "/object" else reply("404 Not Found"),
                trustme.CA().issue_cert("landing.example"),
            )
        )
        done = run_command(
            "check", *ON_LOOPBACK, "--attempts", "1", "--resolver", "http://resolver.example/",
            f"--connect-to=resolver.example:80=127.0.0.1:{first.port}",
            f"--connect-to=landing.example:8443=127.0.0.1:{second.port}",
            "--store", folder / "a.db", "--log-file", folder / "a.log", "--log-level", "debug", *arguments, ARK,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (folder / "said").write_text(done.stdout + done.stderr)
    return json_lines(done.stdout)


def test_signed_requests_are_admitted_with_a_signature_for_each_hop(folder: Path) -> None:
    door = Door(Verifier(published_files(folder)))
    rows = check_signature(door, folder, "-c", folder / "arkaudit.toml")
    assert outcomes(rows) == ["resolved"]
    assert set(door.refusals) == {""}
    first, second = door.servers
    assert second.targets[0] == "/object"
    assert "Host: Landing.example:8443\r\n" in second.heads[-1]
    rules = [head for server in door.servers for head in server.heads if "/robots.txt" in head]
    assert len(rules) == 2
    assert [door.verifier.refusal(head) for head in rules] == ["", ""]
    assert len(door.verifier.nonces) == len(first.heads) + len(second.heads)
    assert len(first.heads) > 3


def test_unsigned_requests_are_refused_by_a_signing_host(folder: Path) -> None:
    door = Door(Verifier(published_files(folder)))
    assert outcomes(check_signature(door, folder)) == ["blocked"]
    assert set(door.refusals) == {"it is not signed"}
    assert not any("Signature" in head for server in door.servers for head in server.heads)


def test_a_signature_is_soon_no_longer_valid(folder: Path) -> None:
    door = Door(Verifier(published_files(folder), clock=lambda: time.time() + 90))
    assert outcomes(check_signature(door, folder, "-c", folder / "arkaudit.toml")) == ["blocked"]
    assert set(door.refusals) == {"it is not valid now"}


def test_the_key_is_nowhere_but_in_its_file(folder: Path) -> None:
    check_signature(Door(Verifier(published_files(folder))), folder, "-c", folder / "arkaudit.toml")
    done = run_command("report", "--store", folder / "a.db", "--out", folder / "report", "--format", "all")
    assert done.returncode == 0, done.stderr
    dry = run_command("run", "-c", folder / "arkaudit.toml", "--dry-run", "https://a.example/")
    (folder / "more").write_text(done.stdout + done.stderr + dry.stdout + dry.stderr)
    raw = read_key(folder / "key.pem").private_bytes_raw()
    der = base64.b64decode("".join((folder / "key.pem").read_text().splitlines()[1:-1]))
    forms = {
        raw, raw.hex().encode(), raw.hex().upper().encode(), repr(raw)[2:-1].encode(), base64.b64encode(raw),
        base64.urlsafe_b64encode(raw).rstrip(b"="), base64.b64encode(der)[-40:], b"PRIVATE KEY",
    }  # fmt: skip
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "key.pem"]
    assert {"a.db", "a.log", "index.html", "said"} <= {path.name for path in files}
    for path in files:
        data = path.read_bytes()
        assert not [form for form in forms if form in data], path
    keyid = published_files(folder)["keys"][0]["kid"]
    assert keyid.encode() in (folder / "a.db").read_bytes()  # the run records the key


def test_a_proxy_gets_no_signature_of_a_tunnel(folder: Path) -> None:
    with RawServer(lambda _: reply("403 Forbidden")) as proxy:
        address = f"http://127.0.0.1:{proxy.port}"
        run_command(
            "check", "-c", folder / "arkaudit.toml", "--attempts", "1", "--timeout", "5", "--resolver",
            "https://resolver.example/", ARK, http_proxy=address, https_proxy=address,
        )  # fmt: skip
        assert proxy.heads
        assert all(head.startswith("CONNECT resolver.example:443 ") for head in proxy.heads)
        assert not any("signature" in head.lower() for head in proxy.heads)
