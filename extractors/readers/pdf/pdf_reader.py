"""Read PDF by PDFium, and damaged PDF after a repair by qpdf.

A hostile file of a few hundred bytes makes PDFium use up all memory and abort the process, which `except` can't catch:
read untrusted files only in an `extractors.processes.worker.Worker`.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from io import BytesIO
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import pypdfium2.raw as pdfium
from pypdfium2 import PdfDocument, PdfiumError

from extractors.model.budget import as_time_allows
from extractors.model.documents import Block, Finding, Reading, Role
from extractors.model.urls import is_web_url
from extractors.readers.markup.xml import read_xml
from extractors.readers.pdf.bodies import blocks_of
from extractors.readers.pdf.pdf_pages import PageTooLarge, PdfPage, attempt, read_page, without_geometry

if TYPE_CHECKING:
    import pikepdf


# Damaged PDFs that PDFium refuses, repaired by qpdf, which is slow but more tolerant.


T = TypeVar("T")

# Imported on first use: this takes .1 s, and few documents need it.

_MOST_STREAM_BYTES = 32 * 2**20

#: Warnings would go to the terminal if logging isn't set up; findings report the damage.
for library in ("pikepdf", "pypdfium2"):
    logging.getLogger(library).addHandler(logging.NullHandler())


@contextlib.contextmanager
def _ignore_damage() -> Iterator[None]:
    """Suppress all exceptions in the ``with`` block except MemoryError: a damaged PDF raises many types."""
    try:
        yield
    except MemoryError:
        raise
    except Exception:
        return


def read_by_qpdf(data: bytes, read: Callable[[pikepdf.Pdf], T]) -> T | None:
    """Return the result of *read* for the document in *data*, opened by qpdf; None if qpdf or *read* fails."""
    import pikepdf

    limit = _MOST_STREAM_BYTES
    pikepdf.settings.set_qpdf_limits(flate_max_memory=limit, run_length_max_memory=limit, png_max_memory=limit)
    with _ignore_damage(), pikepdf.open(BytesIO(data)) as document:
        return read(document)
    return None


def stream_content(stream: Any) -> bytes | None:
    """Return the content of *stream*, one of pikepdf, decompressed; None if it is over 32 MiB or damaged."""
    with _ignore_damage():
        content: bytes = stream.read_bytes()
        return content if len(content) <= _MOST_STREAM_BYTES else None
    return None


def repair(data: bytes) -> bytes | None:
    """Return the file *data* with its structure rebuilt by qpdf; None if that fails."""
    return read_by_qpdf(data, _save) if b"endobj" in data else None


def _save(document: pikepdf.Pdf) -> bytes:
    buffer = BytesIO()
    document.save(buffer, fix_metadata_version=False)  # True would rewrite the XMP
    return buffer.getvalue()


#: Exceptions of PDFium and its bindings over damage: refusals, strings that aren't UTF-16, failed checks, and recursion
#: (one level for each meaningless leading character), which ctypes may wrap.
DAMAGE = (PdfiumError, ValueError, AssertionError, RecursionError, ctypes.ArgumentError)

#: A reader of an attached file: takes its bytes and its *name*.
AttachmentReader = Callable[..., Reading]

_USUAL_INFO_BYTES = 1024
_MOST_OUTLINE_ITEMS = 10_000
_MOST_OUTLINE_LEVELS = 64
_MOST_XMP_PACKETS = 100
_MOST_ATTACHMENTS = 100
_MOST_ATTACHED_BYTES = 64 * 2**20

#: The dictionary of a metadata stream, which is never encrypted, unlike the stream.
_XMP_STREAM = re.compile(rb"/Subtype\s*/XML\b")
_XMP_BEGIN, _XMP_END = b"<?xpacket begin", b"<?xpacket end"


def info_values(document: PdfDocument) -> Iterator[tuple[str, str]]:
    """Yield key and value of the entries of the Info dictionary that are not empty."""
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
    """Yield the titles of the outline, parents before children, up to a limit, because the outline may be endless."""
    for item in islice(document.get_toc(max_depth=_MOST_OUTLINE_LEVELS), _MOST_OUTLINE_ITEMS):
        try:
            title = item.get_title().strip()
        except DAMAGE:
            continue
        if title:
            yield title


def xmp_blocks(data: bytes) -> Iterator[Block]:
    """Yield the values of the XMP in the file *data*, plain, compressed or encrypted; PDFium can't read it."""
    packets = list(islice(_uncompressed_packets(data), _MOST_XMP_PACKETS))
    if not packets and _XMP_STREAM.search(data):
        packet = read_by_qpdf(data, lambda document: stream_content(document.Root.Metadata) or b"")
        packets = [packet or b""]
    for packet in packets:
        for block in read_xml(packet).blocks:
            yield Block(block.text, Role.METADATA, place=f"xmp/{block.place}")


