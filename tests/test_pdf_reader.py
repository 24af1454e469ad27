"""PDF: small files made by hand, with what is good in PDFs, and what is evil."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractors.documents import Role
from extractors.readers.pdf import read_pdf
from extractors.worker import Worker, WorkerDied

FIXTURES = Path(__file__).parent / "fixtures"

CATALOG = b"<</Type/Catalog/Pages 2 0 R/Outlines 6 0 R>>"
ONE_PAGE = b"<</Type/Pages/Kids[3 0 R]/Count 1>>"
PAGE = (
    b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Contents 4 0 R/Annots 5 0 R"
    b"/Resources<</Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>/XObject<</A 8 0 R>>>>>>"
)
NOTHING = b"null"
LINE_END_HYPHEN = "\ufffe"  # a noncharacter: Unicode has no name for it


def stream(data, *, entries=b""):
    return b"<<%s/Length %d>>\nstream\n%s\nendstream" % (entries, len(data), data)


def lines(*texts):
    """A content stream that shows each of *texts* on a line of its own."""
    shown = b"".join(b"(%s) Tj 0 -14 Td " % text.encode("latin-1") for text in texts)
    return stream(b"BT /F 12 Tf 10 150 Td " + shown + b"ET")


def pdf(*objects, trailer=b""):
    """A file with these objects, numbered from 1; the first is the catalog."""
    parts, offsets = [b"%PDF-1.4\n"], []
    for number, content in enumerate(objects, start=1):
        offsets.append(sum(map(len, parts)))
        parts.append(b"%d 0 obj\n%s\nendobj\n" % (number, content))
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    start = sum(map(len, parts))
    parts.append(b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, table))
    parts.append(b"trailer\n<</Size %d/Root 1 0 R%s>>\n" % (len(objects) + 1, trailer))
    parts.append(b"startxref\n%d\n%%%%EOF\n" % start)
    return b"".join(parts)


def link(uri, rectangle=b"10 20 110 32"):
    return b"<</Type/Annot/Subtype/Link/Rect[%s]/A<</S/URI/URI(%s)>>>>" % (rectangle, uri)


WHOLE = pdf(CATALOG, ONE_PAGE, PAGE, lines("see ark:/12345/x5"), NOTHING)


def blocks(reading, role):
    return [(block.place, block.text) for block in reading.blocks if block.role is role]


def texts(reading):
    return [(block.page, block.text) for block in reading.blocks if block.role is Role.TEXT]


def kinds(reading):
    return [finding.kind for finding in reading.findings]


def test_each_page_is_a_block_and_lines_end_as_pdfium_ends_them():
    pages = b"<</Type/Pages/Kids[3 0 R 3 0 R]/Count 2>>"
    reading = read_pdf(pdf(CATALOG, pages, PAGE, lines("ark:/12345/", "x5"), NOTHING))
    assert texts(reading) == [(1, "ark:/12345/\r\nx5"), (2, "ark:/12345/\r\nx5")]
    assert (reading.media_type, reading.findings) == ("application/pdf", ())


def test_a_hyphen_at_the_end_of_a_line_is_left_to_the_repair():
    reading = read_pdf(pdf(CATALOG, ONE_PAGE, PAGE, lines("the manu-", "script"), NOTHING))
    assert texts(reading) == [(1, f"the manu{LINE_END_HYPHEN}script")]


def test_link_annotations_are_unique_by_page_and_uri_at_their_first_place():
    annotations = b"[%s]" % b" ".join(
        [
            link(b"https://n2t.net/ark:/12345/x5", b"10.4 20.6 110 32"),
            link(b"https://n2t.net/ark:/12345/x5", b"10 6 40 18"),
            link(b"ark:/12345/x6"),
            link(b"MAILTO:someone@example.org"),
            link(b" "),
            b"<</Type/Annot/Subtype/Link/Rect[0 0 1 1]/Dest[3 0 R/Fit]>>",
            b"<</Type/Annot/Subtype/Text/Rect[0 0 1 1]/Contents(no link)>>",
        ]
    )
    reading = read_pdf(pdf(CATALOG, ONE_PAGE, PAGE, lines("x"), annotations))
    assert blocks(reading, Role.LINK_ANNOTATION) == [
        ("rect:10,21,110,32", "https://n2t.net/ark:/12345/x5"),
        ("rect:10,20,110,32", "ark:/12345/x6"),
        ("rect:10,20,110,32", "MAILTO:someone@example.org"),
    ]
    assert reading.links == ("https://n2t.net/ark:/12345/x5",)


def test_info_xmp_and_outline_are_metadata():
    packet = (
        b"<?xpacket begin='' id='W5M0MpCehiHzreSzNTczkc9d'?><x:xmpmeta xmlns:x='adobe:ns:meta/'>"
        b"<dc:identifier xmlns:dc='http://purl.org/dc/elements/1.1/'>ark:/12345/x7</dc:identifier>"
        b"</x:xmpmeta><?xpacket end='w'?>"
    )
    reading = read_pdf(
        pdf(
            CATALOG,
            ONE_PAGE,
            PAGE,
            lines("x"),
            NOTHING,
            b"<</Type/Outlines/First 7 0 R/Last 7 0 R>>",
            b"<</Title(On ark:/12345/x8)/Parent 6 0 R/Next 7 0 R>>",  # its own successor
            stream(packet),
            b"<</Title( Thesis )/Subject(ark:/12345/x6)/Author<FEFFD800>>>",
            trailer=b"/Info 9 0 R",
        )
    )
    assert reading.title == "Thesis"
    assert blocks(reading, Role.METADATA) == [
        ("info/Title", "Thesis"),
        ("info/Subject", "ark:/12345/x6"),
        ("xmp/identifier", "ark:/12345/x7"),
        ("outline", "On ark:/12345/x8"),
    ]


@pytest.mark.parametrize(
    ("data", "kind", "detail"),
    [
        pytest.param(b"", "unreadable", "no PDF", id="nothing"),
        pytest.param(b"%PDF-1.4\n" + bytes(range(256)), "unreadable", "no PDF", id="garbage behind a header"),
        pytest.param(WHOLE[:-40], "unreadable", "no PDF", id="cut off at its end"),
        pytest.param(pdf(CATALOG, b"<</Type/Pages/Kids[]/Count 0>>"), "unreadable", "no pages", id="without pages"),
        pytest.param((FIXTURES / "password.pdf").read_bytes(), "encrypted", "password", id="with a password"),
    ],
)
def test_what_cannot_be_read_says_why(data, kind, detail):
    read_pdf((FIXTURES / "password.pdf").read_bytes())  # its error must not be taken for the next one's
    reading = read_pdf(data)
    assert reading.blocks == ()
    assert kinds(reading) == [kind]
    assert detail in reading.findings[0].detail


def test_a_password_against_changes_does_not_hinder_reading():
    reading = read_pdf((FIXTURES / "owner_password.pdf").read_bytes())
    assert texts(reading) == [(1, "ark:/12345/x54xz321")]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 300 + b"\r\n" + WHOLE, id="HTTP headers before it"),
        pytest.param(WHOLE.replace(b"startxref\n", b"startxref\n9"), id="a table of contents that isn't there"),
    ],
)
def test_damage_that_pdfium_can_mend(data):
    assert texts(read_pdf(data)) == [(1, "see ark:/12345/x5")]


def test_a_page_that_fails_costs_that_page():
    pages = b"<</Type/Pages/Kids[3 0 R 2 0 R 3 0 R]/Count 3>>"  # the second kid is its own parent
    reading = read_pdf(pdf(CATALOG, pages, PAGE, lines("ark:/12345/x5"), NOTHING))
    assert (1, "ark:/12345/x5") in texts(reading)
    assert set(kinds(reading)) == {"unreadable-page"}
    assert reading.findings[0].detail.endswith("Failed to load page.")


def test_pages_over_the_limit_are_left_and_those_before_it_kept():
    pages = b"<</Type/Pages/Kids[%s]/Count 9>>" % (b"3 0 R " * 9)
    reading = read_pdf(pdf(CATALOG, pages, PAGE, lines("x"), NOTHING), max_pages=4)
    assert [page for page, _ in texts(reading)] == [1, 2, 3, 4]
    assert [(finding.kind, finding.detail) for finding in reading.findings] == [
        ("page-limit", "only the first 4 of 9 pages were read")
    ]


def test_what_kills_pdfium_kills_a_worker_and_the_next_file_is_read():
    bomb = (FIXTURES / "recursive_form.pdf").read_bytes()
    with Worker(read_pdf, memory_bytes=512 * 2**20) as worker:
        with pytest.raises(WorkerDied, match="killed by SIG"):
            worker.call(bomb)
        assert texts(worker.call(WHOLE)) == [(1, "see ark:/12345/x5")]


@given(st.binary(max_size=200).map(b"%PDF-1.4\n".__add__) | st.binary(max_size=200))
def test_no_bytes_raise(data):
    read_pdf(data)


@settings(max_examples=200)
@given(st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), min_size=1, max_size=12))
def test_no_damage_raises(damage):
    data = bytearray(WHOLE)
    for position, byte in damage:
        data[position] = byte
    read_pdf(bytes(data))
