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
        """The choice as one phrase; empty for an empty choice."""
        parts = (("NAAN", self.naans), ("documents", self.documents), ("only", self.only))
        return "; ".join(f"{name} {', '.join(values)}" for name, values in parts if values)


def select_part(frames: Frames, choice: Choice) -> Frames:
    """Return the part of a run, and of the run compared with it, that *choice* selects; *frames* for an empty choice.

    Documents without a remaining citation are left out, unless the choice has no `only` and names documents.
    """
    if not choice:
        return frames
    part = _of_each_run(frames, lambda run: _by_naan_and_document(run, choice))
    if not choice.only:
        return part
    verdicts = part.verdicts.assign(family=families(part.verdicts["object"]))
    token_columns = (
        *((verdicts, column) for column in ("object", "family", "metadata", "commitment")),
        *((part.latest, "state"), (part.events, "event"), (diagnosed_failures(part), "cause")),
    )
    pairs = pd.concat([rows.loc[rows[column].astype("str").isin(choice.only), PAIR] for rows, column in token_columns])
    part = _of_each_run(part, lambda run: _rows_about(run, pairs))
    return _limit_inventory(part, part.inventory["ark"].isin(part.arks["ark"]))


def _of_each_run(frames: Frames, part_of: Callable[[Frames], Frames]) -> Frames:
    """Return the result of *part_of* for a run, with its result for the run compared with it."""
    return replace(part_of(frames), compared_run=part_of(frames.compared_run) if frames.compared_run else None)


def _by_naan_and_document(frames: Frames, choice: Choice) -> Frames:
    """Return the rows about the NAANs and documents of *choice*."""
    if choice.naans:
        arks = frames.arks[frames.arks["naan"].isin(choice.naans)]
        frames = _rows_about(frames, arks[["ark_id"]])
        frames = _limit_inventory(frames, frames.inventory["naan"].isin(choice.naans))
    if choice.documents:
        is_chosen = frames.documents["url"].map(
            lambda url: any(fits_document(url, pattern) for pattern in choice.documents)
        )
        document_ids = frames.documents.loc[is_chosen.astype("bool"), "document_id"]
        mentions = frames.mentions[frames.mentions["document_id"].isin(document_ids)]
        frames = _rows_about(frames, mentions[PAIR], document_ids)
        frames = _limit_inventory(frames, frames.inventory["ark"].isin(frames.arks["ark"]))
    return frames


def _limit_inventory(frames: Frames, is_in_part: pd.Series) -> Frames:
    """Return *frames* with `is_chosen` False for the rows of the inventory outside *is_in_part*; no row is removed."""
    is_chosen = frames.inventory["is_chosen"] & is_in_part
    return replace(frames, inventory=frames.inventory.assign(is_chosen=is_chosen))


def _rows_about(frames: Frames, pairs: pd.DataFrame, document_ids: pd.Series | None = None) -> Frames:
    """Return the rows about the ARKs in *pairs*; if *pairs* has URLs, those about these ARKs at these URLs.

    Documents, with their citations and findings, are limited to *document_ids*, by default those that cite these ARKs.
    """
    selected_frames: dict[str, Any] = {}
    for field in fields(Frames):
        rows = getattr(frames, field.name)
        if not isinstance(rows, pd.DataFrame) or "ark_id" not in rows:
            continue
        rows = rows[rows["ark_id"].isin(pairs["ark_id"])]
        if "request_url" in pairs and "request_url" in rows and field.name != "events":
            rows = rows[is_among(rows, pairs)]
        selected_frames[field.name] = rows
    if document_ids is None:
        document_ids = selected_frames["mentions"]["document_id"]
    for name in ("documents", "findings", "fetches", "mentions"):
        rows = selected_frames.get(name, getattr(frames, name))
        selected_frames[name] = rows[rows["document_id"].isin(document_ids)]
    is_of_observation = frames.hops["observation_id"].isin(selected_frames["observations"]["observation_id"])
    return replace(frames, **selected_frames, hops=frames.hops[is_of_observation])
