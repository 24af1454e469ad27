"""The format of a document, by its content before its name; and the way to its reader."""

from __future__ import annotations

from email.message import Message
from functools import lru_cache
from pathlib import PurePosixPath

from extractors.document_model import Finding, Reading
from extractors.readers.markup.html import read_html
from extractors.readers.markup.xml import read_xml
from extractors.readers.plain import BEGINNING_BYTES, decode_beginning, read_plain
from extractors.signatures import (
    OLE,
    Format,
    binary_kind,
    format_by_content,
    format_by_likeness,
    package_format,
    package_format_of,
)

__all__ = ["Format", "format_of", "package_format", "package_format_of", "parse_content_type", "read_document"]

#: A stream in the OLE file that an Office document with a password is ([MS-OFFCRYPTO] 2.3.4).
_ENCRYPTED_OFFICE = "EncryptedPackage".encode("utf-16-le")

_BY_MEDIA_TYPE = {
    "application/bibtex": Format.BIBTEX,
    "application/json": Format.JSON,
    "application/json-seq": Format.JSON_LINES,
    "application/jsonl": Format.JSON_LINES,
    "application/marc": Format.MARC,
    "application/mbox": Format.MAIL,
    "application/pdf": Format.PDF,
    "application/x-bibtex": Format.BIBTEX,
    "application/x-jsonlines": Format.JSON_LINES,
    "application/x-latex": Format.LATEX,
    "application/x-ndjson": Format.JSON_LINES,
    "application/x-pdf": Format.PDF,
    "application/x-tex": Format.LATEX,
    "application/xhtml+xml": Format.HTML,
    "application/xml": Format.XML,
    "message/rfc822": Format.MAIL,
    "multipart/related": Format.MAIL,
    "text/csv": Format.TABULAR,
    "text/html": Format.HTML,
    "text/markdown": Format.MARKDOWN,
    "text/prs.fallenstein.rst": Format.RESTRUCTURED,
    "text/tab-separated-values": Format.TABULAR,
    "text/x-bibtex": Format.BIBTEX,
    "text/x-markdown": Format.MARKDOWN,
    "text/x-rst": Format.RESTRUCTURED,
    "text/x-tex": Format.LATEX,
    "text/xml": Format.XML,
}
_BY_SUFFIX = {
    ".bbl": Format.LATEX,
    ".bib": Format.BIBTEX,
    ".bibtex": Format.BIBTEX,
    ".cls": Format.LATEX,
    ".csv": Format.TABULAR,
    ".eml": Format.MAIL,
    ".geojson": Format.JSON,
    ".htm": Format.HTML,
    ".html": Format.HTML,
    ".ipynb": Format.JSON,
    ".json": Format.JSON,
    ".jsonl": Format.JSON_LINES,
    ".jsonld": Format.JSON,
    ".latex": Format.LATEX,
    ".ltx": Format.LATEX,
    ".marc": Format.MARC,
    ".markdown": Format.MARKDOWN,
    ".md": Format.MARKDOWN,
    ".mbox": Format.MAIL,
    ".mht": Format.MAIL,
    ".mhtml": Format.MAIL,
    ".mrc": Format.MARC,
    ".ndjson": Format.JSON_LINES,
    ".pdf": Format.PDF,
    ".qmd": Format.MARKDOWN,
    ".rest": Format.RESTRUCTURED,
    ".rmd": Format.MARKDOWN,
    ".rst": Format.RESTRUCTURED,
    ".sty": Format.LATEX,
    ".tab": Format.TABULAR,
    ".tei": Format.XML,
    ".tex": Format.LATEX,
    ".tsv": Format.TABULAR,
    ".txt": Format.PLAIN,
    ".xht": Format.HTML,
    ".xhtml": Format.HTML,
    ".xml": Format.XML,
    ".yaml": Format.PLAIN,
    ".yml": Format.PLAIN,
}
#: What a server sends as text/plain for want of a better name. Markup is not among it: that is shown as its source.
_SENT_AS_PLAIN = frozenset(
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
        binary = binary_kind(*_beginning(data, charset)) if package is None else None
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
    head, start = _beginning(data, charset)
    if binary_kind(head, start) is not None or _format(head, start, media_type, name) is not Format.PLAIN:
        return None
    return read_plain(data, charset=charset)


def format_of(data: bytes, *, media_type: str | None = None, name: str = "", charset: str | None = None) -> Format:
    """Return how `read_document` reads a document that isn't binary; `Format.PDF` is for a `Worker` only.

    >>> format_of(b"%PDF-1.7", name="page.html")
    <Format.PDF: 'pdf'>
    """
    return package_format(data) or _format(*_beginning(data, charset), media_type, name)


def _format(head: bytes, start: str, media_type: str | None, name: str) -> Format:
    return format_by_content(head, start) or _format_by_label(media_type, name) or format_by_likeness(start)


#: What ends a part of a format that is read as well in parts: a line, a record, a message.
_PART_ENDS = {
    Format.BIBTEX: b"\n@",
    Format.MAIL: b"\nFrom ",
    Format.MARC: b"\x1d",
    **dict.fromkeys(
        (Format.JSON_LINES, Format.LATEX, Format.MARKDOWN, Format.PLAIN, Format.RESTRUCTURED, Format.TABULAR), b"\n"
    ),
}


def part_end(data: bytes, *, media_type: str | None = None, name: str = "", charset: str | None = None) -> int:
    r"""Return where the last part of *data* ends that can be read without what follows; 0 where nothing can.

    >>> part_end(b"one line\nand half a", name="a.txt"), part_end(b'{"a": 1, "b"', name="a.json")
    (9, 0)
    """
    head, start = _beginning(data, charset)
    if 0 in head or package_format(data) is not None or binary_kind(head, start) is not None:
        return 0
    mark = _PART_ENDS.get(_format(head, start, media_type, name), b"")
    paragraph = data.rfind(b"\n\n", max(0, len(data) - BEGINNING_BYTES)) if mark == b"\n" else -1
    return (paragraph if paragraph >= 0 else data.rfind(mark)) + 1 if mark else 0


@lru_cache(maxsize=1024)
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


def _beginning(data: bytes, charset: str | None) -> tuple[bytes, str]:
    head = data[:BEGINNING_BYTES]
    return head, decode_beginning(head, charset).text


def _format_by_label(media_type: str | None, name: str) -> Format | None:
    """The format that the sender or the file name claims.

    >>> _format_by_label("text/plain", "README.md"), _format_by_label("text/plain", "page.html")
    (<Format.MARKDOWN: 'markdown'>, <Format.PLAIN: 'plain'>)
    """
    media_type = (media_type or "").lower()
    by_name = _BY_SUFFIX.get(PurePosixPath(name).suffix.lower()) if "." in name else None
    if media_type in _BY_MEDIA_TYPE:
        return _BY_MEDIA_TYPE[media_type]
    if media_type.endswith("+xml"):
        return Format.XML
    if media_type.endswith("+json"):
        return Format.JSON
    if media_type.startswith("text/"):
        return by_name if by_name in _SENT_AS_PLAIN else Format.PLAIN
    return by_name


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
            from extractors.readers.epub import read_epub

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
