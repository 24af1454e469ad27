"""A report for a notebook: the frames of a store, and every table that the report has."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from difflib import get_close_matches
from pathlib import Path

import pandas as pd

from crawler.model.registry import cache_folder
from crawler.model.registry import load as load_registry
from extractors.model.errors import ArkauditError
from reports.store.frames import Frames, load_frames
from reports.store.inventory import read_inventory
from reports.tables.report_tables import Tables


class UnknownTable(ArkauditError, KeyError):
    """Raised by `AuditFrames.table` for a name that no table of the report has."""

    __str__ = Exception.__str__  # a KeyError shows its text in quotes


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AuditFrames(Frames):
    """The frames of an audit, and the tables that a report makes of them."""

    def table(self, name: str) -> pd.DataFrame:
        """Return the table *name* of the report, with the columns that ``docs/data-dictionary.md`` describes.

        Raises `UnknownTable` with the names that there are.
        """
        tables = Tables(self)
        if name in tables:
            return tables[name]
        meant = get_close_matches(name, tables, 1)
        hint = f"did you mean {meant[0]!r}?" if meant else f"there are: {', '.join(tables)}"
        raise UnknownTable(f"the report has no table {name!r}; {hint}")


def load_report(
    store: str | os.PathLike[str],
    *,
    run: int | None = None,
    since: int | None = None,
    inventory: str | os.PathLike[str] | None = None,
) -> AuditFrames:
    """Return the frames of the audit in *store*, as `arkaudit report` reads them.

    That is its current state: the newest finished run that has read a document, with what later checks have found of
    its ARKs. Nothing is written.

    Args:
        store: the file that `arkaudit run` or `check --store` has written.
        run: the number of a run, to see it alone.
        since: the number of an earlier run to compare with.
        inventory: a file with an institution's own ARKs (CSV), to hold the audit against.

    Returns:
        Frames whose attributes are DataFrames with typed columns: ``arks``, ``mentions``, ``documents``,
        ``observations``, ``hops``, ``verdicts`` … Each table of the report is had by its name: ``.table("naans")``.

    Raises:
        reports.store.frames.StoreUnreadable: when there is no such store, or no such run in it.
        crawler.store.StoreError: when the store is damaged.
        reports.store.inventory.InventoryUnreadable: when the inventory can't be read.
    """
    file = Path(store)
    listed: pd.DataFrame | None = None if inventory is None else read_inventory(Path(inventory))
    frames = load_frames(
        file, run_id=run, since=since, registry=load_registry(cache_folder()), inventory=listed
    )
    return AuditFrames(**{field.name: getattr(frames, field.name) for field in fields(Frames)})
