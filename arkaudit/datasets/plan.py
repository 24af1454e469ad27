"""The plan of a dataset: which files make which part. It only grows, by parts for files that come later.

Pure, but for `planned`, which keeps what it has decided.
"""

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
from extractors.processes.codec import decoded, encoded, plain

# The fingerprint of all that decides which ARKs are found in a document.


#: Libraries that read documents.
_READERS = (
    "beautifulsoup4", "ijson", "lxml", "markdown-it-py", "pikepdf", "pymarc", "pypdfium2", "regex",
)  # fmt: skip
_MISSING = "missing"


@cache
def fingerprint() -> tuple[str, ...]:
    """Return the version of arkaudit, and what else two processes have in common that find the same.

    That is Python, the libraries that read documents, and our own code, which a developer changes between versions.

    >>> fingerprint()[0] == f"arkaudit {__version__}"
    True
    """
    from importlib import metadata  # which takes longer than all that follows

    def installed(package: str) -> str:
        try:
            return metadata.version(package)
        except metadata.PackageNotFoundError:
            return _MISSING

    python = ".".join(platform.python_version_tuple()[:2])
    versions = (f"{name} {installed(name)}" for name in _READERS)
    return (
        f"arkaudit {__version__}",
        f"code {code_digest(Path(extractors.__file__).parent, Path(__file__).parent)}",
        f"Python {python}",
        *versions,
    )


def code_digest(*folders: Path) -> str:
    """Return a digest of the modules in *folders*: of their names and texts, however lines end."""
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            text = path.read_bytes().replace(b"\r\n", b"\n")
            digest.update(f"{path.relative_to(folder).as_posix()} {len(text)}\n".encode() + text)
    return digest.hexdigest()[:12]


def difference(expected: Iterable[str], actual: Iterable[str]) -> str:
    """Return in words what was *actual* of another version than is *expected*.

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
    if here.keys() != there.keys():  # what is named follows from the code
        words.append("another code")
    return ", ".join(words)


#: Compressed bytes that make a part, and files that do.
PART_BYTES = 128 * 2**20
PART_FILES = 1_000

_PLANS = "work/plans"
_HALVED = "work/halved"
_FORMAT = "arkaudit dataset plan 1"
_KEY = re.compile(r"p[0-9]{6,}")


#: The name of a folder that was named, and what was noticed about it.
FolderFinding = tuple[str, Finding]


@dataclass(frozen=True, slots=True)
class Part:
    """Some files that are read together: nothing of them is in the dataset, or all."""

    key: str
    """``p000001``; its halves are ``p000001a`` and ``p000001b``."""
    files: tuple[InputFile, ...]
    folders: tuple[FolderFinding, ...] = ()

    @property
    def size(self) -> int:
        """Return the bytes of its files."""
        return sum(file.size for file in self.files)

    @property
    def halves(self) -> tuple[Part, Part]:
        """Return two parts with half of its files each."""
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
    """Return the parts that *files* make: whole files, by name, so many as are about *part_bytes* together.

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


def planned(
    storage: Storage,
    files: Sequence[InputFile],
    folders: Sequence[FolderFinding] = (),
    *,
    made_by: Sequence[str],
    part_bytes: int = PART_BYTES,
) -> list[Part]:
    """Return all parts of the dataset in *storage*, with new ones for those of *files* that it doesn't have yet.

    Raises `UserMistake` where files have changed since they were planned, or something else has planned them than what
    it is to be *made_by* (`arkaudit.datasets.plan`).
    """
    while True:
        names = storage.names(_PLANS)
        parts = [part for name in names for part in _parts_in(storage, name, made_by)]
        more = _more(storage, parts, files, folders, part_bytes)
        if not more:
            return list(_halved(storage, parts))
        # or another process has added one: then once more
        lines = (encoded(line) + b"\n" for line in (_PlanHead(_FORMAT, list(made_by)), *more))
        storage.create(f"{_PLANS}/{len(names) + 1:05}.jsonl", b"".join(lines))


