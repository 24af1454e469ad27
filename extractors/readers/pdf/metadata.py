"""The metadata of a PDF: Info dictionary, XMP, outline; and the files that are attached to it."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import pypdfium2.raw as pdfium
from pypdfium2 import PdfDocument, PdfiumError

from extractors.document_model import Block, Finding, Reading, Role
from extractors.readers.markup.xml import read_xml
from extractors.readers.pdf.damaged import by_qpdf, content_of
from extractors.readers.plain import decode, read_plain

if TYPE_CHECKING:
    import pikepdf

#: What PDFium and its bindings raise over damage: refusals, strings that aren't UTF-16, failed checks and recursion
#: (one level for each leading character that has no meaning), which ctypes may wrap.
DAMAGE = (PdfiumError, ValueError, AssertionError, RecursionError, ctypes.ArgumentError)

#: Reads an attached file: its bytes and its name.
AttachmentReader = Callable[[bytes, str], Reading]

_USUAL_INFO_BYTES = 1024
_MOST_OUTLINE_ITEMS = 10_000
_MOST_OUTLINE_LEVELS = 64
_MOST_XMP_PACKETS = 100
_MOST_ATTACHMENTS = 100
_MOST_ATTACHED_BYTES = 64 * 2**20

#: The dictionary of a metadata stream; it is in the clear even where the stream is not.
_XMP_STREAM = re.compile(rb"/Subtype\s*/XML\b")
_XMP_BEGIN, _XMP_END = b"<?xpacket begin", b"<?xpacket end"
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1a]")


def info_values(document: PdfDocument) -> Iterator[tuple[str, str]]:
    """The entries of the Info dictionary that are not empty."""
    buffer = ctypes.create_string_buffer(_USUAL_INFO_BYTES)
    for key in document.METADATA_KEYS:
        size = pdfium.FPDF_GetMetaText(document, key.encode("ascii"), buffer, len(buffer))
        if size > len(buffer):
            buffer = ctypes.create_string_buffer(size)
            pdfium.FPDF_GetMetaText(document, key.encode("ascii"), buffer, size)
        value = buffer.raw[: max(0, size - 2)].decode("utf-16-le", "ignore").strip()
        if value:
            yield key, value


def outline_titles(document: PdfDocument) -> Iterator[str]:
    """The titles of the outline, parents before children; it may be endless, this is not."""
    for item in islice(document.get_toc(max_depth=_MOST_OUTLINE_LEVELS), _MOST_OUTLINE_ITEMS):
        try:
            title = item.get_title().strip()
        except DAMAGE:
            continue
        if title:
            yield title


def has_attachments(document: PdfDocument) -> bool:
    """Return whether files are embedded in the document."""
    return bool(pdfium.FPDFDoc_GetAttachmentCount(document) > 0)


def xmp_blocks(data: bytes) -> Iterator[Block]:
    """The values of the document's XMP, be it in the clear, compressed or encrypted.

    PDFium has no way to ask for it.
    """
    packets = list(islice(_clear_packets(data), _MOST_XMP_PACKETS))
    if not packets and _XMP_STREAM.search(data):
        packets = [by_qpdf(data, _packed_xmp) or b""]
    for packet in packets:
        for block in read_xml(packet).blocks:
            yield Block(block.text, Role.METADATA, place=f"xmp/{block.place}")


def attachments(data: bytes, read: AttachmentReader) -> tuple[list[Block], list[Finding]]:
    """Return what *read* makes of the attached files, each block's place led by the file's name; and what was
    left out.
    """
    blocks: list[Block] = []
    findings: list[Finding] = []
    left = _MOST_ATTACHED_BYTES
    for name, content in by_qpdf(data, _attached_files) or ():
        if content is None or len(content) > left:
            findings.append(Finding("cut-off", f"attachment {name!r} is too large, or damaged"))
            continue
        left -= len(content)
        for block in read(content, name).blocks:
            place = f"attachment:{name}/{block.place}".rstrip("/")
            blocks.append(replace(block, page=None, place=place, link=None, anchors=()))
    return blocks, findings


def read_text_only(data: bytes, name: str) -> Reading:
    """An attached file that looks like text, as plain text; of others, nothing."""
    if _CONTROLS.search(decode(data[:4096]).text):
        return Reading("application/octet-stream")
    return read_plain(data)


def _clear_packets(data: bytes) -> Iterator[bytes]:
    start = data.find(_XMP_BEGIN)
    while start != -1:
        end = data.find(_XMP_END, start)
        if end == -1:
            return
        yield data[start:end]
        start = data.find(_XMP_BEGIN, end)


def _packed_xmp(document: pikepdf.Pdf) -> bytes:
    """The document's metadata stream; nothing if it is too large."""
    return content_of(document.Root.Metadata) or b""


def _attached_files(document: pikepdf.Pdf) -> list[tuple[str, bytes | None]]:
    """Name and content of the embedded files; no content where it is too large."""
    specifications = islice(document.attachments.items(), _MOST_ATTACHMENTS)
    return [(name, content_of(specification.get_file().obj)) for name, specification in specifications]
