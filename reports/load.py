"""A report for a notebook: the frames of a store, and every table that the report has."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from crawler.model.registry import cache_folder
from crawler.model.registry import load as load_registry
from reports.frames import Frames, load_frames
from reports.inventory_file import read_inventory

if TYPE_CHECKING:
    import pandas as pd


def load_report(
    store: str | os.PathLike[str],
    *,
    run: int | None = None,
    since: int | None = None,
    inventory: str | os.PathLike[str] | None = None,
) -> Frames:
    """Return the frames of the audit in *store*, as `arkaudit report` reads them.

    That is the audit as it stands now: the newest finished run that has read a document, with what later checks have
    found of its ARKs. Nothing is written.

    Args:
        store: the file that `arkaudit run` or `check --store` has written.
        run: the number of a run, to see it alone.
        since: the number of an earlier run to compare with.
        inventory: a file with an institution's own ARKs (CSV), to hold the audit against.

    Returns:
        Frames whose attributes are DataFrames with typed columns: ``arks``, ``mentions``, ``documents``,
        ``observations``, ``hops``, ``verdicts`` … Each table of the report is had by its name: ``.table("naans")``.

    Raises:
        reports.frames.StoreUnreadable: when there is no such store, or no such run in it.
        crawler.store.store_errors.StoreError: when the store is damaged.
        reports.inventory_file.InventoryUnreadable: when the inventory can't be read.
    """
    file = Path(store)
    listed: pd.DataFrame | None = None if inventory is None else read_inventory(Path(inventory))
    return load_frames(file, run_id=run, since=since, registry=load_registry(cache_folder()), inventory=listed)
