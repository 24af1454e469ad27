"""The requests that a run would send to each host, and the least time that takes: shown before anything is sent."""

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

from arkaudit.exits import say
from arkaudit.output_rows import whole
from crawler.model.observations import HostTraffic
from crawler.politeness.pacing import Allowance, host_of
from extractors.model.ark import Ark
from reports.languages.display import duration, escaped

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from arkaudit.config import Config
    from arkaudit.datasets.documents import DatasetDocuments
    from crawler.history.rechecking import KnownArk
    from crawler.spiders.seeds import Seeds


#: Questions that an ARK takes where it describes itself, and where it doesn't; `tests/test_asking.py` holds us to it.
LEAST_AN_ARK, MOST_AN_ARK = 2.2, 4.2
#: So many hosts are listed; the rest is summed up.
MOST_ROWS = 40


@dataclass(frozen=True, slots=True)
class HostPlan:
    """The requests to one host."""

    host: str
    arks: int | None
    """How many ARKs it would be asked for; None where only its answers can say."""
    least: int
    """Requests, robots.txt and a look at the certificate included."""
    most: int
    allowance: Allowance

    def seconds(self, requests: int) -> float:
        """Return how long so many requests take at least, at its interval."""
        return (requests - 1) * self.allowance.interval_s


@dataclass(frozen=True, slots=True)
class Forecast:
    """The requests to all hosts."""

    hosts: tuple[HostPlan, ...]
    """The one that takes longest first."""
    notes: tuple[str, ...] = ()
    """What is not known beforehand."""

    @property
    def slowest(self) -> HostPlan | None:
        """The host for which all others are waited for: hosts are asked side by side."""
        return self.hosts[0] if self.hosts else None


AllowanceOf = Callable[[str], Allowance]


def plan_of_arks(targets: Iterable[tuple[Ark, str]], allowance_of: AllowanceOf) -> Forecast:
    """The plan for asking about ARKs, each at its URL; examples and tests are not asked for."""
    hosts = _hosts_of_arks(targets, allowance_of)
    return Forecast(_slowest_first(hosts), _NOTES if hosts else ())


def plan_of_crawl(seeds: Sequence[str], past: PastRun | None, allowance_of: AllowanceOf) -> Forecast:
    """The plan for a run over *seeds*, which are URLs: as it was in the past, if there is any."""
    if past is None:
        counts = Counter(map(host_of, seeds))
        hosts = [_host_plan(host, None, counts[host], counts[host], allowance_of) for host in counts]
        unknown = "how many documents there are, and what they cite, is not known before the first run over these seeds"
        return Forecast(_slowest_first(hosts), (unknown, *_NOTES))
    plans = {}
    for traffic in past.traffic:
        allowance = allowance_of(traffic.host)
        interval_s = max(allowance.interval_s, traffic.crawl_delay_s or 0.0)
        slower = replace(allowance, interval_s=interval_s)
        plans[traffic.host] = HostPlan(traffic.host, None, traffic.requests, traffic.requests, slower)
    for plan in _hosts_of_arks(past.cited, allowance_of):
        before = plans.get(plan.host)
        if before is not None:  # it is asked by both spiders, at the interval that is known to hold
            least, most = before.least + plan.least, before.most + plan.most
            plan = replace(before, arks=plan.arks, least=least, most=most)
        plans[plan.host] = plan
    note = f"by what the run of {past.started_at} over these seeds took"
    return Forecast(_slowest_first(plans.values()), (note, *_NOTES))


def _hosts_of_arks(targets: Iterable[tuple[Ark, str]], allowance_of: AllowanceOf) -> list[HostPlan]:
    arks = Counter(host_of(url) for ark, url in targets if not ark.is_skipped)
    return [
        _host_plan(host, count, round(count * LEAST_AN_ARK), round(count * MOST_AN_ARK), allowance_of)
        for host, count in arks.items()
    ]


def _host_plan(host: str, arks: int | None, least: int, most: int, allowance_of: AllowanceOf) -> HostPlan:
    """The plan for a host, with what it gets once: a request for robots.txt, and a look at its certificate."""
    besides = 2 if host.startswith("https:") else 1
    return HostPlan(host, arks, least + besides, most + besides, allowance_of(host))


def _slowest_first(hosts: Iterable[HostPlan]) -> tuple[HostPlan, ...]:
    return tuple(sorted(hosts, key=lambda plan: (-plan.seconds(plan.most), -plan.most, plan.host)))


#: What is not known before hosts are asked.
_NOTES = (
    "where redirects lead is asked besides, at its own interval",
    "a host may want longer intervals (robots.txt) or pauses (Retry-After)",
)


# -- in words


