"""The plan of a dataset: the files of each part. Later commands only add parts for new files."""

from __future__ import annotations

import hashlib
import io
import json
import platform
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from pathlib import Path, PurePath, PurePosixPath

import extractors
from arkaudit import __version__
from arkaudit.datasets.columns import DATASET_TABLES
from arkaudit.datasets.storage import InputFile, Storage, is_object
from extractors.model.check_characters import DECLARED
from extractors.model.documents import Finding
from extractors.model.errors import UserMistake
from extractors.processes.codec import from_json, to_json, to_plain

#: Libraries that read documents.
_READERS = (
    "beautifulsoup4", "ijson", "lxml", "markdown-it-py", "pikepdf", "pymarc", "pypdfium2", "regex",
)  # fmt: skip


def fingerprint() -> tuple[str, ...]:
    """Return what determines which ARKs are found: the user's declarations, and the versions of the programs.

    >>> fingerprint()[0] == f"arkaudit {__version__}", fingerprint()[-1]
    (True, 'declared check characters: none')
    """
    declared = ", ".join(f"{naan} {has_check}".lower() for naan, has_check in sorted(DECLARED.items()))
    return (*versions(), f"declared check characters: {declared or 'none'}")


@cache
def versions() -> tuple[str, ...]:
    """Return the versions of arkaudit, its code, Python and the reading libraries.

    The code has a digest, because developers change it between versions.
    """
    # A slow import.
    from importlib import metadata

    python = ".".join(platform.python_version_tuple()[:2])
    readers = (f"{name} {metadata.version(name)}" for name in _READERS)
    return (
        f"arkaudit {__version__}",
        f"code {code_digest(Path(extractors.__file__).parent, Path(__file__).parent)}",
        f"Python {python}",
        *readers,
    )


def code_digest(*folders: Path) -> str:
    """Return a digest of the names and texts of the modules in *folders*, independent of line ends."""
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            text = path.read_bytes().replace(b"\r\n", b"\n")
            digest.update(f"{path.relative_to(folder).as_posix()} {len(text)}\n".encode() + text)
    return digest.hexdigest()[:12]


def difference(expected: Sequence[str], actual: Sequence[str]) -> str:
    """Return a phrase about versions in *actual* that differ from *expected*.

    >>> difference(("arkaudit 1", "lxml 6"), ("arkaudit 1", "lxml 5"))
    'lxml 5 instead of lxml 6'
    """
    here = [entry for entry in expected if entry not in actual]
    there = [entry for entry in actual if entry not in expected]
    return f"{', '.join(there)} instead of {', '.join(here)}" if here or there else ""


#: Compressed bytes of a part, and its maximum number of files.
PART_BYTES = 128 * 2**20
PART_FILES = 1_000

PLANS = "work/plans"
_FORMAT = "arkaudit dataset plan 1"
_KEY = re.compile(r"p[0-9]{6,}")


#: The name of an input folder, and a finding about it.
FolderFinding = tuple[str, Finding]


@dataclass(frozen=True, slots=True)
class Part:
    """Files that are processed together."""

    key: str
    """``p000001``."""
    files: tuple[InputFile, ...]
    folders: tuple[FolderFinding, ...] = ()

    @property
    def size(self) -> int:
        """Total size of its files in bytes."""
        return sum(file.size for file in self.files)


def parts_of(
    files: Iterable[InputFile],
    folders: Sequence[FolderFinding] = (),
    *,
    first: int = 1,
    part_bytes: int = PART_BYTES,
    part_files: int = PART_FILES,
) -> list[Part]:
    """Divide *files*, sorted by name, into parts of about *part_bytes*; the *first* part has the findings.

    >>> some = [InputFile(name, size, "") for name, size in (("c", 5), ("a", 60), ("b", 70), ("d", 200))]
    >>> [[file.name for file in part.files] for part in parts_of(some, part_bytes=100)]
    [['a'], ['b', 'c'], ['d']]
    """
    groups: list[list[InputFile]] = []
    size = 0
    for file in sorted(files, key=attrgetter("name")):
        if not groups or size + file.size > part_bytes or len(groups[-1]) == part_files:
            groups.append([])
            size = 0
        groups[-1].append(file)
        size += file.size
    if not groups and (folders or first == 1):
        groups.append([])
    return [
        Part(f"p{number:06}", tuple(group), tuple(folders) if number == first else ())
        for number, group in enumerate(groups, first)
    ]


