"""HTML: vectors with their reasons, charsets, hostile pages, and proof that speed costs no mention."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from extractors.extraction import extraction_of
from extractors.find import find_arks
from extractors.mentions.possible_labels import may_hold_ark
from extractors.model.documents import Role
from extractors.readers.markup import html
from extractors.readers.markup.html import read_html
from tests.growth import LINEAR, growth
from tests.unit.extractors.html_events import blocks_by_events
from tests.unit.extractors.readings import assert_sound, kinds, link_targets, texts
from tests.vectors import vectors

ARK = b"<p>ark:/12148/x5"


@pytest.mark.parametrize("vector", vectors("html_reader"))
def test_html_vector(vector):
    reading = read_html(vector["html"].encode())
    assert [[b.role.value, b.place, b.text] for b in reading.blocks] == vector["blocks"]
    assert link_targets(reading) == vector.get("shown", [])
    assert list(reading.links) == vector.get("links", [])
    assert reading.title == vector.get("title", "")
    assert reading.base == vector.get("base")
    assert reading.findings == ()


@pytest.mark.parametrize(
    ("data", "charset"),
    [
        pytest.param("<p>ark:/1/a\N{EN DASH}b".encode("utf-8-sig"), "latin-1", id="a byte order mark beats HTTP"),
        pytest.param(b"<meta charset=utf-8><p>ark:/1/a\x96b", "windows-1252", id="HTTP beats meta"),
        pytest.param(b"<meta charset=windows-1252><p>ark:/1/a\x96b", None, id="meta charset"),
        pytest.param(
            b"<meta http-equiv=content-type content='text/html;charset=cp1252'><p>ark:/1/a\x96b", None, id="http-equiv"
        ),
        pytest.param(b"<p>ark:/1/a\x96b", "iso-8859-1", id="latin-1 means windows-1252 on the web"),
        pytest.param("<p>ark:/1/a\N{EN DASH}b".encode(), None, id="UTF-8 without any declaration"),
        pytest.param("<p>ark:/1/a\N{EN DASH}b".encode(), "no-such-charset", id="an unknown charset is passed over"),
        pytest.param("<p>ark:/1/a\N{EN DASH}b".encode("utf-16-le"), None, id="UTF-16 without a mark"),
        pytest.param("<p>ark:/1/a\N{EN DASH}b".encode("utf-16"), "utf-8", id="UTF-16 with a mark"),
        pytest.param("<meta charset=utf-16><p>ark:/1/a\N{EN DASH}b".encode(), None, id="meta can't say UTF-16"),
    ],
)
def test_charset(data, charset):
    reading = read_html(data, charset=charset)
    assert texts(reading) == ["ark:/1/a\N{EN DASH}b"]
    assert reading.findings == ()


def test_windows_1252_is_a_reported_guess():
    reading = read_html(b"<p>ark:/1/a\x96b")
    assert texts(reading) == ["ark:/1/a\N{EN DASH}b"]
    assert kinds(reading) == ["guessed-charset"]


def test_one_stray_byte_does_not_garble_a_page_in_utf8():
    reading = read_html("<p>déjà vu, ark:/1/à".encode() + b"\xff</p>", charset="utf-8")
    assert texts(reading) == ["déjà vu, ark:/1/à\N{REPLACEMENT CHARACTER}"]


def test_page_over_the_limit_is_cut_and_reported(monkeypatch):
    monkeypatch.setattr(html, "MOST_BYTES", len("<p>é: ark:/12148/a".encode()) + 1)
    reading = read_html("<p>é: ark:/12148/aé</p><p>ark:/12148/b</p>".encode())
    assert texts(reading) == ["é: ark:/12148/a"]  # the cut character is dropped, and spoils no charset
    assert kinds(reading) == ["cut-off"]


def test_json_ld_cannot_smuggle_in_lone_surrogates():
    reading = read_html(rb'<script type=application/ld+json>"ark:/1/\ud83d\ude00\ud800"</script>')
    assert texts(reading, Role.STRUCTURED_DATA) == ["ark:/1/\N{GRINNING FACE}\N{REPLACEMENT CHARACTER}"]


def test_surrogates_in_a_program_are_joined_or_replaced():
    reading = read_html(rb'<script>x = "ark:/1/\uD83D\uDE00\u{1F600}\u{110000}\ud800"</script>')
    faces = "\N{GRINNING FACE}" * 2
    assert texts(reading, Role.STRUCTURED_DATA) == [f"ark:/1/{faces}" + "\N{REPLACEMENT CHARACTER}" * 2]


# -- hostile pages


@pytest.mark.parametrize("depth", [300, 3_000, 200_000])
def test_text_below_any_number_of_elements_is_found(depth):
    reading = read_html(b"<div>" * depth + b"ark:/12148/a" + b"</div>" * depth + b"<p><b>ark:/12148/</b>b</p>")
    assert texts(reading) == ["ark:/12148/a", "ark:/12148/b"]
    assert kinds(reading) == ["malformed-markup"] * (depth > 2048)


def test_links_title_and_metadata_below_any_number_of_elements_are_found():
    reading = read_html(
        b"<title>T</title>" + b"<b>" * 3000 + b"<a href=/x title=ark:/1/t>ark:/1/a</a> <i id=ark:/1/i>b</i>"
    )
    assert texts(reading, Role.METADATA) == ["ark:/1/t", "ark:/1/i"]
    assert link_targets(reading) == [["ark:/1/a", "/x"]]
    assert (reading.title, reading.links) == ("T", ("/x",))


def test_a_run_of_text_of_more_than_ten_megabytes_is_found():
    reading = read_html(b"<p>" + b"x" * 11_000_000 + ARK)
    assert texts(reading) == ["ark:/12148/x5"]


def test_a_page_of_tags_is_read_to_the_limit(monkeypatch):
    monkeypatch.setattr(html, "MOST_TAGS", 10)
    reading = read_html(b"<p>ark:/1/a<p>ark:/1/b</p>" * 9)
    assert texts(reading) == ["ark:/1/a", "ark:/1/b"] * 3
    assert kinds(reading) == ["cut-off"]


def test_of_an_element_with_too_many_attributes_the_rest_is_one_value():
    attributes = " ".join(f"data-{i}='ark:/12345/x{i}'" for i in range(50_000))
    reading = read_html(f"<p {attributes}>ark:/12148/a</p>".encode())
    assert kinds(reading) == ["cut-off"]
    found = " ".join(texts(reading, Role.METADATA))
    assert all(f"ark:/12345/x{i}" in found for i in range(0, 50_000, 99))
    assert texts(reading) == ["ark:/12148/a"]


def test_a_long_value_and_a_long_program_are_no_long_tags():
    value, program = "x" * 20_000, "for (i=0;i<n;i++) {}" + "y=1;" * 5000
    page = f"<script>{program}'ark:/1/b'</script><!-- <p {program} --><img src='data:,{value}' alt='ark:/1/a'>"
    reading = read_html(page.encode())
    assert [block.text for block in reading.blocks] == ["ark:/1/a", "ark:/1/b"]
    assert reading.findings == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "size"),
    [
        pytest.param(lambda n: b"<!--" * n, 30_000, id="comments without end"),
        pytest.param(lambda n: b"<a href='" * n, 30_000, id="values without end"),
        pytest.param(lambda n: b"<" * n, 250_000, id="tags without names"),
        pytest.param(lambda n: b"<p " + b" ".join(b"a%d='>'" % i for i in range(n)) + b">", 60_000, id="attributes"),
        pytest.param(lambda n: b"<b>" * 1500 + b"</i>" * n, 15_000, id="end tags that fit nowhere"),
        pytest.param(lambda n: b"<p>" + b":" * n, 250_000, id="signs of a label"),
        pytest.param(
            lambda n: b"<p>ark" + b"<b></b>" * n + b":" * 9, 15_000, id="tags between the letters and the colon"
        ),
        pytest.param(lambda n: b"<p>ark" + b"&shy;" * n + b":", 40_000, id="soft hyphens between them"),
        pytest.param(lambda n: b"<body>" + b"ark:/1/x<p></p>" * n, 4_000, id="texts between blocks"),
        pytest.param(lambda n: b"<p>" + b"<a href=/x>ark:/12345/x</a>y" * n, 4_000, id="links in one run"),
        pytest.param(lambda n: b"<p>ark:/12345/x" + b"<a href=/x>y</a>" * n, 6_000, id="links behind an ARK"),
        pytest.param(lambda n: b"</html>x" * n, 12_000, id="pages behind the page"),
        pytest.param(lambda n: b"<script>" + b"ark:" * n + b"</script>", 8_000, id="a script of labels"),
        pytest.param(lambda n: b"<script>'" + b"\\u0061rk: " * n, 12_000, id="a literal without end"),
        pytest.param(lambda n: b"<table><tr><td>" * n, 12_000, id="tables in tables"),
        pytest.param(lambda n: b"<template>" * n, 12_000, id="templates in templates"),
    ],
)
def test_a_hostile_page_takes_linear_time(page, size):
    assert growth(lambda n: read_html(page(n)), size) < LINEAR


@given(st.binary() | st.text(alphabet="<>/!-abrk&;:=\"' \0é").map(str.encode))
def test_no_page_raises(data):
    reading = read_html(data)
    assert_sound(reading)
    assert read_html(data) == reading


# -- nothing is passed over

INLINE = ["a", "b", "br", "i", "span", "sup", "wbr", "my-x"]
OTHERS = ["body", "div", "frameset", "head", "hr", "html", "img", "li", "option", "p", "select", "svg", "table", "td"]
RAW = ["iframe", "noscript", "script", "style", "template", "textarea", "title"]
ATTRIBUTES = [
    "href=ark:/12345/x5", "href='/x'", "href=''", "href='https://n2t.net/ark:/12345/x5?a=1&amp;b=2'",
    "data-a='ark%3A%2F12345%2Fx5'", "title='a>b \"ark:/1/x\" <b>'", 'title="x href="', "class=dark:x",
    "alt='\x02ark:/1/x'", '=x "', "hidden",
]  # fmt: skip
PIECES = ["a", "r", "k", ":", "/", "ARK", "ark:/12345/x5", "ark:/12148/b8", "12", " ", "\n", "see", "Copy", "dark: "]
PIECES += ["&#58;", "&colon;", "%3A", "%253a", "&amp;#58;", "&amp;colon;", "&shy;", "&nbsp;", "&lt;", "&amp;", "&"]
PIECES += [
    *["http://n2t.net/", "info:", "%61", "%6b", "\\u003a", "\\u0061", "+=", "_12148_x", "]]>"],
    "<!-- x -->",
    "\x02",
]
PIECES += ["\N{FULLWIDTH COLON}", "\N{KELVIN SIGN}", "\N{FULLWIDTH LATIN SMALL LETTER A}", "\N{SOFT HYPHEN}", "é", "\0"]


def tags(names):
    opening = st.builds(
        lambda name, attributes: f"<{' '.join([name, *attributes])}>",
        st.sampled_from(names),
        st.lists(st.sampled_from(ATTRIBUTES), max_size=2),
    )
    return opening | st.sampled_from([f"</{name}>" for name in names])


PAGES = st.lists(
    st.sampled_from(PIECES) | st.sampled_from(PIECES) | tags(INLINE) | tags(OTHERS) | tags(RAW), max_size=30
).map("".join)


def comparable(blocks):
    return [
        (block.role, block.place, block.text, [(anchor.start, anchor.end) for anchor in block.anchors])
        for block in blocks
        if block.role is not Role.STRUCTURED_DATA
    ]


@example("<wbr href=ark:/12345/x5>")
@given(PAGES)
def test_pages_that_may_hold_an_ark_are_parsed(page):
    reading = read_html(page.encode(), charset="utf-8")
    assert comparable(reading.blocks) == comparable(blocks_by_events(page))


@example("%253aark:/12345/x5")
@example("aark:/12345/x5aark:/12345/x5")
@given(st.lists(st.sampled_from(PIECES), max_size=20).map("".join))
def test_text_with_a_mention_is_never_skipped(text):
    if find_arks(text):
        assert may_hold_ark(text)


def test_arks_in_comments_are_named_in_a_finding_and_not_cited():
    page = b"<p>See ark:/12148/x5.</p><!-- formerly ark:/12148/x6, https://n2t.net/ark:12148/x7 --><!-- no label -->"
    extraction = extraction_of(page, name="a.html")
    assert [str(mention.ark) for mention in extraction.mentions] == ["ark:12148/x5"]
    [finding] = [finding for finding in extraction.findings if finding.kind == "hidden-ark"]
    assert finding.detail == "in comments, which the page does not show: ark:/12148/x6, ark:12148/x7"


@pytest.mark.parametrize(
    "page",
    [b"<p>x</p><!-- nothing of the kind -->", b"<script><!-- ark:/12148/x6 --></script>", b"<!-- the ark: it sank -->"],
)
def test_comments_without_an_ark_are_no_finding(page):
    assert "hidden-ark" not in {finding.kind for finding in extraction_of(page, name="a.html").findings}
