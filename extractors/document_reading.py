"""From the bytes of a document to what it holds: the reader of its format."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from extractors.model.documents import Finding, Reading
from extractors.model.formats import (
    OLE,
    Format,
    binary_kind,
    document_beginning,
    format_of,
    format_of_text,
    package_format,
)
from extractors.readers.markup.html import read_html
from extractors.readers.markup.xml import read_xml
from extractors.readers.plain import read_plain

#: A stream in the OLE file that an Office document with a password is ([MS-OFFCRYPTO] 2.3.4).
_ENCRYPTED_OFFICE = "EncryptedPackage".encode("utf-16-le")


def read_document(
    data: bytes,
    *,
    media_type: str | None = None,
    name: str = "",
    charset: str | None = None,
    with_links: bool = True,
) -> Reading:
    """Return what a document holds, whatever it is; never raises, whatever the bytes (but `MemoryError`).

    *media_type* and *charset* are what the sender said, *name* is a file name or the path of a URL. Without
    *with_links*, those of a page may be missing, which is then read several times faster if it holds no ARK.

    >>> read_document(b"<!DOCTYPE html><p>ark:/12148/btv1b8", media_type="text/plain").blocks[0].place
    'p'
    >>> read_document(bytes(1000)).findings
    (Finding(kind='unknown-format', detail='binary data'),)
    """
    if not data:
        return Reading(media_type or "", findings=(Finding("empty", "it has no bytes"),))
    try:
        package = package_format(data)
        binary = binary_kind(*document_beginning(data, charset)) if package is None else None
        if binary is not None:
            seen_as, looks_like = binary
            if seen_as == OLE and _ENCRYPTED_OFFICE in data:
                return Reading(
                    seen_as,
                    findings=(Finding("encrypted", "an Office document that asks for a password"),),
                )
            return Reading(seen_as, findings=(Finding("unknown-format", looks_like),))
        its_format = package or format_of(data, media_type=media_type, name=name, charset=charset)
        if its_format is Format.HTML:
            return read_html(data, charset=charset, with_links=with_links)
        return _read(its_format, data, charset)
    except MemoryError:  # says something about this process, nothing about the document
        raise
    except Exception as error:
        fault = Finding("unreadable", f"the reader failed: {type(error).__name__}")
        return Reading(media_type or "", findings=(fault,))


def read_short_text(
    data: bytes, *, media_type: str | None = None, name: str = "", charset: str | None = None
) -> Reading | None:
    """Return what `read_document` does of a plain text of a few bytes; None for any other document.

    >>> read_short_text(b"see there", name="a.txt").blocks[0].text
    'see there'
    >>> read_short_text(b"%PDF-1.7 see there", name="a.txt")
    """
    if not data or package_format(data) is not None:
        return None
    head, start = document_beginning(data, charset)
    if (
        binary_kind(head, start) is not None
        or format_of_text(head, start, media_type, name) is not Format.PLAIN
    ):
        return None
    return read_plain(data, charset=charset)


#: Module and function of the reader of each format that is imported when there is such a document: together with their
#: libraries they take a fifth of a second, and most runs meet few of them.
_READERS = {
    Format.BIBTEX: ("escaped_text", "read_bibtex"),
    Format.DOCX: ("office.office_reader", "read_docx"),
    Format.EPUB: ("office.epub", "read_epub"),
    Format.JSON: ("structured_data", "read_json"),
    Format.JSON_LINES: ("structured_data", "read_json_lines"),
    Format.LATEX: ("escaped_text", "read_latex"),
    Format.MAIL: ("mail", "read_mail"),
    Format.MARC: ("marc", "read_marc"),
    Format.MARKDOWN: ("markdown", "read_markdown"),
    Format.ODP: ("office.office_reader", "read_odp"),
    Format.ODS: ("office.office_reader", "read_ods"),
    Format.ODT: ("office.office_reader", "read_odt"),
    Format.PDF: ("pdf.pdf_reader", "read_pdf"),
    Format.PPTX: ("office.office_reader", "read_pptx"),
    Format.RESTRUCTURED: ("escaped_text", "read_restructured"),
    Format.TABULAR: ("structured_data", "read_tabular"),
    Format.XLSX: ("office.office_reader", "read_xlsx"),
}
#: Formats that say nothing of their charset, so that it counts what the sender declared.
_IN_A_CHARSET = frozenset(
    {
        Format.BIBTEX,
        Format.JSON,
        Format.JSON_LINES,
        Format.LATEX,
        Format.MARKDOWN,
        Format.RESTRUCTURED,
        Format.TABULAR,
    }
)


def _read(document_format: Format, data: bytes, charset: str | None) -> Reading:
    """Return what the reader of a format makes of a document."""
    if document_format is Format.XML:
        return read_xml(data)
    if document_format is Format.PLAIN:
        return read_plain(data, charset=charset)
    module, function = _READERS[document_format]
    read: Callable[..., Reading] = getattr(import_module(f"extractors.readers.{module}"), function)
    if document_format in (Format.MAIL, Format.PDF):
        return read(data, read_document)
    return read(data, charset=charset) if document_format in _IN_A_CHARSET else read(data)
