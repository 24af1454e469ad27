"""The plan of a dataset: the files of each part. Later commands only add parts for new files."""

from __future__ import annotations

import hashlib
import io
import json
import platform
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from pathlib import Path, PurePosixPath

import extractors
from arkaudit import __version__
from arkaudit.datasets.columns import DATASET_TABLES
from arkaudit.datasets.storage import InputFile, Storage
from extractors.model.documents import Finding
from extractors.model.errors import UserMistake
from extractors.processes.codec import from_json, to_json, to_plain

#: Libraries that read documents.
_READERS = (
    "beautifulsoup4", "ijson", "lxml", "markdown-it-py", "pikepdf", "pymarc", "pypdfium2", "regex",
)  # fmt: skip
_MISSING = "missing"


@cache
def fingerprint() -> tuple[str, ...]:
    """Return the versions that determine which ARKs are found: arkaudit, its code, Python and reading libraries.

    The code has a digest, because developers change it between versions.

    >>> fingerprint()[0] == f"arkaudit {__version__}"
    True
    """
    # A slow import.
    from importlib import metadata

    def installed_version(package: str) -> str:
        try:
            return metadata.version(package)
        except metadata.PackageNotFoundError:
            return _MISSING

    python = ".".join(platform.python_version_tuple()[:2])
    versions = (f"{name} {installed_version(name)}" for name in _READERS)
    return (
        f"arkaudit {__version__}",
        f"code {code_digest(Path(extractors.__file__).parent, Path(__file__).parent)}",
        f"Python {python}",
        *versions,
    )


def code_digest(*folders: Path) -> str:
    """Return a digest of the names and texts of the modules in *folders*, independent of line ends."""
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            text = path.read_bytes().replace(b"\r\n", b"\n")
            digest.update(f"{path.relative_to(folder).as_posix()} {len(text)}\n".encode() + text)
    return digest.hexdigest()[:12]


def difference(expected: Iterable[str], actual: Iterable[str]) -> str:
    """Return a phrase about versions in *actual* that differ from *expected*.

    >>> difference(("arkaudit 1", "lxml 6"), ("arkaudit 1", "lxml 5"))
    'lxml 5 instead of lxml 6'
    >>> difference(("arkaudit 1", "code 2b"), ("arkaudit 1",))
    'another code'
    """
    here, there = (dict(entry.split(" ", 1) for entry in some) for some in (expected, actual))
    words = [
        f"{name} {there[name]} instead of {name} {here[name]}"
        for name in here
        if there.get(name, here[name]) != here[name]
    ]
    # The names depend on the code.
    if here.keys() != there.keys():
        words.append("another code")
    return ", ".join(words)


#: Compressed bytes of a part, and its maximum number of files.
PART_BYTES = 128 * 2**20
PART_FILES = 1_000

_PLANS = "work/plans"
_HALVED = "work/halved"
_FORMAT = "arkaudit dataset plan 1"
_KEY = re.compile(r"p[0-9]{6,}")


#: The name of an input folder, and a finding about it.
FolderFinding = tuple[str, Finding]


@dataclass(frozen=True, slots=True)
class Part:
    """Files that are processed and committed together."""

    key: str
    """``p000001``; its halves are ``p000001a`` and ``p000001b``."""
    files: tuple[InputFile, ...]
    folders: tuple[FolderFinding, ...] = ()

    @property
    def size(self) -> int:
        """Total size of its files in bytes."""
        return sum(file.size for file in self.files)

    @property
    def halves(self) -> tuple[Part, Part]:
        """Two parts with half of its files each."""
        middle = (len(self.files) + 1) // 2
        return Part(f"{self.key}a", self.files[:middle], self.folders), Part(f"{self.key}b", self.files[middle:])


