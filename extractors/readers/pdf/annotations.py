"""The annotations of a PDF page: links with their rectangles, comments, and what was filled into forms."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any, NamedTuple

import pypdfium2.raw as pdfium
from pypdfium2 import PdfDocument, PdfPage

from extractors.model.decoding import decode
from extractors.readers.pdf.geometry import Box, called_fast

_MOST_LINKS = 10_000
_MOST_COMMENTS = 1_000
_USUAL_URI_BYTES = 2048
_COMMENT_KEYS = {b"Contents": "comment", b"V": "field"}

_HANDLE, _ADDRESS, _SIZE = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_ulong
_enumerate = called_fast(pdfium.FPDFLink_Enumerate, ctypes.c_int, _HANDLE, _ADDRESS, _ADDRESS)
_action = called_fast(pdfium.FPDFLink_GetAction, _HANDLE, _HANDLE)
_action_type = called_fast(pdfium.FPDFAction_GetType, ctypes.c_ulong, _HANDLE)
_uri_path = called_fast(pdfium.FPDFAction_GetURIPath, _SIZE, _HANDLE, _HANDLE, _ADDRESS, _SIZE)
_rectangle = called_fast(pdfium.FPDFLink_GetAnnotRect, ctypes.c_int, _HANDLE, _ADDRESS)


class Link(NamedTuple):
    """A link annotation: a link whose text is broken has one for each line, each with the whole URI."""

    uri: str
    box: Box | None
    ranges: tuple[tuple[int, int], ...]
    """The text under it, if it was looked for."""

    @property
    def place(self) -> str:
        return "rect:" + ",".join(f"{corner:z.0f}" for corner in self.box) if self.box else ""


def links_of(document: PdfDocument, page: PdfPage) -> Iterator[Link]:
    """The link annotations of a page; one that leads to a place in the document has an empty URI."""
    page_handle, document_handle = _address(page.raw), _address(document.raw)
    position, link, corners = ctypes.c_int(0), ctypes.c_void_p(), pdfium.FS_RECTF()
    position_at, link_at, corners_at = map(ctypes.addressof, (position, link, corners))
    buffer = ctypes.create_string_buffer(_USUAL_URI_BYTES)
    for _ in range(_MOST_LINKS):
        if not _enumerate(page_handle, position_at, link_at):
            return
        action = _action(link)
        uri, box = "", None
        if action and _action_type(action) == pdfium.PDFACTION_URI:
            uri = _uri(document_handle, action, buffer)
            if _rectangle(link, corners_at):
                box = Box(corners.left, corners.bottom, corners.right, corners.top)
        yield Link(uri, box, ())


def _address(handle: Any) -> int | None:
    return ctypes.cast(handle, ctypes.c_void_p).value


def _uri(document: int | None, action: int, buffer: Any) -> str:
    """The URI of an action: ASCII by the standard; UTF-8, UTF-16 or windows-1252 in the wild."""
    size = _uri_path(document, action, ctypes.addressof(buffer), len(buffer))
    if size > len(buffer):
        buffer = ctypes.create_string_buffer(size)
        _uri_path(document, action, ctypes.addressof(buffer), size)
    uri: bytes = buffer.raw[: size - 1]
    return uri.decode("ascii") if uri.isascii() and b"\0" not in uri else decode(uri).text


def comments_of(page: PdfPage, links: int) -> Iterator[tuple[str, str]]:
    """Kind and text of annotations other than the *links* (how many there are): comments, and what forms hold."""
    count = pdfium.FPDFPage_GetAnnotCount(page)
    if count <= links:
        return
    for index in range(min(count, _MOST_COMMENTS)):
        annotation = pdfium.FPDFPage_GetAnnot(page, index)
        if not annotation:
            continue
        try:
            for key, kind in _COMMENT_KEYS.items():
                text = _string(annotation, key)
                if text:
                    yield kind, text
        finally:
            pdfium.FPDFPage_CloseAnnot(annotation)


def _string(annotation: Any, key: bytes) -> str:
    """A text of an annotation; empty if there is none."""
    size = pdfium.FPDFAnnot_GetStringValue(annotation, key, None, 0)
    buffer = (ctypes.c_ushort * (size // 2 + 1))()
    pdfium.FPDFAnnot_GetStringValue(annotation, key, buffer, size)
    return bytes(buffer)[: max(0, size - 2)].decode("utf-16-le", "ignore").strip()
