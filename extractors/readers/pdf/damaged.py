"""Damaged PDFs that PDFium refuses, repaired by qpdf: slow, but it does not give up as early."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import pikepdf

T = TypeVar("T")

# Imported where it is needed: it takes a tenth of a second, and few documents need it.

_MOST_STREAM_BYTES = 32 * 2**20

#: Its warnings would go to the terminal where no logging is set up; what matters is a finding.
logging.getLogger("pikepdf").addHandler(logging.NullHandler())


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
