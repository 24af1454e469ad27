"""The format of a document, by its content first and its name second."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from email.message import Message
from enum import StrEnum
from functools import lru_cache
from io import BytesIO
from pathlib import PurePosixPath

from extractors.model.decoding import BEGINNING_BYTES, decode_beginning


class Format(StrEnum):
    """The formats that have a reader."""

    HTML = "html"
    XML = "xml"
    PDF = "pdf"
    PLAIN = "plain"
    MARKDOWN = "markdown"
    RESTRUCTURED = "restructured"
    LATEX = "latex"
    BIBTEX = "bibtex"
    TABULAR = "tabular"
    JSON = "json"
    JSON_LINES = "json-lines"
    MARC = "marc"
    DOCX = "docx"
    PPTX = "pptx"
    XLSX = "xlsx"
    ODT = "odt"
    ODP = "odp"
    ODS = "ods"
    EPUB = "epub"
    MAIL = "mail"
    RTF = "rtf"
    GEDCOM = "gedcom"


@dataclass(frozen=True, slots=True)
class DocumentFormat:
    """The declaration of a format. All about the format follows from it, except how to recognize its content."""

    title: str
    """The name of the format in docs/extraction.md."""
    reader: str
    """The function from bytes to a `Reading`: ``package.module:function``; a module in `extractors.readers` begins with
    a dot."""
    suffixes: str = ""
    """The suffixes of its files, with their periods, separated by blanks."""
    media_types: str = ""
    """Its media types, separated by blanks."""
    is_sent_as_plain: bool = False
    """True for text without a declared charset that servers often send as text/plain. Markup is excluded: sent as plain
    text, it is shown as its source."""
    part_end: bytes = b""
    """The separator between parts that can be read alone: a line, a record, a message."""
    is_package: bool = False
    """True for a ZIP package, which is recognized by its content alone."""

    @property
    def labels(self) -> frozenset[str]:
        """The suffixes of its files, and its media types."""
        return frozenset((*self.suffixes.split(), *self.media_types.split()))


#: The formats by name: those that have a reader here, and those of plug-ins.
FORMATS: dict[str, DocumentFormat] = {
    Format.HTML: DocumentFormat(
        "HTML", ".markup.html:read_html", ".htm .html .xht .xhtml", "application/xhtml+xml text/html"
    ),
    Format.XML: DocumentFormat("XML", ".markup.xml:read_xml", ".tei .xml", "application/xml text/xml"),
    Format.PDF: DocumentFormat("PDF", ".pdf.pdf_reader:read_pdf", ".pdf", "application/pdf application/x-pdf"),
    Format.PLAIN: DocumentFormat("plain text", ".plain:read_plain", ".txt .yaml .yml", part_end=b"\n"),
    Format.MARKDOWN: DocumentFormat(
        *("Markdown", ".markup.markdown:read_markdown", ".markdown .md .qmd .rmd", "text/markdown text/x-markdown"),
        is_sent_as_plain=True,
        part_end=b"\n",
    ),
    Format.RESTRUCTURED: DocumentFormat(
        *("reStructuredText", ".escaped_text:read_restructured", ".rest .rst", "text/prs.fallenstein.rst text/x-rst"),
        is_sent_as_plain=True,
        part_end=b"\n",
    ),
    Format.LATEX: DocumentFormat(
        "LaTeX",
        ".escaped_text:read_latex",
        ".bbl .cls .latex .ltx .sty .tex",
        "application/x-latex application/x-tex text/x-tex",
        is_sent_as_plain=True,
        part_end=b"\n",
    ),
    Format.BIBTEX: DocumentFormat(
        "BibTeX",
        ".escaped_text:read_bibtex",
        ".bib .bibtex",
        "application/bibtex application/x-bibtex text/x-bibtex",
        is_sent_as_plain=True,
        part_end=b"\n@",
    ),
    Format.TABULAR: DocumentFormat(
        *("CSV", ".structured_data:read_tabular", ".csv .tab .tsv", "text/csv text/tab-separated-values"),
        is_sent_as_plain=True,
        part_end=b"\n",
    ),
    Format.JSON: DocumentFormat(
        *("JSON", ".structured_data:read_json", ".geojson .ipynb .json .jsonld", "application/json"),
        is_sent_as_plain=True,
    ),
    Format.JSON_LINES: DocumentFormat(
        "JSON Lines",
        ".structured_data:read_json_lines",
        ".jsonl .ndjson",
        "application/json-seq application/jsonl application/x-jsonlines application/x-ndjson",
        is_sent_as_plain=True,
        part_end=b"\n",
    ),
    Format.MARC: DocumentFormat("MARC", ".marc:read_marc", ".marc .mrc", "application/marc", part_end=b"\x1d"),
    Format.DOCX: DocumentFormat("Word", ".office.office_reader:read_docx", ".docx .docm", is_package=True),
    Format.PPTX: DocumentFormat("PowerPoint", ".office.office_reader:read_pptx", ".pptx", is_package=True),
    Format.XLSX: DocumentFormat("Excel", ".office.office_reader:read_xlsx", ".xlsx", is_package=True),
    Format.ODT: DocumentFormat("OpenDocument", ".office.office_reader:read_odt", ".odt", is_package=True),
    Format.ODP: DocumentFormat("OpenDocument", ".office.office_reader:read_odp", ".odp", is_package=True),
    Format.ODS: DocumentFormat("OpenDocument", ".office.office_reader:read_ods", ".ods", is_package=True),
    Format.EPUB: DocumentFormat("EPUB", ".office.epub:read_epub", ".epub", is_package=True),
    Format.MAIL: DocumentFormat(
        *("mail", ".mail:read_mail", ".eml .mbox .mht .mhtml", "application/mbox message/rfc822 multipart/related"),
        part_end=b"\nFrom ",
    ),
    Format.RTF: DocumentFormat("RTF", ".office.rtf:read_rtf", ".rtf", "application/rtf text/rtf"),
    Format.GEDCOM: DocumentFormat(
        *("GEDCOM", ".gedcom:read_gedcom", ".ged .gedcom", "application/x-gedcom text/vnd.familysearch.gedcom"),
        is_sent_as_plain=True,
        part_end=b"\n0 ",
    ),
}
#: The formats of plug-ins, which are recognized by their labels alone.
PLUGIN_FORMATS: dict[str, DocumentFormat] = {}
_FORMAT_BY_LABEL = {
    label: kind for kind, declared in FORMATS.items() if not declared.is_package for label in declared.labels
}


def add_formats(declarations: Mapping[str, DocumentFormat]) -> None:
    """Add the formats of plug-ins, by name, to `FORMATS` of this process.

    Raises ValueError if another format has the name, a suffix or a media type.
    """
    for name, declaration in declarations.items():
        if PLUGIN_FORMATS.get(name) == declaration:
            continue
        taken_names = sorted({name} & FORMATS.keys() | declaration.labels & _FORMAT_BY_LABEL.keys())
        if taken_names:
            raise ValueError(
                f"the document format {name!r} has the name, suffix or media type {taken_names[0]!r} of another"
            )
        FORMATS[name] = PLUGIN_FORMATS[name] = declaration
        _FORMAT_BY_LABEL.update(dict.fromkeys(declaration.labels, name))


def format_of_suffix(suffix: str) -> str | None:
    """Return the name of the format whose files have *suffix*, with its period; None for other suffixes.

    >>> format_of_suffix(".docx")
    <Format.DOCX: 'docx'>
    """
    return next((name for name, declaration in FORMATS.items() if suffix in declaration.suffixes.split()), None)


def plugin_format(media_type: str | None, name: str) -> str | None:
    """Return the name of the format by *media_type* and the suffix of *name*, if a plug-in reads it; None for others."""
    format_name = _format_by_label(media_type, name)
    return format_name if format_name in PLUGIN_FORMATS else None


def format_of(data: bytes, *, media_type: str | None = None, name: str = "", charset: str | None = None) -> str:
    """Return the name of a document's format, by its content, then its media type and file *name*.

    Callers must exclude documents without a reader first (`binary_kind`), and must read a PDF in a `Worker`.

    >>> format_of(b"%PDF-1.7", name="page.html")
    <Format.PDF: 'pdf'>
    """
    format_name = plugin_format(media_type, name) or package_format(data)
    return format_name or format_of_text(*document_beginning(data, charset), media_type, name)


def format_of_text(head: bytes, head_text: str, media_type: str | None, name: str) -> str:
    """Return the name of the format of a document that is not a package, by its content, media type and file *name*.

    *head* are its first bytes, *head_text* their characters (`document_beginning`).
    """
    return format_by_content(head, head_text) or _format_by_label(media_type, name) or format_by_likeness(head_text)


def part_end(data: bytes, *, media_type: str | None = None, name: str = "", charset: str | None = None) -> int:
    r"""Return the offset after the last complete part (a line, a record) of *data*, the beginning of a document.

    0 without a complete part, and for formats that are only read as a whole.

    >>> part_end(b"one line\nand half a", name="a.txt"), part_end(b'{"a": 1, "b"', name="a.json")
    (9, 0)
    """
    if plugin_format(media_type, name):
        return 0
    head, head_text = document_beginning(data, charset)
    if 0 in head or package_format(data) is not None or binary_kind(head, head_text) is not None:
        return 0
    separator = FORMATS[format_of_text(head, head_text, media_type, name)].part_end
    paragraph_end = data.rfind(b"\n\n", max(0, len(data) - BEGINNING_BYTES)) if separator == b"\n" else -1
    return (paragraph_end if paragraph_end >= 0 else data.rfind(separator)) + 1 if separator else 0


#: The parser of `email` takes quadratic time over quoted text.
_CONTENT_TYPE_CHARS = 500


@lru_cache(maxsize=1024)
def parse_content_type(header: str) -> tuple[str, str | None]:
    """Return the media type (empty if missing) and the charset that a Content-Type header declares.

    >>> parse_content_type('Text/HTML; Charset="ISO-8859-1"')
    ('text/html', 'iso-8859-1')
    >>> parse_content_type("")
    ('', None)
    """
    header = header[:_CONTENT_TYPE_CHARS]
    message = Message()
    message["Content-Type"] = "".join(char for char in header if char.isprintable())
    declares_type = "/" in header.partition(";")[0]
    try:
        charset = message.get_content_charset()
    except (TypeError, ValueError, LookupError):  # bugs of the library over malformed headers
        charset = None
    return message.get_content_type() if declares_type else "", charset


def document_beginning(data: bytes, charset: str | None) -> tuple[bytes, str]:
    """Return the first bytes of *data*, enough to recognize its format, and their characters (`decode`)."""
    head = data[:BEGINNING_BYTES]
    return head, decode_beginning(head, charset).text


def _format_by_label(media_type: str | None, name: str) -> str | None:
    """Return the name of the format by the media type and the suffix of the file *name*; None if both are unknown.

    >>> _format_by_label("text/plain", "README.md"), _format_by_label("text/plain", "page.html")
    (<Format.MARKDOWN: 'markdown'>, <Format.PLAIN: 'plain'>)
    """
    media_type = (media_type or "").lower()
    if media_type in _FORMAT_BY_LABEL:
        return _FORMAT_BY_LABEL[media_type]
    if media_type.endswith("+xml"):
        return Format.XML
    if media_type.endswith("+json"):
        return Format.JSON
    suffix_format = _FORMAT_BY_LABEL.get(PurePosixPath(name).suffix.lower()) if "." in name else None
    if media_type.startswith("text/"):
        return suffix_format if suffix_format and FORMATS[suffix_format].is_sent_as_plain else Format.PLAIN
    return suffix_format


# Signatures: the format of a document by its content, whatever its sender or its name declare.

#: The media type of Office documents from before 2007, and of encrypted ones.
OLE = "application/x-ole-storage"

#: The first bytes of an entry of a ZIP archive, and of the record at its end.
ZIP_ENTRY, ZIP_END = b"PK\x03\x04", b"PK\x05\x06"
#: Formats without a reader: the first bytes, the media type, and a description.
_UNSUPPORTED_FORMATS = (
    (ZIP_ENTRY, "application/zip", "a ZIP archive"),
    (ZIP_END, "application/zip", "an empty ZIP archive"),
    (b"\x1f\x8b", "application/gzip", "gzip data"),
    (b"BZh", "application/x-bzip2", "bzip2 data"),
    (b"\xfd7zXZ\0", "application/x-xz", "xz data"),
    (b"(\xb5/\xfd", "application/zstd", "Zstandard data"),
    (b"7z\xbc\xaf'\x1c", "application/x-7z-compressed", "a 7z archive"),
    (b"Rar!\x1a\x07", "application/vnd.rar", "a RAR archive"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", OLE, "an Office document of before 2007"),
    (b"\x89PNG\r\n\x1a\n", "image/png", "a PNG image"),
    (b"\xff\xd8\xff", "image/jpeg", "a JPEG image"),
    (b"GIF8", "image/gif", "a GIF image"),
    (b"II*\0", "image/tiff", "a TIFF image"),
    (b"MM\0*", "image/tiff", "a TIFF image"),
    (b"AT&TFORM", "image/vnd.djvu", "a DjVu document"),
    (b"SQLite format 3\0", "application/vnd.sqlite3", "an SQLite database"),
    (b"PAR1", "application/vnd.apache.parquet", "a Parquet file"),
)
#: Control characters that don't occur in text.
_CONTROL_BYTES = bytes([*range(9), *range(0x0E, 0x1B), 0x7F])

#: Folders that occur in only one kind of Office Open XML document.
_OPC_FOLDERS = {"word/": Format.DOCX, "xl/": Format.XLSX, "ppt/": Format.PPTX}
#: OpenDocument formats by the last part of the media type; templates and master documents count as their base format.
_ODF_KINDS = {"text": Format.ODT, "spreadsheet": Format.ODS, "presentation": Format.ODP}
_PACKAGE_TYPE = re.compile(
    rb".{26}\x08\0.{2}mimetype\s*application/(?P<type>epub\+zip|vnd\.oasis\.opendocument\.(?P<odf>[a-z]+))", re.DOTALL
)
_FLAT_TYPE = re.compile(r"""\bmimetype\s*=\s*["']application/vnd\.oasis\.opendocument\.(\w+)""")
_HEAD_BYTES = 2**16
_MOST_DIRECTORY_BYTES = 8 * 2**20

