"""A part of a run: the ARKs of some NAANs, of some documents, or of some outcome; every table is made from it alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


def chosen(frames: Frames, choice: Choice) -> Frames:
    """The part of a run that *choice* names, and of the runs that it is compared with; all of it for an empty one.

    Documents without a citation that is left are left out too, unless none was asked for by name.
    """
    if not choice:
        return frames
    part = _by_place(frames, choice)
    return _by_token(part, choice.only) if choice.only else part


def _by_place(frames: Frames, choice: Choice) -> Frames:
    """What is about the NAANs and documents of *choice*, also of the runs that a run is compared with."""
    part = _by_naan(frames, choice.naans) if choice.naans else frames
    part = _by_document(part, choice.documents) if choice.documents else part
    return _with_compared(part, lambda run: _by_place(run, choice))


def _with_compared(frames: Frames, part_of: Callable[[Frames], Frames]) -> Frames:
    return replace(
        frames,
        previous=part_of(frames.previous) if frames.previous else None,
        since=part_of(frames.since) if frames.since else None,
    )


def _by_naan(frames: Frames, naans: Sequence[str]) -> Frames:
    meant = frames.arks.loc[frames.arks["naan"].isin(naans), "ark_id"]
    part = _with_cited_documents(_of_arks(frames, meant))
    return _listed(part, frames.inventory["naan"].isin(naans))


def _listed(frames: Frames, is_meant: pd.Series) -> Frames:
    """Of the inventory, which is needed whole to see what it lacks, the lines that the part of the run is about."""
    is_chosen = frames.inventory["is_chosen"] & is_meant
    return replace(frames, inventory=frames.inventory.assign(is_chosen=is_chosen))


def _by_document(frames: Frames, patterns: Sequence[str]) -> Frames:
    urls = frames.documents["url"]
    is_meant = urls.map(
        lambda url: any(fits_document(url, pattern) for pattern in patterns)
    ).astype("bool")
    named = frames.documents.loc[is_meant, "document_id"]
    mentions = frames.mentions[frames.mentions["document_id"].isin(named)]
    part = _of_documents(replace(_of_pairs(frames, mentions[PAIR]), mentions=mentions), named)
    return _listed(part, frames.inventory["ark"].isin(part.arks["ark"]))


def _by_token(frames: Frames, tokens: Sequence[str]) -> Frames:
    """What is about the ARKs to which one of *tokens* applies, also of the runs that a run is compared with."""
    verdicts = frames.verdicts.assign(family=families(frames.verdicts["object"]))
    where = (
        *((verdicts, column) for column in ("object", "family", "metadata", "commitment")),
        *(
            (frames.latest, "state"),
            (frames.events, "event"),
            (diagnosed_failures(frames), "cause"),
        ),
    )
    pairs = pd.concat(
        [rows.loc[rows[column].astype("str").isin(tokens), PAIR] for rows, column in where]
    )
    part = _with_cited_documents(_of_pairs(frames, pairs))
    part = _with_compared(part, lambda run: _with_cited_documents(_of_pairs(run, pairs)))
    return _listed(part, frames.inventory["ark"].isin(part.arks["ark"]))


def _of_arks(frames: Frames, meant: pd.Series) -> Frames:
    """The rows about these ARKs, in every frame that speaks of ARKs."""
    rows_kept: dict[str, Any] = {
        name: rows[rows["ark_id"].isin(meant)] for name, rows in _about_arks(frames)
    }
    return _with_their_hops(replace(frames, **rows_kept))


def _with_their_hops(frames: Frames) -> Frames:
    is_meant = frames.hops["observation_id"].isin(frames.observations["observation_id"])
    return replace(frames, hops=frames.hops[is_meant])


def _of_pairs(frames: Frames, pairs: pd.DataFrame) -> Frames:
    """The rows about these pairs of ARK and URL, and those about their ARKs where a frame knows no URL."""
    part = _of_arks(frames, pairs["ark_id"])
    narrowed: dict[str, Any] = {
        name: rows[is_among(rows, pairs)]
        for name, rows in _about_arks(part)
        if "request_url" in rows.columns and name != "events"
    }
    return _with_their_hops(replace(part, **narrowed))


def _about_arks(frames: Frames) -> list[tuple[str, pd.DataFrame]]:
    named = ((field.name, getattr(frames, field.name)) for field in fields(Frames))
    return [
        (name, rows)
        for name, rows in named
        if isinstance(rows, pd.DataFrame) and "ark_id" in rows.columns
    ]


def _with_cited_documents(frames: Frames) -> Frames:
    """Only the documents that still cite something, with what was remarked of them."""
    return _of_documents(frames, frames.mentions["document_id"])


def _of_documents(frames: Frames, document_ids: pd.Series) -> Frames:
    return replace(
        frames,
        documents=frames.documents[frames.documents["document_id"].isin(document_ids)],
        findings=frames.findings[frames.findings["document_id"].isin(document_ids)],
        fetches=frames.fetches[frames.fetches["document_id"].isin(document_ids)],
    )
