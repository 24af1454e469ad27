"""Results of certificate probes in a store: which are reused on the same day."""

from pathlib import Path
from typing import Any

import pytest

from crawler.model.observations import TlsResult
from crawler.store.store import Store
from tests.real.loopback import RawServer, check_rows

ARK = "https://library.example/ark:/12x45/x5"


def check(server: RawServer, folder: Path, ca: str = "ca.pem") -> dict[str, Any]:
    route = f"--connect-to=library.example:443=127.0.0.1:{server.port}"
    [row] = check_rows(route, "--ca-file", folder / ca, "--store", folder / "a.db", ARK)
    return row


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
