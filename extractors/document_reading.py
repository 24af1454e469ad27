"""From the bytes of a document to what it holds: the reader of its format."""

from __future__ import annotations

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
                return Reading(seen_as, findings=(Finding("encrypted", "an Office document that asks for a password"),))
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
    if binary_kind(head, start) is not None or format_of_text(head, start, media_type, name) is not Format.PLAIN:
        return None
    return read_plain(data, charset=charset)


def _read(document_format: Format, data: bytes, charset: str | None) -> Reading:
    """Return what a document says; the readers of all but the commonest formats are imported when there is such a
    document.

    Together with their libraries they take a fifth of a second, and most runs meet few of them.
    """
    match document_format:
        case Format.XML:
            return read_xml(data)
        case Format.PLAIN:
            return read_plain(data, charset=charset)
        case Format.PDF:
            from extractors.readers.pdf.pdf_reader import read_pdf

            return read_pdf(data, read_attachment=lambda held, name: read_document(held, name=name))
        case Format.MARC:
            from extractors.readers.marc import read_marc

            return read_marc(data)
        case Format.MAIL:
            from extractors.readers.mail import read_mail

            return read_mail(data, _read_mail_part)
        case Format.EPUB:
            from extractors.readers.office.epub import read_epub

            return read_epub(data)
        case Format.DOCX | Format.PPTX | Format.XLSX | Format.ODP | Format.ODS | Format.ODT:
            return _read_office(document_format, data)
        case _:
            return _read_text(document_format, data, charset)


def _read_mail_part(data: bytes, media_type: str, name: str, charset: str | None) -> Reading:
    return read_document(data, media_type=media_type, name=name, charset=charset)


def _read_text(document_format: Format, data: bytes, charset: str | None) -> Reading:
    match document_format:
        case Format.MARKDOWN:
            from extractors.readers.markdown import read_markdown

            return read_markdown(data, charset=charset)
        case Format.RESTRUCTURED | Format.LATEX | Format.BIBTEX:
            from extractors.readers import escaped_text

            read = {
                Format.RESTRUCTURED: escaped_text.read_restructured,
                Format.LATEX: escaped_text.read_latex,
                Format.BIBTEX: escaped_text.read_bibtex,
            }
            return read[document_format](data, charset=charset)
        case Format.TABULAR:
            from extractors.readers.tabular import read_tabular

            return read_tabular(data, charset=charset)
        case Format.JSON:
            from extractors.readers.json import read_json

            return read_json(data, charset=charset)
        case _:
            from extractors.readers.json import read_json_lines

            return read_json_lines(data, charset=charset)


def _read_office(document_format: Format, data: bytes) -> Reading:
    from extractors.readers.office.office_reader import read_docx, read_odp, read_ods, read_odt, read_pptx, read_xlsx

    match document_format:
        case Format.DOCX:
            return read_docx(data)
        case Format.PPTX:
            return read_pptx(data)
        case Format.XLSX:
            return read_xlsx(data)
        case Format.ODP:
            return read_odp(data)
        case Format.ODS:
            return read_ods(data)
        case _:
            return read_odt(data)
