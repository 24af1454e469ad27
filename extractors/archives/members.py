"""The members of an archive, and the limits for reading them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePosixPath

from extractors.archives.compression import SizeBudget
from extractors.model.documents import Finding

#: Separates the name of an archive from the name of a file in it. It does not occur in URLs.
INSIDE = "!/"

#: Longer names are truncated; no file system allows them.
_MOST_NAME_CHARS = 4096
#: Suffixes of files that are not read as documents.
_NO_DOCUMENT_SUFFIXES = frozenset(
    """
    .7z .aac .avi .bmp .class .css .dll .eot .exe .flac .flv .gif .heic .ico .iso .jp2 .jpeg .jpg .m4a .m4v .mkv
    .mov .mp3 .mp4 .mpeg .mpg .o .oga .ogg .ogv .otf .png .pyc .rar .so .split .swf .tif .tiff .ttf .wasm .wav .webm
    .webp .wma .wmv .woff .woff2
    """.split()  # noqa: SIM905 (as a list, fifty lines)
)
_NO_DOCUMENT_TYPES = ("audio/", "font/", "image/", "text/css", "video/")
_DOCUMENT_TYPES = frozenset({"image/svg+xml"})


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits for reading an archive. `total_bytes` and `members` grow with its size."""

    member_bytes: int = 64 * 2**20
    """Maximum bytes of one document; the rest is skipped."""
    depth: int = 3
    """Maximum nesting of archives."""
    total_bytes: int = 256 * 2**20
    """Maximum decompressed bytes at all levels together; at least `ratio` times the archive's size."""
    ratio: int = 100
    """Decompressed bytes allowed for each byte of the archive."""
    members: int = 100_000
    """Maximum number of entries; at least one for each KiB of the archive."""

    def budget(self, size: int) -> SizeBudget:
        """Return the whole budget for an archive of *size* bytes."""
        return SizeBudget(max(self.total_bytes, self.ratio * size), max(self.members, size // 2**10))


@dataclass(frozen=True, slots=True)
class ArchiveMember:
    """A document in an archive, or a single document; `findings` are about this document only."""

    name: str
    """``a.zip!/folder/b.html``, ``a.warc!/http://b.example/c``; unique in the archive."""
    path: str
    """A file name whose suffix may show the format."""
    data: bytes = field(default=b"", repr=False)
    media_type: str | None = None
    charset: str | None = None
    url: str | None = None
    """The base of its relative links; None if it has no URL."""
    findings: tuple[Finding, ...] = ()
    source: str = ""
    """The file or archive that was opened; the name begins with it."""


def member_inside(archive: ArchiveMember, name: str) -> ArchiveMember:
    """Return a member of *archive*, without data, by its *name* there; invalid characters are escaped."""
    path = name[:_MOST_NAME_CHARS].encode("utf-8", "backslashreplace").decode("utf-8").removeprefix("./")
    return ArchiveMember(f"{archive.name}{INSIDE}{path}", path, source=archive.source)


def names_no_document(path: str) -> bool:
    """Return True if the suffix of a file name belongs to pictures, sound, films, fonts, styles or programs.

    >>> names_no_document("scan.JPG"), names_no_document("thesis.pdf"), names_no_document("item/42")
    (True, False, False)
    """
    return PurePosixPath(path).suffix.lower() in _NO_DOCUMENT_SUFFIXES


def may_be_document(member: ArchiveMember) -> bool:
    """Return False if the path of *member* shows a hidden file, or its path or media type a file that is no document."""
    media_type = member.media_type or ""
    if media_type.startswith(_NO_DOCUMENT_TYPES) and media_type not in _DOCUMENT_TYPES:
        return False
    parts = PurePosixPath(member.path).parts if member.url is None else ()
    is_hidden = any(part.startswith((".", "__MACOSX")) and part != ".." for part in parts)
    return not is_hidden and (bool(media_type) or not names_no_document(member.path))
