"""The evidence of a whole dataset as files: its complete ARKs, and the shapes learned from their names."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import pyarrow as pa
import pyarrow.compute as pc

from extractors.model.ark import Ark
from extractors.model.check_characters import CheckCharacterRule, Zones, learn_zones
from extractors.processes.codec import from_json, to_json
from extractors.wraps.evidence import Evidence, Kind, Shape, Shapes, qualifier_words

#: Bytes and columns that are sorted together: each column may be a mapped file, whose number the system limits.
#: Then the number of sorted columns that are merged, and of names at a time.
_GATHERED_BYTES = 2**26
_GATHERED_COLUMNS = 1_000
_MERGED_COLUMNS = 16
_MERGED_NAMES = 250_000


class SortedNames(Sequence[str]):
    """A sequence of sorted texts in two buffers, without a Python object for each text.

    >>> names = SortedNames.of(["ark:1/b", "ark:1/a"])
    >>> names[0], len(names), list(names)
    ('ark:1/a', 2, ['ark:1/a', 'ark:1/b'])
    """

    def __init__(self, offsets: Any, text: Any) -> None:
        self._offsets = memoryview(offsets).cast("B").cast("q")
        self._text = memoryview(text).cast("B")

    @classmethod
    def of(cls, names: Iterable[str]) -> SortedNames:
        """Return distinct *names*, sorted."""
        return cls.of_column(column_of(names))

    @classmethod
    def of_column(cls, column: pa.LargeBinaryArray) -> SortedNames:
        """Return the names of a sorted column without copying them."""
        if not len(column):
            return cls(b"\0" * 8, b"")
        _, offsets, text = column.buffers()
        first, end = column.offset, column.offset + len(column) + 1
        return cls(memoryview(offsets)[first * 8 : end * 8], text if text is not None else b"")

    def __len__(self) -> int:
        return len(self._offsets) - 1

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        index %= len(self)
        return str(self._text[self._offsets[index] : self._offsets[index + 1]], "utf-8", "surrogatepass")

    def __reduce__(self) -> tuple[Any, ...]:
        return SortedNames, (bytes(self._offsets), bytes(self._text))


def column_of(names: Iterable[str]) -> pa.LargeBinaryArray:
    """Return distinct *names* as a sorted column. UTF-8 bytes have the order of code points."""
    encoded = sorted({name.encode("utf-8", "surrogatepass") for name in names})
    return pa.array(encoded, pa.large_binary())


def merge_columns(columns: Iterable[pa.LargeBinaryArray]) -> pa.LargeBinaryArray:
    """Return the distinct names of many columns as one sorted column, with little more memory than that takes."""
    ordered: list[pa.LargeBinaryArray] = []
    gathered: list[pa.LargeBinaryArray] = []
    size = 0
    for column in columns:
        gathered.append(column)
        size += column.nbytes
        if size > _GATHERED_BYTES or len(gathered) >= _GATHERED_COLUMNS:
            ordered.append(_sort_names(gathered))
            gathered, size = [], 0
        if len(ordered) >= _MERGED_COLUMNS:
            ordered = [_merge_sorted(ordered)]
    return _merge_sorted([*ordered, _sort_names(gathered)])


def _sort_names(columns: Sequence[pa.LargeBinaryArray]) -> pa.LargeBinaryArray:
    """Return the distinct names of some columns, sorted."""
    distinct = pc.unique(pa.chunked_array(columns, pa.large_binary()))
    return distinct.take(pc.sort_indices(distinct))


def _merge_sorted(columns: Sequence[pa.LargeBinaryArray]) -> pa.LargeBinaryArray:
    """Return the distinct names of sorted columns, merged range by range."""
    sequences = [SortedNames.of_column(column) for column in columns]
    longest = max(sequences, key=len)
    bounds = [longest[place] for place in range(_MERGED_NAMES, len(longest), _MERGED_NAMES)]
    ends = [[*(bisect_left(names, bound) for bound in bounds), len(names)] for names in sequences]
    pieces = []
    starts = [0] * len(columns)
    for place in range(len(bounds) + 1):
        stops = [stops_of_column[place] for stops_of_column in ends]
        ranges = zip(columns, starts, stops, strict=True)
        pieces.append(_sort_names([column.slice(start, stop - start) for column, start, stop in ranges]))
        starts = stops
    return pa.concat_arrays(pieces)


def write_names(column: pa.LargeBinaryArray, path: Path) -> None:
    """Write a column into a file for `read_names`."""
    table = pa.table({"name": column})
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


def read_names(path: Path) -> pa.LargeBinaryArray:
    """Return the memory-mapped column in a file. Raises `pyarrow.ArrowInvalid` for any other file."""
    column = pa.ipc.open_file(pa.memory_map(str(path))).read_all().column("name")
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


NAMES_FILE = "whole.arrow"
LEARNED_FILE = "learned.json"

#: Number of ARKs that are processed together.
_AT_ONCE = 100_000
_DIGEST_DIGITS = 16


def digest_of(column: pa.LargeBinaryArray) -> str:
    """Return the digest that identifies the evidence from a sorted column of normal forms.

    >>> digest_of(pa.array([b"ark:1/a"], pa.large_binary()))
    'da1824647c6a125b'
    """
    digest = hashlib.sha256()
    for start in range(0, len(column), _AT_ONCE):
        digest.update(b"".join(name.as_py() + b"\n" for name in column[start : start + _AT_ONCE]))
    return digest.hexdigest()[:_DIGEST_DIGITS]


def evidence_of(names: SortedNames) -> Evidence:
    """Return the same as `Evidence.of`, without an object for each ARK at the same time.

    >>> arks = [Ark("12148", "btv1b84", "/f1.item"), Ark("12148", "btv1b84")]
    >>> found, expected = evidence_of(SortedNames.of(map(str, arks))), Evidence.of(arks)
    >>> list(found.whole) == list(expected.whole), found.qualifiers == expected.qualifiers
    (True, True)
    """
    others = SortedNames.of_column(merge_columns(_bases_of_qualified(names)))
    zones = Zones(learn_zones(_bases(names, others)))
    return Evidence(names, Shapes.learn(_bases(names, others), zones), qualifier_words(_arks(names)), zones)


@dataclass(frozen=True, slots=True)
class _LearnedData:
    """The shapes and zones learned from names, for JSON, whose keys can't be pairs."""

    by_kind: list[tuple[Kind, Shape]]
    by_naan: dict[str, Shape]
    qualifiers: list[str]
    zones: list[tuple[tuple[str, str | None], CheckCharacterRule]]