def parts_of(
    files: Iterable[InputFile],
    folders: Sequence[FolderFinding] = (),
    *,
    first: int = 1,
    part_bytes: int = PART_BYTES,
    part_files: int = PART_FILES,
) -> list[Part]:
    """Divide *files*, sorted by name, into parts of about *part_bytes*.

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
    if folders and not groups:
        groups.append([])
    return [
        Part(f"p{number:06}", tuple(group), tuple(folders) if number == first else ())
        for number, group in enumerate(groups, first)
    ]


def extend_plan(
    storage: Storage,
    files: Sequence[InputFile],
    folders: Sequence[FolderFinding] = (),
    *,
    made_by: Sequence[str],
    part_bytes: int = PART_BYTES,
) -> list[Part]:
    """Add parts for new *files* to the plan in *storage*, and return all parts.

    Raises `UserMistake` if planned files have changed, or if the plan was made by another `fingerprint` than *made_by*.
    """
    while True:
        names = storage.names(_PLANS)
        parts = [part for name in names for part in _parts_in(storage, name, made_by)]
        more = _more(storage, parts, files, folders, part_bytes)
        if not more:
            return list(_split_halved(storage, parts))
        # If another process has added a plan of this name, the next loop reads it.
        lines = (to_json(line) + b"\n" for line in (_PlanHead(_FORMAT, list(made_by)), *more))
        storage.create(f"{_PLANS}/{len(names) + 1:05}.jsonl", b"".join(lines))


def _more(
    storage: Storage,
    parts: Sequence[Part],
    files: Sequence[InputFile],
    folders: Sequence[FolderFinding],
    part_bytes: int,
) -> list[Part]:
    """Return parts for files and findings that are not planned yet. Raises `UserMistake` if a file has changed."""
    planned_files = {file.name: file for part in parts for file in part.files}
    said = {finding for part in parts for finding in part.folders}
    new = []
    for file in {file.name: file for file in files}.values():
        before = planned_files.get(file.name)
        if before is None:
            new.append(file)
        elif before != file:
            raise UserMistake(f"{file.name} has changed since {storage.place} was planned: make a new dataset")
    new_folders = [finding for finding in dict.fromkeys(folders) if finding not in said]
    first = 1 + max((int(part.key[1:]) for part in parts), default=0)
    return parts_of(new, new_folders, first=first, part_bytes=part_bytes)


def mark_halved(storage: Storage, part: Part) -> None:
    """Record that *part* is read as two halves from now on."""
    storage.create(f"{_HALVED}/{part.key}.json", b"{}\n")


def _split_halved(storage: Storage, parts: Iterable[Part]) -> Iterator[Part]:
    """Yield *parts*, with halved ones replaced by their halves."""
    marked = {name.removesuffix(".json") for name in storage.names(_HALVED)}
    for part in parts:
        yield from _split_halved(storage, part.halves) if part.key in marked else [part]


@dataclass(frozen=True, slots=True)
class _PlanHead:
    """The first line of a plan; each further line is a part."""

    format: str
    made_by: list[str]


def _parts_in(storage: Storage, name: str, made_by: Sequence[str]) -> Iterator[Part]:
    """Yield the parts of one plan. Raises `UserMistake` for an invalid plan, or one of another version."""
    try:
        lines = io.BytesIO(storage.read(f"{_PLANS}/{name}") or b"")
        head = from_json(lines.readline(), _PlanHead)
        if head.format != _FORMAT:
            raise ValueError("it has another format")
        if another := difference(made_by, head.made_by):
            raise UserMistake(
                f"{storage.place} was begun with {another}, which may find other ARKs: "
                "resume it with that version, or make a new dataset"
            )
        for line in lines:
            part = from_json(line, Part)
            if not _KEY.fullmatch(part.key) or any("\0" in file.name for file in part.files):
                raise ValueError("it has invalid names")
            yield part
    except ValueError:
        raise UserMistake(
            f"this version can't resume the dataset {storage.place}: {_PLANS}/{name} is not a plan"
        ) from None


# -- the manifest, which is written last. Readers use only the files that it lists.

MANIFEST = "manifest.json"
FORMAT = "arkaudit dataset"
FORMAT_VERSION = 2


@dataclass(frozen=True, slots=True)
class TableFiles:
    """The files of one table."""

    rows: int
    files: tuple[str, ...]
    """Names relative to the dataset, in the order of the parts; at least one."""
    sha256: tuple[str, ...]
    """Digests in hexadecimal, in the same order."""


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


def damage_in(storage: Storage) -> Iterator[str]:
    """Read all files of the dataset in *storage*, and yield messages about damage. Raises `UserMistake`."""
    for table in manifest_in(storage).tables.values():
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
        begun = " yet: the command that makes it has not finished" if storage.names("work/plans") else ""
        raise UserMistake(f"{storage.place} is not a dataset{begun}")
    try:
        return Manifest.of_bytes(data)
    except ValueError as problem:
        raise UserMistake(f"{storage.place}/{MANIFEST} can't be read: {problem}") from None
