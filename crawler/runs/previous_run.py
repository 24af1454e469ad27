"""Read the traffic to each host in the last run over the same seeds, from a store that stays unchanged."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from crawler.model.observations import HostTraffic
from crawler.store import NotOurStore, StoreDamaged
from crawler.store.files import distrust, is_damage, is_ours, not_a_file, require_our_schema, require_sound
from extractors.model.ark import Ark

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

    Raises `crawler.store.StoreUnopenable` for a file that is no store of this version.
    """
    instead = not_a_file(store)
    if instead:
        raise NotOurStore(f"{store} is {instead}, not a store")
    if not store.is_file() or store.stat().st_size == 0:
        return None
    # Next to a store at rest, SQLite would make two files just to read it, unless it is opened as immutable.
    at_rest = "&immutable=1" if not Path(f"{store}-wal").exists() else ""
    try:
        with closing(sqlite3.connect(f"{store.absolute().as_uri()}?mode=ro{at_rest}", uri=True)) as connection:
            distrust(connection)
            require_our_schema(connection.execute, store)
            require_sound(connection.execute, store)
            for run_id, command, started_at, run_seeds in connection.execute(_RUNS):
                if json.loads(run_seeds) == list(seeds):
                    traffic = tuple(HostTraffic(*row) for row in connection.execute(_TRAFFIC, (run_id,)))
                    cited = connection.execute(_CITED, (run_id,)) if command == "crawl" else ()
                    return PastRun(run_id, started_at, traffic, tuple((Ark.parse(ark), url) for ark, url in cited))
    except (sqlite3.DatabaseError, UnicodeDecodeError) as problem:
        if is_ours(store) and is_damage(problem):
            raise StoreDamaged(f"{store}: can't be read: {problem}") from problem
        raise NotOurStore(f"{store} can't be read as a store of arkaudit: {problem}") from problem
    return None
