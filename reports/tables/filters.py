"""A part of a run: the ARKs of some NAANs, of some documents, or of some outcome; every table is made from it alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any, Final

import pandas as pd

from crawler.history.triage import fits_document
from reports.store.frames import Frames
from reports.tables.ark_statuses import families
from reports.tables.failing import diagnosed_failures

_PAIR: Final = ["ark_id", "request_url"]


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
    return replace(
        part,
        previous=_by_place(frames.previous, choice) if frames.previous else None,
        since=_by_place(frames.since, choice) if frames.since else None,
    )


def _by_naan(frames: Frames, naans: Iterable[str]) -> Frames:
    kept = frames.arks.loc[frames.arks["naan"].isin(list(naans)), "ark_id"]
    listed = _listed(frames, frames.inventory["naan"].isin(list(naans)))
    return replace(_with_cited_documents(_of_arks(frames, kept)), inventory=listed)


def _listed(frames: Frames, is_meant: pd.Series) -> pd.DataFrame:
    """The inventory, with the lines that the part of the run is about: it is needed whole to see what it lacks."""
    return frames.inventory.assign(is_chosen=frames.inventory["is_chosen"] & is_meant)


def _by_document(frames: Frames, patterns: Iterable[str]) -> Frames:
    wanted = list(patterns)
    urls = frames.documents["url"]
    documents = frames.documents[
        urls.map(lambda url: any(fits_document(url, pattern) for pattern in wanted)).astype("bool")
    ]
    mentions = frames.mentions[frames.mentions["document_id"].isin(documents["document_id"])]
    part = _of_pairs(frames, mentions[_PAIR])
    return replace(
        part,
        inventory=_listed(frames, frames.inventory["ark"].isin(part.arks["ark"])),
        documents=documents,
        mentions=mentions,
        findings=frames.findings[frames.findings["document_id"].isin(documents["document_id"])],
        fetches=frames.fetches[frames.fetches["document_id"].isin(documents["document_id"])],
    )


def _by_token(frames: Frames, tokens: Iterable[str]) -> Frames:
    """What is about the ARKs to which one of *tokens* applies, also of the runs that a run is compared with."""
    wanted = set(tokens)
    verdicts = frames.verdicts
    judged = verdicts.assign(family=families(verdicts["object"]))
    fits = pd.Series(False, index=verdicts.index)
    for service in ("object", "family", "metadata", "commitment"):
        fits |= judged[service].astype("str").isin(wanted)
    parts = [verdicts.loc[fits, _PAIR]]
    for rows, column in ((frames.latest, "state"), (frames.events, "event"), (diagnosed_failures(frames), "cause")):
        parts.append(rows.loc[rows[column].astype("str").isin(wanted), _PAIR])
    pairs = pd.concat(parts).drop_duplicates()
    part = _with_cited_documents(_of_pairs(frames, pairs))
    return replace(
        part,
        inventory=_listed(frames, frames.inventory["ark"].isin(part.arks["ark"])),
        previous=_with_cited_documents(_of_pairs(frames.previous, pairs)) if frames.previous else None,
        since=_with_cited_documents(_of_pairs(frames.since, pairs)) if frames.since else None,
    )


def _of_arks(frames: Frames, kept: pd.Series) -> Frames:
    """The rows about the ARKs *kept*, in every frame that speaks of ARKs."""
    rows_kept: dict[str, Any] = {name: rows[rows["ark_id"].isin(kept)] for name, rows in _about_arks(frames)}
    return replace(frames, **rows_kept, **_hops(frames, kept))


def _of_pairs(frames: Frames, pairs: pd.DataFrame) -> Frames:
    """The rows about the pairs of ARK and URL *pairs*, and those about their ARKs where a frame knows no URL."""
    wanted = pairs.drop_duplicates()
    part = _of_arks(frames, wanted["ark_id"])
    narrowed: dict[str, Any] = {
        name: rows[_is_among(rows, wanted)]
        for name, rows in _about_arks(part)
        if "request_url" in rows.columns and name != "events"
    }
    narrowed_hops = part.hops[part.hops["observation_id"].isin(narrowed["observations"]["observation_id"])]
    return replace(part, **narrowed, hops=narrowed_hops)


def _is_among(rows: pd.DataFrame, pairs: pd.DataFrame) -> pd.Series:
    keys = pd.MultiIndex.from_frame(pairs[_PAIR].astype("object"))
    return pd.Series(pd.MultiIndex.from_frame(rows[_PAIR].astype("object")).isin(keys), index=rows.index)


def _about_arks(frames: Frames) -> list[tuple[str, pd.DataFrame]]:
    named = ((field.name, getattr(frames, field.name)) for field in fields(Frames))
    return [(name, rows) for name, rows in named if isinstance(rows, pd.DataFrame) and "ark_id" in rows.columns]


def _hops(frames: Frames, kept: pd.Series) -> dict[str, Any]:
    observed = frames.observations[frames.observations["ark_id"].isin(kept)]
    return {"hops": frames.hops[frames.hops["observation_id"].isin(observed["observation_id"])]}


def _with_cited_documents(frames: Frames) -> Frames:
    """Only the documents that still cite something, with what was remarked of them."""
    kept = frames.mentions["document_id"]
    return replace(
        frames,
        documents=frames.documents[frames.documents["document_id"].isin(kept)],
        findings=frames.findings[frames.findings["document_id"].isin(kept)],
        fetches=frames.fetches[frames.fetches["document_id"].isin(kept)],
    )