def _is_in(name: str, place: str) -> bool:
    """Return True if a file is in a folder, or an object is below a prefix.

    >>> _is_in("papers/1/a.txt", "./papers/"), _is_in("s3://b/a.txt", "s3://b/"), _is_in("papers2/a.txt", "papers")
    (True, True, False)
    """
    if is_object(name) or is_object(place):
        return name.startswith(f"{place.rstrip('/')}/")
    return PurePath(name).is_relative_to(place)


@dataclass(frozen=True, slots=True)
class _PlanHead:
    """The first line of a plan; each further line is a part."""

    format: str
    made_by: list[str]


@dataclass(frozen=True, slots=True)
class Plan:
    """The parts of the dataset in *storage*, the same for one process and for a cluster."""

    storage: Storage
    made_by: Sequence[str]
    """The `fingerprint` of the programs that may work on it."""

    def parts(self) -> list[Part]:
        """Return the parts in order. A later part with the files of an earlier one replaces it. Raises `UserMistake`."""
        parts = [part for name in self.storage.names(PLANS) for part in self._parts_in(name)]
        keys = {file.name: part.key for part in parts for file in part.files}
        return [part for part in parts if all(keys[file.name] == part.key for file in part.files)]

    def extend(
        self,
        files: Sequence[InputFile],
        folders: Sequence[FolderFinding] = (),
        *,
        places: Sequence[str] = (),
        part_bytes: int = PART_BYTES,
    ) -> None:
        """Add parts for new *files*, which are all files in *places*.

        Raises `UserMistake` if planned files have changed or are no longer there, or if the programs differ.
        """
        given = {file.name for file in files}

        def new_parts(parts: Sequence[Part], first: int) -> list[Part]:
            planned = {file.name: file for part in parts for file in part.files}
            for name in planned:
                if name not in given and any(_is_in(name, place) for place in places):
                    raise UserMistake(f"{name} is in {self.storage.place}, and no longer there: make a new dataset")
            for file in files:
                if planned.get(file.name, file) != file:
                    raise UserMistake(
                        f"{file.name} has changed since {self.storage.place} was planned: make a new dataset"
                    )
            said = {finding for part in parts for finding in part.folders}
            new_files = {file.name: file for file in files if file.name not in planned}
            new_folders = [finding for finding in dict.fromkeys(folders) if finding not in said]
            return parts_of(new_files.values(), new_folders, first=first, part_bytes=part_bytes)

        self._append(new_parts)

    def split(self, part: Part) -> list[Part]:
        """Replace *part* by a part for each of its files, and return these."""
        return self._append(lambda _, first: parts_of(part.files, part.folders, first=first, part_files=1))

    def _append(self, new_parts: Callable[[Sequence[Part], int], list[Part]]) -> list[Part]:
        """Add and return the parts that *new_parts* returns for the present ones and the first new number."""
        while True:
            number, parts = len(self.storage.names(PLANS)), self.parts()
            new = new_parts(parts, 1 + max((int(part.key[1:]) for part in parts), default=0))
            lines = (to_json(line) + b"\n" for line in (_PlanHead(_FORMAT, list(self.made_by)), *new))
            # If another process has added a plan of this name, the next loop reads it.
            if not new or self.storage.create(f"{PLANS}/{number + 1:05}.jsonl", b"".join(lines)):
                return new

    def _parts_in(self, name: str) -> Iterator[Part]:
        """Yield the parts of one file. Raises `UserMistake` for an invalid one, or one of other programs."""
        try:
            lines = io.BytesIO(self.storage.read(f"{PLANS}/{name}") or b"")
            head = from_json(lines.readline(), _PlanHead)
            if head.format != _FORMAT:
                raise ValueError("it has another format")
            if another := difference(self.made_by, head.made_by):
                raise UserMistake(
                    f"{self.storage.place} was begun with {another}, which may find other ARKs: "
                    "resume it with that version, or make a new dataset"
                )
            for line in lines:
                part = from_json(line, Part)
                if not _KEY.fullmatch(part.key) or any("\0" in file.name for file in part.files):
                    raise ValueError("it has invalid names")
                yield part
        except ValueError:
            raise UserMistake(
                f"this version can't resume the dataset {self.storage.place}: {PLANS}/{name} is not a plan"
            ) from None


