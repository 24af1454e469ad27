"""The parts of a dataset: groups of input files that are read together, each into a file that names them."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from operator import attrgetter

from arkaudit import __version__
from arkaudit.features.datasets.storage import InputFile
from extractors.model.check_characters import DECLARED
from extractors.model.documents import Finding
from extractors.model.errors import UserMistake
from extractors.model.formats import PLUGIN_FORMATS
from extractors.processes.codec import to_json


def fingerprint() -> tuple[str, ...]:
    """Return what determines which ARKs are found: the version of arkaudit, the user's declarations, and plug-ins.

    >>> fingerprint()[0] == f"arkaudit {__version__}", fingerprint()[1:]
    (True, ('declared check characters: none', 'formats of plug-ins: none'))
    """
    declared = ", ".join(f"{naan} {has_check}".lower() for naan, has_check in sorted(DECLARED.items()))
    added = ", ".join(f"{name} by {plugin.reader}" for name, plugin in sorted(PLUGIN_FORMATS.items()))
    return (
        f"arkaudit {__version__}",
        f"declared check characters: {declared or 'none'}",
        f"formats of plug-ins: {added or 'none'}",
    )


#: Length of a digest in a file name.
DIGEST_DIGITS = 16


def digest_of(data: bytes) -> str:
    """Return the beginning of the SHA-256 of *data*, for the name of a file."""
    return hashlib.sha256(data).hexdigest()[:DIGEST_DIGITS]


#: Compressed bytes of a part, and its maximum number of files.
PART_BYTES = 128 * 2**20
PART_FILES = 1_000


#: The name of an input folder, and a finding about it.
FolderFinding = tuple[str, Finding]


@dataclass(frozen=True, slots=True)
class Part:
    """Input files that are read together, or the findings about input folders."""

    made_by: tuple[str, ...]
    """The `fingerprint` of the programs that read it."""
    files: tuple[InputFile, ...] = ()
    folders: tuple[FolderFinding, ...] = ()

    @property
    def digest(self) -> str:
        """The beginning of the name of its file."""
        return digest_of(to_json(self))

    @property
    def size(self) -> int:
        """Total size of its files in bytes."""
        return sum(file.size for file in self.files)


def parts_of(files: Iterable[InputFile], *, part_bytes: int = PART_BYTES) -> list[Part]:
    """Divide *files*, sorted by name, into parts of about *part_bytes*.

    >>> some = [InputFile(name, size, "") for name, size in (("c", 5), ("a", 60), ("b", 70), ("d", 200))]
    >>> [[file.name for file in part.files] for part in parts_of(some, part_bytes=100)]
    [['a'], ['b', 'c'], ['d']]
    """
    groups: list[list[InputFile]] = []
    size = 0
    for file in sorted(files, key=attrgetter("name")):
        if not groups or size + file.size > part_bytes or len(groups[-1]) == PART_FILES:
            groups.append([])
            size = 0
        groups[-1].append(file)
        size += file.size
    return [Part(fingerprint(), tuple(group)) for group in groups]


def done_and_left(
    done: Iterable[tuple[str, Part]],
    files: Collection[InputFile],
    folders: Collection[FolderFinding],
    *,
    location: str,
    part_bytes: int = PART_BYTES,
) -> tuple[dict[str, Part], list[Part]]:
    """Return the names of read parts that are of use for *files* and *folders*, and the parts left to read.

    A part is read again if one of its files has changed, or if the programs differ. Raises `UserMistake` if *done* at
    *location* have a file that is not among *files*.
    """
    given = {file.name for file in files}
    left, new_folders = set(files), dict.fromkeys(folders)
    useful = {}
    for name, part in done:
        for file in part.files:
            if file.name not in given:
                raise UserMistake(
                    f"{file.name} is in {location}, but the command does not name it, or it is no longer there: "
                    "name all files of the dataset, or make a new dataset"
                )
        if part.made_by == fingerprint() and left.issuperset(part.files) and new_folders.keys() >= {*part.folders}:
            useful[name] = part
            left.difference_update(part.files)
            for finding in part.folders:
                del new_folders[finding]
    about_folders = [Part(fingerprint(), folders=tuple(new_folders))] * bool(new_folders)
    return useful, about_folders + parts_of(left, part_bytes=part_bytes)