#: The header of a PDF after junk, such as HTTP headers: alone on its line.
_LATE_PDF = re.compile(rb"%PDF-[12]\.[0-9][\t ]*[\r\n]")
#: The leader of ISO 2709, and the first entry of its directory.
_MARC = re.compile(rb"\s*+[0-9 ]{5}[\x20-\x7e]{7}[0-9]{5}[\x20-\x7e]{7}[0-9A-Za-z]{3}[0-9]{9}[^\x1d]*?\x1e")

#: The header fields of a message: at least three that mail programs write, among any others.
_HEADER_FIELD = r"(?:[!-9;-~]+:[^\n]*\n(?:[ \t][^\n]*\n)*)"
_MAIL_FIELD = re.compile(
    r"^(?:from|to|cc|date|subject|message-id|mime-version|received|return-path|content-type|reply-to|sender):",
    re.IGNORECASE | re.MULTILINE,
)
_MAIL_HEADER = re.compile(rf"(?:From (?=[^\n]*[0-9]{{2}}:[0-9]{{2}})[^\n]*+\n)?(?P<fields>{_HEADER_FIELD}{{3,200}}+)")
_FEWEST_MAIL_FIELDS = 3
_SENDER_FIELDS = frozenset({"from:", "message-id:", "mime-version:", "received:", "return-path:"})

