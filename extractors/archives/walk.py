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
    remaining_bytes,
)
from extractors.archives.members import INSIDE, ArchiveMember, Limits, may_be_document, member_inside
from extractors.archives.stored_files import Entry, StoredFile, is_tar, open_zip, tar_entries, zip_entries
from extractors.model.documents import Finding
from extractors.model.formats import ZIP_END, ZIP_ENTRY, package_format, package_format_of, part_end
from extractors.model.urls import is_web_url, split_url

_HEAD_BYTES = 2**10
_BZIP2_BEGINNING = re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)")
_PDF_SIGNATURE = b"%PDF-"
_PDF_SIZE_RATIO = 4  # of the maximum size of a PDF, which is mostly pictures, to that of other documents
_NO_DOCUMENT_REASON = "not a document, by its name or type"
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


_COMPRESSIONS = {
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
    for kind, compression in _COMPRESSIONS.items():
        if head.startswith(SIGNATURES[compression]):
            # The three letters BZh are too few to recognize bzip2.
            return kind if kind is not ArchiveKind.BZIP2 or _BZIP2_BEGINNING.match(head) else None
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
    """Yield the documents in the archive *name*, a seekable *stream*, and findings; *limits* bound the data.

    A file that is not an archive, or a package such as DOCX, ODT or EPUB, is its own only member, with *name*,
    *path* (default: *name*), *media_type* and *charset*. Raises only errors of the stream itself, and `MemoryError`.

    >>> import tarfile
    >>> stream = io.BytesIO()
    >>> with tarfile.open(fileobj=stream, mode="w:gz") as archive:
    ...     entry = tarfile.TarInfo("folder/a.txt")
    ...     entry.size = 17
    ...     archive.addfile(entry, io.BytesIO(b"ark:/12148/btv1b8"))
    >>> stream.seek(0)
    0
    >>> [(member.name, member.data) for member in members(stream, name="a.tgz")]
    [('a.tgz!/folder/a.txt', b'ark:/12148/btv1b8')]
    """
    limits = limits or Limits()
    description = ArchiveMember(name, path or name, media_type=media_type, charset=charset, source=name)
    walk = _Walk(limits, limits.budget(remaining_bytes(stream)))
    is_empty = True
    try:
        for member in walk.documents(Lookahead(stream), description, seekable=stream):
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
        self._skip_counts: Counter[tuple[str, str]] = Counter()
        self._first_names: dict[tuple[str, str], str] = {}
        self._name_counts: Counter[int] = Counter()

    def findings(self) -> Iterator[Finding]:
        """Yield a finding for each reason why members were skipped, with their number and the first name.

        Each limit that was reached also gives a finding.
        """
        for (kind, reason), count in sorted(self._skip_counts.items()):
            name = self._first_names[kind, reason]
            yield Finding(kind, f"{name}: {reason}" if count == 1 else f"{count} times, first {name}: {reason}")
        if self._budget.is_out_of_bytes:
            yield Finding("archive-limit", "it expands to far more data than its size suggests; the rest was skipped")
        if self._budget.is_out_of_members:
            yield Finding("archive-limit", "it has too many members for its size; the rest was skipped")

    def documents(
        self,
        content: Lookahead,
        member: ArchiveMember,
        *,
        depth: int = 0,
        layers: Sequence[Layer] = (),
        seekable: BinaryIO | None = None,
    ) -> Iterator[ArchiveMember]:
        """Yield the documents in *content*: one, unless it is an archive. *member* describes it.

        It is inside *depth* archives. *layers* are the streams that unpack it; without any, *seekable* is its file.
        """
        kind = archive_kind(content.peek(_HEAD_BYTES))
        if kind is None:
            yield from self._single_document(content, member, depth, layers)
            return
        if depth >= self._limits.depth:
            self._note_skipped("archive-limit", "too deeply nested, so not unpacked", member.name)
            return
        match kind:
            case ArchiveKind.ZIP:
                yield from self._zip_documents(content, member, depth, layers, seekable)
            case ArchiveKind.TAR:
                yield from self._entry_documents(tar_entries(content, self._budget), member, depth)
            case ArchiveKind.WARC:
                yield from self._warc_documents(content, member, depth)
            case _:
                yield from self._decompressed_documents(content, _COMPRESSIONS[kind], member, depth)
        for layer in layers:
            if layer.damage:
                self._note_skipped("damaged", f"damaged ({layer.damage}); the readable parts were read", member.name)

    def _single_document(
        self, content: Lookahead, member: ArchiveMember, depth: int, layers: Sequence[Layer]
    ) -> Iterator[ArchiveMember]:
        """Yield *content* as one document, or nothing if it is empty and inside an archive.

        A document over the size limit is split into parts if its format allows that (`part_end`). Otherwise its rest is
        skipped, with a finding.
        """
        limit, part_number = self._limits.member_bytes, 1
        if content.peek(len(_PDF_SIGNATURE)) == _PDF_SIGNATURE:
            limit *= _PDF_SIZE_RATIO
        data = content.read(limit)
        findings = list(member.findings)
        while content.peek(1):
            end = part_end(data, media_type=member.media_type, name=member.path, charset=member.charset)
            if not end:
                findings.append(Finding("cut-off", f"only its first {len(data):,} bytes were read"))
                break
            yield replace(member, name=self._unique_name(f"{member.name}{INSIDE}part-{part_number}"), data=data[:end])
            content.unread(data[end:])
            data, part_number = content.read(limit), part_number + 1
        if part_number > 1:
            member = replace(member, name=f"{member.name}{INSIDE}part-{part_number}")
        elif layers and self._budget.is_out_of_bytes:
            findings.append(Finding("archive-limit", f"only its first {len(data):,} bytes were unpacked"))
        damage = next((layer.damage for layer in layers if layer.damage), "")
        if damage:
            findings.append(Finding("damaged", f"only its first {len(data):,} bytes could be unpacked: {damage}"))
        if data or not depth:
            yield replace(member, name=self._unique_name(member.name), data=data, findings=tuple(findings))
        elif damage:
            self._note_skipped("unreadable", "too damaged to be unpacked", member.name)

    def _decompressed_documents(
        self, content: Lookahead, compression: Compression, member: ArchiveMember, depth: int
    ) -> Iterator[ArchiveMember]:
        """Yield the documents in the compressed *content*; a compressed tar or WARC file counts as one level of nesting."""
        layer = DecompressedStream(content, compression, self._budget)
        inner_content = Lookahead(layer)
        if archive_kind(inner_content.peek(_HEAD_BYTES)) in (ArchiveKind.TAR, ArchiveKind.WARC):
            yield from self.documents(inner_content, member, depth=depth, layers=(layer,))
        else:
            name = PurePosixPath(member.path).name
            stem, suffix = PurePosixPath(name).stem, PurePosixPath(name).suffix.lower()
            content_member = member_inside(member, stem if suffix in _COMPRESSED_SUFFIXES else name)
            yield from self.documents(inner_content, content_member, depth=depth + 1, layers=(layer,))

    def _zip_documents(
        self, content: Lookahead, member: ArchiveMember, depth: int, layers: Sequence[Layer], seekable: BinaryIO | None
    ) -> Iterator[ArchiveMember]:
        """Yield the documents in a ZIP archive, or the archive itself if it is a document such as DOCX.

        Without a *seekable* file, only the first `Limits.member_bytes` bytes of *content* are unpacked.
        """
        stream = seekable or io.BytesIO(content.read(self._limits.member_bytes))
        archive = open_zip(stream)
        if _is_package(stream, archive):
            stream.seek(0)
            yield from self._single_document(Lookahead(stream), member, depth, layers)
            return
        if seekable is None and content.peek(1):
            self._note_skipped("cut-off", "only its beginning was unpacked", member.name)
        if archive is None:
            self._note_skipped("unreadable", "its directory is missing, damaged or too large", member.name)
        else:
            yield from self._entry_documents(zip_entries(archive, self._budget), member, depth)

    def _entry_documents(self, entries: Iterator[Entry], archive: ArchiveMember, depth: int) -> Iterator[ArchiveMember]:
        """Yield the documents in *entries* of an archive, nested archives included; count skipped ones for `findings`."""
        for name, content in entries:
            member = member_inside(archive, name) if name else archive
            if isinstance(content, Finding):
                self._note_skipped(content.kind, content.detail, member.name)
            elif not may_be_document(member):
                self._note_skipped("members-skipped", _NO_DOCUMENT_REASON, member.name)
            else:
                yield from self.documents(Lookahead(content), member, depth=depth + 1, layers=(content,))

    def _warc_documents(self, content: Lookahead, archive: ArchiveMember, depth: int) -> Iterator[ArchiveMember]:
        """Yield the documents in the successful answers of a WARC file; count the skipped records for `findings`."""
        is_empty = True
        for record in warc.records(content, self._budget, keep_bytes=self._limits.member_bytes):
            is_empty = False
            if record.kind == "revisit":
                self._note_skipped("members-skipped", "it only records that the page had not changed", record.uri)
            payload = warc.payload(record)
            if payload is None:
                continue
            member = _member_of_record(record, payload, archive)
            if payload.fault:
                self._note_skipped("unreadable", payload.fault, member.name)
            elif payload.status is not None and not 200 <= payload.status < 300:
                self._note_skipped("members-skipped", "not a successful answer", member.name)
            elif not may_be_document(member):
                self._note_skipped("members-skipped", _NO_DOCUMENT_REASON, member.name)
            else:
                yield from self._payload_documents(payload, member, depth + 1)
        if is_empty:
            self._note_skipped("unreadable", "no record in it could be read", archive.name)

    def _payload_documents(self, payload: warc.Payload, member: ArchiveMember, depth: int) -> Iterator[ArchiveMember]:
        """Yield the documents in the payload of a WARC record.

        If its declared encodings give no content, it is read without decompression.
        """
        if not payload.encodings and archive_kind(payload.content[:_HEAD_BYTES]) is None:
            if payload.content:
                yield replace(member, name=self._unique_name(member.name), data=payload.content)
            return
        layers: list[DecompressedStream] = []
        stream: Readable = io.BytesIO(payload.content)
        for encoding in payload.encodings:
            stream = DecompressedStream(stream, encoding, self._budget)
            layers.append(stream)
        content = Lookahead(stream)
        if layers and not content.peek(1) and not self._budget.is_spent:
            content, layers = Lookahead(io.BytesIO(payload.content)), []
        yield from self.documents(content, member, depth=depth, layers=layers)

    def _note_skipped(self, kind: str, reason: str, name: str) -> None:
        self._skip_counts[kind, reason] += 1
        self._first_names.setdefault((kind, reason), name)

    def _unique_name(self, name: str) -> str:
        """Return *name*, with a number if an earlier document has it: a page may be archived more than once."""
        number = self._name_counts[hash(name)] = self._name_counts[hash(name)] + 1
        return name if number == 1 else f"{name} ({number})"


def _is_package(stream: BinaryIO, archive: ZipFile | None) -> bool:
    """Return True if a ZIP archive is one document: OOXML, OpenDocument or EPUB.

    If *archive* is None, its directory is unreadable, and the beginning of *stream* decides.
    """
    if archive is not None and package_format_of(archive.namelist()) is not None:
        return True
    stream.seek(0)
    return package_format(stream.read(_HEAD_BYTES if archive is not None else PIECE_BYTES)) is not None


def _member_of_record(record: warc.WarcRecord, payload: warc.Payload, archive: ArchiveMember) -> ArchiveMember:
    """Return the page in a WARC record as a member without data, named by the archive and its target URI."""
    uri = record.uri
    findings = []
    if record.is_cut:
        findings.append(Finding("cut-off", f"only the first {len(record.block)} bytes of its record were read"))
    if record.damage:
        findings.append(Finding("damaged", record.damage))
    if truncation := record.fields.get("warc-truncated"):
        findings.append(Finding("cut-off", f"only its beginning was archived ({truncation})"))
    name = f"{archive.name}{INSIDE}{uri or record.fields.get('warc-record-id', '')}"
    return ArchiveMember(
        name,
        split_url(uri).path,
        media_type=payload.media_type or None,
        charset=payload.charset,
        url=uri if is_web_url(uri) else None,
        findings=tuple(findings),
        source=archive.source,
    )
