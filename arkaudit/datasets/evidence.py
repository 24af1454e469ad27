"""The evidence of a whole dataset as a file: its complete ARKs, and the shapes learned from their names."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from extractors.model.ark import Ark
from extractors.model.check_characters import CheckCharacterRule, Zones, learn_zones
from extractors.processes.codec import from_json, to_json
from extractors.wraps.evidence import Evidence, Kind, Shapes, qualifier_words

#: Length of a digest in a file name.
DIGEST_DIGITS = 16
#: Number of names whose bytes are copied at once, for their digest.
_AT_ONCE = 1_000_000


class SortedNames(Sequence[str]):
    """A sequence of sorted texts in an Arrow array of bytes, without a Python object for each text.

    >>> names = SortedNames.of_table(pa.table({"name": pa.array([b"ark:1/a", b"ark:1/b"], pa.large_binary())}))
    >>> names[0], len(names), list(names)
    ('ark:1/a', 2, ['ark:1/a', 'ark:1/b'])
    """

    def __init__(self, names: pa.Array) -> None:
        self._names = names

    @classmethod
    def of_table(cls, table: pa.Table) -> SortedNames:
        """Return the sorted column ``name`` of *table*, copied only if it has several chunks."""
        column = table.column("name")
        return cls(column.chunk(0) if column.num_chunks == 1 else column.combine_chunks())

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, index: Any) -> Any:
        """Return the name at *index*, which is not a slice."""
        return str(self._names[index].as_py(), "utf-8", "surrogatepass")

    def arks(self) -> Iterator[Ark]:
        """Yield the ARKs of these normal forms."""
        return map(Ark.of_normal_form, self)


@dataclass(frozen=True, slots=True)
class RepeatedArks(Container[Ark]):
    """The ARKs that are complete in two documents or more."""

    names: SortedNames
    flags: bytes
    """1 for each name that is repeated, else 0."""

    def __contains__(self, ark: object) -> bool:
        form = str(ark)
        at = bisect_left(self.names, form)
        return at < len(self.names) and self.names[at] == form and self.flags[at] == 1


def evidence_of(names: pa.Table, bases: pa.Table) -> Evidence:
    """Return the same as `Evidence.from_arks` for ARKs and their *bases*, without an object for each ARK at the same time."""
    whole, distinct_bases = SortedNames.of_table(names), SortedNames.of_table(bases)
    zones = Zones(learn_zones(distinct_bases.arks()))
    shapes = Shapes.learn(distinct_bases.arks(), zones)
    return Evidence(whole, shapes, qualifier_words(whole.arks()), zones, RepeatedArks(whole, _flags(names)))


def _flags(names: pa.Table) -> bytes:
    return bytes(names.column("repeated").to_numpy().tobytes())


def digest_of(names: pa.Table) -> str:
    """Return a digest that identifies the evidence from *names*."""
    digest = hashlib.sha256()
    for batch in names.to_batches(max_chunksize=_AT_ONCE):
        digest.update(batch.serialize())
    return digest.hexdigest()[:DIGEST_DIGITS]


@dataclass(frozen=True, slots=True)
class _LearnedData:
    """The shapes and zones learned from names, for JSON, whose keys can't be pairs."""

    by_kind: list[tuple[Kind, frozenset[int]]]
    by_naan: dict[str, frozenset[int]]
    qualifiers: list[str]
    zones: list[tuple[tuple[str, str | None], CheckCharacterRule]]


#: The key of the learned data in the file.
_LEARNED = b"learned"


def write_evidence(names: pa.Table, evidence: Evidence, path: Path) -> None:
    """Write *evidence*, whose complete ARKs are *names*, into a file for `read_evidence`."""
    shapes = evidence.shapes
    qualifiers, zones = sorted(evidence.qualifiers), list(evidence.zones.learned.items())
    learned = to_json(_LearnedData(list(shapes.by_kind.items()), dict(shapes.by_naan), qualifiers, zones))
    table = names.replace_schema_metadata({_LEARNED: learned})
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


def read_evidence(path: Path) -> Evidence:
    """Return the evidence in a file, whose names are memory-mapped, also after the file is removed."""
    table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    learned = from_json(table.schema.metadata[_LEARNED], _LearnedData)
    shapes = Shapes(dict(learned.by_kind), learned.by_naan)
    whole, zones = SortedNames.of_table(table), Zones(dict(learned.zones))
    return Evidence(whole, shapes, frozenset(learned.qualifiers), zones, RepeatedArks(whole, _flags(table)))
