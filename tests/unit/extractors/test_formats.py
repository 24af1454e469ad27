"""Formats are recognized by content first, then by media type, then by name."""

import zipfile
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractors import extraction
from extractors.extraction import read_document
from extractors.model.formats import FORMATS, Format, format_of, package_format, parse_content_type
from tests.unit.extractors.packages import zip_archive
from tests.unit.extractors.readings import assert_sound
from tests.vectors import vectors

HTML, XML, PDF, PLAIN = "text/html", "application/xml", "application/pdf", "text/plain"


@pytest.mark.parametrize("vector", vectors("formats"))
def test_format(vector):
    data = vector["text"].encode(vector.get("encoding", "utf-8"))
    reading = read_document(data, media_type=vector.get("type"), name=vector.get("name", ""))
    assert reading.media_type == vector["read_as"]


@pytest.mark.parametrize("kind", Format)
def test_declared_format_has_its_names_a_reader_and_a_place_in_the_documentation(kind):
    declared = FORMATS[kind]
    for suffix in () if declared.is_package else declared.suffixes.split():
        assert format_of(b"x", name=f"a{suffix}") is kind
    assert callable(extraction.reader_of(kind))
    page = Path(__file__).parents[3] / "docs" / "extraction.md"
    assert declared.title in page.read_text("utf-8"), "add it to the table of formats there"


stored = partial(zip_archive, method=zipfile.ZIP_STORED)
WORD = {"[Content_Types].xml": "<Types/>", "word/document.xml": "<document/>"}
ODF = "application/vnd.oasis.opendocument."


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        pytest.param(stored(WORD), Format.DOCX, id="Word"),
        pytest.param(stored({"xl/workbook.xml": "", "[Content_Types].xml": ""}), Format.XLSX, id="Excel"),
        pytest.param(stored({"[Content_Types].xml": "", "ppt/presentation.xml": ""}), Format.PPTX, id="PowerPoint"),
        pytest.param(stored({"mimetype": ODF + "text"}), Format.ODT, id="OpenDocument text"),
        pytest.param(stored({"mimetype": ODF + "text-template"}), Format.ODT, id="its template"),
        pytest.param(stored({"mimetype": ODF + "spreadsheet"}), Format.ODS, id="spreadsheet"),
        pytest.param(stored({"mimetype": ODF + "presentation"}), Format.ODP, id="presentation"),
        pytest.param(stored({"mimetype": "application/epub+zip"}), Format.EPUB, id="EPUB"),
        pytest.param(stored({"META-INF/container.xml": ""}), Format.EPUB, id="EPUB that doesn't say so first"),
        pytest.param(stored({"content.xml": "", "META-INF/manifest.xml": ""}), Format.ODT, id="the same of ODT"),
        pytest.param(stored(WORD)[:-30], Format.DOCX, id="a directory that was cut off"),
        pytest.param(stored({"a.docx": stored(WORD)}), None, id="an archive with a document in it"),
        pytest.param(stored({"a/[Content_Types].xml": "", "a/word/document.xml": ""}), None, id="one unpacked"),
        pytest.param(stored({"mimetype": "image/png"}), None, id="another type"),
        pytest.param(
            stored({"META-INF/container.xml": "", "designmap.xml": ""}),
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
    stored(WORD),
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