def attachments(data: bytes, read_attachment: AttachmentReader) -> tuple[list[Block], list[Finding]]:
    """Return the blocks of the attached files by *read_attachment*, and findings; places begin with the file's name."""
    blocks: list[Block] = []
    findings: list[Finding] = []
    bytes_left = _MOST_ATTACHED_BYTES
    for name, content in read_by_qpdf(data, _attached_files) or ():
        if content is None or len(content) > bytes_left:
            findings.append(Finding("cut-off", f"attachment {name!r} is too large, or damaged"))
            continue
        bytes_left -= len(content)
        for block in read_attachment(content, name=name).blocks:
            location = f"attachment:{name}/{block.place}".rstrip("/")
            blocks.append(replace(block, page=None, place=location, link=None, anchors=()))
    return blocks, findings


def _uncompressed_packets(data: bytes) -> Iterator[bytes]:
    start = data.find(_XMP_BEGIN)
    while start != -1:
        end = data.find(_XMP_END, start)
        if end == -1:
            return
        yield data[start:end]
        start = data.find(_XMP_BEGIN, end)


def _attached_files(document: pikepdf.Pdf) -> list[tuple[str, bytes | None]]:
    """Return name and content of the embedded files; None as content of a file that is too large."""
    specifications = islice(document.attachments.items(), _MOST_ATTACHMENTS)
    return [(name, stream_content(specification.get_file().obj)) for name, specification in specifications]


Item = TypeVar("Item")

MEDIA_TYPE = "application/pdf"

_HEADER = b"%PDF-"
_MOST_BYTES = 256 * 2**20  # a worker of one GiB holds it twice
MOST_PAGES = 5000
_MOST_CHARS = 20_000_000  # of a document: PDFium reads them in about twenty seconds
_MOST_PAGE_FINDINGS = 20

#: Findings for PDFium's error codes.
_REFUSALS = {
    pdfium.FPDF_ERR_FORMAT: Finding("unreadable", "not a PDF, or damaged beyond repair"),
    pdfium.FPDF_ERR_PASSWORD: Finding("encrypted", "it asks for a password"),
    pdfium.FPDF_ERR_SECURITY: Finding("encrypted", "its kind of encryption is not supported"),
}

#: PDFium is not thread-safe.
_PDFIUM = threading.Lock()


def read_pdf(data: bytes, read_attachment: AttachmentReader | None = None) -> Reading:
    """Return text, links and comments of each page, Info dictionary, XMP, outline and attachments. Never raises.

    The text is PDFium's: lines end in CR LF; U+FFFE is a hyphen at a line end with the line break. Around labels,
    spaces are corrected by the distances on the page. Pages over which an ARK may continue are one block. Without
    *read_attachment*, attachments are skipped.

    >>> read_pdf(b"no such thing").findings
    (Finding(kind='unreadable', detail='not a PDF, or damaged beyond repair'),)
    """
    if len(data) > _MOST_BYTES:
        return Reading(MEDIA_TYPE, findings=(Finding("cut-off", f"more than {_MOST_BYTES // 2**20} MiB"),))
    data = data[max(data.find(_HEADER), 0) :]  # junk before the header, such as HTTP headers, is common
    reading, has_attachments = _read_by_pdfium(data)
    if _is_lost(reading) and (repaired_data := repair(data)) is not None:
        repaired_reading, repair_has_attachments = _read_by_pdfium(repaired_data)
        if not _is_lost(repaired_reading):
            finding = Finding("repaired", "damaged; read after its structure was rebuilt")
            reading = replace(repaired_reading, findings=(finding, *repaired_reading.findings))
            has_attachments = repair_has_attachments
    if not has_attachments or read_attachment is None:
        return reading
    blocks, findings = attachments(data, read_attachment)
    return replace(reading, blocks=(*reading.blocks, *blocks), findings=(*reading.findings, *findings))


def _read_by_pdfium(data: bytes) -> tuple[Reading, bool]:
    """Return what PDFium reads from the file *data*, without attachments, and True if there are attachments."""
    with _PDFIUM:
        # Not PdfDocument(data), which fails for a document without pages, loses its handle, and reports the error of
        # the last failure.
        handle = pdfium.FPDF_LoadMemDocument64(data, len(data), None)
        if not handle:
            refusal = _REFUSALS.get(pdfium.FPDF_GetLastError(), Finding("unreadable", "PDFium refuses it"))
            return Reading(MEDIA_TYPE, findings=(refusal,)), False
        with PdfDocument(handle) as document:
            return _read_document(document, data), bool(pdfium.FPDFDoc_GetAttachmentCount(document) > 0)


