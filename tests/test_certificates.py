"""A host's certificate is probed once a day for all runs of a store, and every run keeps the result it used."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import trustme

from crawler.model.observations import TlsResult
from crawler.store.store import Store
from tests.loopback import RawServer, check_rows, reply, select

ARK = "https://library.example/ark:/12x45/x5"


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


def check(server: RawServer, folder: Path, ca: str = "ca.pem") -> dict[str, Any]:
    route = f"--connect-to=library.example:443=127.0.0.1:{server.port}"
    [row] = check_rows(route, "--ca-file", folder / ca, "--store", folder / "a.db", ARK)
    return row


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


@pytest.mark.parametrize(
    ("kept", "day"),
    [
        (TlsResult("a.example", 443, True, "ok", "2026-11-20T23:59:59.999+00:00", "x"), "2026-11-21"),
        (TlsResult("a.example", 443, None, "not probed: timeout", "2026-11-20T10:00:00.000+00:00", "x"), "2026-11-20"),
        (TlsResult("a.example", 8443, True, "ok", "2026-11-20T10:00:00.000+00:00", "x"), "2026-11-20"),
        (TlsResult("b.example", 443, True, "ok", "2026-11-20T10:00:00.000+00:00", "x"), "2026-11-20"),
        (TlsResult("a.example", 443, True, "ok", "2026-11-20T10:00:00.000+00:00", "y"), "2026-11-20"),
    ],
    ids=["of the day before", "a failed probe", "of another port", "of another host", "by other means"],
)
def test_probe_results_that_are_not_reused(kept: TlsResult, day: str) -> None:
    with Store.open(None) as store:
        run = store.begin_run(
            command="check", at="2026-11-20T11:00:00.000+00:00", version="", resolver="", user_agent="", seeds=[]
        )
        store.record(run, [kept])
        assert store.tls_result_of_day("a.example", 443, day=day, means="x") is None


def test_the_latest_of_a_day_is_taken_over() -> None:
    results = [
        TlsResult("a.example", 443, hour == 9, f"at {hour}", f"2026-11-20T{hour:02}:00:00.000+00:00", "x")
        for hour in (8, 10, 9)
    ]
    with Store.open(None) as store:
        for result in results:
            run = store.begin_run(
                command="check", at="2026-11-20T11:00:00.000+00:00", version="", resolver="", user_agent="", seeds=[]
            )
            store.record(run, [result])
        assert store.tls_result_of_day("a.example", 443, day="2026-11-20", means="x") == results[1]
