"""A host's certificate is probed once a day for all runs of a store, and every run keeps the result it used."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import trustme

from tests.real.loopback import RawServer, reply, select
from tests.unit.crawler.test_certificates import check


class CountingServer(RawServer):
    """Counts the connections that it accepts, those without a request too."""

    connections = 0

    def _serve(self, connection: Any) -> None:
        self.connections += 1
        super()._serve(connection)


@pytest.fixture
def expired_host(tmp_path: Path) -> Iterator[CountingServer]:
    """Yield a server whose certificate has expired; its authority is in ``ca.pem``."""
    authority, now = trustme.CA(), datetime.now(UTC)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    certificate = authority.issue_cert(
        "library.example", not_before=now - timedelta(days=20), not_after=now - timedelta(days=1)
    )
    with CountingServer(lambda _: reply("404 Not Found"), tls=certificate) as server:
        yield server


def probes(store: Path) -> list[tuple[Any, ...]]:
    return select(store, "select run_id, host, port, at, reason, means from tls_probe order by run_id")


def bare(server: CountingServer) -> int:
    """Return the number of connections without a request, which are probes."""
    return server.connections - len(server.request_lines)


def test_second_run_of_the_day_reuses_probe_results(expired_host: CountingServer, tmp_path: Path) -> None:
    today = datetime.now(UTC).date()
    first, handshakes, second = check(expired_host, tmp_path), bare(expired_host), check(expired_host, tmp_path)
    if datetime.now(UTC).date() != today:  # a new day began between the two: the next run is on that of the second
        first, handshakes, second = second, bare(expired_host), check(expired_host, tmp_path)
    assert handshakes >= 1
    assert bare(expired_host) == handshakes, "no further handshake"
    *_, one, other = probes(tmp_path / "a.db")
    assert (one[0] + 1, one[1:]) == (other[0], other[1:])
    told = "the certificate of library.example has expired (expired)"
    assert told in first["remarks"]
    assert told in second["remarks"]


def test_other_trusted_authorities_need_a_new_probe(expired_host: CountingServer, tmp_path: Path) -> None:
    trustme.CA().cert_pem.write_to_path(str(tmp_path / "other.pem"))
    check(expired_host, tmp_path)
    check(expired_host, tmp_path, "other.pem")
    assert bare(expired_host) == 2
    assert [row[4] for row in probes(tmp_path / "a.db")] == ["expired", "unknown-issuer"]
