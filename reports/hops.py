"""The hops of questions and of documents, one row each: taken apart as they come, the greatest part of a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json
from sqlalchemy import Select

from crawler.schema import document
from reports.selections import CHAIN_END, DOCUMENT, QUESTION, Selection, dtypes_of, growing, selected
from reports.store_reading import StoreReader
from reports.typed_columns import INTEGER, MOMENT, PARSED, REAL, TEXT, TRUTH, WORD, Columns, Dtype, Rows, content

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
#: The fields of `crawler.observations.Hop` that are reported, apart from its headers.
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
    reader: StoreReader, selection: Selection, query: Select[Any], repeated: Mapping[str, Dtype]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return what a selection gives that ends with hops, and one row per hop, with what it repeats of its owner.

    The owners get their number of hops as `request_count`.
    """
    found = reader.filled(lambda: _OwnersAndHops(selection), dtypes_of(selection), query)
    counts = np.concatenate([np.empty(0, np.int64), *found.counts])
    owners = found.owners.frame().assign(request_count=pd.array(counts, dtype=INTEGER))
    places = np.repeat(np.arange(len(owners)), counts)
    repeating = owners[list(repeated)].take(places).reset_index(drop=True)
    return owners, pd.concat([repeating, found.hops.frame()], axis="columns")


def no_hops(repeated: Mapping[str, Dtype]) -> pd.DataFrame:
    """Return no hop, in the columns that hops have."""
    return Columns({**repeated, **_HOP_DTYPES}).frame()


class _OwnersAndHops:
    """Rows whose last column is the JSON of their hops."""

    def __init__(self, selection: Selection) -> None:
        self.owners = growing({column: dtype for column, dtype in selection.items() if column.name != "hops"})
        self.hops = Columns(_HOP_DTYPES)
        self.counts: list[Any] = []

    def add(self, rows: Rows) -> None:
        *columns, texts = zip(*rows, strict=True)
        self.owners.add_columns(columns)
        self._add_chains(texts)

    def add_batch(self, batch: pa.RecordBatch) -> None:
        *arrays, texts = batch.columns
        self.owners.add_arrays(arrays)
        try:
            counts, columns = hop_arrays(texts)
        except ValueError:  # what Arrow can't read; also half a character, which JSON can hold and no column
            self._add_chains(texts.to_pylist())
        else:
            self.counts.append(counts)
            self.hops.add_arrays(columns)

    def _add_chains(self, texts: Sequence[str | None]) -> None:
        chains = [content(text) or () for text in texts]
        self.counts.append(np.fromiter(map(len, chains), np.int64, len(chains)))
        self.hops.add_columns(_hop_columns(chains))


# -- by Python


def _hop_columns(chains: Sequence[Sequence[Mapping[str, Any]]]) -> list[Sequence[Any]]:
    flat = [hop for chain in chains for hop in chain]
    headers = list(zip(*map(_headers, flat), strict=True)) if flat else [()] * len(HOP_HEADERS)
    ordinals = [ordinal for chain in chains for ordinal in range(1, len(chain) + 1)]
    return [ordinals, *([hop.get(name) for hop in flat] for name in HOP), *headers]


def _headers(hop: Mapping[str, Any]) -> tuple[str | None, ...]:
    """The values of `HOP_HEADERS` in a hop, whatever the case of their names."""
    headers = {name.lower(): value for name, value in (hop.get("headers") or {}).items()}
    return tuple(headers.get(name) for name in HOP_HEADERS)


# -- by Arrow

_TEXT_TYPE: Final = pa.string()
_HOP_TYPES: Final[Mapping[Dtype, pa.DataType]] = {INTEGER: pa.int64(), REAL: pa.float64(), TRUTH: pa.bool_()}
#: How the names of headers are mostly written; any other is found by what `pyarrow.json` infers.
_SPELLINGS: Final = {name: (name, name.title()) for name in HOP_HEADERS}
_HEADERS_TYPE: Final = pa.struct([(each, _TEXT_TYPE) for spellings in _SPELLINGS.values() for each in spellings])
_CHAIN_TYPE: Final = pa.list_(
    pa.struct([*((name, _HOP_TYPES.get(dtype, _TEXT_TYPE)) for name, dtype in HOP.items()), ("headers", _HEADERS_TYPE)])
)
_PARSE: Final = pyarrow.json.ParseOptions(
    explicit_schema=pa.schema([("hops", _CHAIN_TYPE)]), unexpected_field_behavior="infer"
)
_READ: Final = pyarrow.json.ReadOptions(use_threads=False, block_size=1 << 23)


def hop_arrays(texts: pa.Array) -> tuple[Any, list[pa.Array]]:
    """Return how many hops there are in each of *texts*, and the columns of all of them, as `_HOP_DTYPES` has them.

    Raises ValueError where a text is not such JSON as we write; most such texts can be read by Python all the same.
    """
    lines = pc.binary_join_element_wise('{"hops":', pc.fill_null(texts, "null"), "}\n", "")
    if not len(lines):
        raise ValueError("no text")
    table = pyarrow.json.read_json(pa.BufferReader(lines.buffers()[2]), _READ, _PARSE)
    if len(table) != len(texts):
        raise ValueError("a text is more than one value")
    chains = table["hops"].combine_chunks()
    chains = chains.chunk(0) if isinstance(chains, pa.ChunkedArray) else chains
    counts = pc.fill_null(pc.list_value_length(chains), 0).to_numpy().astype(np.int64)
    hops = chains.flatten()
    if hops.null_count:
        raise ValueError("a hop is nothing")
    ends = np.cumsum(counts)
    ordinals = np.arange(1, len(hops) + 1) - np.repeat(ends - counts, counts)
    headers = pc.struct_field(hops, "headers")
    columns = [pc.struct_field(hops, name) for name in HOP]
    return counts, [pa.array(ordinals), *columns, *(_header(headers, name) for name in HOP_HEADERS)]


def _header(headers: pa.StructArray, name: str) -> pa.Array:
    """Return the values of a header, whatever the case of its name."""
    spellings = [field.name for field in headers.type if field.name.lower() == name]
    if set(spellings) != set(_SPELLINGS[name]):
        raise ValueError(f"{name} is written in another way")
    one, other = (pc.struct_field(headers, each) for each in _SPELLINGS[name])
    if pc.any(pc.and_(one.is_valid(), other.is_valid())).as_py():
        raise ValueError(f"{name} stands there twice")
    return pc.coalesce(one, other)
