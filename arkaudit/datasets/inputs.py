"""The files that a dataset is made of, as the user named them, and what reading them will take."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from arkaudit.datasets.plan import FolderFinding, Part
from arkaudit.datasets.storage import InputFile, is_object, objects_of
from crawler.spiders.seeds import Seeds
from extractors.documents import document_name
from extractors.model.errors import UserMistake
from reports.languages.display import counted

_GZIP = b"\x1f\x8b"
#: Bytes that a core reads in a second, compressed as they are, by the ends of file names; the first that fits counts.
#: Those of WARC and WET files were measured in November 2026 on one core of a server; the others are guesses, and what
#: has another name is taken for a PDF.
_RATES = (
    ((".wet.gz",), 11e6),
    ((".warc.gz",), 8e6),
    ((".warc",), 35e6),
    ((".gz", ".zip", ".zst", ".xz", ".bz2"), 6e6),
    ((".txt", ".md", ".xml", ".json", ".jsonl", ".csv", ".html", ".htm"), 15e6),
)
_OTHER_RATE = 6e6


@dataclass(frozen=True, slots=True)
class Inputs:
    """Files, and what is to be said of the folders that held them."""

    files: Sequence[InputFile]
    folders: Sequence[FolderFinding] = ()


def inputs_of(places: Iterable[str], out: str) -> Inputs:
    """Return the files that *places* name, but for those of the dataset *out* itself. Raises `UserMistake`."""
    places = list(places)
    objects = [name for name in places if is_object(name)]
    seeds = Seeds.of(name for name in places if not is_object(name))
    if seeds.urls:
        raise UserMistake(f"a dataset is made of files, not of what is fetched: {seeds.urls[0]}")
    own = Path(out).resolve()
    below = f"{out.rstrip('/')}/"
    files = [finding for finding in objects_of(objects) if not finding.name.startswith(below)] if objects else []
    files += [_input(path) for path in seeds.files if own not in path.resolve().parents]
    folders = [
        FolderFinding(document_name(folder), finding.kind, finding.detail)
        for folder, finding in seeds.folder_findings.items()
    ]
    return Inputs(files, folders)


def lines_of(path: Path) -> list[str]:
    """Return the lines of a list, which may be compressed by gzip, without empty ones. Raises `UserMistake`."""
    try:
        data = path.read_bytes()
        text = (gzip.decompress(data) if data.startswith(_GZIP) else data).decode("utf-8-sig", "surrogateescape")
    except (OSError, EOFError, gzip.zlib.error) as problem:  # type: ignore[attr-defined]
        raise UserMistake(f"{path} can't be read: {getattr(problem, 'strerror', None) or problem}") from None
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        raise UserMistake(f"{path} names nothing")
    return lines


def estimate(parts: Sequence[Part]) -> str:
    """Return the number of files, bytes and parts, and about how long a core takes to read them.

    >>> estimate([Part("p000001", (InputFile("a.wet.gz", 110_000_000, ""),))])
    '1 file, 110.0 MB, 1 part, about 0.003 hours of one core'
    """
    files = [file for part in parts for file in part.files]
    size = sum(file.size for file in files)
    hours = sum(file.size / _rate(file.name) for file in files) / 3600
    amount = f"{counted(len(files), 'file')}, {size / 1e6:,.1f} MB, {counted(len(parts), 'part')}"
    return f"{amount}, about {hours:.{0 if hours >= 10 else 1 if hours >= 0.1 else 3}f} hours of one core"


def _rate(name: str) -> float:
    return next((rate for endings, rate in _RATES if name.lower().endswith(endings)), _OTHER_RATE)


def _input(path: Path) -> InputFile:
    try:
        stat = path.stat()
    except OSError as problem:
        return InputFile(str(path), 0, str(problem.strerror))  # which will be a row that says so
    return InputFile(str(path), stat.st_size, str(stat.st_mtime_ns))
