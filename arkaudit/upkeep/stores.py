"""Check a store, and prune its old runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection, exists, func, select

from arkaudit.output.exits import EXIT_FINDING, say
from crawler.history.latest import DERIVED, is_pruned, rebuild_in_temporary_tables
from crawler.model import schema
from crawler.model.observations import ObjectOutcome
from crawler.store import StoreDamaged, StoreUnopenable
from crawler.store.database import unreadable_rows
from crawler.store.pruning import prune
from crawler.store.store import Store
from extractors.model.files import is_file
from reports.languages.display import count_noun, escape_invisible
from reports.store.frames import read_store

#: Limit on SQLite's lines about damage.
_MOST_LINES = 20


def check_store(store_file: Path) -> None:
    """Print the problems of a store; exit with 1 if there are any. Raises `crawler.store.StoreUnopenable`."""
    try:
        damage = read_store(
            store_file, lambda connection: list(unreadable_rows(connection)) or list(problems(connection))
        )
    except StoreDamaged as failure:
        damage = [str(failure)]
    for problem in damage:
        sys.stdout.write(escape_invisible(problem) + "\n")
    if damage:
        say(f"{store_file}: {len(damage)} {'problem' if len(damage) == 1 else 'problems'}")
        sys.exit(EXIT_FINDING)
    say(f"{store_file} is whole")


def problems(connection: Connection) -> Iterator[str]:
    """Yield messages about all problems of a store.

    Derived tables are rebuilt in temporary tables of *connection* and compared.
    """
    lines = connection.exec_driver_sql(f"PRAGMA integrity_check({_MOST_LINES})").scalars().all()
    if lines != ["ok"]:
        yield from (f"SQLite: {line}" for line in lines)
        return
    for table, row, parent, _ in connection.exec_driver_sql("PRAGMA foreign_key_check"):
        yield f"{table} row {row}: its {parent} is missing"
    yield from _contradictions(connection)
    yield from _history_differences(connection)


def _contradictions(connection: Connection) -> Iterator[str]:
    """Yield messages about contradictory rows of runs, verdicts and observations."""
    run = schema.run.c
    unended = select(run.run_id).where(run.state == "finished", run.ended_at.is_(None))
    for run_id in connection.scalars(unended):
        yield f"run {run_id} is finished, but has no end time"
    verdict, observation = schema.verdict.c, schema.observation.c
    observed = exists().where(observation.run_id == verdict.run_id, observation.request_url == verdict.request_url)
    unfounded = (verdict.object != ObjectOutcome.SKIPPED, ~observed)
    for row in connection.execute(select(schema.verdict).where(*unfounded)):
        yield f"verdict {row.verdict_id} ({row.object} at {row.request_url}) has no observation to support it"
    hops = func.json_array_length(observation.hops)
    # Pruning deletes the hops of a run and keeps their number.
    is_hopless = (hops == 0) & observation.run_id.in_(select(run.run_id).where(is_pruned()))
    miscounted = (observation.hop_count != func.max(hops - 1, 0)) & ~is_hopless
    for key in connection.scalars(select(observation.observation_id).where(miscounted)):
        yield f"observation {key} has a wrong number of redirects"


def _history_differences(connection: Connection) -> Iterator[str]:
    """Rebuild the history in temporary tables, which shadow those of the store, and yield differences."""
    rebuild_in_temporary_tables(connection)
    for table in DERIVED:
        keys = {column.name for column in table.primary_key if not column.foreign_keys}
        columns = ", ".join(column.name for column in table.columns if column.name not in keys)
        differences = []
        for words, here, there in (("lacks", "temp", "main"), ("has", "main", "temp")):
            query = (
                f"SELECT {columns} FROM {here}.{table.name} EXCEPT SELECT {columns} FROM {there}.{table.name} LIMIT 2"
            )
            rows = connection.exec_driver_sql(query)
            differences += [f"{words} {tuple(row)}" for row in rows]
        if differences:
            yield f"{table.name} does not follow from the runs: {'; '.join(differences)}"


def prune_store(store_file: Path, *, runs: int | None, days: int | None) -> None:
    """Prune old runs of a store. Raises `crawler.store.StoreUnopenable` and `crawler.store.StoreUnwritable`."""
    if not is_file(store_file):
        raise StoreUnopenable(f"there is no store {store_file}")
    before = store_file.stat().st_size
    with Store.open(store_file) as store:
        pruned = list(prune(store, now=datetime.now(UTC), runs=runs, days=days))
        store.shrink()  # also after an earlier call was interrupted
    if not pruned:
        say(f"{store_file}: no run is old enough to be pruned")
        return
    freed = max(before - store_file.stat().st_size, 0) / 1e6
    say(f"{store_file}: {count_noun(len(pruned), 'run', 'runs')} pruned, {freed:,.1f} MB freed")