def _table(plan: Forecast) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("host")
    for heading in ("ARKs", "requests", "interval", "at least"):
        table.add_column(heading, justify="right", no_wrap=True)
    for host in plan.hosts[:MOST_ROWS]:
        table.add_row(
            Text(escaped(host.host), overflow="fold"),
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
        yield "nothing would be sent"
    else:
        slowest = plan.slowest
        takes = span(duration(slowest.seconds(slowest.least)), duration(slowest.seconds(slowest.most)))
        hosts = f"{len(plan.hosts)} host{'s' if len(plan.hosts) > 1 else ''}"
        yield f"{hosts}, {span(str(least), str(most))} requests, at least {takes}: {slowest.host} takes longest"
    yield from plan.notes
    yield "nothing was sent"


def span(least: str, most: str) -> str:
    """From one value to another, or just the one.

    >>> span("4", "4"), span("4", "7"), span("4 min", "7 min"), span("50 s", "2 min")
    ('4', '4 to 7', '4 to 7 min', '50 s to 2 min')
    """
    if least == most:
        return least
    words = [(one, other) for one, other in zip_longest(least.split(), most.split())]
    same_unit = len(words) == 2 and words[1][0] == words[1][1]
    return f"{words[0][0] if same_unit else least} to {most}"


# Do what `--dry-run` does: list what would be asked of whom, and send and write nothing.


def tell_of_check(asked: Sequence[str], config: Config) -> None:
    """Print what a check of the lines *asked* would ask of whom."""
    from arkaudit.checking import targets

    _tell_of_arks(targets(asked, config), config)


def tell_of_due(again: Sequence[KnownArk], config: Config) -> None:
    """Print what a check of what is due would ask of whom."""
    _tell_of_arks([(Ark.parse(due_ark.ark), due_ark.request_url) for due_ark in again], config)


def tell_of_dataset(dataset: DatasetDocuments, config: Config) -> None:
    """Print what a check of a *dataset* would ask of whom."""
    from crawler.model.registry import cache_folder
    from crawler.model.registry import load as load_registry

    registry = load_registry(cache_folder())
    targets = dataset.targets(config.resolver)
    _tell_of_arks([(ark, url) for ark, url in targets if not registry.names_only(ark)], config)


def _tell_of_arks(targets: Sequence[tuple[Ark, str]], config: Config) -> None:
    _tell(plan_of_arks(_asked_at(targets, config), config.allowance), config)


def tell_of_run(seeds: Seeds, config: Config, store_file: Path) -> None:
    """Print what a run over *seeds* would ask of whom, as far as the last one in the store lets it be known.

    Raises `crawler.store.StoreUnopenable`.
    """
    past = last_run(store_file, seeds.names)
    _tell(plan_of_crawl(seeds.urls, past, config.allowance), config)


def _tell(plan: Forecast, config: Config) -> None:
    """Say what is asked besides, as far as only the answers show how much that is, and print the plan."""
    if config.memento.timegate:
        say(f"and of {config.memento.timegate}, about each ARK that fails: one to twenty requests")
    if config.render.enabled:
        most = f"up to {config.render.max_requests} requests of its own"
        say(f"and each page that only a browser shows once more, with {most}")
    console = Console()
    with whole(console):
        if plan.hosts:
            console.print(_table(plan))
        for line in _lines(plan):
            console.print(escaped(line), highlight=False, markup=False, soft_wrap=True)


def _asked_at(targets: Sequence[tuple[Ark, str]], config: Config) -> list[tuple[Ark, str]]:
    """The URLs where the objects are asked for first: with ``--direct``, that may be the registry's own target."""
    if not config.resolve.direct:
        return list(targets)
    from crawler.asking.questions import Places
    from crawler.model.registry import cache_folder
    from crawler.model.registry import load as load_registry

    registry = load_registry(cache_folder())
    asked = []
    for ark, url in targets:
        places = Places.of(ark, url, registry=registry, global_resolver=config.resolver)
        is_direct = places.at_registry is not None and places.at_global is None
        asked.append((ark, places.at_registry if is_direct and places.at_registry else url))
    return asked


# Read the traffic to each host in the last run over the same seeds, from a store that stays unchanged.

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
    """A run that came to its end, and what it took."""

    run_id: int
    started_at: str
    traffic: tuple[HostTraffic, ...]
    cited: tuple[tuple[Ark, str], ...] = ()
    """The ARKs that its documents cite, and where to ask for them, when they were not asked for yet."""


def last_run(store: Path, seeds: Sequence[str]) -> PastRun | None:
    """The newest finished crawl of just these *seeds*; None where there is none, or no store at all.

    Raises `reports.store.store_reading.StoreUnreadable` for a file that is no store of this version.
    """
    if not store.exists() or (store.is_file() and store.stat().st_size == 0):
        return None
    from reports.store.store_reading import read

    return read(store, lambda connection: _past_run(connection, seeds))


def _past_run(connection: Connection, seeds: Sequence[str]) -> PastRun | None:
    execute = connection.exec_driver_sql
    for run_id, command, started_at, run_seeds in execute(_RUNS):
        if json.loads(run_seeds) == list(seeds):
            traffic = tuple(HostTraffic(*row) for row in execute(_TRAFFIC, (run_id,)))
            cited = execute(_CITED, (run_id,)).all() if command == "crawl" else ()
            arks = tuple((Ark.parse(ark), url) for ark, url in cited)
            return PastRun(run_id, started_at, traffic, arks)
    return None
