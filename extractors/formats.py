"""Which format a document is in, by what it holds before what it is called; and the way to its reader."""

from __future__ import annotations

import re
from email.message import Message
from enum import StrEnum
from pathlib import PurePosixPath

from extractors.documents import Finding, Reading
from extractors.readers.html import read_html
from extractors.readers.pdf import read_pdf
from extractors.readers.plain import decode, read_plain
from extractors.readers.xml import read_xml


class Format(StrEnum):
    """The families of formats that have a reader."""

    HTML = "html"
    XML = "xml"
    PDF = "pdf"
    PLAIN = "plain"


_BY_MEDIA_TYPE = {
    "application/json": Format.PLAIN,
    "application/pdf": Format.PDF,
    "application/x-pdf": Format.PDF,
    "application/xhtml+xml": Format.HTML,
    "application/xml": Format.XML,
    "text/html": Format.HTML,
    "text/xml": Format.XML,
}
_BY_SUFFIX = {
    ".htm": Format.HTML,
    ".html": Format.HTML,
    ".json": Format.PLAIN,
    ".md": Format.PLAIN,
    ".pdf": Format.PDF,
    ".tei": Format.XML,
    ".txt": Format.PLAIN,
    ".xht": Format.HTML,
    ".xhtml": Format.HTML,
    ".xml": Format.XML,
}

