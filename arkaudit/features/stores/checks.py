"""Check a store, and prune its old runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection, exists, func, select

from arkaudit.features.stores.pruning import prune
from arkaudit.output.exits import EXIT_FINDING, say
from crawler.history.latest import DERIVED, is_pruned, rebuild_in_temporary_tables
from crawler.model import schema
from crawler.model.observations import ObjectOutcome
from crawler.store import StoreDamaged, StoreUnopenable
from crawler.store.database import unreadable_rows
from crawler.store.store import Store
from extractors.model.files import is_file
from reports.languages.display import count_noun, escape_invisible
from reports.store.store_reading import read_store

#: Limit on SQLite's lines about damage.
_MOST_LINES = 20


def check_store(store_file: Path) -> None:
    """Print the problems of a store; exit with 1 if there are any. Raises `crawler.store.StoreUnopenable`."""
    try:
        messages = read_store(
            store_file, lambda connection: list(unreadable_rows(connection)) or list(problems(connection))
        )
    except StoreDamaged as damage:
        messages = [str(damage)]
    for message in messages:
        sys.stdout.write(escape_invisible(message) + "\n")
    if messages:
        say(f"{store_file}: {len(messages)} {'problem' if len(messages) == 1 else 'problems'}")
        sys.exit(EXIT_FINDING)
    say(f"{store_file} is whole")


def problems(connection: Connection) -> Iterator[str]:
    """Yield messages about damage and contradictions in a store.

    Derived tables are rebuilt in temporary tables of *connection* and compared.
    """
    sqlite_messages = connection.exec_driver_sql(f"PRAGMA integrity_check({_MOST_LINES})").scalars().all()
    if sqlite_messages != ["ok"]:
        yield from (f"SQLite: {message}" for message in sqlite_messages)
        return
    for table, row, parent, _ in connection.exec_driver_sql("PRAGMA foreign_key_check"):
        yield f"{table} row {row}: its {parent} is missing"
    yield from _contradictions(connection)
    yield from _history_differences(connection)


def _contradictions(connection: Connection) -> Iterator[str]:
    """Yield messages about contradictory rows of runs, verdicts and observations."""
    run = schema.run.c
    endless_runs = select(run.run_id).where(run.state == "finished", run.ended_at.is_(None))
    for run_id in connection.scalars(endless_runs):
        yield f"run {run_id} is finished, but has no end time"
    verdict, observation = schema.verdict.c, schema.observation.c
    has_observation = exists().where(
        observation.run_id == verdict.run_id, observation.request_url == verdict.request_url
    )
    is_unfounded = (verdict.object != ObjectOutcome.SKIPPED, ~has_observation)
    for row in connection.execute(select(schema.verdict).where(*is_unfounded)):
        yield f"verdict {row.verdict_id} ({row.object} at {row.request_url}) has no observation to support it"
    hops = func.json_array_length(observation.hops)
    # Pruning deletes the hops of a run and keeps their number.
    has_pruned_hops = (hops == 0) & observation.run_id.in_(select(run.run_id).where(is_pruned()))
    is_miscounted = (observation.hop_count != func.max(hops - 1, 0)) & ~has_pruned_hops
    for observation_id in connection.scalars(select(observation.observation_id).where(is_miscounted)):
        yield f"observation {observation_id} has a wrong number of redirects"


def _history_differences(connection: Connection) -> Iterator[str]:
    """Rebuild the history in temporary tables, and yield messages about differences from the tables of the store."""
    rebuild_in_temporary_tables(connection)
    for table in DERIVED:
        key_names = {column.name for column in table.primary_key if not column.foreign_keys}
        column_list = ", ".join(column.name for column in table.columns if column.name not in key_names)
        differences = []
        for verb, left, right in (("lacks", "temp", "main"), ("has", "main", "temp")):
            query = f"SELECT {column_list} FROM {left}.{table.name} EXCEPT SELECT {column_list} FROM {right}.{table.name} LIMIT 2"
            rows = connection.exec_driver_sql(query)
            differences += [f"{verb} {tuple(row)}" for row in rows]
        if differences:
            yield f"{table.name} does not follow from the runs: {'; '.join(differences)}"


def prune_store(store_file: Path, *, runs: int | None, days: int | None) -> None:
    """Prune the runs of a store except the last *runs*, or those of the last *days*; print the result.

    Raises `crawler.store.StoreUnopenable` and `crawler.store.StoreUnwritable`.
    """
    if not is_file(store_file):
        raise StoreUnopenable(f"there is no store {store_file}")
    size_before = store_file.stat().st_size
    with Store.open(store_file) as store:
        pruned_runs = list(prune(store, now=datetime.now(UTC), runs=runs, days=days))
        store.shrink()  # also after an earlier call was interrupted
    if not pruned_runs:
        say(f"{store_file}: no run is old enough to be pruned")
        return
    freed_mb = max(size_before - store_file.stat().st_size, 0) / 1e6
    say(f"{store_file}: {count_noun(len(pruned_runs), 'run', 'runs')} pruned, {freed_mb:,.1f} MB freed")
