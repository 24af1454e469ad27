"""Read the documents in ZIP, tar and WARC archives, compressed or nested.

Archives are read forward and nothing is written to disk. A budget limits each archive, because its declared sizes may
be false.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import PurePosixPath
from typing import BinaryIO, TypeAlias
from zipfile import ZipFile

from extractors.archives import warc
from extractors.archives.compression import (
    PIECE_BYTES,
    SIGNATURES,
    Compression,
    DecompressedStream,
    Lookahead,
    Readable,
    SizeBudget,
    size_of,
)
from extractors.archives.members import INSIDE, ArchiveMember, Limits, may_be_document, member_inside
from extractors.archives.stored_files import Entry, StoredFile, is_tar, open_zip, tar_entries, zip_entries
from extractors.model.documents import Finding
from extractors.model.formats import ZIP_END, ZIP_ENTRY, package_format, package_format_of, part_end
from extractors.model.urls import is_web_url, split_url

_HEAD_BYTES = 2**10
_BZIP2_BLOCK = re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)")
_PDF = b"%PDF-"
_PDF_MEMBERS = 4  # a PDF may be this many times larger than other documents: it is mostly pictures
_NO_DOCUMENT = "not a document, by its name or type"
#: A compressed file without one of these suffixes keeps its name.
_COMPRESSED_SUFFIXES = frozenset({".bz2", ".gz", ".xz", ".zst"})


#: A stream that decompresses another, or a file in an archive.
Layer: TypeAlias = DecompressedStream | StoredFile


class ArchiveKind(StrEnum):
    """The kinds of archive, by media type."""

    ZIP = "application/zip"
    TAR = "application/x-tar"
    WARC = "application/warc"
    GZIP = "application/gzip"
    BZIP2 = "application/x-bzip2"
    XZ = "application/x-xz"
    ZSTD = "application/zstd"


_COMPRESSED = {
    ArchiveKind.GZIP: Compression.GZIP,
    ArchiveKind.BZIP2: Compression.BZIP2,
    ArchiveKind.XZ: Compression.XZ,
    ArchiveKind.ZSTD: Compression.ZSTD,
}


def archive_kind(head: bytes) -> ArchiveKind | None:
    """Return the kind of archive that begins with *head* (512 bytes are enough); None for a document.

    >>> archive_kind(b"PK\\x03\\x04..."), archive_kind(b"BZhang")
    (<ArchiveKind.ZIP: 'application/zip'>, None)
    """
    if head.startswith((ZIP_ENTRY, ZIP_END, b"PK\x07\x08PK")):
        return ArchiveKind.ZIP
    for kind, compression in _COMPRESSED.items():
        if head.startswith(SIGNATURES[compression]):
            # The three letters BZh are too few to recognize bzip2.
            return kind if kind is not ArchiveKind.BZIP2 or _BZIP2_BLOCK.match(head) else None
    if warc.is_warc(head):
        return ArchiveKind.WARC
    return ArchiveKind.TAR if is_tar(head) else None


def members(
    stream: BinaryIO,
    *,
    name: str,
    path: str = "",
    media_type: str | None = None,
    charset: str | None = None,
    limits: Limits | None = None,
) -> Iterator[ArchiveMember | Finding]:
    """Yield the documents in an archive, a seekable *stream*, and findings; *limits* bound the data.

    A file that is not an archive, or a package such as DOCX, ODT or EPUB, is its own only member, with *name*,
    *media_type* and *charset* as given. Raises only errors of the stream itself, and `MemoryError`.

    >>> import tarfile
    >>> made = io.BytesIO()
    >>> with tarfile.open(fileobj=made, mode="w:gz") as archive:
    ...     added = tarfile.TarInfo("folder/a.txt")
    ...     added.size = 17
    ...     archive.addfile(added, io.BytesIO(b"ark:/12148/btv1b8"))
    >>> made.seek(0)
    0
    >>> [(member.name, member.data) for member in members(made, name="a.tgz")]
    [('a.tgz!/folder/a.txt', b'ark:/12148/btv1b8')]
    """
    limits = limits or Limits()
    about = ArchiveMember(name, path or name, media_type=media_type, charset=charset, source=name)
    walk = _Walk(limits, limits.budget(size_of(stream)))
    is_empty = True
    try:
        for member in walk.document(Lookahead(stream), about, seekable=stream):
            is_empty = False
            yield member
    except (OSError, MemoryError):  # of the stream or of this process, not of the archive
        raise
    except Exception as fault:
        is_empty = False
        yield Finding("unreadable", f"it could not be read further: {type(fault).__name__}")
    for finding in walk.findings():
        is_empty = False
        yield finding
    if is_empty:  # for example an archive of empty files
        yield Finding("empty", "it contains nothing to read")


class _Walk:
    """One walk through an archive and its nested archives, with the remaining budget and the skipped members."""

    def __init__(self, limits: Limits, budget: SizeBudget) -> None:
        self._limits = limits
        self._budget = budget
        self._skipped: Counter[tuple[str, str]] = Counter()
        self._first: dict[tuple[str, str], str] = {}
        self._named: Counter[int] = Counter()

    def findings(self) -> Iterator[Finding]:
        """Yield the findings about skipped members, one for each reason."""
        for (kind, reason), number in sorted(self._skipped.items()):
            first = self._first[kind, reason]
            yield Finding(kind, f"{first}: {reason}" if number == 1 else f"{number} times, first {first}: {reason}")
        if self._budget.is_out_of_bytes:
            yield Finding("archive-limit", "it expands to far more data than its size suggests; the rest was skipped")
        if self._budget.is_out_of_members:
            yield Finding("archive-limit", "it has too many members for its size; the rest was skipped")

    def document(
        self,
        content: Lookahead,
        about: ArchiveMember,
        *,
        depth: int = 0,
        packed: Sequence[Layer] = (),
        seekable: BinaryIO | None = None,
    ) -> Iterator[ArchiveMember]:
        """Yield the document that *content* is, or the documents in it; *packed* are the layers that decompress it."""
        kind = archive_kind(content.peek(_HEAD_BYTES))
        if kind is None:
            yield from self._single_document(content, about, depth, packed)
            return
        if depth >= self._limits.depth:
            self._note_skipped("archive-limit", "too deeply nested, so not unpacked", about.name)
            return
        match kind:
            case ArchiveKind.ZIP:
                yield from self._zip(content, about, depth, packed, seekable)
            case ArchiveKind.TAR:
                yield from self._entries(tar_entries(content, self._budget), about, depth)
            case ArchiveKind.WARC:
                yield from self._warc(content, about, depth)
            case _:
                yield from self._decompress(content, _COMPRESSED[kind], about, depth)
        for layer in packed:
            if layer.damage:
                self._note_skipped("damaged", f"damaged ({layer.damage}); the readable parts were read", about.name)

    def _single_document(
        self, content: Lookahead, about: ArchiveMember, depth: int, packed: Sequence[Layer]
    ) -> Iterator[ArchiveMember]:
        """Yield *content* as one document, an empty one only at the top level.

        A document over the limit is split into parts if its format consists of lines or records.
        """
        limit, number = self._limits.member_bytes, 1
        if content.peek(len(_PDF)) == _PDF:
            limit *= _PDF_MEMBERS
        data = content.read(limit)
        findings = list(about.findings)
        while content.peek(1):
            end = part_end(data, media_type=about.media_type, name=about.path, charset=about.charset)
            if not end:
                findings.append(Finding("cut-off", f"only its first {len(data):,} bytes were read"))
                break
            yield replace(about, name=self._unique(f"{about.name}{INSIDE}part-{number}"), data=data[:end])
            content.unread(data[end:])
            data, number = content.read(limit), number + 1
        if number > 1:
            about = replace(about, name=f"{about.name}{INSIDE}part-{number}")
        elif packed and self._budget.is_out_of_bytes:
            findings.append(Finding("archive-limit", f"only its first {len(data):,} bytes were unpacked"))
        damage = next((layer.damage for layer in packed if layer.damage), "")
        if damage:
            findings.append(Finding("damaged", f"only its first {len(data):,} bytes could be unpacked: {damage}"))
        if data or not depth:
            yield replace(about, name=self._unique(about.name), data=data, findings=tuple(findings))
        elif damage:
            self._note_skipped("unreadable", "too damaged to be unpacked", about.name)

    def _decompress(
        self, content: Lookahead, compression: Compression, about: ArchiveMember, depth: int
    ) -> Iterator[ArchiveMember]:
        """Yield the content of a compressed file; a compressed tar or WARC file counts as one level."""
        layer = DecompressedStream(content, compression, self._budget)
        inner = Lookahead(layer)
        if archive_kind(inner.peek(_HEAD_BYTES)) in (ArchiveKind.TAR, ArchiveKind.WARC):
            yield from self.document(inner, about, depth=depth, packed=(layer,))
        else:
            name = PurePosixPath(about.path).name
            stem, suffix = PurePosixPath(name).stem, PurePosixPath(name).suffix.lower()
            within = member_inside(about, stem if suffix in _COMPRESSED_SUFFIXES else name)
            yield from self.document(inner, within, depth=depth + 1, packed=(layer,))

    def _zip(
        self, content: Lookahead, about: ArchiveMember, depth: int, packed: Sequence[Layer], seekable: BinaryIO | None
    ) -> Iterator[ArchiveMember]:
        stream = seekable or io.BytesIO(content.read(self._limits.member_bytes))
        archive = open_zip(stream)
        if _is_package(stream, archive):
            stream.seek(0)
            yield from self._single_document(Lookahead(stream), about, depth, packed)
            return
        if seekable is None and content.peek(1):
            self._note_skipped("cut-off", "only its beginning was unpacked", about.name)
        if archive is None:
            self._note_skipped("unreadable", "its directory is missing, damaged or too large", about.name)
        else:
            yield from self._entries(zip_entries(archive, self._budget), about, depth)

    def _entries(self, entries: Iterator[Entry], about: ArchiveMember, depth: int) -> Iterator[ArchiveMember]:
        for name, content in entries:
            within = member_inside(about, name) if name else about
            if isinstance(content, Finding):
                self._note_skipped(content.kind, content.detail, within.name)
            elif not may_be_document(within):
                self._note_skipped("members-skipped", _NO_DOCUMENT, within.name)
            else:
                yield from self.document(Lookahead(content), within, depth=depth + 1, packed=(content,))

    def _warc(self, content: Lookahead, about: ArchiveMember, depth: int) -> Iterator[ArchiveMember]:
        is_empty = True
        for record in warc.records(content, self._budget, keep_bytes=self._limits.member_bytes):
            is_empty = False
            if record.kind == "revisit":
                self._note_skipped("members-skipped", "it only records that the page had not changed", record.uri)
            payload = warc.payload(record)
            if payload is None:
                continue
            page = _page(record, payload, about)
            if payload.fault:
                self._note_skipped("unreadable", payload.fault, page.name)
            elif payload.status is not None and not 200 <= payload.status < 300:
                self._note_skipped("members-skipped", "not a successful answer", page.name)
            elif not may_be_document(page):
                self._note_skipped("members-skipped", _NO_DOCUMENT, page.name)
            else:
                yield from self._payload(payload, page, depth + 1)
        if is_empty:
            self._note_skipped("unreadable", "no record in it could be read", about.name)

    def _payload(self, payload: warc.Payload, page: ArchiveMember, depth: int) -> Iterator[ArchiveMember]:
        """Yield the document in a record, decompressed as far as its declared encodings are real."""
        if not payload.encodings and archive_kind(payload.content[:_HEAD_BYTES]) is None:
            if payload.content:
                yield replace(page, name=self._unique(page.name), data=payload.content)
            return
        layers: list[DecompressedStream] = []
        stream: Readable = io.BytesIO(payload.content)
        for encoding in payload.encodings:
            stream = DecompressedStream(stream, encoding, self._budget)
            layers.append(stream)
        content = Lookahead(stream)
        if layers and not content.peek(1) and not self._budget.is_spent:
            content, layers = Lookahead(io.BytesIO(payload.content)), []
        yield from self.document(content, page, depth=depth, packed=layers)

    def _note_skipped(self, kind: str, reason: str, name: str) -> None:
        self._skipped[kind, reason] += 1
        self._first.setdefault((kind, reason), name)

    def _unique(self, name: str) -> str:
        """Return *name*, numbered if it was used before: a page may be archived more than once."""
        number = self._named[hash(name)] = self._named[hash(name)] + 1
        return name if number == 1 else f"{name} ({number})"


def _is_package(stream: BinaryIO, archive: ZipFile | None) -> bool:
    """Return True if a ZIP archive is one document: OOXML, OpenDocument or EPUB."""
    if archive is not None and package_format_of(archive.namelist()) is not None:
        return True
    stream.seek(0)
    return package_format(stream.read(_HEAD_BYTES if archive is not None else PIECE_BYTES)) is not None


def _page(record: warc.WarcRecord, payload: warc.Payload, about: ArchiveMember) -> ArchiveMember:
    """Return a page of a web archive, named by the archive and its target URI: other archives may hold it, too."""
    uri = record.uri
    findings = []
    if record.is_cut:
        findings.append(Finding("cut-off", f"only the first {len(record.block)} bytes of its record were read"))
    if record.damage:
        findings.append(Finding("damaged", record.damage))
    if truncated := record.fields.get("warc-truncated"):
        findings.append(Finding("cut-off", f"only its beginning was archived ({truncated})"))
    name = f"{about.name}{INSIDE}{uri or record.fields.get('warc-record-id', '')}"
    return ArchiveMember(
        name,
        split_url(uri).path,
        media_type=payload.media_type or None,
        charset=payload.charset,
        url=uri if is_web_url(uri) else None,
        findings=tuple(findings),
        source=about.source,
    )
