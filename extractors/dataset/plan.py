"""The plan of a dataset: which files make which part. It only grows, by parts for files that come later.

Pure, but for `planned`, which keeps what it has decided.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

from extractors.dataset.storage import Storage
from extractors.fingerprint import difference
from extractors.shared_errors import UserMistake

#: Compressed bytes that make a part, and files that do.
PART_BYTES: Final = 128 * 2**20
PART_FILES: Final = 1_000

_PLANS: Final = "work/plans"
_HALVED: Final = "work/halved"
_FORMAT: Final = "arkaudit dataset plan 1"


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file that a dataset is made of."""

    name: str
    """Its path or URL, as it was given."""
    size: int
    """Its bytes, compressed as it is."""
    stamp: str
    """What is another when the file has changed: a moment, or what its storage calls an entity tag."""


@dataclass(frozen=True, slots=True)
class FolderFinding:
    """What was noticed about a folder that was named."""

    folder: str
    kind: str
    detail: str


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
    it is to be *made_by* (`extractors.fingerprint`).
    """
    while _is_plan_added(storage, files, folders, made_by, part_bytes):
        pass  # or somebody else has added one: then once more
    parts = (part for name in storage.names(_PLANS) for part in _parts_in(storage, name, made_by))
    return list(_halved(storage, parts))


def _is_plan_added(
    storage: Storage,
    files: Sequence[InputFile],
    folders: Sequence[FolderFinding],
    made_by: Sequence[str],
    part_bytes: int,
) -> bool:
    """Return whether there was something that had to be planned."""
    names = storage.names(_PLANS)
    parts = [part for name in names for part in _parts_in(storage, name, made_by)]
    known = {file.name: file for part in parts for file in part.files}
    said = {each for part in parts for each in part.folders}
    new = [file for file in _distinct(files) if _is_new(file, known, storage.place)]
    new_folders = [each for each in dict.fromkeys(folders) if each not in said]
    if not new and not new_folders:
        return False
    first = 1 + max((int(part.key[1:]) for part in parts), default=0)
    more = parts_of(new, new_folders, first=first, part_bytes=part_bytes)
    storage.create(f"{_PLANS}/{len(names) + 1:05}.jsonl", _plan_bytes(more, made_by))
    return True


def mark_halved(storage: Storage, part: Part) -> None:
    """Keep that *part* is read as two halves from now on."""
    storage.create(f"{_HALVED}/{part.key}.json", b"{}\n")


def _halved(storage: Storage, parts: Iterable[Part]) -> Iterator[Part]:
    """Return *parts*, with the halves of those that were halved in their places."""
    marked = {name.removesuffix(".json") for name in storage.names(_HALVED)}

    def those_of(part: Part) -> Iterator[Part]:
        if part.key not in marked:
            yield part
            return
        for half in part.halves:
            yield from those_of(half)

    for part in parts:
        yield from those_of(part)


def _distinct(files: Iterable[InputFile]) -> Iterable[InputFile]:
    return {file.name: file for file in files}.values()


def _is_new(file: InputFile, known: Mapping[str, InputFile], place: str) -> bool:
    if file.name not in known:
        return True
    if known[file.name] != file:
        raise UserMistake(f"{file.name} is not what it was when {place} was planned: make another dataset of it")
    return False


def _plan_bytes(parts: Iterable[Part], made_by: Sequence[str]) -> bytes:
    lines: list[dict[str, Any]] = [{"format": _FORMAT, "made_by": [*made_by]}]
    lines += [
        {
            "part": part.key,
            "files": [[file.name, file.size, file.stamp] for file in part.files],
            "folders": [[each.folder, each.kind, each.detail] for each in part.folders],
        }
        for part in parts
    ]
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def _parts_in(storage: Storage, name: str, made_by: Sequence[str]) -> Iterator[Part]:
    try:
        head, *lines = map(json.loads, (storage.read(f"{_PLANS}/{name}") or b"").splitlines())
        is_ours = head["format"] == _FORMAT
        begun_by = head["made_by"] if "made_by" in head else [f"arkaudit {head['arkaudit']}"]
    except (ValueError, LookupError, TypeError):
        is_ours = False
    if not is_ours:
        raise UserMistake(f"{storage.place} is no dataset that this version can go on with: {_PLANS}/{name} is no plan")
    if another := difference(made_by, begun_by):
        raise UserMistake(
            f"{storage.place} was begun with {another}, which may find other things: go on with that, or make another "
            "dataset"
        )
    for line in lines:
        files = tuple(InputFile(*file) for file in line["files"])
        yield Part(line["part"], files, tuple(FolderFinding(*each) for each in line["folders"]))