def _more(
    storage: Storage,
    parts: Sequence[Part],
    files: Sequence[InputFile],
    folders: Sequence[FolderFinding],
    part_bytes: int,
) -> list[Part]:
    """The parts that there must be besides those that are planned."""
    planned_files = {file.name: file for part in parts for file in part.files}
    said = {finding for part in parts for finding in part.folders}
    new = []
    for file in {file.name: file for file in files}.values():
        before = planned_files.get(file.name)
        if before is None:
            new.append(file)
        elif before != file:
            raise UserMistake(
                f"{file.name} is not what it was when {storage.place} was planned: make another dataset of it"
            )
    new_folders = [finding for finding in dict.fromkeys(folders) if finding not in said]
    first = 1 + max((int(part.key[1:]) for part in parts), default=0)
    return parts_of(new, new_folders, first=first, part_bytes=part_bytes)


def mark_halved(storage: Storage, part: Part) -> None:
    """Keep that *part* is read as two halves from now on."""
    storage.create(f"{_HALVED}/{part.key}.json", b"{}\n")


def _halved(storage: Storage, parts: Iterable[Part]) -> Iterator[Part]:
    """Return *parts*, with the halves of those that were halved in their places."""
    marked = {name.removesuffix(".json") for name in storage.names(_HALVED)}
    for part in parts:
        yield from _halved(storage, part.halves) if part.key in marked else [part]


@dataclass(frozen=True, slots=True)
class _PlanHead:
    """The first line of a plan; each that follows is a part."""

    format: str
    made_by: list[str]


def _parts_in(storage: Storage, name: str, made_by: Sequence[str]) -> Iterator[Part]:
    """The parts of one plan. Raises `UserMistake` for a plan that something else has made, and for what is no plan."""
    try:
        lines = io.BytesIO(storage.read(f"{_PLANS}/{name}") or b"")
        head = decoded(lines.readline(), _PlanHead)
        if head.format != _FORMAT:
            raise ValueError("it is of something else")
        if another := difference(made_by, head.made_by):
            raise UserMistake(
                f"{storage.place} was begun with {another}, which may find other things: "
                "resume with that, or make a new one"
            )
        for line in lines:
            part = decoded(line, Part)
            if not _KEY.fullmatch(part.key) or any("\0" in file.name for file in part.files):
                raise ValueError("it names what no plan names")
            yield part
    except ValueError:
        raise UserMistake(
            f"{storage.place} is no dataset that this version can resume: {_PLANS}/{name} is no plan"
        ) from None


# The manifest of a dataset: what it consists of. It comes last, and readers trust nothing else.

MANIFEST = "manifest.json"
FORMAT = "arkaudit dataset"
FORMAT_VERSION = 2


@dataclass(frozen=True, slots=True)
class TableFiles:
    """The files of one table."""

    rows: int
    files: tuple[str, ...]
    """Their names, relative to the dataset, in the order of the parts; at least one."""
    sha256: tuple[str, ...]
    """Their digests in hexadecimal, in the same order."""


@dataclass(frozen=True, slots=True)
class InputTotal:
    """How much a dataset was made of."""

    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a dataset consists of."""

    format: str
    format_version: int
    arkaudit: str
    """The version that made it."""
    evidence: str
    """The digest of the evidence that its doubtful mentions were decided on."""
    inputs: InputTotal
    parts: int
    tables: dict[str, TableFiles]

    def to_bytes(self) -> bytes:
        """Return the manifest as its file has it."""
        return json.dumps(plain(self), indent=1).encode() + b"\n"

    @classmethod
    def of_bytes(cls, data: bytes) -> Manifest:
        """Return the manifest in a file. Raises ValueError for what is none, or of a version that is not known."""
        manifest = decoded(data, cls)
        if manifest.format != FORMAT:
            raise ValueError("it is of something else")
        if manifest.format_version != FORMAT_VERSION:
            raise ValueError(f"its format is version {manifest.format_version}, and {FORMAT_VERSION} is known here")
        for table in DATASET_TABLES:
            if table.name not in manifest.tables:
                raise ValueError(f"something is missing: {table.name!r}")
            files = manifest.tables[table.name]
            if files.rows < 0 or not files.files or len(files.sha256) != len(files.files):
                fault = "a table is not counted, or a file of it is not named or has no digest"
                raise ValueError(fault)
            for name in files.files:
                path = PurePosixPath(name)
                if "\\" in name or ".." in path.parts or path.is_absolute():
                    raise ValueError(f"{name!r} is no file of the dataset")
        return manifest


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
