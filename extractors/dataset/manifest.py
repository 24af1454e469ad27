"""The manifest of a dataset: what it consists of. It comes last, and readers trust nothing else."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final

from extractors.dataset.columns import DATASET_TABLES
from extractors.dataset.storage import Storage
from extractors.shared_errors import UserMistake

MANIFEST: Final = "manifest.json"
FORMAT: Final = "arkaudit dataset"
FORMAT_VERSION: Final = 2


@dataclass(frozen=True, slots=True)
class TableFiles:
    """The files of one table."""

    rows: int
    files: Sequence[str]
    """Their names, relative to the dataset, in the order of the parts; at least one."""
    sha256: Sequence[str]
    """Their digests in hexadecimal, in the same order."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a dataset consists of."""

    arkaudit: str
    """The version that made it."""
    evidence: str
    """The digest of the evidence that its doubtful mentions were decided on."""
    input_files: int
    input_bytes: int
    parts: int
    tables: Mapping[str, TableFiles]

    def to_bytes(self) -> bytes:
        """Return the manifest as its file has it."""
        kept = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "arkaudit": self.arkaudit,
            "evidence": self.evidence,
            "inputs": {"files": self.input_files, "bytes": self.input_bytes},
            "parts": self.parts,
            "tables": {
                name: {"rows": table.rows, "files": list(table.files), "sha256": list(table.sha256)}
                for name, table in self.tables.items()
            },
        }
        written = io.BytesIO()  # piece by piece, for there may be hundreds of thousands of files
        for piece in json.JSONEncoder(indent=1).iterencode(kept):
            written.write(piece.encode())
        written.write(b"\n")
        return written.getvalue()

    @classmethod
    def of_bytes(cls, data: bytes) -> Manifest:
        """Return the manifest in a file. Raises ValueError for what is none, or of a version that is not known."""
        try:
            kept: Any = json.loads(data)
            if kept["format"] != FORMAT:
                raise ValueError("it is of something else")
            if kept["format_version"] != FORMAT_VERSION:
                raise ValueError(f"its format is version {kept['format_version']}, and {FORMAT_VERSION} is known here")
            tables = {table.name: _table_files(kept["tables"][table.name]) for table in DATASET_TABLES}
            inputs = kept["inputs"]
            return cls(kept["arkaudit"], kept["evidence"], inputs["files"], inputs["bytes"], kept["parts"], tables)
        except (LookupError, TypeError) as problem:
            raise ValueError(f"something is missing: {problem}") from None
        except RecursionError:
            raise ValueError("it nests too deeply") from None


def _table_files(kept: Any) -> TableFiles:
    """The files of a table. Raises `ValueError` where they would be none of the dataset's own."""
    rows, names = kept["rows"], tuple(kept["files"])
    if not isinstance(rows, int) or rows < 0 or not names or not all(isinstance(name, str) for name in names):
        raise ValueError("a table is not counted, or has no files")
    for name in names:
        if "\\" in name or ".." in PurePosixPath(name).parts or PurePosixPath(name).is_absolute():
            raise ValueError(f"{name!r} is no file of the dataset")
    digests = tuple(kept["sha256"])
    if len(digests) != len(names) or not all(isinstance(digest, str) for digest in digests):
        raise ValueError("a file of a table has no digest")
    return TableFiles(rows, names, digests)


def damage_in(storage: Storage) -> Iterator[str]:
    """Yield what is wrong with the files of the dataset in *storage*, of which each is read. Raises `UserMistake`."""
    for table in manifest_in(storage).tables.values():
        for name, digest in zip(table.files, table.sha256, strict=True):
            now = storage.digest(name)
            if now is None:
                yield f"{name} is missing"
            elif now != digest:
                yield f"{name} is not what was written"


def manifest_in(storage: Storage) -> Manifest:
    """Return the manifest of the dataset in *storage*. Raises `UserMistake` where there is none that can be read."""
    data = storage.read(MANIFEST)
    if data is None:
        begun = " yet: the command that makes it has not come to its end" if storage.names("work/plans") else ""
        raise UserMistake(f"{storage.place} is no dataset{begun}")
    try:
        return Manifest.of_bytes(data)
    except ValueError as problem:
        raise UserMistake(f"{storage.place}/{MANIFEST} can't be read: {problem}") from None