def learned_json(evidence: Evidence) -> bytes:
    """Return *evidence* without its names, as JSON."""
    shapes = evidence.shapes
    qualifiers, zones = sorted(evidence.qualifiers), list(evidence.zones.learned.items())
    return to_json(_LearnedData(list(shapes.by_kind.items()), dict(shapes.by_naan), qualifiers, zones))


def read_evidence(names_file: Path, learned: bytes) -> Evidence:
    """Return the evidence from a file of names, which is memory-mapped, and from JSON."""
    kept = from_json(learned, _LearnedData)
    names = SortedNames.of_column(read_names(names_file))
    shapes = Shapes(dict(kept.by_kind), kept.by_naan)
    return Evidence(names, shapes, frozenset(kept.qualifiers), zones=Zones(dict(kept.zones)))


def _bases_of_qualified(names: SortedNames) -> Iterator[pa.LargeBinaryArray]:
    """Yield columns of the bases of those *names* that have a qualifier."""
    for start in range(0, len(names), _AT_ONCE):
        arks = map(Ark.of_normal_form, names[start : start + _AT_ONCE])
        yield column_of(str(ark.base) for ark in arks if ark.qualifier)


def _bases(names: SortedNames, others: SortedNames) -> Iterator[Ark]:
    """Yield distinct ARKs without qualifiers: those among *names*, then *others* that are not among them."""
    yield from (ark for ark in _arks(names) if not ark.qualifier)
    for other in others:
        at = bisect_left(names, other)
        if at == len(names) or names[at] != other:
            yield Ark.of_normal_form(other)


def _arks(names: Sequence[str]) -> Iterator[Ark]:
    return (Ark.of_normal_form(names[number]) for number in range(len(names)))
