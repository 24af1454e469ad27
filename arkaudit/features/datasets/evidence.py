"""The evidence of a whole dataset: its complete ARKs, and the shapes learned from their names."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from extractors.model.ark import Ark
from extractors.model.check_characters import NOTHING_DECLARED, Declared, Zones, learn_zones
from extractors.wraps.evidence import Evidence, Shapes, qualifier_words

#: Number of names whose bytes are copied at once, and of new names that are merged into the others.
_BATCH_NAMES = 1_000_000


class SortedNames(Sequence[str]):
    """A sequence of sorted texts in an Arrow array of bytes, without a Python object for each text.

    >>> names = SortedNames(pa.chunked_array([[b"ark:1/a", b"ark:1/b"]]))
    >>> names[0], len(names), list(names)
    ('ark:1/a', 2, ['ark:1/a', 'ark:1/b'])
    """

    def __init__(self, names: pa.ChunkedArray) -> None:
        self._names = names.combine_chunks()

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, index: Any) -> Any:
        """Return the name at *index*, which is not a slice."""
        return str(self._names[index].as_py(), "utf-8", "surrogatepass")

    def __contains__(self, text: object) -> bool:
        normal_form = str(text)
        index = bisect_left(self, normal_form)
        return index < len(self) and self[index] == normal_form

    def arks(self) -> Iterator[Ark]:
        """Yield the texts, which are normal forms, as ARKs."""
        return map(Ark.of_normal_form, self)


@dataclass(frozen=True, slots=True)
class DatasetEvidence:
    """The evidence of all documents, for the second pass."""

    evidence: Evidence
    digest: str
    """A text that identifies the evidence."""


def learn(parts: Iterable[pa.ChunkedArray], declared: Declared = NOTHING_DECLARED) -> DatasetEvidence:
    """Return the evidence in *parts*: for each part, a list of the complete ARKs of each document, in UTF-8.

    *declared* are the user's check characters by NAAN.

    >>> list(learn([pa.chunked_array([[[b"ark:1/b"], [b"ark:1/a", b"ark:1/b"]]])]).evidence.whole_forms)
    ['ark:1/a', 'ark:1/b']
    """
    names = _table_of_names(pa.array([], pa.large_binary()))
    new_tables: list[pa.Table] = []
    for part in parts:
        new_tables.append(_table_of_names(pc.list_flatten(part).cast(pa.large_binary())))
        if sum(table.num_rows for table in new_tables) > names.num_rows + _BATCH_NAMES:
            names, new_tables = _merged_tables([names, *new_tables]), []
    names = _merged_tables([names, *new_tables]).sort_by("name")
    distinct_names, is_repeated = names["name"], pc.greater(names["documents"], 1)
    digest = hashlib.sha256()
    for batch in pa.table([distinct_names, is_repeated], ["name", "repeated"]).to_batches(_BATCH_NAMES):
        digest.update(batch.serialize())
    return DatasetEvidence(
        evidence_of(distinct_names, distinct_names.filter(is_repeated), declared), digest.hexdigest()
    )


def _table_of_names(names: pa.Array | pa.ChunkedArray) -> pa.Table:
    return pa.table({"name": names, "documents": pa.repeat(1, len(names))})


def _merged_tables(tables: Sequence[pa.Table]) -> pa.Table:
    name_groups = pa.concat_tables(tables).group_by("name").aggregate([("documents", "sum")])
    return name_groups.rename_columns({"documents_sum": "documents"})


def evidence_of(sorted_arks: pa.ChunkedArray, repeated_arks: pa.ChunkedArray, declared: Declared) -> Evidence:
    """Return the evidence of `Evidence.from_arks`, without a Python object for each ARK.

    *sorted_arks* are the sorted distinct ARKs in UTF-8, *repeated_arks* those in two documents or more.
    """
    names, base_names = SortedNames(sorted_arks), SortedNames(_bases(sorted_arks))
    zones = Zones(learn_zones(base_names.arks()), declared)
    shapes = Shapes.learn(base_names.arks(), zones)
    return Evidence(
        names, shapes, qualifier_words(names.arks()), zones, cast("Container[Ark]", SortedNames(repeated_arks))
    )


def _bases(names: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the distinct ARKs of *names* without their qualifiers, sorted."""
    base_names = pc.replace_substring_regex(names, pattern=r"(?s)^([^/]*/[^/.]*).*", replacement=r"\1")
    return pa.table([pc.unique(base_names)], ["name"]).sort_by("name")["name"]
