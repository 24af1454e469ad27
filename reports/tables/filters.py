"""Select a part of a run: the ARKs of some NAANs, documents or outcomes. All tables are then computed from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import pandas as pd

from reports.store.frames import Frames
from reports.store.known_problems import fits_document
from reports.tables.ark_statuses import families, is_among
from reports.tables.definitions import PAIR
from reports.tables.failing import diagnosed_failures


@dataclass(frozen=True, slots=True)
class Choice:
    """The user's choice of ARKs to report; an empty field selects all."""

    naans: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    """URLs or paths: complete, as prefixes, or as patterns with ``*``."""
    only: tuple[str, ...] = ()
    """Outcomes, families, states, events or causes; an ARK must have one of them."""

    def __bool__(self) -> bool:
        return any((self.naans, self.documents, self.only))

    @property
    def words(self) -> str:
        """The choice in words; empty if nothing is left out."""
        parts = (("NAAN", self.naans), ("documents", self.documents), ("only", self.only))
        return "; ".join(f"{name} {', '.join(given)}" for name, given in parts if given)


def select_part(frames: Frames, choice: Choice) -> Frames:
    """Return the part of a run, and of the runs compared with it, that *choice* names; everything for an empty choice.

    Documents without a remaining citation are left out, unless the choice has no `only` and names documents.
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
    part = _of_each_run(part, lambda run: _rows_about(run, pairs))
    return _limit_inventory(part, part.inventory["ark"].isin(part.arks["ark"]))


def _of_each_run(frames: Frames, part_of: Callable[[Frames], Frames]) -> Frames:
    """Return *part_of* for a run and for the runs compared with it."""
    return replace(
        part_of(frames),
        previous=part_of(frames.previous) if frames.previous else None,
        since=part_of(frames.since) if frames.since else None,
    )


def _by_place(frames: Frames, choice: Choice) -> Frames:
    """Return the rows about the NAANs and documents of *choice*."""
    if choice.naans:
        arks = frames.arks[frames.arks["naan"].isin(choice.naans)]
        frames = _rows_about(frames, arks[["ark_id"]])
        frames = _limit_inventory(frames, frames.inventory["naan"].isin(choice.naans))
    if choice.documents:
        fits = frames.documents["url"].map(lambda url: any(fits_document(url, pattern) for pattern in choice.documents))
        named = frames.documents.loc[fits.astype("bool"), "document_id"]
        mentions = frames.mentions[frames.mentions["document_id"].isin(named)]
        frames = _rows_about(frames, mentions[PAIR], named)
        frames = _limit_inventory(frames, frames.inventory["ark"].isin(frames.arks["ark"]))
    return frames


def _limit_inventory(frames: Frames, is_meant: pd.Series) -> Frames:
    """Mark the lines of the inventory that belong to the part; the others are needed to find extra ARKs."""
    is_chosen = frames.inventory["is_chosen"] & is_meant
    return replace(frames, inventory=frames.inventory.assign(is_chosen=is_chosen))


def _rows_about(frames: Frames, meant: pd.DataFrame, document_ids: pd.Series | None = None) -> Frames:
    """Return the rows about the ARKs in *meant*, or about these ARKs at these URLs in frames with URLs.

    Documents, with their citations and findings, are limited to *document_ids*, by default to those that cite these ARKs.
    """
    kept: dict[str, Any] = {}
    for field in fields(Frames):
        rows = getattr(frames, field.name)
        if not isinstance(rows, pd.DataFrame) or "ark_id" not in rows:
            continue
        rows = rows[rows["ark_id"].isin(meant["ark_id"])]
        if "request_url" in meant and "request_url" in rows and field.name != "events":
            rows = rows[is_among(rows, meant)]
        kept[field.name] = rows
    if document_ids is None:
        document_ids = kept["mentions"]["document_id"]
    for name in ("documents", "findings", "fetches", "mentions"):
        rows = kept.get(name, getattr(frames, name))
        kept[name] = rows[rows["document_id"].isin(document_ids)]
    asked = frames.hops["observation_id"].isin(kept["observations"]["observation_id"])
    return replace(frames, **kept, hops=frames.hops[asked])
