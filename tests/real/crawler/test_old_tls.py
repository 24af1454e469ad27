"""Servers with a TLS of another age are asked and observed like any other."""

import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import trustme
from tlslite.api import HandshakeSettings, TLSConnection, X509CertChain, parsePEMKey
from tlslite.constants import CipherSuite, ExtensionType
from tlslite.messages import ClientHello

from tests.real.loopback import check_rows, outcomes, reply, serve_connections

HOST = "old.example"


class _WithoutRenegotiationInfo(TLSConnection):  # type: ignore[misc]
    """The server's side of a connection without secure renegotiation (RFC 5746, 2010)."""

    def _getMsg(self, *args: Any, **kwargs: Any) -> Iterator[Any]:
        for result in super()._getMsg(*args, **kwargs):
            if isinstance(result, ClientHello):
                signal = CipherSuite.TLS_EMPTY_RENEGOTIATION_INFO_SCSV
                result.cipher_suites = [suite for suite in result.cipher_suites if suite != signal]
                kept = [each for each in result.extensions if each.extType != ExtensionType.renegotiation_info]
                result.extensions = kept
            yield result


class OldServer:
    """Gives the same page to whatever is asked, but for robots.txt."""

    def __init__(self, certificate: trustme.LeafCert) -> None:
        self._chain, self._settings = X509CertChain(), HandshakeSettings()
        self._chain.parsePemList("".join(each.bytes().decode() for each in certificate.cert_chain_pems))
        self._key = parsePEMKey(certificate.private_key_pem.bytes().decode(), private=True)
        self._settings.maxVersion = (3, 3)  # 1.3 knows no renegotiation
        self.heads: list[bytes] = []

    def serve(self, connection: socket.socket) -> None:
        with connection, suppress(Exception):  # of who ends the handshake
            connection.settimeout(20)
            tls = _WithoutRenegotiationInfo(connection)
            tls.handshakeServer(certChain=self._chain, privateKey=self._key, settings=self._settings)
            head = bytes(tls.recv(65536))
            self.heads.append(head)
            page = reply(body="<title>An object</title>")
            tls.send(reply("404 Not Found") if b" /robots.txt " in head else page)
            tls.close()


@pytest.fixture
def certificate(tmp_path: Path) -> trustme.LeafCert:
    """Return that of the host, by the authority in ``ca.pem``."""
    authority = trustme.CA(key_type=trustme.KeyType.RSA)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    return authority.issue_cert(HOST, key_type=trustme.KeyType.RSA)


def check_old_server(server: OldServer, folder: Path, *options: str | Path) -> dict[str, Any]:
    with serve_connections(server.serve) as port:
        [row] = check_rows(
            "--connect-to", f"{HOST}:443=127.0.0.1:{port}", "--ca-file", folder / "ca.pem",
            *options, f"https://{HOST}/ark:/12x45/x5",
        )  # fmt: skip
    return row


def test_a_server_without_secure_renegotiation_is_observed(certificate: trustme.LeafCert, tmp_path: Path) -> None:
    row = check_old_server(OldServer(certificate), tmp_path)
    assert row["hops"][-1]["status"] == 200
    assert outcomes([row]) != ["tls"]


def test_server_without_secure_renegotiation_gets_no_secret(certificate: trustme.LeafCert, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(f'[hosts."{HOST}"]\nheaders = {{ Authorization = "Bearer t0ken-open-sesame" }}\n')
    server = OldServer(certificate)
    row = check_old_server(server, tmp_path, "-c", tmp_path / "a.toml")
    assert server.heads
    assert not any(b"open-sesame" in head for head in server.heads)
    assert row["hops"][-1]["status"] == 200
