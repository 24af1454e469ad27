"""The format of a document, by its content before its name."""

from __future__ import annotations

from email.message import Message
from functools import lru_cache
from pathlib import PurePosixPath

from extractors.model.decoding import BEGINNING_BYTES, decode_beginning
from extractors.model.signatures import (
    Format,
    binary_kind,
    format_by_content,
    format_by_likeness,
    package_format,
)

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


def format_of(data: bytes, *, media_type: str | None = None, name: str = "", charset: str | None = None) -> Format:
    """Return how `read_document` reads a document that isn't binary; `Format.PDF` is for a `Worker` only.

    >>> format_of(b"%PDF-1.7", name="page.html")
    <Format.PDF: 'pdf'>
    """
    return package_format(data) or format_of_text(*document_beginning(data, charset), media_type, name)


def format_of_text(head: bytes, start: str, media_type: str | None, name: str) -> Format:
    """Return the format of a document that is no package, by its first bytes and characters, its label and its name."""
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
    head, start = document_beginning(data, charset)
    if 0 in head or package_format(data) is not None or binary_kind(head, start) is not None:
        return 0
    mark = _PART_ENDS.get(format_of_text(head, start, media_type, name), b"")
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


def document_beginning(data: bytes, charset: str | None) -> tuple[bytes, str]:
    """Return the first bytes of *data*, which say its format, and their characters."""
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
