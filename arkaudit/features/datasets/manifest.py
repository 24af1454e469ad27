"""The manifest of a dataset, which is written last. Readers use only the files that it lists."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from arkaudit.features.datasets.columns import DATASET_TABLES
from arkaudit.features.datasets.parts import DIGEST_DIGITS
from arkaudit.features.datasets.storage import Storage
from extractors.model.errors import UserMistake
from extractors.processes.codec import from_json, to_plain

MANIFEST = "manifest.json"
FORMAT_VERSION = 4
#: The name of a file that is finished, which ends with a digest of its content; *again* marks one to make again.
FINISHED_FILE = re.compile(rf"([0-9a-f]{{{DIGEST_DIGITS}}})-([0-9a-f]{{{DIGEST_DIGITS}}})(\.again)?\.parquet")
#: The names of files that may be removed: finished ones and scratch files.
OWN_FILE = re.compile(rf"{FINISHED_FILE.pattern}|[0-9a-f]{{{DIGEST_DIGITS}}}")


#: A name relative to the dataset, and the number of rows.
TableFile = tuple[str, int]


@dataclass(frozen=True, slots=True)
class TableFiles:
    """The files of one table."""

    rows: int
    files: tuple[str, ...]
    """Names relative to the dataset, in the order of the parts; at least one."""

    @classmethod
    def of(cls, files: Sequence[TableFile]) -> TableFiles:
        """Return the files of one table together."""
        return cls(sum(rows for _, rows in files), tuple(name for name, _ in files))


@dataclass(frozen=True, slots=True)
class Manifest:
    """The content of a dataset."""

    format_version: int
    arkaudit: str
    """The version of arkaudit that made it."""
    tables: dict[str, TableFiles]

    def to_bytes(self) -> bytes:
        """Return the manifest as JSON."""
        return json.dumps(to_plain(self), indent=1).encode() + b"\n"

    @classmethod
    def of_bytes(cls, data: bytes) -> Manifest:
        """Return the manifest in JSON. Raises ValueError if it is invalid or of an unknown version."""
        manifest = from_json(data, cls)
        if manifest.format_version != FORMAT_VERSION:
            raise ValueError(f"its format has version {manifest.format_version}; this program reads {FORMAT_VERSION}")
        for table in DATASET_TABLES:
            files = manifest.tables.get(table.name)
            if files is None or files.rows < 0 or not files.files:
                raise ValueError(f"the table {table.name!r} has no file or a wrong number of rows")
            for name in files.files:
                folder, _, file = name.partition("/")
                if folder != table.name or not FINISHED_FILE.fullmatch(file):
                    raise ValueError(f"{name!r} is not the name of a file of {table.name!r}")
        return manifest


def is_sound(storage: Storage, name: str) -> bool:
    """Return True if a finished file has the content that its name promises. Raises FileNotFoundError."""
    match = FINISHED_FILE.fullmatch(name.rpartition("/")[2])
    return match is not None and storage.digest(name).startswith(match[2])


def damage_in(storage: Storage, manifest: Manifest) -> Iterator[str]:
    """Read all files of the dataset in *storage*, and yield messages about damage."""
    for table in manifest.tables.values():
        for name in table.files:
            try:
                if not is_sound(storage, name):
                    yield f"{name} is damaged"
            except FileNotFoundError:
                yield f"{name} is missing"


def manifest_in(storage: Storage) -> Manifest:
    """Return the manifest of the dataset in *storage*. Raises `UserMistake` if it is missing or invalid."""
    try:
        with storage.open(MANIFEST) as file:
            return Manifest.of_bytes(file.read())
    except FileNotFoundError:
        begun = " yet: the command that makes it has not finished" if storage.names("work") else ""
        raise UserMistake(f"{storage.location} is not a dataset{begun}") from None
    except ValueError as problem:
        raise UserMistake(f"{storage.location}/{MANIFEST} can't be read: {problem}") from None
