"""Forecast the requests of a run to each host and their minimum duration, for `--dry-run`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from arkaudit.output.exits import say
from arkaudit.output.output_rows import whole
from crawler.model.observations import HostTraffic
from crawler.politeness.pacing import Allowance
from extractors.model.ark import Ark
from extractors.model.files import is_file, path_exists
from extractors.model.urls import origin_of
from reports.languages.display import duration, escape_invisible

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from arkaudit.configuration.config import Config
    from arkaudit.datasets.documents import DatasetDocuments
    from crawler.history.rechecking import KnownArk
    from crawler.spiders.seeds import Seeds


#: Requests for an ARK with metadata, and for one without; `tests/test_asking.py` checks the figures.
LEAST_AN_ARK, MOST_AN_ARK = 2.2, 4.2
#: Number of hosts that are listed.
MOST_ROWS = 40


@dataclass(frozen=True, slots=True)
class HostPlan:
    """The requests to one host."""

    host: str
    arks: int | None
    """Number of ARKs to request; None if it depends on answers."""
    least: int
    """Minimum number of requests, with robots.txt and the certificate probe."""
    most: int
    """Maximum number of requests."""
    allowance: Allowance

    def seconds(self, requests: int) -> float:
        """Return the minimum duration of *requests* at the interval of the host."""
        return (requests - 1) * self.allowance.interval_s


@dataclass(frozen=True, slots=True)
class Forecast:
    """The requests to all hosts."""

    hosts: tuple[HostPlan, ...]
    """Hosts in descending order of duration."""
    notes: tuple[str, ...] = ()
    """Sentences about costs that are not known in advance."""

    @property
    def slowest(self) -> HostPlan | None:
        """The host that determines the duration, because hosts are asked in parallel."""
        return self.hosts[0] if self.hosts else None


AllowanceOf = Callable[[str], Allowance]


def plan_of_arks(targets: Iterable[tuple[Ark, str]], allowance_of: AllowanceOf) -> Forecast:
    """Return the forecast for a check of ARKs at their URLs; examples and tests are not requested."""
    hosts = _hosts_of_arks(targets, allowance_of)
    return Forecast(_slowest_first(hosts), _NOTES if hosts else ())


def plan_of_crawl(seeds: Sequence[str], past: PastRun | None, allowance_of: AllowanceOf) -> Forecast:
    """Return the forecast for a run over the URLs *seeds*, from the traffic of a *past* run if there is one."""
    if past is None:
        counts = Counter(map(origin_of, seeds))
        hosts = [_host_plan(host, None, counts[host], counts[host], allowance_of) for host in counts]
        unknown = "the number of documents and ARKs is not known before the first run over these seeds"
        return Forecast(_slowest_first(hosts), (unknown, *_NOTES))
    plans = {}
    for traffic in past.traffic:
        allowance = allowance_of(traffic.host)
        interval_s = max(allowance.interval_s, traffic.crawl_delay_s or 0.0)
        slower = replace(allowance, interval_s=interval_s)
        plans[traffic.host] = HostPlan(traffic.host, None, traffic.requests, traffic.requests, slower)
    for plan in _hosts_of_arks(past.cited, allowance_of):
        before = plans.get(plan.host)
        # Both spiders ask this host, at the interval of the past run.
        if before is not None:
            least, most = before.least + plan.least, before.most + plan.most
            plan = replace(before, arks=plan.arks, least=least, most=most)
        plans[plan.host] = plan
    note = f"estimated from the run of {past.started_at} over these seeds"
    return Forecast(_slowest_first(plans.values()), (note, *_NOTES))


def _hosts_of_arks(targets: Iterable[tuple[Ark, str]], allowance_of: AllowanceOf) -> list[HostPlan]:
    arks = Counter(origin_of(url) for ark, url in targets if not ark.is_skipped)
    return [
        _host_plan(host, count, round(count * LEAST_AN_ARK), round(count * MOST_AN_ARK), allowance_of)
        for host, count in arks.items()
    ]


def _host_plan(host: str, arks: int | None, least: int, most: int, allowance_of: AllowanceOf) -> HostPlan:
    """Return the plan for a host, with the request for robots.txt and the certificate probe."""
    besides = 2 if host.startswith("https:") else 1
    return HostPlan(host, arks, least + besides, most + besides, allowance_of(host))


def _slowest_first(hosts: Iterable[HostPlan]) -> tuple[HostPlan, ...]:
    return tuple(sorted(hosts, key=lambda plan: (-plan.seconds(plan.most), -plan.most, plan.host)))


_NOTES = (
    "targets of redirects get requests of their own, at their own intervals",
    "a host may want longer intervals (robots.txt) or pauses (Retry-After)",
)


def _table(plan: Forecast) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("host")
    for heading in ("ARKs", "requests", "interval", "at least"):
        table.add_column(heading, justify="right", no_wrap=True)
    for host in plan.hosts[:MOST_ROWS]:
        table.add_row(
            Text(escape_invisible(host.host), overflow="fold"),
            "" if host.arks is None else str(host.arks),
            span(str(host.least), str(host.most)),
            duration(host.allowance.interval_s),
            span(duration(host.seconds(host.least)), duration(host.seconds(host.most))),
        )
    return table


def _lines(plan: Forecast) -> Iterator[str]:
    if len(plan.hosts) > MOST_ROWS:
        yield f"and {len(plan.hosts) - MOST_ROWS} hosts more"
    least, most = (sum(getattr(host, name) for host in plan.hosts) for name in ("least", "most"))
    if plan.slowest is None:
        yield "no request would be sent"
    else:
        slowest = plan.slowest
        takes = span(duration(slowest.seconds(slowest.least)), duration(slowest.seconds(slowest.most)))
        hosts = f"{len(plan.hosts)} host{'s' if len(plan.hosts) > 1 else ''}"
        yield f"{hosts}, {span(str(least), str(most))} requests, at least {takes}: {slowest.host} takes longest"
    yield from plan.notes
    yield "nothing was sent"


def span(least: str, most: str) -> str:
    """Return the words for a range of two values, or for one if they are equal.

    >>> span("4", "4"), span("4", "7"), span("4 min", "7 min"), span("50 s", "2 min")
    ('4', '4 to 7', '4 to 7 min', '50 s to 2 min')
    """
    if least == most:
        return least
    words = [(one, other) for one, other in zip_longest(least.split(), most.split())]
    same_unit = len(words) == 2 and words[1][0] == words[1][1]
    return f"{words[0][0] if same_unit else least} to {most}"


# -- `--dry-run`


def print_check_forecast(asked: Sequence[str], config: Config) -> None:
    """Print the forecast for a check of the lines *asked*."""
    from arkaudit.audits.checking import targets

    _print_ark_forecast(targets(asked, config), config)


def print_due_forecast(again: Sequence[KnownArk], config: Config) -> None:
    """Print the forecast for a check of due ARKs."""
    _print_ark_forecast([(Ark.parse(due_ark.ark), due_ark.request_url) for due_ark in again], config)


def print_dataset_forecast(dataset: DatasetDocuments, config: Config) -> None:
    """Print the forecast for a check of a *dataset*."""
    from crawler.model.registry import load_registry

    registry = load_registry()
    targets = dataset.targets(config.resolver)
    _print_ark_forecast([(ark, url) for ark, url in targets if not registry.is_shoulder(ark)], config)


def _print_ark_forecast(targets: Sequence[tuple[Ark, str]], config: Config) -> None:
    """Print the forecast for a check of ARKs. With ``--direct``, some are first requested at the registry's target."""
    if config.resolve.direct:
        from crawler.asking.questions import FallbackUrls
        from crawler.model.registry import load_registry

        registry = load_registry()
        asked = []
        for ark, url in targets:
            fallbacks = FallbackUrls.for_ark(ark, url, registry=registry, global_resolver=config.resolver)
            is_direct = fallbacks.at_registry is not None and fallbacks.at_global is None
            asked.append((ark, fallbacks.at_registry if is_direct and fallbacks.at_registry else url))
        targets = asked
    _print_forecast(plan_of_arks(targets, config.allowance), config)


