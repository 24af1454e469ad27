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
_AT_ONCE = 1_000_000


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
        form = str(text)
        at = bisect_left(self, form)
        return at < len(self) and self[at] == form

    def arks(self) -> Iterator[Ark]:
        """Yield the ARKs of these normal forms."""
        return map(Ark.of_normal_form, self)


@dataclass(frozen=True, slots=True)
class DatasetEvidence:
    """What the second pass needs of all documents."""

    evidence: Evidence
    digest: str
    """A text that identifies the evidence."""


def learn(parts: Iterable[pa.ChunkedArray], declared: Declared = NOTHING_DECLARED) -> DatasetEvidence:
    """Return the evidence in *parts*, each with lists of the complete ARKs of a document.

    *declared* are the user's check characters.

    >>> list(learn([pa.chunked_array([[[b"ark:1/b"], [b"ark:1/a", b"ark:1/b"]]])]).evidence.whole_forms)
    ['ark:1/a', 'ark:1/b']
    """
    names = _counted(pa.array([], pa.large_binary()))
    new: list[pa.Table] = []
    for part in parts:
        new.append(_counted(pc.list_flatten(part).cast(pa.large_binary())))
        if sum(table.num_rows for table in new) > names.num_rows + _AT_ONCE:
            names, new = _merged([names, *new]), []
    names = _merged([names, *new]).sort_by("name")
    whole, is_repeated = names["name"], pc.greater(names["documents"], 1)
    digest = hashlib.sha256()
    for batch in pa.table([whole, is_repeated], ["name", "repeated"]).to_batches(_AT_ONCE):
        digest.update(batch.serialize())
    return DatasetEvidence(evidence_of(whole, whole.filter(is_repeated), declared), digest.hexdigest())


def _counted(names: pa.Array | pa.ChunkedArray) -> pa.Table:
    return pa.table({"name": names, "documents": pa.repeat(1, len(names))})


def _merged(tables: Sequence[pa.Table]) -> pa.Table:
    counted = pa.concat_tables(tables).group_by("name").aggregate([("documents", "sum")])
    return counted.rename_columns({"documents_sum": "documents"})


def evidence_of(names: pa.ChunkedArray, repeated: pa.ChunkedArray, declared: Declared) -> Evidence:
    """Return the same as `Evidence.from_arks`, with one ARK at a time in memory as an object.

    *names* are the sorted distinct ARKs, *repeated* those in two documents or more.
    """
    whole, bases = SortedNames(names), SortedNames(_bases(names))
    zones = Zones(learn_zones(bases.arks()), declared)
    shapes = Shapes.learn(bases.arks(), zones)
    return Evidence(whole, shapes, qualifier_words(whole.arks()), zones, cast("Container[Ark]", SortedNames(repeated)))


def _bases(names: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the sorted distinct names without their qualifiers."""
    bases = pc.replace_substring_regex(names, pattern=r"(?s)^([^/]*/[^/.]*).*", replacement=r"\1")
    return pa.table([pc.unique(bases)], ["name"]).sort_by("name")["name"]
