"""The forecast of a run: its duration, and the requests that are counted."""

from arkaudit.audits.forecast import HostLoad, loads_of_arks, loads_of_crawl
from extractors.model.ark import Ark


def interval_of(host: str) -> float:
    return 0.25 if "own" in host else 1.0


def targets(**counts: int) -> list[tuple[Ark, str]]:
    return [
        (Ark("12x45", f"x{number}"), f"https://{name}.example/ark:/12x45/x{number}")
        for name, count in counts.items()
        for number in range(count)
    ]


def test_slowest_host_determines_the_duration() -> None:
    loads = loads_of_arks(targets(own=200, big=100, small=1), interval_of)
    assert [load.host for load in loads] == [f"https://{name}.example" for name in ("big", "own", "small")]
    assert (loads[0].least_requests, loads[0].most_requests, loads[0].least_duration_s) == (221, 421, 420.0)


def test_examples_and_tests_are_not_counted() -> None:
    assert loads_of_arks([(Ark("12345", "x"), "https://n2t.net/ark:/12345/x")], interval_of) == []


def test_crawl_forecast_uses_requests_of_the_last_run() -> None:
    loads = loads_of_crawl(["https://a.example/"], {"https://a.example": 300}, interval_of)
    assert loads == [HostLoad("https://a.example", 301, 301, 1.0)]
