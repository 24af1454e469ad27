"""A part of a run: the ARKs of some NAANs, of some documents, or of some outcome; every table is made from it alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import pandas as pd

from crawler.history.triage import fits_document
from reports.store.frames import Frames
from reports.tables.ark_statuses import families, is_among
from reports.tables.definitions import PAIR
from reports.tables.failing import diagnosed_failures


@dataclass(frozen=True, slots=True)
class Choice:
    """The user's choice of what a report is about; an empty part of it leaves nothing out."""

    naans: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    """URLs or paths: whole, as beginnings, or as patterns with ``*``."""
    only: tuple[str, ...] = ()
    """Outcomes, families, states, events or causes, of which one must fit."""

    def __bool__(self) -> bool:
        return any((self.naans, self.documents, self.only))

    @property
    def words(self) -> str:
        """The choice in words; empty when nothing is left out."""
        parts = (("NAAN", self.naans), ("documents", self.documents), ("only", self.only))
        return "; ".join(f"{name} {', '.join(given)}" for name, given in parts if given)


def select_part(frames: Frames, choice: Choice) -> Frames:
    """The part of a run that *choice* names, and of the runs that it is compared with; all of it for an empty one.

    Documents without a citation that is left are left out too, unless none was asked for by name.
    """
    if not choice:
        return frames
    part = _of_each_run(frames, lambda run: _by_place(run, choice))
    if not choice.only:
        return part
    verdicts = part.verdicts.assign(family=families(part.verdicts["object"]))
    where = (
        *((verdicts, column) for column in ("object", "family", "metadata", "commitment")),
        *((part.latest, "state"), (part.events, "event"), (diagnosed_failures(part), "cause")),
    )
    pairs = pd.concat([rows.loc[rows[column].astype("str").isin(choice.only), PAIR] for rows, column in where])
    part = _of_each_run(part, lambda run: _with_cited_documents(_rows_about(run, pairs)))
    return _limit_inventory(part, part.inventory["ark"].isin(part.arks["ark"]))


def _of_each_run(frames: Frames, part_of: Callable[[Frames], Frames]) -> Frames:
    """A part of a run, and the same part of the runs that it is compared with."""
    return replace(
        part_of(frames),
        previous=part_of(frames.previous) if frames.previous else None,
        since=part_of(frames.since) if frames.since else None,
    )


def _by_place(frames: Frames, choice: Choice) -> Frames:
    """What is about the NAANs and documents of *choice*."""
    if choice.naans:
        arks = frames.arks[frames.arks["naan"].isin(choice.naans)]
        frames = _with_cited_documents(_rows_about(frames, arks[["ark_id"]]))
        frames = _limit_inventory(frames, frames.inventory["naan"].isin(choice.naans))
    if choice.documents:
        fits = frames.documents["url"].map(lambda url: any(fits_document(url, pattern) for pattern in choice.documents))
        named = frames.documents.loc[fits.astype("bool"), "document_id"]
        mentions = frames.mentions[frames.mentions["document_id"].isin(named)]
        frames = replace(_rows_about(frames, mentions[PAIR]), mentions=mentions)
        frames = _of_documents(frames, named)
        frames = _limit_inventory(frames, frames.inventory["ark"].isin(frames.arks["ark"]))
    return frames


def _limit_inventory(frames: Frames, is_meant: pd.Series) -> Frames:
    """Of the inventory, which is needed whole to see what it lacks, the lines that the part of the run is about."""
    is_chosen = frames.inventory["is_chosen"] & is_meant
    return replace(frames, inventory=frames.inventory.assign(is_chosen=is_chosen))


def _rows_about(frames: Frames, meant: pd.DataFrame) -> Frames:
    """The rows about ARKs that are *meant*, or about these ARKs at these URLs, where a frame knows URLs."""
    kept: dict[str, Any] = {}
    for field in fields(Frames):
        rows = getattr(frames, field.name)
        if not isinstance(rows, pd.DataFrame) or "ark_id" not in rows:
            continue
        rows = rows[rows["ark_id"].isin(meant["ark_id"])]
        if "request_url" in meant and "request_url" in rows and field.name != "events":
            rows = rows[is_among(rows, meant)]
        kept[field.name] = rows
    asked = frames.hops["observation_id"].isin(kept["observations"]["observation_id"])
    return replace(frames, **kept, hops=frames.hops[asked])


def _with_cited_documents(frames: Frames) -> Frames:
    """Only the documents that still cite something, with what was remarked of them."""
    return _of_documents(frames, frames.mentions["document_id"])


def _of_documents(frames: Frames, document_ids: pd.Series) -> Frames:
    kept: dict[str, Any] = {
        name: rows[rows["document_id"].isin(document_ids)]
        for name in ("documents", "findings", "fetches")
        for rows in (getattr(frames, name),)
    }
    return replace(frames, **kept)