_JSON = re.compile(
    r"""
    [\s\x1e]*+
    (?: \{ \s*+ (?: "(?: [^"\\] | \\. )*+" \s*+ : | \} \s*+ \Z )
      | \[ \s*+ (?: \{ \s*+ [\"}] | \[ | "(?: [^"\\] | \\. )*+" \s*+ [],] | -?[0-9.]++ \s*+ , | \] \s*+ \Z )
    )
    """,
    re.VERBOSE | re.DOTALL,
)
#: Formats with a characteristic beginning.
_TEXT_BEGINNING = re.compile(
    r"""
    (?: [#;][^\n]*+\n | \s++ )*+
    (?: (?P<RTF> \{\\rtf[0-9] )
      | (?P<GEDCOM> 0\ HEAD\s )
    )
    """,
    re.VERBOSE | re.IGNORECASE,
)
#: A line with a whole object or array, and the beginning of another on the next.
_JSON_LINES = re.compile(r"[\s\x1e]*+ (?: \{ [^\n]* \} | \[ [^\n]* \] ) [ \t\r]*+ \n [\s\x1e]*+ [{[]", re.VERBOSE)

_TEX_COMMENTS = r"(?: \s++ | %[^\n]*+ )*+"
_LATEX = re.compile(
    rf"""
    {_TEX_COMMENTS}
    \\ (?: documentclass | documentstyle | begin\s*\{{ | section | chapter | part\b | usepackage | RequirePackage
         | NeedsTeXFormat | Provides(?:Package|Class|File) | input\s*\{{ | newcommand | makeatletter )
    """,
    re.VERBOSE,
)
_LATEX_INSIDE = re.compile(r"^[ \t]*+\\(?:documentclass[\[{]|begin\{document\})", re.MULTILINE)
#: An entry with a field, or a key and a field after it: Texinfo has ``@uref{https://…, text}``.
_BIBTEX_ENTRY = (
    r"@[ \t]*+[A-Za-z]{3,20}+\s*+[{(]\s*+[^\s,{}()\"=]{1,200}+\s*+"
    r"(?:=|,(?=(?:\s++|%[^\n]*+\n)*+(?:[A-Za-z][\w:.+-]*+\s*+=|[})])))"
)
_BIBTEX = re.compile(rf"(?:\s++|%[^\n]*+)*+(?:@(?i:comment|preamble)\s*+[{{(]|{_BIBTEX_ENTRY})")
_BIBTEX_INSIDE = re.compile(rf"^[ \t]*+{_BIBTEX_ENTRY}", re.MULTILINE)

