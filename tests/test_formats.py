"""Formats are recognized by content first, then by media type, then by name."""

import io
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractors import extraction
from extractors.extraction import read_document
from extractors.model.formats import FORMATS, Format, format_of, package_format, parse_content_type
from tests.readings import assert_sound

HTML, XML, PDF, PLAIN = "text/html", "application/xml", "application/pdf", "text/plain"
MARKDOWN, REST, LATEX, BIBTEX = ("text/markdown", "text/x-rst", "application/x-tex", "application/x-bibtex")
CSV, JSON, JSON_LINES, MARC = ("text/csv", "application/json", "application/jsonl", "application/marc")
TEI = b"<TEI xmlns='http://www.tei-c.org/ns/1.0'/>"


@pytest.mark.parametrize(
    ("data", "said", "name", "read_as"),
    [
        pytest.param(b"<!doctype html><p>x", PLAIN, "a.txt", HTML, id="a doctype of HTML beats every claim"),
        pytest.param(b"<!-- x --><!DOCTYPE HTML PUBLIC ''>x", XML, "", HTML, id="a doctype behind a comment"),
        pytest.param(b"\n<html lang=fr>x", None, "a.xml", HTML, id="a root of HTML"),
        pytest.param(b"<?xml version='1.0'?>\n<html xmlns='x'/>", XML, "", HTML, id="XHTML is HTML"),
        pytest.param("<html><p>é".encode("utf-16"), None, "", HTML, id="HTML in UTF-16"),
        pytest.param(b"<?xml version='1.0'?><a/>", HTML, "a.html", XML, id="a declaration of XML"),
        pytest.param(b"\xef\xbb\xbf" + TEI, HTML, "", XML, id="a namespace"),
        pytest.param(b"<!DOCTYPE article PUBLIC ''><article/>", None, "", XML, id="a doctype that isn't HTML's"),
        pytest.param("<?xml version='1.0'?><a/>".encode("utf-16"), None, "", XML, id="XML in UTF-16"),
        pytest.param(b"%PDF-1.4\n", HTML, "a.html", PDF, id="a header of PDF"),
        pytest.param(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n%PDF-1.7\r\n", None, "", PDF, id="a late one"),
        pytest.param(b"A file begins with %PDF-1.4 then", None, "", PLAIN, id="text about PDF"),
        pytest.param(b"<p>x</p>", PLAIN, "a.html", PLAIN, id="a claim beats a likeness"),
        pytest.param(b"x", HTML, "a.xml", HTML, id="a media type beats a name"),
        pytest.param(b"<a>x</a>", "application/tei+xml", "", XML, id="a suffix of a media type"),
        pytest.param(b"x", "application/octet-stream", "A/B.HTML", HTML, id="a name with a general media type"),
        pytest.param(b"<p>x</p>", None, "", HTML, id="a likeness of HTML"),
        pytest.param(b"Warning!\n<html><body>x", None, "", HTML, id="HTML behind junk"),
        pytest.param(b"<ead><eadid>x</eadid></ead>", None, "", XML, id="a likeness of XML"),
        pytest.param(b"<p>x</p><ac:link><ri:url ri:value='x'/></ac:link>", HTML, "", XML, id="a page of Confluence"),
        pytest.param(b"<someone@example.org> wrote:", None, "", PLAIN, id="no likeness of XML"),
        pytest.param(b"<unknown> is", None, "README", PLAIN, id="no likeness either"),
        pytest.param(b"see ark:/12148/a", None, "", PLAIN, id="anything else is text"),
        pytest.param(b"00714cam\x1e001\x1fa\x1d", None, "", PLAIN, id="MARC has separators, and is text"),
        pytest.param("ark:/12148/a".encode("utf-16-le"), None, "", PLAIN, id="UTF-16 is full of NULs, and is text"),
        pytest.param(
            b"00072nam a2200037 a 4500024002100000\x1e7 \x1faark:/1/x\x1e\x1d", PLAIN, "", MARC, id="a leader"
        ),
        pytest.param(b'{"id": 1}', PLAIN, "a.txt", JSON, id="an object of JSON"),
        pytest.param(b'[{"id": 1}]', HTML, "", JSON, id="an array of objects"),
        pytest.param(b"[1] ark:/12148/a", None, "", PLAIN, id="a footnote is no array"),
        pytest.param(b"{see note}", None, "", PLAIN, id="braces are no object"),
        pytest.param(b'{"id": 1}\n{"id": 2}\n', JSON, "a.json", JSON_LINES, id="an object a line, whatever the claim"),
        pytest.param(b'{"id":\n1}', "application/x-ndjson", "", JSON, id="an object over lines"),
        pytest.param(b"x", "application/x-ndjson", "", JSON_LINES, id="a claim of JSON Lines"),
        pytest.param(b"x", "application/ld+json", "", JSON, id="another suffix of a media type"),
        pytest.param(b"% x\n@Article{key,\n title={T}}", PLAIN, "", BIBTEX, id="an entry of BibTeX behind a comment"),
        pytest.param(b"Cite as:\n  @book{key,\n title={T}}", None, "", BIBTEX, id="one behind text"),
        pytest.param(b"@someone, see ark:/12148/a", None, "", PLAIN, id="an at sign is no entry"),
        pytest.param(b"% x\n\n\\documentclass{article}", PLAIN, "", LATEX, id="a document class of LaTeX"),
        pytest.param(b"\\section{A}\ntext", None, "", LATEX, id="a heading of LaTeX"),
        pytest.param(b"\\def\\a{b}\n\\begin{document}", None, "", LATEX, id="a document of LaTeX behind definitions"),
        pytest.param(b"\\server\\section", None, "", PLAIN, id="a path is no LaTeX"),
        pytest.param(b"x", LATEX, "", LATEX, id="a claim of LaTeX"),
        pytest.param(b"{\\rtf1 x}", PLAIN, "a.doc", "application/rtf", id="RTF under the name of Word's"),
        pytest.param(b"\xef\xbb\xbf0 HEAD\r\n", PLAIN, "", "text/vnd.familysearch.gedcom", id="a head of GEDCOM"),
        pytest.param(b"BEGIN:VCARD\r\n", PLAIN, "", "text/directory", id="a vCard"),
        pytest.param(b"BEGIN:VCALENDAR\r\n", "text/calendar", "", "text/directory", id="a calendar"),
        pytest.param(b"# x\nversion: 1\n\ndn: cn=x\n", None, "", "text/directory", id="an entry of a directory"),
        pytest.param(b"dn: see there", None, "", PLAIN, id="no entry"),
        pytest.param(b"[InternetShortcut]\r\n", PLAIN, "", "text/directory", id="a shortcut"),
        pytest.param(b"```tex\n\\documentclass{article}\n```", PLAIN, "a.md", MARKDOWN, id="LaTeX within Markdown"),
        pytest.param(b"x", PLAIN, "README.md", MARKDOWN, id="a name refines a claim of plain text"),
        pytest.param(b"x", "text/x-unknown", "a/b.RST", REST, id="as one of another text"),
        pytest.param(b"a,b", PLAIN, "a.csv", CSV, id="and so for tables"),
        pytest.param(b"a\tb", "text/tab-separated-values", "", CSV, id="a claim of a table"),
        pytest.param(b"<p align=center>x</p>", None, "README.md", MARKDOWN, id="a name beats a likeness of HTML"),
        pytest.param(b"ark: ark:/12148/a", None, "a.yaml", PLAIN, id="YAML is text"),
    ],
)
def test_format(data, said, name, read_as):
    assert read_document(data, media_type=said, name=name).media_type == read_as


@pytest.mark.parametrize("kind", Format)
def test_declared_format_has_its_names_a_reader_and_a_place_in_the_documentation(kind):
    declared = FORMATS[kind]
    for suffix in () if declared.is_package else declared.suffixes.split():
        assert format_of(b"x", name=f"a{suffix}") is kind
    assert callable(extraction.reader_of(kind))
    page = Path(__file__).parents[1] / "docs" / "extraction.md"
    assert declared.title in page.read_text("utf-8"), "add it to the table of formats there"


def zip_of(**members):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return made.getvalue()


WORD = {"[Content_Types].xml": "<Types/>", "word/document.xml": "<document/>"}
ODF = "application/vnd.oasis.opendocument."


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        pytest.param(zip_of(**WORD), Format.DOCX, id="Word"),
        pytest.param(zip_of(**{"xl/workbook.xml": "", "[Content_Types].xml": ""}), Format.XLSX, id="Excel"),
        pytest.param(zip_of(**{"[Content_Types].xml": "", "ppt/presentation.xml": ""}), Format.PPTX, id="PowerPoint"),
        pytest.param(zip_of(mimetype=ODF + "text"), Format.ODT, id="OpenDocument text"),
        pytest.param(zip_of(mimetype=ODF + "text-template"), Format.ODT, id="its template"),
        pytest.param(zip_of(mimetype=ODF + "spreadsheet"), Format.ODS, id="spreadsheet"),
        pytest.param(zip_of(mimetype=ODF + "presentation"), Format.ODP, id="presentation"),
        pytest.param(zip_of(mimetype="application/epub+zip"), Format.EPUB, id="EPUB"),
        pytest.param(zip_of(**{"META-INF/container.xml": ""}), Format.EPUB, id="EPUB that doesn't say so first"),
        pytest.param(zip_of(**{"content.xml": "", "META-INF/manifest.xml": ""}), Format.ODT, id="the same of ODT"),
        pytest.param(zip_of(**WORD)[:-30], Format.DOCX, id="a directory that was cut off"),
        pytest.param(zip_of(**{"a.docx": zip_of(**WORD)}), None, id="an archive with a document in it"),
        pytest.param(zip_of(**{"a/[Content_Types].xml": "", "a/word/document.xml": ""}), None, id="one unpacked"),
        pytest.param(zip_of(mimetype="image/png"), None, id="another type"),
        pytest.param(
            zip_of(**{"META-INF/container.xml": "", "designmap.xml": ""}),
            None,
            id="IDML is an archive of XML, though its container is like that of an EPUB",
        ),
        pytest.param(b"PK\x03\x04.....", None, id="no archive"),
        pytest.param(b"word/document.xml", None, id="no archive at all"),
    ],
)
def test_package(data, kind):
    assert package_format(data) is kind
    if kind:
        assert format_of(data, media_type="text/html", name="a.zip") is kind


