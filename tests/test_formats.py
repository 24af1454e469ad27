"""Formats are told by content first, then by what the sender says, then by name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractors import formats
from extractors.formats import parse_content_type, read_document

HTML, XML, PDF, PLAIN = "text/html", "application/xml", "application/pdf", "text/plain"
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
        pytest.param(
            b"x", "application/octet-stream", "A/B.HTML", HTML, id="a name, where the media type says nothing"
        ),
        pytest.param(b"<p>x</p>", None, "", HTML, id="a likeness of HTML"),
        pytest.param(b"Warning!\n<html><body>x", None, "", HTML, id="HTML behind junk"),
        pytest.param(b"<ead><eadid>x</eadid></ead>", None, "", XML, id="a likeness of XML"),
        pytest.param(b"<someone@example.org> wrote:", None, "", PLAIN, id="no likeness of XML"),
        pytest.param(b"<unknown> is", None, "README", PLAIN, id="no likeness either"),
        pytest.param(b"see ark:/12148/a", None, "", PLAIN, id="anything else is text"),
        pytest.param(b"00714cam\x1e001\x1fa\x1d", None, "", PLAIN, id="MARC has separators, and is text"),
        pytest.param("ark:/12148/a".encode("utf-16-le"), None, "", PLAIN, id="UTF-16 is full of NULs, and is text"),
    ],
)
def test_format(data, said, name, read_as):
    assert read_document(data, media_type=said, name=name).media_type == read_as


@pytest.mark.parametrize(
    ("data", "media_type", "detail"),
    [
        pytest.param(bytes(range(256)) * 9, "application/octet-stream", "binary data", id="anything"),
        pytest.param(b"PK\x03\x04.....", "application/zip", "looks like a ZIP archive", id="ZIP"),
        pytest.param(
            b"PK\x03\x04[Content_Types].xmlPK\x03\x04word/document.xml",
            "application/zip",
            "looks like a Word document (docx)",
            id="docx",
        ),
        pytest.param(b"\x89PNG\r\n\x1a\n", "image/png", "looks like a PNG image", id="PNG"),
        pytest.param(b"\x1f\x8b<html>", "application/gzip", "looks like gzip data", id="gzip, whatever is in it"),
    ],
)
def test_unknown_format_says_what_it_looks_like(data, media_type, detail):
    reading = read_document(data, media_type="text/html", name="page.html")
    assert (reading.media_type, reading.blocks) == (media_type, ())
    assert [(finding.kind, finding.detail) for finding in reading.findings] == [("unknown-format", detail)]


def test_an_empty_document_is_said_to_be():
    assert [finding.kind for finding in read_document(b"").findings] == ["empty"]


def test_the_charset_reaches_the_reader():
    assert read_document(b"a\x96b", charset="cp1252").blocks[0].text == "a\N{EN DASH}b"


def test_a_reader_that_fails_costs_the_document_and_nothing_else(monkeypatch):
    def broken_reader(data, *, charset):
        raise KeyError("surprise")

    monkeypatch.setattr(formats, "read_plain", broken_reader)
    [finding] = read_document(b"text").findings
    assert (finding.kind, finding.detail) == ("unreadable", "the reader failed: KeyError")


def test_lack_of_memory_is_no_property_of_the_document(monkeypatch):
    def greedy_reader(data, *, charset):
        raise MemoryError

    monkeypatch.setattr(formats, "read_plain", greedy_reader)
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
    parse_content_type(header)


MARKERS = [
    b"%PDF-1.4\n",
    b"<?xml version='1.0'?>",
    b"<html>",
    b"<!DOCTYPE ",
    b"<![CDATA[",
    b"{",
    b"PK\x03\x04",
    b"<a b='",
]


@given(
    st.lists(st.sampled_from(MARKERS) | st.binary(max_size=50), max_size=8).map(b"".join),
    st.none() | st.sampled_from([HTML, XML, PDF, PLAIN, "image/png"]) | st.text(),
    st.sampled_from(["", "a.pdf", "a.html", "a.xml"]) | st.text(),
    st.none() | st.sampled_from(["utf-8", "utf-16"]) | st.text(),
)
def test_no_bytes_raise_and_all_text_can_be_stored(data, media_type, name, charset):
    reading = read_document(data, media_type=media_type, name=name, charset=charset)
    for text in [reading.title, *reading.links, *(block.text for block in reading.blocks)]:
        text.encode()
