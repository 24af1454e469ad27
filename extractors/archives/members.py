"""The members of an archive, and how much of it is read."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePosixPath

from extractors.archives.compression import SizeBudget
from extractors.model.documents import Finding

#: Between the name of an archive and the name of a file in it. No URL that anybody means holds it.
INSIDE = "!/"

#: Longer names are cut; no file system has them.
_NAME_LENGTH = 4096
#: Names and media types of what is no document: looking into it costs more than it can give.
_NO_DOCUMENT_SUFFIXES = frozenset(
    {
        ".7z",
        ".aac",
        ".avi",
        ".bmp",
        ".class",
        ".css",
        ".dll",
        ".eot",
        ".exe",
        ".flac",
        ".flv",
        ".gif",
        ".heic",
        ".ico",
        ".iso",
        ".jp2",
        ".jpeg",
        ".jpg",
        ".m4a",
        ".m4v",
        ".mkv",
        ".mov",
        ".mp3",
        ".mp4",
        ".mpeg",
        ".mpg",
        ".o",
        ".oga",
        ".ogg",
        ".ogv",
        ".otf",
        ".png",
        ".pyc",
        ".rar",
        ".so",
        ".split",
        ".swf",
        ".tif",
        ".tiff",
        ".ttf",
        ".wasm",
        ".wav",
        ".webm",
        ".webp",
        ".wma",
        ".wmv",
        ".woff",
        ".woff2",
    }
)
_NO_DOCUMENT_TYPES = ("audio/", "font/", "image/", "text/css", "video/")
_DOCUMENT_TYPES = frozenset({"image/svg+xml"})


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits for reading an archive. The last two grow with its size: a large one is no bomb."""

    member_bytes: int = 64 * 2**20
    """Bytes of one document; the rest of it is passed over."""
    depth: int = 3
    """Archives inside of each other."""
    total_bytes: int = 256 * 2**20
    """Bytes that may come out of decompression, at all levels together; at least `ratio` times the archive's size."""
    ratio: int = 100
    members: int = 100_000
    """Entries that are looked at; at least one for each KiB of the archive."""

    def budget(self, size: int) -> SizeBudget:
        """Return what may be spent on an archive of *size* bytes."""
        return SizeBudget(max(self.total_bytes, self.ratio * size), max(self.members, size // 2**10))


@dataclass(frozen=True, slots=True)
class ArchiveMember:
    """A document that was in an archive; `findings` are about it alone."""

    name: str
    """``a.zip!/folder/b.html``, ``a.warc!/http://b.example/c``. Each once."""
    path: str
    """A name whose ending may show the format."""
    data: bytes = field(default=b"", repr=False)
    media_type: str | None = None
    charset: str | None = None
    url: str | None = None
    """Where it was on the web, for what its links are relative to."""
    findings: tuple[Finding, ...] = ()
    source: str = ""
    """The file or archive that was opened, with whose name its own begins."""


def inside(about: ArchiveMember, name: str) -> ArchiveMember:
    """A member of an archive, by its name there; what no text can hold is spelled out."""
    path = name[:_NAME_LENGTH].encode("utf-8", "backslashreplace").decode("utf-8").removeprefix("./")
    return ArchiveMember(f"{about.name}{INSIDE}{path}", path, source=about.source)


def names_no_document(path: str) -> bool:
    """Return whether the ending of a file name is one of pictures, sound, films, fonts, styles or programs.

    >>> names_no_document("scan.JPG"), names_no_document("thesis.pdf"), names_no_document("item/42")
    (True, False, False)
    """
    return PurePosixPath(path).suffix.lower() in _NO_DOCUMENT_SUFFIXES


def may_be_document(member: ArchiveMember) -> bool:
    """Return whether a member is worth being looked into, by its name and type; what a shell hides is not."""
    media_type = member.media_type or ""
    if media_type.startswith(_NO_DOCUMENT_TYPES) and media_type not in _DOCUMENT_TYPES:
        return False
    parts = PurePosixPath(member.path).parts if member.url is None else ()
    is_hidden = any(part.startswith((".", "__MACOSX")) and part != ".." for part in parts)
    return not is_hidden and (bool(media_type) or not names_no_document(member.path))