# -- the manifest, which is written last. Readers use only the files that it lists.

MANIFEST = "manifest.json"
FORMAT = "arkaudit dataset"
FORMAT_VERSION = 2


@dataclass(frozen=True, slots=True)
class TableFile:
    """A file of one table."""

    name: str
    """Its name relative to the dataset."""
    rows: int
    sha256: str


@dataclass(frozen=True, slots=True)
class TableFiles:
    """The files of one table."""

    rows: int
    files: tuple[str, ...]
    """Names relative to the dataset, in the order of the parts; at least one."""
    sha256: tuple[str, ...]
    """Digests in hexadecimal, in the same order."""

    @classmethod
    def of(cls, files: Sequence[TableFile]) -> TableFiles:
        """Return the files of one table together."""
        return cls(
            sum(file.rows for file in files), tuple(file.name for file in files), tuple(file.sha256 for file in files)
        )


@dataclass(frozen=True, slots=True)
class InputTotal:
    """The number and size of input files."""

    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """The content of a dataset."""

    format: str
    format_version: int
    arkaudit: str
    """The version of arkaudit that made it."""
    evidence: str
    """The digest of the evidence that decided its doubtful mentions."""
    inputs: InputTotal
    parts: int
    tables: dict[str, TableFiles]

    def to_bytes(self) -> bytes:
        """Return the manifest as JSON."""
        return json.dumps(to_plain(self), indent=1).encode() + b"\n"

    @classmethod
    def of_bytes(cls, data: bytes) -> Manifest:
        """Return the manifest in JSON. Raises ValueError if it is invalid or of an unknown version."""
        manifest = from_json(data, cls)
        if manifest.format != FORMAT:
            raise ValueError("it has another format")
        if manifest.format_version != FORMAT_VERSION:
            raise ValueError(f"its format has version {manifest.format_version}; this program reads {FORMAT_VERSION}")
        for table in DATASET_TABLES:
            if table.name not in manifest.tables:
                raise ValueError(f"the table {table.name!r} is missing")
            files = manifest.tables[table.name]
            if files.rows < 0 or not files.files or len(files.sha256) != len(files.files):
                raise ValueError(f"the table {table.name!r} has a wrong number of rows, files or digests")
            for name in files.files:
                path = PurePosixPath(name)
                if "\\" in name or ".." in path.parts or path.is_absolute():
                    raise ValueError(f"{name!r} is not inside the dataset")
        return manifest


def damage_in(storage: Storage, manifest: Manifest) -> Iterator[str]:
    """Read all files of the dataset in *storage*, and yield messages about damage."""
    for table in manifest.tables.values():
        for name, digest in zip(table.files, table.sha256, strict=True):
            now = storage.digest(name)
            if now is None:
                yield f"{name} is missing"
            elif now != digest:
                yield f"{name} is damaged"


def manifest_in(storage: Storage) -> Manifest:
    """Return the manifest of the dataset in *storage*. Raises `UserMistake` if it is missing or invalid."""
    data = storage.read(MANIFEST)
    if data is None:
        begun = " yet: the command that makes it has not finished" if storage.names(PLANS) else ""
        raise UserMistake(f"{storage.place} is not a dataset{begun}")
    try:
        return Manifest.of_bytes(data)
    except ValueError as problem:
        raise UserMistake(f"{storage.place}/{MANIFEST} can't be read: {problem}") from None