@pytest.mark.parametrize("kind", ["text", "spreadsheet", "presentation"])
def test_flat_opendocument_is_recognized(kind):
    names = 'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"'
    flat = (
        f'<?xml version="1.0"?><office:document {names} office:mimetype="{ODF}{kind}"><office:body/></office:document>'
    )
    assert read_document(flat.encode(), media_type="text/xml").media_type == ODF + kind


@pytest.mark.parametrize(
    ("data", "media_type", "detail"),
    [
        pytest.param(bytes(range(256)) * 9, "application/octet-stream", "binary data", id="anything"),
        pytest.param(b"PK\x03\x04.....", "application/zip", "looks like a ZIP archive", id="ZIP"),
        pytest.param(
            b"PK\x05\x06" + bytes(18), "application/zip", "looks like an empty ZIP archive", id="an empty ZIP"
        ),
        pytest.param(b"\x89PNG\r\n\x1a\n", "image/png", "looks like a PNG image", id="PNG"),
        pytest.param(b"\x1f\x8b<html>", "application/gzip", "looks like gzip data", id="gzip, whatever is in it"),
    ],
)
def test_unknown_format_is_described(data, media_type, detail):
    reading = read_document(data, media_type="text/html", name="page.html")
    assert (reading.media_type, reading.blocks) == (media_type, ())
    assert [(finding.kind, finding.detail) for finding in reading.findings] == [("unknown-format", detail)]


