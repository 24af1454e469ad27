"""HTML: every vector says why it is there; then charsets, hostile pages, and what no page may do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractors.documents import Role
from extractors.readers import html
from extractors.readers.html import read_html
from tests.vectors import vectors


def texts(reading, role=Role.TEXT):
    return [block.text for block in reading.blocks if block.role is role]


def kinds(reading):
    return [finding.kind for finding in reading.findings]


@pytest.mark.parametrize("vector", vectors("html_reader"))
def test_html_vector(vector):
    reading = read_html(vector["html"].encode())
    if "blocks" in vector:
        assert [[b.role.value, b.place, b.text] for b in reading.blocks] == vector["blocks"]
    if "links" in vector:
        assert list(reading.links) == vector["links"]
    assert reading.title == vector.get("title", "")
    assert reading.base == vector.get("base")
    assert reading.findings == ()


@pytest.mark.parametrize("vector", vectors("html_reader"))
def test_the_patient_parser_sees_the_same_links(vector):
    if "links" in vector:
        page = html._page_by_soup(vector["html"])
        assert set(vector["links"]) <= set(page.targets)


@pytest.mark.parametrize(
    ("data", "charset"),
    [
        pytest.param("<p>a\N{EN DASH}b".encode("utf-8-sig"), "latin-1", id="a byte order mark beats HTTP"),
        pytest.param(b"<meta charset=utf-8><p>a\x96b", "windows-1252", id="HTTP beats meta"),
        pytest.param(b"<meta charset=windows-1252><p>a\x96b", None, id="meta charset"),
        pytest.param(
            b"<meta http-equiv=content-type content='text/html;charset=cp1252'><p>a\x96b",
            None,
            id="http-equiv",
        ),
        pytest.param(b"<p>a\x96b", "iso-8859-1", id="latin-1 means windows-1252 on the web"),
        pytest.param("<p>a\N{EN DASH}b".encode(), None, id="UTF-8 without any declaration"),
        pytest.param("<p>a\N{EN DASH}b".encode(), "no-such-charset", id="an unknown charset is passed over"),
        pytest.param("<p>a\N{EN DASH}b".encode("utf-16-le"), None, id="UTF-16 without a mark"),
        pytest.param("<p>a\N{EN DASH}b".encode("utf-16"), "utf-8", id="UTF-16 with a mark"),
        pytest.param("<meta charset=utf-16><p>a\N{EN DASH}b".encode(), None, id="a meta element can't say UTF-16"),
    ],
)
def test_charset(data, charset):
    reading = read_html(data, charset=charset)
    assert texts(reading) == ["a\N{EN DASH}b"]
    assert reading.findings == ()


def test_windows_1252_is_a_guess_and_said_to_be():
    reading = read_html(b"<p>a\x96b")
    assert texts(reading) == ["a\N{EN DASH}b"]
    assert kinds(reading) == ["guessed-charset"]


def test_one_stray_byte_does_not_garble_a_page_in_utf8():
    reading = read_html("<p>déjà vu, déjà lu".encode() + b"\xff</p>", charset="utf-8")
    assert texts(reading) == ["déjà vu, déjà lu\N{REPLACEMENT CHARACTER}"]


@pytest.mark.parametrize("depth", [300, 3_000, 200_000])
def test_text_below_any_number_of_elements_is_found(depth):
    # A tree of lxml ends at 256 elements, or 2,048 with huge_tree, and says so only in its error log.
    reading = read_html(b"<div>" * depth + b"ark:/12148/a" + b"</div>" * depth + b"<p>ark:/12148/b</p>")
    assert texts(reading) == ["ark:/12148/a", "ark:/12148/b"]


def test_a_run_of_text_of_more_than_ten_megabytes_is_found():
    reading = read_html(b"<p>" + b"x" * 11_000_000 + b"<p>ark:/12148/a")
    assert texts(reading)[1:] == ["ark:/12148/a"]


def test_a_page_over_the_limit_is_cut_and_said_to_be(monkeypatch):
    monkeypatch.setattr(html, "MOST_BYTES", len("<p>é: ark:/12148/a".encode()) + 1)
    reading = read_html("<p>é: ark:/12148/aé</p><p>more</p>".encode())
    assert texts(reading) == ["é: ark:/12148/a"]  # the cut character is dropped, and spoils no charset
    assert kinds(reading) == ["size-limit"]


def test_json_ld_cannot_smuggle_in_what_no_text_can_hold():
    reading = read_html(rb'<script type=application/ld+json>"\ud83d\ude00 \ud800"</script>')
    assert texts(reading, Role.STRUCTURED_DATA) == ["\N{GRINNING FACE} \N{REPLACEMENT CHARACTER}"]


def test_deeply_nested_json_ld_is_kept_as_it_is():
    source = "[" * 100_000 + '"ark:/12148/a"'
    reading = read_html(f"<script type=application/ld+json>{source}</script>".encode())
    assert texts(reading, Role.STRUCTURED_DATA) == [source]


def test_a_limit_of_libxml2_is_noticed_and_a_more_patient_parser_reads_the_page(monkeypatch):
    parser = html.etree.HTMLParser
    monkeypatch.setattr(html.etree, "HTMLParser", lambda **options: parser(**options | {"huge_tree": False}))
    reading = read_html(b"<p>" + b"x" * 11_000_000 + b"<p>ark:/12148/a")
    assert texts(reading)[1:] == ["ark:/12148/a"]
    assert kinds(reading) == ["malformed-markup"]


def test_what_lxml_gives_up_on_a_more_patient_parser_reads(monkeypatch):
    monkeypatch.setattr(html, "_page_by_lxml", lambda markup: None)
    reading = read_html(b"<title>T</title><p class='a b'>ark:/12148/<b>a</b><!-- x --><p><a href=b>c</a>")
    assert [(b.place, b.text) for b in reading.blocks] == [
        ("title", "T"),
        ("p", "ark:/12148/a"),
        ("a/@href", "b"),
        ("p", "c"),
    ]
    assert (reading.title, reading.links, kinds(reading)) == ("T", ("b",), ["malformed-markup"])


def test_markup_that_no_parser_accepts_is_no_text(monkeypatch):
    monkeypatch.setattr(html, "_page_by_lxml", lambda markup: None)
    assert read_html(b"<p>x<![foo[x]]>").blocks == ()


def test_comments_without_end_take_no_time():
    # html.parser would take minutes over these, and must not be asked only because there is no element.
    assert read_html(b"<!--" * 250_000).findings == ()


@given(st.binary() | st.text(alphabet="<>/!-ab&;:=\"' \0é").map(str.encode))
def test_no_page_raises(data):
    read_html(data)


TAGS = ["b", "body", "br", "frameset", "head", "html", "li", "option", "p", "script", "select", "sup", "svg"]
TAGS += ["table", "td", "template", "title"]
FRAGMENTS = ["x", *(f"<{tag}>" for tag in TAGS), *(f"</{tag}>" for tag in TAGS)]


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=30))
def test_any_order_of_tags_is_a_page(fragments):
    markup = "".join(fragments)
    for page in (html._page_by_lxml(markup), html._page_by_soup(markup)):
        assert page._places == [""]
        assert page._unseen_depth == 0
