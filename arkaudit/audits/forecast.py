"""The requests of a run to each host and their minimum duration, for `--dry-run`."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from arkaudit.output import output_rows as rows
from extractors.model.ark import Ark
from extractors.model.files import is_file, path_exists
from extractors.model.urls import origin_of
from reports.languages.display import count_noun, duration, escape_invisible

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from arkaudit.configuration.config import Config
    from crawler.spiders.seeds import Seeds

#: Requests for an ARK without metadata, and with; `tests/real/crawler/test_asking.py` checks the figures.
LEAST_AN_ARK, MOST_AN_ARK = 2.2, 4.2
#: Number of hosts that are listed.
_MOST_ROWS = 40
_NOTES = (
    "targets of redirects get requests of their own, at their own intervals",
    "a host may want longer intervals (robots.txt) or pauses (Retry-After)",
    "nothing was sent",
)


@dataclass(frozen=True, slots=True)
class HostLoad:
    """The requests to one host."""

    host: str
    least_requests: int
    """Minimum number of requests, with robots.txt."""
    most_requests: int
    interval_s: float

    @property
    def least_duration_s(self) -> float:
        """The duration of `most_requests` at the minimum interval, in seconds."""
        return (self.most_requests - 1) * self.interval_s


def loads_of_arks(targets: Iterable[tuple[Ark, str]], interval_of: Callable[[str], float]) -> list[HostLoad]:
    """Return the load on each host of a check of ARKs at their URLs; example and test ARKs are not requested.

    *interval_of* returns the seconds between two requests to a host.
    """
    counts = Counter(origin_of(url) for ark, url in targets if not ark.is_skipped)
    return _loads({host: (count * LEAST_AN_ARK, count * MOST_AN_ARK) for host, count in counts.items()}, interval_of)


def loads_of_crawl(
    seeds: Iterable[str], requests_before: Mapping[str, int] | None, interval_of: Callable[[str], float]
) -> list[HostLoad]:
    """Return the load on each host of a crawl: *requests_before*, or if None, one request for each seed.

    *interval_of* returns the seconds between two requests to a host.
    """
    counts = Counter(map(origin_of, seeds)) if requests_before is None else requests_before
    return _loads({host: (count, count) for host, count in counts.items()}, interval_of)


def _loads(counts: Mapping[str, tuple[float, float]], interval_of: Callable[[str], float]) -> list[HostLoad]:
    """Return the load on each host from its least and largest number of requests, the slowest first.

    A request for robots.txt is added.
    """
    loads = [
        HostLoad(host, round(least) + 1, round(most) + 1, interval_of(host)) for host, (least, most) in counts.items()
    ]
    return sorted(loads, key=lambda load: (-load.least_duration_s, -load.most_requests, load.host))


def forecast_lines(loads: list[HostLoad]) -> Iterator[str]:
    """Yield the lines of a forecast: hosts, requests and durations, the slowest host first."""
    for load in loads[:_MOST_ROWS]:
        pace = f"one every {duration(load.interval_s)}" if load.interval_s else "without an interval"
        yield f"{load.host}: {_request_words([load])}, {pace}: at least {duration(load.least_duration_s)}"
    if len(loads) > _MOST_ROWS:
        yield f"and {len(loads) - _MOST_ROWS} hosts more"
    if loads:
        slowest = f"at least {duration(loads[0].least_duration_s)}: {loads[0].host} takes longest"
        yield f"{count_noun(len(loads), 'host')}, {_request_words(loads)}, {slowest}"
        yield from _NOTES
    else:
        yield f"no request would be sent; {_NOTES[-1]}"


def _request_words(loads: list[HostLoad]) -> str:
    """Return the number of requests of *loads* in words, as a range if it is not certain."""
    least, most = sum(load.least_requests for load in loads), sum(load.most_requests for load in loads)
    return f"{least} to {most} requests" if least < most else count_noun(most, "request")


# -- `--dry-run`


def print_forecast_of_arks(targets: Iterable[tuple[Ark, str]], config: Config) -> None:
    """Print the forecast for a check of ARKs at their URLs."""
    _print(loads_of_arks(targets, _interval_of(config)), [])


def print_forecast_of_run(seeds: Seeds, config: Config, store_file: Path) -> None:
    """Print the forecast for a run over *seeds*, from the requests of the last such run in the store.

    Raises `crawler.store.StoreUnopenable`.
    """
    requests_before = requests_of_last_run(store_file, seeds.names)
    basis_note = "estimated from the last run over these seeds"
    if requests_before is None:
        basis_note = "the number of documents and ARKs is not known before the first run over these seeds"
    note_lines = [basis_note]
    if config.memento.timegate:
        note_lines.append(f"for each ARK that fails, {config.memento.timegate} gets one request more")
    note_lines += (note for section in config.sections for note in section.forecast_notes())
    _print(loads_of_crawl(seeds.urls, requests_before, _interval_of(config)), note_lines)


def _interval_of(config: Config) -> Callable[[str], float]:
    return lambda host: config.allowance(host).interval_s


def _print(loads: list[HostLoad], note_lines: Iterable[str]) -> None:
    rows.write_all((f"{escape_invisible(line)}\n" for line in (*note_lines, *forecast_lines(loads))), sys.stdout)


def requests_of_last_run(store: Path, seeds: Iterable[str]) -> dict[str, int] | None:
    """Return the requests to each host in the newest finished run over exactly these *seeds*, or None.

    Raises `crawler.store.StoreUnopenable` for a file that is no store of this version.
    """
    if not path_exists(store) or (is_file(store) and store.stat().st_size == 0):
        return None
    from reports.store.store_reading import read_store

    seed_list = list(seeds)

    def newest_requests(connection: Connection) -> dict[str, int] | None:
        runs = "SELECT run_id, seeds FROM run WHERE command = 'run' AND state = 'finished' ORDER BY run_id DESC"
        traffic = "SELECT host, requests FROM host_traffic WHERE run_id = ?"
        for run_id, run_seeds in connection.exec_driver_sql(runs):
            if json.loads(run_seeds) == seed_list:
                return {row.host: row.requests for row in connection.exec_driver_sql(traffic, (run_id,))}
        return None

    return read_store(store, newest_requests)
