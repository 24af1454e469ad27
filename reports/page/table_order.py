"""The order in which the page shows its tables: by topic, and in each table what matters most in front."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from crawler.history.ark_status import EventKind
from reports.languages import N_, Language
from reports.store.frames import Frames
from reports.tables.definitions import Column, TableDefinition


@dataclass(frozen=True, slots=True)
class Topic:
    """A part of the page: tables that answer questions of one kind."""

    name: str
    title: str
    answers: str
    """The questions, in a sentence."""
    tables: tuple[str, ...]


#: Every table of a report is in one of them.
TOPICS = (
    Topic(
        "to-mend",
        N_("Places to fix"),
        N_("Where exactly something fails, what is written there, and what it should be."),
        ("failures", "corrections", "causes", "known"),
    ),
    Topic(
        "over-time",
        N_("Over time"),
        N_("What has changed since the previous audit, and how long ARKs live."),
        ("changes", "runs", "survival", "outages", "persistence"),
    ),
    Topic(
        "organizations",
        N_("Organizations"),
        N_("Whose ARKs they are, how each collection does, and what your own list says of them."),
        ("naans", "shoulders", "collections", "inventory"),
    ),
    Topic(
        "hosts-asked",
        N_("Resolvers and hosts"),
        N_("Who resolves, where ARKs land, and how resolvers treat equal spellings."),
        ("resolvers", "conformance"),
    ),
    Topic(
        "documents-read",
        N_("Documents"),
        N_("How each document does, what it cites, and what typesetting had broken."),
        ("documents", "citations", "repairs", "findings"),
    ),
    Topic(
        "every-ark",
        N_("ARKs"),
        N_("Everything about each ARK; and two for one object, one for two, wholes and their parts."),
        ("arks", "groups"),
    ),
    Topic(
        "services-given",
        N_("Services"),
        N_("Whether an ARK gives its object, a description, and a commitment."),
        ("services",),
    ),
    Topic(
        "the-audit",
        N_("The audit itself"),
        N_("What was counted, what it has cost the hosts, and what was left out."),
        ("summary", "hosts", "requests", "left_out"),
    ),
)

#: Tables that are printed, too: those that count.
ON_PAPER = frozenset({"naans", "resolvers", "documents"})

#: The columns that come first on the page, where the files have another order.
_FIRST = {
    "arks": ("ark", "family", "object", "state", "request_url", "citations", "documents", "final_url"),
    "causes": ("number", "cause", "citations", "arks", "documents", "host", "fault", "advice", "contact"),
    "citations": ("ark", "object", "document", "page", "as_written", "repairs", "confidence"),
    "conformance": ("resolver", "form", "conforms", "treatment", "status", "asked_url"),
    "corrections": ("as_written", "correct", "document", "page", "why", "because"),
    "documents": ("document", "citations", "arks", "works", "fails", "unreachable", "not_judged", "title"),
    "failures": ("ark", "document", "page", "as_written", "should_be", "cause", "object", "context", "number"),
    "inventory": ("ark", "findings", "title", "collection", "expected_url", "final_url"),
    "known": ("ark", "treatment", "until", "why", "object", "document", "page"),
    "requests": ("ark", "question", "url", "status", "error", "location", "elapsed_s"),
}


def columns_of(definition: TableDefinition) -> tuple[Column, ...]:
    """The columns of a table in the order of the page."""
    first = _FIRST.get(definition.name, ())
    by_name = {column.name: column for column in definition.columns}
    return (*(by_name[name] for name in first), *(column for column in definition.columns if column.name not in first))


#: What a table without a row says, where that is more than that there is none.
_NOTHING = {
    "changes": N_("Nothing has changed."),
    "inventory": N_("No list of your own ARKs was given."),
    "known": N_("Nothing was acknowledged or ignored."),
    "failures": N_("Nothing needs to be fixed."),
    "causes": N_("Nothing needs to be done."),
    "corrections": N_("None is sure enough to be proposed."),
    "left_out": N_("Nothing was left out."),
}
_FIRST_TIME = N_("Nothing to compare with yet: this is the first audit of its kind in the store.")
_NONE = N_("None.")


def nothing_words(definition: TableDefinition, table: pd.DataFrame, frames: Frames, language: Language) -> str:
    """Return what is said instead of a table that has nothing to report; an empty text for one that has."""
    if definition.name == "changes" and _is_first(frames) and table["event"].eq(EventKind.NEW).all():
        return language.gettext(_FIRST_TIME)
    return language.gettext(_NOTHING.get(definition.name, _NONE)) if table.empty else ""


def _is_first(frames: Frames) -> bool:
    return frames.previous is None and frames.since is None
