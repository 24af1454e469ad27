"""The parts of a dataset: groups of input files that are read together, each into a file that names them."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from operator import attrgetter

from arkaudit import __version__
from arkaudit.features.datasets.storage import InputFile
from extractors.model.check_characters import NOTHING_DECLARED, Declared
from extractors.model.errors import UserMistake
from extractors.model.formats import PLUGIN_FORMATS
from extractors.processes.codec import to_json


def fingerprint(declared: Declared) -> tuple[str, ...]:
    """Return the versions that affect which ARKs are found: arkaudit, *declared* check characters, and plug-ins.

    >>> fingerprint({}) == (f"arkaudit {__version__}",)
    True
    """
    check_character_rules = (f"check characters of {naan}: {has_check}" for naan, has_check in sorted(declared.items()))
    plugin_readers = (f"{name} by {plugin.reader}" for name, plugin in sorted(PLUGIN_FORMATS.items()))
    return (f"arkaudit {__version__}", *check_character_rules, *plugin_readers)


def digest_of(data: bytes) -> str:
    """Return the beginning of the SHA-256 of *data*, for the name of a file."""
    return hashlib.sha256(data).hexdigest()[:16]


#: Compressed bytes of a part, and its maximum number of files.
PART_BYTES = 128 * 2**20
PART_FILES = 1_000


@dataclass(frozen=True, slots=True)
class Part:
    """Input files that are read together."""

    made_by: tuple[str, ...]
    """The `fingerprint` of the programs that read the part."""
    files: tuple[InputFile, ...]

    @property
    def digest(self) -> str:
        """The beginning of the name of the file that the part is read into."""
        return digest_of(to_json(self))


def parts_of(
    files: Iterable[InputFile], *, part_bytes: int = PART_BYTES, declared: Declared = NOTHING_DECLARED
) -> list[Part]:
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
    return [Part(fingerprint(declared), tuple(group)) for group in groups]


def split_parts(
    done_parts: Iterable[tuple[str, Part]],
    files: Collection[InputFile],
    *,
    location: str,
    declared: Declared,
    part_bytes: int = PART_BYTES,
) -> tuple[dict[str, Part], list[Part]]:
    """Return the *done_parts* that are still valid for *files*, by name, and the parts left to read.

    A part is read again if a file of it has changed, or if its `fingerprint` differs. Raises `UserMistake` if
    *done_parts* of the dataset at *location* have a file that is not among *files*.
    """
    input_names = {file.name for file in files}
    open_files = set(files)
    useful_parts = {}
    for name, part in done_parts:
        for file in part.files:
            if file.name not in input_names:
                raise UserMistake(
                    f"{file.name} is in {location}, but the command does not name it, or it is no longer there: "
                    "name all files of the dataset, or make a new dataset"
                )
        if part.made_by == fingerprint(declared) and open_files.issuperset(part.files):
            useful_parts[name] = part
            open_files.difference_update(part.files)
    return useful_parts, parts_of(open_files, part_bytes=part_bytes, declared=declared)