def print_run_forecast(seeds: Seeds, config: Config, store_file: Path) -> None:
    """Print the forecast for a run over *seeds*, from the last one in the store.

    Raises `crawler.store.StoreUnopenable`.
    """
    past = last_run(store_file, seeds.names)
    _print_forecast(plan_of_crawl(seeds.urls, past, config.allowance), config)


def _print_forecast(plan: Forecast, config: Config) -> None:
    """Print a forecast, after notes about requests whose number depends on answers."""
    if config.memento.timegate:
        say(f"for each ARK that fails, {config.memento.timegate} gets one request more")
    if config.render.enabled:
        most = f"up to {config.render.max_requests} requests of its own"
        say(f"each page that needs JavaScript is fetched once more, with {most}")
    console = Console()
    with whole(console):
        if plan.hosts:
            console.print(_table(plan))
        for line in _lines(plan):
            console.print(escape_invisible(line), highlight=False, markup=False, soft_wrap=True)


# -- the last run over the same seeds

_RUNS = """
    select run_id, command, started_at, seeds from run
    where command in ('run', 'crawl') and state = 'finished' order by run_id desc
"""
_CITED = """
    select distinct ark.ark, mention.request_url
    from mention join ark using (ark_id) join document using (document_id)
    where document.run_id = ? and mention.request_url is not null and not exists (
        select * from mention as later where later.document_id = mention.document_id
        and later.ordinal = mention.ordinal and later.decided > mention.decided
    )
    order by 1, 2
"""
_TRAFFIC = "select host, requests, failures, interval_s, crawl_delay_s, given_up from host_traffic where run_id = ?"


@dataclass(frozen=True, slots=True)
class PastRun:
    """A finished run and its traffic."""

    run_id: int
    started_at: str
    traffic: tuple[HostTraffic, ...]
    cited: tuple[tuple[Ark, str], ...] = ()
    """ARKs of a crawl, which were not requested yet, with their request URLs."""


def last_run(store: Path, seeds: Sequence[str]) -> PastRun | None:
    """Return the newest finished run or crawl over exactly these *seeds*, or None.

    Raises `crawler.store.StoreUnopenable` for a file that is no store of this version.
    """
    if not path_exists(store) or (is_file(store) and store.stat().st_size == 0):
        return None
    from reports.store.store_reading import read_store

    def newest(connection: Connection) -> PastRun | None:
        execute = connection.exec_driver_sql
        for run_id, command, started_at, run_seeds in execute(_RUNS):
            if json.loads(run_seeds) == list(seeds):
                traffic = tuple(HostTraffic(*row) for row in execute(_TRAFFIC, (run_id,)))
                cited = execute(_CITED, (run_id,)).all() if command == "crawl" else ()
                arks = tuple((Ark.parse(ark), url) for ark, url in cited)
                return PastRun(run_id, started_at, traffic, arks)
        return None

    return read_store(store, newest)
