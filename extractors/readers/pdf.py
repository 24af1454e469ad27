"""PDF, as PDFium reads it.

A hostile file of a few hundred bytes makes PDFium take all the memory there is and then abort the process,
which no `except` can catch: read the files of strangers through `extractors.worker.Worker` only.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from itertools import islice
from typing import Any

import pypdfium2.raw as pdfium
from pypdfium2 import PdfDocument, PdfiumError, PdfPage

from extractors.documents import Block, Finding, Reading, Role
from extractors.readers.plain import decode
from extractors.readers.xml import read_xml

MEDIA_TYPE = "application/pdf"

_HEADER = b"%PDF-"
_MOST_OUTLINE_ITEMS = 10_000
_MOST_OUTLINE_LEVELS = 64
_MOST_XMP_PACKETS = 100

#: What PDFium says when it refuses a document, in our words.
_REFUSALS = {
    pdfium.FPDF_ERR_FORMAT: Finding("unreadable", "it is no PDF, or damaged beyond repair"),
    pdfium.FPDF_ERR_PASSWORD: Finding("encrypted", "it asks for a password"),
    pdfium.FPDF_ERR_SECURITY: Finding("encrypted", "its kind of encryption is not supported"),
}

#: What PDFium and its bindings raise over a damaged page: refusals, strings that aren't UTF-16, failed checks
#: and recursion (one level for each leading character that has no meaning), which ctypes may wrap.
_DAMAGE = (PdfiumError, ValueError, AssertionError, RecursionError, ctypes.ArgumentError)

#: PDFium is not thread-safe.
_PDFIUM = threading.Lock()


def read_pdf(data: bytes, *, max_pages: int = 5000) -> Reading:
    """Text and links of each page, Info dictionary, XMP and outline. Never raises, whatever the bytes.

    Text is as PDFium gives it: lines end in CR LF; U+FFFE is a hyphen at a line's end and the line break.

    >>> read_pdf(b"no such thing").findings
    (Finding(kind='unreadable', detail='it is no PDF, or damaged beyond repair'),)
    """
    data = data[max(data.find(_HEADER), 0) :]  # junk before the header, such as HTTP headers, is common
    with _PDFIUM:
        # Not PdfDocument(data): that takes a document without pages for a failure, loses its handle, and
        # reports the error of whichever document failed last.
        handle = pdfium.FPDF_LoadMemDocument64(data, len(data), None)
        if not handle:
            refusal = _REFUSALS.get(pdfium.FPDF_GetLastError(), Finding("unreadable", "PDFium refuses it"))
            return Reading(MEDIA_TYPE, findings=(refusal,))
        with PdfDocument(handle) as document:
            return _reading(document, data, max_pages)


def _reading(document: PdfDocument, data: bytes, max_pages: int) -> Reading:
    """What can be had from an open document."""
    info = dict(_info_values(document))
    blocks = [Block(value, Role.METADATA, place=f"info/{key}") for key, value in info.items()]
    blocks += _xmp_blocks(data)
    blocks += [Block(title, Role.METADATA, place="outline") for title in _outline_titles(document)]
    findings = []
    if not len(document):
        findings.append(Finding("unreadable", "it has no pages"))
    if len(document) > max_pages:
        findings.append(Finding("page-limit", f"only the first {max_pages} of {len(document)} pages were read"))
    for number in range(1, min(len(document), max_pages) + 1):
        try:
            blocks += _page_blocks(document, number)
        except _DAMAGE as error:
            findings.append(Finding("unreadable-page", f"page {number}: {error or type(error).__name__}"))
    links = dict.fromkeys(block.text for block in blocks if block.role is Role.LINK_ANNOTATION)
    web_links = tuple(link for link in links if link.lower().startswith(("http://", "https://")))
    return Reading(MEDIA_TYPE, tuple(blocks), web_links, title=info.get("Title", ""), findings=tuple(findings))


def _page_blocks(document: PdfDocument, number: int) -> Iterator[Block]:
    """The text of a page, then its links."""
    with closing(document[number - 1]) as page:
        with closing(page.get_textpage()) as text_page:
            text = text_page.get_text_range()
        if text.strip():
            yield Block(text, page=number)
        places: dict[str, str] = {}
        for uri, place in _uri_annotations(document, page):
            places.setdefault(uri, place)  # a wrapped link: one annotation a line, each with the whole URI
        for uri, place in places.items():
            yield Block(uri, Role.LINK_ANNOTATION, page=number, place=place)


def _uri_annotations(document: PdfDocument, page: PdfPage) -> Iterator[tuple[str, str]]:
    """The URI and the place of each link annotation of a page that has a URI."""
    position, link = ctypes.c_int(0), pdfium.FPDF_LINK()
    while pdfium.FPDFLink_Enumerate(page, position, link):
        action = pdfium.FPDFLink_GetAction(link)
        if pdfium.FPDFAction_GetType(action) != pdfium.PDFACTION_URI:
            continue
        uri = _uri(document, action)
        if uri.strip():
            yield uri, _place(link)


def _uri(document: PdfDocument, action: Any) -> str:
    """The URI of an action: ASCII by the standard; UTF-8, UTF-16 or windows-1252 in the wild."""
    size = pdfium.FPDFAction_GetURIPath(document, action, None, 0)
    buffer = ctypes.create_string_buffer(size)
    pdfium.FPDFAction_GetURIPath(document, action, buffer, size)
    return decode(buffer.raw[: size - 1]).text


def _place(link: Any) -> str:
    rectangle = pdfium.FS_RECTF()
    if not pdfium.FPDFLink_GetAnnotRect(link, rectangle):
        return ""
    corners = (rectangle.left, rectangle.bottom, rectangle.right, rectangle.top)
    return "rect:" + ",".join(f"{corner:z.0f}" for corner in corners)


def _info_values(document: PdfDocument) -> Iterator[tuple[str, str]]:
    """The entries of the Info dictionary that are not empty."""
    for key in document.METADATA_KEYS:
        value = _readable(partial(document.get_metadata_value, key))
        if value:
            yield key, value


def _outline_titles(document: PdfDocument) -> Iterator[str]:
    """The titles of the outline, parents before children; it may be endless, this is not."""
    for item in islice(document.get_toc(max_depth=_MOST_OUTLINE_LEVELS), _MOST_OUTLINE_ITEMS):
        title = _readable(item.get_title)
        if title:
            yield title


def _readable(read: Callable[[], str]) -> str:
    """The string that *read* gets, or nothing where it is damaged."""
    try:
        return read().strip()
    except _DAMAGE:
        return ""


def _xmp_blocks(data: bytes) -> Iterator[Block]:
    """The values of the XMP packets that stand in the clear: PDFium has no way to ask for them."""
    start = 0
    for _ in range(_MOST_XMP_PACKETS):
        start = data.find(b"<?xpacket begin", start)
        end = data.find(b"<?xpacket end", start)
        if start == -1 or end == -1:
            return
        for block in read_xml(data[start:end]).blocks:
            yield Block(block.text, Role.METADATA, place=f"xmp/{block.place}")
        start = end
