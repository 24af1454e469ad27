"""XML: vectors with their reasons, encodings, malformed and hostile documents."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractors.find import scan
from extractors.readers.markup import xml
from extractors.readers.markup.xml import read_xml
from extractors.wraps.evidence import Evidence
from tests.growth import LINEAR, growth
from tests.unit.extractors.readings import assert_sound, kinds, link_targets
from tests.vectors import vectors


def texts(reading):
    return [block.text for block in reading.blocks]


@pytest.mark.parametrize("vector", vectors("xml_reader"))
def test_xml_vector(vector):
    reading = read_xml(vector["xml"].encode())
    if "blocks" in vector:
        assert [[b.role.value, b.place, b.text] for b in reading.blocks] == vector["blocks"]
    assert link_targets(reading) == vector.get("shown", [])
    assert list(reading.links) == vector.get("links", [])
    assert reading.title == vector.get("title", "")
    assert reading.base == vector.get("base")
    assert reading.findings == ()


@pytest.mark.parametrize(
    "data",
    [
        pytest.param('<?xml version="1.0" encoding="iso-8859-1"?><p>é</p>'.encode("latin-1"), id="declared"),
        pytest.param('<?xml version="1.0" encoding="utf-16"?><p>é</p>'.encode("utf-16"), id="UTF-16 with a mark"),
        pytest.param('<?xml version="1.0"?><p>é</p>'.encode("utf-16-be"), id="UTF-16 without a mark"),
        pytest.param("<p>é</p>".encode("utf-8-sig"), id="UTF-8 with a mark"),
        pytest.param("<p>é</p>".encode(), id="UTF-8 by default"),
    ],
)
def test_encoding(data):
    reading = read_xml(data)
    assert texts(reading) == ["é"]
    assert reading.findings == ()


@pytest.mark.parametrize("vector", vectors("malformed_xml"))
def test_malformed_markup_is_read_as_far_as_it_goes(vector):
    reading = read_xml(vector["markup"].encode())
    assert texts(reading) == vector["expected"]
    assert kinds(reading) == ["malformed-markup"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_half_a_pair_of_surrogates_costs_nothing_else_in_utf_16(encoding):
    reading = read_xml("<?xml version='1.0'?><a><p>&#xD800;</p><p>ark:/12345/x5</p></a>".encode(encoding))
    assert texts(reading) == ["\N{REPLACEMENT CHARACTER}", "ark:/12345/x5"]
    assert kinds(reading) == ["malformed-markup"]


@pytest.mark.parametrize(("end", "confidence"), [("", "certain"), ("/", "likely"), ("-", "likely")])
def test_check_character_settles_no_doubt_about_a_recognized_word_that_goes_on(end, confidence):
    [block] = read_xml(f'<alto><String CONTENT="ark:/12148/bpt6k107371t{end}"/></alto>'.encode()).blocks
    [mention] = scan(block, Evidence())
    assert (str(mention.ark), mention.confidence.token) == ("ark:12148/bpt6k107371t", confidence)


@pytest.mark.parametrize(
    ("root", "findings"),
    [
        ("PcGts", ["unreadable-part"]),
        ("alto xmlns='http://www.loc.gov/standards/alto/ns-v4#'", ["unreadable-part"]),
        ("document xmlns='http://www.abbyy.com/FineReader_xml/FineReader6-schema-v1.xml'", ["unreadable-part"]),
        ("document", []),
        ("altogether", []),
    ],
)
def test_recognized_text_that_is_read_by_element_is_reported(root, findings):
    reading = read_xml(f"<{root}><p>ark:/12345/x5</p></{root.split()[0]}>".encode())
    assert kinds(reading) == findings
    assert [block.is_recognized for block in reading.blocks] == [bool(findings)]


def test_lookalike_in_a_literal_is_left_alone():
    reading = read_xml(b"<a><![CDATA[&#xD800;]]></a>")
    assert (texts(reading), reading.findings) == (["&#xD800;"], ())


def test_non_xml_is_read_as_text():
    reading = read_xml(b"see ark:/12148/a")
    assert texts(reading) == ["see ark:/12148/a"]
    assert kinds(reading) == ["malformed-markup"]


def laughs(use):
    declarations = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
    return f'<!DOCTYPE a [<!ENTITY l0 "ha">{declarations}]><a><p>before</p>{use}</a>'.encode()


@pytest.mark.parametrize("use", ["<p>&l9;</p>", "<p title='&l9;'/>"], ids=["in text", "in an attribute"])
def test_a_billion_laughs_are_not_laughed(use):
    reading = read_xml(laughs(use))
    assert texts(reading) == ["before"]
    assert kinds(reading) == ["cut-off"]


def test_nesting_limit_ends_the_reading_with_a_finding():
    reading = read_xml(b"<p>one</p>".join([b"<a>" * 200, b"<a>" * 100_000]))
    assert texts(reading) == ["one"]
    assert kinds(reading) == ["cut-off"]


def test_text_limit_ends_the_reading_with_a_finding():
    reading = read_xml(b"<a><p>one</p><p>" + b"x" * 11_000_000 + b"</p></a>")
    assert texts(reading)[0] == "one"
    assert kinds(reading) == ["cut-off"]


def test_an_entity_that_is_used_all_the_time_ends_the_reading():
    entity = "ark:/12345/x5 " * 10_000
    reading = read_xml(f"<!DOCTYPE a [<!ENTITY n '{entity}'>]><a><p>before</p>{'&n;' * 100_000}</a>".encode())
    assert texts(reading)[0] == "before"
    assert sum(map(len, texts(reading))) < 3_000_000  # of fourteen thousand million
    assert kinds(reading) == ["cut-off"]


@pytest.mark.parametrize(("limit", "most"), [("MOST_TAGS", 10), ("MOST_BYTES", 59)])
def test_a_document_beyond_a_limit_is_read_as_far_as_that(monkeypatch, limit, most):
    monkeypatch.setattr(xml, limit, most)
    reading = read_xml(b"<a>" + b"<p>x</p>\n\n" * 9 + b"</a>")
    assert 3 < len(texts(reading)) < 9
    assert kinds(reading) == ["cut-off"]


def test_thousands_of_attributes_and_namespaces_are_all_read():
    numbers = range(20_000)
    declared = " ".join(f"xmlns:n{i}='urn:{i}'" for i in numbers)
    attributes = " ".join(f"n{i}:id='ark:/12345/x{i}'" for i in numbers)
    reading = read_xml(f"<p {declared} {attributes}/>".encode())
    assert [(block.place, block.text) for block in reading.blocks] == [
        (f"p/@n{i}:id", f"ark:/12345/x{i}") for i in numbers
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("document", "size"),
    [
        pytest.param(lambda n: b"<a>" * n + b"ark:/1/x", 12_000, id="nesting without end"),
        pytest.param(lambda n: b"<a>" + b"<b/>" * n, 10_000, id="elements without text"),
        pytest.param(lambda n: b"<p>ark:/12345/x" + b"<ref target='/x'>y</ref>" * n, 6_000, id="links behind an ARK"),
        pytest.param(lambda n: b"<ref target='ark:/1/x'>" * 200 + b"<b/>" * n, 12_000, id="links in links"),
        pytest.param(lambda n: b"<p title='" + b"x" * n + b"'>", 1_000_000, id="a long value"),
        pytest.param(lambda n: b"<!DOCTYPE a [" + b"<!ENTITY n 'x'>" * n + b"]><a/>", 12_000, id="entities"),
        pytest.param(
            lambda n: b"<p " + b" ".join(b"xmlns:n%d='u:%d' n%d:id='x'" % (i, i, i) for i in range(n)) + b"/>",
            2_500,
            id="namespaces and attributes",
        ),
    ],
)
def test_a_hostile_document_takes_linear_time(document, size):
    assert growth(lambda n: read_xml(document(n)), size) < LINEAR


@given(st.binary() | st.text(alphabet="<>/!-abx&;:=\"'[] \0é").map(str.encode))
def test_no_document_raises(data):
    reading = read_xml(data)
    assert_sound(reading)
    assert read_xml(data) == reading


@pytest.mark.parametrize(
    ("markup", "whole"),
    [
        pytest.param("<a><p>ark:/12345/x9</p><p>See ark:/12345/x5", ["ark:/12345/x9"], id="in a text"),
        pytest.param("<a><p>ark:/12345/x9 <hi>ark:/</hi>12345/x", ["ark:/12345/x9"], id="behind markup within an ARK"),
        pytest.param("<a><p>ark:/12345/x9 ark:/12345/x5<hi>k3", ["ark:/12345/x9"], id="in markup within an ARK"),
        pytest.param("<a><idno>ark:/12345/x9</idno><idno>ark:/12345/x", ["ark:/12345/x9"], id="in an identifier"),
        pytest.param(
            "<a><p>ark:/12345/x9</p><ref target='http://r.example/ark:/12345/x", ["ark:/12345/x9"], id="in a tag"
        ),
        pytest.param("<a><p>ark:/12345/x9 ark:/12345/x5 ", ["ark:/12345/x9", "ark:/12345/x5"], id="behind a word"),
        pytest.param("<a><p>ark:/12345/x9</p></a>\n", ["ark:/12345/x9"], id="not at all"),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_of_a_document_that_is_cut_off_no_half_ark_is_taken(markup, whole, encoding):
    declared = f"<?xml version='1.0' encoding='{encoding}'?>{markup}".encode(encoding)
    reading = read_xml(declared)
    found = [word for block in reading.blocks for word in block.text.split() if word.startswith("ark:")]
    assert found == whole


def test_the_end_of_a_long_word_is_found_at_once():
    assert read_xml(b"<a><p>one " + b"x" * 10**6).blocks[0].text == "one" + " " + "x" * (10**6 - 8192)
    read_xml(b"<a>" + b"<hi>" * 3000 + b"x")


def test_comments_are_read_and_are_no_part_of_the_sentence_around_them():
    source = (
        b"<?xml version='1.0'?><!-- first: ark:/12345/x1 --><TEI><!-- was ark:/12345/x2 -->"
        b"<p>See ark:/12345/<!-- not ark:/12345/x3, I think -->x4 there<!-- nothing --></p></TEI><!--ark:/12345/x5-->"
    )
    told = [(block.place, block.text.strip()) for block in read_xml(source).blocks]
    assert told == [
        ("comment", "first: ark:/12345/x1"),
        ("comment", "was ark:/12345/x2"),
        ("comment", "not ark:/12345/x3, I think"),
        ("p", "See ark:/12345/x4 there"),
        ("comment", "ark:/12345/x5"),
    ]