#: Formats without a reader: the first bytes, the media type, and what to call it.
_BINARIES = (
    (b"PK\x03\x04", "application/zip", "a ZIP archive"),
    (b"\x1f\x8b", "application/gzip", "gzip data"),
    (b"BZh", "application/x-bzip2", "bzip2 data"),
    (b"\xfd7zXZ\0", "application/x-xz", "xz data"),
    (b"(\xb5/\xfd", "application/zstd", "Zstandard data"),
    (b"7z\xbc\xaf'\x1c", "application/x-7z-compressed", "a 7z archive"),
    (b"Rar!\x1a\x07", "application/vnd.rar", "a RAR archive"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage", "an Office document of before 2007"),
    (b"\x89PNG\r\n\x1a\n", "image/png", "a PNG image"),
    (b"\xff\xd8\xff", "image/jpeg", "a JPEG image"),
    (b"GIF8", "image/gif", "a GIF image"),
    (b"II*\0", "image/tiff", "a TIFF image"),
    (b"MM\0*", "image/tiff", "a TIFF image"),
    (b"AT&TFORM", "image/vnd.djvu", "a DjVu document"),
    (b"SQLite format 3\0", "application/vnd.sqlite3", "an SQLite database"),
    (b"PAR1", "application/vnd.apache.parquet", "a Parquet file"),
)
#: What a ZIP archive amounts to, by what it holds.
_PACKAGES = (
    (b"word/document.xml", "a Word document (docx)"),
    (b"xl/workbook.xml", "an Excel workbook (xlsx)"),
    (b"ppt/presentation.xml", "a PowerPoint presentation (pptx)"),
    (b"mimetypeapplication/vnd.oasis.opendocument", "an OpenDocument file (odt, ods, odp)"),
    (b"mimetypeapplication/epub+zip", "an EPUB book"),
)

_HEAD_BYTES = 16 * 2**10
#: Control characters without a use in text, not even to separate the fields of MARC.
_NO_TEXT = re.compile(r"[\x00-\x08\x0e-\x1a\x7f]")

#: The header of a PDF behind junk, such as the HTTP headers that it came with: alone on its line.
_LATE_PDF = re.compile(rb"%PDF-[12]\.[0-9][\t ]*[\r\n]")
_HTML_SKELETON = re.compile(r"<(?:!DOCTYPE\s+html|html|head|body)\b", re.IGNORECASE)
#: With these a piece of HTML begins; a piece of another vocabulary hardly ever does.
_HTML_TAG = re.compile(
    r"a|b|br|center|div|font|form|h[1-6r]|i|img|li|link|meta|nav|ol|p|pre|s(?:cript|ection|pan|tyle)|table|title|ul"
)
_BEGINNING = re.compile(
    r"""
    (?: \s++
      | <\? .*? \?>
      | <!-- .*? -->
      | <!DOCTYPE \s+ (?P<doctype> [\w.:-]++ ) [^>\[]*+ (?: \[ .*? \] \s*+ )? >
    )*+
    (?: < (?P<root> [a-z_] [\w.:-]*+ ) (?= [\s/>] ) (?P<attributes> [^>]*+ ) )?
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)


def read_document(data: bytes, *, media_type: str | None = None, name: str = "", charset: str | None = None) -> Reading:
    """What a document holds, whatever it is; never raises, whatever the bytes (but `MemoryError`).

    *media_type* and *charset* are what the sender said, *name* is a file name or the path of a URL.

    >>> read_document(b"<!DOCTYPE html><p>ark:/12148/btv1b8", media_type="text/plain").blocks[0].place
    'p'
    >>> read_document(bytes(1000)).findings
    (Finding(kind='unknown-format', detail='binary data'),)
    """
    if not data:
        return Reading(media_type or "", findings=(Finding("empty", "it has no bytes"),))
    binary = _binary_kind(data, charset)
    if binary is not None:
        seen_as, looks_like = binary
        return Reading(seen_as, findings=(Finding("unknown-format", looks_like),))
    try:
        return _read(format_of(data, media_type=media_type, name=name, charset=charset), data, charset)
    except MemoryError:  # says something about this process, nothing about the document
        raise
    except Exception as error:
        fault = Finding("unreadable", f"the reader failed: {type(error).__name__}")
        return Reading(media_type or "", findings=(fault,))


def format_of(data: bytes, *, media_type: str | None = None, name: str = "", charset: str | None = None) -> Format:
    """How `read_document` reads a document that isn't binary; `Format.PDF` is for a `Worker` only.

    >>> format_of(b"%PDF-1.7", name="page.html")
    <Format.PDF: 'pdf'>
    """
    head = data[:_HEAD_BYTES]
    start = decode(head, charset).text
    by_content = _format_by_content(head, start)
    return by_content or _format_by_label(media_type, name) or _format_by_likeness(start)


def parse_content_type(header: str) -> tuple[str, str | None]:
    """The media type that a Content-Type header declares, empty if it declares none, and the charset.

    >>> parse_content_type('Text/HTML; Charset="ISO-8859-1"')
    ('text/html', 'iso-8859-1')
    >>> parse_content_type("")
    ('', None)
    """
    message = Message()
    message["Content-Type"] = "".join(char for char in header if char.isprintable())
    declares_type = "/" in header.partition(";")[0]
    try:
        charset = message.get_content_charset()
    except (TypeError, ValueError, LookupError):  # the library's own mistakes over what servers send
        charset = None
    return message.get_content_type() if declares_type else "", charset


def _read(document_format: Format, data: bytes, charset: str | None) -> Reading:
    match document_format:
        case Format.HTML:
            return read_html(data, charset=charset)
        case Format.XML:
            return read_xml(data)
        case Format.PDF:
            return read_pdf(data)
        case Format.PLAIN:
            return read_plain(data, charset=charset)


def _binary_kind(data: bytes, charset: str | None) -> tuple[str, str] | None:
    """Media type and likeness of a document that no reader can read, or None."""
    for signature, media_type, looks_like in _BINARIES:
        if data.startswith(signature):
            if media_type == "application/zip":
                looks_like = next((kind for member, kind in _PACKAGES if member in data), looks_like)
            return media_type, f"looks like {looks_like}"
    head = data[:_HEAD_BYTES]
    start = decode(head, charset).text
    if not _is_pdf(head) and 20 * len(_NO_TEXT.findall(start)) > len(start):
        return "application/octet-stream", "binary data"
    return None


def _is_pdf(head: bytes) -> bool:
    return head.startswith(b"%PDF-") or _LATE_PDF.search(head) is not None


def _format_by_content(head: bytes, start: str) -> Format | None:
    """The format that the document itself declares.

    >>> _format_by_content(b"", "<?xml version='1.0'?><!-- TEI --><TEI>")
    <Format.XML: 'xml'>
    >>> _format_by_content(b"", "<p>may be anything</p>")
    """
    doctype, root, attributes = _beginning(start)
    if "html" in (doctype, root):
        return Format.HTML
    if doctype or "xmlns" in attributes or start.lstrip().startswith("<?xml"):
        return Format.XML
    return Format.PDF if _is_pdf(head) else None


def _format_by_label(media_type: str | None, name: str) -> Format | None:
    """The format that the sender or the file name claims."""
    media_type = (media_type or "").lower()
    if media_type in _BY_MEDIA_TYPE:
        return _BY_MEDIA_TYPE[media_type]
    if media_type.endswith("+xml"):
        return Format.XML
    if media_type.startswith("text/"):
        return Format.PLAIN
    return _BY_SUFFIX.get(PurePosixPath(name).suffix.lower())


def _format_by_likeness(start: str) -> Format:
    """The format that text without any declaration is most like.

    >>> _format_by_likeness("<p>See ark:/12148/btv1b8"), _format_by_likeness("<ead><eadid>1</eadid></ead>")
    (<Format.HTML: 'html'>, <Format.XML: 'xml'>)
    """
    _, root, attributes = _beginning(start)
    if _HTML_TAG.fullmatch(root) or _HTML_SKELETON.search(start):
        return Format.HTML
    is_closed = attributes.endswith("/") or f"</{root}" in start.lower()
    return Format.XML if root and is_closed else Format.PLAIN


def _beginning(start: str) -> tuple[str, str, str]:
    """The names of the document type and the root element in lower case, and the attributes of the latter.

    >>> _beginning("<!-- JATS --><!DOCTYPE article><article lang='en'>")
    ('article', 'article', " lang='en'")
    """
    found = _BEGINNING.match(start)
    assert found is not None  # all of it is optional
    return (found["doctype"] or "").lower(), (found["root"] or "").lower(), found["attributes"] or ""
