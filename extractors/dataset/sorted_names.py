"""Normal forms of ARKs, sorted, as a column of Arrow: millions of them, looked up in a file that is memory-mapped."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, overload

import pyarrow as pa
import pyarrow.compute as pc

#: Bytes of names, and columns, that are sorted together; each column may be a file that is mapped, and a process can't
#: have very many of these. So many sorted columns are then merged, and so many names at a time.
_GATHERED_BYTES = 2**26
_GATHERED_COLUMNS = 1_000
_MERGED_COLUMNS = 16
_MERGED_NAMES = 250_000


class SortedNames(Sequence[str]):
    """Sorted texts, without a Python object for each; pickled, they are two pieces of bytes.

    >>> names = SortedNames.of(["ark:1/b", "ark:1/a"])
    >>> names[0], len(names), list(names)
    ('ark:1/a', 2, ['ark:1/a', 'ark:1/b'])
    """

    def __init__(self, offsets: Any, text: Any) -> None:
        self._offsets = memoryview(offsets).cast("B").cast("q")
        self._text = memoryview(text).cast("B")

    @classmethod
    def of(cls, names: Iterable[str]) -> SortedNames:
        """Return distinct *names* in their order."""
        return cls.of_column(column_of(names))

    @classmethod
    def of_column(cls, column: pa.LargeBinaryArray) -> SortedNames:
        """Return the names of a sorted column, without a copy."""
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
            return [self[each] for each in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        index %= len(self)
        return str(self._text[self._offsets[index] : self._offsets[index + 1]], "utf-8", "surrogatepass")

    def __reduce__(self) -> tuple[Any, ...]:
        return SortedNames, (bytes(self._offsets), bytes(self._text))


def column_of(names: Iterable[str]) -> pa.LargeBinaryArray:
    """Return distinct *names*, sorted, as a column: their order as bytes is that of their code points."""
    encoded = sorted({name.encode("utf-8", "surrogatepass") for name in names})
    return pa.array(encoded, pa.large_binary())


def joined(columns: Iterable[pa.LargeBinaryArray]) -> pa.LargeBinaryArray:
    """Return the distinct names of many columns, sorted, as one column; holds little more than that."""
    ordered: list[pa.LargeBinaryArray] = []
    gathered: list[pa.LargeBinaryArray] = []
    size = 0
    for column in columns:
        gathered.append(column)
        size += column.nbytes
        if size > _GATHERED_BYTES or len(gathered) >= _GATHERED_COLUMNS:
            ordered.append(_sorted(gathered))
            gathered, size = [], 0
        if len(ordered) >= _MERGED_COLUMNS:
            ordered = [_merged(ordered)]
    return _merged([*ordered, _sorted(gathered)])


def _sorted(columns: Sequence[pa.LargeBinaryArray]) -> pa.LargeBinaryArray:
    """The distinct names of some columns, sorted."""
    distinct = pc.unique(pa.chunked_array(columns, pa.large_binary()))
    return distinct.take(pc.sort_indices(distinct))


def _merged(columns: Sequence[pa.LargeBinaryArray]) -> pa.LargeBinaryArray:
    """The distinct names of columns that are sorted, range by range."""
    sequences = [SortedNames.of_column(column) for column in columns]
    longest = max(sequences, key=len)
    bounds = [longest[place] for place in range(_MERGED_NAMES, len(longest), _MERGED_NAMES)]
    ends = [[*(bisect_left(names, bound) for bound in bounds), len(names)] for names in sequences]
    pieces = []
    starts = [0] * len(columns)
    for place in range(len(bounds) + 1):
        stops = [each[place] for each in ends]
        ranges = zip(columns, starts, stops, strict=True)
        pieces.append(_sorted([column.slice(start, stop - start) for column, start, stop in ranges]))
        starts = stops
    return pa.concat_arrays(pieces)


def write_names(column: pa.LargeBinaryArray, path: Path) -> None:
    """Write a column into a file that `read_names` maps."""
    table = pa.table({"name": column})
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


def read_names(path: Path) -> pa.LargeBinaryArray:
    """Return the column in a file, mapped to memory and not read. Raises `pyarrow.ArrowInvalid` for any other file."""
    column = pa.ipc.open_file(pa.memory_map(str(path))).read_all().column("name")
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