def _is_lost(reading: Reading) -> bool:
    """Return True if *reading* has no page, for a reason that a repair may remove."""
    kinds = {finding.kind for finding in reading.findings}
    return bool(kinds & {"unreadable", "unreadable-page"}) and all(block.page is None for block in reading.blocks)


def _read_document(document: PdfDocument, data: bytes) -> Reading:
    """Return the content of *document*, which is open; *data* is its file."""
    findings: list[Finding] = []

    def read_part(name: str, work: Callable[[], Iterable[Item]]) -> list[Item]:
        """Return the items of *work*; a failure becomes a finding and doesn't affect other parts."""
        faults: list[str] = []
        items: list[Item] = []
        attempt(faults, name, lambda: items.extend(work()), None)
        findings.extend(Finding("unreadable-part", fault) for fault in faults)
        return items

    read_part("form", lambda: [document.init_forms()])  # before any page is opened
    info = dict(read_part("Info dictionary", lambda: info_values(document)))
    blocks = [Block(value, Role.METADATA, place=f"info/{key}") for key, value in info.items()]
    blocks += read_part("XMP", lambda: xmp_blocks(data))
    titles = read_part("outline", lambda: outline_titles(document))
    blocks += [Block(title, Role.METADATA, place="outline") for title in titles]
    pages = list(_pages(document, findings))
    findings += _findings_without_text(pages)
    finding_count = len(findings)
    page_blocks = read_part("running heads", lambda: blocks_of(pages))
    blocks += page_blocks if len(findings) == finding_count else blocks_of([without_geometry(page) for page in pages])
    targets = dict.fromkeys(block.text for block in blocks if block.role is Role.LINK_ANNOTATION)
    links = tuple(filter(is_web_url, targets))
    return Reading(MEDIA_TYPE, tuple(blocks), links, title=info.get("Title", ""), findings=tuple(findings))


def _pages(document: PdfDocument, findings: list[Finding]) -> Iterator[PdfPage]:
    """Yield the readable pages, up to the limits, and add findings about the others to *findings*."""
    page_count, char_count, fault_count = len(document), 0, 0
    page: PdfPage | None = None
    if not page_count:
        findings.append(Finding("unreadable", "it has no pages"))
    for number in as_time_allows(range(1, page_count + 1), "page", is_slow=True):
        if number > MOST_PAGES or char_count > _MOST_CHARS:
            findings.append(Finding("page-limit", f"only the first {number - 1} of {page_count} pages were read"))
            break
        try:
            page = read_page(document, number, is_continuation=page is not None and page.may_continue)
        except PageTooLarge as error:
            page = None
            findings.append(Finding("cut-off", f"page {number}: {error}"))
        except MemoryError:  # about this process, not about the document
            raise
        except Exception as error:
            page = None
            fault_count += 1
            if fault_count <= _MOST_PAGE_FINDINGS:
                findings.append(Finding("unreadable-page", f"page {number}: {error or type(error).__name__}"))
        else:
            char_count += len(page.text)
            findings += [Finding("unreadable-part", f"page {number}: {fault}") for fault in page.faults]
            yield page
    if fault_count > _MOST_PAGE_FINDINGS:
        findings.append(Finding("unreadable-page", f"{fault_count - _MOST_PAGE_FINDINGS} pages more"))


def _findings_without_text(pages: Sequence[PdfPage]) -> Iterator[Finding]:
    """Yield findings about pages that are pictures, or have garbled text, and were not read."""
    image_page_numbers = [page.number for page in pages if page.is_picture]
    garbled_page_numbers = [page.number for page in pages if page.is_garbled]
    drawn_page_count = len(image_page_numbers) + sum(bool(page.text.strip()) for page in pages)
    for numbers, state, kind in (
        (image_page_numbers, "are pictures without text", "picture-page"),
        (garbled_page_numbers, "have unusable text, because their fonts do not map to characters", "unreadable-page"),
    ):
        if numbers:
            first_page = f"the first is page {numbers[0]}"
            detail = f"{len(numbers)} of {len(pages)} pages {state} ({first_page}): nothing was read there"
            yield Finding("no-text" if 2 * len(numbers) > drawn_page_count else kind, detail)