_HTML_SKELETON = re.compile(r"<(?:!DOCTYPE\s+html|html|head|body)\b", re.IGNORECASE)
#: Tags at the beginning of a fragment of HTML; fragments of other vocabularies rarely begin with them.
_HTML_TAG = re.compile(
    r"a|b|br|center|div|font|form|h[1-6r]|i|img|li|link|meta|nav|ol|p|pre|s(?:cript|ection|pan|tyle)|table|title|ul"
)
#: The elements of Confluence's storage format, whose prefixes are not declared; its other elements are mostly HTML.
_CONFLUENCE = re.compile(r"<(?:ac:[a-z]+-[a-z-]+|ri:(?:url|page|attachment))[\s>]")
_MARKUP_BEGINNING = re.compile(
    r"""
    (?: \s++
      | <\? .*? \?>
      | <!-- .*? -->
      | <!DOCTYPE \s+ (?P<doctype> [\w.:-]++ ) [^>\[]*+ (?: \[ .*? \] \s*+ )? >
    )*+
    (?: < (?P<root> [a-z_] [\w.:-]*+ (?<!:) ) (?= [\s/>] ) (?P<attributes> [^>]*+ ) )?
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)


def binary_kind(head: bytes, head_text: str) -> tuple[str, str] | None:
    """Return the media type and a description of a binary document that has no reader; None for other documents.

    *head* are its first bytes, *head_text* their characters.

    >>> binary_kind(b"GIF89a", "GIF89a"), binary_kind(b"%PDF-1.7\\0\\0", "%PDF-1.7\\0\\0")
    (('image/gif', 'looks like a GIF image'), None)
    """
    for signature, media_type, description in _UNSUPPORTED_FORMATS:
        if head.startswith(signature):
            return media_type, f"looks like {description}"
    if not _is_pdf(head) and 20 * _control_character_count(head_text) > len(head_text):
        return "application/octet-stream", "binary data"
    return None


def _control_character_count(head_text: str) -> int:
    r"""Return the number of control characters in *head_text* that don't occur in text; all are one byte in UTF-8.

    >>> _control_character_count("a\0\x7f\n"), _control_character_count("\u4e2d\ud800\0\x7f\n")
    (2, 2)
    """
    encoded = head_text.encode("utf-8", "surrogatepass")
    return len(encoded) - len(encoded.translate(None, _CONTROL_BYTES))


def package_format(data: bytes) -> Format | None:
    """Return the format of a document that is a ZIP package (DOCX, ODT, EPUB …); None for any other data.

    >>> package_format(b"PK\\x03\\x04" + bytes(22) + b"\\x08\\0\\0\\0mimetypeapplication/epub+zip")
    <Format.EPUB: 'epub'>
    """
    if not data.startswith(ZIP_ENTRY):
        return None
    type_match = _PACKAGE_TYPE.match(data)
    if type_match is not None:
        return Format.EPUB if type_match["odf"] is None else _odf_format(type_match["odf"].decode("ascii", "replace"))
    return package_format_of(_member_names(data))


def package_format_of(member_names: Iterable[str]) -> Format | None:
    """Return the format of a package with members of these *member_names*; None for other archives.

    >>> package_format_of(["[Content_Types].xml", "word/document.xml"]), package_format_of(["a/word/document.xml"])
    (<Format.DOCX: 'docx'>, None)
    """
    distinct_names = set(member_names)
    if "[Content_Types].xml" in distinct_names:
        return next(
            (kind for name in distinct_names for folder, kind in _OPC_FOLDERS.items() if name.startswith(folder)), None
        )
    if "META-INF/container.xml" in distinct_names and "designmap.xml" not in distinct_names:  # IDML has both
        return Format.EPUB
    return Format.ODT if {"content.xml", "META-INF/manifest.xml"} <= distinct_names else None


def format_by_content(head: bytes, head_text: str) -> Format | None:
    """Return the format that the content of a document declares; None without a declaration.

    *head* are its first bytes, *head_text* their characters.

    >>> format_by_content(b"", "<?xml version='1.0'?><!-- TEI --><TEI>")
    <Format.XML: 'xml'>
    >>> format_by_content(b"", "% see README\\n@book{key, title = {T}}")
    <Format.BIBTEX: 'bibtex'>
    >>> format_by_content(b"", "<p>may be anything</p>")
    """
    doctype, root, attributes = _markup_root(head_text)
    if "html" in (doctype, root):
        return Format.HTML
    if root == "office:document":
        flat_type = _FLAT_TYPE.search(attributes)
        return _odf_format(flat_type[1] if flat_type else "text")
    is_xml = doctype or "xmlns" in attributes or head_text.lstrip().startswith("<?xml")
    if is_xml or (root and _CONFLUENCE.search(head_text)):
        return Format.XML
    if _is_pdf(head):
        return Format.PDF
    if _MARC.match(head):
        return Format.MARC
    if _is_mail(head_text):
        return Format.MAIL
    text_beginning = _TEXT_BEGINNING.match(head_text)
    if text_beginning and text_beginning.lastgroup:
        return Format[text_beginning.lastgroup]
    if _JSON.match(head_text):
        return Format.JSON_LINES if _JSON_LINES.match(head_text) else Format.JSON
    if _BIBTEX.match(head_text):
        return Format.BIBTEX
    return Format.LATEX if _LATEX.match(head_text) else None


def format_by_likeness(head_text: str) -> Format:
    """Return the likeliest format of a text that declares none, by its first characters.

    >>> format_by_likeness("<p>See ark:/12148/btv1b8"), format_by_likeness("<ead><eadid>1</eadid></ead>")
    (<Format.HTML: 'html'>, <Format.XML: 'xml'>)
    """
    _, root, attributes = _markup_root(head_text)
    if _HTML_TAG.fullmatch(root) or _HTML_SKELETON.search(head_text):
        return Format.HTML
    is_closed = attributes.endswith("/") or f"</{root}" in head_text.lower()
    if root and is_closed:
        return Format.XML
    if _LATEX_INSIDE.search(head_text):
        return Format.LATEX
    return Format.BIBTEX if _BIBTEX_INSIDE.search(head_text) else Format.PLAIN


def _is_mail(head_text: str) -> bool:
    r"""Return True if *head_text* begins with the header of a mail or a mailbox.

    >>> _is_mail("From: a@b.example\nDate: today\nSubject: x\n\n"), _is_mail("Date: today\nSubject: x\nNote: y\n")
    (True, False)
    """
    header = _MAIL_HEADER.match(head_text.replace("\r\n", "\n"))
    if header is None:
        return False
    field_names = {field[0].lower() for field in _MAIL_FIELD.finditer(header["fields"])}
    return len(field_names) >= _FEWEST_MAIL_FIELDS and not field_names.isdisjoint(_SENDER_FIELDS)


def _is_pdf(head: bytes) -> bool:
    return head.startswith(b"%PDF-") or _LATE_PDF.search(head) is not None


def _odf_format(kind: str) -> Format:
    """Return the format of an OpenDocument whose media type ends with *kind*; a drawing or formula counts as a text.

    >>> _odf_format("presentation"), _odf_format("graphics")
    (<Format.ODP: 'odp'>, <Format.ODT: 'odt'>)
    """
    return _ODF_KINDS.get(kind.partition("-")[0], Format.ODT)


def _member_names(data: bytes) -> list[str]:
    """Return the member names of the ZIP archive *data*; of a damaged one, those that `package_format_of` needs."""
    if data.count(b"PK\x01\x02") * 46 <= _MOST_DIRECTORY_BYTES:
        try:
            with zipfile.ZipFile(BytesIO(data)) as archive:
                return archive.namelist()
        except Exception:  # a damaged directory raises any type
            pass
    names = (
        *("[Content_Types].xml", "META-INF/container.xml", "META-INF/manifest.xml", "content.xml", "designmap.xml"),
        *_OPC_FOLDERS,
    )
    return [name for name in names if b"\0" + name.encode() in data[:_HEAD_BYTES]]


def _markup_root(head_text: str) -> tuple[str, str, str]:
    """Return document type and root element, in lower case, and the attributes of the root element; empty if missing.

    >>> _markup_root("<!-- JATS --><!DOCTYPE article><article lang='en'>")
    ('article', 'article', " lang='en'")
    """
    markup = _MARKUP_BEGINNING.match(head_text)
    assert markup is not None  # the whole pattern is optional
    return ((markup["doctype"] or "").lower(), (markup["root"] or "").lower(), markup["attributes"] or "")
