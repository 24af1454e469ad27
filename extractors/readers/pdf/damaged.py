"""Damaged PDFs that PDFium refuses, repaired by qpdf or read by pypdf: slow, but neither gives up as early."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from io import BytesIO
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from extractors.readers.pdf.annotations import Link
from extractors.readers.pdf.pdf_pages import PdfPage

if TYPE_CHECKING:
    import pikepdf

T = TypeVar("T")

# Imported where they are needed: each takes a tenth of a second, and few documents need either.

_MOST_STREAM_BYTES = 32 * 2**20
_MOST_PAGES = 200  # pypdf reads some twenty pages a second
_MOST_BYTES = 64 * 2**20
_MOST_LINKS = 1_000

#: Their warnings would go to the terminal of whoever has no logging; what matters is a finding.
for _library in ("pikepdf", "pypdf"):
    logging.getLogger(_library).addHandler(logging.NullHandler())


@contextlib.contextmanager
def _as_far_as_it_goes() -> Iterator[None]:
    """Ends the block where it fails: the damage of files has many names. Want of memory is no damage."""
    try:
        yield
    except MemoryError:
        raise
    except Exception:
        return


def by_qpdf(data: bytes, read: Callable[[pikepdf.Pdf], T]) -> T | None:
    """Return what *read* gets from a file as qpdf sees it, or None where either fails."""
    import pikepdf

    most = _MOST_STREAM_BYTES
    pikepdf.settings.set_qpdf_limits(flate_max_memory=most, run_length_max_memory=most, png_max_memory=most)
    with _as_far_as_it_goes(), pikepdf.open(BytesIO(data)) as document:
        return read(document)
    return None


def content_of(stream: Any) -> bytes | None:
    """The content of a stream, decrypted and unpacked; None if it is too large, or damaged."""
    with _as_far_as_it_goes():
        content: bytes = stream.read_bytes()
        return content if len(content) <= _MOST_STREAM_BYTES else None
    return None


def repaired(data: bytes) -> bytes | None:
    """The file with its structure rebuilt by qpdf, or None where that can't be done."""
    return by_qpdf(data, _saved) if b"endobj" in data else None


def _saved(document: pikepdf.Pdf) -> bytes:
    written = BytesIO()
    document.save(written, fix_metadata_version=False)  # or it would write the XMP anew
    return written.getvalue()


def salvaged(data: bytes, *, max_pages: int) -> Iterator[PdfPage]:
    """The pages that pypdf can read, without geometry."""
    if b"endobj" not in data or len(data) > _MOST_BYTES:
        return
    import pypdf

    with _as_far_as_it_goes():  # the structure: where that fails, all pages from there on are lost
        pages = pypdf.PdfReader(BytesIO(data)).pages
        for number, page in enumerate(islice(pages, min(max_pages, _MOST_PAGES)), start=1):
            text, links = "", tuple[Link, ...]()
            with _as_far_as_it_goes():
                text = page.extract_text()
            with _as_far_as_it_goes():
                links = tuple(islice(_links(page), _MOST_LINKS))
            yield PdfPage(number, text, links)


def _links(page: Any) -> Iterator[Link]:
    for annotation in page.get("/Annots", ()):
        uri = annotation.get_object().get("/A", {}).get("/URI")
        if uri is not None and str(uri).strip():
            yield Link(str(uri), None, ())