def test_empty_document_is_reported():
    assert [finding.kind for finding in read_document(b"").findings] == ["empty"]


def test_the_charset_reaches_the_reader():
    assert read_document(b"a\x96b", charset="cp1252").blocks[0].text == "a\N{EN DASH}b"


def test_a_reader_that_fails_costs_the_document_and_nothing_else(monkeypatch):
    def broken_reader(data, *, charset):
        raise KeyError("surprise")

    monkeypatch.setattr(extraction, "read_plain", broken_reader)
    [finding] = read_document(b"text").findings
    assert (finding.kind, finding.detail) == ("unreadable", "the reader failed: KeyError")


def test_lack_of_memory_is_no_property_of_the_document(monkeypatch):
    def greedy_reader(data, *, charset):
        raise MemoryError

    monkeypatch.setattr(extraction, "read_plain", greedy_reader)
    with pytest.raises(MemoryError):
        read_document(b"text")


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("text/html", ("text/html", None)),
        ("text/html; charset=utf-8", ("text/html", "utf-8")),
        ("TEXT/HTML;CHARSET='x'", ("text/html", "'x'")),
        ('text/plain; format=flowed; charset="UTF-8"', ("text/plain", "utf-8")),
        ("; charset=utf-8", ("", "utf-8")),
        ("html", ("", None)),
        ("", ("", None)),
    ],
)
def test_content_type(header, expected):
    assert parse_content_type(header) == expected


@given(st.text())
def test_no_content_type_raises(header):
    media_type, charset = parse_content_type(header)
    assert media_type is None or media_type == media_type.strip().lower()
    assert charset is None or charset.strip()


MARKERS = [
    b"%PDF-1.4\n", b"<?xml version='1.0'?>", b"<html>", b"<!DOCTYPE ", b"<![CDATA[", b"{", b"PK\x03\x04", b"<a b='",
    b"@misc{k, url = {", b"\\documentclass{", b"00072nam a2200037 a 4500024002100000\x1e",
    zip_of(**WORD),
]  # fmt: skip


@given(
    st.lists(st.sampled_from(MARKERS) | st.binary(max_size=50), max_size=8).map(b"".join),
    st.none() | st.sampled_from([HTML, XML, PDF, PLAIN, "image/png"]) | st.text(),
    st.sampled_from(["", "a.pdf", "a.html", "a.xml", "a.md", "a.rst", "a.tex", "a.bib", "a.csv", "a.json", "a.jsonl"])
    | st.text(),
    st.none() | st.sampled_from(["utf-8", "utf-16"]) | st.text(),
)
def test_no_bytes_raise_and_all_text_can_be_stored(data, media_type, name, charset):
    reading = read_document(data, media_type=media_type, name=name, charset=charset)
    assert_sound(reading)
    assert reading.blocks or reading.findings or not data.strip() or b"ark:" not in data.lower()
