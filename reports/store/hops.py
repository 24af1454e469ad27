"""The hops of questions and of documents, one row each: taken apart as they come, the greatest part of a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sqlalchemy import Connection, Select

from crawler.model.schema import document
from reports.store.selections import CHAIN_END, DOCUMENT, QUESTION, Selection, empty_columns, selected
from reports.store.typed_columns import (
    INTEGER,
    MOMENT,
    PARSED,
    REAL,
    TEXT,
    TRUTH,
    WORD,
    Columns,
    Dtype,
    content,
    fetched,
)

#: What a hop repeats of the observation that it belongs to.
HOP_OF: Mapping[str, Dtype] = {
    "observation_id": INTEGER,
    "run_id": INTEGER,
    "question": QUESTION,
    "chain_end": CHAIN_END,
}
#: What a hop repeats of the document that it was made for.
FETCH_OF: Mapping[str, Dtype] = {"document_id": INTEGER, "document": TEXT, "outcome": DOCUMENT}
FETCHES: Selection = selected(
    document.c.document_id,
    document.c.url.label("document"),
    document.c.outcome,
    document.c.hops,
    outcome=DOCUMENT,
    hops=PARSED,
)
#: The fields of `crawler.model.observations.Hop` that are reported, apart from its headers.
HOP: Mapping[str, Dtype] = {
    "url": TEXT,
    "method": WORD,
    "status": INTEGER,
    "location": TEXT,
    "address": WORD,
    "elapsed_s": REAL,
    "at": MOMENT,
    "error": TEXT,
    "sent": TRUTH,
}
#: The headers of a hop that are reported, and the columns that they get.
HOP_HEADERS = {"content-type": "content_type", "retry-after": "retry_after", "server": "server"}
_HOP_DTYPES: Mapping[str, Dtype] = {"ordinal": INTEGER, **HOP, **dict.fromkeys(HOP_HEADERS.values(), WORD)}


def with_hops(
    connection: Connection, selection: Selection, query: Select[Any], repeated: Mapping[str, Dtype]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return what a selection gives that ends with hops, and one row per hop, with what it repeats of its owner.

    The owners get their number of hops as `request_count`.
    """
    owners_of = {column: dtype for column, dtype in selection.items() if column.name != "hops"}
    owning, hops, counts = empty_columns(owners_of), Columns(_HOP_DTYPES), [np.empty(0, np.int64)]
    for rows in fetched(connection, query):
        *columns, texts = zip(*rows, strict=True)
        chains = [content(text) or () for text in texts]
        owning.add_columns(columns)
        hops.add_columns(_hop_columns(chains))
        counts.append(np.fromiter(map(len, chains), np.int64, len(chains)))
    hop_counts = np.concatenate(counts)
    owners = owning.frame().assign(request_count=pd.array(hop_counts, dtype=INTEGER))
    rows_of_owners = np.repeat(np.arange(len(owners)), hop_counts)
    repeating = owners[list(repeated)].take(rows_of_owners).reset_index(drop=True)
    return owners, pd.concat([repeating, hops.frame()], axis="columns")


def no_hops(repeated: Mapping[str, Dtype]) -> pd.DataFrame:
    """Return no hop, in the columns that hops have."""
    return Columns({**repeated, **_HOP_DTYPES}).frame()


def _hop_columns(chains: Sequence[Sequence[Mapping[str, Any]]]) -> list[Sequence[Any]]:
    flat = [hop for chain in chains for hop in chain]
    headers = list(zip(*map(_headers, flat), strict=True)) if flat else [()] * len(HOP_HEADERS)
    ordinals = [ordinal for chain in chains for ordinal in range(1, len(chain) + 1)]
    return [ordinals, *([hop.get(name) for hop in flat] for name in HOP), *headers]


def _headers(hop: Mapping[str, Any]) -> tuple[str | None, ...]:
    """The values of `HOP_HEADERS` in a hop, whatever the case of their names."""
    headers = {name.lower(): value for name, value in (hop.get("headers") or {}).items()}
    return tuple(headers.get(name) for name in HOP_HEADERS)
