"""PDF, as PDFium reads it; what PDFium refuses, after a repair.

A hostile file of a few hundred bytes makes PDFium take all the memory there is and then abort the process,
which no `except` can catch: read the files of strangers through `extractors.worker.Worker` only.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

import pypdfium2.raw as pdfium
from pypdfium2 import PdfDocument

from extractors.budget import as_time_allows
from extractors.document_model import Block, Finding, Reading, Role
from extractors.readers.pdf.bodies import blocks_of
from extractors.readers.pdf.damaged import repaired
from extractors.readers.pdf.metadata import (
    AttachmentReader,
    attachments,
    has_attachments,
    info_values,
    outline_titles,
    read_text_only,
    xmp_blocks,
)
from extractors.readers.pdf.pdf_pages import PdfPage, TooMuch, plain, read_page

Item = TypeVar("Item")

MEDIA_TYPE = "application/pdf"

_HEADER = b"%PDF-"
_MOST_BYTES = 256 * 2**20  # in a worker of one GiB, which has it twice
_MOST_CHARS = 20_000_000  # of a document: what PDFium reads in some twenty seconds
_MOST_PAGE_FINDINGS = 20

#: What PDFium says when it refuses a document, in our words.
_REFUSALS = {
    pdfium.FPDF_ERR_FORMAT: Finding("unreadable", "it is no PDF, or damaged beyond repair"),
    pdfium.FPDF_ERR_PASSWORD: Finding("encrypted", "it asks for a password"),
    pdfium.FPDF_ERR_SECURITY: Finding("encrypted", "its kind of encryption is not supported"),
}

#: PDFium is not thread-safe.
_PDFIUM = threading.Lock()


def read_pdf(data: bytes, *, max_pages: int = 5000, read_attachment: AttachmentReader = read_text_only) -> Reading:
    """Text, links and comments of each page, Info dictionary, XMP, outline and attachments. Never raises.

    Text is as PDFium gives it: lines end in CR LF; U+FFFE is a hyphen at a line's end and the line break. Around
    labels, spaces are put right where the gaps on the page say so. Pages over which an ARK may go on are one block.

    >>> read_pdf(b"no such thing").findings
    (Finding(kind='unreadable', detail='it is no PDF, or damaged beyond repair'),)
    """
    if len(data) > _MOST_BYTES:
        return Reading(MEDIA_TYPE, findings=(Finding("cut-off", f"more than {_MOST_BYTES // 2**20} MiB"),))
    data = data[max(data.find(_HEADER), 0) :]  # junk before the header, such as HTTP headers, is common
    reading, attached = _read(data, max_pages)
    if _is_lost(reading):
        reading, attached = _rescued(data, max_pages) or (reading, attached)
    if not attached:
        return reading
    blocks, findings = attachments(data, read_attachment)
    return replace(reading, blocks=(*reading.blocks, *blocks), findings=(*reading.findings, *findings))


def _read(data: bytes, max_pages: int) -> tuple[Reading, bool]:
    """Return what PDFium makes of a file, and whether others are attached to it."""
    with _PDFIUM:
        # Not PdfDocument(data): that takes a document without pages for a failure, loses its handle, and
        # reports the error of whichever document failed last.
        handle = pdfium.FPDF_LoadMemDocument64(data, len(data), None)
        if not handle:
            refusal = _REFUSALS.get(pdfium.FPDF_GetLastError(), Finding("unreadable", "PDFium refuses it"))
            return Reading(MEDIA_TYPE, findings=(refusal,)), False
        with PdfDocument(handle) as document:
            return _reading(document, data, max_pages), has_attachments(document)


def _is_lost(reading: Reading) -> bool:
    """Return whether nothing at all came of the pages, and a repair may help."""
    kinds = {finding.kind for finding in reading.findings}
    return bool(kinds & {"unreadable", "unreadable-page"}) and all(block.page is None for block in reading.blocks)


def _rescued(data: bytes, max_pages: int) -> tuple[Reading, bool] | None:
    """Return what can be had after a repair; None if that is nothing."""
    mended = repaired(data)
    if mended is None:
        return None
    reading, attached = _read(mended, max_pages)
    if _is_lost(reading):
        return None
    finding = Finding("repaired", "damaged; read after its structure was rebuilt")
    return replace(reading, findings=(finding, *reading.findings)), attached


def _reading(document: PdfDocument, data: bytes, max_pages: int) -> Reading:
    """Return what can be had from an open document."""
    findings: list[Finding] = []

    def part(name: str, work: Callable[[], Iterable[Item]]) -> list[Item]:
        """Return what *work* gives; where it fails, for whatever reason, it costs no other part."""
        found: list[Item] = []
        try:
            found.extend(work())
        except MemoryError:
            raise
        except Exception as error:
            findings.append(Finding("unreadable-part", f"{name}: {type(error).__name__}"))
        return found

    info = dict(part("Info dictionary", lambda: info_values(document)))
    blocks = [Block(value, Role.METADATA, place=f"info/{key}") for key, value in info.items()]
    blocks += part("XMP", lambda: xmp_blocks(data))
    titles = part("outline", lambda: outline_titles(document))
    blocks += [Block(title, Role.METADATA, place="outline") for title in titles]
    pages = list(_pages(document, max_pages, findings))
    findings += _without_text(pages)
    known = len(findings)
    bodies = part("running heads", lambda: blocks_of(pages))
    blocks += bodies if len(findings) == known else blocks_of(map(plain, pages))
    return Reading(MEDIA_TYPE, tuple(blocks), _web_links(blocks), title=info.get("Title", ""), findings=tuple(findings))


def _pages(document: PdfDocument, max_pages: int, findings: list[Finding]) -> Iterator[PdfPage]:
    """The pages that can be read, up to the limits; what can't goes to *findings*."""
    count, chars, faults = len(document), 0, 0
    page: PdfPage | None = None
    if not count:
        findings.append(Finding("unreadable", "it has no pages"))
    for number in as_time_allows(range(1, count + 1), "page", each=True):
        if number > max_pages or chars > _MOST_CHARS:
            findings.append(Finding("page-limit", f"only the first {number - 1} of {count} pages were read"))
            break
        try:
            page = read_page(document, number, continues=page is not None and page.may_go_on)
        except TooMuch as reason:
            page = None
            findings.append(Finding("cut-off", f"page {number}: {reason}"))
        except MemoryError:  # says something about this process, nothing about the document
            raise
        except Exception as error:
            page = None
            faults += 1
            if faults <= _MOST_PAGE_FINDINGS:
                findings.append(Finding("unreadable-page", f"page {number}: {error or type(error).__name__}"))
        else:
            chars += len(page.text)
            findings += [Finding("unreadable-part", f"page {number}: {fault}") for fault in page.faults]
            yield page
    if faults > _MOST_PAGE_FINDINGS:
        findings.append(Finding("unreadable-page", f"{faults - _MOST_PAGE_FINDINGS} pages more"))


def _without_text(pages: Sequence[PdfPage]) -> Iterator[Finding]:
    """Yield a finding where most pages, or some, are pictures: what stands on them was not read."""
    pictures = [page.number for page in pages if page.is_picture]
    drawn = len(pictures) + sum(bool(page.text.strip()) for page in pages)
    if pictures:
        numbers = f"the first is page {pictures[0]}"
        detail = f"{len(pictures)} of {len(pages)} pages are pictures without text ({numbers}): nothing was read there"
        yield Finding("no-text" if 2 * len(pictures) > drawn else "picture-page", detail)


def _web_links(blocks: list[Block] | tuple[Block, ...]) -> tuple[str, ...]:
    """Link targets that may be fetched, in order, each once."""
    links = dict.fromkeys(block.text for block in blocks if block.role is Role.LINK_ANNOTATION)
    return tuple(link for link in links if link.lower().startswith(("http://", "https://")))
